//! Several threads: the whole is the sum of the shares, exactly.

use crate::drive::{MS, Seen, closed, drive, open, to};
use crate::server::{Gate, OK, Server};
use plimsoll_load::Times;
use plimsoll_load::run::Offer;
use plimsoll_runs::{ErrorKind, NameBooks, Phase, Tag};
use plimsoll_workload::arrivals::{Arrivals, DueTimes, Share};
use plimsoll_workload::request::{Order, Request, Requests, Url};
use plimsoll_workload::schedule::Schedule;
use std::sync::Arc;

fn dues(seen: &Seen) -> Vec<u64> {
    seen.by_due().iter().map(|sample| sample.due_ns).collect()
}

#[test]
fn the_union_of_due_times_is_the_whole() {
    let server = Server::plain();
    let schedule = Arc::new(Schedule::parse("100/s..400/s in 200ms, 300/s for 50ms").unwrap());
    for arrivals in Arrivals::ALL {
        for threads in [1, 3] {
            let mut config = to(server.address());
            config.threads = threads;
            config.connections = (6, 6);
            config.measured_from_ns = 100 * MS;
            let parts = vec![Times::Schedule(schedule.clone(), arrivals)];
            let seen = drive(&config, &Offer::Open { parts, limit: None });
            let mut whole = vec![0; 1000];
            let mut times = DueTimes::new(schedule.clone(), arrivals, config.seed, Share::WHOLE);
            let n = times.fill(&mut whole);
            assert!(n < whole.len());
            assert_eq!(dues(&seen), whole[..n], "{arrivals} by {threads}");
            assert_eq!(seen.samples.iter().filter(|one| one.error.is_none()).count(), n);
        }
    }
}

#[test]
fn a_limit_and_users_are_shared_out() {
    let server = Server::plain();
    let mut config = to(server.address());
    config.threads = 3;
    config.connections = (3, 3);
    let seen = drive(&config, &closed(7, 20_000, Some(100)));
    assert_eq!((seen.counts().offered, seen.counts().succeeded), (100, 100));
    // The first round is all users' at once.
    assert_eq!(dues(&seen).iter().filter(|due| **due == 0).count(), 7);
    // Threads without a user have no part of the limit.
    let seen = drive(&config, &closed(1, 20_000, Some(100)));
    assert_eq!((seen.counts().offered, seen.counts().succeeded), (100, 100));
}

/// The books of names are those of the samples ([`crate::books`]), also where requests are dropped
/// for want of a connection, which have their turn too.
#[test]
fn names_are_those_of_all_threads() {
    let server = Server::tcp(|mut peer| {
        while peer.request().is_some() {
            Gate::new().wait_for(std::time::Duration::from_millis(30));
            peer.write(OK);
        }
    });
    let list: Vec<Request> = (0..4)
        .map(|n| Request::new(Url::parse(&format!("http://test.example/{n}")).unwrap()))
        .collect();
    let mut config = to(server.address());
    config.requests = Arc::new(Requests { list, order: Order::RoundRobin });
    config.names = Some(Arc::new([0, 1, 0, 2]));
    config.threads = 2;
    config.max_waiting = Some(2);
    config.measured_from_ns = 100 * MS;
    let seen = drive(&config, &open(400.0, 600));
    assert!(seen.errors(ErrorKind::ClientSaturated) > 50, "{:?}", seen.counts());
    let mut books = NameBooks::default();
    seen.intervals.iter().for_each(|interval| books.add(&interval.named));
    let offered = |name: u16| books.get(name).unwrap().counters.offered;
    assert_eq!(offered(0) + offered(1) + offered(2), 200, "those that were due when measured");
    assert!(offered(0).abs_diff(100) <= 4, "every second one: {}", offered(0));
}

#[test]
fn the_session_ends_when_the_last_thread_does() {
    // One of two threads has an answer that takes longer than the schedule.
    let server = Server::tcp(|mut peer| {
        while peer.request().is_some() {
            if peer.index == 0 {
                Gate::new().wait_for(std::time::Duration::from_millis(700));
            }
            peer.write(OK);
        }
    });
    let mut config = to(server.address());
    config.threads = 2;
    let seen = drive(&config, &open(100.0, 200));
    assert_eq!(seen.counts().succeeded, 20);
    assert!(seen.ended.drain_ns >= 450 * MS, "{}", seen.ended.drain_ns);
    let length = seen.sum(|interval| interval.len_ns);
    assert_eq!(length, 200 * MS + seen.ended.drain_ns);
}

#[test]
fn waiting_while_another_thread_has_a_free_connection_is_our_own_lateness() {
    // Each thread has one connection. That of one of them is slow: half of the requests wait for
    // it, while the other thread's connection is free nearly always.
    let server = Server::tcp(|mut peer| {
        while peer.request().is_some() {
            if peer.index == 0 {
                Gate::new().wait_for(std::time::Duration::from_millis(100));
            }
            peer.write(OK);
        }
    });
    let offer = open(100.0, 300);
    let mut config = to(server.address());
    config.threads = 2;
    let phase = drive(&config, &offer).phase(Phase::Measured);
    assert_eq!(phase.counters.succeeded, 30);
    let late = phase.histogram(Tag::Lateness);
    assert!(late.count_above(150 * MS) >= 10, "{:?}", late.max());
    // One thread has both connections, and nobody else has any: what waits waits for the server.
    let slow = Server::tcp(|mut peer| {
        while peer.request().is_some() {
            Gate::new().wait_for(std::time::Duration::from_millis(100));
            peer.write(OK);
        }
    });
    let mut config = to(slow.address());
    config.threads = 1;
    let phase = drive(&config, &open(100.0, 150)).phase(Phase::Measured);
    assert!(phase.histogram(Tag::ConnectionWait).count_above(150 * MS) >= 8);
    let lateness = phase.histogram(Tag::Lateness).count_above(100 * MS);
    assert_eq!(lateness, 0);
}

#[test]
fn connections_that_the_server_has_closed_are_not_free_elsewhere() {
    // The first thread asks for what ends its connection, the second for what takes long: its
    // second request waits for the server, whatever lies about in the first thread.
    let server = Server::tcp(|mut peer| {
        while let Some(request) = peer.request() {
            let closes = request.starts_with(b"GET /close ");
            if !closes {
                Gate::new().wait_for(std::time::Duration::from_millis(400));
            }
            peer.write(OK);
            if closes {
                return;
            }
        }
    });
    let mut config = to(server.address());
    config.threads = 2;
    let url = |path: &str| Request::new(Url::parse(&format!("http://test{path}")).unwrap());
    let list = vec![url("/close"), url("/slow")];
    config.requests = Arc::new(Requests { list, order: Order::RoundRobin });
    // The last one keeps the first thread from ending before.
    config.sequence = Some(vec![0, 1, 0, 1, 0].into());
    let times: Vec<u64> = [20, 20, 100, 100, 1000].iter().map(|ms| ms * MS).collect();
    let parts = vec![Times::Listed(times.into())];
    let seen = drive(&config, &Offer::Open { parts, limit: None });
    let phase = seen.phase(Phase::Measured);
    assert_eq!(phase.counters.succeeded, 5);
    assert_eq!(phase.histogram(Tag::ConnectionWait).count_above(200 * MS), 1);
    assert_eq!(phase.histogram(Tag::Lateness).count_above(200 * MS), 0);
}
