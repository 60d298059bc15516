//! Access logs as traces: Squid's native one, Common and Combined.
//!
//! What is asked for is the URL, of the virtual host where the log names one; its size is what the
//! log says was sent (Squid: header and body; Common and Combined: the body), by the rule of all
//! formats that the largest counts.
//!
//! A request is one to a cache if
//!
//! - its method is GET: HEAD has no body, and no cache keeps answers to other methods;
//! - its status is heuristically cacheable (RFC 9110 section 15.1: 200, 203, 204, 206, 300, 301,
//!   308, 404, 405, 410, 414, 501), or 304, which says that the client has the object already. So
//!   requests that were denied, broken off (000) or answered by an error of the server are out;
//! - what is asked for is a path or an `http` or `https` URL.
//!
//! What is left out is counted by the first of these that does not hold. Answers of 304 and 204
//! have no body: their size says nothing of the object's.

use plimsoll_workload::access_log::{self, Answered, Format as LogFormat, LogLine, LogReader};

use super::collect::{Collector, Has, Row};
use super::input::Input;
use super::read::Limits;
use super::{Format, ReadSummary, Trace, TraceError, address};

/// Statuses of answers that a cache may keep without being told so, and 304.
const CACHEABLE: [u16; 13] = [200, 203, 204, 206, 300, 301, 304, 308, 404, 405, 410, 414, 501];

/// Statuses of answers without a body.
const BODILESS: [u16; 2] = [204, 304];

/// Reads a trace, of a format told from the first lines unless it is given.
///
/// *Errors*: what is no log, or one in JSON; too many lines that cannot be read, no requests, more
/// than the limits, a reader that fails.
pub fn read(
    input: Input,
    format: Option<LogFormat>,
    limits: &Limits,
) -> Result<(Trace, ReadSummary), TraceError> {
    let path = input.path().to_owned();
    let mut log =
        LogReader::new(input, &path.display().to_string(), format.map(Into::into).as_ref())?;
    let format = match log.format().and_then(access_log::LogFormat::named) {
        Some(format) if Format::ALL.contains(&Format::Log(format)) => format,
        _ => return Err(TraceError::Json { path }),
    };
    let has = Has { sizes: true, seconds: true, clients: true };
    let told = ReadSummary::new(Format::Log(format));
    let mut collector = Collector::new(has, *limits, told);
    let mut name = Vec::new();
    while let Some(line) = log.next_line()? {
        collector.told.lines += 1;
        let number = collector.told.lines;
        match line {
            LogLine::Empty => collector.told.empty += 1,
            LogLine::Unreadable { why, text } => collector.unreadable(number, text, why),
            LogLine::Answered(answered) => {
                let told = &mut collector.told;
                let Some(row) = row(&answered, told, &mut name) else { continue };
                // An answer that was given has no end in `?` unless its query was cut off.
                told.cut_queries += u64::from(row.object.ends_with(b"?"));
                match collector.push(&row) {
                    Ok(Ok(())) => {}
                    Ok(Err(why)) => collector.unreadable(number, row.object, why),
                    Err(full) => return Err(full.error(&path)),
                }
            }
        }
    }
    collector.finish(&path)
}

