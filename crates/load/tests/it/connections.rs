//! How many connections there are, and for what.

use crate::drive::{MS, Output, closed, drive, open, to};
use crate::server::{Gate, OK, Server};
use plimsoll_load::Times;
use plimsoll_load::run::Offer;
use plimsoll_runs::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[test]
fn a_connection_for_each_request() {
    let server = Server::plain();
    let mut config = to(server.address());
    config.connection_per_request = true;
    config.connections = (1, 4);
    let seen = drive(&config, &open(100.0, 200));
    assert_eq!(seen.counts().succeeded, 20);
    assert_eq!(server.accepted(), 20);
    let mut used: Vec<u32> = seen.samples.iter().map(|sample| sample.connection).collect();
    used.sort_unstable();
    used.dedup();
    assert_eq!(used.len(), 20, "serial numbers are unique");
}

#[test]
fn a_fixed_pool_is_all_open_from_the_start_and_stays() {
    let server = Server::plain();
    let mut config = to(server.address());
    config.connections = (5, 5);
    let seen = drive(&config, &open(100.0, 300));
    assert_eq!(seen.counts().succeeded, 30);
    assert_eq!(server.accepted(), 5);
    assert!(seen.intervals.iter().all(|interval| interval.connections == 5));
}

#[test]
fn a_pool_grows_only_when_none_is_free() {
    // One after the other: the first connection is free each time.
    let server = Server::plain();
    let mut config = to(server.address());
    config.connections = (1, 6);
    let seen = drive(&config, &closed(1, 20_000, Some(50)));
    assert_eq!(seen.counts().succeeded, 50);
    assert_eq!(server.accepted(), 1);
}

#[test]
fn a_pool_never_outgrows_its_bound() {
    let server = Server::tcp(|mut peer| {
        while peer.request().is_some() {
            Gate::new().wait_for(Duration::from_millis(30));
            peer.write(OK);
        }
    });
    for threads in [1, 2] {
        let before = server.accepted();
        let mut config = to(server.address());
        config.threads = threads;
        config.connections = (2, 6);
        let burst = Times::Listed(vec![50 * MS; 40].into());
        let seen = drive(&config, &Offer::Open { parts: vec![burst], limit: None });
        assert_eq!(seen.counts().succeeded, 40);
        assert_eq!(server.accepted() - before, 6);
        assert!(seen.intervals.iter().all(|interval| interval.connections <= 6));
    }
}

#[test]
fn an_idle_connection_that_the_server_closes_is_replaced_when_needed() {
    let server = Server::tcp(|mut peer| peer.serve(OK, 1));
    let config = to(server.address());
    let seen = drive(&config, &open(20.0, 500));
    assert_eq!(seen.counts().succeeded, 10, "{:?}", seen.counts());
    assert_eq!(server.accepted() as u64, seen.sum(|interval| interval.opened));
    assert!(server.accepted() >= 10, "each answers once");
}

/// Answers on the first `workers` connections that send something; the others wait for ever.
fn with_workers(workers: usize) -> Server {
    let busy = Arc::new(AtomicUsize::new(0));
    Server::tcp(move |mut peer| {
        let Some(_) = peer.request() else { return };
        if busy.fetch_add(1, Ordering::SeqCst) < workers {
            peer.write(OK);
            peer.serve(OK, usize::MAX);
        } else {
            let _ = peer.request();
        }
    })
}

fn used(seen: &Output) -> Vec<u32> {
    let mut used: Vec<u32> = seen.samples.iter().map(|sample| sample.connection).collect();
    used.sort_unstable();
    used.dedup();
    used
}

#[test]
fn requests_that_need_few_connections_use_few() {
    for least in [64, 1] {
        let server = with_workers(1);
        let mut config = to(server.address());
        config.connections = (least, 64);
        let seen = drive(&config, &closed(1, 20_000, Some(30)));
        assert_eq!(seen.counts().succeeded, 30, "{:?}", seen.counts());
        assert_eq!(used(&seen).len(), 1, "of {least}");
        assert!(seen.ended.warnings.is_empty(), "{:?}", seen.ended.warnings);
    }
}

#[test]
fn of_connections_never_used_the_one_opened_first_is_taken() {
    let server = Server::plain();
    let mut config = to(server.address());
    config.connections = (8, 8);
    let burst = Times::Listed(vec![50 * MS; 3].into());
    let seen = drive(&config, &Offer::Open { parts: vec![burst], limit: None });
    assert_eq!(used(&seen), [0, 1, 2]);
}

#[test]
fn connections_that_never_answered_are_told() {
    let server = with_workers(2);
    let mut config = to(server.address());
    config.connections = (6, 6);
    config.timeout_ns = 300 * MS;
    let burst = Times::Listed([vec![50 * MS; 5], vec![200 * MS; 2]].concat().into());
    let seen = drive(&config, &Offer::Open { parts: vec![burst], limit: None });
    let timeouts = seen.errors(ErrorKind::Timeout);
    assert!(timeouts >= 3 && seen.counts().succeeded == 7 - timeouts, "{:?}", seen.counts());
    let warning = seen.ended.warnings.join("");
    let told = format!("{timeouts} of {} connections never answered", server.accepted());
    assert!(warning.starts_with(&told), "{warning:?}, not {told:?}");
}

#[test]
fn the_peak_is_that_of_any_moment() {
    // Connections that come and go within a second, over two threads.
    let server = Server::tcp(|mut peer| {
        if peer.request().is_some() {
            Gate::new().wait_for(Duration::from_millis(100));
            peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
        }
    });
    let mut config = to(server.address());
    config.connection_per_request = true;
    config.connections = (2, 20);
    config.threads = 2;
    let burst = Times::Listed(vec![300 * MS; 10].into());
    let seen = drive(&config, &Offer::Open { parts: vec![burst], limit: None });
    assert_eq!(seen.counts().succeeded, 10);
    let peak = seen.intervals.iter().map(|interval| interval.connections).max();
    assert_eq!(peak, Some(10), "{}", server.accepted());
}
