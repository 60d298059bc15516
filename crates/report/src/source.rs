//! What a document is made of.

use plimsoll_capacity::compared::Compared;
use plimsoll_runs::Run;
use plimsoll_runs::experiment::Experiment;

/// What a document is made of.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// One run, or several side by side, in the order given: of loads and searches, or of another
    /// kind.
    Runs(&'a [Run]),
    /// An experiment: its combinations of levels over their replications.
    Experiment(&'a Experiment),
    /// Groups of searches side by side: box plots, distributions, courses, figures with their cost.
    Searches(&'a Compared),
}
