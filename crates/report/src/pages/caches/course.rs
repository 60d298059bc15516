//! The miss ratio over the trace, a chart a size: where the cache is cold, where it is steady, and
//! where what is asked for changes.

use plimsoll_runs::RunError;

use super::{capacity, sizes};
use crate::cells::{Cells, Row};
use crate::document::{Block, chart, nothing};
use crate::error::ReportError;
use crate::pages::lines::{Drawn, Lines, Place};
use crate::pages::tones::tone;
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::plot::Plot;
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
    let axis = Axis::Value { columns: 1, top: end, unit: Unit::Count };
    let first = courses.first();
    let title = first.map_or_else(String::new, |of| {
        let (size, capacity) = (of.row.level("size"), capacity(of.row));
        if size == capacity { capacity } else { format!("{size}: {capacity}") }
    });
    let part = |&(from, to, _): &(f64, f64, Option<f64>)| {
        Place::new((from, f64::midpoint(from, to), to), stretch(from, to))
    };
    let line = |(number, of): (usize, &&Course<'_>)| Drawn {
        name: of.row.level("policy").to_owned(),
        class: tone(number),
        values: of.parts.iter().map(|part| part.2).collect(),
    };
    let lines = Lines {
        heads: &["requests"],
        places: first.map_or_else(Vec::new, |of| of.parts.iter().map(part).collect()),
        all: courses.iter().enumerate().map(line).collect(),
        show: &|_, _, value| per_cent(value),
    };
    let mut plot = Plot {
        id: format!("course-{index}"),
        title,
        note: "Each point is of the requests since the one before.".to_owned(),
        measure: "miss ratio, over the number of requests".to_owned(),
        ..Plot::empty(axis, (0.0, end), scale, Unit::Share)
    };
    lines.put(&mut plot, format!("course-table-{index}"));
    plot
}

/// A stretch of a trace, by the number of requests.
pub(crate) fn stretch(from: f64, to: f64) -> String {
    format!("{} to {}", whole(from), whole(to))
}
