//! The page of clusters of caches: every cluster with its figures, where answers come from, what
//! has to be weighed, response times, courses over the trace, sizes, nodes and parents.

mod cells;
mod counting;
mod course;
mod members;
mod replications;
mod response;
mod shown;
mod sizes;
mod sources;
mod steady;
mod trade;

use plimsoll_cache::cluster::Counts;

use self::cells::{MEASURES, Measure};
use self::shown::Shown;
use super::{document, headline, navigation, section, tiles::Tile};
use crate::Clusters;
use plimsoll_draw::Markup;
use plimsoll_draw::chart::unit::whole;

/// Writes the page.
pub(crate) fn write(clusters: &Clusters<'_>) -> String {
    let shown = Shown::of(clusters);
    document(clusters.name, "one", |m| {
        m.tag("header", &[], |m| {
            headline::write_brand(m);
            m.leaf("h1", &[], clusters.name);
            m.leaf("p", &[("class", &"asked")], asked(clusters));
            write_best(m, &shown);
            headline::write_warnings(m, clusters.warnings);
            navigation(m, &links(&shown));
        });
        m.tag("main", &[], |m| write_sections(m, &shown));
    })
}

/// What was asked, in a sentence.
fn asked(clusters: &Clusters<'_>) -> String {
    let trace = clusters.trace;
    let bytes = trace
        .footprint_bytes()
        .map_or_else(String::new, |bytes| format!(" with {}", plimsoll_units::show_size(bytes)));
    let of = match clusters.trace_name {
        "" => String::new(),
        name => format!(" of {name}"),
    };
    let number = match clusters.cells.len() {
        0 => "no cluster".to_owned(),
        1 => "one cluster".to_owned(),
        n => format!("{} clusters, all with the same requests", whole(n as f64)),
    };
    format!(
        "{} requests{of} to {} objects{bytes}, simulated through {number}.",
        whole(trace.len() as f64),
        whole(f64::from(trace.distinct())),
    )
}

/// The best of each measure, where there are several clusters.
fn write_best(m: &mut Markup, shown: &Shown<'_>) {
    if shown.all.len() < 2 {
        return;
    }
    let best = |measure: &&Measure| {
        let value = |number: usize| measure.value(shown.counts(number));
        let first = (0..shown.all.len()).min_by(|&a, &b| value(a).total_cmp(&value(b)))?;
        let all: Vec<usize> = (0..shown.all.len())
            .filter(|&number| value(number).total_cmp(&value(first)).is_eq())
            .collect();
        let beside = match all.len() {
            1 => String::new(),
            n => format!(", and {} more", n - 1),
        };
        Some(Tile {
            name: measure.lowest,
            meaning: "",
            value: measure.text(value(first)),
            detail: format!("{}{beside}", shown.name(first)),
            class: "",
        })
    };
    m.tag("dl", &[("class", &"tiles few")], |m| {
        let measures = MEASURES.iter().filter(|of| shown.is_sized() || !of.needs_sizes);
        for tile in measures.filter_map(|measure| best(&measure)) {
            tile.write(m);
        }
    });
}

fn links(shown: &Shown<'_>) -> Vec<(&'static str, &'static str)> {
    let mut links = vec![
        ("#cells", "All clusters"),
        ("#sources", "Where answers come from"),
        ("#trade", "What to weigh"),
        ("#response", "Response times"),
        ("#course", "Over the trace"),
        ("#members", "Nodes and parents"),
        ("#counting", "How it was counted"),
    ];
    if sizes::is_any(shown) {
        links.insert(5, ("#sizes", "By size"));
    }
    links
}

fn write_sections(m: &mut Markup, shown: &Shown<'_>) {
    section(m, "cells", "All clusters", |m| {
        cells::write(m, shown);
        replications::write(m, shown);
    });
    section(m, "sources", "Where answers come from", |m| sources::write(m, shown));
    section(m, "trade", "What to weigh", |m| trade::write(m, shown));
    section(m, "response", "Response times", |m| response::write(m, shown));
    section(m, "course", "Over the trace", |m| {
        course::write(m, shown);
        steady::write(m, shown);
    });
    if sizes::is_any(shown) {
        section(m, "sizes", "By size", |m| sizes::write(m, shown));
    }
    section(m, "members", "Nodes and parents", |m| members::write(m, shown));
    section(m, "counting", "How it was counted", |m| counting::write(m, shown));
}

/// Writes what is open, or folded under a label.
fn folded(m: &mut Markup, is_open: bool, label: &str, inside: impl FnOnce(&mut Markup)) {
    if is_open {
        inside(m);
        return;
    }
    m.tag("details", &[("class", &"more")], |m| {
        m.leaf("summary", &[], label);
        inside(m);
    });
}

/// The title of a chart of clusters of one label.
fn of_label(title: &str, label: &str) -> String {
    if label.is_empty() { title.to_owned() } else { format!("{title}: {label}") }
}

/// A share of nothing is nothing.
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Messages of all kinds.
fn messages(counts: &Counts) -> u64 {
    counts.messages.queries + counts.messages.answers + counts.messages.digests
}
