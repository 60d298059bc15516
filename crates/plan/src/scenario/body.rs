//! The body of a request: one of `body`, `body_file`, `json`, `form` and `multipart`.

use plimsoll_units::hash::{fnv_1a, fnv_1a_on};
use plimsoll_workload::scenario::{Encoding, Json, Text, Writing};

use crate::reading::tree::{Entry, Node, Table, Value};
use crate::scenario::keys::{BODIES, PART};
use crate::scenario::known::Known;
use crate::scenario::{one_of, refuse_unknown, table, top};

/// The body of a step, if it has one; its type is added to the headers where they say none.
/// Nothing at all where what it says is wrong.
#[expect(clippy::option_option, reason = "a step may have none, which is not wrong")]
pub(super) fn read(
    known: &mut Known<'_>,
    step: &Table,
    headers: &mut Option<Vec<(String, Text)>>,
) -> Option<Option<Text>> {
    let reading = known.reading;
    let Some(entry) = one_of(reading, step, &BODIES) else { return Some(None) };
    let (text, kind) = match entry.key.as_str() {
        "body_file" => (Text::literal(&top::open(known, &entry.node)?), None),
        "json" => {
            let json = json(known, &entry.node, 0)?;
            (json.to_text(), Some("application/json".to_owned()))
        }
        "form" => {
            let of = table(reading, &entry.node, "a table of names and values")?;
            (form(known, of), Some("application/x-www-form-urlencoded".to_owned()))
        }
        "multipart" => {
            let (text, boundary) = multipart(known, entry)?;
            (text, Some(format!("multipart/form-data; boundary={boundary}")))
        }
        _ => {
            reading.text(&entry.node)?;
            (known.text(&entry.node, Encoding::Raw)?, None)
        }
    };
    let is_type = |(name, _): &(String, Text)| name.eq_ignore_ascii_case("content-type");
    if let (Some(headers), Some(kind)) = (headers, kind)
        && !headers.iter().any(is_type)
    {
        headers.push(("content-type".to_owned(), Text::literal(kind.as_bytes())));
    }
    Some(Some(text))
}

/// Names with values; a list of values is several pairs.
pub(super) fn pairs(known: &mut Known<'_>, of: &Table) -> Vec<(String, Text)> {
    let mut pairs = Vec::new();
    for entry in &of.entries {
        let values = match &entry.node.value {
            Value::List(nodes) => nodes.iter().collect(),
            _ => vec![&entry.node],
        };
        for node in values {
            let text = known.text(node, Encoding::Raw);
            pairs.extend(text.map(|text| (entry.key.clone(), text)));
        }
    }
    pairs
}

fn form(known: &mut Known<'_>, of: &Table) -> Text {
    let mut writing = Writing::default();
    for (at, (name, value)) in pairs(known, of).iter().enumerate() {
        if at > 0 {
            writing.literal(b"&");
        }
        writing.text(&Text::literal(name.as_bytes()), Encoding::Form);
        writing.literal(b"=");
        writing.text(value, Encoding::Form);
    }
    writing.finish()
}

/// The deepest nesting of a JSON body.
const MOST_DEEP: u32 = 100;

/// A value of JSON.
pub(super) fn json(known: &mut Known<'_>, node: &Node, depth: u32) -> Option<Json> {
    if depth > MOST_DEEP {
        let message = format!("expected values within values at most {MOST_DEEP} deep");
        known.reading.fault(node.place, message, None);
        return None;
    }
    Some(match &node.value {
        Value::Switch(on) => Json::Switch(*on),
        Value::Whole(number) => Json::Whole(*number),
        Value::Real(number) => Json::Real(*number),
        Value::Text(_) | Value::Typed(_) | Value::Moment(_) => {
            Json::Text(known.text(node, Encoding::Raw)?)
        }
        Value::List(nodes) => {
            let items: Vec<_> = nodes.iter().map(|node| json(known, node, depth + 1)).collect();
            Json::List(items.into_iter().collect::<Option<_>>()?)
        }
        Value::Table(table) => {
            let entry = |entry: &Entry| {
                let key = Text::literal(entry.key.as_bytes());
                Some((key, json(known, &entry.node, depth + 1)?))
            };
            let entries: Vec<_> = table.entries.iter().map(entry).collect();
            Json::Object(entries.into_iter().collect::<Option<_>>()?)
        }
    })
}

/// The parts of a form with files (RFC 7578), and what stands between them.
fn multipart(known: &mut Known<'_>, entry: &Entry) -> Option<(Text, String)> {
    let reading = known.reading;
    let of = table(reading, &entry.node, "a table of names with values or files")?;
    let mut parts = Vec::new();
    // The boundary is that of this form and no other: of a hash of its names and files.
    let mut hash = fnv_1a(b"multipart");
    for entry in &of.entries {
        let part = part(known, entry)?;
        hash = fnv_1a_on(hash, entry.key.as_bytes());
        hash = fnv_1a_on(hash, format!("{part:?}").as_bytes());
        parts.push((entry.key.as_str(), part));
    }
    let boundary = format!("plimsoll-{hash:016x}");
    let mut writing = Writing::default();
    for (name, part) in &parts {
        writing.literal(format!("--{boundary}\r\n").as_bytes());
        let mut head = format!("content-disposition: form-data; name=\"{}\"", quoted(name));
        if let Some(file) = &part.file_name {
            head.push_str(&format!("; filename=\"{}\"", quoted(file)));
        }
        if let Some(kind) = &part.kind {
            head.push_str(&format!("\r\ncontent-type: {kind}"));
        }
        writing.literal(format!("{head}\r\n\r\n").as_bytes());
        writing.append(&part.text);
        writing.literal(b"\r\n");
    }
    writing.literal(format!("--{boundary}--\r\n").as_bytes());
    Some((writing.finish(), boundary))
}

/// A name within quotes of a header (WHATWG HTML, multipart/form-data).
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

#[derive(Debug)]
struct Part {
    text: Text,
    file_name: Option<String>,
    kind: Option<String>,
}

/// A value, or `{ file = "…", type = "…" }`.
fn part(known: &mut Known<'_>, entry: &Entry) -> Option<Part> {
    let reading = known.reading;
    let Value::Table(of) = &entry.node.value else {
        let text = known.text(&entry.node, Encoding::Raw)?;
        return Some(Part { text, file_name: None, kind: None });
    };
    refuse_unknown(reading, of, &PART, "a part of a form");
    let Some(file) = of.get("file") else {
        let message = "expected `file` in a part of a form, found none";
        reading.fault(entry.node.place, message, None);
        return None;
    };
    let bytes = top::open(known, &file.node)?;
    let path = reading.line(&file.node)?;
    let name = std::path::Path::new(path).file_name().map(|name| name.to_string_lossy());
    let kind = match of.get("type") {
        Some(kind) => reading.line(&kind.node)?.to_owned(),
        None => "application/octet-stream".to_owned(),
    };
    let file_name = name.map(std::borrow::Cow::into_owned);
    Some(Part { text: Text::literal(&bytes), file_name, kind: Some(kind) })
}
