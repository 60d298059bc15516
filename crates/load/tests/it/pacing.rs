//! Both ways to keep time.

use crate::drive::{MS, Seen, drive, open, session, take, times, to};
use crate::server::{Gate, OK, Server};
use plimsoll_load::Pacing;
use plimsoll_runs::{Phase, Tag};
use std::time::Duration;

fn paced(pacing: Pacing, server: &Server, per_s: f64) -> Seen {
    let mut config = to(server.address());
    config.pacing = pacing;
    drive(&config, &open(per_s, 500))
}

#[test]
fn both_offer_the_same_and_send_nothing_early() {
    let server = Server::plain();
    for pacing in [Pacing::Precise, Pacing::Thrifty] {
        let seen = paced(pacing, &server, 200.0);
        assert_eq!(seen.counts().succeeded, 100, "{}", pacing.name());
        for (n, one) in seen.by_due().iter().enumerate() {
            assert_eq!(one.due_ns, n as u64 * 5 * MS);
            assert!(one.sent_ns >= one.due_ns);
        }
    }
}

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
    let mut seen = Seen::default();
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

#[test]
fn answers_in_parts_have_a_first_byte_before_the_last() {
    let server = Server::tcp(|mut peer| {
        while peer.request().is_some() {
            peer.write(&OK[..20]);
            Gate::new().wait_for(Duration::from_millis(20));
            peer.write(&OK[20..]);
        }
    });
    for pacing in [Pacing::Precise, Pacing::Thrifty] {
        let seen = paced(pacing, &server, 20.0);
        assert_eq!(seen.counts().succeeded, 10);
        let apart = seen.samples.iter().filter(|one| one.done_ns - one.first_byte_ns > 10 * MS);
        assert!(apart.count() >= 5, "{:?}", seen.samples);
    }
}
