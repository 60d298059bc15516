//! Checks: what an answer must be beside its status. They look at an answer that was kept, up to
//! [`MAX_KEPT`] bytes of its body; a longer one fails the checks that look at bodies.

use std::fmt;
use std::io::Read;

use flate2::read::MultiGzDecoder;
use plimsoll_units::ParseError;
use serde_json::Value;

use crate::json;
use crate::request::parse_header;

/// So many bytes of a body are kept, packed and unpacked.
pub const MAX_KEPT: usize = 1 << 20;

/// An answer that was kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// Its header fields in their order, names in lower case.
    pub fields: Vec<(String, Vec<u8>)>,
    /// Its body, as far as it is kept.
    pub body: Vec<u8>,
    /// Whether the body is longer than what is kept of it.
    pub is_cut: bool,
    /// How much of the body is kept, bytes; without it, [`MAX_KEPT`].
    pub most: Option<usize>,
}

impl Answer {
    /// Every value of a header, whose name is in lower case.
    pub fn headers<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> + 'a {
        self.fields.iter().filter(move |(own, _)| own == name).map(|(_, value)| value.as_slice())
    }

    /// Keeps bytes of the body, as far as there is room.
    pub fn keep(&mut self, bytes: &[u8]) {
        let most = self.most.unwrap_or(MAX_KEPT);
        let room = most - self.body.len().min(most);
        self.body.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.is_cut |= bytes.len() > room;
    }

    /// The body as it is meant: unpacked where it is packed by gzip.
    ///
    /// # Errors
    /// Says of a body that is longer than what is kept, packed otherwise, or damaged.
    pub fn content(&self) -> Result<std::borrow::Cow<'_, [u8]>, String> {
        let too_long = || Err("the body is longer than the 1 MiB that is kept of it".to_owned());
        if self.is_cut {
            return too_long();
        }
        let packed =
            self.headers("content-encoding").find(|of| !of.eq_ignore_ascii_case(b"identity"));
        let Some(packed) = packed else { return Ok(self.body.as_slice().into()) };
        if ![&b"gzip"[..], b"x-gzip"].iter().any(|gzip| packed.eq_ignore_ascii_case(gzip)) {
            let by = String::from_utf8_lossy(packed);
            return Err(format!("the body is packed by `{by}`; only gzip is unpacked"));
        }
        let mut content = Vec::new();
        let read = MultiGzDecoder::new(self.body.as_slice())
            .take(MAX_KEPT as u64 + 1)
            .read_to_end(&mut content);
        match read {
            Err(error) => Err(format!("the body cannot be unpacked: {error}")),
            Ok(_) if content.len() > MAX_KEPT => too_long(),
            Ok(_) => Ok(content.into()),
        }
    }
}

/// What an answer must be.
#[derive(Debug, Clone, PartialEq)]
pub enum Check {
    /// Its body has this text in it.
    Body(String),
    /// Its body is JSON, and has a value at a place (RFC 6901).
    Json {
        /// The place: empty for the whole, else `/` and names.
        pointer: String,
        /// The value, as it was written.
        value: String,
    },
    /// It has a header, and this text in its value.
    Header {
        /// The header's name, in lower case.
        name: String,
        /// The text.
        text: String,
    },
}

impl Check {
    /// Reads the text that a body must have in it.
    ///
    /// # Errors
    /// No text: every body has that in it.
    pub fn body(text: &str) -> Result<Self, ParseError> {
        match text {
            "" => Err(ParseError::new("a text that the body must have in it", "", 0, 0)),
            text => Ok(Self::Body(text.to_owned())),
        }
    }

    /// Reads `/data/0/id=42`.
    ///
    /// # Errors
    /// What is no JSON Pointer, a missing `=`.
    pub fn json(text: &str) -> Result<Self, ParseError> {
        const WANTED: &str = "a place and a value such as /data/0/id=42";
        let Some((pointer, value)) = text.split_once('=') else {
            let error = ParseError::new(WANTED, text, 0, text.len());
            return Err(error.hint("put `=` between the place and its value"));
        };
        Self::json_at(pointer, value)
    }

