//! The curve of LRU from a sample of the objects: SHARDS at a fixed rate, with its correction.
//!
//! A sample has all requests to a share R of the objects. Between two requests to one of them lie
//! R times as many others as in the whole trace, so depths are divided by R. What a sample is off
//! by is mostly how popular objects it has: the requests that it has too few or too many are
//! counted as hits of the smallest depth (SHARDS-adj). As a formula: misses of the sample, over R
//! times the requests of the whole trace; bytes alike.
//!
//! *Source*: Waldspurger, Park, Garthwaite and Ahmad, *Efficient MRC construction with SHARDS*,
//! FAST 2015, sections 3.2 and 3.4.

use crate::capacity::{Capacity, Unit};
use crate::trace::{Sampling, Trace};

use super::bytes::scaled;
use super::difference::requested_bytes;
use super::{Curve, CurveError, Misses, Point, exact, exact_in_requests};

/// How many objects of a sample a capacity must stand for: estimates below it are marked as not
/// reliable.
pub const RELIABLE_OBJECTS: f64 = 1000.0;

/// Points of LRU without a sample; exact, in bytes as [`super::in_bytes`] says.
///
/// *Shape*: one for each capacity, in their order.
///
/// *Errors*: capacities in bytes of a trace without sizes.
///
/// *Cost*: a pass for each unit that capacities have.
pub fn lru(trace: &Trace, capacities: &[Capacity]) -> Result<Vec<Point>, CurveError> {
    points(trace, &Whole::of(trace, 1.0), capacities)
}

/// Points of LRU estimated from a sample of the objects.
///
/// *Shape*: one for each capacity, in their order. A point is marked as reliable where rate times
/// capacity is at least [`RELIABLE_OBJECTS`]; in bytes, the capacity over the mean size of objects
/// counts.
///
/// *Errors*: as [`lru`].
///
/// *Determinism*: by the seed of the sampling and the names of objects.
///
/// *Cost*: a pass over the trace to choose, then [`lru`] of the sample.
pub fn sampled(
    trace: &Trace,
    capacities: &[Capacity],
    sampling: &Sampling,
) -> Result<Vec<Point>, CurveError> {
    let whole = Whole::of(trace, sampling.rate());
    points(&trace.sampled(sampling), &whole, capacities)
}

fn points(
    sample: &Trace,
    whole: &Whole,
    capacities: &[Capacity],
) -> Result<Vec<Point>, CurveError> {
    let has = |unit| capacities.iter().any(|capacity| capacity.unit == unit);
    let curve: Option<Curve> = has(Unit::Objects).then(|| match sample.sizes() {
        Some(_) => exact(sample),
        None => exact_in_requests(sample),
    });
    let of = |capacity: &&Capacity| capacity.unit == Unit::Bytes;
    let amounts: Vec<u64> = capacities.iter().filter(of).map(|capacity| capacity.amount).collect();
    let mut in_bytes = match amounts.is_empty() {
        true => Vec::new(),
        false => scaled(sample, &amounts, whole.rate)?,
    }
    .into_iter();
    let misses = |capacity: &Capacity| match capacity.unit {
        Unit::Objects => curve.as_ref().map(|curve| curve.at(whole.depth(capacity.amount))),
        Unit::Bytes => in_bytes.next(),
    };
    let misses: Option<Vec<Misses>> = capacities.iter().map(misses).collect();
    let both = capacities.iter().zip(misses.unwrap_or_default());
    Ok(both.map(|(&capacity, misses)| whole.point(capacity, misses)).collect())
}

/// What a sample stands for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whole {
    rate: f64,
    requests: f64,
    /// Requested bytes, and the mean size of objects.
    bytes: Option<(f64, f64)>,
}

#[expect(clippy::cast_precision_loss, reason = "estimates")]
impl Whole {
    pub(super) fn of(trace: &Trace, rate: f64) -> Self {
        let bytes = trace.footprint_bytes().map(|footprint| {
            let mean = footprint as f64 / f64::from(trace.distinct().max(1));
            (requested_bytes(trace) as f64, mean)
        });
        Self { rate, requests: trace.len() as f64, bytes }
    }

    /// A capacity in objects as one of the sample: of the others on the stack it has its share,
    /// of the object itself the whole.
    fn depth(&self, capacity: u64) -> u64 {
        if capacity == 0 || self.rate >= 1.0 {
            return capacity;
        }
        self.part(capacity - 1).saturating_add(1)
    }

    /// The share of a capacity that the sample stands for, rounded down.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "no more than all")]
    pub(super) fn part(&self, capacity: u64) -> u64 {
        if self.rate >= 1.0 { capacity } else { (capacity as f64 * self.rate) as u64 }
    }

