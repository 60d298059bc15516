//! `docs/policies.md` has a table of every policy, saying what its own list says.
//!
//! The tables are made anew by `PLIMSOLL_BLESS=1 cargo test -p plimsoll-elastic documented`.

use plimsoll_elastic::policy::{KINDS, Kind, Parameter};
use std::fmt::Write as _;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/policies.md");

fn table(kind: &Kind) -> String {
    let mut about = kind.about.to_owned();
    about[..1].make_ascii_uppercase();
    let mut out =
        format!("{about}.\n\n| parameter | takes | default | |\n| --- | --- | --- | --- |\n");
    for Parameter { name, takes, default, about, .. } in kind.parameters {
        writeln!(out, "| `{name}` | {} | {default} | {about} |", takes.words()).unwrap();
    }
    out
}

#[test]
fn documented_policies_are_the_policies() {
    let mut page = std::fs::read_to_string(PAGE).unwrap();
    let bless = std::env::var_os("PLIMSOLL_BLESS").is_some();
    for kind in KINDS {
        let (start, end) =
            (format!("<!-- policy: {} -->\n", kind.name), format!("<!-- end: {} -->\n", kind.name));
        let from = page.find(&start).unwrap_or_else(|| panic!("docs/policies.md lacks {start}"));
        let from = from + start.len();
        let to = page[from..].find(&end).unwrap_or_else(|| panic!("docs/policies.md lacks {end}"));
        let to = from + to;
        if bless {
            page.replace_range(from..to, &table(kind));
        } else {
            let hint = "PLIMSOLL_BLESS=1 cargo test -p plimsoll-elastic documented writes it anew";
            assert_eq!(page[from..to], table(kind), "{hint}");
        }
    }
    if bless {
        std::fs::write(PAGE, page).unwrap();
    }
}
