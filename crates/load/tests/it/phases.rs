//! Warm-up and measured phase: a request belongs to the phase in which it was due.

use crate::drive::{MS, closed, drive, open, times, to};
use crate::server::{Gate, OK, Server};
use plimsoll_load::run::Offer;
use plimsoll_runs::{ErrorKind, Phase, Tag};
use std::time::Duration;

#[test]
fn phases_are_split_by_due_time_exactly() {
    let server = Server::plain();
    let mut config = to(server.address());
    config.measured_from_ns = 300 * MS;
    let parts = vec![times(50.0, 300), times(200.0, 400)];
    let seen = drive(&config, &Offer::Open { parts, limit: None });
    let (warm, measured) = (seen.phase(Phase::WarmUp), seen.phase(Phase::Measured));
    assert_eq!((warm.counters.offered, measured.counters.offered), (15, 80));
    assert_eq!((warm.counters.succeeded, measured.counters.succeeded), (15, 80));
    assert_eq!(measured.histogram(Tag::Response).count(), 80);
}

#[test]
fn the_last_answers_of_warm_up_belong_to_it_wherever_they_arrive() {
    // Everything due in the first 200 ms is answered at 450 ms at the earliest.
    let server = Server::tcp(|mut peer| {
        peer.request();
        Gate::new().wait_for(Duration::from_millis(450));
        peer.write(OK);
        peer.serve(OK, usize::MAX);
    });
    let mut config = to(server.address());
    config.measured_from_ns = 200 * MS;
    config.connections = (1, 1);
    let seen = drive(&config, &open(100.0, 400));
    let (warm, measured) = (seen.phase(Phase::WarmUp), seen.phase(Phase::Measured));
    assert_eq!((warm.counters.completed, measured.counters.completed), (20, 20));
    assert!(warm.histogram(Tag::Response).min().unwrap() > 200 * MS);
    let warm_late = seen.samples.iter().filter(|sample| sample.phase == Phase::WarmUp);
    assert!(warm_late.clone().all(|sample| sample.done_ns > 400 * MS));
}

#[test]
fn a_closed_loop_has_phases_too() {
    let server = Server::plain();
    let mut config = to(server.address());
    config.measured_from_ns = 100 * MS;
    let seen = drive(&config, &closed(2, 200, None));
    let (warm, measured) = (seen.phase(Phase::WarmUp), seen.phase(Phase::Measured));
    assert!(warm.counters.succeeded > 0 && measured.counters.succeeded > 0);
}

#[test]
fn what_was_cut_or_never_answered_stays_with_its_phase() {
    // Nothing is ever answered: one request in flight, the rest waits until the end.
    let gate = Gate::new();
    let shut = gate.clone();
    let server = Server::tcp(move |_peer| shut.wait());
    let mut config = to(server.address());
    config.measured_from_ns = 100 * MS;
    config.drain_ns = 0;
    let seen = drive(&config, &open(100.0, 300));
    gate.open();
    let (warm, measured) = (seen.phase(Phase::WarmUp), seen.phase(Phase::Measured));
    assert_eq!((warm.counters.offered, measured.counters.offered), (10, 20));
    assert_eq!(warm.counters.errors_of(ErrorKind::InFlightAtEnd), 2);
    assert_eq!(warm.counters.errors_of(ErrorKind::Cut), 8);
    assert_eq!(measured.counters.errors_of(ErrorKind::Cut), 20);
}
