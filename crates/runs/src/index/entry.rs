//! What a list tells of a run or of an experiment, and where it comes from.

use std::collections::BTreeMap;
use std::path::Path;

use plimsoll_stats::figure;

use crate::error::RunError;
use crate::experiment::{Experiment, Progress, is_experiment};
use crate::{FigureRow, Kind, Run, figures, iso8601};

/// One run in a list, or one experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The folder's name.
    pub id: String,
    /// The plan's name; may be empty.
    pub name: String,
    /// What it is one of.
    pub kind: Kind,
    /// What was put to the test.
    pub subject: String,
    /// What it was tagged with.
    pub tags: BTreeMap<String, String>,
    /// Start, ISO 8601 in UTC.
    pub started: String,
    /// As [`crate::summary::RunIdentity::ended`].
    pub ended: String,
    /// How many cells are done, and of how many; `None` of a run that is no experiment.
    pub cells: Option<Progress>,
    /// What the load came to; `None` of an experiment, and of a run without a load.
    pub load: Option<LoadEntry>,
    /// The figure that tells the most of it; `None` where it has none.
    pub headline: Option<Headline>,
}

/// What a list tells of a load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadEntry {
    /// Whether the figures are the system's.
    pub valid: bool,
    /// Completed requests per second; `None` of a single one.
    pub rate_mean: Option<f64>,
    /// Response time: median, µs.
    pub p50_us: Option<f64>,
    /// Response time: 99th percentile, µs.
    pub p99_us: Option<f64>,
    /// Requests due in the measured phase.
    pub offered: u64,
    /// Of those, the ones that did not succeed.
    pub failed: u64,
}

/// A figure, as far apart as the done cells of an experiment have it.
#[derive(Debug, Clone, PartialEq)]
pub struct Headline {
    /// The figure's name, as the registry has it.
    pub name: String,
    /// The least value of a cell; of a single run, its value.
    pub low: f64,
    /// The greatest value of a cell; of a single run, its value.
    pub high: f64,
}

/// The name of the figure that tells the most of a kind of run.
fn headline_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Load => figure::RESPONSE_US_P50,
        Kind::Search => figure::ESTIMATE_PER_S,
        Kind::Pool | Kind::Tune => figure::COST,
        Kind::Caches => figure::MISS_RATIO,
    }
    .name
}

impl Entry {
    /// The entry of a folder. `id` is its name, not the one inside: folders are copied and renamed.
    pub(super) fn of_folder(folder: &Path, id: String) -> Result<Self, RunError> {
        if is_experiment(folder) {
            Self::of_experiment(folder, id)
        } else {
            Self::of_run(folder, id)
        }
    }

    fn of_run(folder: &Path, id: String) -> Result<Self, RunError> {
        let run = Run::open(folder)?;
        let meta = run.meta();
        let summary = meta.has_seconds().then(|| run.summary()).transpose()?;
        let figures = match &summary {
            Some(summary) if meta.kind == Kind::Load => figures::of_summary(summary),
            _ => run.figures()?,
        };
        let load = summary.map(|summary| LoadEntry {
            valid: summary.run.valid,
            rate_mean: summary.rate_mean,
            p50_us: summary.response_us.p50,
            p99_us: summary.response_us.p99,
            offered: summary.offered,
            failed: summary.offered.saturating_sub(summary.succeeded),
        });
        let name = headline_of(meta.kind);
        let headline = figures.into_iter().find(|row| row.name == name);
        Ok(Self {
            id,
            name: meta.name.clone(),
            kind: meta.kind,
            subject: meta.subject.clone(),
            tags: meta.tags.clone(),
            started: iso8601(meta.started_unix_ns),
            ended: run.end().map_or("incomplete", |end| end.ended.name()).to_owned(),
            cells: None,
            load,
            headline: headline.map(|FigureRow { name, value, .. }| Headline {
                name,
                low: value,
                high: value,
            }),
        })
    }

    fn of_experiment(folder: &Path, id: String) -> Result<Self, RunError> {
        let experiment = Experiment::open(folder)?;
        let meta = experiment.meta();
        let name = headline_of(meta.kind);
        let range = experiment.range_of(name)?;
        Ok(Self {
            id,
            name: meta.name.clone(),
            kind: meta.kind,
            subject: meta.subject.clone(),
            tags: meta.tags.clone(),
            started: iso8601(meta.started_unix_ns),
            ended: experiment.ended().map_or("incomplete", crate::Ended::name).to_owned(),
            cells: Some(experiment.progress()?),
            load: None,
            headline: range.map(|(low, high)| Headline { name: name.to_owned(), low, high }),
        })
    }
}
