//! Which interval a mean has: by Student's t, or by resampling where the values are not normal.
//!
//! Student's t is for normal values. With many values of any shape it is right nearly enough, with
//! few it is all there is: of fewer than 20 a bootstrap sees too little of the distribution to be
//! better, and a test of their shape sees hardly anything. From there on the Shapiro–Wilk test at
//! 1% decides; beyond its 5,000 values the mean is as good as normal, whatever the shape.

use serde::{Deserialize, Serialize};

use super::{Estimate, IntervalError, bootstrap_mean, mean};
use crate::shapiro_wilk::ShapiroWilk;
use plimsoll_units::hash::mix;

/// Samples smaller than this have Student's interval, whatever their shape.
const FEWEST_RESAMPLED: usize = 20;
/// The level of the test of the shape.
const REFUSED: f64 = 0.01;

/// How an interval of a mean was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// By Student's t.
    #[default]
    Student,
    /// By the bootstrap, bias-corrected and accelerated.
    Bca,
}

impl Method {
    /// What a report calls it.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Student => "Student's t",
            Self::Bca => "bootstrap (BCa)",
        }
    }
}

/// The mean of a sample with its interval at `level`, and how that was found: one mean has one
/// interval, whoever shows it. Where it is found by resampling, the draws are the same each time.
///
/// # Errors
/// Fewer than two values; a value that is not finite.
pub fn one_mean(values: &[f64], level: f64) -> Result<(Estimate, Method), IntervalError> {
    let mut drawn = 0;
    let draw = || {
        drawn += 1;
        mix(drawn)
    };
    described_mean(values, level, draw)
}

/// The same by `draw`, which gives words of 64 random bits; where Student's t is used, none is
/// drawn.
///
/// # Errors
/// As for [`one_mean`].
pub fn described_mean(
    values: &[f64],
    level: f64,
    draw: impl FnMut() -> u64,
) -> Result<(Estimate, Method), IntervalError> {
    let shape = if values.len() < FEWEST_RESAMPLED { None } else { ShapiroWilk::of(values) };
    if shape.is_some_and(|shape| shape.p_value < REFUSED) {
        return Ok((bootstrap_mean(values, level, draw)?, Method::Bca));
    }
    Ok((mean(values, level)?, Method::Student))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> impl FnMut() -> u64 {
        let mut n = 0;
        move || {
            n += 1;
            plimsoll_units::hash::mix(n)
        }
    }

    #[test]
    fn the_shape_decides_from_twenty_on() {
        let skewed: Vec<f64> = (1..=30).map(|n| libm::exp(f64::from(n) / 5.0)).collect();
        let (estimate, method) = described_mean(&skewed, 0.95, words()).unwrap();
        assert_eq!(method, Method::Bca);
        assert!(estimate.high - estimate.value > estimate.value - estimate.low, "{estimate:?}");
        // The same shape, and an even one.
        for values in [&skewed[11..], &(1..=30).map(f64::from).collect::<Vec<_>>()] {
            let undrawn = || -> u64 { panic!("nothing is drawn for Student's t") };
            let (estimate, method) = described_mean(values, 0.95, undrawn).unwrap();
            assert_eq!((estimate, method), (mean(values, 0.95).unwrap(), Method::Student));
        }
        assert!(described_mean(&[1.0], 0.95, words()).is_err());
        let again = one_mean(&skewed, 0.95).unwrap();
        assert_eq!(again, one_mean(&skewed, 0.95).unwrap());
        assert_eq!(again.1, Method::Bca);
    }
}
