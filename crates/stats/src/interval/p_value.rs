//! How likely what was found is by chance: two-sided p-values that belong to intervals.
//!
//! A p-value here is one less the greatest level at which the interval still leaves out "no
//! change". So it is below 5% just where the 95% interval does. It is for intervals by Student's t
//! ([`super::mean`], [`super::difference`], [`super::ratio`] and those of pairs), not for resampled
//! ones. Of several tests, [`crate::holm::corrected`] makes values that may be held against one
//! level.
//!
//! *Source:* Casella & Berger, *Statistical Inference*, 9.2.1 (inverting a test statistic).

use super::{Comparison, Estimate, student};
use crate::figure::Better;

/// Differences of logarithms below this are of rounding: of equal values an error is left that is
/// smaller still.
pub const ROUNDING: f64 = 1e-12;

/// The p-value of a mean or a difference, against 0.
#[must_use]
pub fn p_of_difference(e: &Estimate) -> f64 {
    p_value(e.value, (e.high - e.low) / 2.0, e)
}

/// The p-value of a ratio or a geometric mean, against 1.
#[must_use]
pub fn p_of_ratio(e: &Estimate) -> f64 {
    let distance = libm::log(e.value);
    if distance.abs() < ROUNDING {
        return 1.0;
    }
    p_value(distance, libm::log(e.high / e.low) / 2.0, e)
}

/// One-sided: how likely a difference looks more than its tolerance worse by chance.
#[must_use]
pub fn p_of_worse_by(of: &Comparison) -> f64 {
    let e = &of.estimate;
    let beyond = match of.better {
        Better::Lower => e.value - of.tolerance,
        Better::Higher => -of.tolerance - e.value,
        Better::Neither => return f64::NAN,
    };
    one_sided(beyond, (e.high - e.low) / 2.0, e)
}

/// One-sided: how likely a ratio looks more than its tolerance worse by chance.
#[must_use]
pub fn p_of_worse_ratio(of: &Comparison) -> f64 {
    let e = &of.estimate;
    let beyond = match of.better {
        Better::Lower => libm::log(e.value / (1.0 + of.tolerance)),
        Better::Higher => libm::log((1.0 - of.tolerance).max(0.0) / e.value),
        Better::Neither => return f64::NAN,
    };
    one_sided(beyond, libm::log(e.high / e.low) / 2.0, e)
}

fn one_sided(beyond: f64, half: f64, e: &Estimate) -> f64 {
    let both = p_value(beyond, half, e);
    if beyond > 0.0 { both / 2.0 } else { 1.0 - both / 2.0 }
}

/// The p-value of what lies so far from no change, with an interval of that half width. Of an
/// interval without width, what is not 0 is not by chance.
fn p_value(distance: f64, half: f64, e: &Estimate) -> f64 {
    let error = half / student::quantile(f64::midpoint(1.0, e.level), e.df);
    if error > 0.0 || error.is_nan() {
        student::two_sided(distance / error, e.df)
    } else if distance.abs() > 0.0 {
        0.0
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::paired_ratio;
    use crate::interval::{difference, mean, ratio};
    use proptest::prelude::*;

    #[test]
    fn a_welch_test_as_published() {
        // scipy 1.17.1, stats.ttest_ind(a, b, equal_var=False).
        let a = [99.675, 98.605, 103.33, 102.067, 103.306];
        let b = [101.929, 84.161, 97.577, 89.682, 110.072];
        let p = p_of_difference(&difference(&a, &b, 0.95).unwrap());
        assert!((p - 0.363_532_124_404_403_4).abs() < 1e-9, "{p}");
        let same = |e: &Estimate| p_of_difference(e);
        assert!((same(&mean(&[0.0, 0.0], 0.95).unwrap()) - 1.0).abs() < 1e-15);
        assert!(same(&mean(&[5.0, 5.0], 0.95).unwrap()) < 1e-300);
    }

    proptest! {
        /// Below the level's rest just where the interval leaves out no change; the level does not
        /// matter otherwise.
        #[test]
        fn it_agrees_with_the_interval(
            a in prop::collection::vec(1.0_f64..10.0, 2..8),
            b in prop::collection::vec(1.0_f64..10.0, 2..8),
        ) {
            let e = difference(&a, &b, 0.95).unwrap();
            let p = p_of_difference(&e);
            prop_assert!((p - 0.05).abs() < 1e-6 || (p < 0.05) == (e.low > 0.0 || e.high < 0.0));
            let wide = p_of_difference(&difference(&a, &b, 0.99).unwrap());
            prop_assert!((p - wide).abs() < 1e-9);
            let e = ratio(&a, &b, 0.95).unwrap();
            let p = p_of_ratio(&e);
            prop_assert!((p - 0.05).abs() < 1e-6 || (p < 0.05) == (e.low > 1.0 || e.high < 1.0));
            let inverse = p_of_ratio(&ratio(&b, &a, 0.95).unwrap());
            prop_assert!((p - inverse).abs() < 1e-6);
        }
    }

    proptest! {
        /// Below 2.5% just where the 95% interval lies beyond the tolerance as a whole.
        #[test]
        fn worse_by_its_p_value_is_worse_by_its_interval(
            a in prop::collection::vec(1.0_f64..10.0, 2..8),
            b in prop::collection::vec(1.0_f64..10.0, 2..8),
            tolerance in 0.0_f64..0.5,
            is_lower in any::<bool>(),
        ) {
            let better = if is_lower { Better::Lower } else { Better::Higher };
            let free = crate::interval::Pairing::Independent;
            let ratio = crate::interval::compare(&a, &b, free, better, tolerance).unwrap();
            let by = crate::interval::compare_difference(&a, &b, free, better, tolerance).unwrap();
            for (of, p) in [(ratio, p_of_worse_ratio(&ratio)), (by, p_of_worse_by(&by))] {
                let is_worse = of.verdict == crate::interval::Verdict::Worse;
                prop_assert!((p - 0.025).abs() < 1e-6 || (p < 0.025) == is_worse, "{p} {of:?}");
            }
        }
    }

    #[test]
    fn what_rounding_leaves_of_equal_values_is_no_effect() {
        let first = [0.34, 0.1, 0.7];
        let second = first.map(|value: f64| value * 3.0 / 3.0 * (1.0 + f64::EPSILON));
        let ratio = paired_ratio(&first, &second, 0.95).unwrap();
        assert!(ratio.value > 1.0 && p_of_ratio(&ratio) > 0.999, "{ratio:?}");
    }
}
