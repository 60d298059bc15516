//! The queue at the balancer, clients that give up and instances that fail, against a list of
//! requests that is gone through by hand: one instance of one core, every request looked at.

use plimsoll_elastic::simulated::engine::{Engine, Loss, ONE, Rules, Tally};
use plimsoll_workload::pool::Choice;
use plimsoll_workload::random::Stream;
use proptest::prelude::*;

fn rules(limit: u32) -> Rules {
    Rules { limit: Some(limit), ..Rules::new(1) }
}

fn engine(rules: &Rules, tally: &mut Tally) -> Engine {
    let mut engine = Engine::new(rules, Stream::named(1, "balancer"));
    engine.open(0, ONE, 0, tally);
    engine
}

/// Gaps and services as requests.
fn requests(of: &[(u64, u64)]) -> (Vec<u64>, Vec<u64>) {
    let mut now = 0;
    let due = of.iter().map(|&(gap, _)| {
        now += gap;
        now
    });
    (due.collect(), of.iter().map(|&(_, service)| service).collect())
}

/// What became of a request, and when: it was served in so long, or was lost to that.
type Fate = (u64, Result<u64, Loss>);

/// One core with `limit` places before which so many wait, so long; first come, first served. A
/// request enters when fewer than `limit` of those before it are still there.
fn by_hand(of: &(Vec<u64>, Vec<u64>), rules: &Rules) -> Vec<Fate> {
    let limit = rules.limit.unwrap_or(u32::MAX) as usize;
    let queue_patience = rules.queue_timeout.min(rules.client_timeout);
    // Of each accepted request: when it entered, when it left its place, when its service ended.
    let (mut left, mut done): (Vec<u64>, u64) = (Vec::new(), 0);
    // Those that wait at the balancer: when each of them will be gone from there.
    let mut gone: Vec<u64> = Vec::new();
    let mut fates = Vec::new();
    for (&due, &service) in of.0.iter().zip(&of.1) {
        // A place is free when all but limit − 1 of the accepted have left.
        let mut sorted = left.clone();
        sorted.sort_unstable();
        let free = sorted.len().checked_sub(limit).map_or(0, |place| sorted[place]);
        let enters = due.max(free);
        gone.retain(|&at| at > due);
        if enters > due && gone.len() >= rules.queue_room {
            let is_none = rules.queue_room == 0;
            fates.push((due, Err(if is_none { Loss::NoSlot } else { Loss::QueueFull })));
            continue;
        }
        if enters > due && enters - due >= queue_patience {
            gone.push(due + queue_patience);
            let is_queue = rules.queue_timeout <= rules.client_timeout;
            let why = if is_queue { Loss::QueueTimeout } else { Loss::ClientTimeout };
            fates.push((due + queue_patience, Err(why)));
            continue;
        }
        gone.push(enters);
        let start = enters.max(done);
        let gives_up = due.saturating_add(rules.client_timeout);
        if start >= gives_up {
            left.push(gives_up);
            fates.push((gives_up, Err(Loss::ClientTimeout)));
            continue;
        }
        done = start + service;
        left.push(done);
        let in_time = done - due <= rules.client_timeout;
        fates.push(match in_time {
            true => (done, Ok(done - due)),
            // The core goes on with it; the client has gone.
            false => (gives_up, Err(Loss::ClientTimeout)),
        });
    }
    fates
}

