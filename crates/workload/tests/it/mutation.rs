//! Mutations of valid texts against every parser of requests and access logs: whatever the bytes,
//! a parser ends, keeps its promises and points within its text. Used by the tests and by
//! `examples/access_log_mutate.rs`, which runs as long as it is told.
#![expect(clippy::cast_possible_truncation, reason = "small numbers, and random bytes")]

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use plimsoll_units::ParseError;
use plimsoll_workload::access_log::{
    Format, ImportOptions, ImportedLog, LogFormat, Replay, ReplayOptions, Rewrite, import_from,
};
use plimsoll_workload::arrivals::Share;
use plimsoll_workload::random::Stream;
use plimsoll_workload::request::{
    Credentials, Order, RenderState, Request, RequestError, Template, Url, UrlListReader, bearer,
    parse_header, parse_method,
};

use crate::log_lines::LogLines;

/// What breaks parsers: the marks of every format, ends of lines, limits of numbers.
const TOKENS: [&[u8]; 40] = [
    b"\"",
    b"\\",
    b"\\\"",
    b"[",
    b"]",
    b"{",
    b"}",
    b"{{",
    b"}}",
    b" ",
    b"\t",
    b"\r",
    b"\n",
    b"\0",
    b"\xff",
    b"\xc3",
    b"\xef\xbb\xbf",
    b"%",
    b"%2F",
    b"%00",
    b":",
    b"://",
    b"/",
    b"@",
    b"#",
    b"?",
    b",",
    b"..",
    b"-",
    b"+",
    b"0",
    b"18446744073709551616",
    b"99999999999999999999",
    b"1e308",
    b"NaN",
    b"\\u",
    b"\\ud800",
    b"\\x",
    b"HTTP/",
    b"\x1f\x8b",
];

/// One mutation after the other of one text.
fn mutate(text: &mut Vec<u8>, other: &[u8], stream: &mut Stream) {
    for _ in 0..=stream.below(4) {
        let len = text.len() as u64;
        let at = stream.below(len + 1) as usize;
        let end = (at + stream.below(40) as usize).min(text.len());
        match stream.below(8) {
            0 if at < text.len() => text[at] ^= 1 << stream.below(8),
            1 if at < text.len() => text[at] = stream.next_u64() as u8,
            2 => drop(text.drain(at..end)),
            3 => {
                let again = text[at..end].to_vec();
                let times = 1 + stream.below(4) as usize;
                text.splice(at..at, again.repeat(times));
            }
            4 if !other.is_empty() => {
                let from = stream.below(other.len() as u64) as usize;
                let to = (from + stream.below(60) as usize).min(other.len());
                text.splice(at..end, other[from..to].iter().copied());
            }
            5 if stream.below(30) == 0 => {
                let byte = stream.next_u64() as u8;
                text.splice(at..at, std::iter::repeat_n(byte, 70_000));
            }
            6 => text.truncate(at),
            _ => {
                let token = TOKENS[stream.below(TOKENS.len() as u64) as usize];
                text.splice(at..at, token.iter().copied());
            }
        }
    }
}

macro_rules! ensure {
    ($holds:expr, $($what:tt)+) => {
        if !$holds {
            return Err(format!($($what)+));
        }
    };
}

/// Runs everything once on what a seed makes of valid texts.
///
/// # Errors
/// The promise that was not kept.
pub(crate) fn check(seed: u64) -> Result<(), String> {
    let stream = &mut Stream::named(seed, "mutation");
    log(stream)?;
    let mut texts = Vec::new();
    for valid in TEXTS {
        let other = TEXTS[stream.below(TEXTS.len() as u64) as usize];
        let mut text = valid.as_bytes().to_vec();
        mutate(&mut text, other.as_bytes(), stream);
        texts.push(String::from_utf8_lossy(&text).into_owned());
    }
    for text in &texts {
        url(text)?;
        template(text)?;
        header(text)?;
        list(text)?;
        words(text)?;
    }
    Ok(())
}

