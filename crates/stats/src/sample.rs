//! A sample in a few figures: how many, mean, spread, quartiles, and how sure mean and median are.

use serde::{Deserialize, Serialize};

use crate::box_plot::{BoxPlot, sorted};
use crate::interval::{Estimate, LEVEL, Method, described_mean, mean};

/// A sample described. Intervals are at 95%; `None` where the sample is too small for one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Described {
    /// How many values.
    pub n: usize,
    /// Their mean.
    pub mean: f64,
    /// The interval of the mean; needs two values.
    pub mean_ci95: Option<(f64, f64)>,
    /// How that was found; not written where it is Student's.
    #[serde(default, skip_serializing_if = "is_student")]
    pub mean_method: Method,
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
    /// Describes a sample, with Student's interval of the mean; `None` where it is empty, or holds
    /// what is no number.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        Self::with(values, mean(values, LEVEL).ok(), Method::Student)
    }

    #[expect(clippy::cast_precision_loss, reason = "samples are below 2^53")]
    fn with(values: &[f64], estimate: Option<Estimate>, mean_method: Method) -> Option<Self> {
        let spread = BoxPlot::of(values)?;
        let n = values.len();
        let average = values.iter().sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|value| (value - average) * (value - average)).sum();
        let stddev = (n > 1).then(|| (squares / (n - 1) as f64).sqrt());
        Some(Self {
            n,
            mean: average,
            mean_ci95: estimate.map(|estimate| (estimate.low, estimate.high)),
            mean_method,
            stddev,
            cv: stddev.filter(|_| average.abs() > 0.0).map(|stddev| stddev / average),
            median_ci95: median_interval(values, LEVEL),
            spread,
        })
    }
}

/// Describes a sample, with the interval of the mean that its shape asks for: Student's below 20
/// values; from there on the bootstrap's where the Shapiro–Wilk test refuses at 1% to call them
/// normal. `draw` gives words of 64 random bits. `None` where the sample is empty, or holds what is
/// no number.
#[must_use]
pub fn described(values: &[f64], draw: impl FnMut() -> u64) -> Option<Described> {
    match described_mean(values, LEVEL, draw) {
        Ok((estimate, method)) => Described::with(values, Some(estimate), method),
        Err(_) => Described::of(values),
    }
}

fn is_student(method: &Method) -> bool {
    *method == Method::Student
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
    fn a_skewed_sample_says_how_its_mean_was_found() {
        let mut n = 0;
        let mut words = || {
            n += 1;
            plimsoll_units::hash::mix(n)
        };
        let skewed: Vec<f64> = (1..=30).map(|n| libm::exp(f64::from(n) / 5.0)).collect();
        let (plain, chosen) =
            (Described::of(&skewed).unwrap(), described(&skewed, &mut words).unwrap());
        assert_eq!((plain.mean_method, chosen.mean_method), (Method::Student, Method::Bca));
        assert_ne!(plain.mean_ci95, chosen.mean_ci95);
        assert_eq!((plain.median_ci95, plain.spread), (chosen.median_ci95, chosen.spread));
        // What has Student's interval is written as ever.
        let few = described(&skewed[..10], &mut words).unwrap();
        assert_eq!(Some(&few), Described::of(&skewed[..10]).as_ref());
        assert!(!serde_json::to_string(&few).unwrap().contains("mean_method"));
        let text = serde_json::to_string(&described(&skewed, &mut words).unwrap()).unwrap();
        assert!(text.contains("\"mean_method\":\"bca\""), "{text}");
        assert_eq!(serde_json::from_str::<Described>(&text).unwrap().mean_method, Method::Bca);
        assert_eq!(described(&[], &mut words), None);
        assert_eq!(described(&[7.0], &mut words).unwrap().mean_ci95, None);
    }

    #[test]
    fn one_value_has_no_spread_and_none_no_figures() {
        let one = Described::of(&[5.0]).unwrap();
        assert_eq!((one.stddev, one.cv, one.mean_ci95), (None, None, None));
        assert_eq!(Described::of(&[]), None);
        assert_eq!(Described::of(&[0.0, 0.0]).unwrap().cv, None);
    }
}
