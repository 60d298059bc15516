//! Imports and replays of access logs, whole: files in, counts, lists and due times out.

use std::collections::BTreeMap;
use std::io::{Read, Write as _};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use plimsoll_workload::access_log::{
    Format, ImportOptions, ImportedLog, LogError, MAX_SPAN_S, Replay, ReplayOptions, ReplayRequest,
    ReplayRequests, import, import_from,
};
use plimsoll_workload::arrivals::Share;
use plimsoll_workload::request::{Request, Url, UrlListReader};
use plimsoll_workload::trace::Trace;
use proptest::prelude::*;

use crate::log_lines::{LogLines, START};

pub(crate) fn base() -> Url {
    Url::parse("http://h/").expect("a sound URL")
}

fn import_text(text: &str) -> Result<ImportedLog, LogError> {
    import_from(text.as_bytes(), "log", &ImportOptions::default())
}

fn generated(format: Format, lines: usize) -> String {
    let mut log = LogLines::new(format, 5, 20.0);
    let mut text = String::new();
    (0..lines).for_each(|_| log.push(&mut text));
    text
}

pub(crate) fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).expect("memory takes everything");
    encoder.finish().expect("memory takes everything")
}

pub(crate) fn clf(second: i64, request: &str) -> String {
    // Within 2026-07-01.
    let (h, m, s) = (second / 3600, second / 60 % 60, second % 60);
    format!("192.0.2.1 - - [01/Jul/2026:{h:02}:{m:02}:{s:02} +0000] \"{request}\" 200 5\n")
}

pub(crate) fn file(folder: &tempfile::TempDir, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("a file");
    path
}

/// Counts by hand the GETs that the generator wrote: the URL is known by its place in the line.
fn counted_by_hand(format: Format, text: &str) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    let is_get =
        |line: &&str| line.contains("GET") || format == Format::Wikibench && line.ends_with('-');
    for line in text.lines().filter(is_get) {
        let place = |n: usize| line.split_ascii_whitespace().nth(n);
        let url = match format {
            Format::Common | Format::Combined => line.split(' ').nth(6),
            Format::Squid => line.split_ascii_whitespace().nth(6),
            Format::Json => {
                line.split("\"request_uri\":\"").nth(1).and_then(|t| t.split('"').next())
            }
            Format::W3c if place(5) != Some("-") => {
                let whole = format!("{}?{}", place(4).expect("a stem"), place(5).expect("a query"));
                *counts.entry(whole).or_default() += 1;
                continue;
            }
            Format::W3c => place(4),
            Format::Haproxy => place(13),
            Format::Alb => place(13),
            Format::Wikibench => place(2),
        };
        *counts.entry(url.expect("a URL").to_owned()).or_default() += 1;
    }
    counts
}

#[test]
fn every_format_is_told_and_counted_plain_and_gzip() {
    for format in Format::ALL {
        let text = generated(format, 5000);
        let expected = counted_by_hand(format, &text);
        for bytes in [text.as_bytes().to_vec(), gzip(text.as_bytes())] {
            let log = import_from(&bytes[..], "log", &ImportOptions::default()).expect("a log");
            // The line that names the fields asks for nothing.
            let heads = u64::from(format == Format::W3c);
            assert_eq!(log.format, format.into());
            assert_eq!((log.lines, log.requests), (5000 + heads, 5000));
            assert_eq!((log.unreadable, log.empty), (0, heads));
            let posted = 5000 - expected.values().sum::<u64>();
            assert!(posted > 0);
            assert_eq!(log.left_out.reasons(), [format!("{posted} of POST")]);
            let found: BTreeMap<String, u64> =
                log.urls.iter().map(|(url, count)| (url.to_owned(), count)).collect();
            assert_eq!(found, expected);
            let order: Vec<(u64, &str)> = log.urls.iter().map(|(url, n)| (n, url)).collect();
            assert!(order.is_sorted_by(|a, b| a.0 > b.0 || a.0 == b.0 && a.1 < b.1));
            assert!((START..START + 5).contains(&log.first_second()));
            assert_eq!(log.seconds.dense().map(u64::from).sum::<u64>(), 5000);
            assert!((240..260).contains(&log.seconds.span_s()));
        }
    }
}

