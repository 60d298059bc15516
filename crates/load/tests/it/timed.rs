//! Tests that hold upper bounds of time, which a busy machine breaks: they run with the machine to
//! themselves.

use crate::drive::{MS, Output, drive, open, session, take, times, to};
use crate::pacing::paced;
use crate::server::{Gate, OK, Server};
use crate::tls::Identity;
use crate::waiting::listed;
use plimsoll_load::run::Offer;
use plimsoll_load::{Pacing, Times};
use plimsoll_runs::{Phase, Tag};
use plimsoll_workload::request::{Order, Request, Requests, Url};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[test]
fn a_thrifty_thread_counts_from_when_the_kernel_saw_an_answer() {
    // Answers are there within microseconds, and read at the next tick: if the reading counted, the
    // median service would be half a millisecond at least, as every request is sent at a tick.
    let server = Server::plain();
    let seen = paced(Pacing::Thrifty, &server, 400.0);
    let services = seen.phase(Phase::Measured);
    let median = services.histogram(Tag::Service).value_at_quantile(0.5).unwrap();
    let precise = paced(Pacing::Precise, &server, 400.0).phase(Phase::Measured);
    let truth = precise.histogram(Tag::Service).value_at_quantile(0.5).unwrap();
    // On a machine that is busy elsewhere both are slow.
    assert!(median < 900_000 || median < 4 * truth, "{median} ns, by precise {truth} ns");
}

#[test]
fn a_thrifty_thread_that_has_nothing_to_do_hears_of_a_new_rate() {
    let server = Server::plain();
    let config = to(server.address());
    let mut session = session(&config);
    let mut seen = Output::default();
    let mut worst = Vec::new();
    for _ in 0..4 {
        take(&mut session, &mut seen, |_| true);
        let from = session.clock().now();
        session.offer(from, &times(1.0, 60_000));
        worst.push(from);
    }
    take(&mut session, &mut seen, |_| true);
    session.end_at(0);
    let seen = crate::drive::finish(session, seen, &config);
    let mut lateness: Vec<u64> = seen.by_due().iter().map(|one| one.sent_ns - one.due_ns).collect();
    lateness.sort_unstable();
    assert_eq!(lateness.len(), 4);
    // A nap of up to 50 ms must not come between: the best of four shows whether it does.
    assert!(lateness[0] < 20 * MS, "{lateness:?}");
}

const STALL_MS: u64 = 400;

/// A server that stalls: open-loop response times show it whole, service times only for those that
/// were on their way.
#[test]
fn response_times_grow_linearly_backwards_from_the_end_of_a_stall() {
    for pacing in [Pacing::Precise, Pacing::Thrifty] {
        // One stall for all connections: it begins with the twentieth request and then answers all.
        let (asked, gate) = (Arc::new(AtomicU64::new(0)), Gate::new());
        let server = Server::tcp(move |mut peer| {
            while peer.request().is_some() {
                let n = asked.fetch_add(1, Ordering::SeqCst);
                if n == 20 {
                    Gate::new().wait_for(Duration::from_millis(STALL_MS));
                    gate.open();
                } else if n > 20 {
                    gate.wait();
                }
                peer.write(OK);
            }
        });
        let mut config = to(server.address());
        config.connections = (4, 4);
        config.pacing = pacing;
        let seen = drive(&config, &open(100.0, 1000));
        assert_eq!(seen.counts().succeeded, 100);
        let samples = seen.by_due();
        // The stall ends when the first of those it held is answered.
        let held = &samples[20..24];
        let end = held.iter().map(|one| one.done_ns).min().unwrap();
        for (n, one) in samples.iter().enumerate().skip(20) {
            assert_eq!(one.due_ns, n as u64 * 10 * MS);
            if one.due_ns < end {
                // Due while it lasted: over when it was over, or a moment later.
                assert!(one.done_ns >= end, "{n}: {one:?}");
                let response = one.done_ns - one.due_ns;
                assert!(response >= end - one.due_ns);
            }
        }
        // Only four were on their way; the others were sent when it was over.
        let slow = |one: &&plimsoll_runs::Sample| one.done_ns - one.sent_ns > STALL_MS * MS / 2;
        let served_slowly: Vec<u64> = samples.iter().filter(slow).map(|one| one.due_ns).collect();
        assert!(served_slowly.len() <= 4, "{served_slowly:?}");
        let answered_slowly =
            samples.iter().filter(|one| one.done_ns - one.due_ns > STALL_MS * MS / 2).count();
        assert!(answered_slowly >= 18, "{answered_slowly}");
    }
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

#[test]
fn waiting_is_told_apart_from_lateness() {
    // One connection, 100 ms an answer, three at once: they wait 0, 100 and 200 ms for it.
    let server = Server::tcp(|mut peer| {
        while peer.request().is_some() {
            Gate::new().wait_for(Duration::from_millis(100));
            peer.write(OK);
        }
    });
    let mut config = to(server.address());
    config.connections = (1, 1);
    let seen = drive(&config, &listed(&[50; 3]));
    assert_eq!(seen.counts().succeeded, 3);
    let phase = seen.phase(plimsoll_runs::Phase::Measured);
    let wait = phase.histogram(Tag::ConnectionWait);
    assert_eq!(wait.count_above(90 * MS), 2);
    assert_eq!(wait.count_above(190 * MS), 1);
    assert_eq!(phase.histogram(Tag::Lateness).count_above(90 * MS), 0);
}

#[test]
fn an_attempt_that_failed_before_the_start_delays_none_after_it() {
    // One of two handshakes before the start takes long to fail: that was before time began.
    let identity = Identity::new();
    let own = Identity { server: identity.server.clone(), roots: identity.roots.clone() };
    let server = Server::tcp(move |peer| match peer.index {
        0 => own.accept(peer).serve(OK, 1),
        1 => drop(Gate::new().wait_for(Duration::from_millis(1500))),
        _ => own.accept(peer).serve(OK, usize::MAX),
    });
    let config = identity.config(server.address(), "localhost");
    let seen = drive(&config, &open(20.0, 200));
    assert_eq!(seen.counts().succeeded, 4);
    let slowest = seen.samples.iter().map(|one| one.done_ns - one.due_ns).max().unwrap();
    assert!(slowest < 1000 * MS, "{slowest}");
}
