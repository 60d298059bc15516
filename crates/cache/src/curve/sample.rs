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
use crate::eviction::Policy;
use crate::trace::{Sampling, Trace};

use super::bytes::scaled;
use super::difference::requested_bytes;
use super::{Curve, CurveError, Misses, Point, exact, exact_in_requests, miniature};

/// How many objects of a sample a capacity must stand for: estimates below it are marked as not
/// reliable.
pub const RELIABLE_OBJECTS: f64 = 1000.0;

/// Points of LRU without a sample: exact.
///
/// *Shape*: one for each capacity, in their order.
///
/// *Errors*: capacities in bytes of a trace without sizes.
///
/// *Cost*: a pass for each unit that capacities have, and in bytes a replay for each capacity that
/// does not hold the largest object.
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
    if sample.is_empty() {
        return Ok(capacities.iter().map(|&capacity| Point::unknown(capacity)).collect());
    }
    let is_bytes = |capacity: &&Capacity| capacity.unit == Unit::Bytes;
    let amounts: Vec<u64> =
        capacities.iter().filter(is_bytes).map(|capacity| capacity.amount).collect();
    let mut in_bytes = match amounts.is_empty() {
        true => Vec::new(),
        false => misses_in_bytes(sample, &amounts, whole.rate)?,
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

/// Misses in bytes: of the stack at capacities that hold the largest object, each by itself below,
/// where LRU refuses what it cannot hold, and the stack does not.
fn misses_in_bytes(sample: &Trace, amounts: &[u64], rate: f64) -> Result<Vec<Misses>, CurveError> {
    let largest = sample.sizes().ok_or(CurveError::NoSizes)?.largest();
    let (whole, small): (Vec<u64>, Vec<u64>) =
        amounts.iter().partition(|&&amount| amount >= largest);
    let mut of_stack =
        if whole.is_empty() { Vec::new() } else { scaled(sample, &whole, rate)? }.into_iter();
    let mut of_small = small
        .into_iter()
        .map(|amount| if rate < 1.0 { fitting(sample, amount, rate) } else { run(sample, amount) })
        .collect::<Result<Vec<_>, _>>()?
        .into_iter();
    let next = |amount: &u64| {
        if *amount >= largest { of_stack.next() } else { of_small.next() }
    };
    Ok(amounts.iter().filter_map(next).collect())
}

/// Misses of a replay of LRU.
fn run(trace: &Trace, amount: u64) -> Result<Misses, CurveError> {
    let Policy { kind, settings, .. } = Policy::lru();
    let capacity = Capacity { amount, unit: Unit::Bytes };
    Ok(miniature::misses((kind, &settings), trace, &[], capacity)?)
}

/// Misses of the stack of those objects that a capacity can hold, and all requests to others.
fn fitting(sample: &Trace, amount: u64, rate: f64) -> Result<Misses, CurveError> {
    let sizes = sample.sizes().ok_or(CurveError::NoSizes)?;
    let fits: Vec<bool> = (0..sample.distinct()).map(|object| sizes.of(object) <= amount).collect();
    let refused = sample.requests().iter().filter(|&&object| !fits[object as usize]);
    let (requests, bytes) =
        refused.fold((0, 0), |sum, &object| (sum.0 + 1, sum.1 + sizes.of(object)));
    let inside = scaled(&sample.of_objects(&fits), &[amount], rate)?;
    let (misses, missed_bytes) =
        inside.first().map_or((0, 0), |of| (of.misses, of.missed_bytes.unwrap_or(0)));
    Ok(Misses { misses: misses + requests, missed_bytes: Some(missed_bytes + bytes) })
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
            miss_ratio: Some(share(sample.misses, self.requests)),
            byte_miss_ratio: self.bytes.and_then(of_bytes),
            reliable: self.rate >= 1.0 || self.rate * objects >= RELIABLE_OBJECTS,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
                let both = found.miss_ratio.zip(truth.miss_ratio);
                errors.push(both.map(|(found, truth)| (found - truth).abs()).unwrap());
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
        // Some hold the largest object, some do not.
        capacities.extend(all(Unit::Bytes, &[500, 20_000, 9 << 20, 64 << 20]));
        for point in lru(&trace, &capacities).unwrap() {
            let run = made::lru(&trace, point.capacity);
            let ratio = run.misses as f64 / trace.len() as f64;
            let bytes = run.missed_bytes as f64 / requested_bytes(&trace) as f64;
            assert_eq!(point.miss_ratio, Some(ratio));
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

    proptest! {
        /// Whatever sizes objects have: also where most of them do not fit.
        #[test]
        fn points_in_bytes_are_single_runs(
            asked in proptest::collection::vec((0u32..30, 0u64..100), 1..400),
            amounts in proptest::collection::vec(1u64..800, 1..12),
        ) {
            let trace = made::sized(&asked);
            let capacities = all(Unit::Bytes, &amounts);
            for point in lru(&trace, &capacities).unwrap() {
                let run = made::lru(&trace, point.capacity);
                let wanted = Some(run.misses as f64 / trace.len() as f64);
                prop_assert_eq!(point.miss_ratio, wanted, "{:?}", point.capacity);
                let bytes = requested_bytes(&trace);
                let wanted = if bytes > 0 { run.missed_bytes as f64 / bytes as f64 } else { 0.0 };
                prop_assert_eq!(point.byte_miss_ratio, Some(wanted));
            }
        }

        /// The stack of what fits is a run of it, too.
        #[test]
        fn what_fits_has_the_misses_of_a_run(
            asked in proptest::collection::vec((0u32..30, 0u64..100), 1..400),
            amount in 1u64..300,
        ) {
            let trace = made::sized(&asked);
            prop_assert_eq!(fitting(&trace, amount, 1.0), run(&trace, amount));
        }
    }

    #[test]
    fn a_sample_is_near_below_the_largest_object_too() {
        let trace = made::reference(50_000, 400_000);
        let sizes = trace.sizes().unwrap();
        let capacities = all(Unit::Bytes, &[sizes.largest() / 2]);
        let truth = lru(&trace, &capacities).unwrap()[0].miss_ratio.unwrap();
        let sampling = Sampling::new(0.2, 1).unwrap();
        let found = sampled(&trace, &capacities, &sampling).unwrap()[0].miss_ratio.unwrap();
        assert!((found - truth).abs() < 0.02, "{found} {truth}");
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