#[test]
fn beyond_max_urls_requests_are_other() {
    let text = generated(Format::Common, 5000);
    let options = ImportOptions { max_urls: 100, ..ImportOptions::default() };
    let log = import_from(text.as_bytes(), "log", &options).expect("a log");
    assert_eq!(log.urls.len(), 100);
    assert_eq!(log.urls.iter().map(|(_, n)| n).sum::<u64>() + log.left_out.total(), 5000);
    let posted: u64 = log.left_out.methods().map(|(_, count)| count).sum();
    assert!(log.left_out.beyond > 0);
    let none = ImportOptions { max_urls: 0, ..ImportOptions::default() };
    let log = import_from(text.as_bytes(), "log", &none).expect("a log");
    assert_eq!((log.left_out.beyond, log.left_out.total()), (5000 - posted, 5000));
}

#[test]
fn what_cannot_be_read_is_counted_and_the_first_ten_shown() {
    let mut text = clf(10, "GET / HTTP/1.1");
    (0..12).for_each(|n| text.push_str(&format!("garbage\u{7} {n}\n")));
    text.push('\n');
    text.push_str(&format!("{}\n", "long".repeat(20_000)));
    text.push_str(&clf(11, "-"));
    text.push_str(&clf(11, "CONNECT h:443 HTTP/1.1"));
    text.push_str(&clf(11, "GET http://h:0/ HTTP/1.1"));
    text.push_str(&clf(11, "GET /é HTTP/1.1"));
    text.push_str(clf(12, "POST / HTTP/1.1").trim_end());
    let log = import_text(&text).expect("a log");
    assert_eq!((log.lines, log.requests, log.unreadable, log.empty), (20, 6, 13, 1));
    // `-`, and a port that no server has; CONNECT and POST are no GET.
    assert_eq!((log.left_out.without_url, log.left_out.beyond), (2, 0));
    assert_eq!(log.left_out.methods().collect::<Vec<_>>(), [("CONNECT", 1), ("POST", 1)]);
    let urls: Vec<(&str, u64)> = log.urls.iter().collect();
    assert_eq!(urls, [("/", 1), ("/%C3%A9", 1)]);
    assert_eq!(log.examples.len(), 10);
    assert_eq!((log.examples[0].line, log.examples[0].text.as_str()), (2, "garbage\\u{7} 0"));
    assert!(log.examples[0].why.contains("time"));
    assert_eq!(log.seconds.dense().collect::<Vec<u32>>(), [1, 4, 1]);
    let long = format!("{}{}", clf(1, "GET / HTTP/1.0"), "x".repeat(70_000));
    let log = import_text(&long).expect("a log");
    assert_eq!(log.examples[0].text.len(), 200 + '…'.len_utf8());
    assert!(log.examples[0].why.contains("65536"));
}

#[test]
fn a_wild_date_costs_neither_memory_nor_rows() {
    let mut text: String = (0..100).map(|s| clf(s, "GET / HTTP/1.0")).collect();
    // The first line comes from a machine without a clock: it is not what the rest is judged by.
    text.insert_str(0, &clf(0, "GET / HTTP/1.0").replace("2026", "1970"));
    text.push_str(&clf(0, "GET / HTTP/1.0").replace("2026", "2099"));
    text.push_str(&clf(0, "GET / HTTP/1.0").replace("2026", "2029"));
    let log = import_text(&text).expect("a log");
    assert_eq!((log.unreadable, log.requests), (2, 101));
    assert_eq!(log.examples.iter().map(|example| example.line).collect::<Vec<_>>(), [1, 102]);
    assert!(i64::try_from(log.seconds.span_s()).is_ok_and(|span| span < MAX_SPAN_S));
    let mut csv = Vec::new();
    log.write_trace_csv(&mut csv).expect("memory takes everything");
    assert_eq!(csv.iter().filter(|byte| **byte == b'\n').count(), 1 + 100 + 60 + 1);
}

