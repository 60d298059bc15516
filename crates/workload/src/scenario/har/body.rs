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
    if body.is_unread && body.params.is_empty() {
        return None;
    }
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
    let has_text = body.text.as_ref().is_some_and(|text| !text.is_empty());
    if !has_text && kind == "multipart/form-data" {
        let params = body.params.iter().map(|of| (of.name.clone(), of.value.clone()));
        let params: Vec<_> = params.collect();
        let has_files = body.params.iter().any(|field| field.is_file);
        let is_whole = !params.is_empty() && !has_files && !has_twice(&params);
        return is_whole.then(|| form(names, &params)).and_then(|form| one("multipart", form));
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
    // A header has no control characters, and one that is empty says nothing.
    let kind = body.kind.split(|c: char| c.is_control()).next().unwrap_or_default().trim();
    let kind = (!kind.is_empty()).then(|| kind.to_owned());
    Some(WrittenBody { keys: vec![("body", quoted(&raw))], kind })
}

/// What a body of GraphQL asks for, by its name.
pub(super) fn operation(body: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct GraphqlBody {
        #[serde(rename = "operationName")]
        name: Option<String>,
        query: Option<String>,
    }
    let asked: GraphqlBody = serde_json::from_str(body).ok()?;
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let in_query = || {
        let query = asked.query.as_deref()?.trim_start();
        let kinds = ["query ", "mutation ", "subscription "];
        let rest = kinds.iter().find_map(|kind| query.strip_prefix(kind))?.trim_start();
        rest.split(|c: char| !is_letter(c)).next().map(str::to_owned)
    };
    let name = asked.name.clone().or_else(in_query)?;
    (!name.is_empty() && name.len() <= 64 && name.chars().all(is_letter)).then_some(name)
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
        names.files += u64::from(part.has_file_name && part.value.is_empty());
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
