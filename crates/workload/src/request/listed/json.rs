//! JSON lines: an object a line.
//!
//! `url` or `path`; `method`; `headers`, an object of texts or lists of them; `body`, a text with
//! placeholders; or `json`, any value, which is sent compactly with its `Content-Type`; or
//! `body_file`, a file beside the list; `name`; `weight`.
//!
//! vegeta's lines are told from these: they have `header`, and their `body` is base64. So they are
//! where a list has no headers at all, and all of its bodies are text in base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plimsoll_units::{ParseError, nearest};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use super::{Building, Listed, lines};
use crate::request::error::RequestError;
use crate::request::header::{parse_header, parse_method};
use crate::request::template::Template;

const KEYS: [&str; 9] =
    ["url", "path", "method", "headers", "body", "json", "body_file", "name", "weight"];
/// The keys of vegeta's lines.
const OF_VEGETA: [&str; 4] = ["method", "url", "header", "body"];

/// The entries of an object in their order, of which a key may come twice.
struct Entries(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Take;
        impl<'de> Visitor<'de> for Take {
            type Value = Entries;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Entries, M::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Take)
    }
}

/// Reads all lines of a text.
pub(super) fn read(text: &str, list: &mut Building<'_>) -> Result<(), RequestError> {
    let is_of_vegeta = is_of_vegeta(text);
    if is_of_vegeta && !text.contains("\"header\"") {
        list.note = Some(NO_HEADERS.to_owned());
    }
    for (number, line) in said(text) {
        let request = request(line, list, is_of_vegeta);
        let request = request.map_err(|error| list.wrong(number, error))?;
        list.push(number, request)?;
    }
    Ok(())
}

/// Said where nothing but its bodies tells that a list is vegeta's.
const NO_HEADERS: &str = "its bodies are read as base64, as vegeta writes them; were they texts, a \
                          `headers` in one line says so";

/// The lines that say something, with their numbers.
fn said(text: &str) -> impl Iterator<Item = (u64, &str)> {
    let is_said = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    lines(text).filter(move |(_, line)| is_said(line))
}

/// Whether a list is vegeta's.
fn is_of_vegeta(text: &str) -> bool {
    let (mut has_header, mut bodies, mut texts) = (false, 0_u64, 0_u64);
    for (_, line) in said(text) {
        let Ok(Entries(entries)) = serde_json::from_str(line) else { return false };
        if entries.iter().any(|(key, _)| !OF_VEGETA.contains(&key.as_str())) {
            return false;
        }
        has_header |= entries.iter().any(|(key, _)| key == "header");
        for (_, body) in entries.iter().filter(|(key, _)| key == "body") {
            let decoded = body.as_str().and_then(|body| STANDARD.decode(body).ok());
            let decoded = decoded.filter(|bytes| bytes.len() >= 4);
            let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
            let is_text =
                |text: &String| !text.chars().any(|c| c.is_control() && !c.is_whitespace());
            bodies += 1;
            texts += u64::from(decoded.as_ref().is_some_and(is_text));
        }
    }
    has_header || bodies > 0 && bodies == texts
}

fn request(line: &str, list: &mut Building<'_>, is_of_vegeta: bool) -> Result<Listed, ParseError> {
    let entries: Entries = serde_json::from_str(line).map_err(|error| {
        let at = error.column().saturating_sub(1).min(line.len());
        let why = error.to_string();
        let why = why.split(" at line").next().unwrap_or(&why).to_owned();
        ParseError::new(format!("an object in JSON ({why})"), "", at, 1)
    })?;
    let mut url = None;
    let mut made = Parts::default();
    let mut seen: Vec<&str> = Vec::new();
    for (key, value) in &entries.0 {
        // Where it stands in the line, as far as that can be told.
        let at = line.find(&format!("\"{key}\"")).unwrap_or(0);
        let wrong = |wanted: &str| ParseError::new(wanted, key.as_str(), at, key.len() + 2);
        if seen.contains(&key.as_str()) {
            return Err(wrong("each key once"));
        }
        seen.push(key);
        match key.as_str() {
            "url" | "path" if url.is_some() => return Err(wrong("one of `url` and `path`")),
            "url" | "path" => {
                let text = text(value).ok_or_else(|| wrong("a URL as a text"))?;
                url = Some(list.url(text).map_err(|error| placed(error, at))?);
            }
            "body" if is_of_vegeta => {
                let decoded = text(value).and_then(|text| STANDARD.decode(text).ok());
                made.body = Some(Template::literal(decoded.ok_or_else(|| wrong("base64"))?));
            }
            "header" if is_of_vegeta => made.take_headers(value, at)?,
            _ => made.take(key, value, list, at)?,
        }
    }
    let url = url.ok_or_else(|| ParseError::new("the key `url`", "none", 0, line.len()))?;
    Ok(made.of(url))
}

