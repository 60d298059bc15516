//! The miss ratio over the trace, a chart a size: where the cache is cold, where it is steady, and
//! where what is asked for changes.

use plimsoll_runs::RunError;

use super::{capacity, sizes};
use crate::cells::{Cells, Row};
use crate::document::{Block, chart, nothing};
use crate::error::ReportError;
use crate::pages::tones::tone;
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::plot::{Key, Line, Plot, Table, plain_heads};
use plimsoll_draw::chart::scale::Scale;
use plimsoll_draw::chart::unit::{Unit, per_cent, whole};

/// The course of a row: for each part of the trace where it begins and ends, in requests, and its
/// miss ratio.
struct Course<'a> {
    row: &'a Row,
    parts: Vec<(f64, f64, Option<f64>)>,
}

/// A chart a size, all with the same axes; `end` is how many requests there are.
pub(super) fn block(cells: &Cells, end: f64) -> Result<Block, ReportError> {
    let mut courses = Vec::new();
    for row in &cells.rows {
        let Some(run) = &row.run else { continue };
        let read = || -> Result<_, RunError> {
            Ok((run.series("cache_requests")?, run.series("cache_miss_ratio")?))
        };
        let (requests, ratios) = read().map_err(ReportError::of(run))?;
        let mut from = 0.0;
        let part = |(count, ratio): (plimsoll_runs::SeriesRow, plimsoll_runs::SeriesRow)| {
            let start = from;
            from += count.value.unwrap_or(0.0);
            (start, from, ratio.value)
        };
        let parts = requests.into_iter().zip(ratios).map(part).collect();
        courses.push(Course { row, parts });
    }
    let ratios = courses.iter().flat_map(|of| &of.parts).filter_map(|part| part.2);
    let scale = Scale::linear(ratios.fold(0.0, f64::max), 0.0);
    let of_size = |(index, size): (usize, &str)| {
        let of: Vec<&Course<'_>> =
            courses.iter().filter(|of| of.row.level("size") == size).collect();
        (!of.is_empty()).then(|| chart(draw(&of, (scale, end), index)))
    };
    let charts: Vec<_> = sizes(cells).into_iter().enumerate().filter_map(of_size).collect();
    if charts.is_empty() || end <= 0.0 {
        return Ok(nothing("Nothing to draw: no cell kept its course; --keep-cells keeps all."));
    }
    Ok(Block::Charts(charts))
}

fn draw(courses: &[&Course<'_>], (scale, end): (Scale, f64), index: usize) -> Plot {
    let table = table(courses, index);
    let axis = Axis::Value { columns: 1, top: end, unit: Unit::Count };
    let first = courses.first();
    let title = first.map_or_else(String::new, |of| {
        let (size, capacity) = (of.row.level("size"), capacity(of.row));
        if size == capacity { capacity } else { format!("{size}: {capacity}") }
    });
    let place = |&(from, to, _): &(f64, f64, Option<f64>)| (from, f64::midpoint(from, to), to);
    let mut plot = Plot {
        id: format!("course-{index}"),
        title,
        note: "Each point is of the requests since the one before.".to_owned(),
        measure: "miss ratio, over the number of requests".to_owned(),
        rows: first.map_or_else(Vec::new, |of| of.parts.iter().map(place).collect()),
        ..Plot::empty(axis, (0.0, end), scale, Unit::Share)
    };
    for (number, of) in courses.iter().enumerate() {
        let class = tone(number);
        let point = |part: &(f64, f64, Option<f64>)| Some((place(part).1, part.2?));
        plot.keys.push(Key::Line(format!("line {class}"), of.row.level("policy").to_owned()));
        plot.lines.push(Line { class, pieces: vec![of.parts.iter().filter_map(point).collect()] });
    }
    plot.put(table);
    plot
}

fn table(courses: &[&Course<'_>], index: usize) -> Table {
    let mut heads = plain_heads(["requests"]);
    let name = |of: &Course<'_>| of.row.level("policy").to_owned();
    heads.extend(courses.iter().enumerate().map(|(n, of)| (name(of), tone(n))));
    let parts = courses.first().map_or(&[][..], |of| &of.parts);
    let row = |(part, (from, to, _)): (usize, &(f64, f64, Option<f64>))| {
        let ratio = |of: &&Course<'_>| of.parts.get(part).and_then(|part| part.2);
        let cells = courses.iter().map(|of| ratio(of).map_or_else(|| "–".to_owned(), per_cent));
        let name = format!("{} to {}", whole(*from), whole(*to));
        std::iter::once(name).chain(cells).collect()
    };
    Table::new(format!("course-table-{index}"), heads, parts.iter().enumerate().map(row).collect())
}
