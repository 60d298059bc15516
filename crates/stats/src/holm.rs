//! Holm's correction of p-values for how many tests were made.
//!
//! Of m tests where nothing is to be found, some of the p-values are small by chance. Holm's
//! step-down method keeps the probability that *any* test wrongly finds something below the level,
//! whatever the tests have to do with each other, and finds at least what Bonferroni's does: the
//! smallest p-value is multiplied by m, the next by m − 1, and so on, none ending below the one
//! before it.
//!
//! *Source:* S. Holm, "A simple sequentially rejective multiple test procedure", *Scandinavian
//! Journal of Statistics* 6, 1979.

/// The p-values corrected, in the order given: a test finds something at a level where its
/// corrected value is no greater than the level.
///
/// What is no probability, NaN among it, stays NaN and counts as no test.
///
/// # Example
/// ```
/// let corrected = plimsoll_stats::holm::corrected(&[0.01, 0.04, 0.03]);
/// assert_eq!(corrected, [0.03, 0.06, 0.06]);
/// ```
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "tests are far below 2^53")]
pub fn corrected(p_values: &[f64]) -> Vec<f64> {
    let is_test = |&at: &usize| (0.0..=1.0).contains(&p_values[at]);
    let mut order: Vec<usize> = (0..p_values.len()).filter(is_test).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut corrected = vec![f64::NAN; p_values.len()];
    let mut greatest = 0.0_f64;
    for (before, &at) in order.iter().enumerate() {
        greatest = greatest.max((order.len() - before) as f64 * p_values[at]).min(1.0);
        corrected[at] = greatest;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_by_hand() {
        // R: p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "holm") is 0.05 0.08 0.09 0.09 0.09.
        let found = corrected(&[0.05, 0.02, 0.03, 0.04, 0.01]);
        for (found, wanted) in found.iter().zip([0.09, 0.08, 0.09, 0.09, 0.05]) {
            assert!((found - wanted).abs() < 1e-12, "{found} for {wanted}");
        }
        assert_eq!(corrected(&[]), [0.0; 0]);
        assert_eq!(corrected(&[0.7, 0.6]), [1.0, 1.0]);
    }

    #[test]
    fn what_is_no_probability_is_no_test() {
        let found = corrected(&[f64::NAN, 0.02, 1.5, 0.04]);
        assert!(found[0].is_nan() && found[2].is_nan());
        assert!((found[1] - 0.04).abs() < 1e-15 && (found[3] - 0.04).abs() < 1e-15);
    }

    proptest! {
        /// Between the plain value and Bonferroni's, in the order of the plain ones.
        #[test]
        fn it_lies_between_none_and_bonferroni(p in prop::collection::vec(0.0_f64..=1.0, 1..40)) {
            let found = corrected(&p);
            for (a, b) in p.iter().zip(&found) {
                prop_assert!(a <= b && *b <= (a * p.len() as f64).min(1.0) + 1e-15);
            }
            for i in 0..p.len() {
                for j in 0..p.len() {
                    prop_assert!(p[i] > p[j] || found[i] <= found[j]);
                }
            }
        }
    }
}
