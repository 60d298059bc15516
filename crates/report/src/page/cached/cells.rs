//! Every cell as a row: its ratios, what it evicted, what it costs; the best of a size stands out.

use plimsoll_cache::bound::Bound;
use plimsoll_cache::simulate::Cell;
use plimsoll_stats::figure::{self, Figure};

use super::capacity;
use crate::Caches;
use crate::figure_text;
use plimsoll_draw::Markup;
use plimsoll_draw::chart::unit::{per_cent, significant};

/// A column: its head, and what stands in it.
type Column = (&'static str, fn(&Cell) -> String);

/// Writes the table.
pub(super) fn write(m: &mut Markup, caches: &Caches<'_>) {
    let columns = columns(caches);
    m.tag("div", &[("class", &"scroll"), ("tabindex", &"0")], |m| {
        m.tag("table", &[("class", &"percentiles")], |m| {
            m.tag("thead", &[], |m| {
                m.tag("tr", &[], |m| {
                    for head in ["policy", "size"].into_iter().chain(columns.iter().map(|c| c.0)) {
                        m.leaf("th", &[("scope", &"col")], head);
                    }
                });
            });
            m.tag("tbody", &[], |m| {
                for cell in caches.cells {
                    write_row(m, caches, cell, &columns);
                }
                for bound in caches.bounds {
                    write_bound(m, caches, bound, columns.len());
                }
            });
        });
    });
    let note = "The lowest miss ratio of each size is marked, among policies that do not know the \
                future. State is the memory of the simulated policy: it grows with the objects of \
                the trace.";
    m.leaf("p", &[("class", &"note after")], note);
}

fn text(of: &Cell, figure: &Figure) -> String {
    figure_text::text(figure, of.value(figure).unwrap_or(f64::NAN), "")
}

fn columns(caches: &Caches<'_>) -> Vec<Column> {
    let sized = caches.trace.sizes().is_some();
    let mut columns: Vec<Column> = vec![
        ("capacity", capacity),
        (figure::MISS_RATIO.label, |cell| text(cell, figure::MISS_RATIO)),
    ];
    if sized {
        let bytes = figure::BYTE_MISS_RATIO.label;
        columns.push((bytes, |cell| text(cell, figure::BYTE_MISS_RATIO)));
    }
    if caches.comparison.skip > 0 {
        columns.push(("after the skipped", |cell| per_cent(cell.after_skip.miss_ratio())));
        if sized {
            columns.push(("of bytes", |cell| per_cent(cell.after_skip.byte_miss_ratio())));
        }
    }
    columns.push((figure::MISSES.label, |cell| text(cell, figure::MISSES)));
    columns.push((figure::EVICTIONS.label, |cell| text(cell, figure::EVICTIONS)));
    columns.push(("state", |cell| plimsoll_units::show_size(cell.memory_bytes as u64)));
    columns.push(("replayed", |cell| {
        let rate = cell.all.requests as f64 / cell.cpu_s.max(1e-9);
        format!("{} million/s", significant(rate / 1e6))
    }));
    columns
}

fn write_row(m: &mut Markup, caches: &Caches<'_>, cell: &Cell, columns: &[Column]) {
    let same_size = caches.cells.iter().filter(|other| other.size == cell.size);
    let rivals = same_size.filter(|other| !knows_future(caches, other));
    let fewest = rivals.map(|other| other.all.misses).min().unwrap_or(0);
    let several = caches.comparison.policies.len() > 1;
    let best = several && !knows_future(caches, cell) && cell.all.misses == fewest;
    m.tag("tr", &[], |m| {
        m.tag("th", &[("scope", &"row")], |m| {
            m.text(&cell.policy);
            if best {
                m.text(" ");
                m.leaf("span", &[("class", &"chip good")], "lowest");
            }
        });
        m.leaf("td", &[], &cell.size);
        for (_, show) in columns {
            m.leaf("td", &[], show(cell));
        }
    });
}

/// Whether the policy of a cell is told what comes: it shows what could be, and is none to choose.
fn knows_future(caches: &Caches<'_>, cell: &Cell) -> bool {
    let policies = &caches.comparison.policies;
    policies.iter().any(|policy| policy.text == cell.policy && policy.kind.needs.next)
}

/// What no policy undercuts at a size; `columns` follow policy and size.
fn write_bound(m: &mut Markup, caches: &Caches<'_>, bound: &Bound, columns: usize) {
    let Some(of) = caches.cells.iter().find(|cell| cell.capacity == bound.capacity) else { return };
    let mut cells = vec![capacity(of), per_cent(ratio(bound.misses, of.all.requests))];
    if caches.trace.sizes().is_some() {
        let missed = bound.missed_bytes.unwrap_or(0);
        cells.push(per_cent(ratio(missed, of.all.requested_bytes)));
    }
    cells.resize(columns, "–".to_owned());
    m.tag("tr", &[], |m| {
        m.leaf("th", &[("scope", &"row")], "no policy is below");
        m.leaf("td", &[], &of.size);
        for cell in cells {
            m.leaf("td", &[], cell);
        }
    });
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
