//! The slowest requests that servers were asked to record: a table a run.

use plimsoll_runs::SlowTraceFigures;
use plimsoll_units::show_duration;

use super::content::Content;
use crate::document::{Block, Cell, Grid, Section, words};
use plimsoll_draw::chart::unit::micros;

const DASH: &str = "–";

const MEANING: &str = "The slowest of the requests whose traces servers were asked to record, of \
                       those that were due in the measured phase. By its trace id each is found \
                       where the servers report to.";

/// The section; `None` where no run has such requests.
pub(crate) fn section(content: &Content) -> Option<Section> {
    let mut blocks = vec![words(MEANING)];
    for view in content.views.iter().filter(|view| !view.summary.slowest_traces.is_empty()) {
        if content.several() {
            blocks.push(Block::Heading(view.heading.clone()));
        }
        blocks.push(Block::Table(table(&view.summary.slowest_traces)));
    }
    (blocks.len() > 1).then(|| Section::new("traces", "Slowest traces", blocks))
}

fn table(all: &[SlowTraceFigures]) -> Grid {
    let heads = ["trace", "response", "due", "status", "failure", "name"];
    Grid {
        class: "percentiles",
        id: String::new(),
        heads: heads.map(Cell::of).into(),
        rows: all.iter().map(row).collect(),
    }
}

fn row(of: &SlowTraceFigures) -> Vec<Cell> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a time since the beginning"
    )]
    let due_ns = (of.due_s * 1e9).round() as u64;
    let dash = || DASH.to_owned();
    let cells = [
        of.trace_id.clone(),
        micros(of.response_us),
        show_duration(due_ns),
        of.status.map_or_else(dash, |status| status.to_string()),
        of.error.as_ref().map_or_else(dash, |kind| kind.replace('_', " ")),
        of.name.clone().unwrap_or_else(dash),
    ];
    cells.into_iter().map(Cell::of).collect()
}
