//! The miss ratio over the trace: where the caches are cold, where they are full, and where what is
//! asked for changes.

use plimsoll_cache::cluster::Counts;

use super::ratio;
use super::shown::{Group, Shown};
use crate::document::{Block, nothing};
use crate::pages::tones::TONES;
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::plot::{Key, Line, Plot, Table, plain_heads};
use plimsoll_draw::chart::scale::Scale;
use plimsoll_draw::chart::symbol::Symbol;
use plimsoll_draw::chart::unit::{Unit, per_cent, whole};

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
    let table = table(shown, group, place);
    let lines: Vec<&Counts> = group.lines.iter().map(|&number| shown.counts(number)).collect();
    let column = |number: &usize| group.all.iter().position(|other| other == number);
    let mut plot = Plot {
        id: format!("course-{place}"),
        title: super::of_label("Miss ratio over the trace", &group.label),
        note: format!(
            "Each point is of the requests since the one before.{}",
            group.note("the table")
        ),
        measure: "miss ratio, over the number of requests".to_owned(),
        readout: (
            table.id.clone(),
            group.lines.iter().filter_map(column).map(|column| column + 1).collect(),
        ),
        rows: lines.first().map_or_else(Vec::new, |counts| stretches(counts)),
        ..Plot::empty(
            Axis::Value { columns: 1, top: end, unit: Unit::Count },
            (0.0, end),
            scale,
            Unit::Share,
        )
    };
    for (line, counts) in lines.iter().enumerate() {
        let class = group.tone(group.lines[line]);
        let points: Vec<(f64, f64)> = points(counts);
        plot.keys.push(Key::Line(format!("line {class}"), shown.name(group.lines[line])));
        if let Some(full) = counts.full {
            let at = full.request as f64 + 1.0;
            plot.symbols.push((
                Symbol::Triangle,
                TONES[line % TONES.len()],
                (at, level(&points, at)),
            ));
        }
        plot.lines.push(Line { class, pieces: vec![points] });
    }
    if !plot.symbols.is_empty() {
        plot.keys.push(Key::Symbol(Symbol::Triangle, "c7", "its last spool has become full"));
    }
    plot.tables = vec![table];
    plot
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

/// The points of a line; a part without requests has none.
fn points(counts: &Counts) -> Vec<(f64, f64)> {
    let all = stretches(counts).into_iter().zip(&counts.course);
    let point = |((_, middle, _), &(requests, misses)): ((f64, f64, f64), &(u64, u64))| {
        (requests > 0).then(|| (middle, ratio(misses, requests)))
    };
    all.filter_map(point).collect()
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

fn table(shown: &Shown<'_>, group: &Group, place: usize) -> Table {
    let mut heads = plain_heads(["requests"]);
    heads.extend(group.all.iter().map(|&number| (shown.name(number), group.tone(number))));
    let cells: Vec<&Counts> = group.all.iter().map(|&number| shown.counts(number)).collect();
    let parts = cells.first().map_or_else(Vec::new, |counts| stretches(counts));
    let row = |(part, (from, _, to)): (usize, (f64, f64, f64))| {
        let cell = |counts: &&Counts| match counts.course.get(part) {
            Some(&(requests, misses)) if requests > 0 => per_cent(ratio(misses, requests)),
            _ => "–".to_owned(),
        };
        let name = format!("{} to {}", whole(from), whole(to));
        [vec![name], cells.iter().map(cell).collect()].concat()
    };
    Table::new(
        format!("course-table-{place}"),
        heads,
        parts.into_iter().enumerate().map(row).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_course_goes_by_requests_and_a_place_has_the_level_of_its_line() {
        let counts = Counts { course: vec![(10, 10), (0, 0), (20, 5)], ..Counts::default() };
        assert_eq!(stretches(&counts), [(0.0, 5.0, 10.0), (10.0, 10.0, 10.0), (10.0, 20.0, 30.0)]);
        let points = points(&counts);
        assert_eq!(points, [(5.0, 1.0), (20.0, 0.25)]);
        let levels = |places: [f64; 3]| -> Vec<f64> {
            places.into_iter().map(|at| level(&points, at)).collect()
        };
        assert_eq!(levels([2.0, 12.5, 30.0]), vec![1.0, 0.625, 0.25]);
    }
}
