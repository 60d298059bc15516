//! Every cell as a row: its ratios, what it evicted, what it costs; the best of a size stands out.

use plimsoll_cache::simulate::Cell;

use super::capacity;
use crate::Caches;
use crate::chart::unit::{per_cent, significant, whole};
use crate::markup::Markup;

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
            });
        });
    });
    let note = "The lowest miss ratio of each size is marked. Memory is that of the simulated \
                policy's state, for an object inside.";
    m.leaf("p", &[("class", &"note after")], note);
}

fn columns(caches: &Caches<'_>) -> Vec<Column> {
    let sized = caches.trace.sizes().is_some();
    let mut columns: Vec<Column> = vec![
        ("capacity", capacity),
        ("miss ratio", |cell| per_cent(cell.all.miss_ratio())),
    ];
    if sized {
        columns.push(("byte miss ratio", |cell| per_cent(cell.all.byte_miss_ratio())));
    }
    if caches.comparison.skip > 0 {
        columns.push(("after the skipped", |cell| per_cent(cell.after_skip.miss_ratio())));
        if sized {
            columns.push(("of bytes", |cell| per_cent(cell.after_skip.byte_miss_ratio())));
        }
    }
    columns.push(("misses", |cell| whole(cell.all.misses as f64)));
    columns.push(("evictions", |cell| whole(cell.evictions as f64)));
    columns.push(("memory an object", |cell| {
        // What came in and did not leave; what was refused never came in.
        let inside = cell.all.misses.saturating_sub(cell.evictions).max(1);
        format!("{} B", significant(cell.memory_bytes as f64 / inside as f64))
    }));
    columns.push(("replayed", |cell| {
        let rate = cell.all.requests as f64 / cell.cpu_s.max(1e-9);
        format!("{} million/s", significant(rate / 1e6))
    }));
    columns
}

fn write_row(m: &mut Markup, caches: &Caches<'_>, cell: &Cell, columns: &[Column]) {
    let same_size = caches.cells.iter().filter(|other| other.size == cell.size);
    let fewest = same_size.map(|other| other.all.misses).min().unwrap_or(0);
    let best = caches.comparison.policies.len() > 1 && cell.all.misses == fewest;
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
