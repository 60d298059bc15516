//! Reports: one HTML file that explains a run, or several side by side.
//!
//! [`html`] makes a page without any outside reference: style, charts and the small script for
//! read-outs are in the file, fonts are the system's. Charts are inline SVG and can be read without
//! the script; each has its figures as a table.
//!
//! # Numbers
//!
//! Nothing is measured here. Figures come from [`plimsoll_runs::Summary`], courses from the run's
//! seconds, distributions from its histograms, those of a search for a capacity from its result and
//! its windows, and those of a simulation from its result and its courses. Where a long run is
//! drawn in fewer columns than it has seconds, the chart says what a column holds (`columns`).
//!
//! # Untrusted text
//!
//! Names, URLs, plans, warnings and host facts come from outside; all text is escaped where it is
//! written ([`plimsoll_draw::Markup`]), and there is no other way of writing text.
//!
//! # Determinism
//!
//! The same run folders and options give the same bytes.

mod columns;
mod figure_text;
mod page;
mod searched;
mod view;

use plimsoll_cache::bound::Bound;
use plimsoll_cache::cluster::{Counts, Latency, Moves};
use plimsoll_cache::curve::Point;
use plimsoll_cache::simulate::{Cell, Comparison};
use plimsoll_cache::trace::Trace;
use plimsoll_capacity::compared::Compared;
use plimsoll_elastic::course::Simulation;
use plimsoll_runs::{Run, RunError};
use plimsoll_stats::Figure;

use view::View;

/// Most columns of a chart over time, all panels of a figure together.
const COLUMNS: usize = 600;
/// Fewest columns of one panel, however many runs there are.
const LEAST_COLUMNS: usize = 120;

/// How a report is made.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The page's title; without it, the names of the runs.
    pub title: Option<String>,
}

/// Why a report could not be made. Reads as "failed to …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// No run was given.
    #[error("make a report of no runs; name at least one run folder")]
    NoRuns,
    /// A run could not be read.
    #[error("make the report of run {id}")]
    Run {
        /// The run's id.
        id: String,
        /// The cause.
        #[source]
        source: Box<RunError>,
    },
}

/// Makes the report of one run, or of several side by side, in the order given.
///
/// # Errors
/// [`ReportError::NoRuns`] for an empty slice; [`ReportError::Run`] where a run's files cannot be
/// read.
///
/// # Cost
/// Time is linear in the seconds of the runs. The page stays below 2 MB for a run of any length.
pub fn html(runs: &[Run], options: &Options) -> Result<String, ReportError> {
    if runs.is_empty() {
        return Err(ReportError::NoRuns);
    }
    let named = |run: &Run| {
        let id = run.meta().id.clone();
        move |source| ReportError::Run { id, source: Box::new(source) }
    };
    let mut views = Vec::with_capacity(runs.len());
    for run in runs {
        views.push(View::read(run).map_err(named(run))?);
    }
    page::give_letters(&mut views);
    let columns = (COLUMNS / views.len()).max(LEAST_COLUMNS);
    let end_s = views.iter().map(View::end_s).fold(0.0, f64::max);
    let axis = columns::time_axis(end_s, columns);
    let edges = page::heat_edges(&views);
    let mut heat = Vec::with_capacity(runs.len());
    for run in runs {
        heat.push(view::heat(run, axis, &edges).map_err(named(run))?);
    }
    Ok(page::write(&page::Content { views: &views, axis, edges, heat }, options))
}

/// Makes the page of groups of searches side by side: box plots, distributions, courses with their
/// changes, and the figures with their cost. Without a title it is called after what it compares.
///
/// # Cost
/// Linear in the number of searches.
#[must_use]
pub fn comparison(compared: &Compared, title: Option<&str>) -> String {
    page::write_compared(compared, title)
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

/// Makes the page of a comparison of caches: every policy at every size, miss ratios over sizes and
/// over the trace.
///
/// # Cost
/// Linear in the cells and the parts of the trace; below 2 MB for dozens of policies.
#[must_use]
pub fn caches_page(caches: &Caches<'_>) -> String {
    page::write_cached(caches)
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

/// Makes the page of clusters that were compared: all with their figures, where answers come from,
/// what has to be weighed, response times, courses over the trace, and every node and parent.
///
/// # Cost
/// Linear in the clusters, their members and the parts of the trace. A hundred clusters stay below
/// 2 MB; of more than 200 those with the lowest miss ratios are shown.
#[must_use]
pub fn clusters_page(clusters: &Clusters<'_>) -> String {
    page::write_clusters(clusters)
}

/// A miss-ratio curve, as its page needs it.
#[derive(Debug, Clone)]
pub struct DrawnCurve {
    /// The policy.
    pub name: String,
    /// Its points; those of all curves have the same capacities.
    pub points: Vec<Point>,
}

/// Makes the page of miss-ratio curves of a trace of that name.
#[must_use]
pub fn curves_page(name: &str, curves: &[DrawnCurve], warnings: &[String]) -> String {
    page::write_curves(name, curves, warnings)
}

/// Makes the page of a simulation: what each policy comes to, its differences from the first, cost
/// against loss, courses, revenue, decisions, and how it was counted. Without a title it is called
/// after what was simulated.
///
/// # Cost
/// Linear in the ticks and decisions. A dozen policies of any length stay below 2 MB.
#[must_use]
pub fn simulation_page(simulation: &Simulation, title: Option<&str>) -> String {
    page::write_simulated(simulation, title)
}
