//! What came of a benchmark.

use plimsoll_stats::Percentiles;
use plimsoll_stats::histogram::rank;
use serde::Serialize;

use super::Settings;

/// Why a benchmark ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The 95th percentile of the last step is beyond the limit.
    Limit,
    /// There are to be no more clients.
    Clients,
    /// Its time was over.
    Time,
    /// The user wished it.
    Interrupted,
    /// The server let a client not join.
    Refused,
    /// This host had no means for another client.
    Local,
}

/// What came of a benchmark.
#[derive(Debug, Clone, PartialEq)]
pub struct Benched {
    /// Why it ended.
    pub ended: Ended,
    /// Why a client could not join, in words.
    pub why: Option<String>,
    /// How long it took to its last step, seconds.
    pub seconds: f64,
    /// The steps, in their order. The last may have ended before all was sent.
    pub steps: Vec<Step>,
    /// What was received, beside what was sent.
    pub check: Check,
}

impl Benched {
    /// The most clients of a step that held.
    #[must_use]
    pub fn clients(&self) -> Option<u64> {
        let held = self.steps.iter().filter(|step| step.within == Some(true));
        held.map(|step| step.clients).max()
    }

    /// Whether every client has received everything exactly once; `None` where it ended while
    /// something was on its way.
    #[must_use]
    pub fn is_whole(&self) -> Option<bool> {
        let is_known = self.steps.iter().all(|step| step.within.is_some());
        is_known.then(|| self.check.holds())
    }
}

/// A step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// How many clients are connected.
    pub clients: u64,
    /// Messages whose answer came.
    pub samples: u64,
    /// Messages whose answer did not come.
    pub failed: u64,
    /// From when a message was sent to its answer at the sender.
    pub round_trip_us: RoundTrip,
    /// From when a broadcast was made ready at its sender to its receipt, by each client.
    pub latency_us: Option<Percentiles>,
    /// Receipts of which it is not known when they came, as they lay unread while the generator
    /// stood still.
    pub unread: u64,
    /// From the first to the last receipt of each broadcast.
    pub spread_us: Option<Percentiles>,
    /// The share of its time for which the generator's threads were busy.
    pub generator_busy_share: f64,
    /// Whether the 95th percentile is within the limit; `None` where not all was sent.
    pub within: Option<bool>,
}

/// Round trips, microseconds. A percentile of n is the smallest below or at which so many of the n
/// lie, as the benchmark has it, however few that are; `None` where that one was not answered.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RoundTrip {
    /// The median.
    pub p50: Option<f64>,
    /// What is compared with the limit.
    pub p95: Option<f64>,
    /// The longest.
    pub max: Option<f64>,
}

impl Step {
    /// The step of so many clients with these round trips in ascending order and so many messages
    /// without an answer, as far as its senders tell.
    pub(super) fn of(settings: &Settings, clients: u64, sorted: &[u64], failed: u64) -> Self {
        let us = |q| quantile(sorted, failed, q).map(|ns| ns as f64 / 1e3);
        let is_all = sorted.len() as u64 + failed >= settings.samples;
        let p95 = quantile(sorted, failed, 0.95);
        Self {
            clients,
            samples: sorted.len() as u64,
            failed,
            round_trip_us: RoundTrip { p50: us(0.5), p95: us(0.95), max: us(1.0) },
            latency_us: None,
            unread: 0,
            spread_us: None,
            generator_busy_share: 0.0,
            within: is_all.then(|| p95.is_some_and(|p95| p95 <= settings.limit_ns)),
        }
    }
}

/// The value at a quantile of values in ascending order, where so many others are beyond all of
/// them; `None` where it is one of these.
pub(super) fn quantile(sorted: &[u64], beyond: u64, q: f64) -> Option<u64> {
    let at = rank(q, sorted.len() as u64 + beyond).checked_sub(1)?;
    sorted.get(usize::try_from(at).ok()?).copied()
}

/// What was received, beside what was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was to be received: each broadcast by each client, each echo by its sender.
    pub expected: u64,
    /// What was received.
    pub received: u64,
    /// Gaps in the numbers of broadcasts.
    pub lost: u64,
    /// Broadcasts that came twice.
    pub doubled: u64,
    /// Broadcasts that came behind later ones of their sender.
    pub disorder: u64,
    /// Messages that were none of these.
    pub unmatched: u64,
    /// Clients whose connection was closed before the end.
    pub closed: u64,
}

impl Check {
    /// Whether every client has received everything exactly once: where nothing came twice or out
    /// of order, all that came to a client are different ones.
    fn holds(&self) -> bool {
        self.received == self.expected && self.doubled + self.disorder + self.lost == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_answered_is_beyond_every_limit() {
        let sorted: Vec<u64> = (1..=95).collect();
        assert_eq!(quantile(&sorted, 5, 0.95), Some(95));
        assert_eq!(quantile(&sorted[..94], 6, 0.95), None);
        assert_eq!((quantile(&sorted, 0, 0.5), quantile(&[], 0, 0.5)), (Some(48), None));
    }

    #[test]
    fn a_step_is_within_the_limit_where_all_was_sent() {
        let settings = crate::wsbench::tests::settings(crate::wsbench::Kind::Echo);
        let of = |sorted: &[u64], failed| Step::of(&settings, 10, sorted, failed).within;
        assert_eq!(of(&[1; 8], 0), Some(true));
        assert_eq!(of(&[settings.limit_ns + 1; 8], 0), Some(false));
        assert_eq!(of(&[1; 7], 1), Some(false));
        assert_eq!(of(&[1; 7], 0), None);
    }

    #[test]
    fn every_difference_is_told() {
        let whole = Check { expected: 8, received: 8, ..CHECK };
        assert!(whole.holds());
        for wrong in [
            Check { received: 7, ..whole },
            Check { doubled: 1, ..whole },
            Check { disorder: 1, ..whole },
            Check { lost: 1, ..whole },
        ] {
            assert!(!wrong.holds(), "{wrong:?}");
        }
    }

    const CHECK: Check = Check {
        expected: 0,
        received: 0,
        lost: 0,
        doubled: 0,
        disorder: 0,
        unmatched: 0,
        closed: 0,
    };
}
