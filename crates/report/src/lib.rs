//! Reports: one document that explains a run, or several side by side.
//!
//! [`document`] makes a [`Document`] of any [`Source`]. As HTML it is one file without any outside
//! reference: style, charts and the small script for read-outs are in it, fonts are the system's.
//! Charts are inline SVG and can be read without the script; each has its figures as a table.
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
mod document;
mod error;
mod figure_text;
mod pages;
mod searched;
mod source;
mod table;
mod view;

pub use document::Document;
pub use error::ReportError;
pub use source::{Caches, Clusters, Curves, DrawnCluster, DrawnCurve, Estimate, Source};

use plimsoll_runs::{Kind, Run};

use pages::{Content, Pools};

/// Makes a document; without a title it is called after what it is made of.
///
/// # Errors
/// [`ReportError`] where there is no run, where one cannot be read, and where runs have no page
/// together.
///
/// # Cost
/// Time is linear in what is shown. A page stays below 2 MB for runs of any length.
pub fn document(source: Source<'_>, title: Option<String>) -> Result<Document, ReportError> {
    let mut document = match source {
        Source::Runs(runs) => return of_runs(runs, title),
        Source::Simulation(simulation) => pages::pools_page(&Pools::of(simulation), None),
        Source::Searches(compared) => pages::searches_page(compared, None),
        Source::Caches(caches) => pages::caches_page(caches),
        Source::Clusters(clusters) => pages::clusters_page(clusters),
        Source::Curves(of) => pages::curves_page(of.name, of.curves, of.warnings),
    };
    if let Some(title) = title {
        document.title = title;
    }
    Ok(document)
}

fn of_runs(runs: &[Run], title: Option<String>) -> Result<Document, ReportError> {
    let Some(first) = runs.first() else { return Err(ReportError::NoRuns) };
    let is_pool = |run: &Run| run.meta().kind == Kind::Pool;
    if let Some(other) = runs.iter().find(|run| is_pool(run) != is_pool(first)) {
        let (one, kind) = (other.meta().id.clone(), other.meta().kind.name());
        return Err(ReportError::Kinds { one, kind });
    }
    if is_pool(first) {
        return Ok(pages::pools_page(&Pools::of_runs(runs)?, title));
    }
    if let Some(other) = runs.iter().find(|run| run.meta().load.is_none()) {
        let (id, kind) = (other.meta().id.clone(), other.meta().kind.name());
        return Err(ReportError::NoPage { id, kind });
    }
    Ok(pages::load_page(&Content::read(runs)?, title))
}
