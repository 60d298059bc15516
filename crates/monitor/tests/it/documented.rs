//! `docs/collectors.md` has a row for every series, saying what the collectors say.
//!
//! The tables are made anew by `PLIMSOLL_BLESS=1 cargo test -p plimsoll-monitor documented`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use plimsoll_monitor::Series;
use plimsoll_monitor::collector::KINDS;
use plimsoll_monitor::sample::Group;
use plimsoll_monitor::sample::Kind;
use plimsoll_monitor::sampler;
use plimsoll_stats::figure::formula::Formula;
use plimsoll_stats::figure::{FAMILIES, Family};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/collectors.md");
const START: &str = "<!-- collectors -->\n";
const END: &str = "<!-- end: collectors -->\n";

fn tables() -> String {
    let mut out = String::new();
    for kind in KINDS {
        let needs: Vec<String> = kind.needs.iter().map(ToString::to_string).collect();
        let needs = if needs.is_empty() { "nothing".to_owned() } else { needs.join(", ") };
        writeln!(out, "## `{}`\n\nReads {}. Needs {needs}.\n", kind.name, kind.about).unwrap();
        if kind.name == "network" {
            let text = "Its series are those of [`host`](#host) from `proc/net`, and:\n";
            writeln!(out, "{text}").unwrap();
            let of_host = |name| KINDS[0].groups.iter().any(|group| group.source == name);
            let own = kind.groups.iter().copied().filter(|group| !of_host(group.source));
            table(&mut out, &own.collect::<Vec<_>>());
        } else if !kind.groups.is_empty() {
            table(&mut out, kind.groups);
        }
    }
    writeln!(out, "## The sampler's own\n").unwrap();
    table(&mut out, &[&sampler::GROUP]);
    out
}

/// A row for each series, with all places that it may be read from.
fn table(out: &mut String, groups: &[&Group]) {
    let mut rows: Vec<(&str, String, String)> = Vec::new();
    for group in groups {
        for series in group.series {
            let Series { key, name, labels, kind, unit, about, .. } = series;
            let unit = if unit.is_empty() { "–" } else { unit };
            let (labels, kind) = (labels.join(", "), kind.word());
            let row = format!("| `{name}` | {labels} | {kind} | {unit} | {about} |");
            let Some((_, other, places)) = rows.iter_mut().find(|(other, ..)| other == name) else {
                rows.push((name, row, format!("{}: {key}", group.source)));
                continue;
            };
            assert_eq!(*other, row, "a series is the same wherever it is read");
            let is_new = !places.contains(group.source);
            let place = if is_new { format!("; {}: ", group.source) } else { ", ".to_owned() };
            places.push_str(&(place + key));
        }
    }
    let head = "| series | labels | kind | unit | what it is | from |\n\
                | --- | --- | --- | --- | --- | --- |\n";
    out.push_str(head);
    for (_, row, places) in rows {
        writeln!(out, "{row} {places} |").unwrap();
    }
    out.push('\n');
}

#[test]
fn documented_series_are_those_of_the_collectors() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(START).expect(START);
    let (found, after) = rest.split_once(END).expect(END);
    if std::env::var_os("PLIMSOLL_BLESS").is_some() {
        std::fs::write(PAGE, format!("{before}{START}{}{END}{after}", tables())).unwrap();
    } else {
        let hint = "PLIMSOLL_BLESS=1 cargo test -p plimsoll-monitor documented writes it anew";
        assert_eq!(found, tables(), "{hint}");
    }
}

#[test]
fn series_are_told_apart_and_have_sorted_labels() {
    for kind in KINDS {
        for group in kind.groups {
            for (index, series) in group.series.iter().enumerate() {
                assert!(series.labels.is_sorted(), "{}", series.name);
                let mut others = group.series[..index].iter();
                assert!(others.all(|other| other.key != series.key), "{}", series.key);
                assert!(!series.about.is_empty());
            }
        }
    }
}

/// A figure is made of series that collectors have: a name that is mistyped gives no figure.
#[test]
fn figures_are_made_of_series_that_there_are() {
    let groups = KINDS.iter().flat_map(|kind| kind.groups);
    let known: BTreeMap<&str, &Series> =
        groups.flat_map(|group| group.series).map(|series| (series.name, series)).collect();
    for Family { figure, formula, .. } in FAMILIES.iter().filter(|of| !of.formula.is_empty()) {
        for selector in Formula::parse(formula).unwrap().selectors() {
            let name = selector.name.as_str();
            let series = known.get(name).unwrap_or_else(|| panic!("{}: {name}", figure.name));
            let has = |label: &(String, String)| series.labels.contains(&label.0.as_str());
            assert!(selector.labels.iter().all(has), "{}: {selector}", figure.name);
            // Of a counter only its rises tell anything, and of a gauge only its values.
            let is_rate = formula.contains(&format!("rate({selector})"));
            assert_eq!(is_rate, series.kind == Kind::Counter, "{}: {name}", figure.name);
        }
    }
}
