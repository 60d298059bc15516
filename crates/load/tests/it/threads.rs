//! Several threads: the whole is the sum of the shares, exactly.

use crate::drive::{MS, Output, closed, drive, open, to};
use crate::server::{Gate, OK, Server};
use plimsoll_load::Times;
use plimsoll_load::run::Offer;
use plimsoll_runs::{ErrorKind, NameBooks};
use plimsoll_workload::arrivals::{Arrivals, DueTimes, Share};
use plimsoll_workload::request::{Order, Request, Requests, Url};
use plimsoll_workload::schedule::Schedule;
use std::sync::Arc;

fn dues(seen: &Output) -> Vec<u64> {
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
