//! Reading a line by a format.

use super::super::date::{self, CLF_BYTES, LastDate, Moment};
use super::super::entry::{Entry, LoggedFields, Rest, Why, is_method, split_request};
use super::clock::Parts;
use super::{End, Field, Pattern, Token};

/// How many places are looked at for the end of a field.
const MOST_ENDS: usize = 64;

const TIME: Why = "no time where the format has one";

/// What a line said so far.
#[derive(Default)]
struct LineParts<'a> {
    moment: Option<Moment>,
    parts: Option<Parts>,
    request: Option<&'a [u8]>,
    method: &'a [u8],
    target: &'a [u8],
    path: &'a [u8],
    query: &'a [u8],
    found: LoggedFields<'a>,
    /// The ranks of the host and of the bytes that were found.
    site: Option<u8>,
    bytes: Option<u8>,
}

impl Pattern {
    /// What a line says. `room` is for a target that is put together of path and query.
    pub(in crate::access_log) fn read<'a>(
        &self,
        line: &'a [u8],
        last: &mut LastDate,
        room: &'a mut Vec<u8>,
    ) -> Result<Entry<'a>, Why> {
        let mut told = LineParts::default();
        let mut rest = line;
        for (at, token) in self.tokens.iter().enumerate() {
            match token {
                Token::Text(text) => {
                    rest = rest.strip_prefix(&text[..]).ok_or("not the text of the format")?;
                }
                Token::Field(field, end) => {
                    let next = match self.tokens.get(at + 1) {
                        Some(Token::Text(text)) => &text[..],
                        _ => &[],
                    };
                    let len = ends_at(rest, *field, *end, next)
                        .ok_or("a field that does not end as the format has it")?;
                    let (value, after) = rest.split_at(len);
                    told.take(*field, value, last)?;
                    rest = after;
                }
            }
        }
        if !rest.is_empty() {
            return Err("more than the format has");
        }
        told.entry(room)
    }
}

/// How long a field is at the start of a text.
fn ends_at(text: &[u8], field: Field, end: End, next: &[u8]) -> Option<usize> {
    match end {
        End::After(bytes) => (text.len() >= bytes).then_some(bytes),
        End::Line => Some(text.len()),
        End::Slash => memchr::memchr(b'/', text),
        End::Text => {
            let is_list = matches!(field, Field::List | Field::Forwarded);
            places(text, next).find(|&at| !is_list || !goes_on(&text[..at]))
        }
        End::Quote(status) => places(text, next).find(|&at| {
            let slashes = text[..at].iter().rev().take_while(|&&byte| byte == b'\\').count();
            let after = text.get(at + next.len());
            let is_status = matches!(after, Some(b'0'..=b'9' | b'-'));
            slashes % 2 == 0 && (!status || is_status)
        }),
    }
}

/// Where a text stands in another, the first few times.
fn places<'a>(text: &'a [u8], part: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let first = part.first().copied().unwrap_or_default();
    let places = memchr::memchr_iter(first, text).filter(|&at| text[at..].starts_with(part));
    places.take(MOST_ENDS)
}

/// Whether a list goes on behind a value: `0.001, 0.002 : 0.003` of nginx's upstreams.
fn goes_on(value: &[u8]) -> bool {
    value.ends_with(b",") || value.ends_with(b" :")
}