#[test]
fn what_is_written_is_read_back_without_loss() {
    let mut text = generated(Format::Common, 3000);
    let odd = ["/a,b", "/a,5", "/\"q\"", "/a\\\"b", "http://x.example/y,1?a=\\x22", "//e", "/%41"];
    for (n, target) in odd.iter().enumerate() {
        (0..=n).for_each(|_| text.push_str(&clf(30, &format!("GET {target} HTTP/1.0"))));
    }
    let log = import_text(&text).expect("a log");
    assert_eq!((log.unreadable, log.left_out.without_url, log.left_out.beyond), (0, 0, 0));
    let folder = tempfile::tempdir().expect("a folder");
    let (mut trace, mut urls) = (Vec::new(), Vec::new());
    log.write_trace_csv(&mut trace).expect("memory takes everything");
    log.write_urls_csv(&mut urls).expect("memory takes everything");
    let list = UrlListReader { base: Some(&base()), commas: false };
    let read = list.file(&file(&folder, "urls.csv", &urls)).expect("a sound list");
    let expected: Vec<Url> =
        log.urls.iter().map(|(url, _)| base().join(url).expect("a sound URL")).collect();
    assert_eq!(read.urls, expected);
    let counts: Vec<f64> = log.urls.iter().map(|(_, count)| count as f64).collect();
    assert_eq!(read.weights, Some(counts));
    let read = Trace::read(&file(&folder, "trace.csv", &trace), None).expect("a sound trace");
    let rates: Vec<f64> = read.points().iter().map(|point| point.rate_per_s).collect();
    let counts: Vec<f64> = log.seconds.dense().map(f64::from).collect();
    assert_eq!(rates, counts);
    assert_eq!(read.interval_ns(), 1_000_000_000);
}

#[test]
fn a_log_of_one_second_makes_a_trace() {
    let log = import_text(&clf(5, "GET / HTTP/1.0").repeat(7)).expect("a log");
    let mut csv = Vec::new();
    log.write_trace_csv(&mut csv).expect("memory takes everything");
    let folder = tempfile::tempdir().expect("a folder");
    let trace = Trace::read(&file(&folder, "trace.csv", &csv), None).expect("a sound trace");
    assert_eq!((trace.points()[0].rate_per_s, trace.interval_ns()), (7.0, 1_000_000_000));
}

#[test]
fn what_is_no_log_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = |name: &str, bytes: &[u8]| {
        let path = file(&folder, name, bytes);
        let error = import(&path, &ImportOptions::default()).expect_err(name);
        let shown = error.to_string();
        assert!(shown.contains(&path.display().to_string()), "{shown}");
        (error, shown)
    };
    assert!(matches!(error("empty", b"\n \n").0, LogError::Empty { .. }));
    let (kind, shown) = error("csv", b"time,rate\n1,2\n");
    assert!(matches!(kind, LogError::Format { .. }) && shown.contains("time,rate"));
    let (kind, shown) = error("zstd", b"\x28\xb5\x2f\xfd rest");
    assert!(matches!(kind, LogError::Compression { .. }) && shown.contains("zstdcat"));
    let packed = gzip(generated(Format::Common, 20_000).as_bytes());
    assert!(matches!(error("cut.gz", &packed[..12]).0, LogError::Read { line: 0, .. }));
    let (kind, _) = error("bad.gz", b"\x1f\x8b\x08\x00garbage");
    assert!(matches!(kind, LogError::Read { .. }));
    let forced = ImportOptions { format: Some(Format::Squid.into()), ..ImportOptions::default() };
    let wrong = import(&file(&folder, "clf", clf(1, "GET / HTTP/1.0")), &forced);
    assert!(wrong.expect_err("another format").to_string().contains("format squid"));
    for missing in [folder.path().join("none"), folder.path().to_owned()] {
        let error = import(&missing, &ImportOptions::default()).expect_err("no file");
        assert!(matches!(error, LogError::File(_)));
    }
}

/// The lines of a log that is torn at any byte: as many as were whole in what could be unpacked,
/// one more that is not readable where the tear is within a line, and a sentence about it.
#[test]
fn a_torn_gzip_file_gives_its_whole_lines_and_says_so() {
    for format in Format::ALL {
        let text = generated(format, 3000);
        let packed = gzip(text.as_bytes());
        for share in [3, 5, 8] {
            let log =
                import_from(&packed[..packed.len() * share / 10], "log", &ImportOptions::default())
                    .expect("what is there");
            let damage = log.damage.expect("a sentence");
            assert!(damage.contains("breaks off in line"), "{damage}");
            assert_eq!(log.lines, log.requests + log.unreadable + log.empty);
            assert!(log.unreadable <= 1 && (500..3000).contains(&log.requests), "{format}");
            let lines = usize::try_from(log.requests + log.empty).expect("few");
            let whole: String = text.split_inclusive('\n').take(lines).collect();
            let expected = import_text(&whole).expect("a log");
            assert!(log.urls.iter().eq(expected.urls.iter()), "{format}");
        }
        let padded =
            import_from(&[packed, vec![0; 700]].concat()[..], "log", &ImportOptions::default());
        let padded = padded.expect("a log");
        assert_eq!((padded.requests, padded.unreadable), (3000, 0));
        assert!(padded.damage.expect("a sentence").contains("700 bytes"));
    }
}

