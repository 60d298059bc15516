//! Quantiles of Student's t and of the normal distribution.
//!
//! The tail of t is half a regularized incomplete beta function (DLMF 8.17.22); the quantile is
//! where the tail has the wanted weight, found by bisection to the last bit. Above 10^5 degrees of
//! freedom, where the gamma functions would cancel, the Cornish-Fisher expansion around the normal
//! quantile is exact to 1e-15 (Abramowitz & Stegun 26.7.5). Transcendental functions are `libm`'s:
//! the same bits everywhere.

use crate::lentz::continued_fraction;

/// Continued fractions here converge within some 10·√df steps; the bound only guards.
const MAX_STEPS: u32 = 10_000;
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
        let z = solve(tail, |z| 0.5 * libm::erfc(z / std::f64::consts::SQRT_2));
        let (z3, z5, z7) = (z.powi(3), z.powi(5), z.powi(7));
        return z
            + (z3 + z) / (4.0 * df)
            + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * df * df)
            + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * df * df * df);
    }
    solve(tail, |t| upper_tail(t, df))
}

/// The weight of Student's t above `t >= 0`.
fn upper_tail(t: f64, df: f64) -> f64 {
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

/// I_x(a, b), where `y` is 1 − x, given apart so that it keeps its digits near x = 1.
fn incomplete_beta(x: f64, y: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if y <= 0.0 {
        return 1.0;
    }
    let log_beta = libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
    let front = libm::exp(a * libm::log(x) + b * libm::log(y) - log_beta);
    if x < (a + 1.0) / (a + b + 2.0) {
        front / a * fraction(x, a, b)
    } else {
        1.0 - front / b * fraction(y, b, a)
    }
}

/// DLMF 8.17.22: 1 / (1 + d₁ / (1 + d₂ / (1 + …))).
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    let odd = |m: f64| -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
    let even = |m: f64| m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
    let terms = (0..=MAX_STEPS).map(f64::from).flat_map(|m| [odd(m), even(m + 1.0)]);
    1.0 / continued_fraction(1.0, terms.map(|d| (d, 1.0)))
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
