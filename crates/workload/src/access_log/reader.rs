//! A log line by line, for those who need more of a request than when it came: how it was
//! answered, and who asked.
//!
//! Where the parts stand:
//!
//! | | client | status | bytes |
//! | --- | --- | --- | --- |
//! | Common, Combined | the first word; the one behind it where the first is a virtual host; where others stand before it, the first that is an address | after the request | after the status: the body |
//! | Squid native | third field | in the fourth, after `/` | fifth field: header and body |
//! | JSON | `remote_addr` and its like | not read | not read |
//! | others | the field of it | the field of it | the field of it |

use std::io::Read;
use std::net::IpAddr;

use super::entry::{Rest, Why, url_text};
use super::error::LogError;
use super::format::Format;
use super::input::{self, Input};
use super::log_format::LogFormat;
use super::logs::Logs;
use super::reading::{Log, Step};
use super::squid::Fields;

/// A log, or several as one, line after line.
pub struct LogReader<'a> {
    logs: Logs<'a>,
    scratch: Vec<u8>,
}

/// What a line turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLine<'a> {
    /// Nothing.
    Empty,
    /// A request and its answer.
    Answered(Answered<'a>),
    /// Neither.
    Unreadable {
        /// What is missing.
        why: &'static str,
        /// The line, or its beginning where it is longer than
        /// [`MAX_LINE_BYTES`](super::MAX_LINE_BYTES).
        text: &'a [u8],
    },
}

/// A request as its server logged it when it was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answered<'a> {
    /// When it was logged, in seconds since 1970-01-01T00:00:00Z.
    pub second: i64,
    /// As logged; empty where the line's request is none.
    pub method: &'a [u8],
    /// A path or a whole URL, visible ASCII; `None` where what was asked for is none (`-`, `*`,
    /// the `host:port` of CONNECT).
    pub url: Option<&'a [u8]>,
    /// The status; `None` where the log has none.
    pub status: Option<u16>,
    /// Bytes of the answer; `None` where the log has none, or `-`.
    pub bytes: Option<u64>,
    /// Who asked: a name or an address; empty where the log does not say.
    pub client: &'a [u8],
    /// The virtual host that was asked, as logged, with its port or without; empty where the log
    /// does not say.
    pub site: &'a [u8],
    /// The whole line.
    pub line: &'a [u8],
}

impl<'a> LogReader<'a> {
    /// Starts to read what is plain text, in a format told from the first lines unless it is
    /// given. `origin` is what errors call it.
    ///
    /// # Errors
    /// A reader that fails, or what is no log.
    pub fn new(
        text: impl Read + Send + 'a,
        origin: &str,
        format: Option<&LogFormat>,
    ) -> Result<Self, LogError> {
        let input = Input::Plain(Box::new(text));
        let logs = Logs::start(vec![(input, origin.to_owned())], format)?;
        Ok(Self { logs, scratch: Vec::new() })
    }

    /// As [`LogReader::new`], for logs of plain text or gzip, each with what errors call it: of all
    /// of them, in whatever order they are given, the line comes next whose time is the least.
    ///
    /// # Errors
    /// As there, and what is compressed by something else; more than
    /// [`MOST_LOGS`](super::MOST_LOGS).
    pub fn merged<R: Read + Send + 'a>(
        logs: impl IntoIterator<Item = (R, String)>,
        format: Option<&LogFormat>,
    ) -> Result<Self, LogError> {
        let unpacked = |(log, origin): (R, String)| Ok((input::unpacked(log, &origin)?, origin));
        let inputs = logs.into_iter().map(unpacked).collect::<Result<_, LogError>>()?;
        Ok(Self { logs: Logs::start(inputs, format)?, scratch: Vec::new() })
    }

    /// What of compressed logs could not be read, once their end is reached: a sentence, or none.
    #[must_use]
    pub fn damage(&self) -> Option<String> {
        let is_one = self.logs.all().len() == 1;
        let of = |log: &Log<'_>| {
            let damage = log.damage()?;
            Some(if is_one { damage } else { format!("{}: {damage}", log.origin()) })
        };
        let all: Vec<String> = self.logs.all().iter().filter_map(of).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// The format of the first log; `None` where there is none.
    #[must_use]
    pub fn format(&self) -> Option<&LogFormat> {
        self.logs.all().first().map(Log::format)
    }

    /// The formats that the logs have, each once, in the order of the logs.
    #[must_use]
    pub fn formats(&self) -> String {
        let mut formats: Vec<String> = Vec::new();
        for log in self.logs.all() {
            let format = log.format().to_string();
            if !formats.contains(&format) {
                formats.push(format);
            }
        }
        formats.join(", ")
    }

    /// The next line; `None` at the end.
    ///
    /// # Errors
    /// A reader that fails.
    pub fn next_line(&mut self) -> Result<Option<LogLine<'_>>, LogError> {
        let Some(at) = self.logs.advance()? else { return Ok(None) };
        let format = self.logs.all()[at].format().named();
        let Some(step) = self.logs.next_of(at)? else { return Ok(None) };
        Ok(Some(match step {
            Step::Empty => LogLine::Empty,
            Step::Unreadable(why, text) => LogLine::Unreadable { why, text },
            Step::Request(entry, line) => match Answer::of(format, line, entry.rest) {
                Ok(Answer { client, site, status, bytes }) => LogLine::Answered(Answered {
                    second: entry.moment.second,
                    method: entry.method,
                    url: url_text(&entry, &mut self.scratch),
                    status,
                    bytes,
                    client,
                    site,
                    line,
                }),
                Err(why) => LogLine::Unreadable { why, text: line },
            },
        }))
    }
}

