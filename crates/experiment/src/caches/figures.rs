//! The figures of a cell that have intervals, where requests were made up several times.

use plimsoll_cache::cluster::{Counts, Source};
use plimsoll_stats::interval;

/// A figure of one replication; none where it has too few requests for it.
type Figure = fn(&Counts) -> Option<f64>;

/// All figures by their names: ratios and shares of requests, times in milliseconds.
const FIGURES: [(&str, Figure); 7] = [
    ("miss_ratio", |of| Some(of.miss_ratio())),
    ("byte_miss_ratio", |of| Some(of.byte_miss_ratio())),
    ("sibling_share", |of| Some(share(of, Source::Sibling))),
    ("parent_share", |of| Some(share(of, Source::Parent))),
    ("messages_per_request", |of| Some(of.messages_per_request())),
    ("response_mean_ms", |of| of.response_ns.mean().map(|ns| ns / 1e6)),
    ("response_p99_ms", |of| of.response_percentile(0.99).map(|ns| ns as f64 / 1e6)),
];

const LEVEL: f64 = 0.95;

fn share(of: &Counts, source: Source) -> f64 {
    of.answers[source as usize] as f64 / of.requests.max(1) as f64
}

/// The figures of one replication, in the order of their names.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures([Option<f64>; FIGURES.len()]);

/// A figure over replications: its mean, and the 95% interval of that (Student).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimated {
    /// Its name.
    pub name: &'static str,
    /// The mean.
    pub mean: f64,
    /// The interval.
    pub ci95: (f64, f64),
}

impl Figures {
    pub(super) fn of(counts: &Counts) -> Self {
        Self(FIGURES.map(|(_, figure)| figure(counts)))
    }

    /// Each figure over replications; none of fewer than two, and none that one of them lacks.
    #[must_use]
    pub fn estimated(all: &[Self]) -> Vec<Estimated> {
        Self::over(all, |of, figure| of.0[figure])
    }

    /// The differences from another cell, which saw the same requests: replication by replication.
    #[must_use]
    pub fn differences(all: &[Self], from: &[Self]) -> Vec<Estimated> {
        let pairs: Vec<_> = all.iter().zip(from).collect();
        Self::over(&pairs, |(of, from), figure| Some(of.0[figure]? - from.0[figure]?))
    }

    fn over<T>(all: &[T], value: impl Fn(&T, usize) -> Option<f64>) -> Vec<Estimated> {
        let estimate = |(number, (name, _)): (usize, (&'static str, Figure))| {
            let values: Option<Vec<f64>> = all.iter().map(|of| value(of, number)).collect();
            let estimate = interval::mean(&values?, LEVEL).ok()?;
            Some(Estimated { name, mean: estimate.value, ci95: (estimate.low, estimate.high) })
        };
        FIGURES.into_iter().enumerate().filter_map(estimate).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(misses: u64) -> Figures {
        let mut counts = Counts { requests: 100, requested_bytes: 100, ..Counts::default() };
        counts.answers[Source::Origin as usize] = misses;
        Figures::of(&counts)
    }

    #[test]
    fn means_have_intervals_and_pairs_narrower_ones() {
        let (a, b) = ([counts(10), counts(20), counts(30)], [counts(12), counts(22), counts(32)]);
        let miss = |of: &[Estimated]| *of.iter().find(|one| one.name == "miss_ratio").unwrap();
        let mean = miss(&Figures::estimated(&a));
        // Student's 97.5% quantile of two degrees of freedom is 4.3027; s = 0.1, n = 3.
        assert!((mean.mean - 0.2).abs() < 1e-12);
        assert!((mean.ci95.1 - (0.2 + 4.302_652_7 * 0.1 / 3f64.sqrt())).abs() < 1e-6);
        let difference = miss(&Figures::differences(&b, &a));
        assert!((difference.mean - 0.02).abs() < 1e-12);
        assert!(difference.ci95.1 - difference.ci95.0 < 1e-12);
        assert!(Figures::estimated(&a[..1]).is_empty());
        // No request was answered: there is no time to tell.
        let named = |name| Figures::estimated(&a).iter().any(|one| one.name == name);
        assert!(named("miss_ratio") && !named("response_mean_ms") && !named("response_p99_ms"));
    }
}
