//! Figures by name: a table a run.

use plimsoll_runs::NamedFigures;
use plimsoll_units as units;

use super::content::Content;
use crate::document::{Block, Cell, Grid, Section, words};
use plimsoll_draw::chart::unit::{micros, whole};

const DASH: &str = "–";

const MEANING: &str = "What the requests of each name have come to, of those that were due in the \
                       measured phase and have ended. A name is that of a line of the request \
                       list, or the pattern of the paths of a replay. Times are those of all \
                       that were answered or ran out of time.";

/// The section; `None` where no run has names.
pub(crate) fn section(content: &Content) -> Option<Section> {
    let mut blocks = vec![words(MEANING)];
    for view in content.views.iter().filter(|view| !view.summary.by_name.is_empty()) {
        if content.several() {
            blocks.push(Block::Heading(view.heading.clone()));
        }
        blocks.push(Block::Table(table(&view.summary.by_name)));
    }
    (blocks.len() > 1).then(|| Section::new("names", "By name", blocks))
}

fn table(all: &[NamedFigures]) -> Grid {
    let heads = [
        "name",
        "requests",
        "failed",
        "failures",
        "redirects",
        "received",
        "mean",
        "p50",
        "p90",
        "p99",
        "p99.9",
        "max",
        "service p50",
        "service p99",
    ];
    Grid {
        class: "percentiles",
        id: String::new(),
        heads: heads.map(Cell::of).into(),
        rows: all.iter().map(row).collect(),
    }
}

fn row(of: &NamedFigures) -> Vec<Cell> {
    let name = match of.names {
        Some(names) => format!("{} ({} names)", of.name, whole(names as f64)),
        None => of.name.clone(),
    };
    let failures = of.failures.iter().map(|(kind, n)| format!("{} {n}", kind.replace('_', " ")));
    let failures = failures.collect::<Vec<_>>().join(", ");
    let time = |value: Option<f64>| value.map_or_else(|| DASH.to_owned(), micros);
    let response = &of.response_us;
    let service = of.service_us.as_ref();
    let cells = [
        name,
        whole(of.count as f64),
        whole(of.errors as f64),
        if failures.is_empty() { DASH.to_owned() } else { failures },
        of.redirects.map_or_else(|| DASH.to_owned(), |count| whole(count as f64)),
        of.bytes_in.map_or_else(|| DASH.to_owned(), units::show_size),
        time(response.mean),
        time(response.p50),
        time(response.p90),
        time(response.p99),
        time(response.p999),
        time(response.max),
        time(service.and_then(|times| times.p50)),
        time(service.and_then(|times| times.p99)),
    ];
    cells.into_iter().map(Cell::of).collect()
}
