//! When an agent does what, under an injected clock.

use plimsoll_shoal::agent::pace::{Act, FAILURES, Health, Pace, Sent};
use plimsoll_workload::random::Stream;
use proptest::prelude::*;

const S: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

fn pace(registries: usize) -> Pace {
    Pace::new(registries, 30 * S, 5 * S, Stream::named(7, "agent"))
}

/// A cache that answers and a network that is there, from `now` on: the heartbeats begun.
fn announced(pace: &mut Pace, now: u64) -> Vec<Act> {
    pace.network(now, true, false);
    assert_eq!(pace.acts(now), [Act::Probe]);
    assert_eq!(pace.probed(now, true), Some(Health::Alive));
    pace.acts(now)
}

/// Runs from one moment to another; every message is taken after 1 ms, every probe is `alive`.
fn times(pace: &mut Pace, from: u64, to: u64, alive: bool) -> Vec<(u64, Act)> {
    let (mut now, mut begun) = (from, Vec::new());
    while now < to {
        for act in pace.acts(now) {
            match act {
                Act::Probe => {
                    pace.probed(now, alive);
                }
                _ => {
                    begun.push((now, act));
                    pace.sent(now + MS, act, Sent::Taken);
                }
            }
        }
        now += pace.rest_ns(now).max(1);
    }
    begun
}

#[test]
fn the_first_heartbeat_waits_for_nothing_but_the_network_and_the_cache() {
    let mut pace = pace(1);
    assert_eq!(pace.acts(0), [Act::Probe]);
    pace.probed(MS, true);
    assert_eq!(pace.acts(MS), [], "no network");
    pace.network(40 * S, true, true);
    assert_eq!(pace.rest_ns(40 * S), 0);
    assert_eq!(pace.acts(40 * S), [Act::Probe, Act::Announce(0)]);
}

#[test]
fn a_cache_that_never_answers_is_never_announced() {
    let mut pace = pace(2);
    pace.network(0, true, true);
    assert_eq!(times(&mut pace, 0, 3600 * S, false), []);
    assert_eq!(pace.health(), Health::Dead);
}

#[test]
fn heartbeats_come_each_interval_within_a_tenth() {
    let mut pace = pace(1);
    pace.network(0, true, true);
    let begun: Vec<u64> =
        times(&mut pace, 0, 24 * 3600 * S, true).into_iter().map(|(at, _)| at).collect();
    let gaps: Vec<u64> = begun.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!((900 * MS..1101 * MS).contains(&gaps[0]), "the first load follows soon");
    // A glance each 100 ms; what is due is begun on time because the rest ends there.
    assert!(gaps[1..].iter().all(|gap| (27 * S..=33 * S + MS).contains(gap)));
    let (least, most) = (gaps[1..].iter().min().unwrap(), gaps[1..].iter().max().unwrap());
    assert!(*least < 28 * S && *most > 32 * S, "spread over the whole tenth");
    let mean = gaps[1..].iter().sum::<u64>() / (gaps.len() as u64 - 1);
    assert!((29_900 * MS..30_100 * MS).contains(&mean), "{mean}");
}

#[test]
fn two_bad_probes_in_a_row_are_a_goodbye_and_one_good_is_a_heartbeat() {
    let mut pace = pace(1);
    let act = announced(&mut pace, 0)[0];
    pace.sent(MS, act, Sent::Taken);
    assert_eq!(pace.probed(5 * S, false), None);
    assert_eq!(pace.probed(10 * S, true), None);
    assert_eq!(pace.probed(15 * S, false), None, "not in a row");
    let due_before = times(&mut pace, 15 * S, 15 * S + 1, true);
    assert!(due_before.iter().all(|(_, act)| matches!(act, Act::Announce(0))));
    assert_eq!(pace.probed(16 * S, false), None);
    assert_eq!(pace.probed(17 * S, false), Some(Health::Dead));
    assert_eq!(FAILURES, 2);
    assert_eq!(pace.acts(17 * S), [Act::Goodbye(0)]);
    pace.sent(17 * S, Act::Goodbye(0), Sent::Taken);
    assert_eq!(times(&mut pace, 17 * S, 600 * S, false), [], "said once");
    assert_eq!(pace.probed(600 * S, true), Some(Health::Alive));
    assert!(pace.acts(600 * S).contains(&Act::Announce(0)), "at once");
}

#[test]
fn a_goodbye_is_repeated_until_it_arrives_or_the_cache_is_forgotten_anyway() {
    let mut pace = pace(1);
    let act = announced(&mut pace, 0)[0];
    // The answer was lost: the registry may know the cache all the same.
    pace.sent(MS, act, Sent::Failed);
    pace.probed(S, false);
    pace.probed(2 * S, false);
    let (mut now, mut said) = (2 * S, Vec::new());
    while now < 3600 * S {
        for act in pace.acts(now) {
            match act {
                Act::Probe => drop(pace.probed(now, false)),
                _ => {
                    said.push(now);
                    pace.sent(now, act, Sent::Failed);
                }
            }
        }
        now += pace.rest_ns(now).max(1);
    }
    assert!(said.len() >= 5, "{said:?}");
    assert!(said.iter().all(|&at| at < (2 + 180) * S), "{said:?}");
}

