//! What a HAR file says (HTTP Archive 1.2, as browsers write it), as far as a scenario needs it.

use std::io::Read;

use serde::Deserialize;

use super::HarError;

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
#[derive(Debug, Deserialize)]
pub(super) struct Entry {
    #[serde(rename = "startedDateTime")]
    pub(super) started: String,
    /// Milliseconds from there to the end.
    #[serde(default)]
    pub(super) time: Option<f64>,
    pub(super) request: Request,
    pub(super) response: Response,
    /// What it was asked for as: of Chromium.
    #[serde(rename = "_resourceType", default)]
    pub(super) kind: Option<String>,
    /// The page that it belongs to.
    #[serde(rename = "pageref", default)]
    pub(super) page: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) url: String,
    #[serde(default)]
    pub(super) headers: Vec<Field>,
    #[serde(rename = "postData", default)]
    pub(super) body: Option<Body>,
}

/// A header, or a field of a form.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Field {
    pub(super) name: String,
    #[serde(default)]
    pub(super) value: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Body {
    #[serde(rename = "mimeType", default)]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) params: Vec<Field>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Response {
    /// 0 or less where there was no answer.
    #[serde(default)]
    pub(super) status: i64,
    #[serde(rename = "redirectURL", default)]
    pub(super) redirect: Option<String>,
    #[serde(default)]
    pub(super) content: Content,
}

/// What came back; its text is kept of pages only.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "WholeContent")]
pub(super) struct Content {
    pub(super) kind: String,
    pub(super) page: Option<String>,
}

#[derive(Debug, Deserialize)]
struct WholeContent {
    #[serde(rename = "mimeType", default)]
    kind: Option<String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    encoding: Option<String>,
}

impl From<WholeContent> for Content {
    fn from(whole: WholeContent) -> Self {
        let kind = whole.kind.unwrap_or_default().to_ascii_lowercase();
        let is_page = kind.contains("html") && whole.encoding.is_none_or(|text| text.is_empty());
        let page = whole.text.filter(|text| is_page && text.len() <= MOST_PAGE);
        Self { kind, page }
    }
}

/// Reads a recording.
pub(super) fn read(file: impl Read, origin: &str) -> Result<Vec<Entry>, HarError> {
    let mut bytes = Vec::new();
    let read = file.take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|source| HarError::Read { origin: origin.to_owned(), source })?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(HarError::TooLong { origin: origin.to_owned() });
    }
    // Some browsers put a byte order mark before it.
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let file: File = serde_json::from_slice(text)
        .map_err(|source| HarError::Format { origin: origin.to_owned(), source })?;
    Ok(file.log.entries)
}
