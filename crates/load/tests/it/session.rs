//! A session: the rate changes without draining, what waits can be discarded, and every way to end.

use crate::drive::{MS, Output, closed, finish, open, session, take, times, to, watched};
use crate::server::{Gate, OK, Server};
use plimsoll_load::run::{Offer, Watch, Wish};
use plimsoll_load::session::Load;
use plimsoll_load::{SLICE_NS, Session, Times};
use plimsoll_runs::{ErrorKind, Interval};
use plimsoll_workload::distribution::Distribution;

fn due_between(seen: &Output, from: u64, to: u64) -> usize {
    seen.samples.iter().filter(|one| from <= one.due_ns && one.due_ns < to).count()
}

#[test]
fn rates_change_on_time_and_counts_are_those_of_the_schedules() {
    let server = Server::plain();
    let config = to(server.address());
    let mut session = session(&config);
    for (at, rate) in [(0, 100.0), (300, 400.0), (500, 20.0), (600, 1000.0)] {
        session.offer(at * MS, &times(rate, 10_000));
    }
    session.end_at(700 * MS);
    let seen = finish(session, Output::default(), &config);
    let counts = [(0, 300), (300, 500), (500, 600), (600, 700)]
        .map(|(from, to)| due_between(&seen, from * MS, to * MS));
    assert_eq!(counts, [30, 80, 2, 100]);
    assert_eq!(seen.counts().succeeded, 212, "the end stops what was offered for longer");
    assert_eq!(server.accepted(), 2, "connections stay as they are");
}

#[test]
fn a_rate_that_holds_from_now_on_loses_nothing_and_sends_nothing_early() {
    // "Now" has passed by the time the thread hears of it: what was counted by then stays so.
    let gate = Gate::new();
    let shut = gate.clone();
    let server = Server::tcp(move |mut peer| {
        while peer.request().is_some() {
            shut.wait();
            peer.write(OK);
        }
    });
    let config = to(server.address());
    let mut session = session(&config);
    session.offer(0, &times(2000.0, 60_000));
    let mut seen = Output::default();
    for _ in 0..4 {
        take(&mut session, &mut seen, |_| true);
        // Twenty milliseconds ago, as a slow caller would say it.
        let now = session.clock().now() - 20 * MS;
        session.offer(now, &times(2000.0, 60_000));
    }
    let now = session.clock().now();
    session.end_at(now);
    gate.open();
    let seen = finish(session, seen, &config);
    assert_eq!(seen.counts().succeeded, seen.counts().offered, "{:?}", seen.counts());
    assert!(seen.samples.iter().all(|one| one.due_ns <= one.sent_ns));
}

#[test]
fn slices_are_of_250_ms_and_have_no_gaps() {
    let server = Server::plain();
    for threads in [1, 2] {
        let mut config = to(server.address());
        config.threads = threads;
        let mut session = session(&config);
        session.offer(0, &times(100.0, 900));
        session.end_at(900 * MS);
        let seen = finish(session, Output::default(), &config);
        let (last, whole) = seen.intervals.split_last().unwrap();
        assert!(whole.iter().all(|slice| slice.len_ns == SLICE_NS));
        assert!(whole.len() >= 3 && last.start_ns == whole.len() as u64 * SLICE_NS);
    }
}

#[test]
fn what_waits_can_be_discarded_and_the_rest_goes_on() {
    let gate = Gate::new();
    let shut = gate.clone();
    let server = Server::tcp(move |mut peer| {
        while peer.request().is_some() {
            shut.wait();
            peer.write(OK);
        }
    });
    let config = to(server.address());
    let mut session = session(&config);
    session.offer(0, &times(100.0, 300));
    let mut seen = Output::default();
    take(&mut session, &mut seen, |slice| slice.interval.waiting == 28);
    session.discard_waiting();
    take(&mut session, &mut seen, |slice| slice.interval.waiting == 0);
    gate.open();
    let from = session.clock().now() + 50 * MS;
    session.offer(from, &times(100.0, 100));
    session.end_at(from + 100 * MS);
    let seen = finish(session, seen, &config);
    let counts = seen.counts();
    assert_eq!((counts.offered, counts.succeeded), (40, 12), "{counts:?}");
    assert_eq!(counts.errors_of(ErrorKind::Cut), 28);
}

#[test]
fn users_whose_request_was_discarded_ask_again() {
    let gate = Gate::new();
    let shut = gate.clone();
    let server = Server::tcp(move |mut peer| {
        while peer.request().is_some() {
            shut.wait();
            peer.write(OK);
        }
    });
    let mut config = to(server.address());
    config.samples = false;
    let think = Distribution::parse("const:20ms").unwrap();
    let load = Load::Closed { users: 10, think, end_ns: u64::MAX, limit: None };
    let mut session = Session::start(&config, &load).unwrap();
    let mut seen = Output::default();
    take(&mut session, &mut seen, |slice| slice.interval.waiting == 8);
    session.discard_waiting();
    let cut = |seen: &Output| seen.errors(ErrorKind::Cut);
    while cut(&seen) < 8 {
        take(&mut session, &mut seen, |_| true);
    }
    take(&mut session, &mut seen, |slice| slice.interval.waiting == 8);
    gate.open();
    session.stop();
    let seen = finish(session, seen, &config);
    assert_eq!(seen.counts().offered, seen.counts().succeeded + cut(&seen));
}

