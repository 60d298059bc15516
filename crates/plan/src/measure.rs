//! `[measure]`: what a run is judged by, and what is kept of it.

use plimsoll_stats::slo::Slo;

use crate::key::{SectionKeys, key};
use crate::section::Section;
use crate::write::Writer;

/// The keys of `[measure]`.
pub(crate) static MEASURE: SectionKeys = SectionKeys::plain(
    "measure",
    &[
        key(
            "slo",
            "SLO",
            "–",
            r#""p99<200ms, errors<0.1%""#,
            "The predicates the run must hold, joined by commas.",
        ),
        key(
            "samples",
            "switch",
            "false",
            "true",
            "Keeps every single request, not only histograms.",
        ),
    ],
);

/// What a run is judged by, and what is kept of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Measure {
    /// The predicates the run must hold.
    pub slo: Option<Slo>,
    /// Whether every request is kept.
    pub samples: bool,
}

impl Measure {
    pub(crate) fn read(section: &Section<'_>) -> Self {
        Self {
            slo: section.parsed("slo", "an SLO such as p99<200ms", Slo::parse),
            samples: section.switch("samples").unwrap_or(false),
        }
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        out.section(MEASURE.path);
        if let Some(slo) = &self.slo {
            out.text("slo", slo);
        }
        out.switch("samples", self.samples);
    }
}
