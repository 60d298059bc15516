//! Answers against a look-up that is so simple that it is right.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use plimsoll_shoal::heartbeat::{Echo, Kind, Number, Upstream};
use plimsoll_shoal::order::{Looker, MOST, Menu, Pick, Question, nearest};
use plimsoll_shoal::registry::{Cache, Snapshot, State};
use plimsoll_workload::random::Stream;
use proptest::prelude::*;

use crate::members::{
    any, anywhere, beat, cache, may_be_served, question, rank, ranks, snapshot, squids,
};

const STATES: [State; 5] =
    [State::Unverified, State::Verified, State::Failing, State::Drained, State::Banned];
const MENUS: [Menu; 5] = [Menu::Squid, Menu::Cvmfs, Menu::Conditions, Menu::All, Menu::Varnish];
const CLOUDS: [&str; 2] = ["east", "west"];
/// One client of several is at one of these, as is one cache of several.
const CLIENTS: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2)];

/// Any cache: often one of a few places, sometimes nowhere, of any state, kind, cloud and load.
fn any_cache(number: u32, random: &mut Stream) -> Arc<Cache> {
    let mut beat = beat(number);
    beat.kind = any(random, &[Kind::Squid, Kind::Squid, Kind::Varnish]);
    beat.upstream = any(random, &[Upstream::Both, Upstream::Cvmfs, Upstream::Frontier]);
    beat.load = Number::Int(random.below(150_000));
    beat.max_load = any(random, &[None, None, Some(0.0), Some(1e5)])
        .map(|value| Echo { value, text: value.to_string().into() });
    beat.cloud = any(random, &[None, Some(CLOUDS[0]), Some(CLOUDS[1])]).map(Into::into);
    if random.below(40) == 0 {
        beat.external_ip = Some(IpAddr::V4(any(random, &CLIENTS)));
    }
    let place = match random.below(10) {
        0 => None,
        1..=4 => Some(any(random, &[(46.2, 6.1), (46.2, 7.1), (90.0, 0.0), (-36.8, 179.9)])),
        _ => Some(anywhere(random)),
    };
    let cache = cache(&beat, number, place);
    let states = if random.below(2) == 0 { &STATES[..2] } else { &STATES };
    cache.set_state(any(random, states));
    if random.below(5) == 0 {
        cache.end();
    }
    cache
}

fn any_question(random: &mut Stream) -> Question<'static> {
    let spot = match random.below(6) {
        0 => None,
        1 => Some((46.2, 6.1)),
        2 => Some((-36.8, -179.9)),
        _ => Some(anywhere(random)),
    };
    Question {
        client: IpAddr::V4(any(random, &CLIENTS)),
        count: any(random, &[0, 1, 2, 5, 20, 100, 1_000, usize::MAX]),
        menu: any(random, &MENUS),
        cloud: any(random, &[None, None, Some(CLOUDS[0]), Some("nowhere")]),
        verified_only: random.below(3) == 0,
        ..question(spot)
    }
}

fn any_snapshot(most: u64, random: &mut Stream) -> Snapshot {
    let count = u32::try_from(random.below(most)).unwrap();
    let caches = (0..count).map(|number| any_cache(number, random)).collect();
    snapshot(caches, usize::try_from(random.below(u64::from(count) + 1)).unwrap())
}

/// That picks are different, may be served, and say what is so of them.
fn check_each(picks: &[Pick<'_>], question: &Question<'_>) {
    let mut numbers: Vec<_> = picks.iter().map(|pick| pick.cache.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), picks.len(), "one cache twice");
    for Pick { cache, distance_km, local } in picks {
        assert!(may_be_served(cache, question), "{cache:?}");
        assert_eq!(*local, rank(cache, question).0 == -1);
        assert_eq!(distance_km.is_some(), question.spot.is_some() && cache.place().is_some());
    }
}

