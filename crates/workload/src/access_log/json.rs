//! JSON lines: one object a line.
//!
//! Members of these names are looked for; the first of a row that is there counts:
//!
//! - time: `@timestamp`, `timestamp`, `time_iso8601`, `time_local`, `StartUTC`, `ts`, `msec`,
//!   `start_time`, `datetime`, `date`, `time`; a text (ISO 8601, the Common Log Format's date, or
//!   seconds) or a number (seconds since 1970, or milli-, micro-, nanoseconds, by its size);
//! - request line: `request`, where it is one (`GET /a HTTP/1.1`);
//! - or method: `method`, `request_method`, `http_method`, `RequestMethod`, `requestMethod`,
//!   `verb`;
//! - and target: `request_uri`, `requestUrl`, `uri`, `url`, `RequestPath`, `path`, `target`, or
//!   `request` where it is a path or a URL;
//! - and query, unless the target has one or is `request_uri` or `requestUrl`, which are whole:
//!   `args`, `query_string`, `queryString`, `query`, `QueryString`, `RequestQuery`;
//! - the host: `http_host`, `RequestHost`, `host`, `server_name`;
//! - the client: `remote_addr`, `remote_ip`, `remoteIp`, `clientip`, `client_ip`, `ClientHost`,
//!   `ClientAddr`.
//!
//! Host, client, method, target and query may also stand within an object `request` or
//! `httpRequest`, as Caddy and Google's logs have it, or where the Elastic Common Schema has them:
//! `http.request.method`, `url.original`, `url.path`, `url.query`, `url.domain`, `client.ip`, as
//! objects or as names with dots. Other nested values are skipped, at most [`MAX_DEPTH`] deep. A
//! line without a method has an empty one: nothing is assumed. A query that is an object or an
//! array cannot be put together again, so its line has no target.
//!
//! The scanner is written by hand: it reads a line once, builds nothing and allocates only for
//! texts with escapes and for queries.

mod roles;

use super::date::{self, Moment};
use super::entry::{self, Entry, Rest, Why, is_method, is_target, split_request, without_port};

use roles::{Role, WITH_PORT, WITHOUT_QUERY, Within};

/// How deep values may be nested: a bit for each level.
pub(super) const MAX_DEPTH: u32 = 128;

/// A text between its quotes.
#[derive(Clone, Copy)]
struct Value<'a> {
    text: &'a [u8],
    escapes: bool,
}

/// A query as it was found.
#[derive(Clone, Copy)]
enum Query<'a> {
    Text(Value<'a>),
    /// An object or an array that is not empty.
    Nested,
}

