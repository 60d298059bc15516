//! A few cases by hand; `model.rs` draws the rest.

use super::*;

fn open(max_waiting: Option<u64>) -> Source {
    let mut open = Open::new(1, Share { index: 0, of: 1 }, max_waiting, None);
    let schedule = Arc::new(Schedule::constant(1000.0, 1_000_000_000).unwrap());
    open.offer(0, &Times::Schedule(schedule, Arrivals::Even), 0);
    Source::Open(open)
}

fn count(source: &mut Source, now: u64) -> (u64, u64) {
    let (mut offered, mut dropped) = (0, 0);
    source.poll(
        now,
        || 0,
        |_, drop| {
            offered += 1;
            dropped += u64::from(drop);
        },
    );
    (offered, dropped)
}

#[test]
fn waiting_requests_start_in_order_with_their_own_due_times() {
    let mut source = open(None);
    assert_eq!(count(&mut source, 9_500_000), (10, 0));
    assert_eq!(source.next_due(), Some(10_000_000));
    for n in 0..10 {
        assert_eq!(source.oldest_waiting(), Some(n * 1_000_000));
        assert_eq!(source.take(), Some(Due { at: n * 1_000_000, user: 0 }));
    }
    assert_eq!(source.take(), None);
    assert_eq!(count(&mut source, u64::MAX), (990, 0));
    assert_eq!(source.next_due(), None);
    assert_eq!(source.waiting(), 990);
}

#[test]
fn who_finds_too_many_waiting_is_dropped_and_those_who_wait_stay() {
    let mut source = open(Some(3));
    assert_eq!(count(&mut source, 4_500_000), (5, 2));
    assert_eq!(source.take().unwrap().at, 0);
    assert_eq!(count(&mut source, 6_500_000), (2, 1));
    let rest: Vec<u64> = std::iter::from_fn(|| source.take()).map(|due| due.at).collect();
    assert_eq!(rest, [1_000_000, 2_000_000, 5_000_000]);
}

#[test]
fn a_new_segment_replaces_what_was_not_due_and_keeps_what_waits() {
    let mut source = open(None);
    assert_eq!(count(&mut source, 2_500_000), (3, 0));
    let Source::Open(inner) = &mut source else { unreachable!() };
    let slower = Arc::new(Schedule::constant(100.0, 1_000_000_000).unwrap());
    inner.offer(5_000_000, &Times::Schedule(slower, Arrivals::Even), 1);
    assert_eq!(count(&mut source, 15_500_000), (4, 0));
    let dues: Vec<u64> = std::iter::from_fn(|| source.take()).map(|due| due.at).collect();
    assert_eq!(dues, [0, 1_000_000, 2_000_000, 3_000_000, 4_000_000, 5_000_000, 15_000_000]);
    source.stop();
    assert_eq!(count(&mut source, u64::MAX), (0, 0));
}

#[test]
fn users_are_due_when_they_have_thought() {
    let think = Distribution::parse("const:2ms").unwrap();
    let random = Stream::named(1, "think");
    let mut source = Source::Closed(Closed::new(2, think, random, 10_000_000, None));
    assert_eq!(count(&mut source, 0), (0, 0));
    assert_eq!(source.next_due(), Some(2_000_000));
    assert_eq!(count(&mut source, 2_000_000), (2, 0));
    let due = source.take().unwrap();
    source.finished(due.user, 3_000_000);
    assert_eq!(source.next_due(), Some(5_000_000));
    source.finished(due.user, 9_000_000);
    assert_eq!(count(&mut source, 20_000_000), (1, 0));
}