impl<'a> LineParts<'a> {
    fn take(&mut self, field: Field, value: &'a [u8], last: &mut LastDate) -> Result<(), Why> {
        let is_less = |rank: u8, found: Option<u8>| found.is_none_or(|found| rank < found);
        match field {
            Field::Other | Field::List | Field::Mark => {}
            Field::Client if self.found.client.is_empty() => self.found.client = value,
            Field::Client => {}
            Field::Forwarded => {
                let first = value.split(|byte| *byte == b',').next().unwrap_or_default();
                let first = first.trim_ascii();
                if !first.is_empty() && first != b"-" {
                    self.found.client = first;
                }
            }
            Field::Status => self.found.status = value,
            Field::Bytes(rank) if is_less(rank, self.bytes) => {
                (self.bytes, self.found.bytes) = (Some(rank), value);
            }
            Field::Site(rank) if value != b"-" && is_less(rank, self.site) => {
                (self.site, self.found.site) = (Some(rank), value);
            }
            Field::Bytes(_) | Field::Site(_) => {}
            Field::Request => self.request = Some(value),
            Field::Method => self.method = value,
            Field::Target => self.target = value,
            Field::Path => self.path = value,
            Field::Query => self.query = value.strip_prefix(b"?").unwrap_or(value),
            Field::Arguments if value != b"-" => self.query = value,
            Field::Arguments => {}
            Field::Clf => {
                let text = <&[u8; CLF_BYTES]>::try_from(value).map_err(|_| TIME)?;
                self.moment = Some(last.clf(text).ok_or(TIME)?);
            }
            Field::Iso => self.moment = Some(date::iso(value).ok_or(TIME)?),
            // One with a fraction counts, whatever else there is.
            Field::Epoch => self.moment = Some(date::epoch(value).ok_or(TIME)?),
            Field::Part(part) => {
                self.parts.get_or_insert_default().take(part, value).ok_or(TIME)?;
            }
        }
        Ok(())
    }

