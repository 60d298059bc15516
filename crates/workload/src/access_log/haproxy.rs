//! HAProxy's log of HTTP requests (`option httplog`, `option httpslog`), behind the head of a
//! system log or without it.
//!
//! `192.0.2.5:40001 [03/Mar/2026:08:00:00.123] front back/s1 0/0/0/1/1 200 300 - - ---- 2/2/0/0/0
//! 0/0 {shop.example} "GET /a?x=1 HTTP/1.1"`
//!
//! The time is when the request was accepted, in the clock of the proxy's host without its zone:
//! it is taken for UTC. What is captured of headers stands in braces and is not read, as the line
//! does not say of which; the host is that of a whole URL, which HTTP/2 has. HAProxy cuts lines
//! that are longer than its `len`: one without a closing quote cannot be read.
//!
//! Source: HAProxy, Configuration Manual, section 8.2.3, "HTTP log format".

use super::date::{self, Moment};
use super::entry::{Entry, LoggedFields, Rest, Why, split_request, without_port};
use super::squid::Fields;

/// How many `[` are looked at for the one that opens the time: a system log writes one, too.
const MOST_BRACKETS: usize = 4;

/// The longest date: `03/Mar/2026:08:00:00.123456 +0000`.
const MOST_DATE_BYTES: usize = 40;

pub(super) fn parse(line: &[u8]) -> Result<Entry<'_>, Why> {
    let (client, moment, after) = head(line).ok_or("no time such as [03/Mar/2026:08:00:00.123]")?;
    let mut fields = Fields(after);
    let mut field = || fields.next().ok_or("too few fields");
    let (_frontend, backend, timers) = (field()?, field()?, field()?);
    if !backend.contains(&b'/') || !is_timers(timers) {
        return Err("no back end and timers such as back/s1 0/0/0/1/1");
    }
    let (status, bytes) = (field()?, field()?);
    // HAProxy writes how long an answer took behind a `+` where it went on after the log line.
    let bytes = bytes.strip_prefix(b"+").unwrap_or(bytes);
    let (_, rest) = split_at(fields.0, b'"').ok_or("no request in quotes")?;
    let (request, _) = split_at(rest, b'"').ok_or("a request without a closing quote")?;
    let (method, target) = split_request(request);
    let found = LoggedFields { site: b"", client: without_port(client), status, bytes };
    Ok(Entry { moment, method, target, escaped: false, rest: Rest::Found(found) })
}

/// The client with its port, the time, and what follows it.
fn head(line: &[u8]) -> Option<(&[u8], Moment, &[u8])> {
    for open in memchr::memchr_iter(b'[', line).take(MOST_BRACKETS) {
        let (time, after) = split_at(&line[open + 1..], b']')?;
        let time = Some(time).filter(|time| time.len() <= MOST_DATE_BYTES);
        if let Some(moment) = time.and_then(date::clf_with_fraction) {
            let before = line[..open].trim_ascii_end();
            let client = memchr::memrchr(b' ', before).map_or(0, |blank| blank + 1);
            return Some((&before[client..], moment, after));
        }
    }
    None
}

/// Five times, with `/` between: `-1` is none, `+` one that went on.
fn is_timers(text: &[u8]) -> bool {
    let is_time = |part: &[u8]| {
        let digits = part.strip_prefix(b"-").or(part.strip_prefix(b"+")).unwrap_or(part);
        !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
    };
    text.split(|&byte| byte == b'/').count() == 5 && text.split(|&byte| byte == b'/').all(is_time)
}

fn split_at(text: &[u8], mark: u8) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(mark, text)?;
    Some((&text[..at], &text[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<(i64, String), Why> {
        parse(line.as_bytes()).map(|entry| {
            let Rest::Found(found) = entry.rest else { panic!("nothing found") };
            let parts = [entry.method, entry.target, found.client, found.status, found.bytes];
            let text = parts.map(|part| String::from_utf8_lossy(part).into_owned()).join(" ");
            (entry.moment.second, text)
        })
    }

    #[test]
    fn lines_with_and_without_a_head() {
        let bare = "192.0.2.5:40001 [03/Mar/2026:08:00:00.123] front back/s1 0/0/0/1/1 200 300 - - \
                    ---- 2/2/0/0/0 0/0 \"GET /a?x=1 HTTP/1.1\"";
        let expected = Ok((1_772_524_800, "GET /a?x=1 192.0.2.5 200 300".to_owned()));
        assert_eq!(parsed(bare), expected);
        assert_eq!(parsed(&format!("Mar  3 08:00:00 lb haproxy[77]: {bare}")), expected);
        let entry = parse(bare.as_bytes()).unwrap();
        assert_eq!(entry.moment.nanos, Some(123_000_000));
        let captured = bare.replace("0/0 \"", "0/0 {shop.example|} {} \"");
        assert_eq!(parsed(&captured), expected);
        let six = bare.replace("192.0.2.5:", "::ffff:192.0.2.5:");
        assert_eq!(parsed(&six).unwrap().1, "GET /a?x=1 ::ffff:192.0.2.5 200 300");
        let odd = bare.replace("200 300", "-1 +0").replace("GET /a?x=1 HTTP/1.1", "<BADREQ>");
        assert_eq!(parsed(&odd).unwrap().1, "  192.0.2.5 -1 0");
    }

    #[test]
    fn what_is_missing_is_named() {
        for (line, part) in [
            ("Proxy front started.", "time"),
            ("h:1 [03/Mar/2026:08:00:00.123] front", "fields"),
            ("h:1 [03/Mar/2026:08:00:00.123] front back 0/0/0/1/1 200 1 \"G\"", "timers"),
            ("h:1 [03/Mar/2026:08:00:00.123] f b/s 1/2/3 200 1 - - -- 1/1 \"G\"", "timers"),
            ("h:1 [03/Mar/2026:08:00:00.123] f b/s 0/0/0/1/1 200 1 - -", "quotes"),
            ("h:1 [03/Mar/2026:08:00:00.123] f b/s 0/0/0/1/1 200 1 - \"GET /a", "closing"),
        ] {
            let why = parsed(line).unwrap_err();
            assert!(why.contains(part), "{line}: {why}");
        }
    }
}
