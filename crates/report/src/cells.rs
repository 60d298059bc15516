//! What a page shows of an experiment, or of runs side by side: a row for each combination of
//! levels, with its figures over the replications and the run of its first one.

use crate::asked_load;
use std::path::PathBuf;

use plimsoll_elastic::result::{HELD, SLO};
use plimsoll_runs::experiment::{Combination, Experiment, Replication, combinations};
use plimsoll_runs::{Class, Ended, Kind, Run, RunError, currency};
use plimsoll_stats::figure::Figure;

use crate::error::ReportError;

/// Factors whose levels name a row by themselves, in the order in which a name has them. The level
/// of any other factor stands behind the factor's own name.
const SPEAKING: [&str; 8] =
    ["policy", "type", "cluster", "protocol", "spread", "size", "admit", "run"];
/// Of these a row has the level in its name even where all have the same.
const ALWAYS: [&str; 3] = ["policy", "cluster", "run"];
/// The most rows whose runs are opened.
const MAX_RUNS: usize = 1000;

/// The cells of an experiment, or runs side by side.
pub(crate) struct Cells {
    /// What each cell is a run of.
    pub(crate) kind: Kind,
    /// The name of the plan; may be empty.
    pub(crate) name: String,
    /// The id of the experiment, or of the first run.
    pub(crate) id: String,
    /// What is put to the test, in a few words.
    pub(crate) subject: String,
    /// What its world tells of it, as JSON; may be empty.
    pub(crate) about: String,
    /// The sign before amounts of money; may be empty.
    pub(crate) currency: String,
    /// The plan, word for word.
    pub(crate) plan: String,
    /// The path of the file that the plan was read from; may be empty.
    pub(crate) plan_file: PathBuf,
    /// The SLO, where there is one.
    pub(crate) slo: Option<String>,
    /// In how many runs of loads the whole SLO held, and of how many; `None` where that was not
    /// looked at.
    pub(crate) held: Option<(usize, usize)>,
    /// How it ended; `None` where it was killed or still goes on.
    pub(crate) ended: Option<Ended>,
    /// What a reader should know, a sentence each.
    pub(crate) warnings: Vec<String>,
    /// What was found over all cells, each by its kind: the best setting of a search for one.
    pub(crate) results: Vec<(String, String)>,
    /// The combinations, in the order of their first cells.
    pub(crate) rows: Vec<Row>,
    /// Whether each row is a run of its own, which need not have seen the same requests.
    pub(crate) is_of_runs: bool,
}

/// A combination of levels.
pub(crate) struct Row {
    /// What it is called.
    pub(crate) label: String,
    /// Its levels and its cells.
    pub(crate) of: Combination,
    /// The run of its first replication that is done; `None` where it kept figures only.
    pub(crate) run: Option<Run>,
    /// Whether the SLO held over the replications, where that was told.
    pub(crate) holds: Option<bool>,
}

/// What a page is called that has no name: what is measured, and of what.
pub(crate) fn title_of(kind: Kind, subject: &str) -> String {
    let what = match kind {
        Kind::Load => "Load on",
        Kind::Search => "Capacity of",
        Kind::Pool => "Pool for",
        Kind::Caches => "Caches for",
        Kind::Tune => "Parameters for",
    };
    format!("{what} {subject}")
}

impl Cells {
    /// Reads an experiment.
    pub(crate) fn of(experiment: &Experiment) -> Result<Self, ReportError> {
        let meta = experiment.meta();
        let failed = ReportError::within(&meta.id);
        let all = combinations(experiment).map_err(&failed)?;
        let labels: Vec<String> = all.iter().map(|of| label(of, &all)).collect();
        let mut rows = Vec::with_capacity(all.len());
        for (number, (of, label)) in all.into_iter().zip(labels).enumerate() {
            let first = of.done.first().filter(|_| number < MAX_RUNS).map(|one| one.cell);
            let run =
                first.map(|cell| experiment.run(cell)).transpose().map_err(&failed)?.flatten();
            rows.push(Row { label, of, run, holds: None });
        }
        let (mut warnings, mut results) = (Vec::new(), Vec::new());
        let events = experiment.events().map_err(&failed)?;
        // What was done to the system under test is told where its course is.
        for (cell, event) in events.into_iter().filter(|(_, event)| event.class == Class::Run) {
            match (cell, event.kind.as_str()) {
                (Some(cell), SLO) => {
                    let is_of = |row: &&mut Row| row.of.done.iter().any(|one| one.cell == cell);
                    if let Some(row) = rows.iter_mut().find(is_of) {
                        row.holds = Some(event.text == HELD);
                    }
                }
                (Some(cell), _) => warnings.push(format!("Cell {cell}: {}", event.text)),
                (None, "warning") => warnings.push(event.text),
                (None, _) => results.push((event.kind, event.text)),
            }
        }
        let slo = asked_load::plan(&meta.plan_text).and_then(|plan| plan.measure.slo);
        let slo = slo.map(|slo| slo.to_string());
        Ok(Self {
            kind: meta.kind,
            name: meta.name.clone(),
            id: meta.id.clone(),
            subject: meta.subject.clone(),
            about: meta.about.clone(),
            currency: currency(&meta.about),
            plan: meta.plan_text.clone(),
            plan_file: PathBuf::from(&meta.plan_file),
            slo,
            held: None,
            ended: experiment.ended().cloned(),
            warnings,
            results,
            rows,
            is_of_runs: false,
        })
    }

