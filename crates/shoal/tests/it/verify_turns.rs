//! Who is asked when: by random courses of events, and in simulated hours of many caches.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use ipnet::IpNet;
use plimsoll_shoal::address::network24;
use plimsoll_shoal::heartbeat::{Echo, Heartbeat, Kind};
use plimsoll_shoal::registry::{Cache, State};
use plimsoll_shoal::verify::{
    Aim, Allowed, Finding, IN_FLIGHT, Joined, NotAllowed, Outcome, PORTS, Turns,
};
use plimsoll_workload::random::Stream;
use proptest::prelude::*;

use crate::members;

const SECOND: u64 = 1_000_000_000;
const EVERY: u64 = 30 * SECOND;

fn turns(seed: u64) -> Turns {
    let allowed = Allowed::new(Vec::new(), PORTS.to_vec()).unwrap();
    Turns::new(allowed, EVERY, Stream::named(seed, "turns"))
}

/// A Squid at an address and port.
fn cache(number: u32, address: u32, port: u16) -> Arc<Cache> {
    let beat = Heartbeat {
        public_ip: Some(IpAddr::V4(Ipv4Addr::from_bits(address))),
        port: Echo { value: port, text: port.to_string().into() },
        ..members::beat(number)
    };
    members::cache(&beat, number, None)
}

/// Addresses from 44.0.0.0 on, each in a network of its own.
fn apart(number: u32) -> Arc<Cache> {
    cache(number, 0x2c00_0000 + (number << 8), 3128)
}

/// Asks all whose turn it is.
fn asked(turns: &mut Turns, now_ns: u64) -> Vec<Aim> {
    std::iter::from_fn(|| turns.next(now_ns)).collect()
}

fn states(found: &Finding) {
    for cache in &found.caches {
        cache.set_state(if found.good { State::Verified } else { State::Failing });
    }
}

/// When each network was last asked; fails if that is less than an interval ago.
#[derive(Default)]
struct Spacing(BTreeMap<IpNet, u64>);

impl Spacing {
    fn note(&mut self, now_ns: u64, aim: Aim) {
        if let Some(before) = self.0.insert(network24(aim.address), now_ns) {
            assert!(now_ns - before >= EVERY, "{aim:?} after {} s", (now_ns - before) / SECOND);
        }
    }
}

#[test]
fn a_cache_is_asked_within_seconds_and_then_once_an_interval() {
    let mut turns = turns(1);
    let cache = apart(1);
    assert_eq!(turns.join(0, &cache), Joined::Waits);
    let (mut times, mut now_ns) = (Vec::new(), 0);
    while times.len() < 50 {
        for aim in asked(&mut turns, now_ns) {
            times.push(now_ns);
            turns.done(now_ns + SECOND, aim, Outcome::Good);
        }
        now_ns += SECOND / 10;
    }
    assert!(times[0] <= 2 * SECOND);
    let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| (EVERY..=EVERY * 6 / 5 + SECOND / 10).contains(gap)), "{gaps:?}");
    // With jitter: they differ.
    assert!(gaps.iter().max() > gaps.iter().min());
}

#[test]
fn what_may_not_be_asked_never_is() {
    let mut turns = turns(1);
    let port = cache(1, 0x2c00_0001, 22);
    assert_eq!(turns.join(0, &port), Joined::NotAllowed(NotAllowed::Port));
    let private = cache(2, 0x0a00_0001, 3128);
    assert_eq!(turns.join(0, &private), Joined::NotAllowed(NotAllowed::Address));
    let beat = Heartbeat { public_ip: None, ..members::beat(3) };
    let nowhere = members::cache(&beat, 3, None);
    assert_eq!(turns.join(0, &nowhere), Joined::NotAllowed(NotAllowed::Address));
    assert_eq!((turns.aims(), turns.next(1000 * SECOND)), (0, None));
}

/// Runs one aim alone through outcomes, one an interval; what was found after each.
fn course(turns: &mut Turns, outcomes: &[Outcome]) -> Vec<Option<bool>> {
    turns.join(0, &apart(1));
    let mut now_ns = 0;
    let mut answer = |outcome: &Outcome| {
        now_ns += 2 * EVERY;
        let aim = turns.next(now_ns).unwrap();
        turns.done(now_ns + SECOND, aim, *outcome).map(|found| found.good)
    };
    outcomes.iter().map(&mut answer).collect()
}

