//! A sample in a few figures: how many, mean, spread, quartiles, and how sure mean and median are.

use serde::{Deserialize, Serialize};

use crate::box_plot::{BoxPlot, sorted};
use crate::interval::{LEVEL, mean};

/// A sample described. Intervals are at 95%; `None` where the sample is too small for one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Described {
    /// How many values.
    pub n: usize,
    /// Their mean.
    pub mean: f64,
    /// Student's interval of the mean; needs two values.
    pub mean_ci95: Option<(f64, f64)>,
    /// Standard deviation, by n − 1; `None` of a single value.
    pub stddev: Option<f64>,
    /// Coefficient of variation: standard deviation over mean; `None` where the mean is 0 too.
    pub cv: Option<f64>,
    /// Interval of the median, free of any distribution; needs six values.
    pub median_ci95: Option<(f64, f64)>,
    /// Least, quartiles, greatest, whiskers, and what lies beyond them.
    #[serde(flatten)]
    pub spread: BoxPlot,
}

impl Described {
    /// Describes a sample; `None` where it is empty, or holds what is no number.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "samples are below 2^53")]
    pub fn of(values: &[f64]) -> Option<Self> {
        let spread = BoxPlot::of(values)?;
        let n = values.len();
        let average = values.iter().sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|value| (value - average) * (value - average)).sum();
        let stddev = (n > 1).then(|| (squares / (n - 1) as f64).sqrt());
        Some(Self {
            n,
            mean: average,
            mean_ci95: mean(values, LEVEL).ok().map(|estimate| (estimate.low, estimate.high)),
            stddev,
            cv: stddev.filter(|_| average.abs() > 0.0).map(|stddev| stddev / average),
            median_ci95: median_interval(values, LEVEL),
            spread,
        })
    }
}

/// The interval of the median between two order statistics of equal rank from both ends: the
/// narrowest of these that holds it with a probability of at least `level`, for independent values
/// of any continuous distribution. `None` where even the least and the greatest value do not.
///
/// The number of values below the median is binomial with one half; the interval from the r-th
/// least to the r-th greatest misses it where that number is below r, or above n − r.
///
/// *Source:* Hahn & Meeker, *Statistical Intervals* (1991), 5.2.
#[must_use]
pub fn median_interval(values: &[f64], level: f64) -> Option<(f64, f64)> {
    let sorted = sorted(values)?;
    let n = sorted.len();
    #[expect(clippy::cast_precision_loss, reason = "samples are below 2^53")]
    let many = n as f64;
    // The logarithm of C(n, k) / 2^n, so that nothing underflows.
    let mut log_of = -many * std::f64::consts::LN_2;
    let (mut below, mut rank) = (0.0, 0);
    while rank < n / 2 {
        let more = below + libm::exp(log_of);
        if 2.0 * more > 1.0 - level {
            break;
        }
        below = more;
        rank += 1;
        #[expect(clippy::cast_precision_loss, reason = "samples are below 2^53")]
        let k = rank as f64;
        log_of += libm::log((many - k + 1.0) / k);
    }
    (rank > 0).then(|| (sorted[rank - 1], sorted[n - rank]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_the_median_is_the_tables() {
        let of = |n: u32| median_interval(&(1..=n).map(f64::from).collect::<Vec<_>>(), 0.95);
        // Ranks of 95% intervals of the median: six values need all, ten leave one out on each
        // side, twenty five, a hundred thirty-nine.
        assert_eq!(of(5), None);
        assert_eq!(of(6), Some((1.0, 6.0)));
        assert_eq!(of(10), Some((2.0, 9.0)));
        assert_eq!(of(20), Some((6.0, 15.0)));
        assert_eq!(of(100), Some((40.0, 61.0)));
        assert!(of(5000).is_some());
    }

    #[test]
    fn a_sample_by_hand() {
        let described = Described::of(&[8.0, 10.0, 12.0]).unwrap();
        assert_eq!(described.n, 3);
        assert!((described.mean - 10.0).abs() < 1e-12);
        assert!((described.stddev.unwrap() - 2.0).abs() < 1e-12);
        assert!((described.cv.unwrap() - 0.2).abs() < 1e-12);
        let (low, high) = described.mean_ci95.unwrap();
        assert!((low - 5.031_724).abs() < 1e-6 && (high - 14.968_276).abs() < 1e-6);
        assert_eq!(described.median_ci95, None);
    }

    #[test]
    fn one_value_has_no_spread_and_none_no_figures() {
        let one = Described::of(&[5.0]).unwrap();
        assert_eq!((one.stddev, one.cv, one.mean_ci95), (None, None, None));
        assert_eq!(Described::of(&[]), None);
        assert_eq!(Described::of(&[0.0, 0.0]).unwrap().cv, None);
    }
}
