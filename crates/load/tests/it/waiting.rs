//! Requests that wait for a connection: how many may, and that nobody waits who need not.

use crate::drive::{MS, closed, drive, get, open, to};
use crate::server::{Gate, OK, Server};
use plimsoll_load::Times;
use plimsoll_load::run::Offer;
use plimsoll_runs::ErrorKind;
use plimsoll_workload::request::{Order, Requests};
use std::sync::Arc;

/// Answers everything at once when `gate` is open.
fn gated(gate: &Arc<Gate>) -> Server {
    let gate = gate.clone();
    Server::tcp(move |mut peer| {
        while peer.request().is_some() {
            gate.wait();
            peer.write(OK);
        }
    })
}

pub(crate) fn listed(times_ms: &[u64]) -> Offer {
    let times: Vec<u64> = times_ms.iter().map(|ms| ms * MS).collect();
    Offer::Open { parts: vec![Times::Listed(times.into())], limit: None }
}

#[test]
fn who_finds_too_many_waiting_is_counted_as_client_saturated() {
    let gate = Gate::new();
    let server = gated(&gate);
    let mut config = to(server.address());
    config.max_waiting = Some(5);
    config.drain_ns = 0;
    let seen = drive(&config, &open(200.0, 200));
    gate.open();
    // Two are on their way, five wait until the end, the other 33 found five waiting.
    let counts = seen.counts();
    assert_eq!(counts.offered, 40);
    assert_eq!(counts.errors_of(ErrorKind::InFlightAtEnd), 2);
    assert_eq!(counts.errors_of(ErrorKind::Cut), 5);
    assert_eq!(counts.errors_of(ErrorKind::ClientSaturated), 33);
}

#[test]
fn who_finds_a_free_connection_does_not_wait() {
    // Thirty requests due at once, thirty free connections: nobody waits for one.
    let server = Server::plain();
    for max_waiting in [0, 3] {
        let mut config = to(server.address());
        config.connections = (30, 30);
        config.max_waiting = Some(max_waiting);
        let seen = drive(&config, &listed(&[100; 30]));
        assert_eq!(seen.counts().succeeded, 30, "{max_waiting}: {:?}", seen.counts());
    }
    // With eight more than there are connections, five are too many.
    let mut config = to(server.address());
    config.connections = (30, 30);
    config.max_waiting = Some(3);
    let seen = drive(&config, &listed(&[100; 38]));
    assert_eq!(seen.errors(ErrorKind::ClientSaturated), 5, "{:?}", seen.counts());
}

#[test]
fn who_may_open_a_connection_is_not_turned_away() {
    let server = Server::plain();
    let mut config = to(server.address());
    // As many as there are requests: a server that is held up for a moment turns nobody away.
    config.connections = (1, 30);
    config.connection_per_request = true;
    config.max_waiting = Some(0);
    let seen = drive(&config, &open(100.0, 300));
    assert_eq!(seen.counts().succeeded, 30, "{:?}", seen.counts());
}

#[test]
fn any_number_may_wait() {
    let gate = Gate::new();
    let server = gated(&gate);
    let mut config = to(server.address());
    config.samples = false;
    let opener = gate.clone();
    let offer = open(200_000.0, 500);
    let memory = || std::fs::read_to_string("/proc/self/statm").unwrap();
    let resident = |text: &str| text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096;
    config.drain_ns = 0;
    let before = resident(&memory());
    let seen = drive(&config, &offer);
    let after = resident(&memory());
    opener.open();
    let counts = seen.counts();
    assert_eq!(counts.offered, 100_000);
    assert_eq!(counts.errors_of(ErrorKind::Cut), 100_000 - 2);
    // Other tests of this process take memory as well; a queue of 100,000 due times of 8 bytes
    // and their bookkeeping would not be seen here, one of requests would be.
    assert!(after < before + 64 * 1024 * 1024, "{before} to {after} bytes");
}

#[test]
fn a_list_that_has_been_gone_through_leaves_nothing_behind() {
    // Ten due at once, five to be asked for, and connections that could be had for the asking.
    let server = Server::plain();
    let mut config = to(server.address());
    config.connections = (2, 50);
    config.requests = Arc::new(Requests { list: vec![get(); 5], order: Order::InOrder });
    let seen = drive(&config, &listed(&[100; 40]));
    assert_eq!((seen.counts().succeeded, seen.errors(ErrorKind::Cut)), (5, 35));
    assert!(server.accepted() <= 40, "{}", server.accepted());
    let closed_loop = drive(&config, &closed(3, 100, None));
    assert_eq!(closed_loop.counts().succeeded, 5);
}

#[test]
fn a_limit_holds_for_all_parts_together() {
    let server = Server::plain();
    for threads in [1, 2] {
        let mut config = to(server.address());
        config.threads = threads;
        config.measured_from_ns = 100 * MS;
        let part = crate::drive::times(100.0, 100);
        let offer = Offer::Open { parts: vec![part.clone(), part], limit: Some(15) };
        let seen = drive(&config, &offer);
        assert_eq!(seen.counts().offered, 5);
        assert_eq!(seen.samples.len(), 15);
    }
}
