//! Connections that the server has closed without a word.
//!
//! A server that is kept from its core between a request and its close has closed too late for the
//! race: tests count such a reset beside the requests that went again.

use crate::drive::{closed, drive, get, open, to};
use crate::server::{Gate, OK, Server};
use plimsoll_runs::ErrorKind;
use plimsoll_workload::request::{Requests, Template};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Answers `k` requests on each connection, reads one more, and closes.
fn closes_after(k: usize) -> Server {
    Server::tcp(move |mut peer| {
        peer.serve(OK, k);
        peer.request();
    })
}

#[test]
fn a_request_on_a_stale_connection_goes_again_once_and_keeps_its_due_time() {
    let server = closes_after(3);
    let seen = drive(&to(server.address()), &closed(2, 20_000, Some(60)));
    let counts = seen.counts();
    let (stale, resets) = (seen.sum(|interval| interval.stale), seen.errors(ErrorKind::Reset));
    assert_eq!((counts.offered, counts.succeeded), (60, 60 - resets), "{counts:?}");
    // Two connections: after every third answer of one comes a request in vain. Where the server
    // was kept from its core before it closed, that is a reset.
    assert!((14..=20).contains(&(stale + resets)) && stale > resets, "{stale} stale: {counts:?}");
    // The server has read each of them twice, the run counts it as sent once.
    assert_eq!(counts.sent, 60);
}

#[test]
fn an_open_loop_counts_a_second_sending_in_the_response_time() {
    let server = closes_after(1);
    let mut config = to(server.address());
    config.connections = (1, 1);
    let seen = drive(&config, &open(100.0, 300));
    let (stale, resets) = (seen.sum(|interval| interval.stale), seen.errors(ErrorKind::Reset));
    assert_eq!(seen.counts().succeeded, 30 - resets);
    assert!(stale > resets && stale + resets <= 29, "{stale} stale, {resets} resets");
    for (n, sample) in seen.by_due().iter().enumerate() {
        assert_eq!(sample.due_ns, n as u64 * 10_000_000);
    }
}

#[test]
fn a_body_goes_again_too() {
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let told = bodies.clone();
    let server = Server::tcp(move |mut peer| {
        for n in 0..2 {
            let Some(request) = peer.request() else { return };
            told.lock().unwrap().push(request);
            if n == 0 && !peer.write(OK) {
                return;
            }
        }
    });
    let mut config = to(server.address());
    config.connections = (1, 1);
    let put = get().method("PUT").unwrap().body(Template::parse("some body").unwrap());
    config.requests = Arc::new(Requests::one(put));
    let seen = drive(&config, &closed(1, 20_000, Some(10)));
    let (stale, resets) = (seen.sum(|interval| interval.stale), seen.errors(ErrorKind::Reset));
    assert_eq!(seen.counts().succeeded, 10 - resets);
    let bodies = bodies.lock().unwrap();
    assert_eq!(bodies.len() as u64, 10 + stale);
    assert!(stale > resets, "{stale} stale, {resets} resets");
    assert!(bodies.iter().all(|request| request.ends_with(b"\r\n\r\nsome body")));
}

#[test]
fn a_second_failure_is_a_reset() {
    // The first connection answers once and closes on the next request; all later ones close on
    // their first.
    let closes = || {
        Server::tcp(|mut peer| {
            if peer.index == 0 {
                peer.serve(OK, 1);
            }
            peer.request();
        })
    };
    let went_again = (0..5).any(|_| {
        let server = closes();
        let mut config = to(server.address());
        config.connections = (1, 1);
        let seen = drive(&config, &closed(1, 20_000, Some(2)));
        assert_eq!((seen.counts().succeeded, seen.errors(ErrorKind::Reset)), (1, 1));
        assert_eq!(server.accepted() as u64, 1 + seen.sum(|interval| interval.stale));
        server.accepted() == 2
    });
    assert!(went_again);
}

#[test]
fn a_fresh_connection_that_ends_before_an_answer_is_a_reset_at_once() {
    for by_reset in [false, true] {
        let requests = Arc::new(AtomicUsize::new(0));
        let count = requests.clone();
        let server = Server::tcp(move |mut peer| {
            if peer.request().is_some() {
                count.fetch_add(1, Ordering::SeqCst);
            }
            if by_reset {
                peer.reset();
            }
        });
        let seen = drive(&to(server.address()), &closed(1, 20_000, Some(5)));
        assert_eq!(seen.errors(ErrorKind::Reset), 5, "{:?}", seen.counts());
        assert_eq!(seen.sum(|interval| interval.stale), 0);
        assert_eq!(requests.load(Ordering::SeqCst), 5, "no request went twice");
    }
}

#[test]
fn once_a_byte_of_an_answer_has_come_there_is_no_second_sending() {
    let server = Server::tcp(|mut peer| {
        peer.serve(OK, 1);
        peer.request();
        peer.write(b"HTTP/1.1 200 OK\r\nContent-Len");
    });
    let mut config = to(server.address());
    config.connections = (1, 1);
    let seen = drive(&config, &closed(1, 20_000, Some(10)));
    let resets = seen.errors(ErrorKind::Reset);
    assert_eq!((seen.counts().succeeded, resets), (5, 5), "{:?}", seen.counts());
    assert_eq!(seen.sum(|interval| interval.stale), 0);
}

#[test]
fn a_connection_that_was_closed_while_idle_is_replaced_before_anything_is_sent_on_it() {
    // Head and body come apart, so that the connection is read a turn late; and a POST would not go
    // again.
    let server = Server::tcp(|mut peer| {
        if peer.request().is_some() {
            peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");
            Gate::new().wait_for(Duration::from_millis(3));
            peer.write(b"ok");
        }
    });
    let mut config = to(server.address());
    config.requests = Arc::new(Requests::one(get().method("POST").unwrap()));
    // Far enough apart that the server has closed one connection before the next request.
    let seen = drive(&config, &open(4.0, 2000));
    assert_eq!(seen.counts().succeeded, 8, "{:?}", seen.counts());
    assert_eq!(seen.sum(|interval| interval.stale), 0);
}
