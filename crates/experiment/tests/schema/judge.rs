//! What is wrong with a value by a schema. Every keyword that our schemas have is known here;
//! another one is a fault of the test.

use serde_json::{Value as Json, json};

/// What of a value is wrong by a schema, each with its path.
pub(crate) fn wrong(schema: &Json, value: &Json) -> Vec<String> {
    Judge { whole: schema }.of(schema, value, "")
}

struct Judge<'s> {
    /// What references are into.
    whole: &'s Json,
}

impl Judge<'_> {
    fn of(&self, schema: &Json, value: &Json, path: &str) -> Vec<String> {
        let rules = schema.as_object().unwrap_or_else(|| panic!("{path}: no schema but {schema}"));
        let mut found = Vec::new();
        for (keyword, rule) in rules {
            match keyword.as_str() {
                "properties"
                | "additionalProperties"
                | "items"
                | "propertyNames"
                | "dependencies" => found.extend(self.within(schema, keyword, value, path)),
                "$ref" => {
                    let pointer = rule.as_str().unwrap().strip_prefix('#').unwrap();
                    let of = self.whole.pointer(pointer).unwrap_or_else(|| panic!("no {pointer}"));
                    found.extend(self.of(of, value, path));
                }
                "if" => {
                    let holds = self.fits(rule, value, path);
                    if let Some(rule) = schema.get(if holds { "then" } else { "else" }) {
                        found.extend(self.of(rule, value, path));
                    }
                }
                _ if self.holds(keyword, rule, value, path) => {}
                _ => found.push(format!("{path}: {keyword} of {value}")),
            }
        }
        found
    }

    fn fits(&self, schema: &Json, value: &Json, path: &str) -> bool {
        self.of(schema, value, path).is_empty()
    }

    /// Whether a value is right by a keyword that looks at no more than it.
    fn holds(&self, keyword: &str, rule: &Json, value: &Json, path: &str) -> bool {
        let (number, limit) = (value.as_f64(), rule.as_f64().unwrap_or(f64::NAN));
        let length = value.as_array().map(|items| items.len() as f64);
        match keyword {
            // The last three are looked at elsewhere.
            "$schema" | "title" | "description" | "default" | "examples" | "definitions"
            | "then" | "else" => true,
            "type" => {
                let types = rule.as_array().cloned().unwrap_or_else(|| vec![rule.clone()]);
                types.iter().any(|of| is_of(value, of.as_str().unwrap()))
            }
            "enum" => rule.as_array().unwrap().contains(value),
            "const" => rule == value,
            "anyOf" => rule.as_array().unwrap().iter().any(|rule| self.fits(rule, value, path)),
            "not" => !self.fits(rule, value, path),
            "minimum" => number.is_none_or(|number| number >= limit),
            "maximum" => number.is_none_or(|number| number <= limit),
            "exclusiveMinimum" => number.is_none_or(|number| number > limit),
            "required" => names(rule).all(|name| value.get(name).is_some()),
            "minLength" => value.as_str() != Some(""),
            "minItems" => length.is_none_or(|length| length >= limit),
            "maxItems" => length.is_none_or(|length| length <= limit),
            "pattern" => value.as_str().is_none_or(|text| matches(rule.as_str().unwrap(), text)),
            other => panic!("{path}: the keyword {other} is not known to this test"),
        }
    }

    /// What is wrong with what is in a value.
    fn within(&self, schema: &Json, keyword: &str, value: &Json, path: &str) -> Vec<String> {
        let rule = &schema[keyword];
        let mut found = Vec::new();
        if keyword == "items" {
            for (number, item) in value.as_array().into_iter().flatten().enumerate() {
                found.extend(self.of(rule, item, &format!("{path}[{number}]")));
            }
        }
        let properties = |name: &str| schema.get("properties").and_then(|all| all.get(name));
        for (name, of) in value.as_object().into_iter().flatten() {
            let inner = format!("{path}.{name}");
            match (properties(name), keyword, rule) {
                (Some(rule), "properties", _) => found.extend(self.of(rule, of, &inner)),
                (None, "additionalProperties", Json::Bool(false)) => {
                    found.push(format!("{inner}: no such key"));
                }
                (None, "additionalProperties", rule) => found.extend(self.of(rule, of, &inner)),
                (_, "propertyNames", rule) => {
                    found.extend(self.of(rule, &json!(name), &format!("{inner}: name")));
                }
                (_, "dependencies", rule) => match rule.get(name) {
                    Some(Json::Array(_))
                        if names(&rule[name]).all(|of| value.get(of).is_some()) => {}
                    Some(Json::Array(_)) => {
                        found.push(format!("{inner}: goes with {}", rule[name]));
                    }
                    Some(rule) => found.extend(self.of(rule, value, path)),
                    None => {}
                },
                _ => {}
            }
        }
        found
    }
}

fn names(of: &Json) -> impl Iterator<Item = &str> {
    of.as_array().unwrap().iter().map(|name| name.as_str().unwrap())
}

/// Whether one of the patterns of our schemas matches a text.
fn matches(pattern: &str, text: &str) -> bool {
    if let Some(begins) = pattern.strip_prefix('^').filter(|rest| !rest.contains(['[', '('])) {
        return text.starts_with(begins);
    }
    match pattern {
        "^[A-Za-z_][A-Za-z0-9_-]*$" => {
            let goes_on = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
            text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && text.bytes().all(goes_on)
        }
        "^(/([^~]|~[01])*)?$" => {
            let is_escaped = |(at, _)| matches!(text.as_bytes().get(at + 1), Some(b'0' | b'1'));
            text.is_empty() || text.starts_with('/') && text.match_indices('~').all(is_escaped)
        }
        other => panic!("the pattern {other} is not known to this test"),
    }
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

/// A text as the editors see it: a date is a text.
pub(crate) fn as_json(text: &str) -> Json {
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
