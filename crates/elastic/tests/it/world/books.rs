//! Requests: offered is served, lost or in flight, by cause, in every setup.

use super::{Script, demand, law, played, setup};
use plimsoll_elastic::outcome::Outcome;
use plimsoll_elastic::simulated::engine::{Loss, Rules, SlowdownTable, TICK_NS};
use plimsoll_elastic::simulated::{Failures, Setup, run};
use plimsoll_workload::arrivals::Arrivals;
use plimsoll_workload::pool::{Choice, Ties};
use plimsoll_workload::service_model::ServiceTime;
use proptest::prelude::*;

const TICKS_PER_S: u64 = 1_000_000_000 / TICK_NS;

fn lost(of: &Outcome, why: Loss) -> u64 {
    of.lost[why as usize]
}

/// What holds of every outcome.
fn check(setup: &Setup, of: &Outcome) {
    assert_eq!(of.offered, of.served + of.lost() + of.in_flight);
    assert_eq!(of.response.count(), of.served);
    let per_tick = |figure: fn(&plimsoll_elastic::outcome::Tick) -> f64| -> f64 {
        let mut before_s = 0.0;
        let amount = |of: &plimsoll_elastic::outcome::Tick| {
            let seconds = of.at_s - std::mem::replace(&mut before_s, of.at_s);
            figure(of) * seconds
        };
        of.ticks.iter().map(amount).sum()
    };
    assert!((per_tick(|of| of.rate) - of.offered as f64).abs() < 1e-3, "ticks and total agree");
    assert!((per_tick(|of| of.served) - of.served as f64).abs() < 1e-3, "of what was served");
    assert!((per_tick(|of| of.lost) - of.lost() as f64).abs() < 1e-3, "and of what was lost");
    let ready_s = per_tick(|of| of.ready);
    assert!(ready_s >= 0.0 && of.ticks.iter().all(|of| (0.0..=100.0).contains(&of.cpu)));
    let at_places = || of.at_places.iter();
    assert_eq!(at_places().map(|of| of.served).sum::<u64>(), of.served, "places and total agree");
    // What drains is still at its place.
    assert!(
        at_places().map(plimsoll_elastic::outcome::AtPlace::ready_s).sum::<f64>() >= ready_s - 1e-3
    );
    assert!(at_places().all(|of| of.concurrency() >= 0.0 && (0.0..=100.0).contains(&of.cpu())));
    let mean_s = of.response_mean_s();
    if let (Some(min), Some(max)) = (of.response.min(), of.response.max()) {
        let range = min as f64 / 1e9 - 1e-12..=max as f64 / 1e9 + 1e-12;
        assert!(range.contains(&mean_s), "{mean_s} in {range:?}");
        for quantile in [0.01, 0.5, 0.99, 1.0] {
            assert!(range.contains(&of.quantile_s(quantile).unwrap()));
        }
        for tick in of.ticks.iter().filter(|of| of.served > 0.0) {
            assert!(range.contains(&tick.response_s) && range.contains(&tick.quantile_s));
        }
    }
    if let Some(elasticity) = of.elasticity {
        let shares = elasticity.under.timeshare + elasticity.over.timeshare;
        assert!(shares <= 1.0 + 1e-9, "{shares}");
    }
    let rules = &setup.rules;
    let has_queue = rules.queue_room > 0;
    assert!(has_queue || lost(of, Loss::QueueFull) + lost(of, Loss::QueueTimeout) == 0);
    assert!(!has_queue || lost(of, Loss::NoSlot) == 0);
    let has_always_one = setup.start > 0 && setup.failures.is_none();
    assert!(rules.limit.is_some() || !has_always_one || lost(of, Loss::NoSlot) == 0);
    assert!(rules.client_timeout < u64::MAX || lost(of, Loss::ClientTimeout) == 0);
    assert!(setup.failures.is_some() || lost(of, Loss::InstanceFailed) == 0);
    assert!((0.0..=100.0).contains(&of.cpu_mean));
    // No core works more than all the time.
    assert!((0.0..=1.0 + 1e-6).contains(&of.busy_mean), "{}", of.busy_mean);
    let bound_ns = (rules.client_timeout < u64::MAX).then(|| rules.client_timeout * TICK_NS);
    let greatest = of.response.max().unwrap_or(0);
    assert!(bound_ns.is_none_or(|bound_ns| greatest <= bound_ns + bound_ns / 500), "{greatest}");
}

fn choices() -> impl Strategy<Value = Choice> {
    prop::sample::select(vec![
        Choice::Fair(Ties::First),
        Choice::Fair(Ties::Next),
        Choice::Fair(Ties::Random),
        Choice::RoundRobin,
        Choice::Weighted,
        Choice::Random,
        Choice::TwoChoices,
    ])
}

prop_compose! {
    fn rules()(
        cores in 1u32..4,
        limit in prop::option::of(1u32..14),
        choice in choices(),
        queue_room in prop::sample::select(vec![0usize, 0, 5, 1000]),
        queue_s in prop::sample::select(vec![0u64, 1, 5]),
        client_s in prop::sample::select(vec![0u64, 0, 1]),
        is_slower in any::<bool>(),
        is_shared in any::<bool>(),
    ) -> Rules {
        let or_never = |seconds: u64| if seconds > 0 { seconds * TICKS_PER_S } else { u64::MAX };
        Rules {
            limit,
            choice,
            queue_room,
            queue_timeout: or_never(queue_s),
            client_timeout: or_never(client_s),
            slowdown: SlowdownTable::of(if is_slower { &[1.0, 1.0, 1.2] } else { &[] }),
            is_shared,
            ..Rules::new(cores)
        }
    }
}