#[test]
fn what_a_pipe_says_once_is_replayed_as_from_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = generated(Format::Squid, 500) + &clf(1, "POST /a HTTP/1.0");
    let (_, expected) =
        due(&file(&folder, "log", &text), &ReplayOptions::default(), Share { index: 1, of: 3 });
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    let pipe = PathBuf::from(format!("/proc/self/fd/{}", reader.as_raw_fd()));
    let writer = std::thread::spawn(move || writer.write_all(text.as_bytes()));
    let (replay, found) = due(&pipe, &ReplayOptions::default(), Share { index: 1, of: 3 });
    writer.join().expect("a thread").expect("a pipe");
    assert_eq!(replay.lines(), 501);
    assert!(replay.total() > 400 && found == expected);
}

/// What a line says of its method and its target, written in each format that has both.
fn written(format: Format, second: u32, method: Option<&str>, target: &str) -> String {
    let request = method.map_or(target.to_owned(), |method| format!("{method} {target} HTTP/1.1"));
    match format {
        Format::Common | Format::Combined => {
            let host = if second.is_multiple_of(2) { "\"shop.example\" " } else { "" };
            format!("h - - [01/Jul/2026:00:00:{second:02} +0000] {host}\"{request}\" 200 5\n")
        }
        Format::Squid => {
            let method = method.unwrap_or("-");
            format!("{}.5 9 h TCP_MISS/200 5 {method} {target} - x -\n", START + i64::from(second))
        }
        Format::Json => {
            let method = method.map(|method| format!("\"method\":\"{method}\","));
            let (path, query) = target.split_once('?').unwrap_or((target, ""));
            let time = START + i64::from(second);
            let method = method.unwrap_or_default();
            format!("{{\"ts\":{time},{method}\"uri\":\"{path}\",\"args\":\"{query}\"}}\n")
        }
        Format::W3c | Format::Haproxy | Format::Alb | Format::Wikibench => {
            panic!("{format} is not written here")
        }
    }
}

proptest! {
    /// Whatever is in a log: each line is a request, one left out by its reason, unreadable or
    /// empty; what is asked again is exactly what was asked by a method that may be; and the list
    /// that is written comes back with its counts.
    #[test]
    fn every_line_is_counted_once_and_no_method_becomes_get(
        lines in prop::collection::vec((0..5_usize, 0..7_usize, 0..6_usize), 1..60),
        format in 0..3_usize,
        unsafe_methods in any::<bool>(),
    ) {
        const METHODS: [Option<&str>; 7] = [
            Some("GET"), Some("POST"), Some("DELETE"), Some("HEAD"), Some("get"),
            Some("BREW"), None,
        ];
        const TARGETS: [&str; 6] = ["/", "/a?b=1", "/c,7?d=e,5", "*", "-", "/f?g"];
        let format = [Format::Common, Format::Squid, Format::Json][format];
        let mut text = written(format, 0, Some("GET"), "/");
        let (mut list, mut asked) = (BTreeMap::from([("/".to_owned(), 1_u64)]), 1_u64);
        let (mut unreadable, mut empty) = (0, 0);
        for (n, (kind, method, target)) in lines.iter().enumerate() {
            match kind {
                0 => { text.push('\n'); empty += 1; }
                1 => { text.push_str("no line of a log\n"); unreadable += 1; }
                _ => {
                    let (method, target) = (METHODS[*method], TARGETS[*target]);
                    let second = u32::try_from(n % 60).expect("small");
                    text.push_str(&written(format, second, method, target));
                    let is_unsafe = matches!(method, Some("POST" | "DELETE" | "BREW"));
                    let again = unsafe_methods && is_unsafe;
                    if target.starts_with('/') {
                        asked += u64::from(matches!(method, Some("GET" | "HEAD")) || again);
                        if method == Some("GET") {
                            *list.entry(target.to_owned()).or_default() += 1;
                        }
                    }
                }
            }
        }
        let options = ImportOptions { format: Some(format.into()), ..ImportOptions::default() };
        let log = import_from(text.as_bytes(), "log", &options).expect("a log");
        prop_assert_eq!((log.unreadable, log.empty), (unreadable, empty));
        prop_assert_eq!(log.lines, lines.len() as u64 + 1);
        prop_assert_eq!(log.lines, log.requests + unreadable + empty);
        let listed: u64 = log.urls.iter().map(|(_, count)| count).sum();
        prop_assert_eq!(log.requests, listed + log.left_out.total());
        prop_assert_eq!(log.requests, log.seconds.dense().map(u64::from).sum::<u64>());
        let found: BTreeMap<String, u64> =
            log.urls.iter().map(|(url, count)| (url.to_owned(), count)).collect();
        prop_assert_eq!(&found, &list);
        let mut csv = Vec::new();
        log.write_urls_csv(&mut csv).expect("memory takes everything");
        let read = UrlListReader { base: Some(&base()), commas: false };
        let csv = String::from_utf8(csv).expect("ASCII");
        let read = read.text(&csv, "list").expect("a sound list");
        let paths = read.urls.iter().map(|url| url.target.clone());
        let back: Vec<(String, f64)> = paths.zip(read.weights.expect("weights")).collect();
        let sent: Vec<(String, f64)> =
            log.urls.iter().map(|(url, count)| (url.to_owned(), count as f64)).collect();
        prop_assert_eq!(back, sent);
        let folder = tempfile::tempdir().expect("a folder");
        let format = Some(format.into());
        let options = ReplayOptions { format, unsafe_methods, ..ReplayOptions::default() };
        let replay = Replay::open(&file(&folder, "log", &text), &options).expect("a replay");
        prop_assert_eq!((replay.unreadable(), replay.empty()), (unreadable, empty));
        prop_assert_eq!(replay.total(), asked);
        prop_assert_eq!(replay.lines(), log.lines);
        let counted = replay.total() + replay.left_out().total() + unreadable + empty;
        prop_assert_eq!(replay.lines(), counted);
    }
}