#[test]
fn two_failures_in_a_row_are_one_too_many_and_one_success_mends_them() {
    use Outcome::{Body, Gateway, Good, Refused, Silent};
    let (yes, no) = (Some(true), Some(false));
    let run = |outcomes: &[Outcome]| course(&mut turns(1), outcomes);
    assert_eq!(run(&[Good, Refused, Good, Body, Refused]), [yes, None, yes, None, no]);
    assert_eq!(run(&[Refused, Refused, Refused, Good, Body]), [None, no, no, yes, None]);
    // A lone cache behind which the object is away is not held to be dead: nobody delivers.
    assert_eq!(run(&[Good, Silent, Silent, Gateway, Silent]), [yes, None, None, None, None]);
    assert_eq!(run(&[Gateway, Silent, Refused, Good]), [None, None, no, yes]);
}

#[test]
fn silence_counts_where_others_deliver() {
    let mut turns = turns(1);
    let (silent, other) = (apart(1), apart(2));
    turns.join(0, &silent);
    turns.join(0, &other);
    let mut found = Vec::new();
    for round in 1..=4 {
        let now_ns = round * 2 * EVERY;
        for aim in asked(&mut turns, now_ns) {
            let is_silent = Some(aim.address) == silent.public_ip;
            let outcome = if is_silent { Outcome::Silent } else { Outcome::Good };
            if let Some(one) = turns.done(now_ns + SECOND, aim, outcome) {
                states(&one);
            }
        }
        found.push(silent.state());
    }
    assert_eq!(other.state(), State::Verified);
    // The other's answer may come before or after the first silence.
    assert_eq!(found[0], State::Unverified);
    assert_eq!(found[2..], [State::Failing, State::Failing]);
}

/// Caches in networks of their own that answer by what is asked of them, for so many rounds; the
/// states after each.
fn rounds(
    turns: &mut Turns,
    caches: &[Arc<Cache>],
    rounds: std::ops::Range<u64>,
    answers: impl Fn(usize, u64) -> Outcome,
) -> Vec<Vec<State>> {
    let states_now = |turns: &mut Turns, round: u64| {
        let now_ns = round * 2 * EVERY;
        for aim in asked(turns, now_ns) {
            let at = |cache: &Arc<Cache>| cache.public_ip == Some(aim.address);
            let number = caches.iter().position(at).unwrap();
            if let Some(found) = turns.done(now_ns + SECOND, aim, answers(number, round)) {
                states(&found);
            }
        }
        caches.iter().map(|cache| cache.state()).collect()
    };
    rounds.map(|round| states_now(turns, round)).collect()
}

const SUSPECT: [Outcome; 6] = [
    Outcome::Status,
    Outcome::Redirect,
    Outcome::Body,
    Outcome::Long,
    Outcome::Slow,
    Outcome::Closed,
];

#[test]
fn a_wrong_object_takes_no_cache_off_the_list() {
    for wrong in SUSPECT {
        let caches: Vec<_> = (1..=4).map(apart).collect();
        let mut turns = turns(1);
        caches.iter().for_each(|cache| {
            turns.join(0, cache);
        });
        rounds(&mut turns, &caches, 1..3, |_, _| Outcome::Good);
        let good = vec![State::Verified; 4];
        let states = rounds(&mut turns, &caches, 3..12, |_, _| wrong);
        assert!(states.iter().all(|now| *now == good), "{wrong:?}: {states:?}");
        assert_eq!(turns.suspicion(), Some((wrong, 4)));
        // It is mended, but not for one cache: that one is at fault.
        let one = |number, _| if number == 2 { wrong } else { Outcome::Good };
        let states = rounds(&mut turns, &caches, 12..16, one);
        let but_one = |now: &Vec<State>| now[2] == State::Failing && now[0] == State::Verified;
        assert!(but_one(states.last().unwrap()), "{wrong:?}: {states:?}");
        assert_eq!(turns.suspicion(), None);
    }
}

