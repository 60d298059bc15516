//! `docs/figures.md` has a row for every figure, saying what the registry says.
//!
//! The table is made anew by `PLIMSOLL_BLESS=1 cargo test -p plimsoll-stats documented`.

use plimsoll_stats::figure::{ALL, FAMILIES, Family, Figure};
use std::fmt::Write as _;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/figures.md");
const START: &str = "<!-- figures -->\n";
const END: &str = "<!-- end: figures -->\n";
const WATCHED: &str = "<!-- watched -->\n";
const WATCHED_END: &str = "<!-- end: watched -->\n";

fn table() -> String {
    let mut out = String::from(
        "| figure | called | unit | better | what it is | in |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    for Figure { name, label, unit, better, about, commands } in ALL {
        let (unit, better) = (unit.word(), better.word());
        writeln!(out, "| `{name}` | {label} | {unit} | {better} | {about} | {commands} |").unwrap();
    }
    out
}

/// The figures of what is watched, with their formulas.
fn watched() -> String {
    let mut out = String::from(
        "| figure | unit | better | what it is | formula |\n| --- | --- | --- | --- | --- |\n",
    );
    for Family { figure, formula, .. } in FAMILIES {
        let Figure { name, unit, better, about, .. } = figure;
        let (unit, better) = (unit.word(), better.word());
        let formula = if formula.is_empty() { "–".to_owned() } else { format!("`{formula}`") };
        writeln!(out, "| `{name}` | {unit} | {better} | {about} | {formula} |").unwrap();
    }
    out
}

/// Compares what stands between two marks of the page, or writes it anew.
fn check((start, end): (&str, &str), table: &str) {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(start).expect(start);
    let (found, after) = rest.split_once(end).expect(end);
    if std::env::var_os("PLIMSOLL_BLESS").is_some() {
        std::fs::write(PAGE, format!("{before}{start}{table}{end}{after}")).unwrap();
    } else {
        let hint = "PLIMSOLL_BLESS=1 cargo test -p plimsoll-stats documented writes it anew";
        assert_eq!(found, table, "{hint}");
    }
}

#[test]
fn documented_figures_are_the_figures() {
    check((START, END), &table());
    check((WATCHED, WATCHED_END), &watched());
}