    /// The same, of its two parts.
    ///
    /// # Errors
    /// What is no JSON Pointer.
    pub fn json_at(pointer: &str, value: &str) -> Result<Self, ParseError> {
        if !pointer.is_empty() && !pointer.starts_with('/') {
            let error = ParseError::new("a JSON Pointer such as /id", pointer, 0, pointer.len());
            return Err(error.hint("it begins with `/`; nothing at all means the whole"));
        }
        Ok(Self::Json { pointer: pointer.to_owned(), value: value.to_owned() })
    }

    /// Reads `Content-Type=text/html`.
    ///
    /// # Errors
    /// What is no name of a header, a missing `=`.
    pub fn header(text: &str) -> Result<Self, ParseError> {
        let Some((name, value)) = text.split_once('=') else {
            let wanted = "a header and a text such as Content-Type=text/html";
            let error = ParseError::new(wanted, text, 0, text.len());
            return Err(error.hint("put `=` between the name and the text"));
        };
        Self::header_of(name, value)
    }

    /// The same, of its two parts.
    ///
    /// # Errors
    /// What is no name of a header.
    pub fn header_of(name: &str, text: &str) -> Result<Self, ParseError> {
        // Content-Length frames a message that we send; of an answer it may be looked at.
        if !["content-length", "transfer-encoding"].iter().any(|of| name.eq_ignore_ascii_case(of)) {
            parse_header(&format!("{name}: x"))
                .map_err(|_| ParseError::new("the name of a header", name, 0, name.len()))?;
        }
        Ok(Self::Header { name: name.to_ascii_lowercase(), text: text.to_owned() })
    }

    /// Whether it looks at bodies.
    #[must_use]
    pub fn is_of_body(&self) -> bool {
        !matches!(self, Self::Header { .. })
    }

    /// Whether it holds of an answer with this content.
    fn holds(&self, answer: &Answer, body: &Result<&[u8], &str>) -> Result<(), String> {
        let body = || body.map_err(str::to_owned);
        match self {
            Self::Body(text) => match memchr::memmem::find(body()?, text.as_bytes()) {
                Some(_) => Ok(()),
                None => Err(format!("the body does not contain `{}`", short(text))),
            },
            Self::Json { pointer, value } => {
                let body = body()?;
                let read: Result<Value, _> = serde_json::from_slice(body);
                read.map_err(|error| format!("the body is no JSON: {error}"))?;
                let body = std::str::from_utf8(body).unwrap_or_default();
                match json::at(body, pointer) {
                    None => Err(format!("there is nothing at `{}` of the body", short(pointer))),
                    Some(found) if is(found, value) => Ok(()),
                    Some(_) => Err(format!("`{}` is not `{}`", short(pointer), short(value))),
                }
            }
            Self::Header { name, text } => {
                let has = |value: &[u8]| memchr::memmem::find(value, text.as_bytes()).is_some();
                match answer.headers(name).map(has).max() {
                    Some(true) => Ok(()),
                    Some(false) => {
                        Err(format!("the header `{name}` does not contain `{}`", short(text)))
                    }
                    None => Err(format!("there is no header `{name}`")),
                }
            }
        }
    }
}

/// Whether a value is the one that was written: as JSON, or as the text of a string.
fn is(found: &str, written: &str) -> bool {
    json::string(found).as_deref() == Some(written) || json::is_same(found, written)
}

/// A text as a sentence shows it.
fn short(text: &str) -> String {
    const MOST: usize = 60;
    let mut chars = text.chars();
    let start: String = chars.by_ref().take(MOST).collect();
    if chars.next().is_some() { start + "…" } else { start }
}

/// Holds all checks against an answer.
///
/// # Errors
/// Says of the first that does not hold why.
pub fn hold(checks: &[Check], answer: &Answer) -> Result<(), String> {
    let content = if checks.iter().any(Check::is_of_body) {
        answer.content()
    } else {
        Ok(std::borrow::Cow::Borrowed(&[][..]))
    };
    let body = match &content {
        Ok(body) => Ok(&**body),
        Err(why) => Err(why.as_str()),
    };
    checks.iter().try_for_each(|check| check.holds(answer, &body))
}

