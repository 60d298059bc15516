//! What was checked of runs and experiments, as they are stored.

use super::{Case, Checks, Standing, Suite};
use crate::cells::title_of;
use crate::error::ReportError;
use crate::figure_text::{self, DASH};
use crate::pages::objectives;
use crate::searched::Searched;
use plimsoll_capacity::result::CapacityResult;
use plimsoll_runs::experiment::{CellRow, Experiment, LeftOut, Standing as Stands, State, place};
use plimsoll_runs::summary::SloVerdict;
use plimsoll_runs::{FigureRow, Kind, Run, RunError, Summary};
use plimsoll_stats::figure::{self, Figure, Unit};
use plimsoll_units::civil::iso8601;
use plimsoll_units::{show_count, show_rate, show_share};
use std::path::Path;

/// The most figures of a cell that stand beside its verdict.
const MOST_FIGURES: usize = 6;
/// That a run is valid, and that it is complete, as cases.
const VALID: &str = "the run is valid";
const COMPLETE: &str = "the run is complete";

impl Checks {
    /// Those of a run, or of an experiment by its cells.
    ///
    /// # Errors
    /// [`ReportError`] where it cannot be read.
    pub fn of(path: &Path) -> Result<Self, ReportError> {
        let named = path.display().to_string();
        if place(path).is_some() {
            let experiment = Experiment::open(path).map_err(ReportError::within(&named))?;
            return Self::of_experiment(&experiment);
        }
        Self::of_runs(&[Run::open(path).map_err(ReportError::within(&named))?])
    }

    /// Those of runs.
    ///
    /// # Errors
    /// [`ReportError`] where one cannot be read.
    pub fn of_runs(runs: &[Run]) -> Result<Self, ReportError> {
        let suites = runs.iter().map(|run| of_run(run).map_err(ReportError::of(run)));
        let mut suites = suites.collect::<Result<Vec<Suite>, _>>()?;
        if suites.len() > 1 {
            let numbered = suites.iter_mut().enumerate();
            numbered.for_each(|(at, suite)| suite.name += &format!(", replication {}", at + 1));
        }
        Ok(Self { suites })
    }

    fn of_experiment(experiment: &Experiment) -> Result<Self, ReportError> {
        let failed = || ReportError::within(&experiment.meta().id);
        let mut suites = Vec::new();
        for row in experiment.cells().map_err(failed())? {
            suites.push(of_cell(experiment, &row).map_err(failed())?);
        }
        Ok(Self { suites })
    }
}

fn of_cell(experiment: &Experiment, row: &CellRow) -> Result<Suite, RunError> {
    let run = if row.state.is_kept() { experiment.run(row.cell.number)? } else { None };
    let mut suite = match &run {
        Some(run) => of_run(run)?,
        None if row.state.is_kept() => {
            let figures = experiment.figures_of(row.cell.number)?;
            Suite { cases: of_figures(&figures), figures: shown(&figures), ..Suite::default() }
        }
        None => Suite { cases: vec![not_done(row)], ..Suite::default() },
    };
    let (seen, _) = Stands::of(experiment, row)?;
    if seen.left_out() == Some(LeftOut::ServerEnded) {
        suite.cases.push(Case::new("the servers stay", Standing::Broken, seen.why()));
    }
    let of = experiment.meta();
    let levels: Vec<String> =
        row.cell.factors.iter().map(|(factor, level)| format!("{factor}={level}")).collect();
    let levels = if levels.is_empty() { String::new() } else { format!(": {}", levels.join(", ")) };
    let (plan, replication) = (called(&of.name, of.kind, &of.subject), row.cell.replication);
    suite.name = format!("{plan}{levels}, replication {replication}");
    if suite.started.is_empty() {
        let began = row.started_ns.map(|ns| experiment.meta().started_unix_ns.saturating_add(ns));
        suite.started = began.map(iso8601).unwrap_or_default();
    }
    Ok(suite)
}

fn not_done(row: &CellRow) -> Case {
    let standing = match row.state {
        State::Failed | State::Stopped => Standing::Untold,
        _ => Standing::Skipped,
    };
    let reason = if row.reason.is_empty() { row.state.name() } else { &row.reason };
    Case::new("the cell is done", standing, reason)
}

fn of_run(run: &Run) -> Result<Suite, RunError> {
    let meta = run.meta();
    let mut suite = match meta.kind {
        Kind::Load => of_load(&run.summary()?),
        Kind::Search => of_search(run),
        Kind::Pool | Kind::Caches | Kind::Tune => {
            let figures = run.figures()?;
            Suite { cases: of_figures(&figures), figures: shown(&figures), ..Suite::default() }
        }
    };
    suite.name = called(&meta.name, meta.kind, &meta.subject);
    suite.started = iso8601(meta.started_unix_ns);
    Ok(suite)
}

/// What a suite is called: by its plan, else by what was measured. Whoever follows a case from one
/// pipeline to the next finds it under the same name.
fn called(name: &str, kind: Kind, subject: &str) -> String {
    if name.is_empty() { title_of(kind, subject) } else { name.to_owned() }
}

