//! The page of the server's own counters, beside requests of which it is known what became.

use std::io::Read as _;
use std::num::NonZeroU32;
use std::time::Duration;

use plimsoll_target::{Options, counters};
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::service_model::ServiceTime;

use super::client::{GET, Running};

const REQUEST: &[u8] = b"GET /-/metrics HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";

/// The page, asked for over a connection of its own.
fn page(server: &Running) -> String {
    let mut client = server.connect();
    client.send(REQUEST);
    let mut answer = String::new();
    client.reader.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\nConnection: close\r\n"), "{head}");
    assert!(head.ends_with(&format!("Content-Length: {}", body.len())), "{head}");
    body.to_owned()
}

/// The text of the value of a sample of the page.
fn text<'a>(page: &'a str, sample: &str) -> &'a str {
    let start = format!("plimsoll_target_{sample} ");
    let line = page.lines().find_map(|line| line.strip_prefix(&start));
    line.unwrap_or_else(|| panic!("{sample} in {page}"))
}

/// A count of the page.
fn count(page: &str, sample: &str) -> u64 {
    text(page, sample).parse().unwrap()
}

/// A time of the page, seconds.
fn seconds(page: &str, sample: &str) -> f64 {
    text(page, &format!("{sample}_seconds_total")).parse().unwrap()
}

fn slow(burn: bool) -> Options {
    let service = ServiceTime::Law(Distribution::parse("const:1h").unwrap());
    let workers = NonZeroU32::new(2).unwrap();
    let drain = Duration::ZERO;
    Options { service, workers, queue_bound: Some(3), burn, drain, ..Options::default() }
}

#[test]
fn the_path_is_the_one_that_is_asked_for() {
    assert!(REQUEST.starts_with(format!("GET {} ", counters::PATH).as_bytes()));
}

#[test]
fn what_is_at_hand_is_told_and_what_was_refused() {
    for burn in [false, true] {
        let server = Running::new(slow(burn));
        assert_eq!(count(&page(&server), "requests_total"), 0, "the page itself is no request");
        // Two are worked on, three wait, two are refused.
        let mut clients: Vec<_> = (0..7).map(|_| server.connect()).collect();
        for client in &mut clients {
            client.send(GET);
            server.barrier();
        }
        let refused = clients.iter_mut().skip(5).map(|client| client.answer().status);
        assert!(refused.eq([503, 503]));
        let now = page(&server);
        let of = |name: &str| count(&now, name);
        assert_eq!((of("requests_total"), of("workers")), (7, 2), "{now}");
        assert_eq!((of("in_work"), of("waiting")), (2, 3), "{now}");
        assert_eq!(of("responses_total{code=\"503\"}"), 2, "{now}");
        assert_eq!(of("responses_total{code=\"200\"}"), 0, "nothing has left yet: {now}");
        assert_eq!(of("responses_total{code=\"400\"}"), 7, "the barriers: {now}");
        assert!(!now.contains("code=\"100\""), "an interim answer is none: {now}");
        // Work is counted while it goes on.
        while seconds(&page(&server), "work") <= 0.0 {}
        assert!(seconds(&page(&server), "cpu") > 0.0);
    }
}

#[test]
fn answers_are_counted_when_they_have_left_and_work_when_it_is_done() {
    let service = ServiceTime::Law(Distribution::parse("const:1ms").unwrap());
    let options = Options { service, error_share: 0.5, ..Options::default() };
    let server = Running::new(options);
    let mut client = server.connect();
    let failed = (0..100).filter(|_| client.ask(GET).status == 500).count() as u64;
    let page = page(&server);
    let of = |name: &str| count(&page, name);
    assert_eq!(of("responses_total{code=\"500\"}"), failed, "{page}");
    assert_eq!(of("responses_total{code=\"200\"}"), 100 - failed, "{page}");
    assert_eq!((of("in_work"), of("waiting")), (0, 0), "{page}");
    assert!((seconds(&page, "work") - 0.1).abs() < 1e-9, "{page}");
    // This client's and the one that asks.
    assert_eq!((of("connections"), of("connections_total")), (2, 2), "{page}");
    let stats = server.finish();
    assert_eq!((stats.requests, stats.errors), (100, failed));
}

#[test]
fn a_connection_is_kept_for_more_pages_and_cut_where_they_are_pipelined() {
    let server = Running::new(Options::default());
    let kept = b"GET /-/metrics HTTP/1.1\r\nHost: h\r\n\r\n";
    let mut client = server.connect();
    let mut head = [0; 15];
    client.send(b"HEAD /-/metrics HTTP/1.1\r\nHost: h\r\n\r\n");
    client.reader.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 200 OK");
    let mut client = server.connect();
    for _ in 0..3 {
        client.send(kept);
        client.reader.read_exact(&mut head).unwrap();
        assert_eq!(&head, b"HTTP/1.1 200 OK");
        let mut text = String::new();
        while !text.contains("\nplimsoll_target_cpu_seconds_total ") || !text.ends_with('\n') {
            let mut byte = [0; 1];
            client.reader.read_exact(&mut byte).unwrap();
            text.push(byte[0] as char);
        }
    }
    for pipelined in [[kept, GET].concat(), [kept, kept.as_slice()].concat()] {
        let mut client = server.connect();
        client.send(&pipelined);
        let mut rest = Vec::new();
        let _ = client.reader.read_to_end(&mut rest);
        assert_eq!(rest, b"", "{}", String::from_utf8_lossy(&rest));
    }
    // Behind an answer that is owed.
    let server = Running::new(slow(false));
    let mut client = server.connect();
    client.send(GET);
    server.barrier();
    client.send(kept);
    let _ = client.reader.read_to_end(&mut Vec::new());
    assert_eq!(count(&page(&server), "requests_total"), 1);
}
