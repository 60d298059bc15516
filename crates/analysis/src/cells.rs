//! The cells of an experiment, or the one cell that a single run is, with their verdicts.

use std::collections::BTreeMap;

use plimsoll_runs::experiment::{AGAIN, CellRow, Experiment, FAILED, Gate, Standing, all_held};
use plimsoll_runs::summary::{SloVerdict, Summary};
use plimsoll_runs::{FigureRow, Kind, Run, RunError};
use plimsoll_stats::figure::{self, Figure};

use crate::document::{CellResult, state};

/// The cells of an experiment, by their numbers.
pub(crate) fn of_experiment(experiment: &Experiment) -> Result<Vec<CellResult>, RunError> {
    let mut failures: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for (cell, event) in experiment.events()? {
        if let Some(cell) = cell.filter(|_| [FAILED, AGAIN].contains(&&*event.kind)) {
            failures.entry(cell).or_default().push(event.text);
        }
    }
    let of = |row: &CellRow| {
        let failures = failures.remove(&row.cell.number).unwrap_or_default();
        Ok(CellResult { failures, ..of_row(experiment, row)? })
    };
    experiment.cells()?.iter().map(of).collect()
}

fn of_row(experiment: &Experiment, row: &CellRow) -> Result<CellResult, RunError> {
    let (of, is_done) = (&row.cell, row.state.is_kept());
    let folder = experiment.layout().run(experiment.folder(), of.number);
    let (standing, summary) = Standing::of(experiment, row)?;
    let within = folder.strip_prefix(experiment.folder()).unwrap_or(&folder);
    let run = (is_done && folder.exists()).then(|| within.display().to_string());
    let judged = judged(experiment.figures_of(of.number)?, (standing, summary.as_ref()));
    let judged = searched(judged, experiment.meta().kind, is_done);
    Ok(CellResult {
        id: of.number,
        factors: of.factors.clone(),
        replication: of.replication,
        block: of.block,
        world: of.world.name(),
        state: row.state.name(),
        reason: row.reason.clone(),
        run,
        ..judged
    })
}

/// The cell that a single run is.
pub(crate) fn of_run(run: &Run) -> Result<CellResult, RunError> {
    let meta = run.meta();
    let (standing, summary) = Standing::of_run(run)?;
    let mut figures = run.figures()?;
    if let (Some(summary), true) = (&summary, figures.is_empty()) {
        // A run that was killed has kept none of its own.
        figures = summary.figures().map(|(of, value)| FigureRow::new(of.name, value)).collect();
    }
    let ended = run.end().map(|end| &end.ended);
    Ok(CellResult {
        id: meta.cell.max(1),
        factors: meta.factors.clone(),
        world: meta.world.name(),
        state: match ended {
            Some(ended) if ended.is_whole() => state::DONE,
            Some(plimsoll_runs::Ended::Failed(_)) => state::FAILED,
            _ => state::STOPPED,
        },
        reason: ended.map_or("", |ended| ended.reason()).to_owned(),
        run: Some(".".to_owned()),
        ..judged(figures, (standing, summary.as_ref()))
    })
}

/// A cell with its figures and verdicts, and nothing else yet.
fn judged(
    figures: Vec<FigureRow>,
    (standing, summary): (Standing, Option<&Summary>),
) -> CellResult {
    let own = figures.iter().filter_map(|row| Some((row.name.clone(), [row.low?, row.high?])));
    let intervals = own.collect();
    let figures: BTreeMap<String, f64> =
        figures.into_iter().map(|row| (row.name, row.value)).collect();
    // A simulated replication tells whether its SLO held by a figure.
    let told = figures.get(figure::SLO_HELD.name).map(|held| *held > 0.5);
    let verdicts = summary.map_or(&[][..], |summary| &summary.slo);
    CellResult {
        valid: standing.valid,
        invalid_because: standing.because,
        gate: standing.gate.map(Gate::name),
        servers_ended: standing.ended,
        noise: standing.noise,
        limited: standing.limited,
        slo: told.or_else(|| all_held(verdicts.iter())),
        has_slo: told.is_some() || !verdicts.is_empty(),
        untold: untold(verdicts),
        intervals,
        figures,
        ..CellResult::default()
    }
}

/// A search finds the rate up to which its SLO holds. Where it found none, and every rate that it
/// tried broke the SLO, no rate holds it.
fn searched(of: CellResult, kind: Kind, is_done: bool) -> CellResult {
    if kind != Kind::Search || !is_done {
        return of;
    }
    let has = |figure: &Figure| of.figures.contains_key(figure.name);
    let slo = match (has(figure::ESTIMATE_PER_S), has(figure::BROKEN_PER_S)) {
        (true, _) => Some(true),
        (false, true) if !has(figure::HELD_PER_S) => Some(false),
        _ => None,
    };
    CellResult { slo, has_slo: true, ..of }
}

/// The first clause of which it cannot be told whether it held, and why.
fn untold(verdicts: &[SloVerdict]) -> String {
    let first = verdicts.iter().find(|of| of.told().is_none());
    first.map_or_else(String::new, |of| match &of.note {
        Some(note) => format!("{}: {note}", of.expr),
        None => of.expr.clone(),
    })
}