#[test]
fn a_wrong_answer_of_one_network_is_its_caches_own() {
    for wrong in SUSPECT {
        // All behind one /24: nobody else can tell.
        let caches: Vec<_> = (1..=2).map(|n| cache(n, 0x2c00_0000 + n, 3128)).collect();
        let mut turns = turns(1);
        caches.iter().for_each(|cache| {
            turns.join(0, cache);
        });
        let states = rounds(&mut turns, &caches, 1..8, |_, _| wrong);
        assert_eq!(*states.last().unwrap(), [State::Failing; 2], "{wrong:?}");
        // Others fail in other ways, and none delivers: after its third time it is its own.
        let caches: Vec<_> = (1..=2).map(apart).collect();
        let mut turns = turns_of(2, &caches);
        let other = |number, _| if number == 0 { wrong } else { Outcome::Refused };
        let states = rounds(&mut turns, &caches, 1..6, other);
        assert_eq!(states[1], [State::Unverified, State::Failing], "{wrong:?}");
        assert_eq!(*states.last().unwrap(), [State::Failing; 2], "{wrong:?}");
    }
}

fn turns_of(seed: u64, caches: &[Arc<Cache>]) -> Turns {
    let mut turns = turns(seed);
    caches.iter().for_each(|cache| {
        turns.join(0, cache);
    });
    turns
}

#[test]
fn of_many_in_a_network_three_turns_of_four_are_of_those_not_looked_at() {
    let caches: Vec<_> = (0..100).map(|n| cache(n, 0x2c00_0000 + n, 3128)).collect();
    let mut turns = turns_of(1, &caches);
    let mut fresh = std::collections::BTreeSet::new();
    for round in 1..=100 {
        for aim in asked(&mut turns, round * 2 * EVERY) {
            fresh.insert(aim.address);
            turns.done(round * 2 * EVERY, aim, Outcome::Good);
        }
    }
    assert!((75..=77).contains(&fresh.len()), "{}", fresh.len());
}

#[test]
fn what_is_known_of_an_address_and_port_holds_for_a_new_entry_there() {
    let mut turns = turns(1);
    let first = apart(1);
    turns.join(0, &first);
    let aim = turns.next(EVERY).unwrap();
    // It comes again under a new uuid while it is asked, and once more later.
    first.end();
    let again = apart(1);
    assert_eq!(turns.join(EVERY, &again), Joined::Waits);
    let found = turns.done(EVERY, aim, Outcome::Good).unwrap();
    assert!(found.good && found.caches.len() == 1 && Arc::ptr_eq(&found.caches[0], &again));
    assert_eq!(turns.join(EVERY, &apart(1)), Joined::Known(true));
    // A reverse proxy there is another matter, and asked when the network's turn comes.
    let beat = Heartbeat { kind: Kind::Varnish, public_ip: again.public_ip, ..members::beat(9) };
    assert_eq!(turns.join(EVERY, &members::cache(&beat, 9, None)), Joined::Waits);
    assert_eq!(turns.next(2 * EVERY - 1), None);
}

#[test]
fn one_that_leaves_and_comes_back_is_not_asked_more_often() {
    let (mut turns, mut spacing) = (turns(1), Spacing::default());
    let mut count = 0;
    for tick in 0..2000 {
        let now_ns = tick * SECOND / 4;
        let cache = apart(1);
        turns.join(now_ns, &cache);
        for aim in asked(&mut turns, now_ns) {
            spacing.note(now_ns, aim);
            count += 1;
            turns.done(now_ns, aim, Outcome::Refused);
        }
        cache.end();
        // Its turn comes while nobody is there, too.
        assert!(asked(&mut turns, now_ns).is_empty());
    }
    assert!((1..=17).contains(&count), "{count}");
}

