//! The miss ratio over the trace, a chart a size: where the cache is cold, where it is steady, and
//! where what is asked for changes.

use plimsoll_cache::capacity::Size;
use plimsoll_cache::simulate::Cell;

use super::capacity;
use crate::document::{Block, chart};
use crate::pages::tones::tone;
use crate::source::Caches;
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::plot::{Key, Line, Plot, Table, plain_heads};
use plimsoll_draw::chart::scale::Scale;
use plimsoll_draw::chart::unit::{Unit, per_cent, whole};

/// A chart a size, all with the same axes.
pub(super) fn block(caches: &Caches<'_>) -> Block {
    let ratios = caches.cells.iter().flat_map(|cell| &cell.course);
    let scale = Scale::linear(ratios.map(|(_, part)| part.miss_ratio()).fold(0.0, f64::max), 0.0);
    let of_size = |(index, size): (usize, &Size)| {
        let cells: Vec<&Cell> =
            caches.cells.iter().filter(|cell| cell.size == size.text()).collect();
        chart(draw(caches, &cells, scale, index))
    };
    Block::Charts(caches.comparison.sizes.iter().enumerate().map(of_size).collect())
}

fn draw(caches: &Caches<'_>, cells: &[&Cell], scale: Scale, index: usize) -> Plot {
    let end = caches.trace.len() as f64;
    let table = table(cells, index);
    let axis = Axis::Value { columns: 1, top: end, unit: Unit::Count };
    let first = cells.first();
    let title = first.map_or_else(String::new, |cell| {
        let capacity = capacity(cell);
        if cell.size == capacity { capacity } else { format!("{}: {capacity}", cell.size) }
    });
    let mut plot = Plot {
        id: format!("course-{index}"),
        title,
        note: "Each point is of the requests since the one before.".to_owned(),
        measure: "miss ratio, over the number of requests".to_owned(),
        rows: first.map_or_else(Vec::new, |cell| {
            let part = |&(from, part): &(usize, _)| stretch(from, &part);
            cell.course.iter().map(part).collect()
        }),
        ..Plot::empty(axis, (0.0, end), scale, Unit::Share)
    };
    for (number, cell) in cells.iter().enumerate() {
        let point = |&(from, part): &(usize, plimsoll_cache::simulate::Total)| {
            (stretch(from, &part).1, part.miss_ratio())
        };
        let class = tone(number);
        plot.keys.push(Key::Line(format!("line {class}"), cell.policy.clone()));
        plot.lines.push(Line { class, pieces: vec![cell.course.iter().map(point).collect()] });
    }
    plot.put(table);
    plot
}

/// Where a stretch begins, its middle, and where it ends.
fn stretch(from: usize, part: &plimsoll_cache::simulate::Total) -> (f64, f64, f64) {
    let (from, to) = (from as f64, from as f64 + part.requests as f64);
    (from, f64::midpoint(from, to), to)
}

fn table(cells: &[&Cell], index: usize) -> Table {
    let mut heads = plain_heads(["requests"]);
    heads.extend(cells.iter().enumerate().map(|(n, cell)| (cell.policy.clone(), tone(n))));
    let parts = cells.first().map_or(0, |cell| cell.course.len());
    let row = |part: usize| {
        let place = cells.first().map_or((0.0, 0.0, 0.0), |cell| {
            let (from, total) = cell.course[part];
            stretch(from, &total)
        });
        let mut row = vec![format!("{} to {}", whole(place.0), whole(place.2))];
        row.extend(cells.iter().map(|cell| per_cent(cell.course[part].1.miss_ratio())));
        row
    };
    Table::new(format!("course-table-{index}"), heads, (0..parts).map(row).collect())
}