/// An error within a value, at the key of the value.
fn placed(error: ParseError, at: usize) -> ParseError {
    ParseError { at, ..error }
}

fn text(value: &Value) -> Option<&str> {
    value.as_str()
}

/// What a line says beside the URL.
#[derive(Default)]
struct Parts {
    method: Option<String>,
    headers: Vec<(String, Template)>,
    body: Option<Template>,
    is_json: bool,
    name: Option<String>,
    weight: Option<f64>,
}

impl Parts {
    fn take(
        &mut self,
        key: &str,
        value: &Value,
        list: &mut Building<'_>,
        at: usize,
    ) -> Result<(), ParseError> {
        let wrong = |wanted: &str| ParseError::new(wanted, key, at, key.len() + 2);
        let a_text = || text(value).ok_or_else(|| wrong("a text"));
        if matches!(key, "body" | "json" | "body_file") && self.body.is_some() {
            return Err(wrong("one of `body`, `json` and `body_file`"));
        }
        match key {
            "method" => {
                self.method = Some(parse_method(a_text()?).map_err(|error| placed(error, at))?);
            }
            "headers" => self.take_headers(value, at)?,
            "body" => {
                self.body = Some(Template::parse(a_text()?).map_err(|error| placed(error, at))?);
            }
            "json" => {
                self.is_json = true;
                let compact = value.to_string();
                self.body = Some(Template::parse(&compact).map_err(|error| placed(error, at))?);
            }
            "body_file" => {
                self.body = Some(list.body_file(a_text()?).map_err(|error| placed(error, at))?);
            }
            "name" => self.name = Some(a_text()?.to_owned()).filter(|name| !name.is_empty()),
            "weight" => {
                let weight = value.as_f64().filter(|weight| *weight >= 0.0);
                self.weight = Some(weight.ok_or_else(|| wrong("a weight of zero or more"))?);
            }
            _ => {
                let error = wrong("a key of a request");
                let known = KEYS.join(", ");
                return Err(match nearest(key, KEYS) {
                    Some(near) => error.hint(format!("did you mean `{near}`? keys are {known}")),
                    None => error.hint(format!("keys are {known}")),
                });
            }
        }
        Ok(())
    }

    fn take_headers(&mut self, value: &Value, at: usize) -> Result<(), ParseError> {
        let wanted = || ParseError::new("texts by the names of headers", "headers", at, 9);
        for (name, value) in value.as_object().ok_or_else(wanted)? {
            let values = match value {
                Value::Array(values) => values.as_slice(),
                one => std::slice::from_ref(one),
            };
            for value in values {
                let value = text(value).ok_or_else(wanted)?;
                let header = parse_header(&format!("{name}: {value}"));
                self.headers.push(header.map_err(|error| placed(error, at))?);
            }
        }
        Ok(())
    }

    fn of(self, url: super::Url) -> Listed {
        let Self { method, mut headers, body, is_json, name, weight } = self;
        let is_typed = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if is_json && !is_typed {
            let json = Template::literal(b"application/json".to_vec());
            headers.push(("Content-Type".to_owned(), json));
        }
        Listed { method, headers, body, name, weight, ..Listed::of(url) }
    }
}