const TEXTS: [&str; 18] = [
    "http://user:pw@Example.com:8080/a/b?c=d#e",
    "https://[2001:db8::1]:443/x",
    "http+unix://%2Frun%2Fx.sock/path?q",
    "localhost:8080",
    "Accept: text/html;q=0.9, {{uuid}}",
    "{\"id\":{{counter}},\"n\":{{random:1..100}}} \\{{x}}",
    "# list\n/a\n/b,2\nhttp://h/c\t3\n\"/d,4\",5\n",
    "url,count\n/a,10\n\"/b\"\"c\",2\n",
    "zipf:0.8",
    "weighted",
    "PROPFIND",
    "user:password",
    "mF_9.B5f-4.1JqM",
    "combined",
    "$remote_addr [$time_local] \"$request\" ${status} $body_bytes_sent",
    "%h %t \\\"%r\\\" %>s %!200,304{Referer}i %{%d/%b/%Y %T %z}t %^ti",
    "^/v1/([^/]+)=/v2/$1",
    "([?&])token\\=[^&]*=${1}token",
];

/// An error points within the text, at whole characters.
fn points_within(text: &str, error: &ParseError) -> Result<(), String> {
    let ParseError { at, len, .. } = *error;
    ensure!(at + len <= text.len(), "{error} at {at}+{len} of {} bytes", text.len());
    ensure!(text.get(at..at + len).is_some(), "{error} at {at}+{len} cuts a character");
    Ok(())
}

fn url(text: &str) -> Result<(), String> {
    let found = match Url::parse(text) {
        Ok(found) => found,
        Err(error) => return points_within(text, &error),
    };
    is_target(&found.target)?;
    ensure!(found.port > 0 && !found.host.is_empty(), "no host or port: {found:?}");
    let again = Url::parse(&found.to_string()).map_err(|error| format!("{found}: {error}"))?;
    let bare = Url { credentials: None, ..found };
    ensure!(again == bare, "{again:?} is not {bare:?}");
    Ok(())
}

fn is_target(target: &str) -> Result<(), String> {
    let visible = target.bytes().all(|byte| (0x21..=0x7e).contains(&byte));
    ensure!(visible && target.starts_with('/'), "the target `{}`", target.escape_debug());
    Ok(())
}

fn template(text: &str) -> Result<(), String> {
    let template = match Template::parse(text) {
        Ok(template) => template,
        Err(error) => return points_within(text, &error),
    };
    let mut state = RenderState::new(1, Share::WHOLE);
    let mut out = Vec::new();
    template.render(&mut state, &mut out);
    let fixed = template.as_static();
    ensure!(fixed.is_none_or(|fixed| fixed == out), "rendered otherwise than said: {template:?}");
    ensure!(out.len() <= text.len() * 6 + 40, "{} bytes from {}", out.len(), text.len());
    Ok(())
}

fn header(text: &str) -> Result<(), String> {
    let (name, value) = match parse_header(text) {
        Ok(found) => found,
        Err(error) => return points_within(text, &error),
    };
    let token = |byte: u8| byte.is_ascii_graphic() && !b"(),/:;<=>?@[\\]{}\"".contains(&byte);
    ensure!(!name.is_empty() && name.bytes().all(token), "the name `{}`", name.escape_debug());
    let mut out = Vec::new();
    value.render(&mut RenderState::new(1, Share::WHOLE), &mut out);
    let ends = |byte: &u8| matches!(byte, b'\r' | b'\n' | 0);
    ensure!(!out.iter().any(ends), "the value `{}`", out.escape_ascii());
    Ok(())
}

fn list(text: &str) -> Result<(), String> {
    let base = Url::parse("http://h/").map_err(|error| error.to_string())?;
    match (UrlListReader { base: Some(&base), commas: false }).text(text, "list") {
        Ok(list) => {
            ensure!(!list.urls.is_empty(), "an empty list");
            list.urls.iter().try_for_each(|url| is_target(&url.target))?;
            let weights = list.weights.unwrap_or_default();
            ensure!(weights.iter().all(|w| w.is_finite() && *w >= 0.0), "weights {weights:?}");
            Ok(())
        }
        Err(RequestError::Line { line, error, .. }) => {
            let line = text.split('\n').nth(line as usize - 1).ok_or("no such line")?;
            // Within a quoted URL a doubled quote counts once: positions may be short, never long.
            ensure!(error.at + error.len <= line.len(), "{error} beyond `{}`", line.escape_debug());
            Ok(())
        }
        Err(_) => Ok(()),
    }
}

