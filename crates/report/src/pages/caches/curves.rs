//! The page of miss-ratio curves: a line a policy over sizes, for objects and for bytes.

use plimsoll_cache::capacity::{Capacity, Unit};
use plimsoll_cache::curve::Point;

use crate::document::{self, Block, Document, Section, Verdict, chart, warnings};
use crate::pages::tones::{TONES, tone};
use crate::source::DrawnCurve;
use plimsoll_draw::chart::Chart;
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::plot::{Key, Line, Plot, Table, plain_heads};
use plimsoll_draw::chart::scale::Scale;
use plimsoll_draw::chart::symbol::Symbol;
use plimsoll_draw::chart::unit::{self, per_cent, whole};

/// What is drawn: its id, its title, and its share, where it is known.
type Measure = (&'static str, &'static str, fn(&Point) -> Option<f64>);

const MEASURES: [Measure; 2] = [
    ("misses", "Miss ratio", |point| point.miss_ratio),
    ("bytes", "Byte miss ratio", |point| point.byte_miss_ratio),
];

const COUNTED: &str = "LRU comes from one pass over the trace, which knows all sizes at once; in \
                       bytes, sizes that do not hold the largest object are replayed, each by \
                       itself. Other policies are replayed at each size. With a sampling rate a \
                       share of the objects stands for all, and the cache is as much smaller; \
                       points for which the sample is too small have a square around them, and \
                       stand in brackets in the table.";

/// The page.
pub(crate) fn curves_page(name: &str, curves: &[DrawnCurve], warned: &[String]) -> Document {
    let words = "What a cache of each size would have missed, from an empty one on.";
    let mut charts: Vec<Box<dyn Chart>> = Vec::new();
    for unit in [Unit::Bytes, Unit::Objects] {
        charts
            .extend(MEASURES.iter().filter_map(|measure| curve(curves, unit, measure)).map(chart));
    }
    let mut head: Vec<Block> = answer(curves).map(Block::Verdict).into_iter().collect();
    head.push(document::asked(words));
    head.extend(warnings(warned));
    Document {
        title: format!("Miss-ratio curves of {name}"),
        head,
        sections: vec![
            Section::new("curves", "Over sizes", vec![Block::Charts(charts)]),
            Section::new("about", "How it was counted", vec![document::words(COUNTED)]),
        ],
        is_several: false,
    }
}

/// Which policy misses least at the largest size; `None` where there are no two.
fn answer(curves: &[DrawnCurve]) -> Option<Verdict> {
    let last = |curve: &DrawnCurve| {
        let of_first = |point: &&Point| point.capacity.unit == curve.points[0].capacity.unit;
        curve.points.iter().filter(of_first).max_by_key(|point| point.capacity.amount).copied()
    };
    let mut known: Vec<(&DrawnCurve, Point, f64)> = curves
        .iter()
        .filter_map(|curve| Some((curve, last(curve)?)))
        .filter_map(|(curve, point)| Some((curve, point, point.miss_ratio?)))
        .collect();
    known.sort_by(|a, b| a.2.total_cmp(&b.2));
    let (best, point, least) = *known.first()?;
    let others = known.get(1).map_or_else(String::new, |(next, _, ratio)| {
        format!(" {} comes next, with {}.", next.name, per_cent(*ratio))
    });
    Some(Verdict {
        class: "good",
        says: format!(
            "At {}, {} misses {} of the requests.{others}",
            size(&point.capacity),
            best.name,
            per_cent(least)
        ),
        reasons: Vec::new(),
    })
}

/// One plot, where there is anything to draw.
fn curve(curves: &[DrawnCurve], unit: Unit, &(id, title, share): &Measure) -> Option<Plot> {
    let points = |curve: &DrawnCurve| -> Vec<Point> {
        let mut points: Vec<Point> =
            curve.points.iter().filter(|point| point.capacity.unit == unit).copied().collect();
        points.sort_by_key(|point| point.capacity.amount);
        points
    };
    let first = curves.first().map(points).unwrap_or_default();
    let known = first.iter().any(|point| share(point).is_some());
    let (least, most) = (first.first()?, first.last()?);
    if !known || least.capacity.amount == most.capacity.amount {
        return None;
    }
    let (suffix, shown) = match unit {
        Unit::Bytes => ("b", unit::Unit::Bytes),
        Unit::Objects => ("o", unit::Unit::Count),
    };
    let (low, high) = (least.capacity.amount as f64, most.capacity.amount as f64);
    let ends = (low.ln(), high.ln());
    let top = curves.iter().flat_map(|curve| &curve.points).filter_map(share).fold(0.0, f64::max);
    let table = table(curves, &first, &format!("{id}-{suffix}-table"), share, &points);
    let mut plot = Plot {
        id: format!("{id}-{suffix}"),
        title: title.to_owned(),
        note: String::new(),
        measure: format!("{}, over the size of the cache", title.to_lowercase()),
        rows: super::by_size::places(
            &first.iter().map(|point| point.capacity.amount).collect::<Vec<_>>(),
            ends,
        ),
        ..Plot::empty(
            Axis::Log { low, high, unit: shown },
            ends,
            Scale::linear(top, 0.0),
            unit::Unit::Share,
        )
    };
    for (number, curve) in curves.iter().enumerate() {
        let class = tone(number);
        let place = |point: &Point| Some(((point.capacity.amount as f64).ln(), share(point)?));
        plot.keys.push(Key::Line(format!("line {class}"), curve.name.clone()));
        let pieces = vec![points(curve).iter().filter_map(place).collect()];
        plot.lines.push(Line { class, pieces });
        let unreliable = points(curve).into_iter().filter(|point| !point.reliable);
        let tone = TONES[number % TONES.len()];
        plot.symbols.extend(unreliable.filter_map(|of| Some((Symbol::Square, tone, place(&of)?))));
    }
    if !plot.symbols.is_empty() {
        plot.keys.push(Key::Symbol(Symbol::Square, "c7", "too small a sample"));
    }
    plot.put(table);
    Some(plot)
}

fn table(
    curves: &[DrawnCurve],
    first: &[Point],
    id: &str,
    share: fn(&Point) -> Option<f64>,
    points: &dyn Fn(&DrawnCurve) -> Vec<Point>,
) -> Table {
    let mut heads = plain_heads(["size"]);
    heads.extend(curves.iter().enumerate().map(|(n, curve)| (curve.name.clone(), tone(n))));
    let columns: Vec<Vec<Point>> = curves.iter().map(points).collect();
    let cell = |point: &Point| {
        let Some(text) = share(point).map(per_cent) else { return "–".to_owned() };
        if point.reliable { text } else { format!("({text})") }
    };
    let row = |(index, point): (usize, &Point)| {
        let mut row = vec![size(&point.capacity)];
        row.extend(columns.iter().map(|column| column.get(index).map_or_else(String::new, cell)));
        row
    };
    let rows = first.iter().enumerate().map(row).collect();
    Table::new(id.to_owned(), heads, rows)
}

fn size(of: &Capacity) -> String {
    match of.unit {
        Unit::Bytes => plimsoll_units::show_size(of.amount),
        Unit::Objects => whole(of.amount as f64),
    }
}
