//! Effects as ratios, of figures above zero such as rates and response times: by how much a factor
//! multiplies the figure.
//!
//! The effects are those of the logarithms: the high level has `exp(2q)` times the figure of the
//! low one, in the geometric mean over the other factors and the replications, and the ends of the
//! interval of q give those of the ratio's. So an interval is never below zero, and the ratio of
//! low to high is the inverse of that of high to low. Of an interaction it is the ratio of two
//! ratios.
//!
//! *Source:* R. Jain, *The Art of Computer Systems Performance Analysis* (1991), 17.7 and 18.8
//! (multiplicative models); the interval as for [`crate::interval::paired_ratio`].

use super::runs::Runs;
use super::{Effect, Effects, EffectsError, Run, contrasts, main_effects};
use crate::design::Word;
use crate::interval::{Estimate, ROUNDING};

/// What a factor, or an interaction, multiplies a figure by.
#[derive(Debug, Clone, PartialEq)]
pub struct RatioEffect {
    /// The factors, as a word.
    pub term: Word,
    /// What it cannot be told apart from, as for [`Effect::aliases`].
    pub aliases: Vec<Word>,
    /// The figure at the high level over that at the low one.
    pub ratio: f64,
    /// The ratio's interval; `None` where no error is known.
    pub interval: Option<Estimate>,
    /// The probability of a ratio as far from 1 where there is no effect; `None` where no error is
    /// known.
    pub p_value: Option<f64>,
    /// Its share of the variation of the logarithms.
    pub share: f64,
}

/// The effects of a two-level design, whole or a regular fraction, as ratios; intervals at `level`.
///
/// # Errors
/// As [`super::effects`], and a value that is not above zero.
pub fn ratios(runs: &[Run<'_>], level: f64) -> Result<Vec<RatioEffect>, EffectsError> {
    contrasts::of(&logarithms(runs)?, level).map(as_ratios)
}

/// The main effects as ratios, of any runs that tell them apart; intervals at `level`.
///
/// # Errors
/// As [`super::main_effects()`], and a value that is not above zero.
pub fn main_ratios(runs: &[Run<'_>], level: f64) -> Result<Vec<RatioEffect>, EffectsError> {
    main_effects::of(&logarithms(runs)?, level).map(as_ratios)
}

fn logarithms(runs: &[Run<'_>]) -> Result<Runs, EffectsError> {
    for (number, run) in runs.iter().enumerate() {
        if let Some(&value) = run.values.iter().find(|value| **value <= 0.0) {
            return Err(EffectsError::NotPositive { run: number + 1, value });
        }
    }
    Runs::of(runs, libm::log)
}

fn as_ratios(effects: Effects) -> Vec<RatioEffect> {
    let ratio = |effect: Effect| {
        let (difference, interval) = effect.difference();
        RatioEffect {
            term: effect.term,
            ratio: libm::exp(difference),
            interval: interval.map(|e| Estimate {
                value: libm::exp(e.value),
                low: libm::exp(e.low),
                high: libm::exp(e.high),
                ..e
            }),
            // Of equal values rounding leaves a difference, and an error that is smaller still.
            p_value: effect.p_value.map(|p| if difference.abs() < ROUNDING { 1.0 } else { p }),
            share: effect.share,
            aliases: effect.aliases,
        }
    };
    effects.effects.into_iter().map(ratio).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_that_multiply_have_their_factors() {
        // A doubles, B takes a tenth off, and their interaction is none.
        let levels = [[-1, -1], [1, -1], [-1, 1], [1, 1]];
        let values = levels.map(|[a, b]: [i8; 2]| {
            let mean = if a > 0 { 200.0 } else { 100.0 } * if b > 0 { 0.9 } else { 1.0 };
            [mean * 1.01, mean / 1.01]
        });
        let runs: Vec<Run<'_>> =
            levels.iter().zip(&values).map(|(levels, values)| Run { levels, values }).collect();
        let found = ratios(&runs, 0.95).unwrap();
        for (effect, wanted) in found.iter().zip([2.0, 0.9, 1.0]) {
            assert!((effect.ratio - wanted).abs() < 1e-9, "{effect:?}");
            let interval = effect.interval.unwrap();
            assert!(interval.low < wanted && wanted < interval.high);
            assert!((interval.low * interval.high - wanted * wanted).abs() < 1e-9);
        }
        assert!(found[0].interval.unwrap().low > 1.6 && found[0].p_value.unwrap() < 0.001);
        let main = main_ratios(&runs[..3], 0.95).unwrap();
        assert!((main[0].ratio - 2.0).abs() < 1e-9 && (main[1].ratio - 0.9).abs() < 1e-9);
        // A factor that does nothing, without any noise: nothing is told from none.
        let same = levels.map(|[a, _]| [if a > 0 { 1.36 } else { 0.34 }; 2]);
        let runs: Vec<Run<'_>> =
            levels.iter().zip(&same).map(|(levels, values)| Run { levels, values }).collect();
        let found = ratios(&runs, 0.95).unwrap();
        assert!(found[0].p_value.unwrap() < 0.001 && found[1].p_value == Some(1.0), "{found:?}");
        let zero = [Run { levels: &levels[0], values: &[1.0, 0.0] }];
        assert_eq!(ratios(&zero, 0.95), Err(EffectsError::NotPositive { run: 1, value: 0.0 }));
    }
}
