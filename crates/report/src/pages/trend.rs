//! A figure over runs by one of their tags: a point for each value, in the order of their first
//! runs, with its interval.

use plimsoll_analysis::trend::{Point, Trend};
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::label::{Label, shortened};
use plimsoll_draw::chart::plot::{Line, Plot};
use plimsoll_draw::chart::scale::Scale;
use plimsoll_draw::chart::symbol::Symbol;
use plimsoll_stats::interval::Verdict;
use plimsoll_units::show_share;

use super::levels::{capital, drawn_as};
use super::lines::{Drawn, Lines, Place};
use crate::document::{
    self, Block, Cell, Document, Grid, Manner, Section, Verdict as Judged, chart, note,
};
use crate::figure_text;

/// The most characters of a name in the picture; the table has all of it.
const MOST_NAME: usize = 12;
/// How far single runs stand beside their mean, in distances of two values.
const BESIDE: f64 = 0.05;
/// More points than these have no names beside them.
const MAX_NAMES: usize = 24;

/// The page.
pub(crate) fn page(of: &Trend) -> Document {
    let label = capital(of.figure.label);
    let is_change = |of: &Verdict| matches!(of, Verdict::Worse | Verdict::Better);
    let class = match of.points.iter().rev().find_map(|point| point.verdict.filter(is_change)) {
        Some(Verdict::Worse) => "poor",
        Some(_) => "good",
        None => "open",
    };
    let says = format!("{}.", capital(&of.says()));
    let runs: usize = of.points.iter().map(|point| point.runs.len()).sum();
    let mut head = vec![
        Block::Verdict(Judged { class, says, reasons: Vec::new() }),
        document::asked(format!("{} · {label} by {}.", of.subject, of.tag)),
        Block::Facts(vec![
            format!("{runs} runs of {} values", of.points.len()),
            format!("a value may be worse than the one before by {}", show_share(of.tolerance)),
        ]),
    ];
    if !of.remarks.is_empty() {
        let title = if of.remarks.len() == 1 { "Note" } else { "Notes" };
        head.push(Block::Notice(title, of.remarks.clone()));
    }
    let title = format!("{label} by {}", of.tag);
    let blocks = match of.points.is_empty() {
        true => vec![Block::Paragraph(Manner::Nothing, "No run has the figure.".to_owned())],
        false => vec![
            Block::Charts(vec![chart(plot(of))]),
            Block::Table(table(of)),
            note(
                "Means of the runs of each value, in the order of their first runs. A value with \
                 one run has no interval, and nothing is told of it.",
            ),
        ],
    };
    Document {
        sections: vec![Section::new("trend", title.clone(), blocks)],
        title: format!("{}: {title}", of.subject),
        head,
        is_several: false,
    }
}

fn plot(of: &Trend) -> Plot {
    let (unit, by) = drawn_as(of.figure);
    let top = of.points.iter().map(|point| by * highest(point)).fold(0.0, f64::max);
    let bottom = of.points.iter().map(|point| by * point.mean).fold(0.0, f64::min);
    let ends = (0.5, of.points.len() as f64 + 0.5);
    let mut plot = Plot {
        id: "trend-chart".to_owned(),
        title: format!("{} by {}", capital(of.figure.label), of.tag),
        measure: format!("{}, by {} in the order of the first runs", of.figure.label, of.tag),
        note:
            "Squares are single runs, discs their means, bars 95% intervals. A red disc is worse \
               than the one before, a green one better."
                .to_owned(),
        ..Plot::empty(
            Axis::Order { columns: of.points.len() },
            ends,
            Scale::spanning(bottom, top, 0.0),
            unit,
        )
    };
    let across = |at: usize| at as f64 + 1.0;
    let show = |_: usize, _: usize, value: f64| figure_text::text(of.figure, value / by, "");
    let lines = Lines {
        heads: &[&of.tag],
        places: (of.points.iter().enumerate())
            .map(|(at, point)| {
                let here = across(at);
                Place::new((here - 0.5, here, here + 0.5), point.value.clone())
            })
            .collect(),
        all: vec![Drawn {
            name: of.figure.label.to_owned(),
            class: "c0".to_owned(),
            values: of.points.iter().map(|point| Some(by * point.mean)).collect(),
        }],
        show: &show,
    };
    lines.put(&mut plot, "trend-values".to_owned());
    let alike = alike(of.points.iter().map(|point| point.value.as_str()));
    for (at, point) in of.points.iter().enumerate() {
        let here = across(at);
        let tone = match point.verdict {
            Some(Verdict::Worse) => "c3",
            Some(Verdict::Better) => "c1",
            _ => "c0",
        };
        let singles = point.values.iter().filter(|_| point.values.len() > 1);
        let beside = here + BESIDE;
        plot.symbols.extend(singles.map(|value| (Symbol::Square, "c7", (beside, by * value))));
        plot.symbols.push((Symbol::Disc, tone, (here, by * point.mean)));
        let bar = point.interval.map(|of| vec![(here, by * of.low.max(0.0)), (here, by * of.high)]);
        plot.lines.push(Line { class: format!("{tone} thin"), pieces: bar.into_iter().collect() });
        if of.points.len() <= MAX_NAMES {
            let at = (here, by * point.mean);
            let short = short(&point.value, alike);
            plot.labels.push(Label { short, name: String::new(), at });
        }
    }
    plot
}

/// How many characters all names begin with.
fn alike<'a>(mut names: impl Iterator<Item = &'a str>) -> usize {
    let Some(first) = names.next() else { return 0 };
    let mut rest = names.peekable();
    if rest.peek().is_none() {
        return 0;
    }
    let common = |other: &str| first.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    rest.map(common).min().unwrap_or(0)
}

/// A name in the picture: of long ones that begin alike, what comes after that.
fn short(name: &str, alike: usize) -> String {
    match name.chars().count() > MOST_NAME && alike > 2 {
        true => format!("…{}", shortened(&name.chars().skip(alike).collect::<String>(), MOST_NAME)),
        false => shortened(name, MOST_NAME),
    }
}

/// The highest value that is drawn of a point.
fn highest(point: &Point) -> f64 {
    let values = point.values.iter().copied().fold(point.mean, f64::max);
    point.interval.map_or(values, |of| of.high.max(values))
}

fn table(of: &Trend) -> Grid {
    let show = |value: f64| figure_text::text(of.figure, value, "");
    let row = |point: &Point| {
        let ends = point.interval.map(|of| figure_text::interval((of.low, of.high), show));
        let change = Cell::of(of.changed(point)).with(of.interval(point));
        let change = match point.verdict {
            Some(Verdict::Worse) => change.judged("poor", "worse"),
            Some(Verdict::Better) => change.judged("good", "better"),
            _ => change,
        };
        let noisy = match point.noisy {
            0 => String::new(),
            n => format!("the host was noisy in {n}"),
        };
        vec![
            Cell::of(&point.value).with(&point.started),
            Cell::of(point.runs.len()).with(noisy),
            Cell::of(show(point.mean)).with(ends.unwrap_or_default()),
            change,
        ]
    };
    let heads = [of.tag.as_str(), "runs", of.figure.label, "against the one before"];
    Grid {
        class: "policies",
        id: String::new(),
        heads: heads.map(Cell::of).into(),
        rows: of.points.iter().map(row).collect(),
    }
}
