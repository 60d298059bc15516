//! Intervals by resampling: the bootstrap, bias-corrected and accelerated (BCa), for samples whose
//! shape Student's t does not fit.
//!
//! The statistic is computed of many samples of the same size, drawn from the values with
//! replacement. The interval's ends are quantiles of these results: not the plain ones, but moved
//! by how far the results' median is from the statistic (z₀), and by how fast its error changes
//! with it (the acceleration a, by leaving out one value at a time):
//! `Φ(z₀ + (z₀ + z) / (1 − a·(z₀ + z)))`.
//!
//! *Source:* B. Efron, "Better bootstrap confidence intervals", *JASA* 82, 1987; B. Efron and R.
//! Tibshirani, *An Introduction to the Bootstrap* (1993), 14.3.
//!
//! *Determinism:* the draws are handed in; the same words give the same interval.

use super::means::check;
use super::{Estimate, IntervalError, Side, student};
use crate::box_plot::quantile;
use crate::normal;

/// How many samples are drawn. An end of the interval then moves by some 2% of its width from one
/// seed to another.
pub const RESAMPLES: usize = 9_999;

/// The mean of a sample with its BCa interval at `level`. `draw` gives words of 64 random bits.
///
/// # Errors
/// Fewer than two values; a value that is not finite.
///
/// *Cost:* 10,000 times the number of values.
pub fn bootstrap_mean(
    values: &[f64],
    level: f64,
    draw: impl FnMut() -> u64,
) -> Result<Estimate, IntervalError> {
    bca(values, average, level, draw)
}

/// The median of a sample with its BCa interval at `level`, as [`bootstrap_mean`].
///
/// # Errors
/// Fewer than two values; a value that is not finite.
pub fn bootstrap_median(
    values: &[f64],
    level: f64,
    draw: impl FnMut() -> u64,
) -> Result<Estimate, IntervalError> {
    let median = |values: &mut [f64]| {
        values.sort_unstable_by(f64::total_cmp);
        quantile(values, 0.5)
    };
    bca(values, median, level, draw)
}

fn average(values: &mut [f64]) -> f64 {
    values.iter().sum::<f64>() / count(values.len())
}

/// A statistic of a sample with its interval. The statistic may change the order of the values.
fn bca(
    values: &[f64],
    statistic: impl Fn(&mut [f64]) -> f64,
    level: f64,
    mut draw: impl FnMut() -> u64,
) -> Result<Estimate, IntervalError> {
    check(values, Side::Sample)?;
    let n = values.len();
    let mut sample = values.to_vec();
    let value = statistic(&mut sample);
    let mut results: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            sample.iter_mut().for_each(|place| *place = values[below(n, draw())]);
            statistic(&mut sample)
        })
        .collect();
    results.sort_unstable_by(f64::total_cmp);
    let bias = bias(&results, value);
    let acceleration = acceleration(values, &statistic);
    let end = |p: f64| {
        let z = bias + student::quantile(p, f64::INFINITY);
        let scale = 1.0 - acceleration * z;
        // Beyond its pole the formula would turn over: the end is that of the results.
        let moved = if scale > 0.0 { bias + z / scale } else { f64::INFINITY.copysign(z) };
        quantile(&results, 1.0 - normal::upper_tail(moved))
    };
    let (low, high) = (end(f64::midpoint(0.0, 1.0 - level)), end(f64::midpoint(1.0, level)));
    Ok(Estimate { value, low, high, level, df: count(n - 1) })
}

/// z₀: where the statistic lies among the results, as a normal quantile. Results equal to it, up to
/// the rounding of sums, count by half; of results that all lie on one side, half a result is taken
/// to lie on the other.
fn bias(results: &[f64], value: f64) -> f64 {
    let range = results.last().zip(results.first()).map_or(0.0, |(last, first)| last - first);
    let rounding = 1e-12 * range;
    let lower = results.partition_point(|result| *result < value - rounding);
    let equal = results[lower..].partition_point(|result| *result <= value + rounding);
    let rank = (count(lower) + count(equal) / 2.0).clamp(0.5, count(results.len()) - 0.5);
    student::quantile(rank / count(results.len()), f64::INFINITY)
}