/// How a request was answered, and for whom.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer<'a> {
    client: &'a [u8],
    site: &'a [u8],
    status: Option<u16>,
    bytes: Option<u64>,
}

impl<'a> Answer<'a> {
    fn of(format: Option<Format>, line: &'a [u8], rest: Rest<'a>) -> Result<Self, Why> {
        let rest = match rest {
            Rest::Unread(rest) => rest,
            Rest::Found(found) => {
                let or_none = |text: &'a [u8]| if text.is_empty() { &b"-"[..] } else { text };
                let (client, site) = (found.client, found.site);
                let status = match found.status {
                    b"-1" => None,
                    of => status(or_none(of))?,
                };
                return Ok(Self { client, site, status, bytes: bytes(or_none(found.bytes))? });
            }
        };
        match format {
            Some(Format::Squid) => {
                let mut fields = Fields(rest);
                let _elapsed = fields.next();
                let mut field = || fields.next().ok_or("too few fields");
                let (client, result, size) = (field()?, field()?, field()?);
                let slash = memchr::memrchr(b'/', result).map_or(0, |at| at + 1);
                let status = status(&result[slash..])?;
                Ok(Self { client, site: b"", status, bytes: bytes(size)? })
            }
            _ => {
                let mut after = Fields(rest);
                let status = status(after.next().unwrap_or(b"-"))?;
                let bytes = bytes(after.next().unwrap_or(b"-"))?;
                let (site, client) = asked(line);
                Ok(Self { client, site, status, bytes })
            }
        }
    }
}

/// How many words are looked at for the client: what stands before it in a log that another
/// program wrote a head to.
const MOST_WORDS: usize = 8;

/// The virtual host and the client of a line of the Common Log Format.
///
/// The client is the first word, or the second where the first is a virtual host: `name:port`, or
/// any name before an address. Where neither is an address, as behind the head of a system log, but
/// a later word before the time is, that is the client.
pub(super) fn asked(line: &[u8]) -> (&[u8], &[u8]) {
    let mut words = Fields(line);
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    // What mostly follows the client is the user's identity, which nobody knows.
    if second == b"-" || is_address(first) {
        return (b"", first);
    }
    let is_virtual_host = memchr::memchr(b':', first).is_some_and(|colon| {
        let port = &first[colon + 1..];
        !port.is_empty() && port.len() <= 5 && port.iter().all(u8::is_ascii_digit)
    });
    if is_virtual_host || is_address(second) {
        return (first, second);
    }
    let before_time = words.take(MOST_WORDS).take_while(|word| !word.starts_with(b"["));
    (b"", before_time.into_iter().find(|word| is_address(word)).unwrap_or(first))
}

fn is_address(word: &[u8]) -> bool {
    std::str::from_utf8(word).is_ok_and(|word| word.parse::<IpAddr>().is_ok())
}

/// Three digits, as RFC 9110 has them; `-` is none, and 0 too: Squid writes it where it sent no
/// answer.
fn status(text: &[u8]) -> Result<Option<u16>, Why> {
    match text {
        b"-" | b"0" => Ok(None),
        [a @ b'0'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] => {
            let digit = |byte: u8| u16::from(byte - b'0');
            Ok(Some(digit(*a) * 100 + digit(*b) * 10 + digit(*c)))
        }
        _ => Err("no status such as 200"),
    }
}

