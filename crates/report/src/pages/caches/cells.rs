//! Every cell as a row: its ratios, what it evicted, what it costs; the best of a size stands out.

use plimsoll_cache::bound::Bound;
use plimsoll_cache::simulate::Cell;
use plimsoll_stats::figure::{self, Figure};

use super::capacity;
use crate::document::{self, Block, Column, Table, note};
use crate::figure_text::DASH;
use crate::source::Caches;
use plimsoll_draw::chart::unit::{per_cent, significant};

/// A row of the table: a policy at a size, or what no policy undercuts at one.
enum Row<'a> {
    Cell(&'a Cell),
    Bound(&'a Bound, &'a Cell),
}

/// The table of every policy at every size.
pub(super) fn blocks(caches: &Caches<'_>) -> Vec<Block> {
    let mut rows: Vec<Row<'_>> = caches.cells.iter().map(Row::Cell).collect();
    for bound in caches.bounds {
        let of = caches.cells.iter().find(|cell| cell.capacity == bound.capacity);
        rows.extend(of.map(|cell| Row::Bound(bound, cell)));
    }
    let columns = columns(caches);
    let table = Table { class: "percentiles", id: String::new(), currency: "", columns };
    vec![
        Block::Table(table.of(&rows)),
        note(
            "The lowest miss ratio of each size is marked, among policies that do not know the \
             future. State is the memory of the simulated policy: it grows with the objects of \
             the trace.",
        ),
    ]
}

impl Row<'_> {
    /// The cell of a policy, or of whose size the bound is.
    fn cell(&self) -> &Cell {
        match self {
            Self::Cell(cell) | Self::Bound(_, cell) => cell,
        }
    }

    fn value(&self, figure: &Figure) -> Option<f64> {
        match self {
            Self::Cell(cell) => cell.value(figure),
            Self::Bound(bound, of) if figure.name == figure::MISS_RATIO.name => {
                Some(ratio(bound.misses, of.all.requests))
            }
            Self::Bound(bound, of) if figure.name == figure::BYTE_MISS_RATIO.name => {
                Some(ratio(bound.missed_bytes.unwrap_or(0), of.all.requested_bytes))
            }
            Self::Bound(..) => None,
        }
    }
}

fn columns<'a>(caches: &'a Caches<'a>) -> Vec<Column<'a, Row<'a>>> {
    let of = |figure: &'static Figure| Column::figure(figure, |row: &Row<'_>| row.value(figure));
    // What is told of a policy, and not of a bound.
    let told = |head: &'static str, show: fn(&Cell) -> String| {
        Column::plain(head, move |row: &Row<'_>| match row {
            Row::Cell(cell) => document::Cell::of(show(cell)),
            Row::Bound(..) => document::Cell::of(DASH),
        })
    };
    let sized = caches.trace.sizes().is_some();
    let mut columns: Vec<Column<'_, Row<'_>>> = vec![
        Column::plain("policy", |row: &Row<'_>| name(caches, row)),
        Column::plain("size", |row: &Row<'_>| document::Cell::of(&row.cell().size)),
        Column::plain("capacity", |row: &Row<'_>| document::Cell::of(capacity(row.cell()))),
        of(figure::MISS_RATIO),
    ];
    if sized {
        columns.push(of(figure::BYTE_MISS_RATIO));
    }
    if caches.comparison.skip > 0 {
        columns.push(told("after the skipped", |cell| per_cent(cell.after_skip.miss_ratio())));
        if sized {
            columns.push(told("of bytes", |cell| per_cent(cell.after_skip.byte_miss_ratio())));
        }
    }
    columns.extend([of(figure::MISSES), of(figure::EVICTIONS)]);
    columns.push(told("state", |cell| plimsoll_units::show_size(cell.memory_bytes as u64)));
    columns.push(told("replayed", |cell| {
        let rate = cell.all.requests as f64 / cell.cpu_s.max(1e-9);
        format!("{} million/s", significant(rate / 1e6))
    }));
    columns
}

fn name(caches: &Caches<'_>, row: &Row<'_>) -> document::Cell {
    let Row::Cell(cell) = row else { return document::Cell::of("no policy is below") };
    let of = document::Cell::of(&cell.policy);
    let several = caches.comparison.policies.len() > 1;
    if several && best_of(caches, &cell.size).is_some_and(|best| is_as_good(caches, cell, best)) {
        return of.judged("good", "lowest");
    }
    of
}

fn is_as_good(caches: &Caches<'_>, cell: &Cell, best: &Cell) -> bool {
    !knows_future(caches, cell) && cell.all.misses == best.all.misses
}

/// The policies with as few misses as the best at its size.
pub(super) fn as_good<'a>(caches: &Caches<'a>, best: &Cell) -> Vec<&'a str> {
    let of_size = caches.cells.iter().filter(|cell| cell.size == best.size);
    let equal = of_size.filter(|cell| is_as_good(caches, cell, best));
    equal.map(|cell| cell.policy.as_str()).collect()
}

/// The policy with the fewest misses at a size, of those that do not know the future.
pub(super) fn best_of<'a>(caches: &Caches<'a>, size: &str) -> Option<&'a Cell> {
    let rivals = caches.cells.iter().filter(|cell| cell.size == size);
    rivals.filter(|cell| !knows_future(caches, cell)).min_by_key(|cell| cell.all.misses)
}

/// Whether the policy of a cell is told what comes: it shows what could be, and is none to choose.
fn knows_future(caches: &Caches<'_>, cell: &Cell) -> bool {
    let policies = &caches.comparison.policies;
    policies.iter().any(|policy| policy.text == cell.policy && policy.kind.needs.next)
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
