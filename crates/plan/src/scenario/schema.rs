//! A JSON Schema of scenarios, made of the lists of keys that the reader refuses by.
//!
//! It is of draft 7, and one verb a step is said by `dependencies`: the editors that check TOML by
//! schemas know these words, and name the key that is wrong. Of a step as one of several tables
//! (`oneOf`) they would only say that none of them fits, `dependentSchemas` they pass over, and
//! `allOf` in what holds itself has made one run out of stack.

use serde_json::{Map, Value as Json, json};

use crate::scenario::keys::{BOUNDS, TOP, VERBS};
use crate::scenario::known::RESERVED;
use crate::scenario::shape::{Key, Naming, Shape, Table, Verb};

/// The schema of every scenario. What it refuses the reader refuses too; the reader refuses more,
/// as it knows what the names within texts stand for.
#[must_use]
pub fn schema() -> Json {
    let mut schema = table(&TOP);
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    schema["title"] = json!("A scenario of Plimsoll");
    schema["description"] = json!("What a user does, step by step.");
    schema["definitions"] = json!({"step": step()});
    schema
}

/// A table of nothing but its keys.
fn table(of: &Table) -> Json {
    let mut schema = json!({
        "type": "object",
        "properties": properties(of.keys.iter()),
        "additionalProperties": false,
    });
    bind(&mut schema, of);
    schema
}

fn properties<'k>(keys: impl Iterator<Item = &'k Key>) -> Json {
    Json::Object(keys.map(|key| (key.name.to_owned(), described(key))).collect())
}

/// What a key takes, and what it means.
fn described(key: &Key) -> Json {
    let mut schema = shape(&key.shape);
    schema["description"] = json!(key.about);
    schema
}

/// Says which keys have to be there, and which go with which.
fn bind(schema: &mut Json, of: &Table) {
    if !of.required.is_empty() {
        schema["required"] = json!(of.required);
    }
    if of.is_one_needed {
        schema["anyOf"] = needed(of.at_most_one.iter().copied());
    }
    let mut dependencies = Map::new();
    for name in of.at_most_one {
        let others: Vec<&str> =
            of.at_most_one.iter().copied().filter(|other| other != name).collect();
        let rule = json!({"propertyNames": {"not": {"enum": others}}});
        dependencies.insert((*name).to_owned(), rule);
    }
    for (name, with) in of.goes_with {
        dependencies.insert((*name).to_owned(), json!([with]));
    }
    if !dependencies.is_empty() {
        schema["dependencies"] = Json::Object(dependencies);
    }
}

/// One of some keys.
fn needed<'n>(names: impl Iterator<Item = &'n str>) -> Json {
    names.map(|name| json!({"required": [name]})).collect()
}

/// A step: the keys of all verbs, of which those are refused that the verb given does not have.
fn step() -> Json {
    let keys = VERBS.iter().flat_map(|verb| std::iter::once(&verb.key).chain(verb.beside.keys));
    let mut schema = json!({
        "type": "object",
        "properties": properties(keys),
        "additionalProperties": false,
        "anyOf": needed(VERBS.iter().map(|verb| verb.key.name)),
    });
    let mut dependencies = Map::new();
    for verb in &VERBS {
        dependencies.insert(verb.key.name.to_owned(), rule(verb));
        let mut beside = json!({});
        bind(&mut beside, &verb.beside);
        if let Some(Json::Object(rules)) = beside.get("dependencies") {
            dependencies.extend(rules.clone());
        }
    }
    // Beside what sends it is no verb: then the rule is that of what sends.
    let sends: Vec<&str> = VERBS
        .iter()
        .filter(|verb| verb.beside.keys.iter().any(|key| key.name == "expect"))
        .map(|verb| verb.key.name)
        .collect();
    if let Some(alone) = dependencies.remove("expect") {
        let rule = json!({"if": {"anyOf": needed(sends.into_iter())}, "else": alone});
        dependencies.insert("expect".to_owned(), rule);
    }
    schema["dependencies"] = Json::Object(dependencies);
    schema
}

/// What holds of a step with this verb.
fn rule(verb: &Verb) -> Json {
    let mut rule = json!({"propertyNames": {"enum": verb.names()}});
    if !verb.beside.required.is_empty() {
        rule["required"] = json!(verb.beside.required);
    }
    rule
}

fn shape(of: &Shape) -> Json {
    match of {
        Shape::Line => json!({"type": "string", "minLength": 1}),
        Shape::Name => json!({"type": "string", "pattern": NAME}),
        Shape::Text => json!({"type": ["string", "number", "boolean"]}),
        Shape::Parsed => json!({"type": ["string", "number"]}),
        Shape::Whole(least, most) => {
            json!({"type": ["integer", "string"], "minimum": least, "maximum": most})
        }
        Shape::Plain(least, most) => {
            json!({"type": "integer", "minimum": least, "maximum": most})
        }
        Shape::Positive => json!({"type": "number", "exclusiveMinimum": 0}),
        Shape::Number => json!({"type": "number"}),
        Shape::Switch => json!({"type": "boolean"}),
        Shape::True => json!({"const": true}),
        Shape::Words(schema) => schema(),
        Shape::Word(word) => json!({"const": word}),
        Shape::Pointer => json!({"type": "string", "pattern": POINTER}),
        Shape::Any => json!({}),
        Shape::Table(of) => table(of),
        Shape::Names(naming, each) => names(*naming, each),
        Shape::List(each) => json!({"type": "array", "items": shape(each)}),
        Shape::OneOrMore(each) => {
            let each = shape(each);
            json!({"anyOf": [each, {"type": "array", "items": each}]})
        }
        Shape::Either(ways) => json!({"anyOf": ways.iter().map(shape).collect::<Vec<_>>()}),
        Shape::Steps => {
            let each = json!({"$ref": "#/definitions/step"});
            json!({"type": "array", "minItems": 1, "items": each})
        }
        Shape::BoundsOrValue => {
            let is_bounds = json!({"type": "object", "anyOf": needed(BOUNDS.names().into_iter())});
            json!({"if": is_bounds, "then": table(&BOUNDS)})
        }
    }
}

/// What may be a name of the user's choice.
const NAME: &str = "^[A-Za-z_][A-Za-z0-9_-]*$";
/// A place in a JSON document (RFC 6901).
const POINTER: &str = "^(/([^~]|~[01])*)?$";

/// A table with names of the user's choice.
fn names(naming: Naming, each: &Shape) -> Json {
    let mut schema = json!({"type": "object", "additionalProperties": shape(each)});
    match naming {
        Naming::Free => {}
        Naming::Name => schema["propertyNames"] = json!({"pattern": NAME}),
        Naming::Variable => {
            schema["propertyNames"] = json!({"pattern": NAME, "not": {"enum": RESERVED}});
        }
        Naming::Pointer => schema["propertyNames"] = json!({"pattern": POINTER}),
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_several_verbs_takes_the_same_beside_each() {
        let mut seen: Vec<(&str, Json)> = Vec::new();
        for key in VERBS.iter().flat_map(|verb| std::iter::once(&verb.key).chain(verb.beside.keys))
        {
            match seen.iter().find(|(name, _)| *name == key.name) {
                Some((_, before)) => assert_eq!(*before, described(key), "{}", key.name),
                None => seen.push((key.name, described(key))),
            }
        }
    }

    #[test]
    fn names_are_those_that_the_reader_takes() {
        for name in ["a", "_", "a-b", "A9", "9a", "-a", "a b", "", "ä"] {
            let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            let goes_on = name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
            assert_eq!(crate::scenario::is_name(name), begins && goes_on, "{name}");
        }
    }
}
