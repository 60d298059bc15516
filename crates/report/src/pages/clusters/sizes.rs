//! Misses by the size of objects: what a cluster gains by requests it may lose by bytes.

use plimsoll_cache::cluster::Counts;
use plimsoll_cache::size_class::SizeClass;

use super::ratio;
use super::shown::{Group, Shown};
use crate::document::Block;
use crate::pages::tones::TONES;
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::plot::{Key, Line, Plot, Table};
use plimsoll_draw::chart::scale::Scale;
use plimsoll_draw::chart::symbol::Symbol;
use plimsoll_draw::chart::unit::{Unit, per_cent};

/// Whether misses were counted by size, the same classes in every cluster.
pub(super) fn is_any(shown: &Shown<'_>) -> bool {
    let classes = |counts: &Counts| {
        counts
            .by_size
            .iter()
            .map(|class| (class.least_bytes, class.below_bytes))
            .collect::<Vec<_>>()
    };
    let first = shown.all.first().map(|(_, cell)| classes(&cell.file.counts)).unwrap_or_default();
    !first.is_empty() && shown.all.iter().all(|(_, cell)| classes(&cell.file.counts) == first)
}

/// A chart a group, all with the same axes.
pub(super) fn blocks(shown: &Shown<'_>) -> Vec<Block> {
    let all = shown.all.iter().flat_map(|(_, cell)| &cell.file.counts.by_size);
    let scale = Scale::linear(all.map(misses).fold(0.0, f64::max), 0.0);
    shown.by_group(|place, group| draw(shown, group, place, scale))
}

fn misses(class: &SizeClass) -> f64 {
    ratio(class.total.misses, class.total.requests)
}

/// The ends of a class on the axis.
fn ends(class: &SizeClass) -> (f64, f64) {
    ((class.least_bytes.max(1) as f64).ln(), (class.below_bytes as f64).ln())
}

fn draw(shown: &Shown<'_>, group: &Group, place: usize, scale: Scale) -> Plot {
    let classes = group.all.first().map_or(&[][..], |&number| &shown.counts(number).by_size);
    let table = table(shown, group, place, classes);
    let low = classes.first().map_or(1, |class| class.least_bytes.max(1)) as f64;
    let high = classes.last().map_or(10, |class| class.below_bytes) as f64;
    let column = |number: &usize| group.all.iter().position(|other| other == number);
    let shares = [1, 2];
    let drawn = group.lines.iter().filter_map(column).map(|column| column + 3);
    let mut plot = Plot {
        id: format!("sizes-{place}"),
        title: super::of_label("Miss ratio by the size of objects", &group.label),
        note: format!(
            "Each point is of all objects of a class, which are powers of ten; lines only join \
             them. How much of all is asked of each class, the table has.{}",
            group.note("the table")
        ),
        measure: "miss ratio, over the size of objects".to_owned(),
        readout: (table.id.clone(), shares.into_iter().chain(drawn).collect()),
        rows: classes
            .iter()
            .map(|class| {
                (ends(class).0, f64::midpoint(ends(class).0, ends(class).1), ends(class).1)
            })
            .collect(),
        ..Plot::empty(
            Axis::Log { low, high, unit: Unit::Bytes },
            (low.ln(), high.ln()),
            scale,
            Unit::Share,
        )
    };
    for (line, &number) in group.lines.iter().enumerate() {
        let class = group.tone(number);
        let requested = |of: &&SizeClass| of.total.requests > 0;
        let point = |of: &SizeClass| (f64::midpoint(ends(of).0, ends(of).1), misses(of));
        let points: Vec<(f64, f64)> =
            shown.counts(number).by_size.iter().filter(requested).map(point).collect();
        let tone = TONES[line % TONES.len()];
        plot.keys.push(Key::Line(format!("line {class}"), shown.name(number)));
        plot.symbols.extend(points.iter().map(|&point| (Symbol::Disc, tone, point)));
        plot.lines.push(Line { class, pieces: vec![points] });
    }
    plot.tables = vec![table];
    plot
}

fn table(shown: &Shown<'_>, group: &Group, place: usize, classes: &[SizeClass]) -> Table {
    let plain = |text: &str| (text.to_owned(), String::new());
    let mut heads = vec![plain("size"), plain("of requests"), plain("of bytes")];
    heads.extend(group.all.iter().map(|&number| (shown.name(number), group.tone(number))));
    let requests = classes.iter().map(|class| class.total.requests).sum();
    let bytes = classes.iter().map(|class| class.total.requested_bytes).sum();
    let row = |(index, class): (usize, &SizeClass)| {
        let mut row = vec![
            name(class),
            per_cent(ratio(class.total.requests, requests)),
            per_cent(ratio(class.total.requested_bytes, bytes)),
        ];
        row.extend(group.all.iter().map(|&number| {
            let of = shown.counts(number).by_size.get(index);
            let of = of.filter(|of| of.total.requests > 0);
            of.map_or_else(|| "–".to_owned(), |of| per_cent(misses(of)))
        }));
        row
    };
    Table::new(format!("sizes-table-{place}"), heads, classes.iter().enumerate().map(row).collect())
}

/// A class by its bounds: `below 10 B`, `1 kB to 10 kB`.
fn name(class: &SizeClass) -> String {
    let below = plimsoll_units::show_size(class.below_bytes);
    match class.least_bytes {
        0 => format!("below {below}"),
        least => format!("{} to {below}", plimsoll_units::show_size(least)),
    }
}
