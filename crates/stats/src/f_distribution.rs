//! The upper tail of the F distribution: how likely a ratio of two mean squares as great as the one
//! found is, where both estimate the same variance.
//!
//! It is a regularized incomplete beta function (Abramowitz & Stegun 26.6.2): with d and e degrees
//! of freedom above and below, P(F > x) = I_{e/(e + d·x)}(e/2, d/2).

use crate::incomplete_beta::incomplete_beta;

/// The probability that a variable of the F distribution with `above` and `below` degrees of
/// freedom is `x` or more.
///
/// NaN unless both are above zero and finite, and `x` is a number; 1 for `x` up to 0. Relative
/// error below 1e-9 up to 1,000 degrees of freedom.
#[must_use]
pub fn upper_tail(x: f64, above: f64, below: f64) -> f64 {
    let positive = |df: f64| df > 0.0 && df.is_finite();
    if x.is_nan() || !positive(above) || !positive(below) {
        return f64::NAN;
    }
    if x <= 0.0 {
        return 1.0;
    }
    if x.is_infinite() {
        return 0.0;
    }
    let (rest, ratio) = (below, above * x);
    incomplete_beta(rest / (rest + ratio), ratio / (rest + ratio), below / 2.0, above / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::student;
    use proptest::prelude::*;

    fn close(found: f64, wanted: f64) {
        assert!((found / wanted - 1.0).abs() < 1e-9, "{found} for {wanted}");
    }

    #[test]
    fn agrees_with_closed_forms_and_tables() {
        for x in [0.01, 0.5, 1.0, 4.0, 50.0, 1e6] {
            // With one degree above, F is the square of Student's t; with two, a power.
            close(upper_tail(x * x, 1.0, 7.0), student::two_sided(x, 7.0));
            close(upper_tail(x, 2.0, 9.0), libm::pow(1.0 + 2.0 * x / 9.0, -4.5));
        }
        for (x, above, below, p) in [
            (4.964_602_743_730_711, 1.0, 10.0, 0.05),
            (3.238_871_517_453_586, 3.0, 16.0, 0.05),
            (2.978_237_016_082_321_3, 10.0, 10.0, 0.05),
        ] {
            close(upper_tail(x, above, below), p);
        }
    }

    #[test]
    fn has_no_answer_outside_its_domain() {
        for (x, above, below) in
            [(f64::NAN, 1.0, 1.0), (1.0, 0.0, 1.0), (1.0, 1.0, -1.0), (1.0, f64::INFINITY, 1.0)]
        {
            assert!(upper_tail(x, above, below).is_nan());
        }
        assert!((upper_tail(-1.0, 2.0, 3.0) - 1.0).abs() < 1e-15);
        assert!(upper_tail(f64::INFINITY, 2.0, 3.0) < 1e-300);
    }

    proptest! {
        #[test]
        fn turning_the_ratio_over_gives_the_other_tail(
            x in 0.001f64..1000.0,
            above in 1u32..200,
            below in 1u32..200,
        ) {
            let (d, e) = (f64::from(above), f64::from(below));
            let both = upper_tail(x, d, e) + upper_tail(1.0 / x, e, d);
            prop_assert!((both - 1.0).abs() < 1e-10, "{both}");
            prop_assert!(upper_tail(x * 1.01, d, e) <= upper_tail(x, d, e) + 1e-12);
        }
    }
}
