//! What `plimsoll infer --json` says: one object a question.

use super::estimate::Estimate;
use super::probing::{Declined, Settings, Step, Why};
use serde::{Deserialize, Serialize};

/// The version of the format.
pub const SCHEMA: u32 = 1;

/// The load that is on a server, or why it is not known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InferResult {
    /// The version of the format.
    pub schema: u32,
    /// What a reader has to know, one sentence each.
    pub warnings: Vec<String>,
    /// The load without the probes; `None` where it was declined.
    pub load_per_s: Option<f64>,
    /// Where it lies with 95% confidence: what is known of it, also where it was declined.
    pub ci95: Option<(f64, f64)>,
    /// The load over the capacity that was found.
    pub share_of_capacity: Option<f64>,
    /// [`InferResult::ci95`] over that capacity.
    pub share_ci95: Option<(f64, f64)>,
    /// The capacity that was found.
    pub capacity_per_s: f64,
    /// Probes whose responses are known.
    pub probes: u64,
    /// The rate of the probes.
    pub probe_rate_per_s: f64,
    /// For how long was probed.
    pub seconds: f64,
    /// Why there is no answer; `None` where there is one.
    pub declined: Option<DeclinedResult>,
    /// The id of the run that calibrates.
    pub calibration: String,
}

/// The load of one stretch of a series, or why it is not known: one line of JSON each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StretchResult {
    /// Its number, from 1.
    pub number: u64,
    /// When it began, by the clock: `2026-11-22T03:02:54.000Z`.
    pub from: String,
    /// When it ended.
    pub until: String,
    /// Probes of it that failed by the target's fault, before an answer would have been slow.
    pub failed: u64,
    /// What is told of it.
    #[serde(flatten)]
    pub result: InferResult,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclinedResult {
    /// `flat`, `coarse_calibration`, `ended_early`, `faster_than_calibrated`,
    /// `slower_than_calibrated`, `unanswered`, `failing`, `stalled`, `too_few_probes` or
    /// `generator_late`.
    pub reason: String,
    /// How many probes would be needed, about; `None` where no number is enough, or it is not a
    /// matter of their number.
    pub probes_needed: Option<u64>,
    /// How many would be needed if the calibration were exact.
    pub probes_needed_at_best: Option<u64>,
}

/// What an answer is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The capacity that was found.
    pub capacity_per_s: f64,
    /// How it was probed.
    pub settings: Settings,
    /// The id of the run that calibrates.
    pub calibration: String,
}

impl InferResult {
    /// The result of a question: its last step, after so many probes and seconds.
    #[must_use]
    pub fn of(question: &Question, step: &Step, probes: u64, seconds: f64) -> Self {
        let (answer, known, declined) = match step {
            Step::Done(estimate) => (Some(estimate), Some(estimate), None),
            Step::Declined(declined) => (None, declined.known.as_ref(), Some(declined.into())),
            Step::Probe(_) => (None, None, None),
        };
        let share = |rate: f64| rate / question.capacity_per_s;
        let load_per_s = answer.map(|estimate| estimate.load_per_s);
        let ci95 = known.map(|known: &Estimate| known.ci95);
        Self {
            schema: SCHEMA,
            warnings: Vec::new(),
            load_per_s,
            ci95,
            share_of_capacity: load_per_s.map(share),
            share_ci95: ci95.map(|(low, high)| (share(low), share(high))),
            capacity_per_s: question.capacity_per_s,
            probes,
            probe_rate_per_s: question.settings.rate_per_s,
            seconds,
            declined,
            calibration: question.calibration.clone(),
        }
    }
}

impl From<&Declined> for DeclinedResult {
    fn from(declined: &Declined) -> Self {
        Self {
            reason: declined.why.name().to_owned(),
            probes_needed: declined.probes_needed,
            probes_needed_at_best: declined.probes_needed_at_best,
        }
    }
}

impl Why {
    /// The reason in words.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Flat => "response times hardly depend on the load here",
            Self::Coarse => "the calibration cannot tell loads apart here, whatever is probed",
            Self::Ended => "it ended before enough was known",
            Self::Faster => {
                "responses are faster than without any load: this is not the server, or not the \
                 request, that was calibrated"
            }
            Self::Slower => {
                "responses are slower than under any load that the server was seen to sustain"
            }
            Self::Unanswered => "no probe was answered",
            Self::Failing => "more than 1% of the probes failed: failures say nothing of a load",
            Self::Stalled => {
                "responses took far longer than any that the search saw: the server stood still, \
                 or what had piled up was being answered"
            }
            Self::Few => "too few probes for the interval that is asked for",
            Self::Late => "this program was late itself",
        }
    }
}
