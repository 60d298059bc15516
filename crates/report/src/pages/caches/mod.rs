//! The page of a comparison of caches: every policy at every size, miss ratios over sizes, and over
//! the trace.

mod by_size;
mod cells;
mod course;
mod curves;

pub(crate) use curves::curves_page;

use plimsoll_cache::bound::{Bound, BoundKind};
use plimsoll_cache::capacity::{Size, Unit};
use plimsoll_cache::simulate::Cell;

use crate::document::{self, Block, Document, Section, Verdict, warnings, words};
use crate::source::Caches;
use plimsoll_draw::chart::unit::{per_cent, whole};

/// The page.
pub(crate) fn page(caches: &Caches<'_>) -> Document {
    let mut head: Vec<Block> = answer(caches).map(Block::Verdict).into_iter().collect();
    head.push(document::asked(asked(caches)));
    head.extend(warnings(caches.warnings));
    let about = about(caches).into_iter().map(words).collect();
    Document {
        title: format!("Caches for {}", caches.name),
        head,
        sections: vec![
            Section::new("policies", "Policies and sizes", cells::blocks(caches)),
            Section::new("sizes", "Over sizes", vec![by_size::block(caches)]),
            Section::new("course", "Over the trace", vec![course::block(caches)]),
            Section::new("about", "How it was counted", about),
        ],
        is_several: false,
    }
}

/// Which policy misses least, size by size.
fn answer(caches: &Caches<'_>) -> Option<Verdict> {
    let sizes: Vec<&str> = caches.comparison.sizes.iter().map(Size::text).collect();
    let best: Vec<&Cell> = sizes.iter().filter_map(|size| cells::best_of(caches, size)).collect();
    let last = *best.last()?;
    let told = |cell: &Cell| {
        let names = cells::as_good(caches, cell).join(" and ");
        format!("{names} at {}: {}", capacity(cell), per_cent(cell.all.miss_ratio()))
    };
    let others: Vec<String> = best.iter().rev().skip(1).rev().map(|cell| told(cell)).collect();
    let reasons = match others.len() {
        0 => Vec::new(),
        _ => vec![format!("The lowest at the other sizes: {}.", others.join("; "))],
    };
    let names = cells::as_good(caches, last);
    let of = match (caches.comparison.policies.len(), names.len()) {
        (1, _) => "misses",
        (_, 1) => "misses least",
        _ => "miss least",
    };
    let says = format!(
        "At {}, {} {of}: {} of the requests{}.",
        capacity(last),
        names.join(" and "),
        per_cent(last.all.miss_ratio()),
        if caches.trace.sizes().is_some() {
            format!(", {} of the bytes", per_cent(last.all.byte_miss_ratio()))
        } else {
            String::new()
        }
    );
    Some(Verdict { class: "good", says, reasons })
}

/// What was asked, in a sentence.
fn asked(caches: &Caches<'_>) -> String {
    let trace = caches.trace;
    let number = |n: usize, one: &str, many: &str| match n {
        1 => format!("one {one}"),
        n => format!("{n} {many}"),
    };
    let bytes = trace
        .footprint_bytes()
        .map_or_else(String::new, |bytes| format!(" with {}", plimsoll_units::show_size(bytes)));
    format!(
        "{} requests of {} objects{bytes}, replayed through caches of {} and {}.",
        whole(trace.len() as f64),
        whole(f64::from(trace.distinct())),
        number(caches.comparison.policies.len(), "policy", "policies"),
        number(caches.comparison.sizes.len(), "size", "sizes"),
    )
}

/// How it was counted.
fn about(caches: &Caches<'_>) -> Vec<String> {
    let mut words = vec![
        "Every replay begins with an empty cache, and counts all requests. The miss ratio is the \
         share of requests whose object was not inside; the byte miss ratio weighs each by the \
         size of its object."
            .to_owned(),
        "An object larger than the cache is a miss, and does not come in. A hit does not change an \
         object's size. Some policies refuse objects of themselves: S3-FIFO those larger than its \
         small queue, 10% of the cache. An admission filter is a factor of its own, the same for \
         all policies."
            .to_owned(),
    ];
    words.extend(about_bounds(caches).map(str::to_owned));
    if caches.comparison.skip > 0 {
        words.push(format!(
            "After {} requests it is counted a second time, apart from the warm-up.",
            whole(caches.comparison.skip as f64)
        ));
    }
    words
}

/// How it was found what no policy is below, for each way that was taken.
fn about_bounds<'a>(caches: &'a Caches<'_>) -> impl Iterator<Item = &'static str> + 'a {
    let all = [
        (
            BoundKind::Belady,
            "Where objects take one each, or have one size, no policy that takes in all it misses \
             has fewer misses than Belady's (1966), which knows the future: that bound is exact.",
        ),
        (
            BoundKind::BeladyBypass,
            "Where objects take one each, or have one size, no policy behind an admission filter \
             has fewer misses than Belady's (1966) with bypass, which knows the future and leaves \
             outside what is used later than all that is inside: that bound is exact.",
        ),
        (
            BoundKind::PfooLower,
            "Where sizes differ, Belady's policy is no bound. What no policy is below then comes \
             from PFOO-L (Berger, Beckmann and Harchol-Balter, SIGMETRICS 2018): the cheapest \
             stretches of room and time that fit into the cache. No policy need come near it.",
        ),
    ];
    let found = |kind| {
        let of = |bound: &Bound| {
            bound.kind == kind || bound.missed_bytes.is_some() && bound.missed_bytes_kind == kind
        };
        caches.bounds.iter().any(of)
    };
    all.into_iter().filter(move |&(kind, _)| found(kind)).map(|(_, words)| words)
}

/// Cells of one unit, as sizes can be compared only within it.
fn of_unit<'a>(caches: &Caches<'a>, unit: Unit) -> Vec<&'a Cell> {
    caches.cells.iter().filter(|cell| cell.capacity.unit == unit).collect()
}

/// A capacity as it is shown.
fn capacity(cell: &Cell) -> String {
    match cell.capacity.unit {
        Unit::Bytes => plimsoll_units::show_size(cell.capacity.amount),
        Unit::Objects => format!("{} objects", whole(cell.capacity.amount as f64)),
    }
}
