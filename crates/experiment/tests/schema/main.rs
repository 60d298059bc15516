//! The schemas of plans and of scenarios: every one that the reader takes is right by its schema,
//! and what a schema is for, keys and words, is wrong by it where the reader says so.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod judge;
mod scenarios;

use judge::{as_json, wrong};
use plimsoll_experiment::{VOCABULARY, plans};
use plimsoll_plan::{PlanKind, Written, compares_caches, kind_of, schema, sections};
use serde_json::json;
use std::path::{Path, PathBuf};

/// All plans of the examples, and those that the tests read and print.
fn plans() -> Vec<PathBuf> {
    fn collect(folder: &Path, all: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let extension = entry.extension().and_then(|name| name.to_str()).unwrap_or("");
            if entry.is_dir() {
                collect(&entry, all);
            } else if ["toml", "printed"].contains(&extension) {
                all.push(entry);
            }
        }
    }
    let mut all = Vec::new();
    for folder in ["../../examples", "../plan/tests/plans", "../plan/tests/caches"] {
        collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut all);
    }
    all.sort();
    all
}

/// Whether the reader takes a text.
fn is_read(text: &str) -> bool {
    match kind_of(text) {
        PlanKind::Caches if compares_caches(text) => {
            plans::read_caches(&Written::text(text, "plan.toml", &[])).is_ok()
        }
        PlanKind::Caches => plans::read_clusters(&Written::text(text, "plan.toml", &[])).is_ok(),
        _ => plans::read(&Written::text(text, "plan.toml", &[])).is_ok(),
    }
}

#[test]
fn every_plan_is_right_by_the_schema() {
    let schema = schema(&VOCABULARY);
    let mut seen = 0;
    for path in plans() {
        let text = std::fs::read_to_string(&path).unwrap();
        if is_read(&text) {
            seen += 1;
            let found = wrong(&schema, &as_json(&text));
            assert!(found.is_empty(), "{}:\n{}", path.display(), found.join("\n"));
        }
    }
    assert!(seen >= 25, "only {seen} plans");
}

#[test]
fn what_the_schema_is_for_is_wrong_by_it() {
    let schema = schema(&VOCABULARY);
    for text in [
        "[target]\nurll = 'http://h/'\n",
        "[targets]\n",
        "[target]\nurl = 5\n",
        "[target]\nhttp = '3'\n",
        "[load]\nusers = 0\n",
        "[load]\npacing = 'exact'\n",
        "[load]\nconnections = -1\n",
        "[load.trace]\nfil = 'x'\n",
        "[load]\ntrace = ''\n",
        "[target]\ninsecure = 'true'\n",
        "[target.headers]\nAccept = 5\n",
        "[instance]\nslowdown = []\n",
        "[instance]\nlimit = 0\n",
        "[policy]\ncalm = 5\n",
        "[policy.calm]\nupper = [60]\n",
        "[policy.calm]\nkind = 'threshold'\nuper = 60\n",
        "[tune]\nminimise = 'cots'\n",
        "[cluster.mesh]\nsizes = '1GB'\n",
        "[workload.class.page]\nsizes = '1kB'\n",
        "[search]\nmethod = 'fast'\n",
        "repeat = 1.5\n",
    ] {
        assert!(!is_read(text), "{text}");
        assert!(!wrong(&schema, &as_json(text)).is_empty(), "{text}");
    }
}

#[test]
fn every_key_is_described() {
    let schema = schema(&VOCABULARY);
    for section in sections() {
        let mut of = &schema;
        for part in section.path.split('.').filter(|part| !part.is_empty()) {
            of = match part {
                "LABEL" => &of["additionalProperties"],
                _ => &of["properties"][part],
            };
            // A table that may be shortened to a text, or a kind of policy.
            of = of.get("anyOf").and_then(|ways| ways.as_array()?.last()).unwrap_or(of);
        }
        for key in section.keys() {
            let property = &of["properties"][key.name];
            let is_said = property["description"] == json!(key.about());
            // The kind of a policy says what that kind is.
            let is_kind = (section.path, key.name) == ("policy.LABEL", "kind");
            assert!(is_said || is_kind, "{}.{}: {property}", section.path, key.name);
        }
    }
}