    /// What misses of the sample mean for the whole.
    pub(super) fn point(&self, capacity: Capacity, sample: Misses) -> Point {
        let share = |part: u64, whole: f64| {
            let expected = self.rate * whole;
            if expected > 0.0 { (part as f64 / expected).min(1.0) } else { 0.0 }
        };
        let of_bytes = |(requested, _)| Some(share(sample.missed_bytes?, requested));
        let objects = match (capacity.unit, self.bytes) {
            (Unit::Bytes, Some((_, mean))) => capacity.amount as f64 / mean.max(1.0),
            (Unit::Bytes, None) | (Unit::Objects, _) => capacity.amount as f64,
        };
        Point {
            capacity,
            miss_ratio: share(sample.misses, self.requests),
            byte_miss_ratio: self.bytes.and_then(of_bytes),
            reliable: self.rate >= 1.0 || self.rate * objects >= RELIABLE_OBJECTS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made;

    fn all(unit: Unit, amounts: &[u64]) -> Vec<Capacity> {
        amounts.iter().map(|&amount| Capacity { amount, unit }).collect()
    }

    /// For each capacity the median difference to the exact miss ratio over ten seeds.
    fn median_error(trace: &Trace, capacities: &[Capacity], rate: f64) -> Vec<f64> {
        let truth = lru(trace, capacities).unwrap();
        let mut errors = vec![Vec::new(); capacities.len()];
        for seed in 0..10 {
            let sampling = Sampling::new(rate, seed).unwrap();
            let found = sampled(trace, capacities, &sampling).unwrap();
            for ((errors, found), truth) in errors.iter_mut().zip(&found).zip(&truth) {
                assert!(found.reliable, "{found:?}");
                errors.push((found.miss_ratio - truth.miss_ratio).abs());
            }
        }
        let median = |mut errors: Vec<f64>| {
            errors.sort_by(f64::total_cmp);
            (errors[4] + errors[5]) / 2.0
        };
        errors.into_iter().map(median).collect()
    }

    #[test]
    fn without_a_sample_points_are_single_runs() {
        let trace = made::reference(20_000, 100_000);
        let mut capacities = all(Unit::Objects, &[1, 100, 5_000]);
        capacities.extend(all(Unit::Bytes, &[9 << 20, 64 << 20]));
        for point in lru(&trace, &capacities).unwrap() {
            let run = made::lru(&trace, point.capacity);
            let ratio = run.misses as f64 / trace.len() as f64;
            let bytes = run.missed_bytes as f64 / requested_bytes(&trace) as f64;
            assert_eq!(Some(point.miss_ratio), Some(ratio));
            assert_eq!(point.byte_miss_ratio, Some(bytes));
            assert!(point.reliable);
        }
        let plain = made::trace(&[1, 2, 1]);
        assert_eq!(lru(&plain, &capacities), Err(CurveError::NoSizes));
        assert_eq!(lru(&plain, &capacities[..3]).unwrap()[2].byte_miss_ratio, None);
        assert_eq!(lru(&plain, &[]), Ok(Vec::new()));
    }

    #[test]
    fn a_sample_is_near_where_it_is_reliable() {
        let trace = made::reference(100_000, 1_000_000);
        let objects = all(Unit::Objects, &[10_000, 20_000, 50_000, 90_000]);
        for (error, capacity) in median_error(&trace, &objects, 0.1).iter().zip(&objects) {
            assert!(*error < 0.01, "{error} at {capacity:?}");
        }
    }

    #[test]
    fn small_capacities_are_marked() {
        let trace = made::reference(20_000, 50_000);
        let sampling = Sampling::new(0.1, 1).unwrap();
        let mut capacities = all(Unit::Objects, &[9_999, 10_000]);
        // Objects have about 11 kB in the mean.
        capacities.extend(all(Unit::Bytes, &[50_000_000, 200_000_000]));
        let found = sampled(&trace, &capacities, &sampling).unwrap();
        let reliable: Vec<bool> = found.iter().map(|point| point.reliable).collect();
        assert_eq!(reliable, [false, true, false, true]);
    }

    #[test]
    fn a_sample_of_all_is_exact() {
        let trace = made::reference(5_000, 20_000);
        let mut capacities = all(Unit::Objects, &[1, 50, 700]);
        capacities.extend(all(Unit::Bytes, &[10_000, 3_000_000]));
        let sampling = Sampling::new(1.0, 3).unwrap();
        let found = sampled(&trace, &capacities, &sampling);
        assert_eq!(found, lru(&trace, &capacities));
    }

    #[test]
    #[ignore = "ten samples of ten million requests: seconds, with --release"]
    fn samples_of_the_reference_trace_are_near() {
        let trace = made::reference(1_000_000, 10_000_000);
        for (rate, amounts) in [
            (0.1, &[10_000, 20_000, 50_000, 96_205, 300_000, 800_000][..]),
            (0.01, &[100_000, 200_000, 400_000, 800_000][..]),
        ] {
            let capacities = all(Unit::Objects, amounts);
            let errors = median_error(&trace, &capacities, rate);
            eprintln!("rate {rate}: {amounts:?} {errors:.4?}");
            assert!(errors.iter().all(|&error| error < 0.01), "{errors:?}");
        }
    }
}
