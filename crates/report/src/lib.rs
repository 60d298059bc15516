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

mod asked_load;
mod cells;
pub mod ci;
mod columns;
mod document;
mod error;
mod figure_text;
mod guarded;
pub mod live;
mod others;
mod pages;
mod searched;
mod series;
pub mod serve;
mod source;
mod stored;
mod table;
mod view;
mod watched;

pub use document::{Document, Picture};
pub use error::ReportError;
pub use source::Source;

use plimsoll_analysis::{Analysis, against};
use plimsoll_plan::{FactorPlan, Varied};
use plimsoll_runs::experiment::Experiment;
use plimsoll_runs::{Kind, Run};

use cells::Cells;
use document::Verdict;
use pages::Content;

/// The most runs of an experiment that stand side by side on its page.
const MAX_SIDES: usize = 8;

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
        Source::Experiment(experiment, analysis) => {
            return of_experiment(experiment, analysis, title);
        }
        Source::Worlds { live, simulated } => {
            let worlds = against(live.1, simulated.1);
            if worlds.pairs.is_empty() {
                let id = |of: (&Experiment, &Analysis)| of.1.experiment.id.clone();
                return Err(ReportError::Worlds { live: id(live), simulated: id(simulated) });
            }
            let cells = [Cells::of(live.0)?, Cells::of(simulated.0)?];
            pages::worlds_page(&worlds, [live.1, simulated.1], &cells)
        }
        Source::Searches(compared) => pages::searches_page(compared, None),
        Source::Sides(compared) => pages::compared_page(compared),
        Source::Trend(trend) => pages::trend_page(trend),
    };
    if let Some(title) = title {
        document.title = title;
    }
    Ok(document)
}

fn of_experiment(
    experiment: &Experiment,
    analysis: &Analysis,
    title: Option<String>,
) -> Result<Document, ReportError> {
    let mut cells = Cells::of(experiment)?;
    if analysis.experiment.has_design || !matches!(cells.kind, Kind::Load | Kind::Search) {
        let mut document = match analysis.experiment.has_design {
            true => of_design(&cells, analysis, title)?,
            false => of_cells(&cells, title)?,
        };
        let place = document.sections.len().min(1);
        document.sections.splice(place..place, pages::of_types(analysis, &cells.currency));
        // What was said beforehand is held against what came of it first.
        document.sections.splice(0..0, pages::of_predictions(&cells, analysis)?);
        return Ok(document);
    }
    // Those that count for nothing say so on their own.
    let done = cells.rows.iter().flat_map(|row| row.of.kept());
    let runs = done.take(MAX_SIDES + 1).map(|cell| experiment.run(cell).map_err(cells.failed()));
    let runs: Vec<Run> = runs.filter_map(Result::transpose).collect::<Result<_, _>>()?;
    // Of more their means tell more than they do themselves.
    let mut sections = match runs.len() {
        1..=MAX_SIDES => {
            let content = Content::read(&runs)?;
            cells.held = content.held().filter(|_| cells.kind == Kind::Load);
            pages::of_runs(&content)
        }
        _ => Vec::new(),
    };
    if cells.kind == Kind::Search && runs.len() > 1 {
        let compared = series::compared(experiment, &cells).map_err(cells.failed())?;
        if let [group] = &compared.groups[..] {
            let told = series::answer(group).into_iter();
            cells.results.extend(told.map(|text| ("capacity".to_owned(), text)));
        }
        sections.splice(0..0, pages::of_searches(&compared));
    }
    Ok(pages::experiment_page(&cells, sections, title))
}

/// The page of an experiment whose plan names factors. Policies of one pool, and clusters that are
/// asked for the same, have pages that tell more of them; the effects of their factors stand there
/// too.
fn of_design(
    cells: &Cells,
    analysis: &Analysis,
    title: Option<String>,
) -> Result<Document, ReportError> {
    if !matches!(cells.kind, Kind::Pool | Kind::Caches) || !is_of_one(cells) {
        return Ok(pages::designed_page(cells, analysis, title));
    }
    let mut document = of_cells(cells, title)?;
    let place = document.sections.len().min(1);
    document.sections.splice(place..place, pages::of_effects(analysis));
    Ok(document)
}

/// Whether all that is varied are policies of one pool, or clusters and their own levels: what is
/// told of the pool, or of what is asked for, then holds for all cells.
fn is_of_one(cells: &Cells) -> bool {
    let Some(varied) = Varied::of(&cells.plan) else { return false };
    let is_of_policy = |of: &FactorPlan| of.keys().iter().all(|key| key.starts_with("policy."));
    let is_own = |of: &FactorPlan| of.is_own() || cells.kind == Kind::Pool && is_of_policy(of);
    varied.factors.iter().all(is_own)
}

fn of_cells(cells: &Cells, title: Option<String>) -> Result<Document, ReportError> {
    match cells.kind {
        Kind::Pool => pages::pools_page(cells, title),
        Kind::Caches if cells.rows.iter().any(|row| !row.level("cluster").is_empty()) => {
            let page = pages::clusters_page(cells, title.as_deref())?;
            Ok(page.unwrap_or_else(|| pages::experiment_page(cells, Vec::new(), title)))
        }
        Kind::Caches => pages::caches_page(cells, title),
        Kind::Load | Kind::Search | Kind::Tune => {
            Ok(pages::experiment_page(cells, Vec::new(), title))
        }
    }
}

fn of_runs(runs: &[Run], title: Option<String>) -> Result<Document, ReportError> {
    let Some(first) = runs.first() else { return Err(ReportError::NoRuns) };
    let kind = |run: &Run| match run.meta().kind {
        // A search is a load too.
        Kind::Search => Kind::Load,
        kind => kind,
    };
    if let Some(other) = runs.iter().find(|run| kind(run) != kind(first)) {
        let (one, kind) = (other.meta().id.clone(), other.meta().kind.name());
        return Err(ReportError::Kinds { one, kind });
    }
    let is_search = |run: &Run| run.meta().kind == Kind::Search;
    let is_other_world = |run: &Run| run.meta().world != first.meta().world;
    match kind(first) {
        Kind::Load | Kind::Search
            if runs.len() > 1 && runs.iter().all(is_search) && !runs.iter().any(is_other_world) =>
        {
            let sections = pages::of_runs(&Content::read(runs)?);
            Ok(pages::experiment_page(&Cells::of_runs(runs)?, sections, title))
        }
        Kind::Load | Kind::Search => {
            let content = Content::read(runs)?;
            let winner = if runs.len() > 1 { winner(&content, runs)? } else { None };
            Ok(pages::load_page(&content, winner, title))
        }
        Kind::Pool | Kind::Caches | Kind::Tune => of_cells(&Cells::of_runs(runs)?, title),
    }
}

/// Which of some runs is the best, of those that are valid; `None` where there are not two.
fn winner(content: &Content, runs: &[Run]) -> Result<Option<Verdict>, ReportError> {
    let mut cells = Cells::of_runs(runs)?;
    let mut is_valid = Vec::new();
    for (row, view) in cells.rows.iter_mut().zip(&content.views) {
        row.label.clone_from(&view.heading);
        is_valid.push(view.summary.run.valid);
    }
    let mut is_valid = is_valid.into_iter();
    cells.rows.retain(|_| is_valid.next() == Some(true));
    Ok(if cells.rows.len() > 1 { pages::answer(&cells) } else { None })
}
