//! The W3C's Extended Log File Format, whose fields a line `#Fields:` names: IIS and CloudFront.
//!
//! ```text
//! #Fields: date time c-ip cs-method cs-uri-stem cs-uri-query sc-status sc-bytes
//! 2026-03-03 08:00:00 192.0.2.5 GET /a x=1 200 900
//! ```
//!
//! A `#Fields:` line holds for the lines below it, up to the next one: a server that is started
//! anew may change them. Fields are set apart by tabs where a line has one, as CloudFront writes
//! them, else by blanks; a field in double quotes may hold blanks. Times are in UTC, as the format
//! has it. A log with `time` and without `date` takes the date from the `#Date:` line above.
//!
//! | what | fields; the first of a row that is there counts |
//! | --- | --- |
//! | time | `date` and `time`; `timestamp(ms)`, `timestamp` |
//! | method | `cs-method` |
//! | target | `cs-uri`; else `cs-uri-stem`, with `cs-uri-query` behind it |
//! | host | `x-host-header`, `cs(Host)`, `cs-host` |
//! | client, status, bytes | `c-ip`, `sc-status`, `sc-bytes` |
//!
//! Source: W3C, Extended Log File Format, working draft WD-logfile-960323.

use super::date::{self, Moment};
use super::entry::{Entry, LoggedFields, Rest, Why, is_method};

/// How many fields of a line are looked at.
const MOST_FIELDS: usize = 128;

/// What a field says, and its rank among those that say the same: the least counts.
type Meaning = (Role, u8);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Date,
    Time,
    Epoch,
    Method,
    Uri,
    Stem,
    Query,
    Site,
    Client,
    Status,
    Bytes,
}

fn meaning(name: &[u8]) -> Option<Meaning> {
    Some(match name {
        b"date" => (Role::Date, 0),
        b"time" => (Role::Time, 0),
        b"timestamp(ms)" => (Role::Epoch, 0),
        b"timestamp" => (Role::Epoch, 1),
        b"cs-method" => (Role::Method, 0),
        b"cs-uri" => (Role::Uri, 0),
        b"cs-uri-stem" => (Role::Stem, 0),
        b"cs-uri-query" => (Role::Query, 0),
        b"x-host-header" => (Role::Site, 0),
        b"cs(Host)" => (Role::Site, 1),
        b"cs-host" => (Role::Site, 2),
        b"c-ip" => (Role::Client, 0),
        b"sc-status" => (Role::Status, 0),
        b"sc-bytes" => (Role::Bytes, 0),
        _ => return None,
    })
}

/// What the directives above a line said.
#[derive(Debug, Clone, Default)]
pub(super) struct Directives {
    /// What each field means; empty before the first `#Fields:`.
    fields: Vec<Option<Meaning>>,
    /// The date of the last `#Date:`.
    date: [u8; DATE_BYTES],
    /// The date and the second at midnight of the line before.
    last: ([u8; DATE_BYTES], i64),
    target: Vec<u8>,
}

/// The bytes of `2026-03-03`.
const DATE_BYTES: usize = 10;

impl Directives {
    /// Takes in a directive; `false` for what is none.
    pub(super) fn take(&mut self, line: &[u8]) -> bool {
        if line.first() != Some(&b'#') {
            return false;
        }
        if let Some(names) = line.strip_prefix(b"#Fields:") {
            let names = names.split(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
            let names = names.filter(|name| !name.is_empty()).take(MOST_FIELDS);
            self.fields = names.map(meaning).collect();
            // Of several that say the same only the first by rank is read.
            for at in 0..self.fields.len() {
                let Some((role, rank)) = self.fields[at] else { continue };
                let better = |&(same, less): &Meaning| same == role && less < rank;
                if self.fields.iter().flatten().any(better) {
                    self.fields[at] = None;
                }
            }
        } else if let Some(date) = line.strip_prefix(b"#Date:") {
            let date = date.trim_ascii_start();
            self.date = date.first_chunk().copied().unwrap_or_default();
        }
        true
    }

    pub(super) fn parse<'a>(&'a mut self, line: &'a [u8]) -> Result<Entry<'a>, Why> {
        if self.fields.is_empty() {
            return Err("no line `#Fields:` above it");
        }
        let mut values = Values { rest: Some(line), tabs: memchr::memchr(b'\t', line).is_some() };
        let (mut date, mut time, mut epoch) = (&[][..], &[][..], &[][..]);
        let (mut method, mut uri, mut stem, mut query) = (&[][..], &[][..], &[][..], &[][..]);
        let mut found = LoggedFields::default();
        for field in &self.fields {
            let value = values.next().ok_or("fewer fields than `#Fields:` names")?;
            let Some((role, _)) = field else { continue };
            let value = if value == b"-" { &[] } else { value };
            match role {
                Role::Date => date = value,
                Role::Time => time = value,
                Role::Epoch => epoch = value,
                Role::Method => method = value,
                Role::Uri => uri = value,
                Role::Stem => stem = value,
                Role::Query => query = value,
                Role::Site => found.site = value,
                Role::Client => found.client = value,
                Role::Status => found.status = value,
                Role::Bytes => found.bytes = value,
            }
        }
        let moment = if time.is_empty() {
            date::epoch(epoch).ok_or("no time in the fields that `#Fields:` names")?
        } else {
            moment(date, time, &self.date, &mut self.last).ok_or("no date and time")?
        };
        let method = if is_method(method) { method } else { &[] };
        let target = if uri.is_empty() { stem } else { uri };
        let rest = Rest::Found(found);
        let is_whole = query.is_empty() || target.is_empty() || !uri.is_empty();
        if is_whole {
            return Ok(Entry { moment, method, target, escaped: false, rest });
        }
        self.target.clear();
        self.target.extend_from_slice(target);
        self.target.push(b'?');
        self.target.extend_from_slice(query.strip_prefix(b"?").unwrap_or(query));
        Ok(Entry { moment, method, target: &self.target, escaped: false, rest })
    }
}

/// The moment of a date and a time; without a date, of that of the directives.
fn moment(
    date: &[u8],
    time: &[u8],
    above: &[u8; DATE_BYTES],
    last: &mut ([u8; DATE_BYTES], i64),
) -> Option<Moment> {
    let date: &[u8; DATE_BYTES] = if date.is_empty() { above } else { date.try_into().ok()? };
    if *date != last.0 {
        let mut midnight = *b"0000-00-00T00:00:00";
        midnight[..DATE_BYTES].copy_from_slice(date);
        *last = (*date, date::iso(&midnight)?.second);
    }
    let (of_day, nanos) = date::time_of_day(time)?;
    // The format has its times in UTC.
    Some(Moment { second: last.1 + of_day, nanos, zone_s: Some(0) })
}

/// The fields of a line.
struct Values<'a> {
    rest: Option<&'a [u8]>,
    tabs: bool,
}

