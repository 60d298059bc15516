//! Bodies and queries of recorded requests, with names in the place of secrets and tokens.

use plimsoll_net::url::percent_decode;

use super::json::{Json, members_written};
use super::parts::{self, Part};
use super::recording::Body;
use super::secrets::{Secrets, is_secret_field};
use super::tokens::Tokens;
use crate::scenario::written::{literal, quoted, table};

const FORM: &str = "application/x-www-form-urlencoded";

/// What stands for values that a scenario must not hold, or cannot know.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) secrets: Secrets,
    pub(super) tokens: Tokens,
}

impl Names {
    /// What stands in the place of a field's value: a secret's name, or a variable's.
    fn of(&mut self, field: &str, value: &str) -> Option<String> {
        if value.is_empty() {
            return None;
        }
        if is_secret_field(field) {
            return Some(self.secrets.hide(field, value));
        }
        self.tokens.variable(field, value).map(|variable| format!("{{{{{variable}}}}}"))
    }

    /// A field's value as a string of TOML.
    fn written(&mut self, field: &str, value: &str) -> String {
        self.of(field, value).map_or_else(|| literal(value), |name| quoted(&name))
    }
}

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
            let write =
                |(name, value): &(String, String)| (name.clone(), names.written(name, value));
            return one("form", table(fields.iter().map(write).collect::<Vec<_>>()));
        }
    }
    let text = body.text.as_deref().filter(|text| !text.is_empty())?;
    let parts = parts::read(&body.kind, text).unwrap_or_default();
    let fields: Vec<_> = parts.iter().map(|of| (of.name.clone(), of.value.clone())).collect();
    // A recording has not what was in a file.
    if !parts.is_empty() && !has_twice(&fields) && !parts.iter().any(|of| of.is_file) {
        let write = |Part { name, value, .. }: &Part| (name.clone(), names.written(name, value));
        return one("multipart", table(parts.iter().map(write).collect::<Vec<_>>()));
    }
    fields.iter().for_each(|(name, value)| hide(names, name, value));
    if kind.ends_with("json") {
        let members = Json::object(text).filter(|_| kind == "application/json");
        let mut write = |name: &str, value: &str| names.written(name, value);
        if let Some(table) = members.and_then(|members| members_written(&members, &mut write)) {
            return one("json", table);
        }
        if let Ok(json) = serde_json::from_str::<Json>(text) {
            json.texts("", &mut |name, value| hide(names, name, value));
        }
    }
    let raw = if kind == FORM {
        pairs(text, names, " | urlencode")
    } else {
        body.params.iter().for_each(|field| hide(names, &field.name, &field.value));
        names.secrets.hide_in(text)
    };
    Some(WrittenBody { keys: vec![("body", quoted(&raw))], kind: Some(body.kind.clone()) })
}

fn hide(names: &mut Names, field: &str, value: &str) {
    if is_secret_field(field) {
        names.secrets.hide(field, value);
    }
}

/// The text of path and query as they were sent, but for the values that have names.
pub(super) fn target(target: &str, names: &mut Names) -> String {
    match target.split_once('?') {
        None => target.replace("{{", "\\{{"),
        Some((path, query)) => {
            let path = path.replace("{{", "\\{{");
            format!("{path}?{}", pairs(query, names, ""))
        }
    }
}

/// `a=1&b=2` as it was, but for the values that have names, which are written with `pipe`.
fn pairs(text: &str, names: &mut Names, pipe: &str) -> String {
    let mut write = |pair: &str| {
        let raw = || pair.replace("{{", "\\{{");
        let Some((name, value)) = pair.split_once('=') else { return raw() };
        let (Some(field), Some(decoded)) = (decoded(name), decoded(value)) else { return raw() };
        match names.of(&field, &decoded) {
            Some(found) => {
                let found = found.replace("}}", &format!("{pipe}}}}}"));
                format!("{}={found}", name.replace("{{", "\\{{"))
            }
            None => raw(),
        }
    };
    text.split('&').map(&mut write).collect::<Vec<_>>().join("&")
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

fn decoded(text: &str) -> Option<String> {
    String::from_utf8(percent_decode(text.replace('+', " ").as_bytes())).ok()
}

fn has_twice(fields: &[(String, String)]) -> bool {
    let mut names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.windows(2).any(|pair| pair[0] == pair[1])
}
