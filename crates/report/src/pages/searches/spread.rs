//! How the estimates of each group spread: box plots, and cumulative distributions.

use plimsoll_capacity::compared::{Compared, Group};
use plimsoll_stats::BoxPlot;

use super::toned;
use crate::document::{Block, chart};
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::boxes::{Boxes, Row, Spread};
use plimsoll_draw::chart::cumulative::{Cumulative, Sample, one_by_one};
use plimsoll_draw::chart::plot::{Plot, Table};
use plimsoll_draw::chart::range::Range;
use plimsoll_draw::chart::unit::{Unit, significant, trimmed};

/// Both charts.
pub(super) fn block(compared: &Compared) -> Block {
    let range = Range::over(compared.groups.iter().flat_map(estimates));
    Block::Charts(vec![chart(boxes(compared, range)), chart(distribution(compared, range))])
}

/// The estimates of a group.
fn estimates(group: &Group) -> impl Iterator<Item = f64> + '_ {
    group.runs.iter().filter_map(|run| run.estimate_per_s)
}

fn boxes(compared: &Compared, range: Range) -> Boxes {
    let row = |(tone, group): (&'static str, &Group)| {
        let poor = if group.is_poor() { ", unusually poor" } else { "" };
        let plot = group.summary.estimate_per_s.as_ref().map(|described| drawn(&described.spread));
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
        table: box_table(compared),
    }
}

/// A box plot, as it is drawn.
fn drawn(of: &BoxPlot) -> Spread {
    let BoxPlot { whisker_low, q1, median, q3, whisker_high, .. } = *of;
    Spread { whisker_low, q1, median, q3, whisker_high, outliers: of.outliers.clone() }
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
    Table::new("boxes-table".to_owned(), heads, rows)
}

fn distribution(compared: &Compared, range: Range) -> Plot {
    let sample = |(tone, group): (&'static str, &Group)| Sample {
        name: group.group.clone(),
        tone: tone.to_owned(),
        places: one_by_one(sorted(group)),
    };
    let cumulative = Cumulative {
        id: "distribution".to_owned(),
        table: "distribution-table".to_owned(),
        title: "Cumulative distribution".to_owned(),
        note: format!(
            "The share of a group's estimates at or below a rate: the further to the right a line \
             is, the better; the steeper, the steadier.{}",
            range.note()
        ),
        measure: "share of the estimates, over requests per second".to_owned(),
        axis: Axis::Range { range, unit: Unit::PerSecond },
        ends: (range.low, range.high),
        samples: toned(compared).map(sample).collect(),
        mark: None,
        // Exact: what is at or below it was counted there.
        show: &|rate| format!("{}/s", trimmed(rate)),
    };
    cumulative.draw()
}

fn sorted(group: &Group) -> Vec<f64> {
    let mut values: Vec<f64> = estimates(group).collect();
    values.sort_by(f64::total_cmp);
    values
}