/// What was found so far, with the rank of its name.
#[derive(Default)]
struct JsonFields<'a> {
    time: Option<(u8, Moment)>,
    request: Option<Value<'a>>,
    method: Option<(u8, Value<'a>)>,
    target: Option<(u8, Value<'a>)>,
    query: Option<(u8, Query<'a>)>,
    site: Option<(u8, &'a [u8])>,
    client: Option<(u8, &'a [u8])>,
}

impl<'a> JsonFields<'a> {
    /// The host and the client; neither has escapes.
    fn rest(&self) -> Rest<'a> {
        let client = self.client.map_or(&[][..], |(rank, client)| {
            if rank < WITH_PORT { client } else { without_port(client) }
        });
        let site = self.site.map_or(&[][..], |(_, site)| site);
        Rest::Found(entry::LoggedFields { site, client, ..entry::LoggedFields::default() })
    }
}

/// Room for texts whose escapes had to be undone, and for targets with a query put behind them.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    time: Vec<u8>,
    request: Vec<u8>,
    method: Vec<u8>,
    target: Vec<u8>,
    query: Vec<u8>,
}

pub(super) fn parse<'a>(line: &'a [u8], scratch: &'a mut Scratch) -> Result<Entry<'a>, Why> {
    const ESCAPE: Why = "a text with a wrong escape";
    let mut found = JsonFields::default();
    let mut scan = Scan { text: line, at: 0 };
    scan.blanks();
    scan.object(&mut found, &mut scratch.time, Within::Line).ok_or("no JSON object")?;
    scan.blanks();
    if scan.at != line.len() {
        return Err("more than one JSON object");
    }
    let (_, moment) = found.time.ok_or("no member with a time")?;
    let rest = found.rest();
    let entry = |method, target| Entry { moment, method, target, escaped: false, rest };
    let mut path = None;
    if let Some(request) = found.request {
        let request = plain(request, &mut scratch.request).ok_or(ESCAPE)?;
        let (method, target) = split_request(request);
        if is_target(target) || found.target.is_none() && !is_target(request) {
            return Ok(entry(method, target));
        }
        path = is_target(request).then_some(request);
    }
    let method = match found.method {
        Some((_, method)) => plain(method, &mut scratch.method).ok_or(ESCAPE)?,
        None => &[],
    };
    let method = if is_method(method) { method } else { &[] };
    let (rank, target) = match found.target {
        Some((rank, target)) => (rank, plain(target, &mut scratch.target).ok_or(ESCAPE)?),
        None => (WITHOUT_QUERY, path.ok_or("no member with a request or a URL")?),
    };
    if rank < WITHOUT_QUERY || memchr::memchr(b'?', target).is_some() {
        return Ok(entry(method, target));
    }
    match found.query {
        None => Ok(entry(method, target)),
        Some((_, Query::Nested)) => Ok(entry(method, &[])),
        Some((_, Query::Text(query))) => {
            let query = plain(query, &mut scratch.time).ok_or(ESCAPE)?;
            let query = query.strip_prefix(b"?").unwrap_or(query);
            if query.is_empty() || query == b"-" {
                return Ok(entry(method, target));
            }
            scratch.query.clear();
            scratch.query.extend_from_slice(target);
            scratch.query.push(b'?');
            scratch.query.extend_from_slice(query);
            Ok(entry(method, &scratch.query))
        }
    }
}

/// The text whose opening quote is at a place of a line, with its escapes undone.
pub(super) fn text_at<'a>(line: &'a [u8], at: usize, room: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    plain(Scan { text: line, at }.string()?, room)
}

/// A place in a line; every step either moves on or ends.
struct Scan<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// An object whose members are looked at.
    fn object(
        &mut self,
        found: &mut JsonFields<'a>,
        room: &mut Vec<u8>,
        within: Within,
    ) -> Option<()> {
        self.take(b'{')?;
        self.blanks();
        if self.peek()? == b'}' {
            return self.take(b'}');
        }
        loop {
            let name = self.string()?.text;
            self.blanks();
            self.take(b':')?;
            self.blanks();
            self.member(name, found, room, within)?;
            self.blanks();
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => return self.take(b'}'),
                _ => return None,
            }
            self.blanks();
        }
    }

    fn member(
        &mut self,
        name: &[u8],
        found: &mut JsonFields<'a>,
        room: &mut Vec<u8>,
        within: Within,
    ) -> Option<()> {
        let role = within.role(name);
        match self.peek()? {
            b'"' => {
                let value = self.string()?;
                if let Some((role, rank)) = role {
                    found.text(role, rank, value, room, within);
                }
                Some(())
            }
            bracket @ (b'{' | b'[') => {
                if let Some(inner) = within.inner(name).filter(|_| bracket == b'{') {
                    return self.object(found, room, inner);
                }
                let start = self.at;
                self.skip_nested()?;
                let is_empty = self.text[start + 1..self.at - 1].trim_ascii().is_empty();
                if let Some((Role::Query, rank)) = role
                    && !is_empty
                {
                    found.query(rank, Query::Nested);
                }
                Some(())
            }
            _ => {
                let number = self.scalar()?;
                if let Some((Role::Time, rank)) = role
                    && within == Within::Line
                {
                    found.number(rank, number);
                }
                Some(())
            }
        }
    }

    /// A text in quotes, without them.
    fn string(&mut self) -> Option<Value<'a>> {
        self.take(b'"')?;
        let start = self.at;
        let mut escapes = false;
        loop {
            self.at += quote_or_backslash(&self.text[self.at..])?;
            if self.text[self.at] == b'"' {
                let text = &self.text[start..self.at];
                self.at += 1;
                return Some(Value { text, escapes });
            }
            escapes = true;
            // The escaped byte may be a quote; a line that ends with the backslash is no JSON.
            self.at += 2;
            if self.at > self.text.len() {
                return None;
            }
        }
    }

    /// A number, `true`, `false` or `null`.
    fn scalar(&mut self) -> Option<&'a [u8]> {
        let rest = &self.text[self.at..];
        let allowed =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        let len = rest.iter().position(|byte| !allowed(byte)).unwrap_or(rest.len());
        if len == 0 {
            return None;
        }
        self.at += len;
        Some(&rest[..len])
    }

    /// An array or an object, to its end. `open` has a bit a level: set for an object.
    fn skip_nested(&mut self) -> Option<()> {
        let (mut open, mut depth) = (0_u128, 0_u32);
        loop {
            match self.peek()? {
                b'"' => {
                    self.string()?;
                    continue;
                }
                bracket @ (b'{' | b'[') => {
                    if depth == MAX_DEPTH {
                        return None;
                    }
                    open = open << 1 | u128::from(bracket == b'{');
                    depth += 1;
                }
                bracket @ (b'}' | b']') => {
                    if (open & 1 == 1) != (bracket == b'}') {
                        return None;
                    }
                    open >>= 1;
                    depth -= 1;
                }
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Some(());
            }
        }
    }
}

