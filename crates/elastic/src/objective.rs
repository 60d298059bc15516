//! Whether an SLO held: of a tick, or of all the load.
//!
//! All that was offered counts. A request that was lost is slower than any bound; one that is still
//! in flight takes at least as long as it has waited.

use plimsoll_stats::Histogram;
use plimsoll_stats::histogram::rank;
use plimsoll_stats::slo::{Bound, Clause, Figure, Metric, Slo};

/// What became of requests over a time.
#[derive(Clone, Copy)]
pub(crate) struct Served<'a> {
    /// Requests that were served, and that were lost.
    pub(crate) served: u64,
    pub(crate) lost: u64,
    /// Response times of the served ones, nanoseconds, and their sum.
    pub(crate) response: &'a Histogram,
    pub(crate) sum_ns: u128,
    /// How long those in flight have waited, nanoseconds, ascending.
    pub(crate) waited: &'a [u64],
    /// The length of the time, and how much of it belongs to ticks in which requests were lost and
    /// none was served, seconds.
    pub(crate) seconds: f64,
    pub(crate) down_s: f64,
}

impl Served<'_> {
    fn offered(&self) -> u64 {
        self.served + self.lost + self.waited.len() as u64
    }

    /// What a clause looks at, in the unit of its bound; `None` where it lies beyond every bound,
    /// or there was no request.
    pub(crate) fn value(&self, clause: &Clause) -> Option<f64> {
        let offered = self.offered();
        let asked = (offered > 0).then_some(offered as f64);
        match clause.metric {
            // No second is judged by itself.
            _ if clause.lasting.is_some() => None,
            Metric::Rate => Some(self.served as f64 / self.seconds),
            Metric::Availability => Some(1.0 - self.down_s / self.seconds),
            Metric::Lost if matches!(clause.bound, Bound::Count(_)) => Some(self.lost as f64),
            Metric::Errors | Metric::Lost => asked.map(|offered| self.lost as f64 / offered),
            // Nothing is watched in a simulation, and it has no users.
            Metric::Watched(_) | Metric::Counted(_) => None,
            // Simulated requests are sent when they are due: service time is response time.
            Metric::Time(_, Figure::Mean) => {
                (self.served > 0).then(|| self.sum_ns as f64 / self.served as f64 / 1e3)
            }
            Metric::Time(_, Figure::Max) => self.at_rank(offered),
            Metric::Time(_, Figure::Quantile(quantile)) => self.at_rank(rank(quantile, offered)),
        }
    }

    /// The response time at a place among all that was offered, the lost ones last; microseconds.
    fn at_rank(&self, rank: u64) -> Option<f64> {
        let ns = if self.waited.is_empty() {
            within(self.response, rank)
        } else if self.response.is_empty() {
            let place = usize::try_from(rank).ok().and_then(|rank| rank.checked_sub(1));
            place.and_then(|place| self.waited.get(place)).copied()
        } else {
            let mut all = self.response.clone();
            self.waited.iter().for_each(|&ns| all.record(ns));
            within(&all, rank)
        };
        ns.map(|ns| ns as f64 / 1e3)
    }

    /// Whether all clauses hold; where nothing was asked, those about requests do.
    pub(crate) fn hold(&self, slo: &Slo) -> bool {
        slo.clauses().iter().all(|clause| {
            let is_about_all = matches!(clause.metric, Metric::Rate | Metric::Availability);
            (self.offered() == 0 && !is_about_all) || holds(clause, self.value(clause))
        })
    }
}

/// Whether a clause holds of a value; never where there is none.
pub fn holds(clause: &Clause, value: Option<f64>) -> bool {
    value.is_some_and(|value| clause.comparison.holds(value, clause.bound.value()))
}

/// The value at a rank: not a bucket's end where that lies beyond the greatest value.
pub(crate) fn within(of: &Histogram, rank: u64) -> Option<u64> {
    let value = of.value_at_rank(rank)?;
    Some(value.min(of.max()?))
}