#[test]
fn members_of_a_gzip_file_are_read_one_after_the_other() {
    let text = generated(Format::Combined, 2000);
    let (one, two) = text.split_at(text.len() / 3);
    let both = [gzip(one.as_bytes()), gzip(two.as_bytes())].concat();
    let log = import_from(&both[..], "log", &ImportOptions::default()).expect("a log");
    assert_eq!((log.requests, log.unreadable), (2000, 0));
}

/// Gives one byte at a time, then breaks.
struct Breaks(&'static [u8]);

impl Read for Breaks {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let (&first, rest) = self.0.split_first().ok_or_else(|| std::io::Error::other("broken"))?;
        out[0] = first;
        self.0 = rest;
        Ok(1)
    }
}

#[test]
fn a_read_error_is_not_an_end() {
    let log = import_from(Breaks(b"x\ny\n"), "pipe", &ImportOptions::default());
    let error = log.expect_err("a broken pipe");
    assert!(matches!(error, LogError::Read { .. }) && error.to_string().contains("pipe"));
}

fn due(path: &Path, options: &ReplayOptions, share: Share) -> (Replay, Vec<ReplayRequest>) {
    let replay = Replay::open(path, options).expect("a replay");
    let all = replay.due(share).expect("a replay").map(|due| due.expect("a request")).collect();
    (replay, all)
}

#[test]
fn a_replay_asks_in_the_order_of_the_file_at_the_rate_of_the_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = [
        clf(10, "GET /a HTTP/1.0"),
        clf(11, "GET /b HTTP/1.0"),
        clf(10, "HEAD /a HTTP/1.0"),
        clf(13, "GET /a HTTP/1.0"),
        clf(13, "POST /a HTTP/1.0"),
        clf(11, "GET - HTTP/1.0"),
        "garbage\n".to_owned(),
        clf(13, "GET /c HTTP/1.0"),
    ]
    .concat();
    let path = file(&folder, "log", &text);
    let (replay, all) = due(&path, &ReplayOptions::default(), Share::WHOLE);
    let ms: Vec<(u64, u32)> =
        all.iter().map(|due| (due.offset_ns / 1_000_000, due.index)).collect();
    // Two requests in second 10, one in 11, two in 13.
    assert_eq!(ms, [(0, 0), (500, 1), (1000, 2), (3000, 0), (3500, 3)]);
    assert_eq!((replay.lines(), replay.total(), replay.unreadable()), (8, 5, 1));
    assert_eq!(replay.left_out().reasons(), ["1 of POST", "1 without a URL"]);
    assert_eq!(replay.duration_ns(), 4_000_000_000);
    let like = Request::new(base()).header("X-Test: 1").expect("a sound header");
    let list = replay.requests(&like).expect("sound requests").list;
    assert!(list.iter().all(|request| request.headers == like.headers));
    let shown: Vec<String> =
        list.iter().map(|request| format!("{} {}", request.method, request.url)).collect();
    assert_eq!(shown, ["GET http://h/a", "GET http://h/b", "HEAD http://h/a", "GET http://h/c"]);
    let options = ReplayOptions { unsafe_methods: true, ..ReplayOptions::default() };
    assert_eq!(due(&path, &options, Share::WHOLE).0.total(), 6);
    let post = file(&folder, "post", clf(13, "POST /a HTTP/1.0"));
    let nothing = Replay::open(&post, &ReplayOptions::default()).expect_err("nothing");
    assert!(nothing.to_string().contains("1 of POST"), "{nothing}");
}

