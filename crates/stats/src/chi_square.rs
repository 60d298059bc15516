//! The upper tail of the chi-square distribution: how likely a sum of squares as great as the one
//! found is by chance.
//!
//! It is the regularized incomplete gamma function Q(k/2, x/2): its series below the mean (DLMF
//! 8.7.1), its continued fraction above (DLMF 8.9.2 in the even form). Transcendental functions are
//! `libm`'s: the same bits everywhere.

use crate::lentz::continued_fraction;

/// Both converge within some 10·√k steps; the bound only guards.
const MAX_STEPS: u32 = 100_000;
/// What the sum changes by when it has converged.
const ENOUGH: f64 = 1e-15;

/// The probability that a chi-square variable with `df` degrees of freedom is `x` or more.
///
/// NaN unless `df` is above zero and finite, and `x` is a number; 1 for `x` up to 0. Relative error
/// below 1e-10 for `df` up to 1,000 and tails above 1e-200.
#[must_use]
pub fn upper_tail(x: f64, df: f64) -> f64 {
    if x.is_nan() || !(df > 0.0 && df.is_finite()) {
        return f64::NAN;
    }
    if x <= 0.0 {
        return 1.0;
    }
    if x.is_infinite() {
        return 0.0;
    }
    let (a, x) = (df / 2.0, x / 2.0);
    let front = libm::exp(a * libm::log(x) - x - libm::lgamma(a));
    if x < a + 1.0 { 1.0 - front * series(a, x) } else { front * fraction(a, x) }
}

/// Σ xⁿ / (a (a + 1) … (a + n)).
fn series(a: f64, x: f64) -> f64 {
    let mut term = 1.0 / a;
    let mut sum = term;
    for n in 1..=MAX_STEPS {
        term *= x / (a + f64::from(n));
        sum += term;
        if term < sum * ENOUGH {
            break;
        }
    }
    sum
}

/// 1 / (x + 1 − a − 1 (1 − a) / (x + 3 − a − 2 (2 − a) / (x + 5 − a − …))).
fn fraction(a: f64, x: f64) -> f64 {
    let b0 = x + 1.0 - a;
    let terms = (1..=MAX_STEPS).map(f64::from).map(|n| (-n * (n - a), b0 + 2.0 * n));
    1.0 / continued_fraction(b0, terms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(found: f64, wanted: f64) {
        assert!((found / wanted - 1.0).abs() < 1e-10, "{found} for {wanted}");
    }

    #[test]
    fn agrees_with_closed_forms() {
        // One degree is the square of a normal variable; two are exponential; four are an Erlang.
        for x in [0.1, 1.0, 3.0, 10.0, 40.0, 300.0_f64] {
            close(upper_tail(x, 1.0), libm::erfc((x / 2.0).sqrt()));
            close(upper_tail(x, 2.0), libm::exp(-x / 2.0));
            close(upper_tail(x, 4.0), libm::exp(-x / 2.0) * (1.0 + x / 2.0));
        }
    }

    #[test]
    fn agrees_with_tables() {
        for (x, df, p) in [
            (3.841_458_820_694_124, 1.0, 0.05),
            (11.070_497_693_516_351, 5.0, 0.05),
            (18.307_038_053_275_146, 10.0, 0.05),
            (124.342_113_404_004_08, 100.0, 0.05),
            (6.251_388_631_170_325, 3.0, 0.1),
        ] {
            close(upper_tail(x, df), p);
        }
    }

    #[test]
    fn has_no_answer_outside_its_domain() {
        for (x, df) in [(f64::NAN, 1.0), (1.0, 0.0), (1.0, -2.0), (1.0, f64::INFINITY)] {
            assert!(upper_tail(x, df).is_nan());
        }
        assert!((upper_tail(-1.0, 3.0) - 1.0).abs() < 1e-15);
        assert!(upper_tail(f64::INFINITY, 3.0) < 1e-300);
    }

    proptest! {
        #[test]
        fn it_falls_from_one_to_nothing(
            x in 0.0f64..2000.0,
            more in 0.01f64..50.0,
            df in 1u32..500,
        ) {
            let (at, after) = (upper_tail(x, f64::from(df)), upper_tail(x + more, f64::from(df)));
            prop_assert!((0.0..=1.0).contains(&at) && after <= at + 1e-12, "{at} {after}");
        }
    }
}
