//! `[measure]`: what a run is judged by, and what is kept of it.

use plimsoll_stats::slo::Slo;

use crate::flag::Group;
use crate::takes::{SLO, Switch};

section! {
    /// What a run is judged by, and what is kept of it.
    ["measure"; read, write]
    #[derive(Default)]
    pub struct Measure {
        /// The predicates the run must hold, joined by commas.
        slo: Option<Slo> { SLO, "p99<200ms, errors<0.1%" }
            flag [Group::Measured.flag("slo", "SLO")
                .says("What must hold, such as 'p99<200ms, errors<0.1%'")]
        /// Keeps every single request, not only histograms.
        samples: bool { Switch, or false, "true" }
            flag [Group::Measured.switch("samples").says("Keep every single request")]
    }
}
