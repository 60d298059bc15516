//! The access log of AWS's balancers: of applications (ALB), and the classic one, which has no type
//! in front.
//!
//! `h2 2026-03-03T08:00:00.123456Z app/front/0123 192.0.2.5:40001 198.51.100.7:443 0.001 0.015
//! 0.000 200 200 120 900 "GET https://shop.example:443/a?x=1 HTTP/2.0" "UA" …`
//!
//! The time is that at which the answer was given, as in most logs; the host is that of the URL,
//! the bytes are those that were sent to the client.
//!
//! Source: AWS, Elastic Load Balancing, user guide, "Access log entries".

use super::date;
use super::entry::{Entry, LoggedFields, Rest, Why, split_request, without_port};
use super::squid::Fields;

/// The types that a line may begin with.
pub(super) const TYPES: [&[u8]; 6] = [b"http", b"https", b"h2", b"grpcs", b"ws", b"wss"];

pub(super) fn parse(line: &[u8]) -> Result<Entry<'_>, Why> {
    const TIME: Why = "no time such as 2026-03-03T08:00:00.123456Z";
    let mut fields = Fields(line);
    let mut time = fields.next().ok_or(TIME)?;
    if TYPES.contains(&time) {
        time = fields.next().ok_or(TIME)?;
    }
    let moment = date::iso(time).filter(|_| time.ends_with(b"Z")).ok_or(TIME)?;
    let mut field = || fields.next().ok_or("too few fields");
    let (_balancer, client, _target) = (field()?, field()?, field()?);
    for _ in 0..3 {
        if !is_time_taken(field()?) {
            return Err("no three times such as 0.001 0.015 0.000");
        }
    }
    let (status, _of_target, _received, bytes) = (field()?, field()?, field()?, field()?);
    let rest = fields.0.strip_prefix(b" \"").ok_or("no request in quotes")?;
    let end = closing(rest).ok_or("a request without a closing quote")?;
    let (method, target) = split_request(&rest[..end]);
    let found = LoggedFields { site: b"", client: without_port(client), status, bytes };
    Ok(Entry { moment, method, target, escaped: true, rest: Rest::Found(found) })
}

/// Seconds, or -1.
fn is_time_taken(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    !digits.is_empty() && digits.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
}

/// The first quote that is not escaped.
fn closing(text: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'"', text).find(|&at| {
        let slashes = text[..at].iter().rev().take_while(|&&byte| byte == b'\\').count();
        slashes % 2 == 0
    })
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
    fn lines_of_both_balancers() {
        let line = "h2 2026-03-03T08:00:00.123456Z app/f/0 192.0.2.5:40001 198.51.100.7:443 0.001 \
                    0.015 0.000 200 200 120 900 \"GET https://shop.example:443/a?x=1 HTTP/2.0\" \
                    \"UA\" ECDHE TLSv1.2 arn:aws:x \"Root=1-0-0\" \"shop.example\" \"-\" 0";
        let target = "GET https://shop.example:443/a?x=1";
        let expected = Ok((1_772_524_800, format!("{target} 192.0.2.5 200 900")));
        assert_eq!(parsed(line), expected);
        assert_eq!(parsed(&line["h2 ".len()..]), expected);
        let six = line.replace("192.0.2.5:", "[2001:db8::9]:");
        assert_eq!(parsed(&six).unwrap().1, format!("{target} 2001:db8::9 200 900"));
        let odd = "http 2026-03-03T08:00:00.1Z app/f/0 192.0.2.5:1 - -1 -1 -1 400 - 0 272 \"- \
                   http://f-1.elb.amazonaws.com:80- -\" \"-\" - -";
        assert_eq!(parsed(odd).unwrap().1, "  192.0.2.5 400 272");
    }

    #[test]
    fn what_is_missing_is_named() {
        for (line, part) in [
            ("", "time"),
            ("h2", "time"),
            ("2026-03-03T08:00:00 app 192.0.2.5:1", "time"),
            ("h2 2026-03-03T08:00:00Z app/f/0", "fields"),
            ("h2 2026-03-03T08:00:00Z a 192.0.2.5:1 - x 0 0 200 - 0 1 \"GET / \"", "times"),
            ("h2 2026-03-03T08:00:00Z a 192.0.2.5:1 - 0 0 0 200 - 0 1 GET", "quotes"),
            ("h2 2026-03-03T08:00:00Z a 192.0.2.5:1 - 0 0 0 200 - 0 1 \"GET /", "closing"),
        ] {
            let why = parsed(line).unwrap_err();
            assert!(why.contains(part), "{line}: {why}");
        }
    }
}