/// Requests that come together.
const BURSTS: Arrivals = Arrivals::Burst { every_ns: 250_000_000 };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_request_is_in_the_books_once(
        rules in rules(),
        seed in 0u64..1000,
        rate in 5u32..200,
        says in prop::collection::vec(1u32..20, 1..12),
        fails in any::<bool>(),
        speed_variation in prop::sample::select(vec![0.0, 0.3]),
        bursts in any::<bool>(),
        arrivals in prop::sample::select(Arrivals::ALL.to_vec()),
    ) {
        let setup = Setup {
            rules,
            seed,
            arrivals: if bursts { BURSTS } else { arrivals },
            speed_variation,
            failures: fails.then_some(Failures { mttf_s: 40.0, mttr_s: 5.0 }),
            ..setup(&format!("{rate}/s for 1m, {}/s..1/s in 1m", 2 * rate))
        };
        check(&setup, &played(&setup, &says));
    }

    #[test]
    fn what_drains_loses_nothing(
        seed in 0u64..1000,
        says in prop::collection::vec(1u32..20, 1..12),
        choice in choices(),
        is_shared in any::<bool>(),
    ) {
        let rules = Rules { choice, is_shared, ..Rules::new(2) };
        // All that comes has time to be served.
        let setup = Setup { rules, seed, ..setup("100/s for 2m, 0/s for 8m") };
        let of = played(&setup, &says);
        check(&setup, &of);
        prop_assert_eq!((of.lost(), of.served), (0, of.offered));
    }
}

/// Requests as long as a minute, and a policy that goes up and down every ten seconds: what drains
/// keeps its place, so that there are many more than the most.
#[test]
fn there_is_room_for_all_that_drain() {
    for (limit, most) in [(Some(10), 20), (Some(10), 50), (None, 3)] {
        let rules = Rules { limit, ..Rules::new(2) };
        let service = ServiceTime::Law(law("const:1m"));
        let setup = Setup { rules, most, service, ..setup("20/s for 5m") };
        let of = played(&setup, &[most, 1].repeat(15));
        check(&setup, &of);
        assert!(of.decisions.iter().all(|of| of.to <= most));
        assert!(of.in_flight > 0, "requests as long as a minute are there at the end");
    }
}

/// What waits for an instance when the load ends is in flight, whether one is on its way or not.
#[test]
fn what_waits_at_the_end_is_in_flight() {
    let rules = Rules { queue_room: 50, ..Rules::new(2) };
    let setup = Setup { rules, start: 0, least: 0, most: 1, ..setup("10/s for 30s") };
    for says in [&[0][..], &[0, 1]] {
        let of = played(&setup, says);
        check(&setup, &of);
        assert_eq!((of.served, of.in_flight, of.bill.hours.to_bits()), (0, 50, 0));
        assert_eq!(of.lost(), lost(&of, Loss::QueueFull));
    }
}

/// A tick of many minutes changes nothing but the ticks.
#[test]
fn the_length_of_a_tick_does_not_change_what_happens() {
    let of = |tick_s: u64, rate: u32| {
        let load = format!("{rate}/s for 20m");
        let setup = Setup { tick_ns: tick_s * super::SECOND_NS, ..setup(&load) };
        let of = played(&setup, &[4]);
        check(&setup, &of);
        let buckets: Vec<_> = of.response.buckets().map(|of| (of.lowest, of.count)).collect();
        (of.offered, of.served, of.lost, of.response_sum_ns, buckets)
    };
    assert_eq!(of(10, 150), of(600, 150));
    assert_eq!(of(10, 1), of(1200, 1));
}

/// Beyond the bounds it goes to the bounds.
#[test]
fn the_script_is_followed() {
    let setup = setup("50/s for 2m");
    let mut policy = Script { says: vec![4, 6, 2, 30], ..Script::default() };
    let of = run(&setup, &demand(&setup), &mut policy, 0);
    let decided: Vec<(u64, u32, u32)> =
        of.decisions.iter().map(|of| (of.at_ns / super::SECOND_NS, of.from, of.to)).collect();
    assert_eq!(decided, [(20, 4, 6), (30, 6, 2), (40, 2, 20)]);
    assert_eq!((of.scale_out, of.scale_in), (2 + 18, 4));
    assert_eq!(policy.saw.len(), 11, "none at the end");
}

/// At a low load the first in the list of "fair" does most of the work, and the last almost none;
/// round robin gives all of them the same.
#[test]
fn the_use_of_single_instances_is_seen() {
    let fixed = |choice: Choice| {
        let rules = Rules { choice, ..setup("20/s for 10m").rules };
        played(&Setup { rules, start: 5, least: 5, most: 5, ..setup("20/s for 10m") }, &[5])
    };
    let served = |of: &Outcome| -> [u64; 5] {
        let mut served = [0; 5];
        of.at_places.iter().for_each(|of| served[of.slot] += of.served);
        served
    };
    let fair = served(&fixed(Choice::Fair(Ties::First)));
    assert!(fair.is_sorted_by(|one, next| one >= next) && fair[4] * 3 < fair[0], "{fair:?}");
    let turns = served(&fixed(Choice::RoundRobin));
    assert!(turns.iter().max().unwrap() - turns.iter().min().unwrap() <= 10, "{turns:?}");
}
