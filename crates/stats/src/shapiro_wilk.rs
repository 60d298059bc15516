//! The Shapiro–Wilk test: could a sample come of a normal distribution?
//!
//! W is the square of the correlation of the ordered values with what normal ones of their rank
//! would be: 1 for a sample as normal as can be. The weights are Royston's approximation for 3 to
//! 5,000 values; the p-value takes ln(1 − W) for normal, with a mean and deviation that are
//! polynomials in the number of values, or in its logarithm from 12 on.
//!
//! *Source:* P. Royston, "Remark AS R94: a remark on algorithm AS 181, the W-test for normality",
//! *Applied Statistics* 44, 1995, and "Approximating the Shapiro–Wilk W-test for non-normality",
//! *Statistics and Computing* 2, 1992.

use crate::box_plot::sorted;
use crate::interval::student;
use crate::normal;

/// Fewer values have no shape.
pub const FEWEST: usize = 3;
/// The approximation was fitted to samples of up to so many values.
pub const MOST: usize = 5000;
/// So many values have a mean and deviation of ln(1 − W) of their own.
const SMALL: usize = 11;

/// Corrections of the two outermost weights, in 1/√n.
const OUTERMOST: [f64; 6] = [0.0, 0.221_157, -0.147_981, -2.071_19, 4.434_685, -2.706_056];
const SECOND: [f64; 6] = [0.0, 0.042_981, -0.293_762, -1.752_461, 5.682_633, -3.582_633];
/// Of up to 11 values, −ln(γ − ln(1 − W)) is normal; γ, mean and logarithm of the deviation in n.
const GAMMA: [f64; 2] = [-2.273, 0.459];
const SMALL_MEAN: [f64; 4] = [0.544, -0.399_78, 0.025_054, -6.714e-4];
const SMALL_DEVIATION: [f64; 4] = [1.3822, -0.778_57, 0.062_767, -0.002_032_2];
/// Of more, ln(1 − W) is; mean and logarithm of the deviation in ln n.
const MEAN: [f64; 4] = [-1.5861, -0.310_82, -0.083_751, 0.003_891_5];
const DEVIATION: [f64; 3] = [-0.4803, -0.082_676, 0.003_030_2];

/// What the test says of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShapiroWilk {
    /// W, at most 1.
    pub w: f64,
    /// The probability of a W as small of normal values.
    pub p_value: f64,
}

impl ShapiroWilk {
    /// Tests a sample in any order. `None` of fewer than 3 or more than 5,000 values, where they
    /// are all equal, and where one is no number.
    ///
    /// *Cost:* O(n log n), and a normal quantile for every second value.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len();
        if !(FEWEST..=MOST).contains(&n) {
            return None;
        }
        let sorted = sorted(values)?;
        let range = sorted[n - 1] - sorted[0];
        if range <= 0.0 || !range.is_finite() {
            return None;
        }
        // In shares of the range, so that nothing overflows.
        let scaled: Vec<f64> = sorted.iter().map(|value| (value - sorted[0]) / range).collect();
        let mean = scaled.iter().sum::<f64>() / count(n);
        let weights = weights(n);
        let pairs = weights.iter().zip(scaled.iter().zip(scaled.iter().rev()));
        let along: f64 = pairs.map(|(weight, (low, high))| weight * (high - low)).sum();
        let weights_square = 2.0 * weights.iter().map(|weight| weight * weight).sum::<f64>();
        let square: f64 = scaled.iter().map(|value| (value - mean) * (value - mean)).sum();
        // 1 − W by a product, which keeps its digits where W is near 1.
        let root = (weights_square * square).sqrt();
        let rest = ((root - along) * (root + along) / (weights_square * square)).max(0.0);
        Some(Self { w: 1.0 - rest, p_value: p_value(rest, n) })
    }
}

/// The weights of the lower half, outermost first, as positive numbers; the upper half has their
/// opposites.
fn weights(n: usize) -> Vec<f64> {
    if n == 3 {
        return vec![std::f64::consts::FRAC_1_SQRT_2];
    }
    // Blom's approximation of the normal order statistics.
    let order =
        |rank: usize| student::quantile((count(rank) + 0.625) / (count(n) + 0.25), f64::INFINITY);
    let scores: Vec<f64> = (0..n / 2).map(|rank| -order(rank)).collect();
    let square = 2.0 * scores.iter().map(|score| score * score).sum::<f64>();
    let small = 1.0 / count(n).sqrt();
    let first = polynomial(&OUTERMOST, small) + scores[0] / square.sqrt();
    let second = polynomial(&SECOND, small) + scores[1] / square.sqrt();
    let corrected: &[f64] = if n > 5 { &[first, second] } else { &[first] };
    let squares = |values: &[f64]| 2.0 * values.iter().map(|value| value * value).sum::<f64>();
    // The others keep their proportions, and all squares together are 1.
    let scale =
        ((square - squares(&scores[..corrected.len()])) / (1.0 - squares(corrected))).sqrt();
    let others = scores[corrected.len()..].iter().map(|score| score / scale);
    corrected.iter().copied().chain(others).collect()
}

