//! What a HAR file says (HTTP Archive 1.2, as browsers and proxies write it), as far as a scenario
//! needs it. Members that are `null` or of another type than they should be are as if they were not
//! there, and numbers may be texts: programs differ.

use std::io::{BufRead, BufReader, Read};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;

use super::HarError;
use crate::gzip::{Gunzip, MAGIC};

/// The longest recording, bytes.
pub(super) const MOST_BYTES: u64 = 512 << 20;
/// The longest page in which names of tokens are looked for, bytes.
const MOST_PAGE: usize = 1 << 20;

#[derive(Debug, Deserialize)]
struct File {
    log: Log,
}

#[derive(Debug, Deserialize)]
struct Log {
    entries: Vec<Entry>,
}

/// A request and its answer.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "Value")]
pub(super) struct Entry {
    /// When it was sent, as it is written.
    pub(super) started: String,
    /// Milliseconds from there to the end.
    pub(super) time: Option<f64>,
    pub(super) request: Request,
    pub(super) response: Response,
    /// What it was asked for as, in lower case: of Chromium.
    pub(super) kind: Option<String>,
    /// The page that it belongs to.
    pub(super) page: Option<String>,
    /// Whether the browser had the answer already, and asked nobody.
    pub(super) is_from_cache: bool,
}

#[derive(Debug, Default)]
pub(super) struct Request {
    /// Empty where it is missing.
    pub(super) method: String,
    /// Empty where it is missing.
    pub(super) url: String,
    pub(super) headers: Vec<Field>,
    pub(super) body: Option<Body>,
}

/// A header, or a field of a form.
#[derive(Debug, Clone)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) value: String,
    /// Whether a file was sent, of which a recording has the name alone.
    pub(super) is_file: bool,
}

#[derive(Debug, Default)]
pub(super) struct Body {
    pub(super) kind: String,
    pub(super) text: Option<String>,
    /// Whether there is one that is no text, or is packed in a way that is not known.
    pub(super) is_unread: bool,
    pub(super) params: Vec<Field>,
}

#[derive(Debug, Default)]
pub(super) struct Response {
    /// 0 or less where there was no answer.
    pub(super) status: i64,
    pub(super) redirect: Option<String>,
    pub(super) content: Content,
}

/// What came back; its text is kept of pages only.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// In lower case.
    pub(super) kind: String,
    pub(super) page: Option<String>,
}

/// A member that is a text, or a number or a switch in words.
fn text(of: &Value, name: &str) -> Option<String> {
    match of.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(on) => Some(on.to_string()),
        _ => None,
    }
}

/// A member that is a number, or one in words.
fn number(of: &Value, name: &str) -> Option<f64> {
    let number = match of.get(name)? {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite())
}

/// Names with values: a list of them, or an object.
fn fields(of: &Value, name: &str) -> Vec<Field> {
    let field = |name: String, value: Option<String>, is_file| Field {
        name,
        value: value.unwrap_or_default(),
        is_file,
    };
    match of.get(name) {
        Some(Value::Array(fields)) => {
            let read = |of: &Value| {
                let is_file = text(of, "fileName").is_some_and(|name| !name.is_empty());
                Some(field(text(of, "name")?, text(of, "value"), is_file))
            };
            fields.iter().filter_map(read).collect()
        }
        Some(fields @ Value::Object(members)) => {
            members.keys().map(|name| field(name.clone(), text(fields, name), false)).collect()
        }
        _ => Vec::new(),
    }
}

impl From<Value> for Entry {
    fn from(of: Value) -> Self {
        let member = |name: &str| of.get(name).filter(|of| of.is_object());
        let kind = text(&of, "_resourceType").map(|kind| kind.to_ascii_lowercase());
        let is_from_cache = text(&of, "_fromCache").is_some_and(|from| from != "false");
        Self {
            started: started(&of),
            time: number(&of, "time"),
            request: member("request").map(Request::from).unwrap_or_default(),
            response: member("response").map(Response::from).unwrap_or_default(),
            kind: kind.filter(|kind| !kind.is_empty()),
            page: text(&of, "pageref"),
            is_from_cache,
        }
    }
}

/// When an entry was sent: a date as HAR has it, or milliseconds since 1970.
fn started(of: &Value) -> String {
    let since_1970 = |ms: f64| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let ns = (ms * 1e6) as u64;
        plimsoll_units::civil::iso8601(ns)
    };
    match of.get("startedDateTime") {
        Some(Value::Number(ms)) => ms.as_f64().map(since_1970).unwrap_or_default(),
        _ => text(of, "startedDateTime").unwrap_or_default(),
    }
}

impl From<&Value> for Request {
    fn from(of: &Value) -> Self {
        let body = of.get("postData").filter(|of| of.is_object());
        Self {
            method: text(of, "method").unwrap_or_default().trim().to_ascii_uppercase(),
            url: text(of, "url").unwrap_or_default().trim().to_owned(),
            headers: fields(of, "headers"),
            body: body.map(Body::from),
        }
    }
}

impl From<&Value> for Body {
    fn from(of: &Value) -> Self {
        let kept = text(of, "text");
        let read = match text(of, "encoding").unwrap_or_default().as_str() {
            "" => kept.clone(),
            "base64" => {
                kept.as_deref().and_then(unpacked).and_then(|of| String::from_utf8(of).ok())
            }
            _ => None,
        };
        Self {
            kind: text(of, "mimeType").unwrap_or_default(),
            is_unread: kept.is_some() && read.is_none(),
            text: read,
            params: fields(of, "params"),
        }
    }
}

/// The bytes that base64 stands for, wherever its lines break.
fn unpacked(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text.split_ascii_whitespace().collect::<String>()).ok()
}

impl From<&Value> for Response {
    fn from(of: &Value) -> Self {
        let content = of.get("content").filter(|of| of.is_object());
        #[expect(clippy::cast_possible_truncation, reason = "saturates")]
        let status = number(of, "status").unwrap_or_default() as i64;
        Self {
            status,
            redirect: text(of, "redirectURL"),
            content: content.map(Content::from).unwrap_or_default(),
        }
    }
}

impl From<&Value> for Content {
    fn from(of: &Value) -> Self {
        let kind = text(of, "mimeType").unwrap_or_default().to_ascii_lowercase();
        let page =
            text(of, "text").filter(|text| kind.contains("html") && text.len() <= 2 * MOST_PAGE);
        let page = match text(of, "encoding").unwrap_or_default().as_str() {
            "" => page,
            "base64" => {
                let bytes = page.as_deref().and_then(unpacked);
                bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            }
            _ => None,
        };
        Self { kind, page: page.filter(|page| page.len() <= MOST_PAGE) }
    }
}

/// Reads a recording, plain or gzip.
pub(super) fn read(file: impl Read, origin: &str) -> Result<Vec<Entry>, HarError> {
    let failed = |source| HarError::Read { origin: origin.to_owned(), source };
    let mut file = BufReader::new(file);
    let is_gzip = file.fill_buf().map_err(failed)?.starts_with(&MAGIC);
    let mut bytes = Vec::new();
    let read = match is_gzip {
        true => Gunzip::strict(file).take(MOST_BYTES + 1).read_to_end(&mut bytes),
        false => file.take(MOST_BYTES + 1).read_to_end(&mut bytes),
    };
    read.map_err(failed)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(HarError::TooLong { origin: origin.to_owned() });
    }
    // Some browsers put a byte order mark before it.
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let file: File = serde_json::from_slice(text)
        .map_err(|source| HarError::Format { origin: origin.to_owned(), source })?;
    Ok(file.log.entries)
}
