//! How the estimates of each group spread: box plots, and cumulative distributions.

use plimsoll_capacity::compared::{Compared, Group};

use super::toned;
use crate::chart::axis::Axis;
use crate::chart::boxes::{Boxes, Row};
use crate::chart::plot::{Key, Line, Plot, Table};
use crate::chart::range::Range;
use crate::chart::scale::Scale;
use crate::chart::unit::{Unit, per_cent, significant};
use crate::markup::Markup;

/// Places on the axis at which the distribution can be read.
const PLACES: usize = 40;

/// Writes both charts.
pub(super) fn write(m: &mut Markup, compared: &Compared) {
    let range = Range::over(compared.groups.iter().flat_map(estimates));
    m.tag("div", &[("class", &"figures")], |m| {
        boxes(compared, range).write(m, &box_table(compared));
        let (plot, table) = distribution(compared, range);
        plot.write(m, &[&table]);
    });
}

/// The estimates of a group.
fn estimates(group: &Group) -> impl Iterator<Item = f64> + '_ {
    group.runs.iter().filter_map(|run| run.estimate_per_s)
}

fn boxes(compared: &Compared, range: Range) -> Boxes {
    let row = |(tone, group): (&'static str, &Group)| {
        let poor = if group.is_poor() { ", unusually poor" } else { "" };
        let plot = group.summary.estimate_per_s.as_ref().map(|described| described.spread.clone());
        let bounds = match group.summary.bounds {
            0 => String::new(),
            1 => ", 1 a bound".to_owned(),
            bounds => format!(", {bounds} bounds"),
        };
        let found = group.summary.found;
        Row { name: format!("{} (n = {found}{bounds}{poor})", group.group), tone, plot }
    };
    let note = format!(
        "The box holds the middle half of the estimates, the broad line is the median. Whiskers \
         reach to the furthest estimate within 1.5 heights of the box; beyond, each is a dot.{}",
        range.note()
    );
    Boxes {
        id: "boxes",
        title: "Estimates of each group",
        note,
        measure: "requests per second",
        range,
        unit: Unit::PerSecond,
        rows: toned(compared).map(row).collect(),
    }
}

fn head(text: &str) -> (String, String) {
    (text.to_owned(), String::new())
}

fn box_table(compared: &Compared) -> Table {
    let heads = [
        &compared.by,
        "n",
        "min",
        "whisker",
        "quartile",
        "median",
        "quartile",
        "whisker",
        "max",
        "beyond",
    ];
    let row = |group: &Group| {
        let mut cells = vec![group.group.clone(), group.summary.found.to_string()];
        match group.summary.estimate_per_s.as_ref().map(|described| &described.spread) {
            Some(of) => {
                let low = [of.min, of.whisker_low, of.q1, of.median];
                let all = low.into_iter().chain([of.q3, of.whisker_high, of.max]);
                cells.extend(all.map(|value| format!("{}/s", significant(value))));
                cells.push(of.outliers.len().to_string());
            }
            None => cells.extend(std::iter::repeat_n("–".to_owned(), 8)),
        }
        cells
    };
    let rows = compared.groups.iter().map(row).collect();
    let heads = heads.map(head).into();
    Table { id: "boxes-table".to_owned(), summary: "Table", heads, rows }
}

fn distribution(compared: &Compared, range: Range) -> (Plot, Table) {
    let sorted: Vec<Vec<f64>> = compared.groups.iter().map(sorted).collect();
    let table = distribution_table(compared, &sorted, range);
    let width = (range.high - range.low) / PLACES as f64;
    let place = |n: usize| range.low + (n as f64 + 0.5) * width;
    let known = || toned(compared).zip(&sorted).filter(|(_, values)| !values.is_empty());
    let plot = Plot {
        id: "distribution".to_owned(),
        title: "Cumulative distribution".to_owned(),
        note: format!(
            "The share of a group's estimates at or below a rate: the further to the right a line \
             is, the better; the steeper, the steadier.{}",
            range.note()
        ),
        measure: "share of the estimates, over requests per second".to_owned(),
        axis: Axis::Range { range, unit: Unit::PerSecond },
        start: range.low,
        end: range.high,
        scale: Scale::Linear { top: 1.0, step: 0.25 },
        unit: Unit::Share,
        keys: known()
            .map(|((tone, group), _)| Key::Line(format!("line {tone}"), group.group.clone()))
            .collect(),
        across: Vec::new(),
        upright: Vec::new(),
        contour: None,
        lines: known()
            .map(|((tone, _), values)| Line {
                class: tone.to_owned(),
                pieces: vec![steps(values, range)],
            })
            .collect(),
        symbols: Vec::new(),
        readout: (table.id.clone(), (1..table.heads.len()).collect()),
        rows: (0..PLACES)
            .map(|n| (place(n) - width / 2.0, place(n), place(n) + width / 2.0))
            .collect(),
    };
    (plot, table)
}

fn sorted(group: &Group) -> Vec<f64> {
    let mut values: Vec<f64> = estimates(group).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The steps of an empirical distribution, from end to end of the axis.
fn steps(sorted: &[f64], range: Range) -> Vec<(f64, f64)> {
    let mut points = vec![(range.low, 0.0)];
    for (index, &value) in sorted.iter().enumerate() {
        points.push((value, index as f64 / sorted.len() as f64));
        points.push((value, (index + 1) as f64 / sorted.len() as f64));
    }
    points.push((range.high, 1.0));
    points
}

fn distribution_table(compared: &Compared, sorted: &[Vec<f64>], range: Range) -> Table {
    let mut heads = vec![head("at or below")];
    heads.extend(toned(compared).map(|(tone, group)| (group.group.clone(), tone.to_owned())));
    let width = (range.high - range.low) / PLACES as f64;
    let row = |n: usize| {
        let value = range.low + (n as f64 + 0.5) * width;
        let share = |values: &Vec<f64>| {
            let below = values.partition_point(|&estimate| estimate <= value);
            if values.is_empty() {
                return "–".to_owned();
            }
            per_cent(below as f64 / values.len() as f64)
        };
        let mut cells = vec![format!("{}/s", significant(value))];
        cells.extend(sorted.iter().map(share));
        cells
    };
    let rows = (0..PLACES).map(row).collect();
    Table { id: "distribution-table".to_owned(), summary: "Table", heads, rows }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_climbs_from_nothing_to_all() {
        let range = Range { low: 0.0, high: 10.0, step: 2.0 };
        let steps = steps(&[2.0, 4.0], range);
        let expected = [(0.0, 0.0), (2.0, 0.0), (2.0, 0.5), (4.0, 0.5), (4.0, 1.0), (10.0, 1.0)];
        assert_eq!(steps, expected);
    }
}
