//! Figures over a factor whose levels are numbers: a line for each combination of the others, with
//! the 95% intervals of its points.

use plimsoll_stats::figure::{self, Figure};
use plimsoll_units as units;

use super::lines::{self, Lines, Place};
use super::tones::{TONES, tone};
use crate::cells::{Cells, Row};
use crate::document::chart;
use crate::figure_text;
use plimsoll_draw::chart::Chart;
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::plot::{Key, Line, Plot};
use plimsoll_draw::chart::range::Range;
use plimsoll_draw::chart::scale::Scale;
use plimsoll_draw::chart::symbol::Symbol;
use plimsoll_draw::chart::unit::Unit;

/// Most lines of a chart.
const MAX_LINES: usize = 24;
/// Lines with more points than these have no discs at them.
const MAX_DISCS: usize = 24;
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

impl Group<'_> {
    /// The row at a level.
    fn at(&self, level: f64) -> Option<&Row> {
        let found = self.points.iter().find(|point| point.at.total_cmp(&level).is_eq());
        found.map(|point| point.row)
    }
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
    let (mut others, has_blocks) = (cells.factors(), cells.has_blocks());
    others.retain(|other| *other != factor);
    for row in &cells.rows {
        let Some((at, of)) = number(row, factor) else { continue };
        if of != unit || !at.is_finite() || at < 0.0 {
            continue;
        }
        let mut name: Vec<String> = others.iter().map(|of| row.level(of).to_owned()).collect();
        if has_blocks {
            name.push(format!("block {}", row.of.block));
        }
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
pub(crate) fn drawn_as(figure: &Figure) -> (Unit, f64) {
    match figure.unit {
        figure::Unit::Micros => (Unit::Micros, 1.0),
        figure::Unit::Millis => (Unit::Micros, 1e3),
        figure::Unit::Seconds => (Unit::Micros, 1e6),
        figure::Unit::PerSecond => (Unit::PerSecond, 1.0),
        figure::Unit::Bytes | figure::Unit::BytesPerSecond => (Unit::Bytes, 1.0),
        figure::Unit::Share => (Unit::Share, 1.0),
        figure::Unit::PerCent => (Unit::Share, 0.01),
        figure::Unit::Money | figure::Unit::Balance => (Unit::Amount, 1.0),
        figure::Unit::Count | figure::Unit::Hours | figure::Unit::Number => (Unit::Mean, 1.0),
    }
}

/// A figure in a chart.
struct Drawn {
    figure: &'static Figure,
    /// What its values are multiplied by.
    by: f64,
    /// Whether levels stand at their logarithms.
    is_log: bool,
}

impl Drawn {
    /// Where a level stands.
    fn place(&self, level: f64) -> f64 {
        if self.is_log { level.ln() } else { level }
    }

    fn value(&self, row: &Row) -> Option<f64> {
        Some(self.by * row.value(self.figure)?)
    }

    fn interval(&self, row: &Row) -> Option<(f64, f64)> {
        let (low, high) = row.interval(self.figure)?;
        Some((self.by * low, self.by * high))
    }

    /// Puts the points of a line and their intervals into a plot.
    fn put(&self, plot: &mut Plot, number: usize, group: &Group<'_>) {
        let symbol = TONES[number % TONES.len()];
        for point in &group.points {
            let at = self.value(point.row).map(|value| (self.place(point.at), value));
            let drawn = if is_doubtful(point.row) { Symbol::Square } else { Symbol::Disc };
            if drawn == Symbol::Square || group.points.len() <= MAX_DISCS {
                plot.symbols.extend(at.map(|at| (drawn, symbol, at)));
            }
        }
        let bar = |point: &Point<'_>| {
            let (low, high) = self.interval(point.row)?;
            let across = self.place(point.at);
            Some(vec![(across, low), (across, high)])
        };
        let pieces = group.points.iter().filter_map(bar).collect();
        plot.lines.push(Line { class: format!("{symbol} thin"), pieces });
    }

    /// Puts what the figure is never below into a plot, where that is known.
    fn put_bound(&self, plot: &mut Plot, groups: &[Group<'_>]) {
        let bound = BOUNDS.iter().find(|(of, _)| *of == self.figure).map(|(_, bound)| *bound);
        let (Some(bound), Some(first)) = (bound, groups.first()) else { return };
        let at = |point: &Point<'_>| Some((self.place(point.at), point.row.value(bound)?));
        let points: Vec<(f64, f64)> = first.points.iter().filter_map(at).collect();
        if !points.is_empty() {
            let class = "c7 dash".to_owned();
            plot.keys.push(Key::Line(format!("line {class}"), "no policy is below".to_owned()));
            plot.lines.push(Line { class, pieces: vec![points] });
        }
    }
}

/// The levels at which some group has a value, ascending.
fn levels(groups: &[Group<'_>], figure: &Figure) -> Vec<f64> {
    let known = |point: &&Point<'_>| point.row.value(figure).is_some();
    let points = groups.iter().flat_map(|group| group.points.iter().filter(known));
    let mut levels: Vec<f64> = points.map(|point| point.at).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    levels
}

/// One chart; `None` where there are not two levels with a value.
fn draw(
    groups: &[Group<'_>],
    (factor, over): (&str, Unit),
    figure: &'static Figure,
    id: &str,
) -> Option<Plot> {
    let levels = levels(groups, figure);
    let (&least, &most) = (levels.first()?, levels.last()?);
    if levels.len() < 2 {
        return None;
    }
    let (unit, by) = drawn_as(figure);
    let drawn = Drawn { figure, by, is_log: least > 0.0 && most / least >= FAR };
    let (axis, ends) = if drawn.is_log {
        let (low, high) = (least * 0.95, most * 1.05);
        (Axis::Log { low, high, unit: over }, (low.ln(), high.ln()))
    } else {
        let range = Range::over([least, most].into_iter());
        (Axis::Range { range, unit: over }, (range.low, range.high))
    };
    let shown = &groups[..groups.len().min(MAX_LINES)];
    let rows = || shown.iter().flat_map(|group| &group.points).map(|point| point.row);
    let tops = rows().flat_map(|row| [drawn.value(row), drawn.interval(row).map(|of| of.1)]);
    let top = tops.flatten().fold(0.0, f64::max);
    let bottom = rows().filter_map(|row| drawn.value(row)).fold(0.0, f64::min);
    let mut plot = Plot {
        id: id.to_owned(),
        title: format!("{} over {factor}", capital(figure.label)),
        measure: format!("{}, over {factor}", figure.label),
        ..Plot::empty(axis, ends, Scale::spanning(bottom, top, 0.0), unit)
    };
    put_lines((shown, &levels), (factor, over), &drawn, ends, &mut plot);
    shown.iter().enumerate().for_each(|(number, group)| drawn.put(&mut plot, number, group));
    drawn.put_bound(&mut plot, shown);
    if plot.symbols.iter().any(|(symbol, ..)| *symbol == Symbol::Square) {
        plot.keys.push(Key::Symbol(Symbol::Square, "c7", "too small a sample"));
    }
    let bars = match rows().any(|row| row.interval(figure).is_some()) {
        true => " Bars are 95% intervals of the means.",
        false => "",
    };
    let rest = match groups.len() - shown.len() {
        0 => String::new(),
        n => format!(" {n} lines are left out."),
    };
    plot.note = format!("Lines only join what was measured.{bars}{rest}");
    Some(plot)
}

/// A label at the beginning of a sentence.
pub(crate) fn capital(label: &str) -> String {
    let mut all = label.chars();
    all.next().map_or_else(String::new, |first| first.to_uppercase().chain(all).collect())
}

/// Whether a row is of too small a sample.
fn is_doubtful(row: &Row) -> bool {
    row.value(figure::RELIABLE).is_some_and(|of| of < 1.0)
}

/// Puts the lines of all groups into a plot. The read-out finds each level half way to its
/// neighbours.
fn put_lines(
    (groups, levels): (&[Group<'_>], &[f64]),
    (factor, over): (&str, Unit),
    drawn: &Drawn,
    (start, end): (f64, f64),
    plot: &mut Plot,
) {
    let at: Vec<f64> = levels.iter().map(|&level| drawn.place(level)).collect();
    let place = |(index, &here): (usize, &f64)| {
        let from = if index == 0 { start } else { f64::midpoint(at[index - 1], here) };
        let to = at.get(index + 1).map_or(end, |&next| f64::midpoint(here, next));
        Place::new((from, here, to), over.show(levels[index]))
    };
    let value = |group: &Group<'_>, level: f64| drawn.value(group.at(level)?);
    let line = |(number, group): (usize, &Group<'_>)| lines::Drawn {
        name: if group.name.is_empty() {
            drawn.figure.label.to_owned()
        } else {
            group.name.clone()
        },
        class: tone(number),
        values: levels.iter().map(|&level| value(group, level)).collect(),
    };
    let show = |line: usize, place: usize, value: f64| {
        let text = figure_text::text(drawn.figure, value / drawn.by, "");
        let is_doubtful = groups[line].at(levels[place]).is_some_and(is_doubtful);
        if is_doubtful { format!("({text})") } else { text }
    };
    let lines = Lines {
        heads: &[factor],
        places: at.iter().enumerate().map(place).collect(),
        all: groups.iter().enumerate().map(line).collect(),
        show: &show,
    };
    let table = format!("{}-table", plot.id);
    lines.put(plot, table);
}
