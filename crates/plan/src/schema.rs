//! A JSON Schema of plans, draft 2020-12, made of the lists of keys: editors that know TOML
//! complete keys by it, and mark what is wrong. What it refuses the reader refuses too; the reader
//! refuses more, as it knows the grammar of every text, and what goes with what.

use plimsoll_units::parameter::Takes;
use serde_json::{Map, Value as Json, json};

use crate::describe::Meant;
use crate::key::{Key, SectionKeys, Without};
use crate::sections::{SECTIONS, section_at};
use crate::vocabulary::{Named, Vocabulary};

/// The schema of every plan, of whatever kind.
#[must_use]
pub fn schema(vocabulary: &Vocabulary) -> Json {
    let mut schema = Schema { vocabulary }.section(SECTIONS[0]);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("A plan of Plimsoll");
    schema
}

struct Schema<'a> {
    vocabulary: &'a Vocabulary,
}

impl Schema<'_> {
    fn section(&self, of: &SectionKeys) -> Json {
        let mut schema = self.table(of);
        match of.path {
            // Beside what holds for all of them stands a table of the user's name for each.
            "cluster" | "instance" => schema["additionalProperties"] = self.table(of),
            "policy.LABEL" => {
                let kinds = self.vocabulary.policies.iter();
                let kinds: Vec<_> = kinds.map(|kind| policy(schema.clone(), kind)).collect();
                return json!({"description": of.about.trim(), "anyOf": kinds});
            }
            _ => {}
        }
        schema
    }

    /// A table of nothing but the keys of a section.
    fn table(&self, of: &SectionKeys) -> Json {
        let keys = of.keys().map(|key| (key.name.to_owned(), self.property(of, key)));
        json!({
            "type": "object",
            "description": of.about.trim(),
            "properties": keys.collect::<Map<String, Json>>(),
            "additionalProperties": false,
        })
    }

    fn property(&self, of: &SectionKeys, key: &Key) -> Json {
        let path = match of.path {
            "" => key.name.to_owned(),
            section => format!("{section}.{}", key.name),
        };
        let inner = section_at(&path);
        let mut schema = match (inner, section_at(&format!("{path}.LABEL"))) {
            (Some(inner), _) if inner.shorthand.is_some() => {
                json!({"anyOf": [{"type": "string", "minLength": 1}, self.section(inner)]})
            }
            (Some(inner), _) => self.section(inner),
            (None, Some(one)) => {
                json!({"type": "object", "additionalProperties": self.section(one)})
            }
            (None, None) => key.takes.schema(),
        };
        schema["description"] = json!(key.about());
        if let (Without::Value(_), Some(default)) = (key.without, key.default()) {
            schema["default"] = value(&default);
        }
        if inner.is_none() && !key.example.is_empty() {
            schema["examples"] = json!([value(key.example)]);
        }
        match key.takes.meant() {
            Some(meant @ Meant::Figure) => schema["enum"] = names(self.vocabulary.names(meant)),
            Some(meant) => schema["examples"] = names(self.vocabulary.names(meant)),
            None => {}
        }
        schema
    }
}

/// A policy of a kind: what every policy has, and its parameters.
fn policy(mut schema: Json, kind: &Named) -> Json {
    schema["description"] = json!(kind.about);
    schema["required"] = json!(["kind"]);
    schema["properties"]["kind"] = json!({"const": kind.name, "description": kind.about});
    for of in kind.parameters {
        let default = match of.default {
            "–" => String::new(),
            default => format!(" Default: {default}."),
        };
        let about = format!("{} Takes {}.{default}", of.about, of.takes.words());
        schema["properties"][of.name] = parameter(&of.takes);
        schema["properties"][of.name]["description"] = json!(about);
    }
    schema
}

/// What a parameter takes; a number, and a switch, may stand in quotes.
fn parameter(takes: &Takes) -> Json {
    match takes {
        Takes::Number(least, most) => {
            json!({"type": ["number", "string"], "minimum": least, "maximum": most})
        }
        Takes::Count(least, most) => {
            json!({"type": ["integer", "string"], "minimum": least, "maximum": most})
        }
        Takes::Switch => json!({"enum": [true, false, "true", "false"]}),
        Takes::Word(words) => json!({"enum": words}),
        Takes::WordOr(words, begins, _) => {
            json!({"anyOf": [{"enum": words}, {"type": "string", "pattern": format!("^{begins}")}]})
        }
        Takes::Duration(..) | Takes::Text(_) => json!({"type": ["string", "number"]}),
    }
}

fn names(of: &[Named]) -> Json {
    of.iter().map(|named| named.name).collect()
}

/// A value of a plan as JSON: a number, a switch or a list, else a text.
fn value(text: &str) -> Json {
    let is_plain = |value: &Json| value.is_number() || value.is_boolean() || value.is_array();
    serde_json::from_str(text).ok().filter(is_plain).unwrap_or_else(|| json!(text))
}