#[test]
fn who_is_out_of_service_is_left_alone() {
    let mut turns = turns(1);
    let (drained, banned) = (apart(1), apart(2));
    drained.set_state(State::Drained);
    banned.set_state(State::Banned);
    turns.join(0, &drained);
    turns.join(0, &banned);
    for round in 0..100 {
        assert_eq!(turns.next(round * EVERY), None);
    }
    // Until the operator takes that back.
    drained.set_state(State::Unverified);
    let aims: Vec<Aim> = (100..103).filter_map(|round| turns.next(round * EVERY)).collect();
    assert_eq!(aims.len(), 1);
    assert_eq!(Some(aims[0].address), drained.public_ip);
}

#[test]
fn a_network_s_caches_take_turns_and_a_new_one_is_soon_looked_at() {
    let mut turns = turns(1);
    let caches: Vec<_> = (0..20).map(|n| cache(n, 0x2c00_0000 + n, 3128)).collect();
    for cache in &caches {
        turns.join(0, cache);
    }
    let mut now_ns = 0;
    let mut order = Vec::new();
    let mut ask = |turns: &mut Turns| {
        now_ns += 2 * EVERY;
        let asked = asked(turns, now_ns);
        assert_eq!(asked.len(), 1, "one of a network");
        order.push(asked[0].address);
        turns.done(now_ns, asked[0], Outcome::Good);
    };
    (0..60).for_each(|_| ask(&mut turns));
    let newcomer = cache(99, 0x2c00_00ff, 3128);
    turns.join(0, &newcomer);
    (0..2).for_each(|_| ask(&mut turns));
    let times = |one: &Arc<Cache>| {
        order[..60].iter().filter(|address| Some(**address) == one.public_ip).count()
    };
    // New ones and known ones by turns: nobody is left out while others are asked again and again.
    assert!(caches.iter().all(|one| (1..=20).contains(&times(one))));
    assert!(order[60..].contains(&newcomer.public_ip.unwrap()));
}

/// A network of answers: each takes its time, some never come.
fn simulate(turns: &mut Turns, caches: &[Arc<Cache>], seconds: u64, dead: fn(&Cache) -> bool) {
    let (mut spacing, mut way) = (Spacing::default(), Vec::<(u64, Aim)>::new());
    let by_address: BTreeMap<IpAddr, &Arc<Cache>> =
        caches.iter().map(|cache| (cache.public_ip.unwrap(), cache)).collect();
    for tick in 0..seconds * 20 {
        let now_ns = tick * SECOND / 20;
        let (over, still) = way.into_iter().partition(|(end_ns, _)| *end_ns <= now_ns);
        way = still;
        for (_, aim) in over {
            let outcome =
                if dead(by_address[&aim.address]) { Outcome::Silent } else { Outcome::Good };
            if let Some(found) = turns.done(now_ns, aim, outcome) {
                states(&found);
            }
        }
        for aim in asked(turns, now_ns) {
            spacing.note(now_ns, aim);
            let taken = if dead(by_address[&aim.address]) { 2 * SECOND } else { SECOND / 20 };
            way.push((now_ns + taken, aim));
        }
        assert!(way.len() <= IN_FLIGHT && way.len() == turns.in_flight());
    }
}

#[test]
fn a_hundred_thousand_caches_are_all_looked_at() {
    let caches: Vec<_> = (0..100_000).map(apart).collect();
    let mut turns = turns(1);
    for cache in &caches {
        turns.join(0, cache);
    }
    // Every hundredth is dead: 2 s of one of fifty places each.
    let dead = |cache: &Cache| cache.number.is_multiple_of(100);
    simulate(&mut turns, &caches, 400, dead);
    for cache in &caches {
        assert_eq!(cache.state() == State::Verified, !dead(cache), "{}", cache.number);
    }
}

#[test]
fn a_few_dead_among_the_living_are_found_and_newcomers_do_not_wait_for_the_many() {
    let caches: Vec<_> = (0..5000).map(apart).collect();
    let mut turns = turns(2);
    for cache in &caches[..4990] {
        turns.join(0, cache);
    }
    let dead = |cache: &Cache| cache.number.is_multiple_of(50);
    simulate(&mut turns, &caches, 120, dead);
    for cache in &caches[..4990] {
        let expected = if dead(cache) { State::Failing } else { State::Verified };
        assert_eq!(cache.state(), expected, "{}", cache.number);
    }
    // All others are overdue; those that join now are looked at with the next.
    let now_ns = 100_000 * SECOND;
    for cache in &caches[4990..] {
        turns.join(now_ns - 2 * SECOND, cache);
    }
    let first: Vec<Aim> = asked(&mut turns, now_ns);
    let new = first
        .iter()
        .filter(|aim| caches[4990..].iter().any(|cache| cache.public_ip == Some(aim.address)));
    assert_eq!((first.len() <= IN_FLIGHT, new.count()), (true, 10));
}

