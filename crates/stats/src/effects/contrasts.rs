//! Effects and interactions of two-level designs, by contrasts.
//!
//! The coefficient of an effect is `q = Σ s·ȳ / n` over the n runs, with ȳ the mean of a run's
//! replications and s the product of its factors' levels, −1 or +1; so the figure goes from the
//! mean less q at the low level to the mean and q at the high one. Its variance is `s²/n² · Σ 1/r`
//! over the numbers of replications r, with s² the variance of replications; where each run has
//! as many, that is `s² / (n·r)`. The sum of squares of an effect is `q² / (Σ 1/r / n²)`, and its
//! share of the variation that over the sum of squares of all values around their mean. Where some
//! runs have more replications than others, shares do not add up to one exactly.
//!
//! *Source:* R. Jain, *The Art of Computer Systems Performance Analysis* (1991), 17.3 to 17.6 and
//! 18.3 to 18.6, fractions 19.2; unequal numbers of replications are the least-squares fit of all
//! coefficients at once.

use super::runs::{Runs, count};
use super::{EffectsError, Run};
use crate::design::Word;
use crate::interval::{Estimate, student};

/// Effects and interactions of a two-level design on one figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Effects {
    /// The mean of the runs' means; its interval needs replications.
    pub mean: f64,
    /// The mean's interval; `None` where no error is known.
    pub mean_interval: Option<Estimate>,
    /// The effects, main effects first, then interactions of two factors and so on, by letters.
    pub effects: Vec<Effect>,
    /// Sum of squares of all values around their mean.
    pub total: f64,
    /// The error; `None` where no run has two values.
    pub error: Option<Replication>,
}

/// How values differ that no effect tells apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Replication {
    /// Their sum of squares.
    pub sum_of_squares: f64,
    /// Its degrees of freedom.
    pub df: f64,
    /// The standard deviation of a single value, s.
    pub deviation: f64,
    /// Its share of the variation.
    pub share: f64,
}

/// The effect of a factor, or an interaction of some.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// The factors, as a word: `A`, `AB`.
    pub term: Word,
    /// Main effects and interactions of two factors that it cannot be told apart from, beside
    /// itself; one with the sign minus enters with the opposite sign.
    pub aliases: Vec<Word>,
    /// The coefficient q: half of what the figure changes by from low to high.
    pub coefficient: f64,
    /// The coefficient's interval; `None` where no error is known.
    pub interval: Option<Estimate>,
    /// The probability of a coefficient as far from 0 where there is no effect; `None` where no
    /// error is known.
    pub p_value: Option<f64>,
    /// Its sum of squares.
    pub sum_of_squares: f64,
    /// Its share of the variation, from 0 to 1; 0 where nothing varies.
    pub share: f64,
}

impl Effect {
    /// What the figure changes by from the low level to the high one, 2q, with its interval.
    #[must_use]
    pub fn difference(&self) -> (f64, Option<Estimate>) {
        let double = |e: Estimate| Estimate {
            value: 2.0 * e.value,
            low: 2.0 * e.low,
            high: 2.0 * e.high,
            ..e
        };
        (2.0 * self.coefficient, self.interval.map(double))
    }
}

impl Effects {
    /// The effect with these factors, whether it is named by them or aliased with what is named.
    #[must_use]
    pub fn of(&self, term: Word) -> Option<&Effect> {
        let term = term.unsigned();
        let is = |effect: &&Effect| {
            effect.term == term || effect.aliases.iter().any(|alias| alias.unsigned() == term)
        };
        self.effects.iter().find(is)
    }
}

