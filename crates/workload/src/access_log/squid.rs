//! Squid's native access log.
//!
//! `1286536309.586  921 192.0.2.68 TCP_MISS/200 507 GET http://h/a - DIRECT/192.0.2.9 text/html`
//!
//! The time is the moment the request *ended* (Squid's `%ts.%03tu`), as it is in this format; it
//! is taken as it stands, because the length of a tunnel says nothing about when load arrived.

use super::date;
use super::entry::{Entry, Rest, Why, is_method};

pub(super) fn parse(line: &[u8]) -> Result<Entry<'_>, Why> {
    let mut fields = Fields(line);
    let time = fields.next().ok_or("no time")?;
    let moment = date::epoch(time).ok_or("no time such as 1286536309.586")?;
    let rest = fields.0;
    let mut third = || {
        let (_elapsed, _client) = (fields.next()?, fields.next()?);
        fields.next()
    };
    let result = third().ok_or("too few fields")?;
    if !result.contains(&b'/') {
        return Err("no result code such as TCP_MISS/200");
    }
    let mut last = || {
        let _bytes = fields.next()?;
        Some((fields.next()?, fields.next()?))
    };
    let (method, target) = last().ok_or("too few fields")?;
    let method = if is_method(method) { method } else { &[] };
    Ok(Entry { moment, method, target, escaped: false, rest: Rest::Unread(rest) })
}

/// Fields between blanks, however many.
pub(super) struct Fields<'a>(pub &'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let start = self.0.iter().position(|&byte| byte != b' ')?;
        let rest = &self.0[start..];
        let end = memchr::memchr(b' ', rest).unwrap_or(rest.len());
        self.0 = &rest[end..];
        Some(&rest[..end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_line() {
        let line =
            b"1286536309.586    921 192.0.2.68 TCP_MISS/200 507 GET http://h/a?b - DIRECT/h t";
        let entry = parse(line).unwrap();
        assert_eq!(entry.moment.second, 1_286_536_309);
        assert_eq!(entry.moment.nanos, Some(586_000_000));
        assert_eq!((entry.method, entry.target), (&b"GET"[..], &b"http://h/a?b"[..]));
    }

    #[test]
    fn what_is_missing_is_named() {
        assert!(parse(b"").unwrap_err().contains("time"));
        assert!(parse(b"x 1 h TCP_MISS/200 5 GET http://h/").unwrap_err().contains("time"));
        assert!(parse(b"1286536309.586 1 h TCP_MISS/200 5 GET").unwrap_err().contains("fields"));
        assert!(parse(b"1286536309.586 1 h 200 5 GET http://h/").unwrap_err().contains("result"));
    }
}