/// The request to a cache, or `None`, and why in `told`.
fn row<'a>(
    answered: &Answered<'a>,
    told: &mut ReadSummary,
    name: &'a mut Vec<u8>,
) -> Option<Row<'a>> {
    if answered.method != b"GET" {
        told.skipped.methods.count(answered.method);
        return None;
    }
    let Some(status) = answered.status.filter(|status| CACHEABLE.contains(status)) else {
        let status = answered.status.map_or_else(String::new, |status| format!("{status:03}"));
        told.skipped.statuses.count(status.as_bytes());
        return None;
    };
    let Some(url) = answered.url else {
        told.skipped.no_url += 1;
        return None;
    };
    let object = match answered.site {
        b"" => url,
        site => {
            name.clear();
            address::join(Some(site), url, None, name)
        }
    };
    let size = answered.bytes.filter(|_| !BODILESS.contains(&status));
    let (second, client) = (Some(answered.second), Some(answered.client));
    Some(Row { object, size, second, client })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Names, SizeTable};
    use std::io::Cursor;
    use std::path::Path;

    fn read_text(text: &str) -> Result<(Trace, ReadSummary), TraceError> {
        let reader = Cursor::new(text.as_bytes().to_vec());
        let input = Input::new(reader, Path::new("access.log"), Some(text.len() as u64))?;
        read(input, None, &Limits { requests: 10, ..Limits::default() })
    }

    const SQUID: &str = "\
1286536309.586 921 192.0.2.68 TCP_MISS/200 507 GET http://h/a - DIRECT/h text/html
1286536310.100   1 192.0.2.69 TCP_IMS_HIT/304 250 GET http://h/b - NONE/- -
1286536310.000   1 192.0.2.68 TCP_HIT/206 300 GET http://h/a - NONE/- text/html
1286536311.000   1 192.0.2.68 TCP_MISS/200 90 POST http://h/a - DIRECT/h text/html
1286536311.000   1 192.0.2.68 TCP_TUNNEL/200 90 CONNECT h:443 - DIRECT/h -
1286536311.000   1 192.0.2.68 TCP_DENIED/403 90 GET http://h/a - NONE/- text/html
1286536312.000   1 192.0.2.68 TCP_MISS_ABORTED/000 0 GET http://h/a - DIRECT/h -
1286536312.000   1 192.0.2.68 TCP_MISS/404 90 GET error:invalid-request - DIRECT/h -
1286536313.000   1 192.0.2.69 TCP_MISS/200 600 GET http://h/b - DIRECT/h -
";

    #[test]
    fn squid_logs() {
        let (trace, told) = read_text(SQUID).unwrap();
        assert_eq!(trace.requests(), [0, 1, 0, 1]);
        assert_eq!(trace.seconds(), Some(&[0, 1, 1, 4][..]));
        assert_eq!(trace.clients(), Some(&[0, 1, 0, 1][..]));
        assert_eq!(trace.sizes(), Some(&SizeTable::Narrow(vec![507, 600])));
        assert_eq!(trace.names().text(1), Some(&b"http://h/b"[..]));
        let skipped = &told.skipped;
        assert_eq!((skipped.methods.sum(), skipped.statuses.sum(), skipped.no_url), (2, 2, 1));
        assert_eq!((skipped.methods.of("POST"), skipped.statuses.of("403")), (1, 1));
        assert_eq!((told.sizes_differ, told.requests_without_size, told.lines), (1, 1, 9));
        assert_eq!(told.format, Format::Log(LogFormat::Squid));
    }

    #[test]
    fn combined_logs() {
        let line = |request: &str, rest: &str| {
            format!("::1 - - [10/Oct/2000:13:55:36 -0700] \"{request}\" {rest} \"-\" \"A b\"\n")
        };
        let text = line("GET /a HTTP/1.0", "200 2326")
            + &line("HEAD /a HTTP/1.0", "200 -")
            + &line("GET /a HTTP/1.0", "304 -")
            + &line("GET /c d HTTP/1.0", "404 12")
            + &line("GET /e HTTP/1.0", "302 12");
        let (trace, told) = read_text(&text).unwrap();
        assert_eq!(trace.requests(), [0, 0, 1]);
        assert_eq!(trace.sizes(), Some(&SizeTable::Narrow(vec![2326, 12])));
        assert_eq!(trace.names(), &Names::Text { bytes: b"/a/c%20d".to_vec(), ends: vec![2, 8] });
        assert_eq!((told.skipped.methods.sum(), told.skipped.statuses.sum()), (1, 1));
        assert_eq!(told.format, Format::Log(LogFormat::Combined));
    }

    #[test]
    fn hosts_have_objects_of_their_own() {
        let line = |site: &str, size: u32| {
            format!(
                "{site} 192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] \"GET /a HTTP/1.0\" 200 {size}\n"
            )
        };
        let (trace, told) =
            read_text(&(line("one.example:80", 1) + &line("Two.example:80", 2)).repeat(2)).unwrap();
        assert_eq!(trace.requests(), [0, 1, 0, 1]);
        assert_eq!(trace.names().text(1), Some(&b"two.example:80/a"[..]));
        assert_eq!((trace.clients(), told.sizes_differ), (Some(&[0; 4][..]), 0));
    }

    #[test]
    fn what_squid_has_no_status_of_is_left_out_and_counted() {
        let lines = "\
192.0.2.0 - - [25/Nov/2026:17:00:59 +0000] \"GET http://h/0 HTTP/1.1\" 200 500 \"-\" \"c\" TCP_MISS:D
192.0.2.9 - - [25/Nov/2026:17:00:59 +0000] \"- error:transaction NONE/0.0\" 0 0 \"-\" \"-\" NONE:N
192.0.2.9 - - [25/Nov/2026:17:00:59 +0000] \"GET http://h/1 HTTP/1.1\" 0 -1 \"-\" \"-\" NONE:N
";
        let (trace, told) = read_text(lines).unwrap();
        assert_eq!((trace.len(), told.unreadable), (1, 0));
        assert_eq!(told.skipped.methods.sum() + told.skipped.statuses.sum(), 2);
    }

    #[test]
    fn queries_that_were_cut_are_told() {
        let (_, told) = read_text(&SQUID.replace("http://h/a", "http://h/a?")).unwrap();
        assert_eq!(told.cut_queries, 2);
    }

    #[test]
    fn what_is_wrong_is_told() {
        let json = "{\"time\":1286536309,\"url\":\"/a\"}\n";
        assert!(matches!(read_text(json), Err(TraceError::Json { .. })));
        assert!(matches!(read_text(""), Err(TraceError::Log(_))));
        let post = SQUID.lines().nth(3).unwrap();
        let error = read_text(post).unwrap_err().to_string();
        assert!(error.contains("left out: by method 1 of POST"), "{error}");
        let error = read_text(&SQUID.repeat(3)).unwrap_err().to_string();
        assert!(error.contains("at most 10 requests"), "{error}");
    }

    #[test]
    fn every_cut_is_an_error_or_a_shorter_trace() {
        for len in 0..SQUID.len() {
            if let Ok((trace, told)) = read_text(&SQUID[..len]) {
                assert!(!trace.is_empty() && trace.len() as u64 <= told.lines);
            }
        }
    }
}
