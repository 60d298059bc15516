//! The Common Log Format of NCSA httpd, and the Combined one, which adds referrer and user agent
//! in quotes.
//!
//! `192.0.2.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /a.gif HTTP/1.0" 200 2326`
//!
//! Read are the time, in brackets (also in ISO 8601), and the request, in quotes. What precedes
//! the time may be anything, a virtual host included. Quotes within the request are escaped by
//! today's servers; where an old one left them bare, the quote that a status follows closes it.

use super::date::{self, CLF_BYTES, LastDate, Moment};
use super::entry::{Entry, Why, split_request};

/// How many `[` are looked at for the one that opens the time: user names may hold some.
const MAX_BRACKETS: usize = 8;

/// How many `"` are looked at for the one that closes the request.
const MAX_QUOTES: usize = 32;

pub(super) fn parse<'a>(line: &'a [u8], last: &mut LastDate) -> Result<Entry<'a>, Why> {
    let (moment, rest) = time(line, last).ok_or("no time such as [10/Oct/2000:13:55:36 -0700]")?;
    let Some(open) = memchr::memchr(b'"', rest) else { return Err("no request in quotes") };
    let inner = &rest[open + 1..];
    let close = closing_quote(inner).ok_or("a request without a closing quote and a status")?;
    let (method, target) = split_request(&inner[..close]);
    Ok(Entry { moment, method, target, escaped: true, rest: &inner[close + 1..] })
}

/// The time in brackets, and what follows it.
fn time<'a>(line: &'a [u8], last: &mut LastDate) -> Option<(Moment, &'a [u8])> {
    let mut rest = line;
    for _ in 0..MAX_BRACKETS {
        let open = memchr::memchr(b'[', rest)?;
        rest = &rest[open + 1..];
        if let Some((text, after)) = rest.split_first_chunk::<CLF_BYTES>()
            && after.first() == Some(&b']')
            && let Some(second) = last.clf(text)
        {
            return Some((Moment { second, nanos: None }, &after[1..]));
        }
        let close = memchr::memchr(b']', rest)?;
        if let Some(moment) = date::iso(&rest[..close]) {
            return Some((moment, &rest[close + 1..]));
        }
    }
    None
}

/// Where the request ends: at a quote that is not escaped and that a status (or `-`) follows.
fn closing_quote(inner: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'"', inner).take(MAX_QUOTES).find(|&at| {
        let slashes = inner[..at].iter().rev().take_while(|&&byte| byte == b'\\').count();
        slashes % 2 == 0 && matches!(inner[at + 1..], [b' ', b'0'..=b'9' | b'-', ..])
    })
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
