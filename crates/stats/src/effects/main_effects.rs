//! Main effects of two-level factors where runs of the design are missing: a least-squares fit of
//! the mean and one coefficient a factor.
//!
//! Interactions are no part of the fit: what there is of them is in the error, beside what
//! replications differ by, and where the runs that are left are not balanced it may shift a main
//! effect. So the contrasts of a whole design say more, and are to be preferred where it is there.
//!
//! *Source:* G. W. Snedecor and W. G. Cochran, *Statistical Methods* (1989), chapter 17.

use super::contrasts::{Effect, Effects, Replication, tested};
use super::least_squares::Fit;
use super::runs::{Runs, count};
use super::{EffectsError, Run};
use crate::design::Word;

/// The main effects of factors with two levels on a figure, of any runs that tell them apart, with
/// intervals at `level` where there are more values than factors and one.
///
/// # Errors
/// Runs without a value or with what is no number; fewer different runs than factors and one, or
/// factors that always change together.
pub fn main_effects(runs: &[Run<'_>], level: f64) -> Result<Effects, EffectsError> {
    of(&Runs::of(runs, |value| value)?, level)
}

pub(super) fn of(runs: &Runs, level: f64) -> Result<Effects, EffectsError> {
    let rows: Vec<&[i8]> = runs
        .groups
        .iter()
        .flat_map(|group| group.values.iter().map(|_| group.levels.as_slice()))
        .collect();
    let values: Vec<f64> = runs.groups.iter().flat_map(|group| group.values.clone()).collect();
    let terms: Vec<Word> = (0..runs.factors).filter_map(|factor| Word::of([factor])).collect();
    let mut fit = Fit::of(&values);
    for term in std::iter::once(&Word::IDENTITY).chain(&terms) {
        let column: Vec<f64> = rows.iter().map(|row| f64::from(term.value(row))).collect();
        fit.add(&column);
    }
    let (factors, found) = (runs.factors, runs.groups.len());
    let coefficients =
        fit.coefficients().ok_or(EffectsError::TooFewToTellApart { factors, found })?;
    let total = runs.spread().total;
    let share = |squares: f64| if total > 0.0 { squares / total } else { 0.0 };
    let df = count(values.len() - fit.rank());
    let squares = fit.residual_squares();
    let error = (df > 0.0).then(|| Replication {
        sum_of_squares: squares,
        df,
        deviation: (squares / df).sqrt(),
        share: share(squares),
    });
    let test = |(value, variance): (f64, f64)| {
        error.map(|error| tested(value, variance.sqrt() * error.deviation, df, level))
    };
    let effect = |(&term, &(q, variance)): (&Word, &(f64, f64))| {
        let tested = test((q, variance));
        Effect {
            term,
            aliases: vec![],
            coefficient: q,
            interval: tested.map(|(interval, _)| interval),
            p_value: tested.map(|(_, p)| p),
            sum_of_squares: q * q / variance,
            share: share(q * q / variance),
        }
    };
    let effects = terms.iter().zip(&coefficients[1..]).map(effect).collect();
    let mean_interval = test(coefficients[0]).map(|(interval, _)| interval);
    Ok(Effects { mean: coefficients[0].0, mean_interval, effects, total, error })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::Fraction;
    use crate::effects::effects;

    #[test]
    fn of_a_whole_design_they_are_its_contrasts() {
        let rows = Fraction::best(4, 1).unwrap().runs();
        let values: Vec<[f64; 2]> =
            (0..8_u8).map(f64::from).map(|n| [n * n + 1.0, 20.0 - n]).collect();
        let runs: Vec<Run<'_>> =
            rows.iter().zip(&values).map(|(levels, values)| Run { levels, values }).collect();
        let (all, main) = (effects(&runs, 0.95).unwrap(), main_effects(&runs, 0.95).unwrap());
        assert!((all.mean - main.mean).abs() < 1e-9);
        for (a, b) in all.effects.iter().zip(&main.effects) {
            assert_eq!(a.term, b.term);
            assert!((a.coefficient - b.coefficient).abs() < 1e-9);
            assert!((a.sum_of_squares - b.sum_of_squares).abs() < 1e-9 * all.total);
        }
        // The interactions are in the error now.
        assert!(main.error.unwrap().sum_of_squares > all.error.unwrap().sum_of_squares);
        assert!((main.error.unwrap().df - 11.0).abs() < 1e-12);
    }

    #[test]
    fn a_missing_run_does_no_harm_where_factors_add_up() {
        let mut rows = Fraction::best(5, 1).unwrap().runs();
        rows.remove(3);
        rows.remove(9);
        let values: Vec<[f64; 1]> = rows
            .iter()
            .map(|row| [50.0 + 4.0 * f64::from(row[0]) - 2.0 * f64::from(row[4])])
            .collect();
        let runs: Vec<Run<'_>> =
            rows.iter().zip(&values).map(|(levels, values)| Run { levels, values }).collect();
        let incomplete = EffectsError::Incomplete { wanted: 16, found: 14 };
        assert_eq!(effects(&runs, 0.95), Err(incomplete));
        let found = main_effects(&runs, 0.95).unwrap();
        for (effect, wanted) in found.effects.iter().zip([4.0, 0.0, 0.0, 0.0, -2.0]) {
            assert!((effect.coefficient - wanted).abs() < 1e-9, "{effect:?}");
        }
        let few = main_effects(&runs[..4], 0.95);
        assert!(matches!(
            few,
            Err(EffectsError::Constant { .. } | EffectsError::TooFewToTellApart { .. })
        ));
    }
}