/// a: a sixth of the skewness of what the statistic is without one of the values; 0 where that
/// does not vary.
fn acceleration(values: &[f64], statistic: &impl Fn(&mut [f64]) -> f64) -> f64 {
    let mut others = Vec::with_capacity(values.len());
    let without: Vec<f64> = (0..values.len())
        .map(|left_out| {
            others.clear();
            others.extend(values[..left_out].iter().chain(&values[left_out + 1..]));
            statistic(&mut others)
        })
        .collect();
    let centre = without.iter().sum::<f64>() / count(without.len());
    let (mut squares, mut cubes) = (0.0, 0.0);
    for result in without {
        let distance = centre - result;
        squares += distance * distance;
        cubes += distance * distance * distance;
    }
    if squares > 0.0 { cubes / (6.0 * squares * squares.sqrt()) } else { 0.0 }
}

/// A number below `n` from a word of random bits, by the high bits of a product (Lemire 2019,
/// without the rejection, whose bias is below n/2^64).
fn below(n: usize, word: u64) -> usize {
    let product = u128::from(word) * n as u128;
    #[expect(clippy::cast_possible_truncation, reason = "below n")]
    let index = (product >> 64) as usize;
    index
}

#[expect(clippy::cast_precision_loss, reason = "samples are below 2^53")]
fn count(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_units::hash::{GOLDEN, mix};
    use proptest::prelude::*;

    fn words(mut seed: u64) -> impl FnMut() -> u64 {
        move || {
            seed = seed.wrapping_add(GOLDEN);
            mix(seed)
        }
    }

    /// Thirty values, skewed; compared with scipy 1.17.1, `stats.bootstrap(method="BCa")` with
    /// 300,000 samples.
    #[test]
    fn a_skewed_sample_as_scipy_has_it() {
        let values: Vec<f64> = (1..=30).map(|n| libm::exp(f64::from(n) / 8.0)).collect();
        for (found, value, low, high) in [
            (bootstrap_mean(&values, 0.95, words(1)), MEAN.0, MEAN.1, MEAN.2),
            (bootstrap_median(&values, 0.95, words(1)), MEDIAN.0, MEDIAN.1, MEDIAN.2),
        ] {
            let found = found.unwrap();
            let near = 0.03 * (high - low);
            assert!((found.value - value).abs() < 1e-9, "{found:?}");
            assert!((found.low - low).abs() < near, "{found:?} for {low}");
            assert!((found.high - high).abs() < near, "{found:?} for {high}");
        }
    }

    const MEAN: (f64, f64, f64) = (11.778_719_856_003_669, 8.210_6, 16.624_2);
    const MEDIAN: (f64, f64, f64) = (6.954_937_609_630_381, 3.722_7, 12.993_5);

    #[test]
    fn the_same_words_give_the_same_interval() {
        let values: Vec<f64> = (1..=30).map(|n| libm::sqrt(f64::from(n))).collect();
        let of = |seed| bootstrap_mean(&values, 0.95, words(seed)).unwrap();
        assert_eq!(of(3), of(3));
        assert_ne!(of(3).low.to_bits(), of(4).low.to_bits());
    }

    #[test]
    fn what_no_interval_can_come_from_is_refused() {
        let one = bootstrap_mean(&[1.0], 0.95, words(1));
        assert!(matches!(one, Err(IntervalError::TooFewReplications { found: 1, .. })));
        let nan = bootstrap_median(&[1.0, f64::NAN], 0.95, words(1));
        assert!(matches!(nan, Err(IntervalError::NotFinite { number: 2, .. })));
        let equal = bootstrap_mean(&[4.0; 20], 0.95, words(1)).unwrap();
        assert!((equal.high - equal.low).abs() < 1e-12 && (equal.low - 4.0).abs() < 1e-12);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        /// The interval holds the statistic, lies within the values, and goes with unit and origin.
        #[test]
        fn it_lies_within_the_values_and_goes_with_their_unit(
            values in prop::collection::vec(-100.0_f64..100.0, 3..30),
            scale in 0.01_f64..100.0,
        ) {
            let found = bootstrap_mean(&values, 0.95, words(5)).unwrap();
            prop_assert!(found.low <= found.high);
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(least - 1e-9 <= found.low && found.high <= most + 1e-9);
            let scaled: Vec<f64> = values.iter().map(|v| v * scale).collect();
            let other = bootstrap_mean(&scaled, 0.95, words(5)).unwrap();
            let near = 1e-3 * (most - least);
            prop_assert!((found.low - other.low / scale).abs() < near);
            prop_assert!((found.high - other.high / scale).abs() < near);
        }
    }
}