proptest! {
    #[test]
    fn each_request_fares_as_by_hand(
        of in prop::collection::vec((0u64..40, 1u64..60), 1..200),
        limit in 1u32..4,
        queue_room in 0usize..4,
        queue_timeout in prop_oneof![Just(u64::MAX), 1u64..200],
        client_timeout in prop_oneof![Just(u64::MAX), 1u64..300],
        block in 1usize..20,
        // Where instances can fail, requests are counted when they leave.
        can_fail in any::<bool>(),
    ) {
        let rules =
            Rules { queue_room, queue_timeout, client_timeout, can_fail, ..rules(limit) };
        let of = requests(&of);
        let fates = by_hand(&of, &rules);
        let mut tally = Tally::default();
        let mut engine = engine(&rules, &mut tally);
        for (due, service) in of.0.chunks(block).zip(of.1.chunks(block)) {
            let now = *due.last().unwrap();
            tally.until(now);
            engine.offer(due, service, &mut tally);
            engine.pass(now, &mut tally);
            engine.settle(now, &mut tally);
            let offered = usize::try_from(tally.offered).unwrap();
            check(&fates[..offered], &engine, &tally, now);
        }
        tally.until(1_000_000);
        engine.pass(1_000_000, &mut tally);
        prop_assert_eq!((engine.queued(), engine.present(0)), (0, 0));
        prop_assert_eq!(tally.offered, fates.len() as u64);
        check(&fates, &engine, &tally, 1_000_000);
    }
}

/// Whether what has been counted by a time is what has happened by then.
fn check(fates: &[Fate], engine: &Engine, tally: &Tally, now: u64) {
    let ended = || fates.iter().filter(|(at, _)| *at <= now);
    let responses: Vec<u64> = ended().filter_map(|(_, fate)| fate.ok()).collect();
    assert_eq!(tally.served, responses.len() as u64, "at {now}");
    assert_eq!(tally.sum, responses.iter().sum::<u64>());
    for why in Loss::ALL {
        let lost = ended().filter(|(_, fate)| *fate == Err(why)).count() as u64;
        assert_eq!(tally.lost[why as usize], lost, "{why:?} at {now}");
    }
    let mut in_flight = 0;
    engine.in_flight(tally, &mut |_| in_flight += 1);
    assert_eq!(tally.offered, tally.served + tally.lost.iter().sum::<u64>() + in_flight);
}

#[test]
fn what_waits_goes_to_an_instance_that_begins() {
    let rules = Rules { queue_room: 10, ..rules(1) };
    let mut tally = Tally::default();
    let mut engine = engine(&rules, &mut tally);
    engine.offer(&[0, 1, 2], &[1000, 10, 10], &mut tally);
    assert_eq!(engine.queued(), 2);
    engine.pass(100, &mut tally);
    engine.open(1, ONE, 100, &mut tally);
    assert_eq!((engine.queued(), engine.present(1)), (1, 1));
    engine.pass(200, &mut tally);
    assert_eq!((engine.queued(), engine.done_at(1)), (0, 120));
}

#[test]
fn an_instance_that_fails_loses_what_it_has() {
    for is_shared in [false, true] {
        let rules = Rules { can_fail: true, is_shared, ..Rules::new(1) };
        let mut tally = Tally::default();
        let mut engine = engine(&rules, &mut tally);
        engine.offer(&[0, 1, 2], &[10, 100, 100], &mut tally);
        engine.fail(0, 50, &mut tally);
        assert_eq!((tally.served, tally.lost[Loss::InstanceFailed as usize]), (1, 2));
        assert_eq!((engine.present(0), engine.worked(0, 50)), (0, 50), "it worked until then");
        engine.offer(&[60], &[10], &mut tally);
        assert_eq!(tally.lost[Loss::NoSlot as usize], 1, "no instance is there");
        engine.open(0, ONE, 70, &mut tally);
        engine.offer(&[80], &[10], &mut tally);
        engine.pass(100, &mut tally);
        assert_eq!((tally.served, tally.offered), (2, 5));
    }
}

#[test]
fn a_faster_instance_is_taken_more_often_by_weight() {
    let rules = Rules { choice: Choice::Weighted, ..Rules::new(1) };
    let mut tally = Tally::default();
    let mut engine = Engine::new(&rules, Stream::named(1, "balancer"));
    engine.open(0, ONE, 0, &mut tally);
    engine.open(1, ONE / 3, 0, &mut tally);
    engine.offer(&[0; 40], &[1_000_000; 40], &mut tally);
    assert_eq!((engine.present(0), engine.present(1)), (10, 30));
}
