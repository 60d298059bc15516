//! Quantiles of Student's t and of the normal distribution.
//!
//! The tail of t is half a regularized incomplete beta function (Abramowitz & Stegun 26.7.1); the
//! quantile is where the tail has the wanted weight, found by bisection to the last bit. Above 10^5
//! degrees of freedom, where the gamma functions would cancel, the Cornish-Fisher expansion around
//! the normal quantile is exact to 1e-15 (Abramowitz & Stegun 26.7.5).

use crate::incomplete_beta::incomplete_beta;
use crate::normal;

const MANY_DEGREES: f64 = 1e5;

/// The value below which Student's t with `df` degrees of freedom lies with probability `p`.
///
/// `df` may be fractional, and infinite for the normal distribution. NaN unless `0 < p < 1` and
/// `df > 0`. Relative error below 1e-10 for `df` from 0.1 on and tails above 1e-12.
#[must_use]
pub fn quantile(p: f64, df: f64) -> f64 {
    if !(p > 0.0 && p < 1.0 && df > 0.0) {
        return f64::NAN;
    }
    if p < 0.5 {
        return -quantile_of_tail(p, df);
    }
    quantile_of_tail(1.0 - p, df)
}

/// `t` with the weight `tail <= 0.5` above it.
fn quantile_of_tail(tail: f64, df: f64) -> f64 {
    if df > MANY_DEGREES {
        let z = solve(tail, normal::upper_tail);
        let (z3, z5, z7) = (z.powi(3), z.powi(5), z.powi(7));
        return z
            + (z3 + z) / (4.0 * df)
            + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * df * df)
            + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * df * df * df);
    }
    solve(tail, |t| upper_tail(t, df))
}

/// How likely a value of Student's t as far from 0 as `t` is, on either side: the p-value of a
/// two-sided test.
///
/// NaN unless `df > 0`, and where `t` is no number. An infinite `df` is the normal distribution.
#[must_use]
pub fn two_sided(t: f64, df: f64) -> f64 {
    if t.is_nan() || df.is_nan() || df <= 0.0 {
        return f64::NAN;
    }
    if df.is_infinite() {
        return 2.0 * normal::upper_tail(t.abs());
    }
    2.0 * upper_tail(t.abs(), df)
}

/// The weight of Student's t above `t >= 0`.
fn upper_tail(t: f64, df: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    let square = t * t;
    0.5 * incomplete_beta(df / (df + square), square / (df + square), df / 2.0, 0.5)
}

/// Where a decreasing function on `t >= 0` falls to `wanted`, to the last bit.
fn solve(wanted: f64, tail: impl Fn(f64) -> f64) -> f64 {
    let mut high = 1.0;
    while tail(high) > wanted && high < f64::MAX / 4.0 {
        high *= 2.0;
    }
    let mut low = if high > 1.0 { high / 2.0 } else { 0.0 };
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            return middle;
        }
        if tail(middle) > wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, wanted: f64) {
        assert!((found / wanted - 1.0).abs() < 1e-10, "{found} for {wanted}");
    }

    #[test]
    fn agrees_with_closed_forms() {
        // One degree is Cauchy's distribution: tan(π(p - ½)). Two: (2p - 1)·√(2 / (4p(1 - p))).
        for p in [0.6, 0.9, 0.975, 0.9995, 0.25, 1e-6] {
            close(quantile(p, 1.0), libm::tan(std::f64::consts::PI * (p - 0.5)));
            close(quantile(p, 2.0), (2.0 * p - 1.0) * (2.0 / (4.0 * p * (1.0 - p))).sqrt());
        }
        assert!(quantile(0.5, 7.0).abs() < 1e-300);
    }

    #[test]
    fn agrees_with_tables() {
        for (p, df, t) in [
            (0.975, 4.0, 2.776_445_105_197_793_4),
            (0.95, 9.0, 1.833_112_932_656_237),
            (0.9995, 5.0, 6.868_826_625_881_276),
            (0.995, 200.0, 2.600_634_436_191_558),
            (0.975, 1000.0, 1.962_339_080_826_408_3),
            (0.975, f64::INFINITY, 1.959_963_984_540_054),
            (0.9, f64::INFINITY, 1.281_551_565_544_600_4),
        ] {
            close(quantile(p, df), t);
            close(quantile(1.0 - p, df), -t);
        }
    }

    #[test]
    fn the_tails_of_a_quantile_have_its_weight() {
        for (p, df) in [(0.975, 4.0), (0.9, 1.0), (0.6, 30.5), (0.999_999, 12.0)] {
            close(two_sided(quantile(p, df), df), 2.0 * (1.0 - p));
            close(two_sided(-quantile(p, df), df), 2.0 * (1.0 - p));
        }
        close(two_sided(1.959_963_984_540_054, f64::INFINITY), 0.05);
        close(two_sided(0.0, 3.0), 1.0);
        assert!(two_sided(f64::INFINITY, 3.0) < 1e-300);
        assert!(two_sided(1.0, 0.0).is_nan() && two_sided(f64::NAN, 1.0).is_nan());
    }

    #[test]
    fn both_methods_meet_and_fractions_lie_between() {
        close(quantile(0.975, MANY_DEGREES * (1.0 + 1e-12)), quantile(0.975, MANY_DEGREES));
        let (four, five) = (quantile(0.975, 4.0), quantile(0.975, 5.0));
        let between = quantile(0.975, 4.36);
        assert!(five < between && between < four);
        assert!(quantile(0.975, 0.5) > 100.0);
    }

    #[test]
    fn has_no_answer_outside_its_domain() {
        for (p, df) in [(0.0, 5.0), (1.0, 5.0), (-1.0, 5.0), (0.5, 0.0), (f64::NAN, 1.0)] {
            assert!(quantile(p, df).is_nan());
        }
        assert!(quantile(0.5, f64::NAN).is_nan());
    }
}