#[test]
fn one_that_is_away_delays_no_other_and_is_tried_again_and_again() {
    let mut pace = pace(2);
    assert_eq!(announced(&mut pace, 0), [Act::Announce(0), Act::Announce(1)]);
    let (mut now, mut away, mut there) = (0, Vec::new(), Vec::new());
    // The first never comes back from its first message for 3 s each time.
    let mut returns: Option<u64> = Some(3 * S);
    pace.sent(0, Act::Announce(1), Sent::Taken);
    there.push(0);
    while now < 600 * S {
        if returns.is_some_and(|at| now >= at) {
            pace.sent(now, Act::Announce(0), Sent::Failed);
            returns = None;
        }
        for act in pace.acts(now) {
            match act {
                Act::Probe => drop(pace.probed(now, true)),
                Act::Announce(0) => {
                    away.push(now);
                    returns = Some(now + 3 * S);
                }
                act => {
                    there.push(now);
                    pace.sent(now, act, Sent::Taken);
                }
            }
        }
        let until = returns.map_or(u64::MAX, |at| at - now);
        now += pace.rest_ns(now).min(until).max(1);
    }
    assert!(there.windows(2).all(|pair| pair[1] - pair[0] <= 33 * S + MS), "{there:?}");
    let gaps: Vec<u64> = away.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // 3 s of waiting and then 2, 4, 8, 16, 30 s, each times 0.5 to 1.5.
    let bounds = [2, 4, 8, 16].into_iter().chain(std::iter::repeat(30)).map(|s| s * S);
    for (gap, pause) in gaps.iter().zip(bounds) {
        assert!((3 * S + pause / 2..=3 * S + pause * 3 / 2 + 100 * MS).contains(gap), "{gaps:?}");
    }
}

#[test]
fn a_network_that_returns_ends_every_back_off() {
    let mut pace = pace(1);
    let act = announced(&mut pace, 0)[0];
    pace.sent(MS, act, Sent::Failed);
    for attempt in 1..6 {
        let now = attempt * 100 * S;
        let acts = pace.acts(now);
        if acts.contains(&Act::Probe) {
            pace.probed(now, true);
        }
        pace.sent(now, Act::Announce(0), Sent::Failed);
    }
    pace.network(501 * S, false, true);
    assert_eq!(pace.acts(501 * S), []);
    pace.network(502 * S, true, true);
    assert_eq!(pace.acts(502 * S), [Act::Announce(0)]);
    // It changed again while that one was on its way, which then failed.
    pace.network(502 * S + 1, true, true);
    pace.sent(502 * S + 2, Act::Announce(0), Sent::Failed);
    assert_eq!(pace.acts(502 * S + 2), [Act::Announce(0)]);
}

#[test]
fn a_refusal_is_not_repeated_before_its_time() {
    let mut pace = pace(1);
    let act = announced(&mut pace, 0)[0];
    pace.sent(MS, act, Sent::Refused(None));
    let next = times(&mut pace, MS, 60 * S, true)[0].0;
    assert!((27 * S..=33 * S + MS).contains(&next), "{next}");
    pace.sent(60 * S, Act::Announce(0), Sent::Refused(Some(300 * S)));
    let next = times(&mut pace, 60 * S, 900 * S, true)[0].0;
    assert!(next > 300 * S, "{next}");
}

#[test]
fn the_end_is_a_goodbye_to_all_that_may_know_and_bounded() {
    let mut pace = pace(3);
    let acts = announced(&mut pace, 0);
    pace.sent(MS, acts[0], Sent::Taken);
    pace.sent(MS, acts[1], Sent::Taken);
    // The third is still on its way.
    pace.end(S);
    assert_eq!(pace.acts(S), [Act::Goodbye(0), Act::Goodbye(1)]);
    pace.sent(S, Act::Goodbye(0), Sent::Taken);
    pace.sent(S, Act::Goodbye(1), Sent::Refused(None));
    assert!(!pace.is_over(S));
    pace.sent(2 * S, acts[2], Sent::Taken);
    assert_eq!(pace.acts(2 * S), [Act::Goodbye(2)]);
    assert!(!pace.is_over(2 * S));
    let mut late = pace.clone();
    pace.sent(2 * S, Act::Goodbye(2), Sent::Taken);
    assert!(pace.is_over(2 * S));
    assert!(late.is_over(4 * S), "it does not wait for ever");
    assert_eq!(late.acts(60 * S), [], "no probe, no heartbeat after the end");
    let mut unknown = Pace::new(1, 30 * S, 5 * S, Stream::named(7, "agent"));
    unknown.end(0);
    assert!(unknown.is_over(0), "nobody knows it");
}

proptest! {
    /// Whatever happens in whatever order: nothing is begun twice at one registry, no heartbeat
    /// is begun for a cache that is dead or without a network, and it always ends.
    #[test]
    fn any_history_keeps_the_rules(steps in prop::collection::vec((0u8..9, 0u64..40), 1..300)) {
        let mut pace = pace(2);
        let (mut now, mut network) = (0, false);
        let mut flying: Vec<Act> = Vec::new();
        for (step, seconds) in steps {
            now += seconds * S / 4;
            match step {
                0 | 1 => {
                    network = step == 0;
                    pace.network(now, network, true);
                }
                2..=4 if !flying.is_empty() => {
                    let act = flying.remove(0);
                    let outcomes = [Sent::Taken, Sent::Failed, Sent::Refused(None)];
                    let sent = outcomes[usize::from(step) - 2];
                    if act == Act::Probe {
                        pace.probed(now, step == 2);
                    } else {
                        pace.sent(now, act, sent);
                    }
                }
                _ => {}
            }
            for act in pace.acts(now) {
                let index = |act: &Act| match act {
                    Act::Probe => None,
                    Act::Announce(index) | Act::Goodbye(index) => Some(*index),
                };
                prop_assert!(flying.iter().all(|other| index(other) != index(&act)));
                if matches!(act, Act::Announce(_)) {
                    prop_assert!(network && pace.health() == Health::Alive);
                }
                flying.push(act);
            }
        }
        pace.end(now);
        prop_assert!(pace.is_over(now + 3 * S));
    }
}