impl<'a> JsonFields<'a> {
    fn text(&mut self, role: Role, rank: u8, value: Value<'a>, room: &mut Vec<u8>, within: Within) {
        match role {
            Role::Time if within == Within::Line && goes_before(rank, self.time.as_ref()) => {
                if let Some(moment) = plain(value, room).and_then(date::any) {
                    self.time = Some((rank, moment));
                }
            }
            Role::Request if within == Within::Line && rank == 0 => self.request = Some(value),
            Role::Method if goes_before(rank, self.method.as_ref()) => {
                self.method = Some((rank, value));
            }
            Role::Target if goes_before(rank, self.target.as_ref()) => {
                self.target = Some((rank, value));
            }
            Role::Query => self.query(rank, Query::Text(value)),
            Role::Site if !value.escapes && goes_before(rank, self.site.as_ref()) => {
                self.site = Some((rank, value.text));
            }
            Role::Client if !value.escapes && goes_before(rank, self.client.as_ref()) => {
                self.client = Some((rank, value.text));
            }
            _ => {}
        }
    }

    fn query(&mut self, rank: u8, query: Query<'a>) {
        if goes_before(rank, self.query.as_ref()) {
            self.query = Some((rank, query));
        }
    }

    fn number(&mut self, rank: u8, number: &[u8]) {
        if goes_before(rank, self.time.as_ref())
            && let Some(moment) = date::epoch(number).or_else(|| from_float(number))
        {
            self.time = Some((rank, moment));
        }
    }
}

/// Whether a name of this rank counts rather than what was found.
fn goes_before<T>(rank: u8, found: Option<&(u8, T)>) -> bool {
    found.is_none_or(|(other, _)| rank < *other)
}

/// Where the first quote or backslash is. Most texts are short: their first bytes are looked at
/// here, eight at a time, which is sooner done than a search is set up.
#[inline]
fn quote_or_backslash(text: &[u8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    const QUOTES: u64 = ONES * b'"' as u64;
    const BACKSLASHES: u64 = ONES * b'\\' as u64;
    const WORDS: usize = 3;
    let (words, _) = text.as_chunks::<8>();
    for (at, word) in words.iter().take(WORDS).enumerate() {
        let word = u64::from_le_bytes(*word);
        // The lowest bit set is exact: a borrow reaches only the bytes above a hit (Mycroft 1987).
        let is_zero = |x: u64| x.wrapping_sub(ONES) & !x & HIGH;
        let hit = is_zero(word ^ QUOTES) | is_zero(word ^ BACKSLASHES);
        if hit != 0 {
            return Some(at * 8 + hit.trailing_zeros() as usize / 8);
        }
    }
    let rest = words.len().min(WORDS) * 8;
    memchr::memchr2(b'"', b'\\', &text[rest..]).map(|found| rest + found)
}

/// Numbers with an exponent, such as `1.646861401e+09`: whole seconds.
fn from_float(number: &[u8]) -> Option<Moment> {
    let value: f64 = std::str::from_utf8(number).ok()?.parse().ok()?;
    if !(1e8..1e11).contains(&value) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "below 10^11")]
    let second = value as i64;
    Some(Moment { second, nanos: None, zone_s: Some(0) })
}

