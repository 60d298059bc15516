//! Is B worse than A? The verdict of `plimsoll compare`.

use serde::{Deserialize, Serialize};

use super::{Estimate, IntervalError, LEVEL, difference, paired_difference, paired_ratio, ratio};
use crate::figure::Better;

/// What the interval says of B against A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The whole interval lies beyond the tolerance.
    Worse,
    /// The whole interval lies on the good side of no change.
    Better,
    /// The whole interval lies within the tolerance, or on the good side.
    NotWorse,
    /// The interval spans the tolerance: more replications would tell.
    Undecided,
}

/// How replications of both sides belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pairing {
    /// Those of a number drew the same and are compared as a pair.
    Pairs,
    /// They have nothing to do with each other.
    Independent,
}

/// B compared with A.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// B over A, or B less A, with its 95% interval.
    pub estimate: Estimate,
    /// Which way is better.
    pub better: Better,
    /// How much worse is tolerated: a share of A, or in the figure's own unit for a difference.
    pub tolerance: f64,
    /// What follows.
    pub verdict: Verdict,
}

/// Compares two groups of replications by the ratio of their means, B over A.
///
/// `tolerance` is the share of A by which B may be worse: with 0.05, worse is a ratio above 1.05
/// where lower is better, below 0.95 where higher is better.
///
/// # Errors
/// Fewer than two replications a side; a value that is not finite; a mean that is not above zero;
/// a tolerance below zero; a figure of which neither way is better.
pub fn compare(
    a: &[f64],
    b: &[f64],
    pairing: Pairing,
    better: Better,
    tolerance: f64,
) -> Result<Comparison, IntervalError> {
    check(tolerance)?;
    let estimate = match pairing {
        Pairing::Pairs => paired_ratio(a, b, LEVEL)?,
        Pairing::Independent => ratio(a, b, LEVEL)?,
    };
    let verdict = judge(&estimate, 1.0, better, tolerance)?;
    Ok(Comparison { estimate, better, tolerance, verdict })
}

/// Compares two groups by the difference of their means, B less A: for figures that may be zero,
/// as shares of errors are.
///
/// `tolerance` is how much worse B may be, in the figure's own unit.
///
/// # Errors
/// As [`compare`], but means may be zero.
pub fn compare_difference(
    a: &[f64],
    b: &[f64],
    pairing: Pairing,
    better: Better,
    tolerance: f64,
) -> Result<Comparison, IntervalError> {
    check(tolerance)?;
    let estimate = match pairing {
        Pairing::Pairs => paired_difference(a, b, LEVEL)?,
        Pairing::Independent => difference(a, b, LEVEL)?,
    };
    let verdict = judge(&estimate, 0.0, better, tolerance)?;
    Ok(Comparison { estimate, better, tolerance, verdict })
}

fn check(tolerance: f64) -> Result<(), IntervalError> {
    if tolerance >= 0.0 && tolerance.is_finite() {
        return Ok(());
    }
    Err(IntervalError::Tolerance { found: tolerance })
}

/// The bound itself is tolerated.
fn judge(
    estimate: &Estimate,
    equal: f64,
    better: Better,
    tolerance: f64,
) -> Result<Verdict, IntervalError> {
    // Turned so that worse is greater.
    let (least, most) = match better {
        Better::Lower => (estimate.low - equal, estimate.high - equal),
        Better::Higher => (equal - estimate.high, equal - estimate.low),
        Better::Neither => return Err(IntervalError::NoDirection),
    };
    Ok(if least > tolerance {
        Verdict::Worse
    } else if most < 0.0 {
        Verdict::Better
    } else if most <= tolerance {
        Verdict::NotWorse
    } else {
        Verdict::Undecided
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [f64; 5] = [100.0, 101.0, 99.0, 100.5, 99.5];

    fn times(factor: f64) -> [f64; 5] {
        A.map(|value| value * factor)
    }

    fn verdict(b: &[f64], better: Better, tolerance: f64) -> Verdict {
        compare(&A, b, Pairing::Independent, better, tolerance).unwrap().verdict
    }

    #[test]
    fn a_clear_change_is_told_in_both_directions() {
        assert_eq!(verdict(&times(1.2), Better::Lower, 0.05), Verdict::Worse);
        assert_eq!(verdict(&times(0.8), Better::Lower, 0.05), Verdict::Better);
        assert_eq!(verdict(&times(0.8), Better::Higher, 0.05), Verdict::Worse);
        assert_eq!(verdict(&times(1.2), Better::Higher, 0.05), Verdict::Better);
    }

    #[test]
    fn within_the_tolerance_is_not_worse_and_across_it_undecided() {
        assert_eq!(verdict(&A, Better::Lower, 0.05), Verdict::NotWorse);
        assert_eq!(verdict(&A, Better::Lower, 0.0), Verdict::Undecided);
        assert_eq!(verdict(&times(1.05), Better::Lower, 0.05), Verdict::Undecided);
        let noisy = [80.0, 150.0, 100.0];
        assert_eq!(verdict(&noisy, Better::Lower, 0.05), Verdict::Undecided);
    }

    #[test]
    fn pairs_are_told_apart_where_their_sides_are_not() {
        let by = |pairing| {
            let a = [50.0, 100.0, 200.0];
            let b = a.map(|value| value * 1.2);
            compare(&a, &b, pairing, Better::Lower, 0.05).unwrap().verdict
        };
        assert_eq!(by(Pairing::Pairs), Verdict::Worse);
        assert_eq!(by(Pairing::Independent), Verdict::Undecided);
    }

    #[test]
    fn figures_that_may_be_zero_are_compared_by_difference() {
        let none = [0.0; 3];
        let by = |b: &[f64], margin| {
            let free = Pairing::Independent;
            compare_difference(&none, b, free, Better::Lower, margin).unwrap().verdict
        };
        assert_eq!(by(&none, 0.0), Verdict::NotWorse);
        assert_eq!(by(&[0.05, 0.051, 0.049], 0.001), Verdict::Worse);
        assert_eq!(by(&[0.0, 0.0, 0.01], 0.001), Verdict::Undecided);
        assert!(matches!(
            compare(&none, &A, Pairing::Independent, Better::Lower, 0.05),
            Err(IntervalError::NotPositive { .. })
        ));
    }

    #[test]
    fn nothing_is_worse_where_neither_way_is_better() {
        let free = Pairing::Independent;
        let neither = Err(IntervalError::NoDirection);
        assert_eq!(compare(&A, &times(2.0), free, Better::Neither, 0.05), neither);
        assert_eq!(compare_difference(&A, &times(2.0), free, Better::Neither, 0.05), neither);
    }

    #[test]
    fn single_runs_and_wrong_tolerances_are_refused() {
        assert!(matches!(
            compare(&A[..1], &A, Pairing::Independent, Better::Lower, 0.05),
            Err(IntervalError::TooFewReplications { found: 1, .. })
        ));
        for tolerance in [-0.1, f64::NAN, f64::INFINITY] {
            assert!(matches!(
                compare(&A, &A, Pairing::Independent, Better::Lower, tolerance),
                Err(IntervalError::Tolerance { .. })
            ));
        }
    }
}
