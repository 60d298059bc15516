//! What a document is made of.

use plimsoll_cache::bound::Bound;
use plimsoll_cache::cluster::{Counts, Latency, Moves};
use plimsoll_cache::curve::Point;
use plimsoll_cache::simulate::{Cell, Comparison};
use plimsoll_cache::trace::Trace;
use plimsoll_capacity::compared::Compared;
use plimsoll_elastic::course::Simulation;
use plimsoll_runs::Run;
use plimsoll_stats::Figure;

/// What a document is made of.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// One run, or several side by side, in the order given: of loads and searches, or of pools.
    Runs(&'a [Run]),
    /// Policies on the same simulated requests: what each comes to, its differences from the first,
    /// cost against loss, courses, revenue, decisions.
    Simulation(&'a Simulation),
    /// Groups of searches side by side: box plots, distributions, courses, figures with their cost.
    Searches(&'a Compared),
    /// Caches: every policy at every size, miss ratios over sizes and over the trace.
    Caches(&'a Caches<'a>),
    /// Clusters of caches: all with their figures, where answers come from, what has to be weighed,
    /// response times, courses over the trace, and every node and parent. Of more than 200 those
    /// with the lowest miss ratios are shown.
    Clusters(&'a Clusters<'a>),
    /// Miss-ratio curves.
    Curves(&'a Curves<'a>),
}

/// A comparison of caches, as its page needs it.
#[derive(Debug, Clone, Copy)]
pub struct Caches<'a> {
    /// What was asked for.
    pub trace: &'a Trace,
    /// What the trace is called.
    pub name: &'a str,
    /// What a reader should know of it, a sentence each.
    pub warnings: &'a [String],
    /// What was compared.
    pub comparison: &'a Comparison,
    /// What came out, in the comparison's order.
    pub cells: &'a [Cell],
    /// What no policy undercuts, where it was asked for.
    pub bounds: &'a [Bound],
}

/// Clusters of caches that were compared, as their page needs them.
#[derive(Debug, Clone, Copy)]
pub struct Clusters<'a> {
    /// What the comparison is called.
    pub name: &'a str,
    /// What was asked for.
    pub trace: &'a Trace,
    /// What the trace is called; may be empty.
    pub trace_name: &'a str,
    /// What a reader should know of it, a sentence each.
    pub warnings: &'a [String],
    /// What each step cost, in all of them.
    pub latency: Latency,
    /// What was compared, in the order of the plan.
    pub cells: &'a [DrawnCluster<'a>],
}

/// A cluster that was simulated, as its page needs it.
#[derive(Debug, Clone)]
pub struct DrawnCluster<'a> {
    /// The label that the plan gives it and others like it.
    pub label: &'a str,
    /// How it is called: its label, and what distinguishes it from others of that.
    pub name: String,
    /// The level of every key.
    pub levels: &'a [(&'static str, String)],
    /// What was counted.
    pub counts: &'a Counts,
    /// What moves when a node, and when a parent, joins or leaves; none where no hash chooses one.
    pub moves: [Option<Moves>; 2],
    /// In how many replications it was simulated; the counts are those of the first.
    pub replications: usize,
    /// Its figures over the replications, the same in every cluster; empty where there is only one.
    pub estimates: Vec<Estimate>,
}

/// A figure of a cluster over its replications.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The figure that is estimated.
    pub figure: &'static Figure,
    /// The mean.
    pub mean: f64,
    /// The 95% interval of the mean.
    pub ci95: (f64, f64),
}

/// A miss-ratio curve, as its page needs it.
#[derive(Debug, Clone)]
pub struct DrawnCurve {
    /// The policy.
    pub name: String,
    /// Its points; those of all curves have the same capacities.
    pub points: Vec<Point>,
}

/// Miss-ratio curves of a trace, as their page needs them.
#[derive(Debug, Clone, Copy)]
pub struct Curves<'a> {
    /// What the trace is called.
    pub name: &'a str,
    /// The curves.
    pub curves: &'a [DrawnCurve],
    /// What a reader should know, a sentence each.
    pub warnings: &'a [String],
}
