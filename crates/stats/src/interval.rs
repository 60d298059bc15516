//! Intervals of confidence, and what they let one say of two groups of runs.
//!
//! Every interval here comes from *replications*: whole runs, independent of each other. The
//! seconds of one run are correlated, and an interval over them would be far too narrow, so two
//! runs alone are refused ([`IntervalError::TooFewReplications`]). The one exception is
//! [`batch_means`], which says how sure a single run is of its own figure, by taking stretches long
//! enough to be nearly independent.
//!
//! | what | how | source |
//! | --- | --- | --- |
//! | mean | Student t, n − 1 degrees of freedom | Law, *Simulation Modeling and Analysis*, 4.5 |
//! | difference | unequal variances | Welch 1947, degrees of freedom by Satterthwaite 1946 |
//! | ratio | delta method on the logarithm | Casella & Berger, *Statistical Inference*, 5.5 |
//! | pairs | Student t on the differences, or on the logarithms of the ratios | Law, 10.2.1 (common random numbers) |
//! | mean of a sample that is not normal | bootstrap, BCa | Efron 1987; [`described_mean`] says when |
//! | geometric mean | Student t on the logarithms | Fleming & Wallace 1986 |
//! | one run | batch means | Schmeiser 1982; growing batches as Yeh & Schmeiser 2000 |

mod batches;
mod bootstrap;
mod comparison;
mod means;
mod method;
mod p_value;
pub mod student;

pub use batches::{BatchMeans, QuantileBatches, batch_means};
pub use bootstrap::{RESAMPLES, bootstrap_mean, bootstrap_median};
pub use comparison::{Comparison, Pairing, Verdict, compare, compare_difference};
pub use means::{
    Estimate, difference, geometric_mean, mean, paired_difference, paired_ratio, ratio,
};
pub use method::{Method, described_mean, one_mean};
pub use p_value::{ROUNDING, p_of_difference, p_of_ratio, p_of_worse_by, p_of_worse_ratio};

use plimsoll_units::failure::{Failure, Kind};

/// The level of the intervals this program shows.
pub const LEVEL: f64 = 0.95;

/// Why no interval can be given.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum IntervalError {
    /// One run a side says nothing about how runs vary.
    #[error(
        "expected at least 2 replications of {side}, found {found}: the seconds of one run are \
         correlated and cannot stand for replications"
    )]
    TooFewReplications {
        /// Which group.
        side: Side,
        /// How many it has.
        found: usize,
    },
    /// A value that is no number.
    #[error("expected a number for replication {number} of {side}, found {value}: leave it out")]
    NotFinite {
        /// Which group.
        side: Side,
        /// Which of its values, from 1.
        number: usize,
        /// The value.
        value: f64,
    },
    /// Pairs of which some have one half only.
    #[error(
        "expected as many replications of B as of A ({a}) to compare them as pairs, found {b}: \
         leave out what has no partner"
    )]
    Unpaired {
        /// Replications of A.
        a: usize,
        /// Replications of B.
        b: usize,
    },
    /// A ratio of means that are not both above zero.
    #[error("expected a mean above zero for {side}, found {mean}: a ratio to nothing says nothing")]
    NotPositive {
        /// Which group.
        side: Side,
        /// Its mean.
        mean: f64,
    },
    /// A tolerance that is no share.
    #[error("expected a tolerance of at least 0 (5% is 0.05), found {found}: correct it")]
    Tolerance {
        /// The tolerance.
        found: f64,
    },
    /// A figure of which none of two values is the worse.
    #[error(
        "expected a figure of which lower or higher is better, found one of neither: leave it out"
    )]
    NoDirection,
    /// A run too short, or with too few requests, to be cut into batches.
    #[error(
        "expected at least {wanted} {of}, found {found}: run for longer, or look at a lower \
             percentile"
    )]
    TooFewBatches {
        /// What batches are made of.
        of: &'static str,
        /// How many are needed.
        wanted: usize,
        /// How many there are.
        found: usize,
    },
}

/// Which of the groups an error is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The only one.
    Sample,
    /// What is compared with.
    A,
    /// What is compared.
    B,
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Sample => "the sample",
            Self::A => "A",
            Self::B => "B",
        })
    }
}

impl Failure for IntervalError {
    fn kind(&self) -> Kind {
        Kind::Usage
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::TooFewReplications { .. } => "run it again with --repeat",
            Self::NotPositive { .. } => "compare the difference",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}
