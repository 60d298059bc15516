//! All figures of the groups as a table, with what a request costs.

use plimsoll_capacity::compared::{Compared, Group};
use plimsoll_stats::{Described, figure};

use crate::document::{Block, Cell, Column, Table, note};
use crate::figure_text;
use plimsoll_draw::chart::unit::{per_cent, significant};

const DASH: &str = "–";

/// What of a group's estimates a column shows.
type OfEstimates = fn(&Described) -> String;

/// The columns of the estimates.
const ESTIMATES: [(&str, OfEstimates); 9] = [
    ("median", |of| rate(of.spread.median)),
    ("95%", |of| interval(of.median_ci95)),
    ("mean", |of| rate(of.mean)),
    ("95%", |of| interval(of.mean_ci95)),
    ("CV", |of| of.cv.map_or_else(|| DASH.to_owned(), per_cent)),
    ("min", |of| rate(of.spread.min)),
    ("quartile", |of| rate(of.spread.q1)),
    ("quartile", |of| rate(of.spread.q3)),
    ("max", |of| rate(of.spread.max)),
];

fn rate(value: f64) -> String {
    figure_text::text(figure::ESTIMATE_PER_S, value, "")
}

fn interval(of: Option<(f64, f64)>) -> String {
    let show = |(low, high)| format!("{} to {}", significant(low), significant(high));
    of.map_or_else(|| DASH.to_owned(), show)
}

/// The table, and a note where groups have a price.
pub(super) fn blocks(compared: &Compared) -> Vec<Block> {
    let groups: Vec<&Group> = compared.groups.iter().collect();
    let mut columns: Vec<Column<'_, &Group>> = vec![
        Column::plain(&compared.by, |of: &&Group| name(of)),
        Column::plain("n", |of: &&Group| number(of)),
    ];
    columns.extend(ESTIMATES.map(|(head, show)| {
        Column::plain(head, move |of: &&Group| {
            let described = of.summary.estimate_per_s.as_ref();
            Cell::of(described.map_or_else(|| DASH.to_owned(), show))
        })
    }));
    columns.push(Column::plain("z-score", |of: &&Group| {
        let score = of.score.map_or_else(|| DASH.to_owned(), |score| format!("{score:.2}"));
        Cell::of(score.replace('-', "−"))
    }));
    let priced = compared.groups.iter().any(|group| group.cost().is_some());
    if priced {
        columns.extend(costs());
    }
    let table = Table { class: "percentiles", id: String::new(), currency: "", columns };
    let mut blocks = vec![Block::Table(table.of(&groups))];
    if priced {
        blocks.push(note(
            "The cost of a request is the price per hour over the requests of an hour at the \
             median estimate.",
        ));
    }
    blocks
}

fn name(of: &Group) -> Cell {
    let cell = Cell::of(&of.group);
    if of.is_poor() { cell.judged("poor", "unusually poor") } else { cell }
}

fn number(of: &Group) -> Cell {
    let gaps = of.summary.searches - of.summary.found;
    let gaps = if gaps == 0 { String::new() } else { format!(" of {}", of.summary.searches) };
    let bounds = match of.summary.bounds {
        0 => String::new(),
        1 => ", 1 a bound".to_owned(),
        bounds => format!(", {bounds} bounds"),
    };
    Cell::of(format_args!("{}{gaps}{bounds}", of.summary.found))
}

fn costs<'a>() -> [Column<'a, &'a Group>; 3] {
    [
        Column::plain("price an hour", |of: &&Group| {
            of.cost().map_or_else(|| Cell::of(DASH), |cost| Cell::of(cost.price_per_hour))
        }),
        Column::plain("a request", |of: &&Group| {
            of.cost().map_or_else(|| Cell::of(DASH), |cost| Cell::of(cost.show_per_request()))
        }),
        Column::plain("a million", |of: &&Group| {
            of.cost().map_or_else(|| Cell::of(DASH), |cost| Cell::of(cost.show_per_million()))
        }),
    ]
}
