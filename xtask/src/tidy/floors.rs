//! The floors: a crate imports only crates on floors below its own, in tests too.
//!
//! [`FLOORS`] is the one place where a crate gets its floor; docs/architecture.md shows the same
//! table to people and is compared with it here.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Remark, Tree};

/// From the lowest to the highest: the floor's name, the crates on it.
const FLOORS: &[(&str, &[&str])] = &[
    ("ground", &["testing", "units"]),
    ("foundation", &["net", "websocket"]),
    ("0", &["draw", "stats", "workload"]),
    ("1", &["plan", "runs"]),
    ("2", &["analysis", "cache", "load", "monitor", "shoal", "target"]),
    ("3", &["capacity", "elastic", "fleet", "testbed"]),
    ("4", &["experiment", "report"]),
    ("5", &["cli"]),
];

/// Applications under test that are shipped: none of our crates but these is theirs to import, and
/// nothing imports an application.
const APPLICATIONS: Applications<'static> = (&["market"], &["units", TESTING]);

/// What only tests import.
const TESTING: &str = "testing";

const PAGE: &str = "docs/architecture.md";

pub(super) fn check(tree: &Tree) -> Vec<(String, Remark)> {
    let Some(metadata) = &tree.metadata else { return Vec::new() };
    let mut found = imports(FLOORS, APPLICATIONS, metadata);
    match tree.file(PAGE) {
        Some(page) => {
            let faults = table(FLOORS, &page.text).into_iter();
            found.extend(faults.map(|fault| (PAGE.to_owned(), fault)));
        }
        None => found.push((
            PAGE.to_owned(),
            (1, "the page is missing".to_owned(), "show the table of the floors there".to_owned()),
        )),
    }
    found
}

type Floors<'a> = [(&'a str, &'a [&'a str])];