    fn entry(self, room: &'a mut Vec<u8>) -> Result<Entry<'a>, Why> {
        let moment = match (self.moment, self.parts) {
            (Some(moment), _) => moment,
            (None, Some(parts)) => parts.moment().ok_or(TIME)?,
            (None, None) => return Err(TIME),
        };
        let rest = Rest::Found(self.found);
        let entry = |method, target| Entry { moment, method, target, escaped: true, rest };
        if let Some(request) = self.request {
            let (method, target) = split_request(request);
            return Ok(entry(method, target));
        }
        let method = if is_method(self.method) { self.method } else { &[] };
        if !self.target.is_empty() {
            return Ok(entry(method, self.target));
        }
        if self.query.is_empty() || self.path.is_empty() {
            return Ok(entry(method, self.path));
        }
        room.clear();
        room.extend_from_slice(self.path);
        room.push(b'?');
        room.extend_from_slice(self.query);
        Ok(entry(method, room))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a line says by a format.
    fn parsed(format: &str, line: &str) -> Result<String, Why> {
        let pattern = Pattern::parse(format).unwrap_or_else(|error| panic!("{format}: {error}"));
        let mut room = Vec::new();
        let entry = pattern.read(line.as_bytes(), &mut LastDate::new(), &mut room)?;
        let Rest::Found(found) = entry.rest else { panic!("nothing found") };
        let texts =
            [entry.method, entry.target, found.site, found.client, found.status, found.bytes];
        let texts = texts.map(|text| String::from_utf8_lossy(text).into_owned());
        let nanos = entry.moment.nanos.map_or_else(String::new, |nanos| format!(".{nanos:09}"));
        Ok(format!("{}{nanos} {}", entry.moment.second, texts.join(" ").trim_end()))
    }

    #[test]
    fn formats_of_nginx() {
        let combined = "$remote_addr - $remote_user [$time_local] \"$request\" $status \
                        $body_bytes_sent \"$http_referer\" \"$http_user_agent\"";
        let line = "192.0.2.5 - a [b] [10/Oct/2000:13:55:36 -0700] \"GET /a\\x22 HTTP/1.1\" 200 9 \
                    \"http://h/\" \"UA [x]\"";
        assert_eq!(
            parsed(combined, line),
            Err("no time where the format has one"),
            "a user with ` [` in the name is beyond what the format says"
        );
        let line = line.replace("a [b]", "a b");
        assert_eq!(parsed(combined, &line).unwrap(), "971211336 GET /a\\x22  192.0.2.5 200 9");
        let timed = "$msec ${host} $request_method $scheme://$host$request_uri $status \
                     $upstream_response_time $request_time";
        let line = "971211336.250 shop.example GET https://shop.example/a?b=1 200 0.001, 0.002 : \
                    0.003 0.01";
        assert_eq!(
            parsed(timed, line).unwrap(),
            "971211336.250000000 GET /a?b=1 shop.example  200"
        );
        let json = r#"{"time":"$time_iso8601","m":"$request_method","u":"$uri$is_args$args"}"#;
        let line = r#"{"time":"2000-10-10T13:55:36-07:00","m":"POST","u":"/a?b"}"#;
        assert_eq!(parsed(json, line).unwrap(), "971211336 POST /a?b");
        let apart = "$time_iso8601 $request_method $uri $args";
        let at = "2000-10-10T13:55:36-07:00 GET /a";
        assert_eq!(parsed(apart, &format!("{at} b=1")).unwrap(), "971211336 GET /a?b=1");
        assert_eq!(parsed(apart, &format!("{at} -")).unwrap(), "971211336 GET /a");
    }

    #[test]
    fn formats_of_apache() {
        let combined = r#"%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\""#;
        let line = "192.0.2.5 - - [10/Oct/2000:13:55:36 -0700] \"GET /a\"b\" HTTP/1.0\" 200 - \
                    \"-\" \"Mozilla \\\"x\\\"\"";
        assert_eq!(parsed(combined, line).unwrap(), "971211336 GET /a\"b\"  192.0.2.5 200 -");
        let host = "%v:%p %h %l %u %t \"%m %U%q %H\" %>s %O %D";
        let line = "shop.example:443 ::1 - - [10/Oct/2000:13:55:36 -0700] \"GET /a?b HTTP/2\" 200 \
                    12 345";
        assert_eq!(parsed(host, line).unwrap(), "971211336 GET /a?b shop.example ::1 200 12");
        let fraction = r#"%a [%{%d/%b/%Y:%H:%M:%S}t.%{usec_frac}t %{%z}t] "%r" %>s %B %{Host}i %v"#;
        let line = "192.0.2.5 [10/Oct/2000:13:55:36.250000 -0700] \"GET / HTTP/1.0\" 200 1 a.b c";
        assert_eq!(
            parsed(fraction, line).unwrap(),
            "971211336.250000000 GET / a.b 192.0.2.5 200 1"
        );
        let day = "%{%F %T}t %{msec}t %m %U";
        let line = "2000-10-10 20:55:36 971211336250 GET /a";
        assert_eq!(parsed(day, line).unwrap(), "971211336.250000000 GET /a");
        let blank = "%{%e/%b/%Y %R:%S}t 100%% %r";
        assert_eq!(parsed(blank, " 1/Oct/2000 20:55:36 100% GET /").unwrap(), "970433736 GET /");
    }

    #[test]
    fn lines_that_are_not_the_formats() {
        let format = r#"%h %t "%r" %>s"#;
        for (line, part) in [
            ("", "not end"),
            ("h [10/Oct/2000:13:55:36 -0700] GET", "text"),
            ("h [10/Okt/2000:13:55:36 -0700] \"GET /\" 200", "time"),
            ("h [10/Oct/2000", "not end"),
            ("h [10/Oct/2000:13:55:36 -0700] \"GET / HT", "not end"),
            ("h [10/Oct/2000:13:55:36 -0700] \"GET /\" x", "not end"),
        ] {
            let why = parsed(format, line).unwrap_err();
            assert!(why.contains(part), "{line}: {why}");
        }
        let ends = "%t \"%r\"";
        let more = "[10/Oct/2000:13:55:36 -0700] \"GET /\" 200";
        assert_eq!(parsed(ends, more), Err("more than the format has"));
    }

    #[test]
    fn wrong_formats_say_where() {
        for (format, at, len, part) in [
            ("$remote_adr [$time_local] \"$request\"", 0, 11, "write $remote_addr"),
            ("$time_local $my_own \"$request\"", 12, 7, "$_"),
            ("[$time_local] ${request", 14, 9, "}"),
            ("$time_local $status$request", 19, 8, "between"),
            ("$time_iso8601$request", 13, 8, "between"),
            ("$remote_addr \"$request\"", 0, 23, "time"),
            ("%h %t", 0, 5, "asked for"),
            ("%t %r %K", 6, 2, "%%"),
            ("%t %r %{Referer", 6, 9, "}"),
            ("%{%d/%Q}t %r", 5, 2, "%Y"),
            ("%{end:%Y-%j}t %r", 9, 2, "%Y"),
            ("%t %r 100%", 9, 1, "%%"),
            ("%{%Y-%m}t %r", 0, 12, "time"),
        ] {
            let error = Pattern::parse(format).expect_err(format);
            let text = format!("{error} {:?}", error.hint);
            assert_eq!((error.at, error.len), (at, len), "{format}: {text}");
            assert!(text.contains(part), "{format}: {text}");
        }
    }
}
