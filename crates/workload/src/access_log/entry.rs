//! What one line of a log says, and the text of its URL as a request line may carry it.

use super::date::Moment;

/// What one line says. The parts point into the line, or into the reader's scratch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    pub moment: Moment,
    /// Empty where the line's request is none, or the line has a target without a method.
    pub method: &'a [u8],
    /// As logged; empty where the line's request is none.
    pub target: &'a [u8],
    /// Whether a backslash in `target` begins an escape of the logging server.
    pub escaped: bool,
    /// How the request was answered, and for whom.
    pub rest: Rest<'a>,
}

/// What a line says beside the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest<'a> {
    /// The part of the line that says it, not read yet: see [`Answer`](super::reader::Answer).
    Unread(&'a [u8]),
    /// Found on the way to the request.
    Found(LoggedFields<'a>),
}

/// Fields of a line as logged; empty where there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct LoggedFields<'a> {
    /// The host that was asked, with its port or without.
    pub site: &'a [u8],
    /// A name or an address, without a port.
    pub client: &'a [u8],
    pub status: &'a [u8],
    pub bytes: &'a [u8],
}

/// Why a line cannot be read; for the examples shown to the user.
pub(super) type Why = &'static str;

/// Method and target of a request line such as `GET /a?b HTTP/1.1`; empty where it is none. Old
/// servers log blanks within the target: the last word is the protocol only if it looks like one.
pub(super) fn split_request(line: &[u8]) -> (&[u8], &[u8]) {
    let Some(blank) = memchr::memchr(b' ', line) else { return (&[], &[]) };
    let method = &line[..blank];
    if !is_method(method) {
        return (&[], &[]);
    }
    let rest = &line[blank + 1..];
    let target = match memchr::memrchr(b' ', rest) {
        Some(last) if rest[last + 1..].starts_with(b"HTTP/") => &rest[..last],
        _ => rest,
    };
    (method, target.trim_ascii())
}

/// Whether a text may be a method; `-` says that there was none.
pub(super) fn is_method(text: &[u8]) -> bool {
    text.iter().all(|&byte| is_method_byte(byte)) && text.iter().any(u8::is_ascii_alphabetic)
}

/// Letters, `-` and `_`: what methods of RFC 9110 and its extensions are made of.
pub(super) fn is_method_byte(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_')
}

/// The text under which a URL is counted: what can be asked for again.
///
/// A path that starts with `/`, or a whole `http` or `https` URL. Escapes of the logging server
/// are undone; bytes that a request target may not carry, and `#`, `{` and `\`, are
/// percent-encoded, so that the text is visible ASCII. `None` for what is no such URL: `-`, `*`,
/// the `host:port` of CONNECT, the bytes of a TLS handshake sent to a plain port.
pub(super) fn url_text<'a>(entry: &Entry<'a>, scratch: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    let target = entry.target;
    if !is_target(target) {
        return None;
    }
    let plain = target.iter().fold(true, |plain, &byte| plain & is_plain(byte));
    if plain {
        return Some(target);
    }
    scratch.clear();
    encode(target, entry.escaped, scratch);
    Some(scratch)
}

/// Whether a text begins as what can be asked for does: a path, or a whole URL.
pub(super) fn is_target(text: &[u8]) -> bool {
    text.first() == Some(&b'/') || is_absolute(text)
}

fn is_absolute(target: &[u8]) -> bool {
    let starts = |scheme: &[u8]| {
        target.len() > scheme.len() && target[..scheme.len()].eq_ignore_ascii_case(scheme)
    };
    starts(b"http://") || starts(b"https://")
}

/// The authority of a whole URL, without user and password; empty where a target is none.
pub(super) fn authority(target: &[u8]) -> &[u8] {
    if !is_absolute(target) {
        return &[];
    }
    let start = memchr::memmem::find(target, b"://").map_or(target.len(), |at| at + 3);
    let rest = &target[start..];
    let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?' | b'#'));
    let authority = &rest[..end.unwrap_or(rest.len())];
    &authority[memchr::memrchr(b'@', authority).map_or(0, |at| at + 1)..]
}