    /// Reads runs of one kind, each a row.
    pub(crate) fn of_runs(runs: &[Run]) -> Result<Self, ReportError> {
        let Some(first) = runs.first().map(|run| run.meta().clone()) else {
            return Err(ReportError::NoRuns);
        };
        let ended = runs[0].end().map(|end| end.ended.clone());
        let warnings = runs.iter().filter_map(Run::end).flat_map(|end| end.warnings.clone());
        let warnings = warnings.collect();
        let is_one_of_several = runs.len() > 1;
        let mut rows = Vec::with_capacity(runs.len());
        for run in runs {
            let figures = run.figures().map_err(ReportError::of(run))?;
            let (meta, label) = (run.meta(), name_of(run, is_one_of_several));
            let done = Replication::of(meta.cell, (0, meta.seed), figures);
            let mut factors = meta.factors.clone();
            if is_one_of_several {
                factors.insert("run".to_owned(), label.clone());
            }
            let (done, aside) = (vec![done], Vec::new());
            let of = Combination { factors, block: 0, cells: 1, done, aside };
            // Opened anew, as a row holds its run.
            let run = Run::open(run.path()).map_err(ReportError::of(run))?;
            rows.push(Row { label, of, run: Some(run), holds: None });
        }
        Ok(Self {
            kind: first.kind,
            name: first.name,
            id: first.id,
            subject: first.subject,
            currency: currency(&first.about),
            about: first.about,
            plan: first.plan_text,
            plan_file: PathBuf::new(),
            slo: first.slo,
            held: None,
            ended,
            warnings,
            results: Vec::new(),
            rows,
            is_of_runs: true,
        })
    }

    /// That something of it could not be read.
    pub(crate) fn failed(&self) -> impl Fn(RunError) -> ReportError + use<> {
        ReportError::within(&self.id)
    }

    /// What it is called: by its plan's name, else after the plan's file, else by what is measured.
    pub(crate) fn title(&self) -> String {
        match (self.name.as_str(), self.plan_file.file_stem()) {
            ("", Some(stem)) => stem.to_string_lossy().into_owned(),
            ("", None) => title_of(self.kind, &self.subject),
            (name, _) => name.to_owned(),
        }
    }

    /// How many cells there are, and how many of them are done.
    pub(crate) fn progress(&self) -> (usize, usize) {
        let done = self.rows.iter().map(|row| row.of.executed()).sum();
        (self.rows.iter().map(|row| row.of.cells).sum(), done)
    }

    /// The most replications of a combination.
    pub(crate) fn replications(&self) -> usize {
        self.rows.iter().map(|row| row.of.done.len()).max().unwrap_or(0)
    }

    /// Those of some figures that any row has.
    pub(crate) fn known<'a>(
        &self,
        figures: impl IntoIterator<Item = &'a &'static Figure>,
    ) -> Vec<&'static Figure> {
        let any = |figure: &&&'static Figure| self.rows.iter().any(|row| row.has(figure));
        figures.into_iter().filter(any).copied().collect()
    }

    /// Whether the cells are in several blocks.
    pub(crate) fn has_blocks(&self) -> bool {
        self.rows.iter().any(|row| row.of.block != self.rows[0].of.block)
    }

    /// The factors that have several levels.
    pub(crate) fn factors(&self) -> Vec<&str> {
        let all = self.rows.first().into_iter().flat_map(|row| row.of.factors.keys());
        let differs = |factor: &&String| {
            self.rows.iter().any(|row| row.level(factor) != self.rows[0].level(factor))
        };
        let mut factors: Vec<&str> = all.filter(differs).map(String::as_str).collect();
        factors.sort_by_key(|factor| place(factor));
        factors
    }
}

impl Row {
    /// The level of a factor; empty where it has none.
    pub(crate) fn level(&self, factor: &str) -> &str {
        self.of.factors.get(factor).map_or("", String::as_str)
    }

    /// A figure as the mean over the replications.
    pub(crate) fn value(&self, figure: &Figure) -> Option<f64> {
        Some(self.of.mean(figure)?.value).filter(|value| value.is_finite())
    }

    /// The 95% interval of that mean; of a single replication its own, where it has one.
    pub(crate) fn interval(&self, figure: &Figure) -> Option<(f64, f64)> {
        let own = || match &self.of.done[..] {
            [only] => only.intervals.get(figure.name).copied(),
            _ => None,
        };
        self.of.mean(figure)?.ci95.or_else(own)
    }

    fn has(&self, figure: &Figure) -> bool {
        self.of.done.iter().any(|one| one.figures.contains_key(figure.name))
    }
}

/// Where a factor stands in a name.
fn place(factor: &str) -> usize {
    SPEAKING.iter().position(|known| *known == factor).unwrap_or(SPEAKING.len())
}

/// What a combination is called: its levels of the factors that distinguish it from others.
fn label(of: &Combination, all: &[Combination]) -> String {
    let differs = |factor: &str| {
        ALWAYS.contains(&factor)
            || all.iter().any(|other| other.factors.get(factor) != of.factors.get(factor))
    };
    let mut parts: Vec<(&String, &String)> =
        of.factors.iter().filter(|(factor, _)| differs(factor)).collect();
    parts.sort_by_key(|(factor, _)| place(factor));
    let named = |(factor, level): (&String, &String)| match SPEAKING.contains(&factor.as_str()) {
        true => level.clone(),
        false => format!("{factor}={level}"),
    };
    let mut parts: Vec<String> = parts.into_iter().map(named).collect();
    if all.iter().any(|other| other.block != of.block) {
        parts.push(format!("block {}", of.block));
    }
    if parts.is_empty() { "all cells".to_owned() } else { parts.join(" · ") }
}

/// What a run is called: its plan's name, or its id; the id too, where there are several.
fn name_of(run: &Run, is_one_of_several: bool) -> String {
    let meta = run.meta();
    match (meta.name.is_empty(), is_one_of_several) {
        (true, _) => meta.id.clone(),
        (false, true) => format!("{} ({})", meta.name, meta.id),
        (false, false) => meta.name.clone(),
    }
}
