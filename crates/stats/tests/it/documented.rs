//! `docs/figures.md` has a row for every figure, saying what the registry says.
//!
//! The table is made anew by `PLIMSOLL_BLESS=1 cargo test -p plimsoll-stats documented`.

use plimsoll_stats::figure::{ALL, Figure};
use std::fmt::Write as _;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/figures.md");
const START: &str = "<!-- figures -->\n";
const END: &str = "<!-- end: figures -->\n";

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

#[test]
fn documented_figures_are_the_figures() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(START).expect(START);
    let (found, after) = rest.split_once(END).expect(END);
    if std::env::var_os("PLIMSOLL_BLESS").is_some() {
        std::fs::write(PAGE, format!("{before}{START}{}{END}{after}", table())).unwrap();
    } else {
        let hint = "PLIMSOLL_BLESS=1 cargo test -p plimsoll-stats documented writes it anew";
        assert_eq!(found, table(), "{hint}");
    }
}