fn of_load(summary: &Summary) -> Suite {
    let mut cases: Vec<Case> = summary.slo.iter().map(of_clause).collect();
    cases.push(validity(summary));
    let complete = match summary.run.ended.as_str() {
        ended if summary.is_whole() => Case::new(COMPLETE, Standing::Held, ended),
        "complete" => Case::new(COMPLETE, Standing::Untold, "no request got an answer"),
        ended => Case::new(COMPLETE, Standing::Untold, ended),
    };
    cases.push(complete);
    let time = |value: Option<f64>| {
        value.map_or_else(|| DASH.to_owned(), |us| figure_text::of_unit(Unit::Micros, us, ""))
    };
    let failed = summary.offered.saturating_sub(summary.succeeded);
    let errors = failed as f64 / summary.offered.max(1) as f64;
    let of = &summary.response_us;
    let figures = vec![
        ("offered".to_owned(), show_count(summary.offered)),
        ("completed".to_owned(), summary.rate_mean.map_or_else(|| DASH.to_owned(), show_rate)),
        ("errors".to_owned(), show_share(errors)),
        ("p50".to_owned(), time(of.p50)),
        ("p90".to_owned(), time(of.p90)),
        ("p99".to_owned(), time(of.p99)),
    ];
    let seconds = summary.warmup_s + summary.duration_s + summary.drain_s;
    let warnings = summary.warnings.clone();
    Suite { cases, figures, seconds, warnings, ..Suite::default() }
}

fn of_clause(clause: &SloVerdict) -> Case {
    let standing = match clause.pass {
        Some(true) => Standing::Held,
        Some(false) => Standing::Broken,
        None => Standing::Untold,
    };
    let note = clause.note.as_ref().map_or_else(String::new, |note| format!(" ({note})"));
    let says = format!("measured {}{note}", objectives::value(clause));
    Case::new(&clause.expr, standing, says)
}

/// Whether the figures are the system's. Where every clause has a verdict, none hangs on that.
fn validity(summary: &Summary) -> Case {
    if summary.run.valid {
        return Case::new(VALID, Standing::Held, "the figures are the system's");
    }
    let because = summary.run.invalid_because.join("; ");
    let is_decided = !summary.slo.is_empty() && summary.slo.iter().all(|of| of.pass.is_some());
    if is_decided {
        let says = format!("{because}; every clause has a verdict all the same");
        return Case::new(VALID, Standing::Skipped, says);
    }
    Case::new(VALID, Standing::Untold, because)
}

fn of_search(run: &Run) -> Suite {
    let Some(Searched { slo, result: Some(result), faults, .. }) = Searched::read(run) else {
        let case = Case::new("there is a result", Standing::Untold, "the search has none");
        return Suite { cases: vec![case], ..Suite::default() };
    };
    let standing = match result.ended.as_str() {
        "found" => Standing::Held,
        "slo_unreachable" => Standing::Broken,
        _ => Standing::Untold,
    };
    let ended = result.ended.replace('_', " ");
    let says = match capacity(&result) {
        Some(capacity) => format!("{capacity}; ended: {ended}"),
        None => format!("ended: {ended}"),
    };
    let text = |of: &'static Figure| {
        result.value(of).map_or_else(|| DASH.to_owned(), |value| figure_text::text(of, value, ""))
    };
    let figures = vec![
        ("capacity".to_owned(), capacity(&result).unwrap_or_else(|| DASH.to_owned())),
        ("SLO".to_owned(), slo.clone()),
        (figure::KNEE_PER_S.label.to_owned(), text(figure::KNEE_PER_S)),
        (figure::SATURATION_PER_S.label.to_owned(), text(figure::SATURATION_PER_S)),
    ];
    let warnings = faults.into_iter().chain(result.warnings.iter().cloned()).collect();
    let cases = vec![Case::new(format!("a rate holds {slo}"), standing, says)];
    Suite { cases, figures, seconds: result.seconds, warnings, ..Suite::default() }
}

/// The estimate with its interval.
fn capacity(result: &CapacityResult) -> Option<String> {
    let estimate = show_rate(result.estimate_per_s?);
    Some(match result.ci95 {
        Some((low, high)) => {
            format!("{estimate} (95%: {} to {})", show_rate(low), show_rate(high))
        }
        None => estimate,
    })
}

/// The cases of a run or a cell that is figures: its SLO, where it has one.
fn of_figures(figures: &[FigureRow]) -> Vec<Case> {
    let Some(held) = figures.iter().find(|row| row.name == figure::SLO_HELD.name) else {
        return vec![Case::new("the cell is done", Standing::Held, "done")];
    };
    let standing = if held.value > 0.5 { Standing::Held } else { Standing::Broken };
    let all: Vec<String> =
        shown(figures).into_iter().map(|(name, value)| format!("{name} {value}")).collect();
    vec![Case::new("the SLO holds", standing, all.join(", "))]
}

/// The first figures, for a reader.
fn shown(figures: &[FigureRow]) -> Vec<(String, String)> {
    let known = figures.iter().filter_map(|row| Some((figure::named(&row.name)?, row.value)));
    let shown = known.filter(|(of, _)| *of != figure::SLO_HELD).take(MOST_FIGURES);
    shown.map(|(of, value)| (of.label.to_owned(), figure_text::text(of, value, ""))).collect()
}
