//! What a document is made of.

use plimsoll_analysis::Analysis;
use plimsoll_analysis::compared::Compared as Sides;
use plimsoll_analysis::trend::Trend;
use plimsoll_capacity::compared::Compared;
use plimsoll_runs::Run;
use plimsoll_runs::experiment::Experiment;

/// What a document is made of.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// One run, or several side by side, in the order given: of loads and searches, or of another
    /// kind.
    Runs(&'a [Run]),
    /// An experiment: its combinations of levels over their replications, and what comes of it.
    Experiment(&'a Experiment, &'a Analysis),
    /// A live experiment and the same one simulated, over each other: the prediction against what
    /// was measured.
    Worlds {
        /// The live one, and what comes of it.
        live: (&'a Experiment, &'a Analysis),
        /// The simulated one, and what comes of it.
        simulated: (&'a Experiment, &'a Analysis),
    },
    /// Groups of searches side by side: box plots, distributions, courses, figures with their cost.
    Searches(&'a Compared),
    /// Two sides, each of replications: is B worse than A?
    Sides(&'a Sides),
    /// A figure over runs by a tag.
    Trend(&'a Trend),
}
