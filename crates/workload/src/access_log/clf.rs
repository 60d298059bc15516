//! The Common Log Format of NCSA httpd, and the Combined one, which adds referrer and user agent
//! in quotes.
//!
//! `192.0.2.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /a.gif HTTP/1.0" 200 2326`
//!
//! Read are the time, in brackets (also in ISO 8601, or with a fraction behind its seconds), and
//! the request, in quotes. What precedes the time may be anything, a virtual host included; between
//! time and request other fields may stand, in quotes too. Quotes within the request are escaped by
//! today's servers; where an old one left them bare, the quote that a status follows closes it.

use super::date::{self, CLF_BYTES, LastDate, Moment};
use super::entry::{Entry, Rest, Why, is_target, split_request};

/// How many `[` are looked at for the one that opens the time: user names may hold some.
const MAX_BRACKETS: usize = 8;

/// How many `"` are looked at for the one that closes the request.
const MAX_QUOTES: usize = 32;

pub(super) fn parse<'a>(line: &'a [u8], last: &mut LastDate) -> Result<Entry<'a>, Why> {
    let (moment, rest) = time(line, last).ok_or("no time such as [10/Oct/2000:13:55:36 -0700]")?;
    let Some(open) = memchr::memchr(b'"', rest) else { return Err("no request in quotes") };
    let inner = &rest[open + 1..];
    let (request, rest) = request(inner).ok_or("a request without a closing quote and a status")?;
    let (method, target) = split_request(request);
    Ok(Entry { moment, method, target, escaped: true, rest: Rest::Unread(rest) })
}

/// The time in brackets, and what follows it.
fn time<'a>(line: &'a [u8], last: &mut LastDate) -> Option<(Moment, &'a [u8])> {
    let mut rest = line;
    for _ in 0..MAX_BRACKETS {
        let open = memchr::memchr(b'[', rest)?;
        rest = &rest[open + 1..];
        if let Some((text, after)) = rest.split_first_chunk::<CLF_BYTES>()
            && after.first() == Some(&b']')
            && let Some(moment) = last.clf(text)
        {
            return Some((moment, &after[1..]));
        }
        let close = memchr::memchr(b']', rest)?;
        let text = &rest[..close];
        let with_zone = || date::clf_with_fraction(text).filter(|_| text.contains(&b' '));
        if let Some(moment) = date::iso(text).or_else(with_zone) {
            return Some((moment, &rest[close + 1..]));
        }
    }
    None
}

/// The request, and what follows its closing quote; `inner` begins after the first quote.
///
/// A quote that is not escaped and that a status (or `-`) follows closes the request. One that
/// does not, after what is no request, closes another field: the next quote opens the next one.
fn request(inner: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut start = 0;
    let mut opens = false;
    for at in memchr::memchr_iter(b'"', inner).take(MAX_QUOTES) {
        let slashes = inner[..at].iter().rev().take_while(|&&byte| byte == b'\\').count();
        if slashes % 2 == 1 {
            continue;
        }
        if opens {
            (start, opens) = (at + 1, false);
            continue;
        }
        let (field, after) = (&inner[start..at], &inner[at + 1..]);
        if is_status_next(after, field) {
            return Some((field, after));
        }
        opens = after.first() == Some(&b' ') && !is_request(field);
    }
    None
}

/// Whether a field asks for something.
fn is_request(field: &[u8]) -> bool {
    let (method, target) = split_request(field);
    is_target(target) || matches!(method, b"CONNECT" | b"OPTIONS")
}

/// Whether a status comes next: three digits, or `-`, or the 0 with a size behind it that Squid
/// writes where it sent no answer. After a field that is no request, a `-` with a field in quotes
/// behind it is another field.
fn is_status_next(after: &[u8], field: &[u8]) -> bool {
    match after {
        [b' ', b'0', b' ', b'0'..=b'9' | b'-', ..] => true,
        [b' ', b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', rest @ ..] => {
            !matches!(rest.first(), Some(byte) if byte.is_ascii_alphanumeric() || *byte == b'.')
        }
        [b' ', b'-', rest @ ..] => !rest.starts_with(b" \"") || is_request(field),
        _ => false,
    }
}

