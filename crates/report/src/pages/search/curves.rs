//! Response time over the rate: the curves of some percentiles, and the contour of all.

use super::joined::{Joined, between};
use super::staircase::{bound, estimate, is_few, log_scale, shaded};
use crate::searched::Searched;
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::contour::Contour;
use plimsoll_draw::chart::plot::{Key, Line, Plot, Table, plain_heads};
use plimsoll_draw::chart::scale::Scale;
use plimsoll_draw::chart::surface::{SIDE, Surface, percentile};
use plimsoll_draw::chart::symbol::Symbol;
use plimsoll_draw::chart::unit::{Unit, micros, significant, whole};

/// The curves, with their colours.
const CURVES: [(usize, &str); 5] = [(10, "c7"), (50, "c0"), (90, "c1"), (95, "c8"), (99, "c2")];
/// Columns of the contour's table, and of its picture for each of them.
const COLUMNS: usize = 30;
const FINER: usize = 4;
/// The percentiles of the contour's table: every third.
const ROWS: usize = 33;

/// A chart over the rate, without its lines.
fn over_rate(searched: &Searched, joined: &[Joined], scale: Scale, unit: Unit) -> Plot {
    let rates = joined.iter().map(|point| point.rate);
    let ends = searched.estimate().into_iter().chain(searched.interval().map(|(_, high)| high));
    let end = Scale::linear(rates.chain(ends).fold(0.0, f64::max), 0.0).top();
    let axis = Axis::Value { columns: 1, top: end, unit: Unit::PerSecond };
    let upright = estimate(searched).into_iter().collect();
    Plot { upright, ..Plot::empty(axis, (0.0, end), scale, unit) }
}

/// The curves of some percentiles; `None` where no window says anything.
pub(crate) fn percentiles(searched: &Searched, joined: &[Joined], index: usize) -> Option<Plot> {
    if joined.is_empty() {
        return None;
    }
    let values = joined.iter().flat_map(|point| CURVES.iter().filter_map(|&(p, _)| point.at(p)));
    let scale = log_scale(values, searched);
    let mut plot = over_rate(searched, joined, scale, Unit::Micros);
    plot.id = format!("curves-{index}");
    "Response time over the rate offered".clone_into(&mut plot.title);
    plot.note = format!(
        "Windows whose rates are within 2% are one point, the mean by their answers. Windows of \
         recovery and discarded ones are left out.{}",
        shaded(searched)
    );
    "response time, over requests per second offered".clone_into(&mut plot.measure);
    plot.across.extend(bound(searched));
    for (percentile, tone) in CURVES {
        let pieces = pieces(joined, percentile);
        let points = pieces.iter().flatten().map(|&point| vec![point]).collect();
        plot.lines.push(Line { class: format!("{tone} dots"), pieces: points });
        plot.lines.push(Line { class: tone.to_owned(), pieces });
        let few = joined.iter().filter(|point| is_few(point.answers, percentile));
        plot.symbols.extend(
            few.filter_map(|point| {
                Some((Symbol::Square, tone, (point.rate, point.at(percentile)?)))
            }),
        );
        plot.keys.push(Key::Line(format!("line {tone}"), format!("p{percentile}")));
    }
    if !plot.symbols.is_empty() {
        plot.keys.push(Key::Symbol(Symbol::Square, "c7", "fewer than ten answers beyond"));
    }
    plot.rows = places(joined, plot.end);
    let table = curve_table(joined, index);
    plot.put(table);
    Some(plot)
}

/// Curves that were predicted, broad and pale, behind those that were measured.
pub(crate) fn overlay(
    measured: &Searched,
    (of_predicted, of_measured): (&[Joined], &[Joined]),
) -> Plot {
    let both = || of_predicted.iter().chain(of_measured);
    let drawn = [CURVES[1], CURVES[2], CURVES[4]];
    let values = both().flat_map(|point| drawn.iter().filter_map(|&(p, _)| point.at(p)));
    let all: Vec<Joined> = both().cloned().collect();
    let mut plot = over_rate(measured, &all, log_scale(values, measured), Unit::Micros);
    "predicted-curves".clone_into(&mut plot.id);
    "Response time over the rate, predicted and measured".clone_into(&mut plot.title);
    plot.note = format!("Broad and pale is the prediction.{}", shaded(measured));
    "response time, over requests per second offered".clone_into(&mut plot.measure);
    plot.across.extend(bound(measured));
    for (percentile, tone) in drawn {
        let line = |joined, stroke| Line {
            class: format!("{tone}{stroke}"),
            pieces: pieces(joined, percentile),
        };
        plot.lines.insert(0, line(of_measured, ""));
        plot.lines.push(line(of_predicted, " broad"));
        plot.keys.push(Key::Line(format!("line {tone}"), format!("p{percentile} measured")));
        plot.keys.push(Key::Line(format!("line {tone} broad"), format!("p{percentile} predicted")));
    }
    plot.rows = places(of_measured, plot.end);
    let table = Table { id: "predicted-curves-table".to_owned(), ..curve_table(of_measured, 0) };
    plot.put(table);
    plot
}

/// A percentile's curve, broken where a point has no value.
fn pieces(joined: &[Joined], percentile: usize) -> Vec<Vec<(f64, f64)>> {
    let value = |point: &Joined| point.at(percentile).map(|us| (point.rate, us));
    let pieces = joined.split(|point| value(point).is_none());
    pieces.filter(|piece| !piece.is_empty()).map(|p| p.iter().filter_map(value).collect()).collect()
}

