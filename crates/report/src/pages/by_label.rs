//! Figures by label: a table a run.

use plimsoll_runs::LabelFigures;
use plimsoll_units as units;

use super::content::Content;
use crate::document::{Block, Cell, Grid, Section, words};
use plimsoll_draw::chart::unit::{micros, whole};

const DASH: &str = "–";

const MEANING: &str = "What came of the users of each label, which their scenario gives them as \
                       they arrive. Requests are those that were due in the measured phase and \
                       have ended; users are of the whole run.";

/// The section; `None` where no run has labels.
pub(crate) fn section(content: &Content) -> Option<Section> {
    let mut blocks = vec![words(MEANING)];
    for view in content.views.iter().filter(|view| !view.summary.by_label.is_empty()) {
        if content.several() {
            blocks.push(Block::Heading(view.heading.clone()));
        }
        blocks.push(Block::Table(table(&view.summary.by_label)));
    }
    (blocks.len() > 1).then(|| Section::new("labels", "By label", blocks))
}

fn table(all: &[LabelFigures]) -> Grid {
    let heads = [
        "label",
        "users",
        "requests",
        "failed",
        "failures",
        "received",
        "mean",
        "p50",
        "p90",
        "p99",
        "max",
        "service p50",
        "service p99",
        "broadcast p50",
        "broadcast p99",
    ];
    Grid {
        class: "percentiles",
        id: String::new(),
        heads: heads.map(Cell::of).into(),
        rows: all.iter().map(row).collect(),
    }
}

fn row(of: &LabelFigures) -> Vec<Cell> {
    let label = match of.labels {
        Some(labels) => format!("{} ({} labels)", of.label, whole(labels as f64)),
        None => of.label.clone(),
    };
    let failures = of.failures.iter().map(|(kind, n)| format!("{} {n}", kind.replace('_', " ")));
    let failures = failures.collect::<Vec<_>>().join(", ");
    let time = |value: Option<f64>| value.map_or_else(|| DASH.to_owned(), micros);
    let (response, latency) = (&of.response_us, of.latency_us.as_ref());
    let cells = [
        label,
        whole(of.users as f64),
        whole(of.count as f64),
        whole(of.errors as f64),
        if failures.is_empty() { DASH.to_owned() } else { failures },
        units::show_size(of.bytes_in),
        time(response.mean),
        time(response.p50),
        time(response.p90),
        time(response.p99),
        time(response.max),
        time(of.service_us.p50),
        time(of.service_us.p99),
        time(latency.and_then(|times| times.p50)),
        time(latency.and_then(|times| times.p99)),
    ];
    cells.into_iter().map(Cell::of).collect()
}
