//! The regularized incomplete beta function I_x(a, b), of which the tails of Student's t and of F
//! are values.
//!
//! By its continued fraction (DLMF 8.17.22), on the side of the mean where that converges fast.
//! Transcendental functions are `libm`'s: the same bits everywhere.

use crate::lentz::continued_fraction;

/// The fraction converges within some 10·√(a + b) steps; the bound only guards.
const MAX_STEPS: u32 = 10_000;

/// I_x(a, b), where `y` is 1 − x, given apart so that it keeps its digits near x = 1.
pub(crate) fn incomplete_beta(x: f64, y: f64, a: f64, b: f64) -> f64 {
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

    #[test]
    fn agrees_with_closed_forms() {
        for x in [0.001, 0.2, 0.5, 0.77, 0.999_f64] {
            let y = 1.0 - x;
            // I_x(a, 1) = x^a; I_x(2, 2) = x²(3 − 2x); I_x(½, ½) = 2 asin(√x) / π.
            for (a, b, wanted) in [
                (3.5, 1.0, libm::pow(x, 3.5)),
                (2.0, 2.0, x * x * (3.0 - 2.0 * x)),
                (0.5, 0.5, 2.0 * libm::asin(x.sqrt()) / std::f64::consts::PI),
            ] {
                let found = incomplete_beta(x, y, a, b);
                assert!((found / wanted - 1.0).abs() < 1e-12, "{found} for {wanted}");
                assert!((found + incomplete_beta(y, x, b, a) - 1.0).abs() < 1e-12);
            }
        }
        assert!(incomplete_beta(0.0, 1.0, 2.0, 3.0) < 1e-300);
        assert!((incomplete_beta(1.0, 0.0, 2.0, 3.0) - 1.0).abs() < 1e-15);
    }
}
