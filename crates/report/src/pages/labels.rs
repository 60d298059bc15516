//! How figures spread by the labels of levels, and which level is poor: of campaigns, above all.

use plimsoll_analysis::{Analysis, LabelGroup, LabelSpread, PoorLevel};
use plimsoll_draw::chart::Chart;
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::boxes::{Boxes, Row, Spread};
use plimsoll_draw::chart::cumulative::{Cumulative, Sample, one_by_one};
use plimsoll_draw::chart::plot::Table;
use plimsoll_draw::chart::range::Range;
use plimsoll_stats::BoxPlot;
use plimsoll_stats::figure::{self, Figure};

use super::levels::drawn_as;
use super::searches::tone;
use crate::document::{Block, Section, chart, note, words};
use crate::figure_text;

/// Charts of no more labels than these are drawn; the tables of all are in the document.
const MOST: usize = 12;

/// The section; none where no level has a label.
pub(crate) fn section(analysis: &Analysis, currency: &str) -> Option<Section> {
    let figure = figure::named(analysis.by_label.first()?.figure)?;
    let drawn: Vec<&LabelSpread> =
        analysis.by_label.iter().filter(|of| of.figure == figure.name).take(MOST).collect();
    let mut blocks = vec![words(format!(
        "{} of each cell that counts, by the levels of a factor and by their labels.",
        super::levels::capital(figure.label)
    ))];
    blocks.extend(analysis.poor.iter().map(|of| note(told(of))));
    let mut charts = vec![chart(boxes(figure, &drawn, currency))];
    charts
        .extend(drawn.iter().enumerate().map(|(at, of)| distribution(figure, (at, of), currency)));
    blocks.push(Block::Charts(charts));
    Some(Section::new("labels", "By label", blocks))
}

/// What is said of a level that is poor.
fn told(of: &PoorLevel) -> String {
    let label = figure::named(of.figure).map_or(of.figure, |figure| figure.label);
    let runs: Vec<String> = of.replications.iter().map(ToString::to_string).collect();
    format!(
        "{} {} is poor: its {label} is {:.2} of the median of those with the same labels, in the \
         replications {}.",
        super::levels::capital(&of.factor),
        of.level,
        of.of_group,
        runs.join(", ")
    )
}

fn name(of: &LabelSpread, group: &LabelGroup) -> String {
    format!("{} {}", of.label, group.value)
}

fn boxes(figure: &Figure, all: &[&LabelSpread], currency: &str) -> Boxes {
    let (unit, by) = drawn_as(figure);
    let groups = || all.iter().flat_map(|of| of.groups.iter().map(move |group| (*of, group)));
    let range = Range::over(groups().flat_map(|(_, group)| &group.values).map(|value| by * value));
    let row = |(at, (of, group)): (usize, (&LabelSpread, &LabelGroup))| Row {
        name: format!("{} (n = {})", name(of, group), group.described.n),
        tone: tone(at),
        plot: Some(spread(&group.described.spread, by)),
    };
    let of_label = |of: &&LabelSpread| {
        let rows = of.groups.iter().enumerate();
        rows.map(|(at, group)| (at, (*of, group))).map(row).collect::<Vec<_>>()
    };
    let show = |value: f64| figure_text::text(figure, value, currency);
    let heads = ["label", "value", "n", "min", "quartile", "median", "quartile", "max"];
    let cells = |(of, group): (&LabelSpread, &LabelGroup)| {
        let BoxPlot { min, q1, median, q3, max, .. } = group.described.spread;
        let own = [of.label.clone(), group.value.clone(), group.described.n.to_string()];
        own.into_iter().chain([min, q1, median, q3, max].map(show)).collect()
    };
    Boxes {
        id: "labels-boxes",
        title: "Each group",
        note: format!(
            "The box holds the middle half of the cells, the broad line is the median. Whiskers \
             reach to the furthest within 1.5 heights of the box; beyond, each is a dot.{}",
            range.note()
        ),
        measure: figure.label,
        range,
        unit,
        rows: all.iter().flat_map(of_label).collect(),
        table: Table::new(
            "labels-boxes-table".to_owned(),
            heads.map(|text| (text.to_owned(), String::new())).into(),
            groups().map(cells).collect(),
        ),
    }
}

fn spread(of: &BoxPlot, by: f64) -> Spread {
    Spread {
        whisker_low: by * of.whisker_low,
        q1: by * of.q1,
        median: by * of.median,
        q3: by * of.q3,
        whisker_high: by * of.whisker_high,
        outliers: of.outliers.iter().map(|value| by * value).collect(),
    }
}

/// The cumulative distributions of the groups of a label.
fn distribution(
    figure: &Figure,
    (at, of): (usize, &LabelSpread),
    currency: &str,
) -> Box<dyn Chart> {
    let (unit, by) = drawn_as(figure);
    let range = Range::over(of.groups.iter().flat_map(|group| &group.values).map(|of| by * of));
    let sample = |(number, group): (usize, &LabelGroup)| Sample {
        name: group.value.clone(),
        tone: tone(number).to_owned(),
        places: one_by_one(group.values.iter().map(|value| by * value)),
    };
    let cumulative = Cumulative {
        id: format!("labels-{at}"),
        table: format!("labels-table-{at}"),
        title: format!("{}: {}", of.label, figure.label),
        note: format!("The share of the cells at or below a value.{}", range.note()),
        measure: format!("share of the cells, over {}", figure.label),
        axis: Axis::Range { range, unit },
        ends: (range.low, range.high),
        samples: of.groups.iter().enumerate().map(sample).collect(),
        mark: None,
        show: &|value| figure_text::text(figure, value / by, currency),
    };
    chart(cumulative.draw())
}