fn words(text: &str) -> Result<(), String> {
    let errors = [
        Order::parse(text, Some(&[1.0])).err(),
        parse_method(text).err(),
        bearer(text).err(),
        LogFormat::parse(text).err(),
        Rewrite::parse(text).err(),
    ];
    errors.iter().flatten().try_for_each(|error| points_within(text, error))?;
    if let Ok(credentials) = Credentials::parse(text) {
        let shown = format!("{credentials:?}");
        ensure!(shown == "Credentials(redacted)", "{shown}");
    }
    Ok(())
}

/// Formats in the words of servers: those of the logs that are written, and others.
const FORMATS: [&str; 5] = [
    r#"%h %l %u %t "%r" %>s %b"#,
    "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \
     \"$http_referer\" \"$http_user_agent\"",
    "%{%F %T}t %h %m %U %q %s",
    "$_ $msec $uri?$args $_",
    "%{%d/%b/%Y:%T}t.%{msec_frac}t \"%m %U%q\"",
];

fn log(stream: &mut Stream) -> Result<(), String> {
    let format = Format::ALL[stream.below(Format::ALL.len() as u64) as usize];
    let mut valid = LogLines::new(format, stream.next_u64(), 5.0);
    let (mut text, mut other) = (String::new(), String::new());
    (0..=stream.below(8)).for_each(|_| valid.push(&mut text));
    valid.push(&mut other);
    if stream.below(6) == 0 {
        let head = "2026-03-03T08:00:00.1Z stdout F ";
        text = text.lines().map(|line| format!("{head}{line}\n")).collect();
    }
    let mut text = text.into_bytes();
    mutate(&mut text, other.as_bytes(), stream);
    let max_urls = if stream.below(4) == 0 { 2 } else { 1000 };
    let words = FORMATS[stream.below(FORMATS.len() as u64) as usize];
    let words = LogFormat::parse(words).map_err(|error| format!("{words}: {error}"))?;
    let rewrites = match stream.below(4) {
        0 => vec![Rewrite::parse("[aeiou]+=x$0").map_err(|error| error.to_string())?],
        _ => Vec::new(),
    };
    for format in [None, Some(format.into()), Some(words)] {
        let options = ImportOptions { format, max_urls, rewrites: rewrites.clone() };
        let Ok(log) = import_from(&text[..], "log", &options) else { continue };
        adds_up(&log, &text)?;
        if max_urls > 2 {
            comes_back(&log)?;
        }
    }
    if stream.below(20) == 0 {
        replay(&text)?;
    }
    packed(&text, stream)
}

/// A replay gives as many requests as it said, each of its list, in order of time.
fn replay(text: &[u8]) -> Result<(), String> {
    let mut file = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    file.write_all(text).map_err(|error| error.to_string())?;
    let options = ReplayOptions {
        unsafe_methods: true,
        other_servers: true,
        keep_host: true,
        ..ReplayOptions::default()
    };
    let Ok(replay) = Replay::open(file.path(), &options) else { return Ok(()) };
    let base = Url::parse("http://h/").map_err(|error| error.to_string())?;
    let requests = replay.requests(&Request::new(base)).map_err(|error| error.to_string())?;
    let (mut count, mut last_ns) = (0, 0);
    for request in replay.due(Share::WHOLE).map_err(|error| error.to_string())? {
        let request = request.map_err(|error| error.to_string())?;
        ensure!(request.offset_ns >= last_ns, "back to {} from {last_ns}", request.offset_ns);
        ensure!(requests.list.get(request.index as usize).is_some(), "no request {request:?}");
        last_ns = request.offset_ns;
        count += 1;
    }
    let counted = replay.total() + replay.left_out().total() + replay.unreadable() + replay.empty();
    ensure!(replay.lines() == counted, "{counted} of {} lines", replay.lines());
    ensure!(count == replay.total(), "{count} of {} requests", replay.total());
    ensure!(last_ns < replay.duration_ns(), "{last_ns} in {}", replay.duration_ns());
    Ok(())
}