/// Whether a line has what Combined adds: after the request two more texts in quotes.
pub(super) fn is_combined(line: &[u8]) -> bool {
    line.ends_with(b"\"") && memchr::memchr_iter(b'"', line).count() >= 6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<(i64, String, String), Why> {
        parse(line.as_bytes(), &mut LastDate::new()).map(|entry| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (entry.moment.second, text(entry.method), text(entry.target))
        })
    }

    #[test]
    fn common_and_combined_lines() {
        let expected = Ok((971_211_336, "GET".to_owned(), "/a.gif".to_owned()));
        let common = "192.0.2.1 - frank [10/Oct/2000:13:55:36 -0700] \"GET /a.gif HTTP/1.0\" 200 9";
        assert_eq!(parsed(common), expected);
        let combined = format!("{common} \"http://h/\" \"Mozilla/4.08 [en] (Win98)\"");
        assert_eq!(parsed(&combined), expected);
        assert!(is_combined(combined.as_bytes()) && !is_combined(common.as_bytes()));
        assert_eq!(parsed(&format!("shop.example:443 {combined}")), expected);
        let odd_user = common.replace("frank", "a [b] \\\"c");
        assert_eq!(parsed(&odd_user), expected);
        let iso = common.replace("10/Oct/2000:13:55:36 -0700", "2000-10-10T13:55:36-07:00");
        assert_eq!(parsed(&iso), expected);
        let fraction = common.replace("13:55:36 -", "13:55:36.123 -");
        assert_eq!(parsed(&fraction), expected);
        assert!(parsed(&fraction.replace(" -0700", "")).is_err(), "HAProxy's has no zone");
    }

    #[test]
    fn odd_requests() {
        let line = |request: &str| {
            parsed(&format!("h - - [10/Oct/2000:13:55:36 -0700] \"{request}\" 400 -"))
                .map(|(_, method, target)| (method, target))
        };
        let pair = |method: &str, target: &str| Ok((method.to_owned(), target.to_owned()));
        assert_eq!(line("-"), pair("", ""));
        assert_eq!(line(""), pair("", ""));
        assert_eq!(line("GET /a\\\"b HTTP/1.1"), pair("GET", "/a\\\"b"));
        assert_eq!(line("GET /a\"b\" HTTP/1.1"), pair("GET", "/a\"b\""));
        assert_eq!(line("GET /a\\\\"), pair("GET", "/a\\\\"));
        assert_eq!(line("\\x16\\x03\\x01"), pair("", ""));
    }

    #[test]
    fn fields_before_the_request_are_passed_over() {
        let expected = Ok((971_211_336, "GET".to_owned(), "/a".to_owned()));
        let time = "h - - [10/Oct/2000:13:55:36 -0700]";
        for before in [
            "\"shop.example\"",
            "\"shop.example\" \"-\"",
            "\"shop.example\" -",
            "\"shop.example\" 0.003",
            "\"shop.example\" upstream",
            "\"a \\\" b\" \"some more text\"",
            "192.0.2.1 \"\"",
        ] {
            let line = format!("{time} {before} \"GET /a HTTP/1.1\" 200 10 \"-\" \"UA\"");
            assert_eq!(parsed(&line), expected, "{line}");
        }
        let line =
            format!("{time} \"- error:no-headers NONE/0.0\" 0 0 \"-\" \"-\" NONE_NONE:HIER_NONE");
        assert_eq!(parsed(&line), Ok((971_211_336, String::new(), String::new())));
        // A user agent that looks like a request is none: the request was closed before it.
        let line = format!("{time} \"\\x16\\x03\" 400 0 \"-\" \"GET /no HTTP/1.1\" 200");
        assert_eq!(parsed(&line), Ok((971_211_336, String::new(), String::new())));
    }

    #[test]
    fn what_is_missing_is_named() {
        assert!(
            parsed("h - - [10/Oct/2000] \"GET / HTTP/1.0\" 200 1").unwrap_err().contains("time")
        );
        assert!(parsed("h - - [10/Oct/2000:13:55:36 -0700] GET /").unwrap_err().contains("quotes"));
        assert!(
            parsed("h - - [10/Oct/2000:13:55:36 -0700] \"GET / HT")
                .unwrap_err()
                .contains("closing")
        );
    }
}
