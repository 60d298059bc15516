//! Intervals for a mean, for the difference of two, and for their ratio.

use serde::{Deserialize, Serialize};

use super::{IntervalError, Side, student};

/// An estimate with its interval of confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// How often, in the long run, such an interval holds the truth.
    pub level: f64,
    /// Degrees of freedom it rests on.
    pub df: f64,
}

/// What the intervals need of a group of replications.
struct Moments {
    mean: f64,
    /// The variance of the mean: s² / n, with s² divided by n − 1.
    variance: f64,
    df: f64,
}

/// Whether an interval can come of these values: two at least, all of them numbers.
pub(super) fn check(values: &[f64], side: Side) -> Result<(), IntervalError> {
    if let Some(at) = values.iter().position(|value| !value.is_finite()) {
        return Err(IntervalError::NotFinite { side, number: at + 1, value: values[at] });
    }
    if values.len() < 2 {
        return Err(IntervalError::TooFewReplications { side, found: values.len() });
    }
    Ok(())
}

impl Moments {
    #[expect(clippy::cast_precision_loss, reason = "replications are few")]
    fn of(values: &[f64], side: Side) -> Result<Self, IntervalError> {
        check(values, side)?;
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        Ok(Self { mean, variance: squares / (n - 1.0) / n, df: n - 1.0 })
    }
}

/// The mean of replications with its interval at `level`, between 0 and 1.
///
/// # Errors
/// Fewer than two values; a value that is not finite.
pub fn mean(values: &[f64], level: f64) -> Result<Estimate, IntervalError> {
    let m = Moments::of(values, Side::Sample)?;
    let half = student::quantile(f64::midpoint(1.0, level), m.df) * m.variance.sqrt();
    Ok(Estimate { value: m.mean, low: m.mean - half, high: m.mean + half, level, df: m.df })
}

/// Mean of `b` less mean of `a`, variances not taken to be equal (Welch).
///
/// # Errors
/// Fewer than two values a side; a value that is not finite.
pub fn difference(a: &[f64], b: &[f64], level: f64) -> Result<Estimate, IntervalError> {
    let (a, b) = (Moments::of(a, Side::A)?, Moments::of(b, Side::B)?);
    let df = satterthwaite([(a.variance, a.df), (b.variance, b.df)]);
    let half = student::quantile(f64::midpoint(1.0, level), df) * (a.variance + b.variance).sqrt();
    let value = b.mean - a.mean;
    Ok(Estimate { value, low: value - half, high: value + half, level, df })
}

/// Mean of `b` over mean of `a`.
///
/// The interval is that of the logarithm: by the delta method the variance of ln m̄ is
/// s² / (n·m̄²), and degrees of freedom follow Satterthwaite on these. So it is never below zero,
/// and B/A and A/B are each other's inverse.
///
/// # Errors
/// Fewer than two values a side; a value that is not finite; a mean that is not above zero.
pub fn ratio(a: &[f64], b: &[f64], level: f64) -> Result<Estimate, IntervalError> {
    let (a, b) = (Moments::of(a, Side::A)?, Moments::of(b, Side::B)?);
    for (m, side) in [(&a, Side::A), (&b, Side::B)] {
        if m.mean <= 0.0 {
            return Err(IntervalError::NotPositive { side, mean: m.mean });
        }
    }
    let relative = |m: &Moments| m.variance / (m.mean * m.mean);
    let df = satterthwaite([(relative(&a), a.df), (relative(&b), b.df)]);
    let half =
        student::quantile(f64::midpoint(1.0, level), df) * (relative(&a) + relative(&b)).sqrt();
    let value = b.mean / a.mean;
    let factor = libm::exp(half);
    Ok(Estimate { value, low: value / factor, high: value * factor, level, df })
}

/// Mean of `b` less mean of `a` where the replications of a number belong together, as they drew
/// the same: what both of a pair share cancels.
///
/// # Errors
/// As [`difference`], and where one side has more than the other.
pub fn paired_difference(a: &[f64], b: &[f64], level: f64) -> Result<Estimate, IntervalError> {
    pairs(a, b)?;
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
    mean(&differences, level)
}

