//! Designs of experiments with factors of two levels, and one factor at a time.
//!
//! A [`Fraction`] is a regular fraction 2^(k−p) of the 2^k combinations of k factors' two levels:
//! p of the factors are *generated*, each as the product of some of the others (`E=ABCD`). What
//! that costs is that effects are *aliased*: the same contrast of the results estimates all of
//! them together. The products that are constant over all runs are the *defining words*; the
//! length of the shortest is the *resolution*: at III no main effect is aliased with another, at
//! IV none with an interaction of two factors, at V no interaction of two with another one.
//!
//! *Source:* Box, Hunter & Hunter, *Statistics for Experimenters* (1978), chapters 12 and 13; R.
//! Jain, *The Art of Computer Systems Performance Analysis* (1991), chapters 16 to 19. Where the
//! generators of [`Fraction::best`] come from is told in `design/catalogue.rs`.

mod catalogue;
mod fraction;
mod full;
mod parse;
mod word;

pub use fraction::{DesignError, Fraction, Generator};
pub use full::{full, size};
pub use word::{MOST_FACTORS, Word, letter};

use plimsoll_units::ParseError;
use std::fmt;

/// Which combinations of the factors' levels an experiment runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Design {
    /// Every combination.
    Full,
    /// A regular fraction of the combinations of factors with two levels.
    Fractional(Fraction),
    /// The first level of every factor, then each other level by itself: [`one_at_a_time`].
    OneAtATime,
    /// Many factors looked at with few runs, and the best combinations again with more.
    Screening,
}

impl Design {
    /// Reads `full`, `one-at-a-time`, `screening`, or `fractional 2^(5-1)`, which may be followed
    /// by generators of one's own choice: `fractional 2^(5-2) D=AB E=-AC`.
    ///
    /// Factors have the letters A to P without I, in their order in the plan.
    ///
    /// # Errors
    /// Points at the part that cannot be read, and says what could stand there.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        parse::design(text)
    }
}

/// As [`Design::parse`] reads it. Generators are written where they are not the best ones.
impl fmt::Display for Design {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fraction = match self {
            Self::Full => return f.write_str("full"),
            Self::OneAtATime => return f.write_str("one-at-a-time"),
            Self::Screening => return f.write_str("screening"),
            Self::Fractional(fraction) => fraction,
        };
        let (factors, generated) = (fraction.factors(), fraction.generators().len());
        write!(f, "fractional 2^({factors}-{generated})")?;
        if Fraction::best(factors, generated).as_ref() != Ok(fraction) {
            fraction.generators().iter().try_for_each(|generator| write!(f, " {generator}"))?;
        }
        Ok(())
    }
}

/// The runs of a design that changes one factor at a time: first each factor at its first level,
/// then each further level of each factor, with all other factors at their first.
///
/// `levels` has the number of levels of each factor; a run has the index of each factor's level.
/// Such a design shows no interactions; that is what it is cheap by. There are no runs where a
/// factor has no level.
pub fn one_at_a_time(levels: &[usize]) -> impl Iterator<Item = Vec<usize>> + '_ {
    let base = (!levels.contains(&0)).then(|| vec![0; levels.len()]);
    let others = levels
        .iter()
        .enumerate()
        .flat_map(|(factor, &of)| (1..of).map(move |level| (factor, level)));
    let changed = base.clone().into_iter().flat_map(move |base| {
        others.clone().map(move |(factor, level)| {
            let mut run = base.clone();
            run[factor] = level;
            run
        })
    });
    base.into_iter().chain(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_factor_changes_at_a_time() {
        let runs: Vec<Vec<usize>> = one_at_a_time(&[2, 1, 3]).collect();
        assert_eq!(runs, [[0, 0, 0], [1, 0, 0], [0, 0, 1], [0, 0, 2]]);
        assert_eq!(one_at_a_time(&[]).count(), 1);
        assert_eq!(one_at_a_time(&[2, 0]).count(), 0);
    }

    #[test]
    fn designs_are_written_as_they_are_read() {
        for text in [
            "full",
            "one-at-a-time",
            "screening",
            "fractional 2^(5-1)",
            "fractional 2^(15-11)",
            "fractional 2^(5-2) D=ABC E=AB",
            "fractional 2^(5-1) E=-ABCD",
        ] {
            assert_eq!(Design::parse(text).unwrap().to_string(), text);
        }
        let chosen = Design::parse("fractional 2^(5-1) E=ABCD").unwrap();
        assert_eq!(chosen.to_string(), "fractional 2^(5-1)", "it is the best one");
    }
}
