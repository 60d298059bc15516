//! How a value enters a text: as it is where that is a body, encoded where it is part of something
//! with a grammar of its own.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Where a value enters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// A body or a message: as it is.
    Raw,
    /// The value of a header: as it is, and refused where it has a control character.
    Line,
    /// Where a path begins: as it is, as it may be a link that was taken, but for what no request
    /// line has, which is percent-encoded.
    Link,
    /// Within a path: as there, but that it neither ends the path nor begins a query.
    Path,
    /// A query: percent-encoded, but for unreserved characters (RFC 3986, section 2.3).
    Query,
    /// A form: as a query, with `+` for a blank (`application/x-www-form-urlencoded`, WHATWG).
    Form,
    /// Inside a string of JSON: escaped.
    Json,
    /// In the place of a value of JSON: a number, boolean or object as it was taken, else a string.
    JsonValue,
}

/// What is done to a value before it enters a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pipe {
    /// Percent-encodes it.
    UrlEncode,
    /// Encodes it in base64 (RFC 4648, section 4).
    Base64,
    /// Escapes it as within a string of JSON.
    Json,
}

impl Pipe {
    /// The pipes by their names.
    pub(super) const NAMES: [(&'static str, Self); 3] =
        [("urlencode", Self::UrlEncode), ("base64", Self::Base64), ("json", Self::Json)];

    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::UrlEncode => "urlencode",
            Self::Base64 => "base64",
            Self::Json => "json",
        }
    }

    /// The value after it.
    pub(super) fn through(self, value: &[u8]) -> Vec<u8> {
        match self {
            Self::UrlEncode => {
                let mut out = Vec::with_capacity(value.len());
                percent(value, is_unreserved, &mut out);
                out
            }
            Self::Base64 => STANDARD.encode(value).into_bytes(),
            Self::Json => {
                let mut out = Vec::with_capacity(value.len());
                json_text(value, &mut out);
                out
            }
        }
    }
}

impl Encoding {
    /// Appends a value; `false` where it may not enter here.
    pub(super) fn append(self, value: &[u8], is_json: bool, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Raw => out.extend_from_slice(value),
            Self::Line => {
                let is_control = |byte: &u8| *byte != b'\t' && (*byte < b' ' || *byte == 0x7f);
                if value.iter().any(is_control) {
                    return false;
                }
                out.extend_from_slice(value);
            }
            Self::Link => percent(value, is_of_target, out),
            Self::Path => percent(value, |byte| is_of_target(byte) && !b"?#".contains(&byte), out),
            Self::Query => percent(value, is_unreserved, out),
            Self::Form => form(value, out),
            Self::Json => json_text(value, out),
            Self::JsonValue if is_json => out.extend_from_slice(value),
            Self::JsonValue => {
                out.push(b'"');
                json_text(value, out);
                out.push(b'"');
            }
        }
        true
    }
}

/// A value in all forms in which it may enter a text: what is secret is so in each.
#[must_use]
pub fn forms(value: &str) -> Vec<String> {
    let encodings = [Encoding::Raw, Encoding::Query, Encoding::Form, Encoding::Json];
    let entered = encodings.into_iter().map(|encoding| {
        let mut out = Vec::new();
        encoding.append(value.as_bytes(), false, &mut out);
        out
    });
    let piped = [Pipe::UrlEncode, Pipe::Base64].map(|pipe| pipe.through(value.as_bytes()));
    let mut forms: Vec<String> =
        entered.chain(piped).filter_map(|form| String::from_utf8(form).ok()).collect();
    forms.sort();
    forms.dedup();
    forms
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// Whether a byte may stand on a request line as it is.
pub(super) fn is_of_target(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte)
}

/// Percent-encodes what is not to `stay`.
pub(super) fn percent(value: &[u8], stay: impl Fn(u8) -> bool, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in value {
        if stay(byte) {
            out.push(byte);
        } else {
            out.extend([b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
    }
}

fn form(value: &[u8], out: &mut Vec<u8>) {
    for part in value.split_inclusive(|byte| *byte == b' ') {
        let (part, blank) = match part {
            [text @ .., b' '] => (text, true),
            text => (text, false),
        };
        percent(part, |byte| byte.is_ascii_alphanumeric() || b"*-._".contains(&byte), out);
        if blank {
            out.push(b'+');
        }
    }
}

/// Escapes what may not stand in a string of JSON (RFC 8259, section 7).
pub(super) fn json_text(value: &[u8], out: &mut Vec<u8>) {
    for &byte in value {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', byte]),
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'\t' => out.extend(b"\\t"),
            byte if byte < b' ' => out.extend(format!("\\u{byte:04x}").into_bytes()),
            byte => out.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entered(encoding: Encoding, value: &str, is_json: bool) -> Option<String> {
        let mut out = Vec::new();
        let may = encoding.append(value.as_bytes(), is_json, &mut out);
        may.then(|| String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_value_is_encoded_by_where_it_enters() {
        let of = |encoding| entered(encoding, "a b&ü\"/?#", false).unwrap();
        assert_eq!(of(Encoding::Raw), "a b&ü\"/?#");
        assert_eq!(of(Encoding::Query), "a%20b%26%C3%BC%22%2F%3F%23");
        assert_eq!(of(Encoding::Form), "a+b%26%C3%BC%22%2F%3F%23");
        assert_eq!(of(Encoding::Path), "a%20b&%C3%BC%22/%3F%23");
        assert_eq!(of(Encoding::Link), "a%20b&%C3%BC%22/?#");
        assert_eq!(of(Encoding::Json), "a b&ü\\\"/?#");
        assert_eq!(of(Encoding::JsonValue), "\"a b&ü\\\"/?#\"");
        assert_eq!(entered(Encoding::JsonValue, "17", true).unwrap(), "17");
        assert_eq!(entered(Encoding::JsonValue, "17", false).unwrap(), "\"17\"");
    }

    #[test]
    fn no_line_of_a_header_ends_early() {
        assert_eq!(entered(Encoding::Line, "a\r\nX: y", false), None);
        assert_eq!(entered(Encoding::Line, "a\tb", false).unwrap(), "a\tb");
    }

    #[test]
    fn pipes_encode() {
        assert_eq!(Pipe::Base64.through(b"user:pw"), b"dXNlcjpwdw==");
        assert_eq!(Pipe::UrlEncode.through(b"a/b"), b"a%2Fb");
        assert_eq!(Pipe::Json.through(b"a\"\n"), b"a\\\"\\n");
        assert!(Pipe::NAMES.iter().all(|(name, pipe)| *name == pipe.name()));
    }
}
