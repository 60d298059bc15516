//! The cells of an experiment, or the one cell that a single run is, with their verdicts.

use std::collections::BTreeMap;

use plimsoll_runs::experiment::{CellRow, Experiment, FAILED, State};
use plimsoll_runs::summary::{SloVerdict, Summary};
use plimsoll_runs::{FigureRow, Kind, Run, RunError};
use plimsoll_stats::figure::{self, Figure};
use plimsoll_stats::slo::NOT_RESOLVABLE;

use crate::document::{CellResult, state};

/// The cells of an experiment, by their numbers.
pub(crate) fn of_experiment(experiment: &Experiment) -> Result<Vec<CellResult>, RunError> {
    let mut failures: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for (cell, event) in experiment.events()? {
        if let Some(cell) = cell.filter(|_| event.kind == FAILED) {
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
    let is_load = experiment.meta().kind == Kind::Load;
    // Only a load's run says more of a cell than the journal does.
    let summary = match is_done && is_load {
        true => experiment.run(of.number)?.map(|run| run.summary()).transpose()?,
        false => None,
    };
    let within = folder.strip_prefix(experiment.folder()).unwrap_or(&folder);
    let run = (is_done && folder.exists()).then(|| within.display().to_string());
    let judged = judged(experiment.figures_of(of.number)?, summary.as_ref());
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
        // What was ended early was lost already.
        gate: if row.state == State::EndedEarly { Some("broken") } else { judged.gate },
        ..judged
    })
}

/// The cell that a single run is.
pub(crate) fn of_run(run: &Run) -> Result<CellResult, RunError> {
    let meta = run.meta();
    let summary = (meta.kind == Kind::Load).then(|| run.summary()).transpose()?;
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
        ..judged(figures, summary.as_ref())
    })
}

/// A cell with its figures and verdicts, and nothing else yet.
fn judged(figures: Vec<FigureRow>, summary: Option<&Summary>) -> CellResult {
    let own = figures.iter().filter_map(|row| Some((row.name.clone(), [row.low?, row.high?])));
    let intervals = own.collect();
    let figures: BTreeMap<String, f64> =
        figures.into_iter().map(|row| (row.name, row.value)).collect();
    // A simulated replication tells whether its SLO held by a figure.
    let told = figures.get(figure::SLO_HELD.name).map(|held| *held > 0.5);
    let verdicts = summary.map_or(&[][..], |summary| &summary.slo);
    CellResult {
        valid: summary.map(|summary| summary.run.valid),
        gate: gate(verdicts),
        slo: told.or_else(|| all_of(verdicts.iter())),
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

/// Whether the clauses of availability held.
fn gate(verdicts: &[SloVerdict]) -> Option<&'static str> {
    let mut clauses = verdicts.iter().filter(|of| of.expr.starts_with("availability")).peekable();
    clauses.peek()?;
    Some(match all_of(clauses) {
        Some(true) => "held",
        Some(false) => "broken",
        None => "not_resolvable",
    })
}

/// Whether a clause held; `None` where it cannot be told, as of an availability to three digits in
/// ten seconds.
fn pass(of: &SloVerdict) -> Option<bool> {
    let is_resolvable = of.note.as_ref().is_none_or(|note| !note.starts_with(NOT_RESOLVABLE));
    of.pass.filter(|_| is_resolvable)
}

/// The first clause of which it cannot be told whether it held, and why.
fn untold(verdicts: &[SloVerdict]) -> String {
    let first = verdicts.iter().find(|of| pass(of).is_none());
    first.map_or_else(String::new, |of| match &of.note {
        Some(note) => format!("{}: {note}", of.expr),
        None => of.expr.clone(),
    })
}

/// Whether all held; `None` where there are none, or where it hangs on one that cannot be told.
fn all_of<'a>(verdicts: impl Iterator<Item = &'a SloVerdict>) -> Option<bool> {
    let passes: Vec<Option<bool>> = verdicts.map(pass).collect();
    match () {
        () if passes.contains(&Some(false)) => Some(false),
        () if passes.is_empty() || passes.contains(&None) => None,
        () => Some(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_is_of_availability_alone() {
        let of = |expr: &str, pass: Option<bool>| SloVerdict {
            expr: expr.to_owned(),
            value: None,
            pass,
            note: None,
        };
        assert_eq!(gate(&[of("p99<1s", Some(false))]), None);
        let verdicts = [of("p99<1s", Some(false)), of("availability>=99%", Some(true))];
        assert_eq!((gate(&verdicts), all_of(verdicts.iter())), (Some("held"), Some(false)));
        assert_eq!(gate(&[of("availability>=99%", None)]), Some("not_resolvable"));
        let note = Some(format!("{NOT_RESOLVABLE}: one second of 10 is more than it allows"));
        let short = SloVerdict { note, ..of("availability>=99.9%", Some(false)) };
        assert_eq!(gate(&[short]), Some("not_resolvable"));
    }
}