#[derive(Debug, Clone)]
enum Step {
    Join(u32, u16),
    End(prop::sample::Index),
    Decide(prop::sample::Index, bool),
    Pass(u64),
    Ask,
    Answer(prop::sample::Index, usize),
}

fn step() -> impl Strategy<Value = Step> {
    let port = prop::sample::select(PORTS.to_vec());
    prop_oneof![
        3 => (0..600_u32, port).prop_map(|(address, port)| Step::Join(address, port)),
        1 => any::<prop::sample::Index>().prop_map(Step::End),
        1 => (any::<prop::sample::Index>(), any::<bool>()).prop_map(|(i, d)| Step::Decide(i, d)),
        3 => (0..20 * SECOND).prop_map(Step::Pass),
        4 => Just(Step::Ask),
        4 => (any::<prop::sample::Index>(), 0..Outcome::ALL.len())
            .prop_map(|(index, outcome)| Step::Answer(index, outcome)),
    ]
}

proptest! {
    /// In any course of events: never more often than once an interval, never more than fifty at
    /// once, nobody who left or is out of service, and in the end everybody who is there.
    #[test]
    fn the_bounds_hold_in_any_course(steps in prop::collection::vec(step(), 1..300), seed: u64) {
        let (mut turns, mut spacing) = (turns(seed), Spacing::default());
        let (mut caches, mut way) = (Vec::<Arc<Cache>>::new(), Vec::new());
        let mut now_ns = 0;
        let is_at = |cache: &Cache, aim: Aim| {
            cache.public_ip == Some(aim.address) && cache.port == aim.port
        };
        for step in steps {
            match step {
                Step::Join(address, port) => {
                    let number = caches.len() as u32;
                    caches.push(cache(number, 0x2c00_0000 + address, port));
                    turns.join(now_ns, caches.last().unwrap());
                }
                Step::End(index) if !caches.is_empty() => index.get(&caches).end(),
                Step::Decide(index, drain) if !caches.is_empty() => {
                    let state = if drain { State::Drained } else { State::Unverified };
                    index.get(&caches).set_state(state);
                }
                Step::Pass(ns) => now_ns += ns,
                Step::Ask => for aim in asked(&mut turns, now_ns) {
                    spacing.note(now_ns, aim);
                    let there = caches.iter().any(|cache| {
                        is_at(cache, aim) && cache.alive() && !cache.state().is_operators()
                    });
                    prop_assert!(there, "{:?}", aim);
                    prop_assert!(!way.contains(&aim));
                    way.push(aim);
                },
                Step::Answer(index, outcome) if !way.is_empty() => {
                    let aim = way.swap_remove(index.index(way.len()));
                    let found = turns.done(now_ns, aim, Outcome::ALL[outcome]);
                    for cache in found.iter().flat_map(|found| &found.caches) {
                        prop_assert!(cache.alive() && is_at(cache, aim));
                    }
                }
                _ => {}
            }
            prop_assert!(way.len() <= IN_FLIGHT && way.len() == turns.in_flight());
        }
        let mut left: Vec<_> = caches
            .iter()
            .filter(|cache| cache.alive() && !cache.state().is_operators())
            .collect();
        for aim in way {
            turns.done(now_ns, aim, Outcome::Good);
        }
        for _ in 0..4 * caches.len() + 4 {
            now_ns += 2 * EVERY;
            for aim in asked(&mut turns, now_ns) {
                left.retain(|cache| !is_at(cache, aim));
                turns.done(now_ns, aim, Outcome::Good);
            }
        }
        prop_assert!(left.is_empty(), "{} never asked", left.len());
    }
}
