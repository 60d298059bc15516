//! The figures of a cell that have intervals, where requests were made up several times.

use crate::record::Valued;
use plimsoll_cache::bound::Bound;
use plimsoll_cache::capacity::{Capacity, Unit};
use plimsoll_cache::cluster::Counts;
use plimsoll_cache::simulate::{Cell as Replayed, Total};
use plimsoll_stats::figure::{self, Figure};
use plimsoll_stats::interval;

/// The figures that have intervals.
const ESTIMATED: [&Figure; 7] = [
    figure::MISS_RATIO,
    figure::BYTE_MISS_RATIO,
    figure::SIBLING_SHARE,
    figure::PARENT_SHARE,
    figure::MESSAGES_PER_REQUEST,
    figure::RESPONSE_MEAN_MS,
    figure::RESPONSE_P99_MS,
];

const LEVEL: f64 = 0.95;

/// The figures of one replication, in their order; none where it has too few requests for one.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures([Option<f64>; ESTIMATED.len()]);

/// A figure over replications: its mean, and the 95% interval of that (Student).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimated {
    /// The figure that is estimated.
    pub figure: &'static Figure,
    /// The mean.
    pub mean: f64,
    /// The interval.
    pub ci95: (f64, f64),
}

impl Figures {
    pub(super) fn of(counts: &Counts) -> Self {
        Self(ESTIMATED.map(|figure| counts.value(figure)))
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
        let estimate = |(number, figure): (usize, &'static Figure)| {
            let values: Option<Vec<f64>> = all.iter().map(|of| value(of, number)).collect();
            let estimate = interval::mean(&values?, LEVEL).ok()?;
            Some(Estimated { figure, mean: estimate.value, ci95: (estimate.low, estimate.high) })
        };
        ESTIMATED.into_iter().enumerate().filter_map(estimate).collect()
    }
}

/// How large a cache is, as a figure.
#[must_use]
pub fn of_capacity(of: &Capacity) -> Valued {
    let figure = match of.unit {
        Unit::Bytes => figure::CAPACITY_BYTES,
        Unit::Objects => figure::CAPACITY_OBJECTS,
    };
    (figure, of.amount as f64)
}

/// All figures of one policy at one size, with what no policy undercuts there, where that is known.
#[must_use]
pub fn of_replay(cell: &Replayed, bound: Option<&Bound>) -> Vec<Valued> {
    let Replayed { all, after_skip, .. } = cell;
    let ratios = |of: &Total| {
        let requests = (of.requests > 0).then(|| of.miss_ratio());
        (requests, (of.requested_bytes > 0).then(|| of.byte_miss_ratio()))
    };
    let (missed, missed_bytes) = ratios(all);
    let (skipped, skipped_bytes) =
        if after_skip == all { (None, None) } else { ratios(after_skip) };
    let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
    let (size, amount) = of_capacity(&cell.capacity);
    let figures = [
        (size, Some(amount)),
        (figure::MISS_RATIO_BOUND, bound.and_then(|of| share(of.misses, all.requests))),
        (
            figure::BYTE_MISS_RATIO_BOUND,
            bound.and_then(|of| share(of.missed_bytes?, all.requested_bytes)),
        ),
        (figure::REQUESTS, Some(all.requests as f64)),
        (figure::MISSES, Some(all.misses as f64)),
        (figure::MISS_RATIO, missed),
        (figure::REQUESTED_BYTES, Some(all.requested_bytes as f64)),
        (figure::MISSED_BYTES, Some(all.missed_bytes as f64)),
        (figure::BYTE_MISS_RATIO, missed_bytes),
        (figure::AFTER_SKIP_MISS_RATIO, skipped),
        (figure::AFTER_SKIP_BYTE_MISS_RATIO, skipped_bytes),
        (figure::EVICTIONS, Some(cell.evictions as f64)),
        (figure::MEMORY_BYTES, Some(cell.memory_bytes as f64)),
    ];
    figures.into_iter().filter_map(|(figure, value)| Some((figure, value?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_cache::cluster::Source;

    fn counts(misses: u64) -> Figures {
        let mut counts = Counts { requests: 100, requested_bytes: 100, ..Counts::default() };
        counts.answers[Source::Origin as usize] = misses;
        Figures::of(&counts)
    }

    #[test]
    fn means_have_intervals_and_pairs_narrower_ones() {
        let (a, b) = ([counts(10), counts(20), counts(30)], [counts(12), counts(22), counts(32)]);
        let miss =
            |of: &[Estimated]| *of.iter().find(|one| one.figure == figure::MISS_RATIO).unwrap();
        let mean = miss(&Figures::estimated(&a));
        // Student's 97.5% quantile of two degrees of freedom is 4.3027; s = 0.1, n = 3.
        assert!((mean.mean - 0.2).abs() < 1e-12);
        assert!((mean.ci95.1 - (0.2 + 4.302_652_7 * 0.1 / 3f64.sqrt())).abs() < 1e-6);
        let difference = miss(&Figures::differences(&b, &a));
        assert!((difference.mean - 0.02).abs() < 1e-12);
        assert!(difference.ci95.1 - difference.ci95.0 < 1e-12);
        assert!(Figures::estimated(&a[..1]).is_empty());
        // No request was answered: there is no time to tell.
        let has = |figure| Figures::estimated(&a).iter().any(|one| one.figure == figure);
        assert!(has(figure::MISS_RATIO));
        assert!(!has(figure::RESPONSE_MEAN_MS) && !has(figure::RESPONSE_P99_MS));
    }
}
