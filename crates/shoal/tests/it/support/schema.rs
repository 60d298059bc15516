//! Whether a value is what a schema of the `OpenAPI` document says: the words of JSON Schema
//! that the document uses, and no others. An object's members must all be described.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// What is wrong with `value`, each with its path.
pub(crate) fn faults(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut check = Check { document, faults: Vec::new() };
    let described = check.value("", schema, value);
    check.undescribed("", value, described.as_ref());
    check.faults
}

/// What a reference stands for.
pub(crate) fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(reference) => {
            let pointer = reference.strip_prefix('#').expect("a reference into the document");
            document.pointer(pointer).unwrap_or_else(|| panic!("nothing at {reference}"))
        }
        None => schema,
    }
}

struct Check<'a> {
    document: &'a Value,
    faults: Vec<String>,
}

/// The members that a schema speaks of; `None`: all.
type Described = Option<BTreeSet<String>>;

impl Check<'_> {
    fn fault(&mut self, path: &str, what: &str, value: &Value) {
        self.faults.push(format!("{path}: {what}: {value}"));
    }

    fn value(&mut self, path: &str, schema: &Value, value: &Value) -> Described {
        let schema = resolved(self.document, schema).as_object().expect("a schema").clone();
        let mut described = Some(BTreeSet::new());
        for (word, wanted) in &schema {
            if let Some(more) = self.word(path, &schema, word, wanted, value) {
                match (&mut described, more) {
                    (Some(all), Some(more)) => all.extend(more),
                    (all, _) => *all = None,
                }
            }
        }
        described
    }

    /// Checks one word; what it describes, if it is one that does.
    fn word(
        &mut self,
        path: &str,
        schema: &Map<String, Value>,
        word: &str,
        wanted: &Value,
        value: &Value,
    ) -> Option<Described> {
        match word {
            "allOf" => {
                let parts = wanted.as_array().unwrap().iter();
                let parts: Vec<Described> =
                    parts.map(|part| self.value(path, part, value)).collect();
                let all: Option<Vec<_>> = parts.into_iter().collect();
                Some(all.map(|parts| parts.into_iter().flatten().collect()))
            }
            "properties" => {
                let wanted = wanted.as_object().unwrap();
                for (key, schema) in wanted {
                    if let Some(member) = value.get(key) {
                        self.member(&format!("{path}/{key}"), schema, member);
                    }
                }
                Some(Some(wanted.keys().cloned().collect()))
            }
            "additionalProperties" => {
                let named = schema.get("properties").and_then(Value::as_object);
                let named = |key: &String| named.is_some_and(|named| named.contains_key(key));
                for (key, member) in value.as_object().into_iter().flatten() {
                    if *wanted != true && !named(key) {
                        self.member(&format!("{path}/{key}"), wanted, member);
                    }
                }
                Some(None)
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    self.member(&format!("{path}/{index}"), wanted, item);
                }
                None
            }
            "anyOf" => {
                let fits = |one| {
                    let mut check = Check { document: self.document, faults: Vec::new() };
                    check.value(path, one, value);
                    check.faults.is_empty()
                };
                if !wanted.as_array().unwrap().iter().any(fits) {
                    self.fault(path, &format!("none of {wanted}"), value);
                }
                None
            }
            _ => {
                if !holds(word, wanted, value) {
                    self.fault(path, &format!("not {word} {wanted}"), value);
                }
                None
            }
        }
    }

    /// Checks a member of an object or an item of a list.
    fn member(&mut self, path: &str, schema: &Value, value: &Value) {
        let described = self.value(path, schema, value);
        self.undescribed(path, value, described.as_ref());
    }

    /// Members of an object that no schema speaks of are faults.
    fn undescribed(&mut self, path: &str, value: &Value, described: Option<&BTreeSet<String>>) {
        let Some(described) = described else { return };
        for key in value.as_object().into_iter().flat_map(Map::keys) {
            if !described.contains(key) {
                self.fault(path, "a member that is not described", &key.as_str().into());
            }
        }
    }
}

/// Whether a word that looks at one value only holds of it.
fn holds(word: &str, wanted: &Value, value: &Value) -> bool {
    let limit = wanted.as_f64();
    let number = |fits: fn(&f64, &f64) -> bool| {
        value.as_f64().is_none_or(|x| fits(&x, &limit.expect("a limit")))
    };
    let items = value.as_str().map(str::len).or(value.as_array().map(Vec::len));
    let length = |fits: fn(&u64, &u64) -> bool| {
        items.is_none_or(|n| fits(&(n as u64), &wanted.as_u64().expect("a length")))
    };
    match word {
        "description" | "default" => true,
        "type" => one_or_more(wanted).any(|name| is_of(name, value)),
        "enum" => wanted.as_array().unwrap().contains(value),
        "const" => wanted == value,
        "minimum" => number(f64::ge),
        "maximum" => number(f64::le),
        "exclusiveMinimum" => number(f64::gt),
        "minLength" => length(u64::ge),
        "maxLength" | "maxItems" => length(u64::le),
        "pattern" => value.as_str().is_none_or(|text| matches(wanted.as_str().unwrap(), text)),
        "required" => !value.is_object() || one_or_more(wanted).all(|key| value.get(key).is_some()),
        _ => panic!("this check does not know `{word}`"),
    }
}

fn one_or_more(words: &Value) -> impl Iterator<Item = &str> {
    let many = words.as_array().map(Vec::as_slice).unwrap_or_default();
    words.as_str().into_iter().chain(many.iter().filter_map(Value::as_str))
}

fn is_of(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        _ => panic!("`{name}` is no type"),
    }
}

/// The document's patterns, each by hand.
fn matches(pattern: &str, text: &str) -> bool {
    let all = |most: usize, of: &dyn Fn(char) -> bool| {
        (1..=most).contains(&text.len()) && text.chars().all(of)
    };
    match pattern {
        "^[0-9a-f]{16}$" => {
            text.len() == 16 && text.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'))
        }
        "^[A-Za-z0-9.-]{1,253}$" => {
            all(253, &|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'))
        }
        "^([A-Za-z0-9.-]{1,253}|\\[[0-9a-f:.]{2,45}\\])$" => {
            let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
            inner.map_or_else(
                || all(253, &|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-')),
                |inner| inner.parse::<std::net::Ipv6Addr>().is_ok(),
            )
        }
        "^[A-Za-z0-9._-]{1,64}$" => {
            all(64, &|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
        }
        "^[A-Za-z0-9-]{1,64}$" => all(64, &|c| c.is_ascii_alphanumeric() || c == '-'),
        "^[ -~]{1,64}$" => all(64, &|c| matches!(c, ' '..='~')),
        "^[0-9]{1,5}$" => all(5, &|c| c.is_ascii_digit()),
        "^[0-9]{1,19}$" => all(19, &|c| c.is_ascii_digit()),
        "^[0-9A-Fa-f]{64}$" => text.len() == 64 && all(64, &|c| c.is_ascii_hexdigit()),
        "^[A-Z]{2}$" => text.len() == 2 && text.chars().all(|c| c.is_ascii_uppercase()),
        "^[0-9]+(,[0-9]+)*\n$" => text.strip_suffix('\n').is_some_and(|line| {
            line.split(',').all(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        }),
        "^Bad Request: " => text.starts_with("Bad Request: "),
        _ => panic!("this check does not know the pattern {pattern}"),
    }
}
