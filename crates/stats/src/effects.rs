//! What each factor of an experiment does to a figure: effects, interactions, and tables of the
//! analysis of variance.
//!
//! | what | of which runs | how |
//! | --- | --- | --- |
//! | [`effects`] | a whole 2^k design or a regular fraction | contrasts of the runs' means |
//! | [`ratios`] | the same, of figures above zero | contrasts of the means of logarithms |
//! | [`main_effects`], [`main_ratios`] | two levels, where runs are missing too | least squares |
//! | [`Anova`] | factors of any number of levels | sums of squares of nested fits |
//!
//! The error is that of replications: how the values of one run's replications differ. Without
//! replications there is none, and so neither an interval nor a p-value; there
//! [`Effects::half_normal`] and [`Effects::lenth`] tell which effects stand out from the others.
//!
//! *Source:* R. Jain, *The Art of Computer Systems Performance Analysis* (1991), chapters 17 to 22;
//! G. W. Snedecor and W. G. Cochran, *Statistical Methods* (1989), chapters 12 to 16.

mod anova;
mod contrasts;
mod half_normal;
mod least_squares;
mod main_effects;
mod ratio;
mod runs;

pub use anova::{Anova, Observation, Residual, Source};
pub use contrasts::{Effect, Effects, Replication, effects};
pub use half_normal::{HalfNormal, Lenth};
pub use main_effects::main_effects;
pub use ratio::{RatioEffect, main_ratios, ratios};
pub use runs::Run;

use crate::design::{DesignError, MOST_FACTORS};

/// Why no effects can be computed. Runs and values are told by their number, from 1.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EffectsError {
    /// Nothing to compute them of.
    #[error("expected at least 2 runs, found {found}: run more of the design")]
    TooFewRuns {
        /// How many there are.
        found: usize,
    },
    /// A run without a value.
    #[error("expected at least one value of run {run}, found none: leave the run out")]
    NoValue {
        /// Which run.
        run: usize,
    },
    /// A value that is no number.
    #[error("expected a number of run {run}, found {value}: leave it out")]
    NotFinite {
        /// Which run.
        run: usize,
        /// The value.
        value: f64,
    },
    /// A value of which there is no logarithm.
    #[error(
        "expected a value above zero of run {run}, found {value}: a ratio to nothing says \
         nothing; compute differences"
    )]
    NotPositive {
        /// Which run.
        run: usize,
        /// The value.
        value: f64,
    },
    /// Runs with levels of different numbers of factors.
    #[error("expected the levels of {wanted} factors of run {run}, found {found}: correct it")]
    Factors {
        /// Which run.
        run: usize,
        /// How many factors the first run has.
        wanted: usize,
        /// How many this one has.
        found: usize,
    },
    /// More factors than a design may have.
    #[error("expected 1 to {MOST_FACTORS} factors of two levels, found {found}: leave some out")]
    TooManyFactors {
        /// How many there are.
        found: usize,
    },
    /// A level that is neither low nor high.
    #[error("expected the levels -1 and +1 of run {run}, found {level}: correct it")]
    Level {
        /// Which run.
        run: usize,
        /// The level.
        level: i8,
    },
    /// A factor with one level in all runs.
    #[error("expected both levels of factor {factor} among the runs, found one: leave it out")]
    Constant {
        /// The factor's number, from 1.
        factor: usize,
    },
    /// Runs that are no design which contrasts could be taken of.
    #[error(
        "expected the {wanted} runs of a two-level design, found {found}: main effects can be \
         computed without the others"
    )]
    Incomplete {
        /// How many runs the smallest regular fraction that has them all has.
        wanted: usize,
        /// How many there are.
        found: usize,
    },
    /// Factors that always change together.
    #[error("the runs do not tell all factors apart: {0}")]
    Confounded(#[from] DesignError),
    /// Fewer runs than effects, or some that always go together.
    #[error(
        "expected runs that tell {factors} factors apart, found {found} that do not: run more of \
         the design"
    )]
    TooFewToTellApart {
        /// How many factors there are.
        factors: usize,
        /// How many different runs.
        found: usize,
    },
}
