//! Misses by the size of objects: what a cluster gains by requests it may lose by bytes.

use plimsoll_cache::cluster::Counts;
use plimsoll_cache::size_class::SizeClass;

use super::ratio;
use super::shown::{Group, Shown};
use crate::document::Block;
use crate::pages::lines::{Drawn, Lines, Place};
use crate::pages::tones::TONES;
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::plot::Plot;
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
    let requests = classes.iter().map(|class| class.total.requests).sum();
    let bytes = classes.iter().map(|class| class.total.requested_bytes).sum();
    let class = |of: &SizeClass| {
        let (from, to) = ends(of);
        let beside = vec![
            per_cent(ratio(of.total.requests, requests)),
            per_cent(ratio(of.total.requested_bytes, bytes)),
        ];
        Place { at: (from, f64::midpoint(from, to), to), name: name(of), beside }
    };
    let missed = |of: &SizeClass| (of.total.requests > 0).then(|| misses(of));
    let line = |&number: &usize| Drawn {
        name: shown.name(number),
        class: group.tone(number),
        values: shown.counts(number).by_size.iter().map(missed).collect(),
    };
    let lines = Lines {
        heads: &["size", "of requests", "of bytes"],
        places: classes.iter().map(class).collect(),
        all: group.all.iter().map(line).collect(),
        show: &|_, _, value| per_cent(value),
    };
    let low = classes.first().map_or(1, |class| class.least_bytes.max(1)) as f64;
    let high = classes.last().map_or(10, |class| class.below_bytes) as f64;
    let axis = Axis::Log { low, high, unit: Unit::Bytes };
    let mut plot = Plot {
        id: format!("sizes-{place}"),
        title: super::of_label("Miss ratio by the size of objects", &group.label),
        note: format!(
            "Each point is of all objects of a class, which are powers of ten; lines only join \
             them. How much of all is asked of each class, the table has.{}",
            group.note("the table")
        ),
        measure: "miss ratio, over the size of objects".to_owned(),
        ..Plot::empty(axis, (low.ln(), high.ln()), scale, Unit::Share)
    };
    lines.put(&mut plot, format!("sizes-table-{place}"));
    let drawn = lines.all.iter().filter(|line| !line.class.is_empty());
    for (number, line) in drawn.enumerate() {
        let tone = TONES[number % TONES.len()];
        let points = lines.points(line);
        plot.symbols.extend(points.into_iter().map(|point| (Symbol::Disc, tone, point)));
    }
    plot
}

/// A class by its bounds: `below 10 B`, `1 kB to 10 kB`.
fn name(class: &SizeClass) -> String {
    let below = plimsoll_units::show_size(class.below_bytes);
    match class.least_bytes {
        0 => format!("below {below}"),
        least => format!("{} to {below}", plimsoll_units::show_size(least)),
    }
}