/// A number of bytes; `-` is none, and -1 too: Squid writes it where it does not know.
fn bytes(text: &[u8]) -> Result<Option<u64>, Why> {
    if matches!(text, b"-" | b"-1") {
        return Ok(None);
    }
    if text.is_empty() || text.len() > 19 || !text.iter().all(u8::is_ascii_digit) {
        return Err("no number of bytes");
    }
    // 19 digits stay below 2^64.
    Ok(Some(text.iter().fold(0, |n, byte| n * 10 + u64::from(byte - b'0'))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(log: &str) -> Vec<String> {
        let mut reader = LogReader::new(log.as_bytes(), "log", None).unwrap();
        let mut found = Vec::new();
        while let Some(line) = reader.next_line().unwrap() {
            found.push(match line {
                LogLine::Empty => "empty".to_owned(),
                LogLine::Unreadable { why, .. } => why.to_owned(),
                LogLine::Answered(answered) => format!(
                    "{} {} {:?} {:?} {:?} {}{}",
                    answered.second,
                    String::from_utf8_lossy(answered.method),
                    answered.url.map(String::from_utf8_lossy),
                    answered.status,
                    answered.bytes,
                    String::from_utf8_lossy(answered.client),
                    match answered.site {
                        b"" => String::new(),
                        site => format!(" of {}", String::from_utf8_lossy(site)),
                    },
                ),
            });
        }
        found
    }

    #[test]
    fn squid_lines() {
        let log = "1286536309.586  921 192.0.2.68 TCP_MISS/200 507 GET http://h/a - DIRECT/h t\n\
                   \n\
                   1286536310.1 9 h TCP_TUNNEL/200 39 CONNECT h:443 - DIRECT/h -\n\
                   1286536310.1 9 h TCP_MISS/2000 39 GET http://h/ - DIRECT/h -\n\
                   1286536310.1 9 h TCP_MISS_ABORTED/000 -1 GET http://h/ - DIRECT/h -\n";
        assert_eq!(
            read(log),
            [
                "1286536309 GET Some(\"http://h/a\") Some(200) Some(507) 192.0.2.68",
                "empty",
                "1286536310 CONNECT None Some(200) Some(39) h",
                "no status such as 200",
                "1286536310 GET Some(\"http://h/\") Some(0) None h",
            ]
        );
    }

    #[test]
    fn who_was_asked_by_whom() {
        for (words, site, client) in [
            ("192.0.2.1 - -", "", "192.0.2.1"),
            ("client.example - frank", "", "client.example"),
            ("192.0.2.1 ident 192.0.2.2", "", "192.0.2.1"),
            ("h.example:443 client.example - -", "h.example:443", "client.example"),
            ("h.example 2001:db8::1 - -", "h.example", "2001:db8::1"),
            ("Dec  4 03:31:46 edge1 nginx: 192.0.2.1 - -", "", "192.0.2.1"),
            ("one two three four", "", "one"),
            ("", "", "[10/Oct/2000:13:55:36"),
        ] {
            let line = format!("{words} [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 1");
            let found = asked(line.trim_start().as_bytes());
            assert_eq!(found, (site.as_bytes(), client.as_bytes()), "{words}");
        }
    }

    #[test]
    fn common_lines() {
        let line = "192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] \"GET /a b HTTP/1.0\"";
        let log = format!(
            "{line} 200 2326\n{line} 304 -\n{line} - - \"r\" \"a\"\nh.example:80 {line} 404 12\n\
             ::1 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200\n{line} 200 x\n"
        );
        let expected = "971211336 GET Some(\"/a%20b\")";
        assert_eq!(
            read(&log),
            [
                format!("{expected} Some(200) Some(2326) 192.0.2.1"),
                format!("{expected} Some(304) None 192.0.2.1"),
                format!("{expected} None None 192.0.2.1"),
                format!("{expected} Some(404) Some(12) 192.0.2.1 of h.example:80"),
                "971211336 GET Some(\"/\") Some(200) None ::1".to_owned(),
                "no number of bytes".to_owned(),
            ]
        );
    }

    #[test]
    fn the_format_of_a_text() {
        let squid = "1286536309.586  921 h TCP_MISS/200 507 GET http://h/a - DIRECT/h t\n";
        assert_eq!(Format::of_text(squid.repeat(3).as_bytes()), Some(Format::Squid));
        assert_eq!(Format::of_text(format!("a,b\nc,d\n{squid}").as_bytes()), None);
        assert_eq!(Format::of_text(b"time,object\n1,2\n"), None);
    }
}