/// An address without the port behind its last colon; brackets of IPv6 go with it.
pub(super) fn without_port(text: &[u8]) -> &[u8] {
    if let Some(rest) = text.strip_prefix(b"[") {
        return rest.split(|&byte| byte == b']').next().unwrap_or(rest);
    }
    &text[..memchr::memrchr(b':', text).unwrap_or(text.len())]
}

/// Whether a byte stands for itself in a URL text. Branch-free, for a loop over a whole target.
fn is_plain(byte: u8) -> bool {
    (byte.wrapping_sub(0x21) < 0x5e) & (byte != b'\\') & (byte != b'#') & (byte != b'{')
}

fn encode(target: &[u8], escaped: bool, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut rest = target;
    while let Some((&byte, tail)) = rest.split_first() {
        let (byte, tail) = if byte == b'\\' && escaped { unescape(tail) } else { (byte, tail) };
        rest = tail;
        if is_plain(byte) {
            out.push(byte);
        } else {
            out.push(b'%');
            out.push(HEX[usize::from(byte >> 4)]);
            out.push(HEX[usize::from(byte & 15)]);
        }
    }
}

/// What follows a backslash: `\x22` of nginx and Apache, `\"`, `\\` and C's letters of Apache.
fn unescape(tail: &[u8]) -> (u8, &[u8]) {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    match tail {
        [b'x' | b'X', high, low, rest @ ..] => match (digit(*high), digit(*low)) {
            (Some(high), Some(low)) => (high << 4 | low, rest),
            _ => (b'\\', tail),
        },
        [b'n', rest @ ..] => (b'\n', rest),
        [b'r', rest @ ..] => (b'\r', rest),
        [b't', rest @ ..] => (b'\t', rest),
        [b'b', rest @ ..] => (8, rest),
        [b'v', rest @ ..] => (11, rest),
        [byte @ (b'"' | b'\\'), rest @ ..] => (*byte, rest),
        _ => (b'\\', tail),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(target: &str, escaped: bool) -> Option<String> {
        let moment = Moment { second: 0, nanos: None, zone_s: None };
        let entry = Entry {
            moment,
            method: b"GET",
            target: target.as_bytes(),
            escaped,
            rest: Rest::Unread(b""),
        };
        let mut scratch = Vec::new();
        url_text(&entry, &mut scratch).map(|text| String::from_utf8(text.to_vec()).unwrap())
    }

    #[test]
    fn request_lines_are_split() {
        let split = |line: &'static str| {
            let (method, target) = split_request(line.as_bytes());
            (std::str::from_utf8(method).unwrap(), std::str::from_utf8(target).unwrap())
        };
        assert_eq!(split("GET /a?b=1 HTTP/1.1"), ("GET", "/a?b=1"));
        assert_eq!(split("GET /"), ("GET", "/"));
        assert_eq!(split("GET /a b c.html HTTP/1.0"), ("GET", "/a b c.html"));
        assert_eq!(split("M-SEARCH * HTTP/1.1"), ("M-SEARCH", "*"));
        assert_eq!(split("-"), ("", ""));
        assert_eq!(split("\\x16\\x03\\x01 x"), ("", ""));
        assert_eq!(split(""), ("", ""));
    }

    #[test]
    fn urls_become_what_can_be_asked_for_again() {
        assert_eq!(text("/a?b=1", true).as_deref(), Some("/a?b=1"));
        assert_eq!(text("/a b", true).as_deref(), Some("/a%20b"));
        assert_eq!(text("/\\x22\\\"\\\\", true).as_deref(), Some("/%22%5C").map(|_| "/\"\"%5C"));
        assert_eq!(text("/\\x22", false).as_deref(), Some("/%5Cx22"));
        assert_eq!(text("/\\xzz", true).as_deref(), Some("/%5Cxzz"));
        assert_eq!(text("/é#{{x}}", true).as_deref(), Some("/%C3%A9%23%7B%7Bx}}"));
        assert_eq!(text("HTTP://h/x", true).as_deref(), Some("HTTP://h/x"));
        for none in ["", "-", "*", "h:443", "http://", "ftp://h/", "error:invalid-request"] {
            assert_eq!(text(none, true), None, "{none}");
        }
    }
}