fn answered(picks: &[Pick<'_>], question: &Question<'_>) -> Vec<(i32, u8)> {
    picks.iter().map(|pick| rank(pick.cache, question)).collect()
}

proptest! {
    #[test]
    fn few_caches_come_in_the_exact_order(seed: u64) {
        let random = &mut Stream::named(seed, "few");
        let snapshot = any_snapshot(257, random);
        let (mut looker, mut picks) = (Looker::default(), Vec::new());
        for _ in 0..10 {
            let question = any_question(random);
            let mut expected = ranks(&snapshot, &question);
            expected.truncate(question.count.min(MOST));
            looker.nearest(&snapshot, &question, random, &mut picks);
            check_each(&picks, &question);
            prop_assert_eq!(answered(&picks, &question), expected);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Of many, the bands are exact: none is passed over while it has caches left. Within a band
    /// the classes ascend, and where it is taken whole they are exact too.
    #[test]
    fn many_caches_come_in_the_exact_order_of_bands(seed: u64) {
        let random = &mut Stream::named(seed, "many");
        let snapshot = any_snapshot(6_000, random);
        let (mut looker, mut picks) = (Looker::default(), Vec::new());
        for _ in 0..10 {
            let question = any_question(random);
            let mut expected = ranks(&snapshot, &question);
            let last = expected.get(question.count.min(MOST)).map_or(99, |rank| rank.0);
            expected.truncate(question.count.min(MOST));
            looker.nearest(&snapshot, &question, random, &mut picks);
            check_each(&picks, &question);
            let found = answered(&picks, &question);
            prop_assert!(found.is_sorted());
            let bands = |ranks: &[(i32, u8)]| ranks.iter().map(|rank| rank.0).collect::<Vec<_>>();
            prop_assert_eq!(bands(&found), bands(&expected));
            let whole = |ranks: Vec<(i32, u8)>| {
                ranks.into_iter().filter(|rank| rank.0 < last).collect::<Vec<_>>()
            };
            prop_assert_eq!(whole(found), whole(expected));
        }
    }
}

#[test]
fn equal_streams_and_histories_give_equal_answers() {
    let random = &mut Stream::named(8, "equal");
    let first = any_snapshot(3_000, random);
    let all: Vec<_> = first.base.caches.iter().chain(&first.joined).cloned().collect();
    let second = snapshot(all, first.base.caches.len());
    let mut looker = Looker::default();
    for _ in 0..100 {
        let question = any_question(random);
        let (mut one, mut other) = (Vec::new(), Vec::new());
        looker.nearest(&first, &question, &mut random.clone(), &mut one);
        nearest(&second, &question, &mut random.clone(), &mut other);
        let numbers = |picks: &[Pick<'_>]| picks.iter().map(|p| p.cache.number).collect::<Vec<_>>();
        assert_eq!(numbers(&one), numbers(&other));
    }
}

#[test]
fn the_few_that_may_be_served_are_found_among_many_that_may_not() {
    let random = &mut Stream::named(9, "few of many");
    let caches = squids((0..20_000).map(|_| anywhere(random)));
    for cache in caches.iter().step_by(7_000) {
        cache.set_state(State::Verified);
    }
    let snapshot = snapshot(caches, 15_000);
    let (mut looker, mut picks) = (Looker::default(), Vec::new());
    for spot in [Some((0.0, 0.0)), Some((80.0, -170.0)), None] {
        let question = Question { verified_only: true, ..question(spot) };
        looker.nearest(&snapshot, &question, random, &mut picks);
        check_each(&picks, &question);
        assert_eq!(answered(&picks, &question), ranks(&snapshot, &question));
        assert_eq!(picks.len(), 3);
    }
}

#[test]
fn those_that_died_are_passed_over_and_those_that_live_are_not() {
    let random = &mut Stream::named(10, "died");
    let caches = squids((0..10_000).map(|_| anywhere(random)));
    let snapshot = snapshot(caches.clone(), 9_000);
    let (mut looker, mut picks) = (Looker::default(), Vec::new());
    let mut living = caches;
    while !living.is_empty() {
        let question = Question { count: 30, ..question(Some(anywhere(random))) };
        looker.nearest(&snapshot, &question, random, &mut picks);
        check_each(&picks, &question);
        assert_eq!(picks.len(), living.len().min(30));
        let (ended, rest) = living.split_at(living.len().div_ceil(3));
        ended.iter().for_each(|cache| cache.end());
        living = rest.to_vec();
    }
    looker.nearest(&snapshot, &question(Some((1.0, 2.0))), random, &mut picks);
    assert!(picks.is_empty());
}

#[test]
fn coordinates_that_are_none_are_nowhere() {
    let random = &mut Stream::named(11, "nonsense");
    let nonsense = [(f64::NAN, 0.0), (0.0, f64::INFINITY), (91.0, 0.0), (1e300, 1e300)];
    let snapshot = snapshot(squids(nonsense.into_iter().chain([(0.0, 0.0)])), 5);
    let mut picks = Vec::new();
    for spot in nonsense.into_iter().chain([(45.0, 45.0)]) {
        nearest(&snapshot, &question(Some(spot)), random, &mut picks);
        assert_eq!(picks.len(), 5);
    }
    assert_eq!(picks[0].cache.number, 4, "what is somewhere is nearer than what is nowhere");
}
