//! What the reader says of wrong plans, as committed text: `tests/golden/NAME.toml` gives
//! `NAME.txt`. Names that begin with `caches` are of plans of clusters. Lines `#! --flag key=value` at the top of a plan are flags laid over it.
//!
//! Made anew by `PLIMSOLL_BLESS=1 cargo test -p plimsoll-plan golden`, and read as a diff.

use std::path::{Path, PathBuf};

use plimsoll_plan::Setting;

use crate::caches;

fn settings(text: &str) -> Vec<Setting> {
    let flags = text.lines().map_while(|line| line.strip_prefix("#! "));
    flags
        .map(|line| {
            let (origin, pair) = line.split_once(' ').unwrap();
            let (key, value) = pair.split_once('=').unwrap();
            Setting::new(key, value, origin.replace('_', " "))
        })
        .collect()
}

fn plans() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut plans: Vec<_> = files.filter(|p| p.extension().is_some_and(|e| e == "toml")).collect();
    plans.sort();
    plans
}

#[test]
fn golden_errors() {
    let bless = std::env::var_os("PLIMSOLL_BLESS").is_some();
    let mut differ = Vec::new();
    let plans = plans();
    assert!(plans.len() > 10);
    for path in plans {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let settings = settings(&text);
        let read = if name.starts_with("caches") {
            caches::read(&text, name, &settings).map(|plan| plan.to_toml())
        } else {
            crate::parse_with(&text, name, &settings).map(|plan| plan.to_toml())
        };
        let said = match read {
            Ok(printed) => panic!("{name} is a right plan:\n{printed}"),
            Err(errors) => format!("{errors}\n"),
        };
        assert!(!said.contains("hunter2") && !said.contains("secret-password"), "{name}:\n{said}");
        let golden = path.with_extension("txt");
        if bless {
            std::fs::write(&golden, &said).unwrap();
        } else if std::fs::read_to_string(&golden).unwrap_or_default() != said {
            differ.push(format!("{}:\n{said}", golden.display()));
        }
    }
    assert!(
        differ.is_empty(),
        "{}\nPLIMSOLL_BLESS=1 cargo test -p plimsoll-plan golden writes them anew",
        differ.join("\n")
    );
}
