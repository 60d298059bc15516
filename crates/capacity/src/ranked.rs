//! Response times of all requests due, those without an answer among them: they rank slower than
//! any bound, as in the SLO's grammar (`plimsoll_stats::slo`).

use plimsoll_stats::Histogram;
use plimsoll_stats::histogram::rank;

/// A histogram, and how many requests rank after it.
#[derive(Debug, Clone, Default)]
pub struct Ranked {
    /// Those that were answered, or waited for: nanoseconds.
    pub times: Histogram,
    /// Those that failed.
    pub unanswered: u64,
}

impl Ranked {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.times.count() + self.unanswered
    }

    /// The time that a share `q` of all does not exceed, nanoseconds; `None` where that falls to
    /// those without an answer, or there are none.
    #[must_use]
    pub fn quantile_ns(&self, q: f64) -> Option<u64> {
        self.times.value_at_rank(rank(q, self.count()))
    }

    /// How many exceed a time.
    #[must_use]
    pub fn beyond(&self, ns: u64) -> u64 {
        self.times.count_above(ns) + self.unanswered
    }

    /// Adds all of `other`.
    pub fn add(&mut self, other: &Self) {
        self.times.add(&other.times);
        self.unanswered += other.unanswered;
    }
}
