//! Answers of every shape, right and wrong.

use crate::drive::{Output, closed, drive, get, open, to};
use crate::server::{Gate, OK, Server};
use plimsoll_load::{Expected, Pacing};
use plimsoll_runs::{ErrorKind, Sample};
use plimsoll_workload::request::{Requests, Template};
use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

/// Six requests by `method` to a server that answers so; it closes behind an answer if told.
fn ask(method: &str, answer: &[u8], closes: bool) -> Output {
    let (answer, most) = (answer.to_vec(), if closes { 1 } else { usize::MAX });
    let server = Server::tcp(move |mut peer| peer.serve(&answer, most));
    let mut config = to(server.address());
    config.requests = Arc::new(Requests::one(get().method(method).unwrap()));
    drive(&config, &closed(2, 20_000, Some(6)))
}

fn all(seen: &Output, is: impl Fn(&Sample) -> bool) -> bool {
    seen.samples.len() == 6 && seen.samples.iter().all(is)
}

/// Whether six were answered so, in so many bytes, on two connections or on six.
fn good(seen: &Output, status: u16, bytes: usize, connections: u64) {
    let right = |one: &Sample| (one.status, one.error, one.bytes) == (status, None, bytes as u64);
    assert!(all(seen, right), "{:?}", seen.samples);
    assert_eq!(seen.sum(|interval| interval.opened), connections);
}

fn bad(seen: &Output, kind: ErrorKind) {
    assert!(all(seen, |one| (one.status, one.error) == (0, Some(kind))), "{:?}", seen.samples);
}

