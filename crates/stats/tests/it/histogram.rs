//! The histogram against the `hdrhistogram` crate, over values of every magnitude.

use hdrhistogram::Histogram as Reference;
use plimsoll_stats::histogram::codec::{decode, encode_v2_compressed};
use plimsoll_stats::histogram::{Exact, Histogram, MAX_VALUE};
use proptest::prelude::*;

pub(crate) fn reference() -> Reference<u64> {
    Reference::new_with_bounds(1, MAX_VALUE, 3).unwrap()
}

/// Every magnitude equally likely, rather than nearly all values near the maximum.
pub(crate) fn value() -> impl Strategy<Value = u64> {
    (0_u32..45, any::<u64>()).prop_map(|(bits, value)| value & ((1_u64 << bits) - 1))
}

pub(crate) fn values() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((value(), 1_u64..50), 0..200)
}

pub(crate) fn both(values: &[(u64, u64)]) -> (Histogram, Reference<u64>) {
    let (mut ours, mut theirs) = (Histogram::new(), reference());
    for &(value, n) in values {
        ours.record_n(value, n);
        theirs.record_n(value, n).unwrap();
    }
    (ours, theirs)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

/// Mean and deviation of the values themselves.
#[expect(clippy::cast_precision_loss, reason = "values end at 2^44")]
fn moments(values: &[(u64, u64)]) -> (f64, f64) {
    let n: f64 = values.iter().map(|&(_, n)| n as f64).sum();
    let mean = values.iter().map(|&(value, n)| value as f64 * n as f64).sum::<f64>() / n;
    let square = |&(value, n): &(u64, u64)| (value as f64 - mean).powi(2) * n as f64;
    (mean, (values.iter().map(square).sum::<f64>() / n).sqrt())
}

/// Every occupied bucket is the reference's, and nothing else is recorded.
pub(crate) fn same_buckets(ours: &Histogram, theirs: &Reference<u64>) -> Result<(), TestCaseError> {
    prop_assert_eq!(ours.count(), theirs.len());
    for bucket in ours.buckets() {
        prop_assert_eq!(theirs.lowest_equivalent(bucket.lowest), bucket.lowest);
        prop_assert_eq!(theirs.highest_equivalent(bucket.lowest), bucket.highest());
        prop_assert_eq!(theirs.median_equivalent(bucket.lowest), bucket.middle());
        prop_assert_eq!(theirs.count_at(bucket.lowest), bucket.count);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn buckets_moments_and_quantiles_are_the_references(
        values in values(),
        quantiles in prop::collection::vec(0.0_f64..1.1, 20),
    ) {
        let (ours, theirs) = both(&values);
        same_buckets(&ours, &theirs)?;
        if values.is_empty() {
            prop_assert_eq!(ours.value_at_quantile(0.5), None);
            return Ok(());
        }
        for q in quantiles.into_iter().chain([0.0, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0]) {
            // Within the extremes, which the reference's are not.
            let greatest = values.iter().map(|&(value, _)| value).max().unwrap();
            let least = values.iter().map(|&(value, _)| value).min().unwrap();
            let wanted = if q <= 0.0 { least } else { theirs.value_at_quantile(q).min(greatest) };
            let wanted = Some(wanted);
            prop_assert_eq!(ours.value_at_quantile(q), wanted, "q {}", q);
        }
        let (mean, stddev) = moments(&values);
        prop_assert!(close(ours.mean().unwrap(), mean));
        prop_assert!(close(ours.stddev().unwrap(), stddev) || stddev < 1e-6 * mean);
        let exact = values.iter().map(|&(value, _)| value);
        prop_assert_eq!(ours.min(), exact.clone().min());
        prop_assert_eq!(ours.max(), exact.max());
    }

    #[test]
    fn a_quantile_is_the_true_one_within_a_thousandth_above(
        mut values in prop::collection::vec(value(), 1..300),
        q in 0.001_f64..=1.0,
    ) {
        let mut histogram = Histogram::new();
        values.iter().for_each(|&value| histogram.record(value));
        values.sort_unstable();
        let rank = plimsoll_stats::histogram::rank(q, values.len() as u64);
        let truth = values[usize::try_from(rank).unwrap() - 1];
        let found = histogram.value_at_quantile(q).unwrap();
        prop_assert!(found >= truth && found - truth <= truth / 1000, "{} for {}", found, truth);
    }

    #[test]
    fn merging_is_recording_and_subtracting_undoes_it(a in values(), b in values()) {
        let (part, _) = both(&a);
        let (mut sum, _) = both(&b);
        let (other, _) = both(&b);
        sum.add(&part);
        let together: Vec<_> = a.iter().chain(&b).copied().collect();
        let (whole, theirs) = both(&together);
        same_buckets(&sum, &theirs)?;
        prop_assert_eq!(sum.exact(), whole.exact());
        sum.subtract(&part);
        prop_assert!(sum.buckets().eq(other.buckets()));
        prop_assert_eq!(sum.count(), other.count());
        prop_assert_eq!(sum.mean(), other.mean());
        prop_assert_eq!(sum.stddev(), other.stddev());
        // The extremes lie in the buckets of the true ones, and bound them from outside.
        if let (Some(min), Some(max)) = (other.min(), other.max()) {
            let (low, high) = (sum.min().unwrap(), sum.max().unwrap());
            prop_assert!(low <= min && max <= high);
            prop_assert_eq!(theirs.lowest_equivalent(low), theirs.lowest_equivalent(min));
            prop_assert_eq!(theirs.lowest_equivalent(high), theirs.lowest_equivalent(max));
        }
    }

    #[test]
    fn what_is_above_a_bound_is_what_lies_in_later_buckets(values in values(), bound in value()) {
        let (ours, theirs) = both(&values);
        let above = |limit: u64| -> u64 {
            values.iter().filter(|(value, _)| *value > limit).map(|(_, n)| n).sum()
        };
        let counted = ours.count_above(bound);
        prop_assert!(counted <= above(bound));
        prop_assert!(counted >= above(theirs.highest_equivalent(bound)));
    }

    #[test]
    fn clearing_leaves_nothing(values in values(), again in values()) {
        let (mut ours, _) = both(&values);
        ours.clear();
        prop_assert!(ours.is_empty() && ours.buckets().next().is_none());
        again.iter().for_each(|&(value, n)| ours.record_n(value, n));
        prop_assert!(ours.buckets().eq(both(&again).0.buckets()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Percentiles ascend, and each figure lies between the least and the greatest value.
    #[test]
    fn figures_lie_between_the_extremes(values in values(), other in values()) {
        let (mut histogram, _) = both(&values);
        let (part, _) = both(&other);
        for step in 0..3 {
            match step {
                1 => histogram.add(&part),
                2 => histogram.subtract(&both(&values).0),
                _ => {}
            }
            let (Some(min), Some(max)) = (histogram.min(), histogram.max()) else { continue };
            let quantiles = [0.0, 0.1, 0.5, 0.9, 0.99, 1.0].map(|q| histogram.value_at_quantile(q));
            prop_assert!(quantiles.is_sorted());
            prop_assert!(quantiles.iter().all(|q| (Some(min)..=Some(max)).contains(q)));
            let (mean, stddev) = (histogram.mean().unwrap(), histogram.stddev().unwrap());
            #[expect(clippy::cast_precision_loss, reason = "values end at 2^44")]
            let (min, max) = (min as f64, max as f64);
            let hair = 1e-9 * max;
            prop_assert!(mean >= min - hair && mean <= max + hair, "{} of {}..{}", mean, min, max);
            prop_assert!(stddev <= (max - min) / 2.0 + hair, "Popoviciu: {}", stddev);
        }
    }

    /// What is kept beside the counts is taken back, and only where it is theirs.
    #[test]
    fn exact_figures_survive_beside_an_encoding(values in values(), other in values()) {
        let (ours, _) = both(&values);
        let (another, _) = both(&other);
        let mut back = decode(&encode_v2_compressed(&ours)).unwrap();
        if let Some(exact) = another.exact().filter(|_| !another.buckets().eq(ours.buckets())) {
            let before = back.exact();
            if !back.restore(exact) {
                prop_assert_eq!(back.exact(), before);
            }
            back = decode(&encode_v2_compressed(&ours)).unwrap();
        }
        if let Some(exact) = ours.exact() {
            prop_assert!(back.restore(exact));
        }
        prop_assert_eq!(back.exact(), ours.exact());
        prop_assert_eq!(back.stddev(), ours.stddev());
    }
}

#[test]
fn nonsense_beside_an_encoding_is_refused() {
    let mut histogram = Histogram::new();
    [1_000_000, 1_000_100, 5_000_000].into_iter().for_each(|value| histogram.record(value));
    let exact = histogram.exact().unwrap();
    for wrong in [
        Exact { min: 0, ..exact },
        Exact { max: 6_000_000, ..exact },
        Exact { min: 5_000_000, max: 1_000_000, ..exact },
        Exact { sum: exact.sum * 2, ..exact },
        Exact { sum: 0, ..exact },
        Exact { squares: u128::MAX, ..exact },
    ] {
        assert!(!histogram.restore(wrong), "{wrong:?}");
        assert_eq!(histogram.exact(), Some(exact));
    }
    assert!(!Histogram::new().restore(exact));
}

#[test]
fn one_value_is_its_own_mean_percentile_and_extreme() {
    let mut histogram = Histogram::new();
    histogram.record_n(70_000_001, 3);
    for q in [0.0, 0.5, 0.99, 1.0] {
        assert_eq!(histogram.value_at_quantile(q), Some(70_000_001));
    }
    assert_eq!((histogram.mean(), histogram.stddev()), (Some(70_000_001.0), Some(0.0)));
    let mut row = Histogram::new();
    row.add_row(70_000_001, &[3], 70_000_001, 70_000_001);
    assert_eq!(row.exact(), histogram.exact());
}

#[test]
fn the_last_bucket_takes_everything_beyond() {
    let mut histogram = Histogram::new();
    histogram.record(u64::MAX);
    histogram.record(MAX_VALUE);
    assert_eq!(histogram.max(), Some(MAX_VALUE));
    assert_eq!(histogram.value_at_quantile(1.0), Some(MAX_VALUE));
    assert_eq!(histogram.buckets().count(), 1);
}