/// As it is written on the command line.
impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Body(text) => f.write_str(text),
            Self::Json { pointer, value } => write!(f, "{pointer}={value}"),
            Self::Header { name, text } => write!(f, "{name}={text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn answer(body: &[u8], fields: &[(&str, &str)]) -> Answer {
        let field = |(name, value): &(&str, &str)| (name.to_string(), value.as_bytes().to_vec());
        let mut answer = Answer { fields: fields.iter().map(field).collect(), ..Answer::default() };
        answer.keep(body);
        answer
    }

    fn why(check: Check, answer: &Answer) -> String {
        hold(&[check], answer).err().unwrap_or_default()
    }

    #[test]
    fn bodies_are_searched() {
        let page = answer(b"<h1>Welcome</h1>", &[]);
        assert_eq!(why(Check::body("Welcome").unwrap(), &page), "");
        let error = why(Check::body("Basket").unwrap(), &page);
        assert_eq!(error, "the body does not contain `Basket`");
        assert!(Check::body("").is_err());
    }

    #[test]
    fn values_of_json_are_compared_by_value() {
        let json = answer(
            br#"{"id": 42, "n": "42", "ok": true, "a": [1.0, null], "": {"b/c": "x"},
                "big": 9007199254740993}"#,
            &[],
        );
        for held in [
            "/id=42",
            "/id=42.0",
            "/id=4.2e1",
            "/n=42",
            "/n=\"42\"",
            "/ok=true",
            "/a/0=1",
            "/a/1=null",
            "//b~1c=x",
            "/a=[1.0,null]",
            "/big=9007199254740993",
            "/big=9007199254740993.0",
        ] {
            assert_eq!(why(Check::json(held).unwrap(), &json), "", "{held}");
        }
        for (broken, part) in [
            ("/id=43", "`/id` is not `43`"),
            ("/ok=yes", "is not `yes`"),
            ("/big=9007199254740992", "is not `9007199254740992`"),
            ("/none=1", "nothing at `/none`"),
            ("/a/7=1", "nothing at"),
        ] {
            assert!(why(Check::json(broken).unwrap(), &json).contains(part), "{broken}");
        }
        let page = answer(b"<html>", &[]);
        assert!(why(Check::json("/id=1").unwrap(), &page).starts_with("the body is no JSON"));
        assert!(Check::json("id=1").is_err() && Check::json("/id").is_err());
    }

    #[test]
    fn headers_are_looked_for_in_any_case() {
        let page = answer(
            b"",
            &[("content-type", "text/html; charset=utf-8"), ("x-a", "1"), ("x-a", "2")],
        );
        assert_eq!(why(Check::header("Content-Type=text/html").unwrap(), &page), "");
        assert_eq!(why(Check::header("X-A=2").unwrap(), &page), "");
        assert!(why(Check::header("X-A=3").unwrap(), &page).contains("does not contain `3`"));
        assert_eq!(why(Check::header("ETag=").unwrap(), &page), "there is no header `etag`");
        assert!(Check::header("a b=1").is_err() && Check::header("ETag").is_err());
        assert!(Check::header("Content-Length=5").is_ok());
    }

    #[test]
    fn what_is_packed_is_unpacked_and_what_is_too_long_is_said() {
        let pack = |bytes: &[u8]| {
            let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            out.write_all(bytes).unwrap();
            out.finish().unwrap()
        };
        let gzip = [("content-encoding", "gzip")];
        let welcome = || Check::body("Welcome").unwrap();
        assert_eq!(why(welcome(), &answer(&pack(b"Welcome"), &gzip)), "");
        // A bomb: 64 MiB of nothing in 64 kB.
        let bomb = answer(&pack(&vec![0; 64 << 20]), &gzip);
        assert!(why(welcome(), &bomb).contains("longer than the 1 MiB"));
        assert!(why(welcome(), &answer(b"\x1f\x8bno", &gzip)).contains("cannot be unpacked"));
        let brotli = answer(b"x", &[("content-encoding", "br")]);
        assert!(why(welcome(), &brotli).contains("packed by `br`"));
        let long = answer(&vec![b'x'; MAX_KEPT + 1], &[("x-a", "1")]);
        assert_eq!(long.body.len(), MAX_KEPT);
        assert!(why(welcome(), &long).contains("longer than the 1 MiB"));
        assert_eq!(why(Check::header("x-a=1").unwrap(), &long), "", "its head is whole");
    }
}
