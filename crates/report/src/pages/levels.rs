//! Figures over a factor whose levels are numbers: a line for each combination of the others, with
//! the 95% intervals of its points.

use plimsoll_stats::figure::{self, Figure};
use plimsoll_units as units;

use super::tones::{TONES, tone};
use crate::cells::{Cells, Row};
use crate::document::chart;
use crate::figure_text;
use plimsoll_draw::chart::Chart;
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::plot::{Key, Line, Plot, Table, plain_heads};
use plimsoll_draw::chart::range::Range;
use plimsoll_draw::chart::scale::Scale;
use plimsoll_draw::chart::symbol::Symbol;
use plimsoll_draw::chart::unit::Unit;

/// Most lines of a chart.
const MAX_LINES: usize = 24;
/// From this ratio of the greatest level to the least, levels stand on a logarithmic axis.
const FAR: f64 = 30.0;
/// Figures that a lower bound is known of.
const BOUNDS: [(&Figure, &Figure); 2] = [
    (figure::MISS_RATIO, figure::MISS_RATIO_BOUND),
    (figure::BYTE_MISS_RATIO, figure::BYTE_MISS_RATIO_BOUND),
];

/// A row of cells at a level that is a number.
struct Point<'a> {
    at: f64,
    row: &'a Row,
}

/// The rows that differ in one factor only, in the order of its levels.
struct Group<'a> {
    name: String,
    points: Vec<Point<'a>>,
}

/// A chart of each of some figures over each factor whose levels are numbers.
pub(crate) fn charts(cells: &Cells, figures: &[&'static Figure]) -> Vec<Box<dyn Chart>> {
    const UNITS: [Unit; 6] =
        [Unit::Bytes, Unit::Count, Unit::Share, Unit::PerSecond, Unit::Micros, Unit::Mean];
    let mut charts = Vec::new();
    for (number, factor) in cells.factors().into_iter().enumerate() {
        for unit in UNITS {
            let groups = groups(cells, factor, unit);
            let draw = |(place, figure): (usize, &&'static Figure)| {
                draw(&groups, (factor, unit), figure, &format!("over-{number}-{unit:?}-{place}"))
            };
            charts.extend(figures.iter().enumerate().filter_map(draw).map(chart));
        }
    }
    charts
}

/// A level as a number, and what it is a number of. The size of a cache is what it comes to on its
/// trace.
fn number(row: &Row, factor: &str) -> Option<(f64, Unit)> {
    if factor == "size" {
        let of = |figure, unit| Some((row.value(figure)?, unit));
        let bytes = of(figure::CAPACITY_BYTES, Unit::Bytes);
        if let Some(found) = bytes.or_else(|| of(figure::CAPACITY_OBJECTS, Unit::Count)) {
            return Some(found);
        }
    }
    let level = row.level(factor);
    // A law that has one value only is a number too.
    let level = level.strip_prefix("const:").unwrap_or(level);
    if let Ok(number) = level.parse::<f64>() {
        return Some((number, Unit::Mean));
    }
    let of = |read: Result<f64, units::ParseError>, unit| read.ok().map(|value| (value, unit));
    of(units::rate(level), Unit::PerSecond)
        .or_else(|| of(units::share(level), Unit::Share))
        .or_else(|| of(units::duration(level).map(|of| 1e6 * of.as_secs_f64()), Unit::Micros))
        .or_else(|| of(units::size(level).map(|bytes| bytes as f64), Unit::Bytes))
}

/// The rows by their levels of all other factors.
fn groups<'a>(cells: &'a Cells, factor: &str, unit: Unit) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for row in &cells.rows {
        let Some((at, of)) = number(row, factor) else { continue };
        if of != unit || !at.is_finite() || at < 0.0 {
            continue;
        }
        let others = cells.factors().into_iter().filter(|other| *other != factor);
        let name: Vec<&str> = others.map(|other| row.level(other)).collect();
        let name = name.join(" · ");
        let point = Point { at, row };
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.points.push(point),
            None => groups.push(Group { name, points: vec![point] }),
        }
    }
    groups.iter_mut().for_each(|group| group.points.sort_by(|a, b| a.at.total_cmp(&b.at)));
    groups
}

/// The unit of a figure in charts, and what its values are multiplied by.
fn drawn_as(figure: &Figure) -> (Unit, f64) {
    match figure.unit {
        figure::Unit::Micros => (Unit::Micros, 1.0),
        figure::Unit::Millis => (Unit::Micros, 1e3),
        figure::Unit::Seconds => (Unit::Micros, 1e6),
        figure::Unit::PerSecond => (Unit::PerSecond, 1.0),
        figure::Unit::Bytes => (Unit::Bytes, 1.0),
        figure::Unit::Share => (Unit::Share, 1.0),
        figure::Unit::PerCent => (Unit::Share, 0.01),
        figure::Unit::Money | figure::Unit::Balance => (Unit::Amount, 1.0),
        figure::Unit::Count | figure::Unit::Hours | figure::Unit::Number => (Unit::Mean, 1.0),
    }
}

