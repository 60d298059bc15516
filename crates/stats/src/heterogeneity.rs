//! Whether estimates of one thing, each with its own standard error, lie further apart than these
//! errors explain.
//!
//! - *The test* is Cochran's: Q, the squares of the distances from the mean, each divided by its
//!   variance, is a chi-square variable with one degree of freedom fewer than there are estimates
//!   where nothing but the errors drives them apart (Cochran 1954, "The Combination of Estimates
//!   from Different Experiments", *Biometrics* 10(1)).
//! - *The size* is what remains of the variance between the estimates when the mean of their own
//!   variances is taken off, and none where nothing remains (Hedges & Olkin 1985, *Statistical
//!   Methods for Meta-Analysis*, chapter 9, the variance-component estimator). It weighs all
//!   estimates alike, as the test does not: of restarts none is more of a restart than another.

use crate::chi_square::upper_tail;

/// Estimates with their standard errors, looked at together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Heterogeneity {
    /// How many estimates.
    pub n: usize,
    /// The standard deviation that their own errors explain: the root of their mean square.
    pub within_sd: f64,
    /// The standard deviation of what lies beneath them, without their errors; 0 where the errors
    /// explain it all.
    pub beneath_sd: f64,
    /// Cochran's Q.
    pub q: f64,
    /// How likely a Q as great is where the errors explain it all.
    pub p_value: f64,
}

impl Heterogeneity {
    /// Of estimates, each with its standard error; `None` for fewer than two, or where an estimate
    /// is no number or an error is not above zero.
    #[must_use]
    pub fn of(estimates: &[(f64, f64)]) -> Option<Self> {
        let is_sound =
            |&(value, error): &(f64, f64)| value.is_finite() && error.is_finite() && error > 0.0;
        if estimates.len() < 2 || !estimates.iter().all(is_sound) {
            return None;
        }
        let n = estimates.len() as f64;
        let weight = |error: f64| 1.0 / (error * error);
        let weights: f64 = estimates.iter().map(|&(_, error)| weight(error)).sum();
        let weighted = estimates.iter().map(|&(value, error)| value * weight(error));
        let middle = weighted.sum::<f64>() / weights;
        let distance = |&(value, error): &(f64, f64)| ((value - middle) / error).powi(2);
        let q: f64 = estimates.iter().map(distance).sum();
        let mean = estimates.iter().map(|(value, _)| value).sum::<f64>() / n;
        let squares: f64 = estimates.iter().map(|(value, _)| (value - mean).powi(2)).sum();
        let within = estimates.iter().map(|(_, error)| error * error).sum::<f64>() / n;
        Some(Self {
            n: estimates.len(),
            within_sd: within.sqrt(),
            beneath_sd: (squares / (n - 1.0) - within).max(0.0).sqrt(),
            q,
            p_value: upper_tail(q, n - 1.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // Equal errors of 1 around 10: Q is the sum of squares, 0 + 1 + 1.
        let found = Heterogeneity::of(&[(9.0, 1.0), (10.0, 1.0), (11.0, 1.0)]).unwrap();
        assert!((found.q - 2.0).abs() < 1e-12 && (found.p_value - (-1.0_f64).exp()).abs() < 1e-12);
        assert!((found.within_sd - 1.0).abs() < 1e-12 && found.beneath_sd.abs() < 1e-12);
        // A variance of 4 between, of 1 within.
        let found = Heterogeneity::of(&[(8.0, 1.0), (10.0, 1.0), (12.0, 1.0)]).unwrap();
        assert!((found.beneath_sd - 3.0_f64.sqrt()).abs() < 1e-12, "{found:?}");
        // An estimate that is not sure of itself weighs little: Q = 1·0.1² + 0.1²·…, by the mean
        // (10 + 0.01·20) / 1.01.
        let found = Heterogeneity::of(&[(10.0, 1.0), (20.0, 10.0)]).unwrap();
        assert!((found.q - 100.0 / 101.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn what_says_nothing_has_none() {
        for odd in [
            vec![],
            vec![(1.0, 1.0)],
            vec![(1.0, 0.0), (2.0, 1.0)],
            vec![(1.0, -1.0), (2.0, 1.0)],
            vec![(f64::NAN, 1.0), (2.0, 1.0)],
            vec![(1.0, f64::INFINITY), (2.0, 1.0)],
        ] {
            assert_eq!(Heterogeneity::of(&odd), None);
        }
    }

    /// Of estimates that differ by nothing but their errors, one in twenty has a p-value below 5%.
    #[test]
    fn the_test_has_its_level() {
        let mut state = 7_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut few = 0;
        for _ in 0..4000 {
            // About normal: twelve uniform values have the variance 1.
            let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
            let drawn: Vec<(f64, f64)> = (1..=6)
                .map(|error| (100.0 + f64::from(error) * normal(), f64::from(error)))
                .collect();
            few += u32::from(Heterogeneity::of(&drawn).unwrap().p_value < 0.05);
        }
        assert!((150..250).contains(&few), "{few} of 4000");
    }
}