/// The probability of a rest 1 − W as great of n normal values.
fn p_value(rest: f64, n: usize) -> f64 {
    if n == 3 {
        // Exact: 6/π · (asin √W − asin √¾).
        let root = (1.0 - rest).max(0.0).sqrt().min(1.0);
        let least = libm::asin(0.75_f64.sqrt());
        return (6.0 / std::f64::consts::PI * (libm::asin(root) - least)).clamp(0.0, 1.0);
    }
    let log = libm::log(rest);
    let (value, mean, deviation) = if n <= SMALL {
        let (n, gamma) = (count(n), polynomial(&GAMMA, count(n)));
        if log >= gamma {
            return 0.0;
        }
        let mean = polynomial(&SMALL_MEAN, n);
        (-libm::log(gamma - log), mean, polynomial(&SMALL_DEVIATION, n))
    } else {
        let log_n = libm::log(count(n));
        (log, polynomial(&MEAN, log_n), polynomial(&DEVIATION, log_n))
    };
    normal::upper_tail((value - mean) / libm::exp(deviation))
}

/// Σ cᵢ·xⁱ.
fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

#[expect(clippy::cast_precision_loss, reason = "samples are small")]
fn count(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[f64]) -> ShapiroWilk {
        ShapiroWilk::of(values).unwrap()
    }

    /// Weights of men, in pounds: the example of Shapiro and Wilk's own paper (*Biometrika* 52,
    /// 1965). The others are series of any shape. Compared with scipy 1.17.1, `stats.shapiro`.
    #[test]
    fn agrees_with_tables() {
        let men =
            [148.0, 154.0, 158.0, 160.0, 161.0, 162.0, 166.0, 170.0, 182.0, 195.0, 236.0].to_vec();
        let to = |n: u32, of: fn(f64) -> f64| (1..=n).map(f64::from).map(of).collect::<Vec<_>>();
        for (values, w, p) in [
            (men, 0.788_814_694_863_171_6, 0.006_703_814_061_898_823),
            (vec![1.0, 2.0, 4.0], 0.964_285_714_285_714_2, 0.636_886_845_028_968_9),
            (vec![1.0, 2.0, 3.0, 5.0], 0.971_373_665_499_926_3, 0.849_970_818_958_186_7),
            (vec![9.0, 2.0, 4.0, 3.0, 1.0], 0.866_960_711_058_425_9, 0.254_333_840_177_503_8),
            (
                vec![1.0, 2.0, 3.0, 4.0, 5.0, 20.0],
                0.689_061_084_148_486_5,
                0.004_730_828_897_576_775,
            ),
            (to(12, f64::sqrt), 0.959_237_712_841_503_5, 0.772_893_845_718_443_9),
            (to(20, |x| x), 0.960_375_183_242_988_4, 0.551_371_745_791_677_1),
            (to(30, |x| x * x), 0.901_420_535_035_636_3, 0.009_099_787_582_647_786),
            (to(100, libm::log), 0.849_251_261_285_505_7, 1.112_821_904_074_985e-8),
            (
                to(5000, |x| (x * 7919.0) % 1000.0),
                0.954_902_624_633_926_8,
                9.389_116_664_931_995e-37,
            ),
            (
                [vec![1.0; 9], vec![2.0; 3]].concat(),
                0.552_103_531_198_952_6,
                4.397_594_546_449_668e-5,
            ),
        ] {
            let found = of(&values);
            assert!((found.w - w).abs() < 1e-6, "{found:?} for {w}");
            assert!((found.p_value / p - 1.0).abs() < 1e-4, "{found:?} for {p}");
        }
    }

    #[test]
    fn what_has_no_shape_has_no_test() {
        for odd in [&[][..], &[1.0, 2.0], &[5.0; 10], &[1.0, f64::NAN, 3.0], &[0.0; 5001]] {
            assert_eq!(ShapiroWilk::of(odd), None);
        }
    }

    /// Of normal samples one in a hundred is refused at 1%; of exponential ones of 30, most are.
    #[test]
    fn the_test_has_its_level_and_sees_what_is_skewed() {
        let mut state = 11_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
        };
        let mut refused = [0, 0];
        for _ in 0..4000 {
            let drawn: Vec<f64> = (0..30).map(|_| uniform()).collect();
            let normal: Vec<f64> =
                drawn.iter().map(|&p| student::quantile(p, f64::INFINITY)).collect();
            let exponential: Vec<f64> = drawn.iter().map(|&p| -libm::log(p)).collect();
            refused[0] += u32::from(of(&normal).p_value < 0.01);
            refused[1] += u32::from(of(&exponential).p_value < 0.01);
        }
        // Three standard errors of 1% of 4000 are 19.
        assert!((21..=60).contains(&refused[0]), "{refused:?}");
        assert!(refused[1] > 3000, "{refused:?}");
    }

    proptest! {
        /// Neither a unit nor an origin nor the order of the values changes it.
        #[test]
        fn it_knows_the_shape_only(
            values in prop::collection::vec(-1000.0_f64..1000.0, 3..60),
            scale in 0.001_f64..1000.0,
            origin in -1000.0_f64..1000.0,
        ) {
            let Some(found) = ShapiroWilk::of(&values) else { return Ok(()) };
            prop_assert!(found.w <= 1.0 && (0.0..=1.0).contains(&found.p_value));
            let moved: Vec<f64> = values.iter().rev().map(|v| origin - scale * v).collect();
            let other = of(&moved);
            prop_assert!((found.w - other.w).abs() < 1e-6, "{found:?} {other:?}");
        }
    }
}
