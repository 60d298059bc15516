//! The schema of plans: every plan that the reader takes is right by it, and what it is for, keys
//! and words, is wrong by it where the reader says so.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use plimsoll_experiment::{VOCABULARY, plans};
use plimsoll_plan::{PlanKind, Written, compares_caches, kind_of, schema, sections};
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};

/// What of a value is wrong by a schema, each with its path. Every keyword that the schema of plans
/// has is known here; another one is a fault of the test.
fn wrong(schema: &Json, value: &Json, path: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut expect = |is_right: bool, keyword: &str| {
        if !is_right {
            found.push(format!("{path}: {keyword} of {value}"));
        }
    };
    let mut inner = Vec::new();
    let rules = schema.as_object().unwrap_or_else(|| panic!("{path}: no schema but {schema}"));
    let properties = |name: &str| schema.get("properties").and_then(|all| all.get(name));
    for (keyword, rule) in rules {
        let (number, limit) = (value.as_f64(), rule.as_f64().unwrap_or(f64::NAN));
        let length = value.as_array().map(|items| items.len() as f64);
        match keyword.as_str() {
            "$schema" | "title" | "description" | "default" | "examples" => {}
            "type" => {
                let types = rule.as_array().cloned().unwrap_or_else(|| vec![rule.clone()]);
                expect(types.iter().any(|of| is_of(value, of.as_str().unwrap())), keyword);
            }
            "enum" => expect(rule.as_array().unwrap().contains(value), keyword),
            "const" => expect(rule == value, keyword),
            "anyOf" => {
                let all = rule.as_array().unwrap();
                let fits = all.iter().any(|schema| wrong(schema, value, path).is_empty());
                expect(fits, keyword);
            }
            "minimum" => expect(number.is_none_or(|number| number >= limit), keyword),
            "maximum" => expect(number.is_none_or(|number| number <= limit), keyword),
            "exclusiveMinimum" => expect(number.is_none_or(|number| number > limit), keyword),
            "required" => {
                let names = rule.as_array().unwrap().iter();
                expect(
                    names.clone().all(|name| value.get(name.as_str().unwrap()).is_some()),
                    keyword,
                );
            }
            "minLength" => expect(value.as_str() != Some(""), keyword),
            "minItems" => expect(length.is_none_or(|length| length >= limit), keyword),
            "maxItems" => expect(length.is_none_or(|length| length <= limit), keyword),
            "items" => {
                for (number, item) in value.as_array().into_iter().flatten().enumerate() {
                    inner.extend(wrong(rule, item, &format!("{path}[{number}]")));
                }
            }
            "properties" | "additionalProperties" => {
                for (name, of) in value.as_object().into_iter().flatten() {
                    let path = format!("{path}.{name}");
                    match (properties(name), keyword.as_str(), rule) {
                        (Some(rule), "properties", _) => inner.extend(wrong(rule, of, &path)),
                        (None, "additionalProperties", Json::Bool(false)) => {
                            inner.push(format!("{path}: no such key"));
                        }
                        (None, "additionalProperties", rule) => {
                            inner.extend(wrong(rule, of, &path));
                        }
                        _ => {}
                    }
                }
            }
            other => panic!("{path}: the keyword {other} is not known to this test"),
        }
    }
    found.extend(inner);
    found
}

fn is_of(value: &Json, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        other => panic!("no type {other}"),
    }
}

/// A plan's text as the editors see it: a date is a text.
fn as_json(text: &str) -> Json {
    fn table(of: &dyn toml_edit::TableLike) -> Json {
        of.iter().map(|(key, item)| (key.to_owned(), json(item))).collect()
    }
    fn value(of: &toml_edit::Value) -> Json {
        match of {
            toml_edit::Value::String(text) => json!(text.value()),
            toml_edit::Value::Integer(number) => json!(number.value()),
            toml_edit::Value::Float(number) => json!(number.value()),
            toml_edit::Value::Boolean(switch) => json!(switch.value()),
            toml_edit::Value::Datetime(moment) => json!(moment.value().to_string()),
            toml_edit::Value::Array(items) => items.iter().map(value).collect(),
            toml_edit::Value::InlineTable(inner) => table(inner),
        }
    }
    fn json(item: &toml_edit::Item) -> Json {
        match item {
            toml_edit::Item::None => Json::Null,
            toml_edit::Item::Value(of) => value(of),
            toml_edit::Item::Table(inner) => table(inner),
            toml_edit::Item::ArrayOfTables(tables) => {
                tables.iter().map(|inner| table(inner)).collect()
            }
        }
    }
    let document: toml_edit::DocumentMut = text.parse().unwrap();
    table(document.as_table())
}

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
            let found = wrong(&schema, &as_json(&text), "");
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
        assert!(!wrong(&schema, &as_json(text), "").is_empty(), "{text}");
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