/// The applications, and the crates that they may import.
type Applications<'a> = (&'a [&'a str], &'a [&'a str]);

fn floor_of(floors: &Floors<'_>, name: &str) -> Option<usize> {
    floors.iter().position(|(_, crates)| crates.contains(&name))
}

/// `plimsoll-NAME` is the crate NAME; the binary's package has no suffix.
fn crate_name(package: &str) -> Option<&str> {
    if package == "plimsoll" { Some("cli") } else { package.strip_prefix("plimsoll-") }
}

fn imports(
    floors: &Floors<'_>,
    (applications, known): Applications<'_>,
    metadata: &Value,
) -> Vec<(String, Remark)> {
    let mut found = Vec::new();
    let none = Vec::new();
    for package in metadata["packages"].as_array().unwrap_or(&none) {
        let Some(name) = package["name"].as_str().and_then(crate_name) else { continue };
        let dependencies = package["dependencies"].as_array().unwrap_or(&none);
        let imported =
            dependencies.iter().filter_map(|it| it["name"].as_str().and_then(crate_name));
        let is_shipped = |it: &&Value| {
            it["kind"] != "dev" && it["name"].as_str().and_then(crate_name) == Some(TESTING)
        };
        if dependencies.iter().any(|it| is_shipped(&it)) {
            let what = format!("`{name}` ships `{TESTING}`");
            let remedy = "import it among the dev-dependencies".to_owned();
            found.push((format!("crates/{name}/Cargo.toml"), (1, what, remedy)));
        }
        if applications.contains(&name) {
            for other in imported.filter(|other| !known.contains(other)) {
                let what = format!("the application `{name}` imports `{other}`");
                let remedy = format!("an application knows none of our crates but {known:?}");
                found.push((format!("apps/{name}/Cargo.toml"), (1, what, remedy)));
            }
            continue;
        }
        let path = format!("crates/{name}/Cargo.toml");
        let Some(own) = floor_of(floors, name) else {
            let what = format!("the crate `{name}` has no floor");
            let remedy = "give it one in xtask/src/tidy/floors.rs and docs/architecture.md";
            found.push((path, (1, what, remedy.to_owned())));
            continue;
        };
        for other in imported {
            if applications.contains(&other) {
                let what = format!("`{name}` imports `{other}`, which is an application");
                let remedy = "an application is run, and asked over the network".to_owned();
                found.push((path.clone(), (1, what, remedy)));
            }
            // A crate without a floor is named once, at its own package.
            if floor_of(floors, other).is_some_and(|floor| floor >= own) {
                let what = format!("`{name}` imports `{other}`, which is on no lower floor");
                let remedy = "move what both need down, or the import up".to_owned();
                found.push((path.clone(), (1, what, remedy)));
            }
        }
    }
    found
}

/// Compares the page's table, rows `| floor | `crate` … |`, with the list.
fn table(floors: &Floors<'_>, page: &str) -> Vec<Remark> {
    let mut shown: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for (index, line) in page.lines().enumerate() {
        let mut cells = line.split('|').skip(1).map(str::trim);
        let (Some(floor), Some(cell)) = (cells.next(), cells.next()) else { continue };
        let Some(name) = cell.split('`').nth(1) else { continue };
        if matches!(floor, "ground" | "foundation") || floor.parse::<u8>().is_ok() {
            shown.insert(name, (index + 1, floor));
        }
    }
    let mut found = Vec::new();
    let remedy = || "make the table equal to the list in xtask/src/tidy/floors.rs".to_owned();
    for (floor, crates) in floors {
        for name in *crates {
            match shown.remove(name) {
                Some((_, page_floor)) if page_floor == *floor => {}
                Some((line, page_floor)) => {
                    let what = format!("`{name}` is on floor {floor}, not {page_floor}");
                    found.push((line, what, remedy()));
                }
                None => {
                    found.push((1, format!("the crate `{name}` is not in the table"), remedy()));
                }
            }
        }
    }
    for (name, (line, _)) in shown {
        found.push((line, format!("there is no crate `{name}`"), remedy()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &Floors<'static> =
        &[("ground", &["base"]), ("0", &["one", "two"]), ("5", &["cli"])];

    fn whats(metadata: &str) -> Vec<String> {
        let metadata = serde_json::from_str(metadata).expect("the fixture is JSON");
        imports(SMALL, (&["shop"], &["base"]), &metadata)
            .into_iter()
            .map(|(_, (_, what, _))| what)
            .collect()
    }

    #[test]
    fn imports_go_downwards() {
        let good = r#"{"packages": [
            {"name": "plimsoll-base", "dependencies": [{"name": "serde"}]},
            {"name": "plimsoll-one", "dependencies": [{"name": "plimsoll-base", "kind": "dev"}]},
            {"name": "plimsoll", "dependencies": [{"name": "plimsoll-one"}]},
            {"name": "xtask", "dependencies": []}]}"#;
        assert_eq!(whats(good), Vec::<String>::new());
    }

    #[test]
    fn imports_upwards_and_sideways_are_found() {
        let bad = r#"{"packages": [
            {"name": "plimsoll-base", "dependencies": [{"name": "plimsoll-one", "kind": "dev"}]},
            {"name": "plimsoll-one", "dependencies": [{"name": "plimsoll-two"}]},
            {"name": "plimsoll-three", "dependencies": []}]}"#;
        let expected = [
            "`base` imports `one`, which is on no lower floor",
            "`one` imports `two`, which is on no lower floor",
            "the crate `three` has no floor",
        ];
        assert_eq!(whats(bad), expected);
    }

    #[test]
    fn what_tests_share_is_not_shipped() {
        let of = |kind: &str| {
            let dependency = format!(r#"{{"name": "plimsoll-testing"{kind}}}"#);
            whats(&format!(
                r#"{{"packages": [{{"name": "plimsoll-one", "dependencies": [{dependency}]}}]}}"#
            ))
        };
        assert_eq!(of(r#", "kind": "dev""#), Vec::<String>::new());
        assert_eq!(of(r#", "kind": null"#), ["`one` ships `testing`"]);
    }

    #[test]
    fn applications_stand_beside_the_floors() {
        let of = |of_shop: &str, of_cli: &str| {
            whats(&format!(
                r#"{{"packages": [
                {{"name": "plimsoll-base", "dependencies": []}},
                {{"name": "plimsoll-shop", "dependencies": [{{"name": "plimsoll-{of_shop}"}}]}},
                {{"name": "plimsoll", "dependencies": [{{"name": "plimsoll-{of_cli}"}}]}}]}}"#
            ))
        };
        assert_eq!(of("base", "one"), Vec::<String>::new());
        let expected = [
            "the application `shop` imports `one`",
            "`cli` imports `shop`, which is an application",
        ];
        assert_eq!(of("one", "shop"), expected);
    }

    #[test]
    fn the_page_shows_the_same_floors() {
        let page = "| floor | crate | |\n| --- | --- | --- |\n| 5 | `cli` (binary `plimsoll`) | |\n\
                    | 0 | `one` | |\n| 0 | `two` | |\n| ground | `base` | |\n";
        assert!(table(SMALL, page).is_empty());
        let lines = |page: &str| -> Vec<usize> {
            table(SMALL, page).into_iter().map(|(line, ..)| line).collect()
        };
        assert_eq!(lines(&page.replace("| 0 | `two`", "| 1 | `two`")), [5]);
        assert_eq!(lines(&page.replace("`two`", "`three`")), [1, 5]);
    }
}