/// `b` over `a` where the replications of a number belong together: the geometric mean of the
/// ratios of the pairs, and the interval of its logarithm.
///
/// # Errors
/// As [`ratio`], of every value rather than of the mean, and where one side has more than the
/// other.
pub fn paired_ratio(a: &[f64], b: &[f64], level: f64) -> Result<Estimate, IntervalError> {
    pairs(a, b)?;
    positive(a, Side::A)?;
    positive(b, Side::B)?;
    let ratios: Vec<f64> = a.iter().zip(b).map(|(a, b)| b / a).collect();
    geometric_mean(&ratios, level)
}

/// The geometric mean of values above zero, such as scores that were divided by a baseline's, and
/// the interval of its logarithm.
///
/// # Errors
/// Fewer than two values; a value that is not finite or not above zero.
pub fn geometric_mean(values: &[f64], level: f64) -> Result<Estimate, IntervalError> {
    check(values, Side::Sample)?;
    positive(values, Side::Sample)?;
    let logarithms: Vec<f64> = values.iter().map(|&value| libm::log(value)).collect();
    let Estimate { value, low, high, level, df } = mean(&logarithms, level)?;
    let [value, low, high] = [value, low, high].map(libm::exp);
    Ok(Estimate { value, low, high, level, df })
}

/// Whether each value has a logarithm.
fn positive(values: &[f64], side: Side) -> Result<(), IntervalError> {
    match values.iter().find(|value| **value <= 0.0) {
        Some(&value) => Err(IntervalError::NotPositive { side, mean: value }),
        None => Ok(()),
    }
}

/// Whether two groups can be taken as pairs.
fn pairs(a: &[f64], b: &[f64]) -> Result<(), IntervalError> {
    check(a, Side::A)?;
    check(b, Side::B)?;
    if a.len() == b.len() {
        return Ok(());
    }
    Err(IntervalError::Unpaired { a: a.len(), b: b.len() })
}