impl<'a> Iterator for Values<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let mark = if self.tabs { b'\t' } else { b' ' };
        let mut rest = self.rest?;
        if !self.tabs {
            while let [b' ', after @ ..] = rest {
                rest = after;
            }
            if rest.is_empty() {
                return None;
            }
        }
        if let Some(quoted) = rest.strip_prefix(b"\"")
            && let Some(end) = closing(quoted, mark)
        {
            self.rest = quoted.get(end + 2..);
            return Some(&quoted[..end]);
        }
        let end = memchr::memchr(mark, rest);
        self.rest = end.map(|end| &rest[end + 1..]);
        Some(&rest[..end.unwrap_or(rest.len())])
    }
}

/// Where the quote is that ends a field: before a mark, or at the end of the line. Two quotes are
/// one within it.
fn closing(quoted: &[u8], mark: u8) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr(b'"', &quoted[at..])?;
        match quoted.get(at + 1) {
            Some(b'"') => at += 2,
            Some(byte) if *byte != mark => at += 1,
            _ => return Some(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the lines of a log say, those that cannot be read by their reason.
    fn read(log: &str) -> Vec<String> {
        let mut directives = Directives::default();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut all = Vec::new();
        for line in log.lines().map(str::as_bytes) {
            if directives.take(line) {
                continue;
            }
            all.push(match directives.parse(line) {
                Ok(entry) => {
                    let Rest::Found(found) = entry.rest else { panic!("nothing found") };
                    format!(
                        "{} {} {} {} {} {} {}",
                        entry.moment.second,
                        text(entry.method),
                        text(entry.target),
                        text(found.site),
                        text(found.client),
                        text(found.status),
                        text(found.bytes)
                    )
                }
                Err(why) => why.to_owned(),
            });
        }
        all
    }

    #[test]
    fn lines_of_iis() {
        let log = "\
#Software: Microsoft Internet Information Services 10.0
#Version: 1.0
#Date: 2026-03-03 08:00:00
#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) \
cs-host sc-status sc-substatus sc-win32-status sc-bytes time-taken
2026-03-03 08:00:00 198.51.100.1 GET /a x=1 80 - 192.0.2.5 Mozilla/5.0+(X11) shop.example 200 0 0 \
900 12
2026-03-03 08:00:01 198.51.100.1 POST /b - 80 - 2001:db8::9 - - 302 0 0 - 5
2026-03-03 08:00:01 198.51.100.1 GET /c
#Fields: time cs-method cs-uri-stem
08:00:02 GET /d
";
        assert_eq!(
            read(log),
            [
                "1772524800 GET /a?x=1 shop.example 192.0.2.5 200 900",
                "1772524801 POST /b  2001:db8::9 302 ",
                "fewer fields than `#Fields:` names",
                "1772524802 GET /d    ",
            ]
        );
    }

    #[test]
    fn lines_of_cloudfront() {
        let log = "\
#Version: 1.0
#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status \
cs(Referer) cs(User-Agent) cs-uri-query x-host-header
2026-03-03\t08:00:00\tARN1\t900\t192.0.2.5\tGET\td0.cloudfront.net\t/a%20b\t200\t-\tUA%20x\tx=1\t\
shop.example
2026-03-03\t08:00:01\tARN1\t0\t192.0.2.5\tGET\td0.cloudfront.net\t/b\t000\t-\t-\t-\t-
";
        assert_eq!(
            read(log),
            [
                "1772524800 GET /a%20b?x=1 shop.example 192.0.2.5 200 900",
                "1772524801 GET /b  192.0.2.5 000 0",
            ]
        );
    }

    #[test]
    fn quotes_epochs_and_what_is_missing() {
        let log = "\
08:00:00 /before-the-fields
#Fields: timestamp(ms) cs(User-Agent) cs-uri sc-status
1772524800123 \"a \"\"b\"\" c\" http://h/x?y 200
1772524800123 \"open /x 200
x - /x 200
";
        assert_eq!(
            read(log),
            [
                "no line `#Fields:` above it",
                "1772524800  http://h/x?y   200 ",
                "1772524800  /x   200 ",
                "no time in the fields that `#Fields:` names",
            ]
        );
    }
}