#[test]
fn the_log_of_a_proxy_puts_load_on_no_other_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = "1000000000.000 5 192.0.2.1 TCP_HIT/200 9 GET http://elsewhere.example/a?b - x x";
    let path = file(&folder, "log", line);
    let asked = |other_servers| {
        let options = ReplayOptions { other_servers, ..ReplayOptions::default() };
        let replay = Replay::open(&path, &options).expect("a replay");
        let like = Request::new(Url::parse("http://me:pw@h:81/").expect("a sound URL"));
        let request = replay.requests(&like).expect("sound requests").list.remove(0);
        (request.url.to_string(), request.headers.len())
    };
    assert_eq!(asked(false), ("http://h:81/a?b".to_owned(), 1));
    assert_eq!(asked(true), ("http://elsewhere.example/a?b".to_owned(), 0));
}

#[test]
fn a_log_with_fractions_is_replayed_exactly() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = [0.25, 0.5, 0.75, 3.125];
    let text: String = at
        .iter()
        .map(|at| format!("{:.3} 5 192.0.2.1 TCP_HIT/200 9 GET http://h/ - NONE/- x\n", 1e9 + at))
        .collect();
    let (_, all) = due(&file(&folder, "log", text), &ReplayOptions::default(), Share::WHOLE);
    let offsets: Vec<f64> = all.iter().map(|due| due.offset_ns as f64 / 1e9).collect();
    assert_eq!(offsets, at);
}

#[test]
fn shares_of_a_replay_are_the_whole_and_never_go_back() {
    let folder = tempfile::tempdir().expect("a folder");
    for format in Format::ALL {
        let path = file(&folder, "log.gz", gzip(generated(format, 3000).as_bytes()));
        let options = ReplayOptions { max_urls: 1500, ..ReplayOptions::default() };
        let (replay, whole) = due(&path, &options, Share::WHOLE);
        assert_eq!(whole.len() as u64, replay.total());
        assert_eq!(replay.total() + replay.left_out().total(), 3000);
        assert!(whole.is_sorted_by_key(|due| due.offset_ns));
        let mut seconds = vec![0_u32; usize::try_from(replay.seconds().span_s()).expect("small")];
        whole.iter().for_each(|due| seconds[(due.offset_ns / 1_000_000_000) as usize] += 1);
        assert!(replay.seconds().dense().eq(seconds), "{format}");
        let of = 3;
        let mut joined: Vec<Option<ReplayRequest>> = vec![None; whole.len()];
        for index in 0..of {
            let (_, part) = due(&path, &options, Share { index, of });
            for (n, request) in part.into_iter().enumerate() {
                joined[n * of as usize + index as usize] = Some(request);
            }
        }
        assert!(joined.into_iter().eq(whole.into_iter().map(Some)));
    }
}

#[test]
fn each_thread_can_have_its_share() {
    fn may_move<T: Send>() {}
    fn may_be_shared<T: Sync>() {}
    may_move::<ReplayRequests<'static>>();
    may_be_shared::<Replay>();
}

#[test]
fn a_log_that_grows_during_a_replay_ends_it_with_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = file(&folder, "log", clf(1, "GET / HTTP/1.0").repeat(3));
    let replay = Replay::open(&path, &ReplayOptions::default()).expect("a replay");
    for times in [2, 4] {
        file(&folder, "log", clf(1, "GET / HTTP/1.0").repeat(times));
        let last = replay.due(Share::WHOLE).expect("a replay").last().expect("an item");
        assert!(matches!(last, Err(LogError::Changed { .. })));
    }
}