/// Where the read-out finds each point: half way to its neighbours.
fn places(joined: &[Joined], end: f64) -> Vec<(f64, f64, f64)> {
    let half_way = |a: usize| (joined[a].rate + joined[a + 1].rate) / 2.0;
    let place = |(index, point): (usize, &Joined)| {
        let from = if index == 0 { 0.0 } else { half_way(index - 1) };
        let to = if index + 1 == joined.len() { end } else { half_way(index) };
        (from, point.rate, to)
    };
    joined.iter().enumerate().map(place).collect()
}

fn show(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), micros)
}

fn curve_table(joined: &[Joined], index: usize) -> Table {
    let mut heads = plain_heads(["offered"]);
    heads.extend(CURVES.map(|(p, tone)| (format!("p{p}"), tone.to_owned())));
    heads.extend(plain_heads(["windows", "answers"]));
    let row = |point: &Joined| {
        let mut cells = vec![format!("{}/s", significant(point.rate))];
        cells.extend(CURVES.map(|(p, _)| show(point.at(p))));
        cells.extend([point.windows as f64, point.answers as f64].map(whole));
        cells
    };
    let rows = joined.iter().map(row).collect();
    Table::new(format!("curves-table-{index}"), heads, rows)
}

/// The contour of all percentiles; `None` where there are not two rates to go between.
pub(crate) fn contour(searched: &Searched, joined: &[Joined], index: usize) -> Option<Plot> {
    let (from, to) = (joined.first()?.rate, joined.last()?.rate);
    if to <= from {
        return None;
    }
    let at =
        |column: usize, columns: usize| from + (to - from) * (column as f64 + 0.5) / columns as f64;
    let fine = COLUMNS * FINER;
    let columns = (0..fine).map(|column| between(joined, at(column, fine))).collect();
    let contour = Contour { from, to, columns, rows: ROWS };
    contour.columns.iter().flatten().flatten().next()?;
    let scale = Scale::Linear { top: 100.0, step: 10.0 };
    let mut plot = over_rate(searched, joined, scale, Unit::Percentile);
    plot.id = format!("contour-{index}");
    "Response time over percentile and rate".clone_into(&mut plot.title);
    plot.note = format!(
        "The colour is the response time on a logarithmic scale, between the rates that were \
         offered by its logarithm.{} Empty where requests were not answered.",
        if searched.bound.is_some() {
            " On the broken line it is the SLO's bound: below the line a share of the requests \
             keeps it."
        } else {
            ""
        }
    );
    "percentile, over requests per second offered".clone_into(&mut plot.measure);
    if let Some((_, bound)) = searched.bound {
        plot.lines.push(Line { class: "bound".to_owned(), pieces: contour.isoline(bound) });
        plot.keys.push(Key::Line("line bound".to_owned(), micros(bound)));
    }
    let width = (to - from) / COLUMNS as f64;
    plot.rows = (0..COLUMNS)
        .map(|column| (at(column, COLUMNS) - width / 2.0, at(column, COLUMNS)))
        .map(|(left, middle)| (left, middle, left + width))
        .collect();
    plot.contour = Some(contour);
    let table = contour_table(joined, &plot.rows, index);
    plot.readout = (table.id.clone(), Vec::new());
    plot.tables = vec![table];
    Some(plot)
}

/// The same as a surface; `None` where there are not two rates.
pub(crate) fn surface(searched: &Searched, joined: &[Joined], index: usize) -> Option<Surface> {
    let (from, to) = (joined.first()?.rate, joined.last()?.rate);
    if to <= from {
        return None;
    }
    let column = |n: usize| {
        let rate = from + (to - from) * n as f64 / (SIDE - 1) as f64;
        let values = between(joined, rate);
        (0..SIDE).map(|row| values.get(percentile(row) - 1).copied().flatten()).collect()
    };
    let line = |bound: f64| {
        let fine = COLUMNS * FINER;
        let at = |n: usize| from + (to - from) * (n as f64 + 0.5) / fine as f64;
        let columns = (0..fine).map(|n| between(joined, at(n))).collect();
        Contour { from, to, columns, rows: ROWS }.isoline(bound)
    };
    Some(Surface {
        id: format!("surface-{index}"),
        title: "The surface of response time",
        note:
            "The same from the side: the rate rises to the right, the percentile to the left, the \
               response time upwards on a logarithmic scale."
                .to_owned(),
        rates: (from, to),
        columns: (0..SIDE).map(column).collect(),
        bound: searched.bound.map_or(0.0, |(_, bound)| bound),
        isoline: searched.bound.map_or_else(Vec::new, |(_, bound)| line(bound)),
    })
}

/// Every third percentile at thirty rates.
fn contour_table(joined: &[Joined], places: &[(f64, f64, f64)], index: usize) -> Table {
    let third = |row: usize| 3 * row + 2;
    let mut heads = plain_heads(["offered"]);
    heads.extend((0..ROWS).map(|row| (format!("p{}", third(row)), String::new())));
    let cells = |&(_, rate, _): &(f64, f64, f64)| {
        let values = between(joined, rate);
        let mut cells = vec![format!("{}/s", significant(rate))];
        let value = |row: usize| values.get(third(row) - 1).copied().flatten();
        cells.extend((0..ROWS).map(|row| show(value(row))));
        cells
    };
    let rows = places.iter().map(cells).collect();
    Table::new(format!("contour-table-{index}"), heads, rows)
}
