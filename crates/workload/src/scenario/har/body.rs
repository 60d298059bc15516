//! Bodies of recorded requests, with names in the place of secrets and tokens.

use super::names::{Names, decoded};
use super::parts::{self, Part};
use super::pieces::Pieces;
use super::recording::Body;
use super::scan::Text;
use crate::scenario::written::{quoted, table};

const FORM: &str = "application/x-www-form-urlencoded";

/// The keys of a step that send a body, each with its value.
pub(super) struct WrittenBody {
    pub(super) keys: Vec<(&'static str, String)>,
    /// The `Content-Type` that has to be given beside.
    pub(super) kind: Option<String>,
}

/// Writes a body; `None` where the recording has none of it.
pub(super) fn written(body: &Body, names: &mut Names) -> Option<WrittenBody> {
    let kind = body.kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let one = |key, value| Some(WrittenBody { keys: vec![(key, value)], kind: None });
    if kind == FORM {
        let fields = match &body.text {
            Some(text) => form_fields(text),
            None => {
                let params = body.params.iter();
                Some(params.map(|field| (field.name.clone(), field.value.clone())).collect())
            }
        };
        if let Some(fields) = fields.filter(|fields| !has_twice(fields)) {
            if fields.is_empty() {
                return Some(WrittenBody { keys: Vec::new(), kind: None });
            }
            return one("form", form(names, &fields));
        }
    }
    let text = body.text.as_deref().filter(|text| !text.is_empty())?;
    let parts = parts::read(&body.kind, text).unwrap_or_default();
    let fields: Vec<_> = parts.iter().map(|of| (of.name.clone(), of.value.clone())).collect();
    // A recording has not what was in a file.
    if !parts.is_empty() && !has_twice(&fields) && !parts.iter().any(|of| of.is_file) {
        return one("multipart", form(names, &fields));
    }
    let raw = if !parts.is_empty() {
        of_parts(names, text, &parts).template()
    } else if kind == FORM {
        names.pairs(text, false)
    } else if let Some((node, told)) = names.json(text) {
        if kind == "application/json"
            && text.trim_start().starts_with('{')
            && let Some(table) = node.written(text, &told)
        {
            return one("json", table);
        }
        node.spliced(text, &told).template()
    } else {
        let kind: String = kind.chars().filter(|c| !c.is_control()).take(64).collect();
        let kind = if kind.is_empty() { "no type".to_owned() } else { kind };
        *names.unjudged.entry(kind).or_default() += 1;
        names.text(text, Text::Body).template()
    };
    Some(WrittenBody { keys: vec![("body", quoted(&raw))], kind: Some(body.kind.clone()) })
}

/// Fields as a table of TOML.
fn form(names: &mut Names, fields: &[(String, String)]) -> String {
    let write = |(name, value): &(String, String)| {
        (name.clone(), quoted(&names.value(name, value).template()))
    };
    table(fields.iter().map(write).collect::<Vec<_>>())
}

/// A form in parts as it was sent, with names in its values.
fn of_parts(names: &mut Names, text: &str, parts: &[Part]) -> Pieces {
    let mut holes = Vec::new();
    for part in parts {
        let pieces = match part.is_file {
            true => names.text(&part.value, Text::Body),
            false => names.value(&part.name, &part.value),
        };
        if part.is_file && !part.value.is_empty() {
            *names.unjudged.entry("a file in a form".to_owned()).or_default() += 1;
        }
        holes.push((part.at..part.at + part.value.len(), pieces));
    }
    Pieces::spliced(text, holes)
}

/// The fields of a form, decoded; `None` where one is no UTF-8.
fn form_fields(text: &str) -> Option<Vec<(String, String)>> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decoded(name)?, decoded(value)?))
        })
        .collect()
}

fn has_twice(fields: &[(String, String)]) -> bool {
    let mut names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.windows(2).any(|pair| pair[0] == pair[1])
}