struct At(u64, Wish);
impl Watch for At {
    fn watch(&mut self, second: &Interval, _: bool) -> Wish {
        let end = second.start_ns + second.len_ns;
        if end >= self.0 { self.1 } else { Wish::Continue }
    }
}

#[test]
fn a_stop_offers_no_more_and_finishes_what_is_in_flight() {
    let server = Server::tcp(|mut peer| {
        while peer.request().is_some() {
            Gate::new().wait_for(std::time::Duration::from_millis(50));
            peer.write(OK);
        }
    });
    for offer in [open(200.0, 60_000), closed(5, 60_000, None)] {
        let config = to(server.address());
        let seen = watched(&config, &offer, &mut At(250 * MS, Wish::Stop));
        let counts = seen.counts();
        assert!(seen.ended.stopped);
        assert_eq!(counts.errors_of(ErrorKind::InFlightAtEnd), 0);
        assert_eq!(counts.offered, counts.succeeded + counts.errors_of(ErrorKind::Cut));
        let kinds: Vec<&str> = seen.events.iter().map(|event| event.kind.as_str()).collect();
        assert_eq!(kinds, ["started", "stopping"]);
    }
}

#[test]
fn an_end_that_is_asked_for_is_that_of_the_time() {
    let server = Server::plain();
    for offer in [open(200.0, 60_000), closed(5, 60_000, None)] {
        let config = to(server.address());
        let seen = watched(&config, &offer, &mut At(250 * MS, Wish::End));
        let (counts, ended) = (seen.counts(), &seen.ended);
        assert!(ended.asked && !ended.stopped, "{ended:?}");
        assert!(ended.offered_ns > 0 && ended.offered_ns.is_multiple_of(1000 * MS), "{ended:?}");
        if let Offer::Open { .. } = offer {
            assert_eq!(counts.offered, ended.offered_ns / (5 * MS), "{ended:?}");
        }
        assert_eq!(counts.errors_of(ErrorKind::InFlightAtEnd), 0);
        assert_eq!(counts.offered, counts.succeeded, "all that was due was sent and answered");
        let kinds: Vec<&str> = seen.events.iter().map(|event| event.kind.as_str()).collect();
        assert_eq!(kinds, ["started", "asked"]);
    }
}

#[test]
fn a_time_that_is_over_anyhow_is_not_ended_earlier() {
    let server = Server::plain();
    let config = to(server.address());
    let seen = watched(&config, &open(200.0, 1000), &mut At(0, Wish::End));
    assert!(!seen.ended.asked && !seen.ended.stopped, "{:?}", seen.ended);
    assert_eq!((seen.counts().offered, seen.ended.offered_ns), (200, 1000 * MS));
}

#[test]
fn a_stop_wins_over_an_end() {
    let server = Server::plain();
    struct Both(bool);
    impl Watch for Both {
        fn watch(&mut self, _: &Interval, _: bool) -> Wish {
            if std::mem::replace(&mut self.0, true) { Wish::Stop } else { Wish::End }
        }
    }
    let seen = watched(&to(server.address()), &open(200.0, 60_000), &mut Both(false));
    assert!(seen.ended.stopped, "{:?}", seen.ended);
    let kinds: Vec<&str> = seen.events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["started", "asked", "stopping"]);
}

#[test]
fn an_abort_ends_at_once() {
    let gate = Gate::new();
    let shut = gate.clone();
    let server = Server::tcp(move |_peer| shut.wait());
    let config = to(server.address());
    let seen = watched(&config, &open(100.0, 60_000), &mut At(250 * MS, Wish::Abort));
    gate.open();
    let counts = seen.counts();
    assert_eq!(counts.errors_of(ErrorKind::InFlightAtEnd), 2);
    assert_eq!(counts.errors_of(ErrorKind::Cut), counts.offered - 2);
}

#[test]
fn the_drain_has_an_end() {
    let gate = Gate::new();
    let shut = gate.clone();
    let server = Server::tcp(move |_peer| shut.wait());
    let mut config = to(server.address());
    config.drain_ns = 200 * MS;
    let seen = crate::drive::drive(&config, &open(100.0, 100));
    gate.open();
    assert_eq!(seen.errors(ErrorKind::InFlightAtEnd), 2);
    assert_eq!(seen.errors(ErrorKind::Cut), 8);
    assert!(seen.ended.drain_ns >= 200 * MS);
}

#[test]
fn listed_times_are_kept_to_the_nanosecond() {
    let server = Server::plain();
    let config = to(server.address());
    let listed: Vec<u64> = vec![0, 1, 1, 50 * MS + 3, 120 * MS, 120 * MS];
    let parts = vec![Times::Listed(listed.clone().into()), times(100.0, 50)];
    let seen = crate::drive::drive(&config, &Offer::Open { parts, limit: None });
    let mut expected = listed;
    expected.extend((0..5).map(|n| 120 * MS + 1 + n * 10 * MS));
    let dues: Vec<u64> = seen.by_due().iter().map(|one| one.due_ns).collect();
    assert_eq!(dues, expected);
}