/// Every line and every request is counted once.
fn adds_up(log: &ImportedLog, text: &[u8]) -> Result<(), String> {
    let ends = text.iter().filter(|byte| **byte == b'\n').count() as u64;
    let lines = ends + u64::from(text.last() != Some(&b'\n'));
    // A mark of the encoding alone is no line.
    ensure!(log.lines == lines || log.lines + 1 == lines, "{} lines of {lines}", log.lines);
    let by_kind = log.requests + log.empty + log.unreadable;
    ensure!(log.lines == by_kind, "{} lines, {by_kind} by kind", log.lines);
    let by_second: u64 = log.seconds.busy().map(|(_, count)| u64::from(count)).sum();
    ensure!(log.requests == by_second, "{} requests, {by_second} by second", log.requests);
    let by_url = log.urls.iter().map(|(_, n)| n).sum::<u64>() + log.left_out.total();
    ensure!(log.requests == by_url, "{} requests, {by_url} by URL", log.requests);
    let shown = log.unreadable.min(10) as usize;
    ensure!(log.examples.len() == shown, "{} examples", log.examples.len());
    let long = log.examples.iter().map(|example| example.text.len()).max().unwrap_or(0);
    ensure!(long <= 200 * 8 + 3, "an example of {long} bytes");
    Ok(())
}

/// The list that is written is read as it was.
fn comes_back(log: &ImportedLog) -> Result<(), String> {
    if log.urls.is_empty() {
        return Ok(());
    }
    let mut csv = Vec::new();
    log.write_urls_csv(&mut csv).map_err(|error| error.to_string())?;
    let text = String::from_utf8(csv).map_err(|error| error.to_string())?;
    let base = Url::parse("http://h/").map_err(|error| error.to_string())?;
    let list = (UrlListReader { base: Some(&base), commas: false })
        .text(&text, "list")
        .map_err(|error| format!("{error} in `{}`", text.escape_debug()))?;
    ensure!(list.urls.len() == log.urls.len(), "{} URLs came back", list.urls.len());
    for (read, (written, _)) in list.urls.iter().zip(log.urls.iter()) {
        let expected = base.join(written).map_err(|error| format!("{written}: {error}"))?;
        ensure!(*read == expected, "{read} came back for {written}");
    }
    let mut trace = Vec::new();
    log.write_trace_csv(&mut trace).map_err(|error| error.to_string())?;
    let rows = trace.iter().filter(|byte| **byte == b'\n').count();
    ensure!(rows <= 1 + 3700 * (log.requests as usize + 1), "{rows} rows");
    Ok(())
}

/// Gzip makes no difference; damaged gzip ends with an error or with lines.
fn packed(text: &[u8], stream: &mut Stream) -> Result<(), String> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).map_err(|error| error.to_string())?;
    let mut bytes = encoder.finish().map_err(|error| error.to_string())?;
    let counts = |bytes: &[u8]| {
        import_from(bytes, "log", &ImportOptions::default())
            .map(|log| (log.lines, log.requests, log.unreadable, log.urls.len()))
            .ok()
    };
    if !text.starts_with(b"\x1f\x8b") && !text.is_empty() {
        ensure!(counts(text) == counts(&bytes), "gzip makes a difference");
    }
    mutate(&mut bytes, text, stream);
    counts(&bytes);
    Ok(())
}

#[test]
fn mutated_texts_break_no_promise() {
    for seed in 0..1500 {
        check(seed).unwrap_or_else(|promise| {
            panic!("{promise}\nreplay: cargo run --example access_log_mutate -- 0 {seed}")
        });
    }
}
