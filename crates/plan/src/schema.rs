//! A JSON Schema of plans, draft 2020-12, made of the lists of keys: editors that know TOML complete
//! keys by it, and mark what is wrong. What it refuses the reader refuses too; the reader refuses
//! more, as it knows the grammar of every text, and what goes with what.

use serde_json::{Map, Value as Json, json};

use crate::key::{Key, SectionKeys, Without};
use crate::sections::SECTIONS;

/// The name that stands in paths for a name of the user's choice.
const LABEL: &str = "LABEL";

/// The schema of every plan, of whatever kind.
#[must_use]
pub fn schema() -> Json {
    let mut schema = section(SECTIONS[0]);
    let entries = [
        ("$schema", json!("https://json-schema.org/draft/2020-12/schema")),
        ("title", json!("A plan of Plimsoll")),
    ];
    if let Some(object) = schema.as_object_mut() {
        object.extend(entries.map(|(key, value)| (key.to_owned(), value)));
    }
    schema
}

/// The section whose path is that of a key within another.
fn at(path: &str) -> Option<&'static SectionKeys> {
    SECTIONS.iter().find(|section| section.path == path).copied()
}

fn section(of: &SectionKeys) -> Json {
    let mut schema = table(of);
    // In some stands a table of the user's name for each of several, and in a policy the parameters
    // of its kind.
    match of.path {
        "cluster" => schema["additionalProperties"] = table(of),
        "policy.LABEL" => {
            schema["additionalProperties"] = json!({"type": ["string", "number", "boolean"]});
        }
        _ => {}
    }
    schema
}

/// A table of nothing but the keys of a section.
fn table(of: &SectionKeys) -> Json {
    let keys = of.keys().map(|key| (key.name.to_owned(), property(of, key)));
    json!({
        "type": "object",
        "description": of.about.trim(),
        "properties": keys.collect::<Map<String, Json>>(),
        "additionalProperties": false,
    })
}

fn property(of: &SectionKeys, key: &Key) -> Json {
    let path = match of.path {
        "" => key.name.to_owned(),
        section => format!("{section}.{}", key.name),
    };
    let mut schema = match (at(&path), at(&format!("{path}.{LABEL}"))) {
        (Some(inner), _) if inner.shorthand.is_some() => {
            json!({"anyOf": [{"type": "string", "minLength": 1}, section(inner)]})
        }
        (Some(inner), _) => section(inner),
        (None, Some(inner)) => {
            json!({"type": "object", "additionalProperties": section(inner)})
        }
        (None, None) => key.takes.schema(),
    };
    schema["description"] = json!(key.about());
    if let Without::Value(_) = key.without
        && let Some(default) = key.default()
    {
        schema["default"] = value(&default);
    }
    let example = key.example();
    if !example.is_empty() && at(&path).is_none() {
        schema["examples"] = json!([value(example.trim_matches('"'))]);
    }
    schema
}

/// A value of a plan as JSON: a number or a switch, else a text.
fn value(text: &str) -> Json {
    let is_plain = |value: &Json| value.is_number() || value.is_boolean() || value.is_array();
    serde_json::from_str(text).ok().filter(is_plain).unwrap_or_else(|| json!(text))
}
