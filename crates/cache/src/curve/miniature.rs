//! The curve of any policy from caches in miniature: a sample of the objects, on a cache that has
//! as small a share of the capacity.
//!
//! *Source*: Waldspurger, Saemundsson, Ahmad and Park, *Cache modeling and optimization using
//! miniature simulations*, USENIX ATC 2017, section 3; misses are corrected as in `sample.rs`.

use crate::capacity::{Capacity, Unit};
use crate::eviction::{Kind, SettingError, Settings};
use crate::replay::{Job, replay};
use crate::trace::{Sampling, SizeTable, Trace};

use super::sample::Whole;
use super::{CurveError, Misses, Point};

/// Misses of one replay.
pub(super) fn misses(
    (kind, settings): (&Kind, &Settings),
    trace: &Trace,
    next: &[u32],
    capacity: Capacity,
) -> Result<Misses, SettingError> {
    let job =
        Job { trace, next, capacity, settings, admission: None, size_classes: None, marks: &[] };
    let counts = replay(kind, &job)?;
    let (misses, bytes) = counts
        .stretches
        .iter()
        .fold((0, 0), |sum, stretch| (sum.0 + stretch.misses, sum.1 + stretch.missed_bytes));
    Ok(Misses { misses, missed_bytes: trace.sizes().map(|_| bytes) })
}

/// Points of a policy, each replayed on the same sample of the objects.
///
/// A policy that knows the future is told that of the sample: its next uses are those among the
/// sampled requests. Capacities are scaled by the rate, rounded down, and at least 1.
///
/// *Shape*: one for each capacity, in their order; reliable as [`super::sampled`] says, and in
/// bytes only where the miniature holds the largest object of the sample: it refuses what it cannot
/// hold, and the cache that it stands for would not. With a rate of 1 each is the single run.
///
/// *Errors*: a setting that the policy cannot take; bytes of a trace without sizes.
///
/// *Determinism*: by the seed of the sampling and the names of objects.
///
/// *Cost*: a pass over the trace to choose, and a replay of the sample for each capacity.
pub fn miniature(
    kind: &Kind,
    settings: &Settings,
    trace: &Trace,
    capacities: &[Capacity],
    sampling: &Sampling,
) -> Result<Vec<Point>, CurveError> {
    let whole = Whole::of(trace, sampling.rate());
    let sample = trace.sampled(sampling);
    let next = if kind.needs.next { sample.next_uses() } else { Vec::new() };
    let largest = sample.sizes().map_or(0, SizeTable::largest);
    let mut points = Vec::new();
    for &capacity in capacities {
        if capacity.unit == Unit::Bytes && sample.sizes().is_none() {
            return Err(CurveError::NoSizes);
        }
        if sample.is_empty() {
            points.push(Point::unknown(capacity));
            continue;
        }
        let small = Capacity { amount: whole.part(capacity.amount).max(1), ..capacity };
        let found = misses((kind, settings), &sample, &next, small)?;
        let is_cut = capacity.unit == Unit::Bytes
            && small.amount < largest
            && small.amount < capacity.amount;
        let point = whole.point(capacity, found);
        points.push(Point { reliable: point.reliable && !is_cut, ..point });
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eviction::KINDS;
    use crate::made;

    fn objects(amounts: &[u64]) -> Vec<Capacity> {
        amounts.iter().map(|&amount| Capacity { amount, unit: Unit::Objects }).collect()
    }

    #[test]
    fn a_miniature_is_near_the_whole() {
        let trace = made::reference(50_000, 400_000);
        let capacities = objects(&[10_000, 25_000]);
        for kind in KINDS {
            let mut errors = vec![Vec::new(); capacities.len()];
            for seed in 0..5 {
                let sampling = Sampling::new(0.1, seed).unwrap();
                let settings = Settings::default();
                let points = miniature(kind, &settings, &trace, &capacities, &sampling).unwrap();
                for (errors, point) in errors.iter_mut().zip(points) {
                    assert!(point.reliable);
                    let run = made::run(kind, &trace, point.capacity);
                    let truth = run.misses as f64 / trace.len() as f64;
                    errors.push((point.miss_ratio.unwrap() - truth).abs());
                }
            }
            for mut errors in errors {
                errors.sort_by(f64::total_cmp);
                assert!(errors[2] < 0.02, "{}: {errors:?}", kind.name);
            }
        }
    }

    #[test]
    fn a_miniature_of_full_size_is_the_run() {
        let trace = made::reference(2_000, 10_000);
        let mut capacities = objects(&[10, 500]);
        capacities.push(Capacity { amount: 1 << 20, unit: Unit::Bytes });
        let sampling = Sampling::new(1.0, 0).unwrap();
        for kind in KINDS {
            let settings = Settings::default();
            let points = miniature(kind, &settings, &trace, &capacities, &sampling).unwrap();
            for point in points {
                let run = made::run(kind, &trace, point.capacity);
                let wanted = Some(run.misses as f64 / 10_000.0);
                assert_eq!(point.miss_ratio, wanted, "{}", kind.name);
                assert!(point.reliable);
            }
        }
    }

    #[test]
    fn a_miniature_that_cannot_hold_its_objects_says_so() {
        // 3,000 objects of a byte, and one that a cache of 4,000 bytes holds, but not its half.
        let mut asked: Vec<(u32, u64)> = (0..3_000).map(|object| (object, 1)).collect();
        asked.push((3_000, 2_500));
        let trace = made::sized(&asked);
        let capacity = [Capacity { amount: 4_000, unit: Unit::Bytes }];
        let gdsf = Kind::named("gdsf").unwrap();
        let mut seen = [false; 2];
        for seed in 0..20 {
            let sampling = Sampling::new(0.5, seed).unwrap();
            let settings = Settings::default();
            let point = miniature(gdsf, &settings, &trace, &capacity, &sampling).unwrap()[0];
            let is_cut = trace.sampled(&sampling).sizes().unwrap().largest() == 2_500;
            assert_eq!(point.reliable, !is_cut, "seed {seed}");
            seen[usize::from(is_cut)] = true;
        }
        assert_eq!(seen, [true; 2]);
    }

    #[test]
    fn an_empty_sample_says_nothing() {
        let trace = made::sized(&[(1, 10), (2, 10), (1, 10)]);
        let sampling = Sampling::new(1e-12, 1).unwrap();
        let bytes = [Capacity { amount: 100, unit: Unit::Bytes }];
        for kind in KINDS {
            let settings = Settings::default();
            let points = miniature(kind, &settings, &trace, &bytes, &sampling).unwrap();
            assert_eq!(points, [Point::unknown(bytes[0])], "{}", kind.name);
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let trace = made::trace(&[1, 2, 1]);
        let sampling = Sampling::new(1.0, 0).unwrap();
        let bytes = [Capacity { amount: 10, unit: Unit::Bytes }];
        let lru = Kind::named("lru").unwrap();
        let none = Settings::default();
        let found = miniature(lru, &none, &trace, &bytes, &sampling);
        assert_eq!(found, Err(CurveError::NoSizes));
        let settings = Settings::parse("colour=blue").unwrap();
        let found = miniature(lru, &settings, &trace, &objects(&[1]), &sampling);
        assert!(matches!(found, Err(CurveError::Setting(_))), "{found:?}");
    }
}