#[test]
fn lengths_of_every_kind() {
    for (method, answer, keeps) in [
        ("GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", true),
        ("GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", true),
        ("GET", "HTTP/1.1 200 OK\ncontent-length:   5   \n\nhello", true),
        ("GET", "HTTP/1.1 204 No Content\r\n\r\n", true),
        (
            "GET",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\n\r\n",
            true,
        ),
        ("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n\r\n", true),
        ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", true),
        ("HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", true),
        ("HEAD", "HTTP/1.1 200 OK\r\n\r\n", true),
        (
            "GET",
            "HTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 \r\n\r\n\
             HTTP/1.1 200 \r\nContent-Length: 1\r\n\r\nx",
            true,
        ),
        ("GET", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx", true),
        ("GET", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello", false),
        ("GET", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", false),
        ("GET", "HTTP/1.1 200 OK\r\n\r\nuntil the end", false),
        ("GET", "HTTP/1.1 200 OK\r\n\r\n", false),
        ("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nnot chunked", false),
    ] {
        let seen = ask(method, answer.as_bytes(), !keeps);
        let status = if answer.contains(" 204 ") { 204 } else { 200 };
        good(&seen, status, answer.len(), if keeps { 2 } else { 6 });
    }
}

#[test]
fn codes_that_are_not_expected_are_failures_within_completed() {
    for (code, expected, fails) in [
        (200, Expected::default(), false),
        (304, Expected::default(), true),
        (304, Expected::new(vec![(200, 200), (304, 304)]), false),
        (201, Expected::new(vec![(200, 200), (304, 304)]), true),
        (503, Expected::default(), true),
        (404, Expected::new(vec![(400, 499)]), false),
        (999, Expected::new(vec![(100, 999)]), false),
    ] {
        let body = if code == 304 { "" } else { "Content-Length: 0\r\n" };
        let answer = format!("HTTP/1.1 {code} Whatever\r\n{body}\r\n");
        let server = Server::tcp(move |mut peer| peer.serve(answer.as_bytes(), usize::MAX));
        let mut config = to(server.address());
        config.expected = expected;
        let seen = drive(&config, &closed(2, 20_000, Some(6)));
        let counts = seen.counts();
        assert_eq!(counts.completed, 6);
        assert_eq!(counts.status, [(code, 6)]);
        assert_eq!(counts.errors_of(ErrorKind::Status), if fails { 6 } else { 0 });
    }
}

#[test]
fn what_breaks_the_protocol() {
    for answer in [
        "HTTP/2 200 OK\r\n\r\n",
        "SSH-2.0-OpenSSH_9.6\r\n",
        "HTTP/1.1 200 OK\r\na line that is no field\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 200 OK\r\n folded: yes\r\n\r\n",
    ] {
        bad(&ask("GET", answer.as_bytes(), false), ErrorKind::Protocol);
    }
    let long = [b"HTTP/1.1 200 OK\r\nX: ".to_vec(), vec![b'x'; 270_000]].concat();
    bad(&ask("GET", &long, false), ErrorKind::Protocol);
    // Interim answers without end are none.
    let endless = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(20_000);
    bad(&ask("GET", &endless, false), ErrorKind::Protocol);
}

#[test]
fn a_whole_answer_counts_whatever_stands_about_it() {
    let long =
        format!("HTTP/1.1 200 OK\r\nX: {}\r\nContent-Length: 2\r\n\r\nok", "v".repeat(90_000));
    for (answer, keeps) in [
        ("HTTP/1.1 200 OK\r\nX-Crew: anna,\r\n  bert\r\nContent-Length: 2\r\n\r\nok", true),
        ("HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok", true),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
             0000000000000000002\r\nok\r\n000\r\n\r\n",
            true,
        ),
        (&long, true),
        // What follows it closes the connection.
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false),
        ("HTTP/1.1 200 OK\r\n\r\n", false),
    ] {
        let behind = ["\r\n", ", and more", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"];
        if keeps {
            good(&ask("GET", answer.as_bytes(), false), 200, answer.len(), 2);
            continue;
        }
        let method = if answer.contains("ok") { "GET" } else { "HEAD" };
        for behind in behind {
            let seen = ask(method, format!("{answer}{behind}").as_bytes(), false);
            good(&seen, 200, answer.len(), 6);
        }
    }
}

#[test]
fn an_empty_line_behind_an_answer_spoils_no_other() {
    // Behind the answer, in a segment of its own: before the next answer, or on an idle connection.
    let server = Server::tcp(|mut peer| {
        while peer.request().is_some() {
            peer.write(OK);
            Gate::new().wait_for(Duration::from_millis(10));
            peer.write(b"\r\n");
        }
    });
    for offer in [closed(2, 20_000, Some(20)), open(20.0, 500)] {
        let seen = drive(&to(server.address()), &offer);
        assert_eq!(seen.counts().succeeded, seen.counts().offered, "{:?}", seen.counts());
        assert!(seen.samples.iter().all(|sample| sample.bytes == OK.len() as u64));
    }
}

#[test]
fn an_answer_that_comes_before_the_whole_request_counts() {
    // The server reads the head, answers, and closes or stays; the rest of 8 MB is on its way.
    for closes in [true, false] {
        let server = Server::tcp(move |mut peer| {
            let mut head = [0; 512];
            if matches!(peer.stream.read(&mut head), Ok(1..)) {
                let end = if closes { "Connection: close\r\n" } else { "" };
                let answer = format!("HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n{end}\r\nbig");
                peer.write(answer.as_bytes());
                if !closes {
                    Gate::new().wait_for(Duration::from_secs(1));
                }
            }
        });
        let mut config = to(server.address());
        let body = Template::literal(vec![b'x'; 8_000_000]);
        config.requests = Arc::new(Requests::one(get().method("POST").unwrap().body(body)));
        let seen = drive(&config, &closed(1, 20_000, Some(6)));
        assert_eq!(seen.counts().status, [(413, 6)], "{closes}: {:?}", seen.counts());
        assert_eq!(seen.sum(|interval| interval.opened), 6, "each closes its connection");
    }
}

#[test]
fn what_ends_too_early_is_a_reset() {
    for answer in [
        "H",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
    ] {
        bad(&ask("GET", answer.as_bytes(), true), ErrorKind::Reset);
    }
}

#[test]
fn a_reset_is_no_end_of_a_body() {
    let server = Server::tcp(|mut peer| {
        peer.request();
        peer.write(b"HTTP/1.1 200 OK\r\n\r\nuntil the end");
        peer.reset();
    });
    let seen = drive(&to(server.address()), &closed(2, 20_000, Some(6)));
    assert_eq!(seen.errors(ErrorKind::Reset), 6, "{:?}", seen.counts());
}

#[test]
fn long_bodies_are_counted_to_their_last_byte() {
    let body = vec![b'x'; 1_000_000];
    let known = [&b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"[..], &body].concat();
    let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunked = [head, &b"f4240\r\n"[..], &body, b"\r\n0\r\n\r\n"].concat();
    let small: Vec<u8> = body
        .chunks(3000)
        .flat_map(|chunk| [format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat())
        .collect();
    let small = [head, &small[..], b"0\r\n\r\n"].concat();
    let endless = [&b"HTTP/1.1 200 OK\r\n\r\n"[..], &body].concat();
    good(&ask("GET", &known, false), 200, known.len(), 2);
    good(&ask("GET", &chunked, false), 200, chunked.len(), 2);
    good(&ask("GET", &small, false), 200, small.len(), 2);
    good(&ask("GET", &endless, true), 200, endless.len(), 6);
}

#[test]
fn answers_in_pieces_at_every_byte() {
    let answer = "HTTP/1.1 100 Continue\r\n\r\n\
                  HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                  3\r\nabc\r\n0\r\n\r\n";
    for pacing in [Pacing::Precise, Pacing::Thrifty] {
        let server = Server::tcp(move |mut peer| {
            let mut at = 1;
            while peer.request().is_some() {
                let (first, second) = answer.as_bytes().split_at(at);
                // The client has read the first part by the time it is acknowledged.
                peer.write(first);
                std::thread::yield_now();
                peer.write(second);
                at = at % (answer.len() - 1) + 1;
            }
        });
        let mut config = to(server.address());
        config.pacing = pacing;
        let seen = drive(&config, &closed(1, 20_000, Some(answer.len() as u64)));
        assert_eq!(seen.counts().succeeded, answer.len() as u64, "{:?}", seen.counts());
        assert!(seen.samples.iter().all(|sample| sample.bytes == answer.len() as u64));
    }
}

#[test]
fn unasked_bytes_on_an_idle_connection_close_it_and_harm_nobody() {
    // A server that says good-bye to idle connections.
    let server = Server::tcp(|mut peer| {
        peer.serve(OK, 1);
        crate::server::Gate::new().wait_for(std::time::Duration::from_millis(20));
        peer.write(b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n");
    });
    let mut config = to(server.address());
    config.connections = (1, 1);
    let seen = drive(&config, &crate::drive::open(4.0, 1000));
    assert_eq!(seen.counts().succeeded, 4, "{:?}", seen.counts());
}

#[test]
fn placeholders_differ_from_request_to_request() {
    let asked: Arc<Mutex<Vec<u64>>> = Arc::default();
    let told = asked.clone();
    let server = Server::tcp(move |mut peer| {
        while let Some(request) = peer.request() {
            let text = String::from_utf8(request).unwrap();
            let number = text.rsplit("\r\n\r\n").next().unwrap().parse().unwrap();
            told.lock().unwrap().push(number);
            peer.write(OK);
        }
    });
    for threads in [1, 2] {
        asked.lock().unwrap().clear();
        let mut config = to(server.address());
        config.threads = threads;
        let template = Template::parse("{{counter}}").unwrap();
        config.requests = Arc::new(Requests::one(get().method("POST").unwrap().body(template)));
        let seen = drive(&config, &crate::drive::open(200.0, 100));
        assert_eq!(seen.counts().succeeded, 20);
        let mut numbers = asked.lock().unwrap().clone();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..20).collect::<Vec<u64>>());
    }
}