/// A text with its escapes undone.
fn plain<'a>(value: Value<'a>, room: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    if !value.escapes {
        return Some(value.text);
    }
    room.clear();
    let mut rest = value.text;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        room.extend_from_slice(&rest[..at]);
        let (&letter, tail) = rest[at + 1..].split_first()?;
        rest = tail;
        let byte = match letter {
            b'"' | b'\\' | b'/' => letter,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let (c, len) = unicode(tail)?;
                room.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                rest = &tail[len..];
                continue;
            }
            _ => return None,
        };
        room.push(byte);
    }
    room.extend_from_slice(rest);
    Some(room)
}

/// The character of `\uXXXX`, or of a pair of surrogates, and the bytes after the `u`.
fn unicode(text: &[u8]) -> Option<(char, usize)> {
    let unit = |at: usize| {
        let digits = std::str::from_utf8(text.get(at..at + 4)?).ok()?;
        if digits.starts_with('+') { None } else { u32::from_str_radix(digits, 16).ok() }
    };
    let first = unit(0)?;
    if !(0xd800..0xdc00).contains(&first) {
        return Some((char::from_u32(first)?, 4));
    }
    if text.get(4..6)? != b"\\u" {
        return None;
    }
    let second = unit(6)?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
    Some((char::from_u32(0x10000 + ((first - 0xd800) << 10 | second))?, 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<(i64, String, String), Why> {
        parse(line.as_bytes(), &mut Scratch::default()).map(|entry| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (entry.moment.second, text(entry.method), text(entry.target))
        })
    }

    fn is(second: i64, method: &str, target: &str) -> Result<(i64, String, String), Why> {
        Ok((second, method.to_owned(), target.to_owned()))
    }

    #[test]
    fn the_usual_loggers() {
        let nginx = concat!(
            r#"{"time_local":"10/Oct/2000:13:55:36 -0700","uri":"/a","#,
            r#""request":"GET /a?b=1 HTTP/1.1","status":200}"#
        );
        assert_eq!(parsed(nginx), is(971_211_336, "GET", "/a?b=1"));
        let caddy = concat!(
            r#"{"level":"info","ts":971211336.25,"request":{"proto":"HTTP/2.0","method":"PUT","#,
            r#""uri":"/x\u0026y","headers":{"A":["}",{"b":"\"{"}]}},"status":200}"#
        );
        assert_eq!(parsed(caddy), is(971_211_336, "PUT", "/x&y"));
        let other = concat!(
            r#" { "method" : "POST" , "time" : 0.003, "@timestamp" : "2000-10-10T20:55:36Z" , "#,
            r#""url" : "http:\/\/h\/\ud83d\ude00" } "#
        );
        assert_eq!(parsed(other), is(971_211_336, "POST", "http://h/\u{1f600}"));
        let bare = r#"{"path":"/p","timestamp":971211336000}"#;
        assert_eq!(parsed(bare), is(971_211_336, "", "/p"));
        let exponent = r#"{"path":"/p","ts":9.71211336e+08}"#;
        assert_eq!(parsed(exponent), is(971_211_336, "", "/p"));
    }

    #[test]
    fn the_elastic_common_schema_has_its_members_in_objects_or_behind_dots() {
        let nested = concat!(
            r#"{"@timestamp":"2000-10-10T20:55:36Z","http":{"request":{"method":"GET","body":{}},"#,
            r#""response":{"status_code":200}},"url":{"path":"/a","query":"b=1"}}"#
        );
        assert_eq!(parsed(nested), is(971_211_336, "GET", "/a?b=1"));
        let original = nested.replace(r#"{"path":"#, r#"{"original":"/whole?c","path":"#);
        assert_eq!(parsed(&original), is(971_211_336, "GET", "/whole?c"));
        let dotted = concat!(
            r#"{"@timestamp":"2000-10-10T20:55:36Z","http.request.method":"PUT","url.path":"/a","#,
            r#""url.query":"b","url.domain":"h","http":{"url":"/no"}}"#
        );
        assert_eq!(parsed(dotted), is(971_211_336, "PUT", "/a?b"));
    }

    #[test]
    fn names_within_other_values_do_not_count() {
        let line = concat!(
            r#"{"tags":["uri",{"uri":"/no","ts":1}],"x":{"url":"/no"},"ts":971211336,"#,
            r#""path":"/yes","n":null,"t":true}"#
        );
        assert_eq!(parsed(line), is(971_211_336, "", "/yes"));
    }

    /// The members of a line, with a time before them.
    fn members(members: &str) -> Result<(i64, String, String), Why> {
        parsed(&format!(r#"{{"ts":971211336,{members}}}"#))
    }

    #[test]
    fn a_query_of_its_own_is_put_behind_its_target() {
        let ours = |method: &str, target: &str| is(971_211_336, method, target);
        for (line, target) in [
            (r#""uri":"/a","args":"b=1""#, "/a?b=1"),
            (r#""queryString":"?b=1","url":"/a""#, "/a?b=1"),
            (r#""request":{"path":"/a","query":"b=1"}"#, "/a?b=1"),
            (r#""uri":"/a","args":"b=\u0041""#, "/a?b=A"),
            (r#""uri":"/a\/b","query_string":"c""#, "/a/b?c"),
            (r#""request":"/a","query":"b""#, "/a?b"),
            (r#""uri":"/a","args":"""#, "/a"),
            (r#""uri":"/a","args":"-""#, "/a"),
            (r#""uri":"/a","query":{}"#, "/a"),
            (r#""uri":"/a","query":null"#, "/a"),
            (r#""uri":"/a?c","args":"b=1""#, "/a?c"),
            (r#""request_uri":"/a","args":"b=1""#, "/a"),
            (r#""uri":"/a","query":{"b":"1"}"#, ""),
            (r#""uri":"/a","query":["b"]"#, ""),
            (r#""uri":"/a","query":["b"],"args":"b""#, "/a?b"),
        ] {
            assert_eq!(members(line), ours("", target), "{line}");
        }
    }

    #[test]
    fn a_request_that_is_no_request_line_does_not_hide_the_rest() {
        let ours = |method: &str, target: &str| is(971_211_336, method, target);
        for (line, method, target) in [
            (r#""verb":"POST","request":"/b""#, "POST", "/b"),
            (r#""request":"http://h/b","method":"GET""#, "GET", "http://h/b"),
            (r#""request":"/b","uri":"/c","method":"GET""#, "GET", "/c"),
            (r#""request":"","uri":"/c","method":"PUT""#, "PUT", "/c"),
            (r#""request":"-","uri":"/c","method":"PUT""#, "PUT", "/c"),
            (r#""request":"POST /b HTTP/1.1","uri":"/c","method":"GET""#, "POST", "/b"),
            (r#""request":"-""#, "", ""),
            (r#""request":"\u0016\u0003""#, "", ""),
            (r#""request":"CONNECT h:443 HTTP/1.1""#, "CONNECT", "h:443"),
        ] {
            assert_eq!(members(line), ours(method, target), "{line}");
        }
        assert!(members(r#""method":"GET""#).is_err());
    }

    #[test]
    fn broken_lines() {
        for line in [
            "",
            "{",
            "[]",
            "{}",
            r#"{"ts":971211336}"#,
            r#"{"path":"/"}"#,
            r#"{"ts":971211336,"path":"/"} x"#,
            r#"{"ts":971211336,"path":"/""#,
            r#"{"ts":971211336,"path":"/\"}"#,
            r#"{"ts":971211336,"path":"/\"#,
            r#"{"ts":971211336,"path":"/\x41"}"#,
            r#"{"ts":971211336,"path":"/\ud800x"}"#,
            r#"{"ts":971211336,"x":[},"path":"/"}"#,
            r#"{"ts":971211336 "path":"/"}"#,
            r#"{"ts":,"path":"/"}"#,
        ] {
            assert!(parsed(line).is_err(), "{line}");
        }
        let deep =
            format!(r#"{{"a":{}{},"ts":971211336,"path":"/"}}"#, "[".repeat(128), "]".repeat(128));
        assert!(parsed(&deep).is_ok());
        let deeper = deep.replace("[]", "[[]]");
        assert!(parsed(&deeper).is_err());
    }
}
