//! The page of miss-ratio curves: a line a policy over sizes, for objects and for bytes.

use plimsoll_cache::capacity::{Capacity, Unit};
use plimsoll_cache::curve::Point;

use super::tone;
use crate::DrawnCurve;
use crate::page::{document, headline, section};
use plimsoll_draw::Markup;
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::plot::{Key, Line, Plot, Table};
use plimsoll_draw::chart::scale::Scale;
use plimsoll_draw::chart::unit::{self, per_cent, whole};

/// What is drawn: its id, its title, and its share, where it is known.
type Measure = (&'static str, &'static str, fn(&Point) -> Option<f64>);

const MEASURES: [Measure; 2] = [
    ("misses", "Miss ratio", |point| point.miss_ratio),
    ("bytes", "Byte miss ratio", |point| point.byte_miss_ratio),
];

/// Writes the page.
pub(crate) fn write(name: &str, curves: &[DrawnCurve], warnings: &[String]) -> String {
    let title = format!("Miss-ratio curves of {name}");
    document(&title, "one", |m| {
        m.tag("header", &[], |m| {
            headline::write_brand(m);
            m.leaf("h1", &[], &title);
            let words = "What a cache of each size would have missed, from an empty one on.";
            m.leaf("p", &[("class", &"asked")], words);
            headline::write_warnings(m, warnings);
        });
        m.tag("main", &[], |m| {
            section(m, "curves", "Over sizes", |m| {
                m.tag("div", &[("class", &"figures")], |m| {
                    for unit in [Unit::Bytes, Unit::Objects] {
                        for measure in &MEASURES {
                            write_curve(m, curves, unit, measure);
                        }
                    }
                });
            });
            section(m, "about", "How it was counted", |m| {
                let words = "LRU comes from one pass over the trace, which knows all sizes at \
                             once; in bytes, sizes that do not hold the largest object are \
                             replayed, each by itself. Other policies are replayed at each size. \
                             With a sampling rate a share of the objects stands for all, and the \
                             cache is as much smaller; points for which the sample is too small \
                             are marked in the table.";
                m.leaf("p", &[("class", &"words")], words);
            });
        });
    })
}

/// One plot, where there is anything to draw.
fn write_curve(m: &mut Markup, curves: &[DrawnCurve], unit: Unit, &(id, title, share): &Measure) {
    let points = |curve: &DrawnCurve| -> Vec<Point> {
        let mut points: Vec<Point> =
            curve.points.iter().filter(|point| point.capacity.unit == unit).copied().collect();
        points.sort_by_key(|point| point.capacity.amount);
        points
    };
    let first = curves.first().map(points).unwrap_or_default();
    let known = first.iter().any(|point| share(point).is_some());
    let (Some(least), Some(most)) = (first.first(), first.last()) else { return };
    if !known || least.capacity.amount == most.capacity.amount {
        return;
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
        measure: "over the size of the cache".to_owned(),
        readout: (table.id.clone(), (1..table.heads.len()).collect()),
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
    }
    plot.write(m, &[&table]);
}

fn table(
    curves: &[DrawnCurve],
    first: &[Point],
    id: &str,
    share: fn(&Point) -> Option<f64>,
    points: &dyn Fn(&DrawnCurve) -> Vec<Point>,
) -> Table {
    let mut heads = vec![("size".to_owned(), String::new())];
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
    Table { id: id.to_owned(), summary: "Table", heads, rows }
}

fn size(of: &Capacity) -> String {
    match of.unit {
        Unit::Bytes => plimsoll_units::show_size(of.amount),
        Unit::Objects => whole(of.amount as f64),
    }
}
