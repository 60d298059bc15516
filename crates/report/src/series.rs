//! Searches that an experiment repeats, as groups over time: the estimate of each with its bound
//! and its interval, and the gaps.

use plimsoll_capacity::compared::{By, Compared, Group, Grouped, Search, compare};
use plimsoll_capacity::result::CapacityResult;
use plimsoll_capacity::series::SeriesRun;
use plimsoll_runs::experiment::{CellRow, Experiment, State};
use plimsoll_runs::{RunError, iso8601};
use plimsoll_stats::figure;

use crate::cells::Cells;
use crate::figure_text;
use crate::searched::Searched;

/// How a search ended that found an estimate.
const FOUND: &str = "found";

/// The searches of an experiment, a group for each combination of levels.
pub(crate) fn compared(experiment: &Experiment, cells: &Cells) -> Result<Compared, RunError> {
    let group = |label: &str| Grouped {
        group: label.to_owned(),
        key: label.to_owned(),
        searches: Vec::new(),
        price_per_hour: None,
    };
    let mut groups: Vec<Grouped> = cells.rows.iter().map(|row| group(&row.label)).collect();
    for row in experiment.cells()? {
        let is_of = |(place, _): &(usize, &mut Grouped)| {
            let of = &cells.rows[*place].of;
            (&of.factors, of.block) == (&row.cell.factors, row.cell.block)
        };
        let Some(search) = search(experiment, &row)? else { continue };
        if let Some((_, group)) = groups.iter_mut().enumerate().find(is_of) {
            group.searches.push(Search {
                target: cells.subject.clone(),
                name: cells.name.clone(),
                slo: cells.slo.clone().unwrap_or_default(),
                run: search,
            });
        }
    }
    Ok(compare(By::Series, groups))
}

/// The capacity over the searches of a group that found one, in a sentence, and what is to be said
/// of it; nothing where none did. A search without an estimate is a gap: it stands in no mean.
pub(crate) fn answer(group: &Group) -> Vec<String> {
    let of = &group.summary;
    let Some(found) = &of.estimate_per_s else { return Vec::new() };
    let show = |value: f64| figure_text::text(figure::ESTIMATE_PER_S, value, "");
    let interval = found.mean_ci95.map_or_else(String::new, |(low, high)| {
        let within = (low.max(0.0), high);
        format!(" (95%: {})", figure_text::interval(within, show))
    });
    let searches = match (of.found, of.searches) {
        (1, 1) => "of one search".to_owned(),
        (n, all) if n == all => format!("the mean of {n} searches"),
        (n, all) => format!("the mean of those {n} of {all} searches that found one"),
    };
    let slo = group.slos.join("; ");
    let says = format!("Capacity under {slo}: {}{interval}, {searches}.", show(found.mean));
    std::iter::once(says).chain(of.warn_of_bounds()).collect()
}

/// A search that has ended, or was to be made; `None` where it is still to be.
fn search(experiment: &Experiment, row: &CellRow) -> Result<Option<SeriesRun>, RunError> {
    let CellRow { cell, state, reason, started_ns, .. } = row;
    let run = match state {
        State::Planned | State::Running => return Ok(None),
        State::Done | State::EndedEarly => experiment.run(cell.number)?,
        State::Failed | State::Stopped => None,
    };
    let result = run.as_ref().and_then(Searched::read).and_then(|searched| searched.result);
    let at_ns = experiment.meta().started_unix_ns.saturating_add(started_ns.unwrap_or(0));
    let found = |of: &&CapacityResult| of.ended == FOUND;
    let estimate = result.as_ref().filter(found);
    let why = if reason.is_empty() { None } else { Some(reason.clone()) };
    Ok(Some(SeriesRun {
        number: cell.number,
        run: run.map(|run| run.meta().id.clone()),
        started: iso8601(at_ns),
        started_unix_us: at_ns / 1000,
        late_s: 0.0,
        ended: result.as_ref().map_or(state.name(), |of| of.ended.as_str()).to_owned(),
        estimate_per_s: estimate.and_then(|of| of.estimate_per_s),
        bound: estimate.and_then(|of| of.bound),
        ci95: estimate.and_then(|of| of.ci95),
        why: why
            .or_else(|| result.as_ref().filter(|of| of.ended != FOUND)?.warnings.first().cloned()),
        restarted: false,
    }))
}
