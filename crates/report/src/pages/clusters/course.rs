//! The miss ratio over the trace: where the caches are cold, where they are full, and where what is
//! asked for changes.

use plimsoll_cache::cluster::Counts;

use super::ratio;
use super::shown::{Group, Shown};
use crate::document::{Block, nothing};
use crate::pages::caches::stretch;
use crate::pages::lines::{Drawn, Lines, Place};
use crate::pages::tones::TONES;
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::plot::{Key, Plot};
use plimsoll_draw::chart::scale::Scale;
use plimsoll_draw::chart::symbol::Symbol;
use plimsoll_draw::chart::unit::{Unit, per_cent};

/// A chart a group, all with the same axes.
pub(super) fn blocks(shown: &Shown<'_>) -> Vec<Block> {
    let ratios = shown.all.iter().flat_map(|(_, cell)| &cell.file.counts.course);
    let top = ratios.map(|&(requests, misses)| ratio(misses, requests)).fold(0.0, f64::max);
    let end = shown.about.requests as f64;
    if shown.all.is_empty() || end <= 0.0 {
        return vec![nothing("Nothing to draw: there is no request.")];
    }
    let scale = Scale::linear(top, 0.0);
    shown.by_group(|place, group| draw(shown, group, place, (scale, end)))
}

fn draw(shown: &Shown<'_>, group: &Group, place: usize, (scale, end): (Scale, f64)) -> Plot {
    let first = group.all.first().map(|&number| stretches(shown.counts(number)));
    let parts = first.unwrap_or_default().into_iter();
    let line = |&number: &usize| Drawn {
        name: shown.name(number),
        class: group.tone(number),
        values: shown.counts(number).course.iter().map(misses).collect(),
    };
    let lines = Lines {
        heads: &["requests"],
        places: parts.map(|at| Place::new(at, stretch(at.0, at.2))).collect(),
        all: group.all.iter().map(line).collect(),
        show: &|_, _, value| per_cent(value),
    };
    let axis = Axis::Value { columns: 1, top: end, unit: Unit::Count };
    let mut plot = Plot {
        id: format!("course-{place}"),
        title: super::of_label("Miss ratio over the trace", &group.label),
        note: format!(
            "Each point is of the requests since the one before.{}",
            group.note("the table")
        ),
        measure: "miss ratio, over the number of requests".to_owned(),
        ..Plot::empty(axis, (0.0, end), scale, Unit::Share)
    };
    lines.put(&mut plot, format!("course-table-{place}"));
    let drawn = lines.all.iter().zip(&group.all).filter(|(line, _)| !line.class.is_empty());
    for (number, (line, &cluster)) in drawn.enumerate() {
        let Some(full) = shown.counts(cluster).full else { continue };
        let at = full.request as f64 + 1.0;
        let height = level(&lines.points(line), at);
        plot.symbols.push((Symbol::Triangle, TONES[number % TONES.len()], (at, height)));
    }
    if !plot.symbols.is_empty() {
        plot.keys.push(Key::Symbol(Symbol::Triangle, "c7", "its last spool has become full"));
    }
    plot
}

/// The miss ratio of a part; none where nothing was asked for.
fn misses(&(requests, misses): &(u64, u64)) -> Option<f64> {
    (requests > 0).then(|| ratio(misses, requests))
}

/// Where each part of a course begins, its middle, and where it ends, in requests.
pub(super) fn stretches(counts: &Counts) -> Vec<(f64, f64, f64)> {
    let mut from = 0;
    let stretch = |&(requests, _): &(u64, u64)| {
        let (start, end) = (from as f64, (from + requests) as f64);
        from += requests;
        (start, f64::midpoint(start, end), end)
    };
    counts.course.iter().map(stretch).collect()
}

/// The height of a line at a place: between the points beside it.
pub(super) fn level(points: &[(f64, f64)], at: f64) -> f64 {
    let next = points.partition_point(|point| point.0 < at);
    match (next.checked_sub(1).map(|before| points[before]), points.get(next)) {
        (Some((x1, y1)), Some(&(x2, y2))) => y1 + (y2 - y1) * (at - x1) / (x2 - x1),
        (Some((_, y)), None) | (None, Some(&(_, y))) => y,
        (None, None) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_course_goes_by_requests_and_a_place_has_the_level_of_its_line() {
        let counts = Counts { course: vec![(10, 10), (0, 0), (20, 5)], ..Counts::default() };
        assert_eq!(stretches(&counts), [(0.0, 5.0, 10.0), (10.0, 10.0, 10.0), (10.0, 20.0, 30.0)]);
        let values: Vec<_> = counts.course.iter().map(misses).collect();
        assert_eq!(values, [Some(1.0), None, Some(0.25)]);
        let points = [(5.0, 1.0), (20.0, 0.25)];
        let levels = |places: [f64; 3]| -> Vec<f64> {
            places.into_iter().map(|at| level(&points, at)).collect()
        };
        assert_eq!(levels([2.0, 12.5, 30.0]), vec![1.0, 0.625, 0.25]);
    }
}
