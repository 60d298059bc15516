//! What every method of search is: a state machine that is shown windows and asks for the next one.

use crate::hold::Hold;
use crate::window::{Offer, Verdict, Window};
use plimsoll_workload::service_model::ServiceModel;
use serde::{Deserialize, Serialize};

/// What a search says next.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a search ends but once")]
pub enum Step {
    /// It wants a window.
    Offer(Offer),
    /// It has ended.
    Done(SearchEstimate),
}

/// A method of search. Deterministic: the same windows give the same answers. It reads no clock,
/// opens no socket and draws no random numbers.
pub trait Search {
    /// Judges the window that was asked for last (`None` at the start), and says what is next.
    fn next(&mut self, result: Option<&Window>) -> Step;

    /// What became of the last window it was shown.
    fn verdict(&self) -> Verdict;

    /// What is known where it has to end before its time.
    fn so_far(&self) -> SearchEstimate;
}

/// What a check showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// The SLO held.
    Held,
    /// It did not.
    Broken,
}

impl Check {
    /// The name in files and JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Broken => "broken",
        }
    }
}

/// What a search has found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SearchEstimate {
    /// The highest rate that keeps the SLO, per second; `None` where there is none.
    pub estimate_per_s: Option<f64>,
    /// Where it lies with 95% confidence.
    pub ci95: Option<(f64, f64)>,
    /// A rate that was seen to keep the SLO.
    pub lower_bound_per_s: Option<f64>,
    /// The highest rate that held, and the lowest above it that broke.
    pub held_per_s: Option<f64>,
    /// See there.
    pub broken_per_s: Option<f64>,
    /// The holds that were made, in their order.
    pub holds: Vec<Hold>,
    /// Whether what the windows show is another load line than the estimate.
    pub disagrees: bool,
    /// Whether the estimate is no more than a bound: the search could not go beyond it.
    pub is_bound: bool,
    /// The rate at which a little more load begins to cost more latency than it brings throughput.
    pub knee_per_s: Option<f64>,
    /// What the server completes at most.
    pub saturation_per_s: Option<f64>,
    /// The last hold, which is below the estimate, and the check above it.
    pub check: (Option<Check>, Option<Check>),
    /// What became of it while it was held, where that was asked for.
    pub sustained: Option<Box<Sustained>>,
    /// A server of the same service time and saturation.
    pub model: Option<ServiceModel>,
    /// What a reader has to know, one sentence each.
    pub notes: Vec<String>,
}

impl SearchEstimate {
    /// Which bound the estimate is; `None` where it is no bound, or there is none.
    #[must_use]
    pub fn bound(&self) -> Option<Bound> {
        let estimate = self.estimate_per_s.filter(|_| self.is_bound)?;
        let held = self.lower_bound_per_s.is_some_and(|held| held >= estimate);
        Some(if held { Bound::AtLeast } else { Bound::AtMost })
    }
}

/// What an estimate that is no more than a bound says of the capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// It is that or more: the SLO was seen to hold there, and higher rates were not allowed.
    AtLeast,
    /// It is less: the SLO did not hold there when it was looked at again.
    AtMost,
}

/// What became of a capacity that was held.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Sustained {
    /// The estimate before it was held, per second.
    pub burst_per_s: Option<f64>,
    /// Its 95% interval.
    pub burst_ci95: Option<(f64, f64)>,
    /// The estimate that was held to the end; `None` where none was.
    pub sustained_per_s: Option<f64>,
    /// After how many seconds of holding the capacity fell for good; `None` where it did not.
    pub exhausted_after_s: Option<f64>,
    /// How long was held in all, seconds.
    pub held_s: f64,
    /// How often the capacity fell to a lower one.
    pub falls: u32,
    /// How often it was broken, and soon there again.
    pub dips: u32,
}