/// One chart; `None` where there are not two levels with a value.
fn draw(
    groups: &[Group<'_>],
    (factor, over): (&str, Unit),
    figure: &'static Figure,
    id: &str,
) -> Option<Plot> {
    let known = |point: &&Point<'_>| point.row.value(figure).is_some();
    let mut levels: Vec<f64> =
        groups.iter().flat_map(|group| group.points.iter().filter(known)).map(|of| of.at).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    let (&least, &most) = (levels.first()?, levels.last()?);
    if levels.len() < 2 {
        return None;
    }
    let is_log = least > 0.0 && most / least >= FAR;
    let place = |level: f64| if is_log { level.ln() } else { level };
    let (low, high) = (least * 0.95, most * 1.05);
    let (axis, ends) = if is_log {
        (Axis::Log { low, high, unit: over }, (low.ln(), high.ln()))
    } else {
        let range = Range::over([least, most].into_iter());
        (Axis::Range { range, unit: over }, (range.low, range.high))
    };
    let (unit, factor_of) = drawn_as(figure);
    let value = |row: &Row| row.value(figure).map(|value| value * factor_of);
    let interval =
        |row: &Row| row.interval(figure).map(|(low, high)| (low * factor_of, high * factor_of));
    let shown = &groups[..groups.len().min(MAX_LINES)];
    let rows = || shown.iter().flat_map(|group| &group.points).map(|point| point.row);
    let ends_of = rows().flat_map(|row| [value(row), interval(row).map(|of| of.1)]).flatten();
    let top = ends_of.fold(0.0, f64::max);
    let bottom = rows().filter_map(value).fold(0.0, f64::min);
    let title = figure.label[..1].to_uppercase() + &figure.label[1..];
    let mut plot = Plot {
        id: id.to_owned(),
        title: format!("{title} over {factor}"),
        measure: format!("{}, over {factor}", figure.label),
        rows: places(&levels, place, ends),
        ..Plot::empty(axis, ends, Scale::spanning(bottom, top, 0.0), unit)
    };
    let (mut has_bars, mut has_doubts) = (false, false);
    for (number, group) in shown.iter().enumerate() {
        let (class, symbol) = (tone(number), TONES[number % TONES.len()]);
        let at = |point: &Point<'_>| Some((place(point.at), value(point.row)?));
        let points: Vec<(f64, f64)> = group.points.iter().filter_map(at).collect();
        if !group.name.is_empty() {
            plot.keys.push(Key::Line(format!("line {class}"), group.name.clone()));
        }
        for point in &group.points {
            let is_doubtful = point.row.value(figure::RELIABLE).is_some_and(|of| of < 1.0);
            has_doubts |= is_doubtful;
            let drawn = if is_doubtful { Symbol::Square } else { Symbol::Disc };
            plot.symbols.extend(at(point).map(|at| (drawn, symbol, at)));
        }
        let bars = group.points.iter().filter_map(|point| {
            let (low, high) = interval(point.row)?;
            Some(vec![(place(point.at), low), (place(point.at), high)])
        });
        let bars: Vec<_> = bars.collect();
        has_bars |= !bars.is_empty();
        plot.lines.push(Line { class: format!("{symbol} thin"), pieces: bars });
        plot.lines.push(Line { class, pieces: vec![points] });
    }
    if let Some((_, bound)) = BOUNDS.iter().find(|(of, _)| *of == figure) {
        let first = shown.first().into_iter().flat_map(|group| &group.points);
        let at = |point: &Point<'_>| Some((place(point.at), point.row.value(bound)?));
        let points: Vec<(f64, f64)> = first.filter_map(at).collect();
        if !points.is_empty() {
            let class = "c7 dash".to_owned();
            plot.keys.push(Key::Line(format!("line {class}"), "no policy is below".to_owned()));
            plot.lines.push(Line { class, pieces: vec![points] });
        }
    }
    if has_doubts {
        plot.keys.push(Key::Symbol(Symbol::Square, "c7", "too small a sample"));
    }
    let left_out = groups.len() - shown.len();
    let bars = if has_bars { " Bars are 95% intervals of the means." } else { "" };
    let rest =
        if left_out > 0 { format!(" {left_out} lines are left out.") } else { String::new() };
    plot.note = format!("Lines only join what was measured.{bars}{rest}");
    plot.put(table(shown, &levels, (factor, over), figure, &format!("{id}-table")));
    Some(plot)
}

/// Where the read-out finds each level: half way to its neighbours.
fn places(
    levels: &[f64],
    place: impl Fn(f64) -> f64,
    (start, end): (f64, f64),
) -> Vec<(f64, f64, f64)> {
    let at: Vec<f64> = levels.iter().map(|&level| place(level)).collect();
    let one = |(index, &here): (usize, &f64)| {
        let from = if index == 0 { start } else { f64::midpoint(at[index - 1], here) };
        let to = at.get(index + 1).map_or(end, |&next| f64::midpoint(here, next));
        (from, here, to)
    };
    at.iter().enumerate().map(one).collect()
}

/// A row a level, a column a line.
fn table(
    groups: &[Group<'_>],
    levels: &[f64],
    (factor, over): (&str, Unit),
    figure: &Figure,
    id: &str,
) -> Table {
    let mut heads = plain_heads([factor]);
    heads.extend(groups.iter().enumerate().map(|(number, group)| {
        let name = if group.name.is_empty() { figure.label } else { &group.name };
        (name.to_owned(), tone(number))
    }));
    let cell = |group: &Group<'_>, level: f64| {
        let point = group.points.iter().find(|point| point.at.total_cmp(&level).is_eq());
        let Some(value) = point.and_then(|point| point.row.value(figure)) else {
            return figure_text::DASH.to_owned();
        };
        let text = figure_text::text(figure, value, "");
        let doubt = point.and_then(|point| point.row.value(figure::RELIABLE));
        if doubt.is_some_and(|of| of < 1.0) { format!("({text})") } else { text }
    };
    let row = |&level: &f64| {
        let cells = groups.iter().map(|group| cell(group, level));
        std::iter::once(over.show(level)).chain(cells).collect()
    };
    Table::new(id.to_owned(), heads, levels.iter().map(row).collect())
}