/// All effects and interactions that the runs of a whole 2^k design, or of a regular fraction of
/// it, can tell apart, with intervals at `level` where runs are replicated. Which design it is
/// shows in the runs.
///
/// # Errors
/// Runs without a value or with what is no number; runs that are no such design.
///
/// *Cost:* proportional to the square of the number of runs.
pub fn effects(runs: &[Run<'_>], level: f64) -> Result<Effects, EffectsError> {
    of(&Runs::of(runs, |value| value)?, level)
}

pub(super) fn of(runs: &Runs, level: f64) -> Result<Effects, EffectsError> {
    let design = runs.design()?;
    let spread = runs.spread();
    let n = count(runs.groups.len());
    let share = |squares: f64| if spread.total > 0.0 { squares / spread.total } else { 0.0 };
    let error = (spread.df > 0.0).then(|| Replication {
        sum_of_squares: spread.within,
        df: spread.df,
        deviation: (spread.within / spread.df).sqrt(),
        share: share(spread.within),
    });
    // The variance of a coefficient, in variances of a value.
    let inverse = |group: &super::runs::Group| 1.0 / count(group.values.len());
    let variance = runs.groups.iter().map(inverse).sum::<f64>() / (n * n);
    let coefficient = |term: Word| {
        let signed = runs.groups.iter().map(|g| f64::from(term.value(&g.levels)) * g.mean);
        signed.sum::<f64>() / n
    };
    let test =
        |q: f64| error.map(|error| tested(q, variance.sqrt() * error.deviation, error.df, level));
    let mean = coefficient(Word::IDENTITY);
    let effects = design.groups(runs.factors).into_iter().map(|group| {
        let (term, aliases) = (group[0], group[1..].iter().filter(|word| word.order() <= 2));
        let q = coefficient(term);
        let squares = q * q / variance;
        let tested = test(q);
        Effect {
            term,
            aliases: aliases.copied().collect(),
            coefficient: q,
            interval: tested.map(|(interval, _)| interval),
            p_value: tested.map(|(_, p)| p),
            sum_of_squares: squares,
            share: share(squares),
        }
    });
    let effects = effects.collect();
    let mean_interval = test(mean).map(|(interval, _)| interval);
    Ok(Effects { mean, mean_interval, effects, total: spread.total, error })
}

/// The interval of a coefficient, and how likely one as far from 0 is by chance. Where nothing
/// varies, the interval has no width, and what is not 0 is not by chance.
pub(super) fn tested(value: f64, error: f64, df: f64, level: f64) -> (Estimate, f64) {
    let half = student::quantile(f64::midpoint(1.0, level), df) * error;
    let interval = Estimate { value, low: value - half, high: value + half, level, df };
    let p_value = if error > 0.0 {
        student::two_sided(value / error, df)
    } else if value.abs() > 0.0 {
        0.0
    } else {
        1.0
    };
    (interval, p_value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::Fraction;
    use proptest::prelude::*;

    fn close(found: f64, wanted: f64) {
        assert!((found - wanted).abs() <= 1e-9 * wanted.abs().max(1.0), "{found} for {wanted}");
    }

    const SQUARE: [[i8; 2]; 4] = [[-1, -1], [1, -1], [-1, 1], [1, 1]];

    #[test]
    fn a_square_without_replications_as_published() {
        // Jain, example 17.1: memory and cache size, MIPS of 15, 45, 25, 75.
        let values = [[15.0], [45.0], [25.0], [75.0]];
        let runs: Vec<Run<'_>> =
            SQUARE.iter().zip(&values).map(|(levels, values)| Run { levels, values }).collect();
        let found = effects(&runs, 0.95).unwrap();
        close(found.mean, 40.0);
        let terms: Vec<String> = found.effects.iter().map(|e| e.term.to_string()).collect();
        assert_eq!(terms, ["A", "B", "AB"]);
        for (effect, (q, share)) in
            found.effects.iter().zip([(20.0, 16.0 / 21.0), (10.0, 4.0 / 21.0), (5.0, 1.0 / 21.0)])
        {
            close(effect.coefficient, q);
            close(effect.share, share);
            assert_eq!((effect.interval, effect.p_value), (None, None));
        }
        assert_eq!((found.error, found.mean_interval), (None, None));
    }

    #[test]
    fn a_replicated_square_as_published() {
        // Jain, example 18.1 to 18.4: three replications, intervals at 90%.
        let values =
            [[15.0, 18.0, 12.0], [45.0, 48.0, 51.0], [25.0, 28.0, 19.0], [75.0, 75.0, 81.0]];
        let runs: Vec<Run<'_>> =
            SQUARE.iter().zip(&values).map(|(levels, values)| Run { levels, values }).collect();
        let found = effects(&runs, 0.90).unwrap();
        let error = found.error.unwrap();
        close(error.sum_of_squares, 102.0);
        close(error.df, 8.0);
        close(found.total, 7032.0);
        close(found.mean_interval.unwrap().low, 39.083_221_756_337_52);
        for (effect, (q, low)) in found.effects.iter().zip([
            (21.5, 19.583_221_756_337_52),
            (9.5, 7.583_221_756_337_519),
            (5.0, 3.083_221_756_337_519),
        ]) {
            close(effect.coefficient, q);
            close(effect.interval.unwrap().low, low);
            let (difference, interval) = effect.difference();
            close(difference, 2.0 * q);
            close(interval.unwrap().low, 2.0 * low);
        }
    }

    #[test]
    fn aliases_are_named_beside_the_effect() {
        let design = Fraction::best(5, 2).unwrap();
        let rows = design.runs();
        let values: Vec<[f64; 1]> =
            rows.iter().map(|row| [10.0 + 3.0 * f64::from(row[1] * row[2])]).collect();
        let runs: Vec<Run<'_>> =
            rows.iter().zip(&values).map(|(levels, values)| Run { levels, values }).collect();
        let found = effects(&runs, 0.95).unwrap();
        assert_eq!(found.effects.len(), 7);
        let bc = found.of(Word::of([1, 2]).unwrap()).unwrap();
        assert_eq!((bc.term.to_string().as_str(), bc.aliases.len()), ("BC", 1));
        close(bc.coefficient, 3.0);
        assert_eq!(found.of(Word::of([3, 4]).unwrap()), Some(bc), "D·E is the same contrast");
    }

    #[test]
    fn runs_may_have_different_numbers_of_replications() {
        let (low, high) = ([-1], [1]);
        let runs = [
            Run { levels: &low, values: &[9.0, 11.0] },
            Run { levels: &high, values: &[19.0, 20.0, 21.0, 20.0] },
        ];
        let found = effects(&runs, 0.95).unwrap();
        let effect = &found.effects[0];
        close(effect.coefficient, 5.0);
        // s² = (2 + 2) / 4 = 1; the variance of q is (1/2 + 1/4) / 4.
        let half = 2.776_445_105_197_793_4 * (0.75_f64 / 4.0).sqrt();
        close(effect.interval.unwrap().high, 5.0 + half);
    }

    #[test]
    fn where_nothing_varies_nothing_has_an_effect() {
        let runs: Vec<Run<'_>> =
            SQUARE.iter().map(|levels| Run { levels, values: &[3.0, 3.0] }).collect();
        let found = effects(&runs, 0.95).unwrap();
        for effect in &found.effects {
            assert!(effect.coefficient.abs() < 1e-300 && effect.share.abs() < 1e-300);
            assert_eq!(effect.p_value, Some(1.0));
        }
    }

    proptest! {
        /// Of equal numbers of replications, the shares add up to one, and what made the values
        /// comes out.
        #[test]
        fn shares_add_up_and_coefficients_come_out(
            made in prop::collection::vec(-10.0_f64..10.0, 8),
            noise in prop::collection::vec(-1.0_f64..1.0, 16),
        ) {
            let rows = Fraction::best(3, 0).unwrap().runs();
            let terms = Fraction::best(3, 0).unwrap().groups(3);
            let values: Vec<[f64; 2]> = rows.iter().enumerate().map(|(n, row)| {
                let sum: f64 = terms.iter().zip(&made[1..])
                    .map(|(group, q)| q * f64::from(group[0].value(row))).sum();
                // Two replications whose mean is not moved by the noise.
                [made[0] + sum + noise[n], made[0] + sum - noise[n]]
            }).collect();
            let runs: Vec<Run<'_>> =
                rows.iter().zip(&values).map(|(levels, values)| Run { levels, values }).collect();
            let found = effects(&runs, 0.95).unwrap();
            let shares: f64 = found.effects.iter().map(|effect| effect.share).sum();
            prop_assert!((shares + found.error.unwrap().share - 1.0).abs() < 1e-9);
            for (effect, q) in found.effects.iter().zip(&made[1..]) {
                prop_assert!((effect.coefficient - q).abs() < 1e-9);
                let interval = effect.interval.unwrap();
                prop_assert!(interval.low <= *q + 1e-9 && *q - 1e-9 <= interval.high);
            }
        }
    }
}