/// Degrees of freedom of a sum of variances (Satterthwaite 1946); where nothing varies, all.
fn satterthwaite(parts: [(f64, f64); 2]) -> f64 {
    let sum: f64 = parts.iter().map(|(variance, _)| variance).sum();
    if sum <= 0.0 {
        return parts.iter().map(|(_, df)| df).sum();
    }
    // In shares of the sum, so that tiny variances do not underflow when squared.
    1.0 / parts.iter().map(|(variance, df)| (variance / sum) * (variance / sum) / df).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, wanted: f64) {
        assert!((found - wanted).abs() <= 1e-9 * wanted.abs().max(1.0), "{found} for {wanted}");
    }

    #[test]
    fn a_mean_by_hand() {
        // 98.3652, 95.1284, 102.4729: mean 98.6555, s 3.68085, t(2) 4.30265.
        let e = mean(&[98.3652, 95.1284, 102.4729], 0.95).unwrap();
        close(e.value, 98.6555);
        close(e.low, 89.511_772_195_586_95);
        close(e.high, 107.799_227_804_413_06);
        close(e.df, 2.0);
    }

    #[test]
    fn a_difference_as_published() {
        let a = [99.675, 98.605, 103.33, 102.067, 103.306];
        let b = [101.929, 84.161, 97.577, 89.682, 110.072];
        let e = difference(&b, &a, 0.95).unwrap();
        close(e.df, 4.359_026_989_335_949);
        close(e.low, -7.782_669_462_364_046);
        close(e.high, 17.207_469_462_364_053);
    }

    #[test]
    fn a_ratio_by_hand_and_its_inverse() {
        // Means 10 and 20, s²/n of 1/3 and 4/3: both relative variances are 1/300, df = 4,
        // half width 2.77645·√(2/300) = 0.226695.
        let (a, b) = ([9.0, 10.0, 11.0], [18.0, 20.0, 22.0]);
        let e = ratio(&a, &b, 0.95).unwrap();
        close(e.value, 2.0);
        close(e.df, 4.0);
        close(e.high / 2.0, (2.776_445_105_197_793_4 * (2.0_f64 / 300.0).sqrt()).exp());
        let inverse = ratio(&b, &a, 0.95).unwrap();
        close(1.0 / inverse.low, e.high);
        close(1.0 / inverse.high, e.low);
    }

    #[test]
    fn pairs_by_hand() {
        // Differences 2, 1, 3: mean 2, s 1, t(2) 4.30265, half width 4.30265 / √3.
        let (a, b) = ([10.0, 50.0, 90.0], [12.0, 51.0, 93.0]);
        let e = paired_difference(&a, &b, 0.95).unwrap();
        close(e.value, 2.0);
        close(e.df, 2.0);
        assert!((e.high - e.value - 4.302_652_729_911_275 / 3.0_f64.sqrt()).abs() < 1e-6);
        // What the pairs share says nothing: unpaired, the interval is thirty times as wide.
        let wide = difference(&a, &b, 0.95).unwrap();
        assert!(wide.high - wide.low > 30.0 * (e.high - e.low));
        // Ratios 2, 2, 2 of values far apart.
        let e = paired_ratio(&a, &a.map(|a| 2.0 * a), 0.95).unwrap();
        assert!((e.low - 2.0).abs() < 1e-9 && (e.high - 2.0).abs() < 1e-9);
        assert_eq!(paired_ratio(&a, &b[..2], 0.95), Err(IntervalError::Unpaired { a: 3, b: 2 }));
        let zero = paired_ratio(&[0.0, 1.0], &[1.0, 1.0], 0.95);
        assert_eq!(zero, Err(IntervalError::NotPositive { side: Side::A, mean: 0.0 }));
    }

    #[test]
    fn a_geometric_mean_by_hand() {
        // Logarithms of 2 and 8 are ln 4 ∓ ln 2: half the width is t(1)·ln 2.
        let e = geometric_mean(&[2.0, 8.0], 0.95).unwrap();
        close(e.value, 4.0);
        close(e.high, 4.0 * 2.0_f64.powf(12.706_204_736_174_694));
        close(e.low * e.high, 16.0);
        let zero = Err(IntervalError::NotPositive { side: Side::Sample, mean: 0.0 });
        assert_eq!(geometric_mean(&[1.0, 0.0], 0.95), zero);
    }

    #[test]
    fn nothing_varying_gives_an_interval_of_no_width() {
        let e = ratio(&[5.0, 5.0], &[6.0, 6.0, 6.0], 0.95).unwrap();
        assert!(e.low <= 1.2 && e.high >= 1.2 && e.high - e.low < 1e-12);
        close(e.df, 3.0);
        let e = difference(&[0.0, 0.0], &[0.0, 0.0], 0.95).unwrap();
        assert!(e.low.abs() < 1e-300 && e.high.abs() < 1e-300);
    }

    #[test]
    fn refuses_what_no_interval_can_come_from() {
        use IntervalError::{NotFinite, NotPositive, TooFewReplications};
        let side = Side::Sample;
        assert_eq!(mean(&[], 0.95), Err(TooFewReplications { side, found: 0 }));
        assert_eq!(mean(&[1.0], 0.95), Err(TooFewReplications { side, found: 1 }));
        let few = difference(&[1.0, 2.0], &[1.0], 0.95).unwrap_err();
        assert_eq!(few, TooFewReplications { side: Side::B, found: 1 });
        assert_eq!(
            plimsoll_units::failure::told(&few),
            "expected at least 2 replications of B, found 1: the seconds of one run are correlated \
             and cannot stand for replications; run it again with --repeat"
        );
        let nan = ratio(&[1.0, f64::INFINITY], &[1.0, 2.0], 0.95);
        assert_eq!(nan, Err(NotFinite { side: Side::A, number: 2, value: f64::INFINITY }));
        let zero = ratio(&[1.0, 2.0], &[0.0, 0.0], 0.95);
        assert_eq!(zero, Err(NotPositive { side: Side::B, mean: 0.0 }));
    }
}
