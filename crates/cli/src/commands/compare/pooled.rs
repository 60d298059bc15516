//! High percentiles over all requests of a side: where each replication has too few requests for
//! one, all of them together may have enough.

use crate::terminal::error::Result;
use plimsoll_runs::{Phase, Run, Tag};
use plimsoll_stats::figure::{self, Figure};
use plimsoll_stats::{Histogram, Percentiles};
use std::fmt::Write;

/// A percentile of both sides.
pub(super) struct Pooled {
    figure: &'static Figure,
    sides: (f64, f64),
}

/// What a figure takes from percentiles.
type Taken = fn(&Percentiles) -> Option<f64>;

/// The percentiles that are told.
const FIGURES: [(&Figure, Taken); 2] =
    [(figure::RESPONSE_US_P99, |of| of.p99), (figure::RESPONSE_US_P999, |of| of.p999)];

/// The percentiles that both sides have.
pub(super) fn of(a: &[Run], b: &[Run]) -> Result<Vec<Pooled>> {
    let (a, b) = (together(a)?, together(b)?);
    let both = |(figure, take): &(&'static Figure, Taken)| {
        Some(Pooled { figure, sides: (take(&a)?, take(&b)?) })
    };
    Ok(FIGURES.iter().filter_map(both).collect())
}

/// Of all requests that were due in the measured phases of some runs.
fn together(runs: &[Run]) -> Result<Percentiles> {
    let mut all = Histogram::new();
    for run in runs {
        all.add(&run.histogram(Phase::Measured, Tag::Response)?);
    }
    Ok(Percentiles::of(&all))
}

impl Pooled {
    pub(super) fn line(&self, out: &mut String) {
        let (a, b) = self.sides;
        let (unit, ratio) = (self.figure.unit, b / a);
        let (label, a, b) = (self.figure.label, unit.show(a), unit.show(b));
        let ratio = if ratio.is_finite() { format!("{ratio:.3}") } else { "–".to_owned() };
        // Writing to a string does not fail.
        let _ = writeln!(out, "  {label:<16}{a:>11}{b:>11}{ratio:>9}");
    }

    pub(super) fn json(&self) -> serde_json::Value {
        let name = self.figure.label.replace(' ', "_");
        serde_json::json!({ "figure": name, "a": self.sides.0, "b": self.sides.1 })
    }
}
