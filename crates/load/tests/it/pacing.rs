//! Both ways to keep time.

use crate::drive::{MS, Output, drive, open, to};
use crate::server::{Gate, OK, Server};
use plimsoll_load::Pacing;
use std::time::Duration;

pub(crate) fn paced(pacing: Pacing, server: &Server, per_s: f64) -> Output {
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
