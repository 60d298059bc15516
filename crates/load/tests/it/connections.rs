//! How many connections there are, and for what.

use crate::drive::{MS, closed, drive, open, to};
use crate::server::{Gate, OK, Server};
use plimsoll_load::Times;
use plimsoll_load::run::Offer;
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
