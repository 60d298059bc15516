//! Money: what is charged, computed again from the lives of instances, and these from the
//! decisions.

use super::{SECOND_NS, law, played, prices, setup};
use plimsoll_elastic::billing::{Prices, Used};
use plimsoll_elastic::outcome::Outcome;
use plimsoll_elastic::simulated::{Boot, Failures, Setup};
use plimsoll_workload::arrivals::Arrivals;
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::pool::{BillingUnit, ChargeFrom, Termination};
use plimsoll_workload::service_model::ServiceTime;
use proptest::prelude::*;

/// Hours that are charged for lives: one unit after another, as they begin.
fn charged(of: &[Used], unit: BillingUnit, least_s: u64, from: ChargeFrom) -> f64 {
    let length_ns = match unit {
        BillingUnit::Hour => 3600 * SECOND_NS,
        BillingUnit::Minute => 60 * SECOND_NS,
        BillingUnit::Second => SECOND_NS,
    };
    let least = (least_s * SECOND_NS).div_ceil(length_ns);
    let mut units = 0;
    for life in of {
        let begins = match from {
            ChargeFrom::Launch => Some(life.launched_ns),
            ChargeFrom::Running => life.ready_ns,
        };
        let Some(mut at_ns) = begins else { continue };
        let mut of_life = 0;
        loop {
            of_life += 1;
            at_ns += length_ns;
            if at_ns >= life.ended_ns {
                break;
            }
        }
        units += of_life.max(least);
    }
    units as f64 * length_ns as f64 / (3600.0 * SECOND_NS as f64)
}

fn boot(boot: Distribution, configure: Distribution) -> Boot {
    Boot { boot, configure, slow_start: None }
}

fn units() -> impl Strategy<Value = BillingUnit> {
    prop::sample::select(vec![BillingUnit::Hour, BillingUnit::Minute, BillingUnit::Second])
}

fn terminations() -> impl Strategy<Value = Termination> {
    prop::sample::select(vec![
        Termination::ClosestToUnit,
        Termination::Oldest,
        Termination::Newest,
        Termination::Random,
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn what_is_begun_is_charged_once(
        seed in 0u64..1000,
        unit in units(),
        least_s in prop::sample::select(vec![0u64, 60, 5000]),
        is_from_launch in any::<bool>(),
        termination in terminations(),
        says in prop::collection::vec(1u32..12, 1..30),
        fails in any::<bool>(),
    ) {
        let from = if is_from_launch { ChargeFrom::Launch } else { ChargeFrom::Running };
        let setup = Setup {
            seed,
            termination,
            prices: Prices {
                balancer_per_hour: 0.5,
                per_request: 0.001,
                least_ns: least_s * SECOND_NS,
                ..prices(unit, from)
            },
            failures: fails.then_some(Failures { mttf_s: 2000.0, mttr_s: 100.0 }),
            boot: boot(law("uniform:30s..300s"), law("exp:20s")),
            tick_ns: 420 * SECOND_NS,
            ..setup("1/s for 200m")
        };
        let of = played(&setup, &says);
        let hours = charged(&of.instances, unit, least_s, from);
        prop_assert!((of.bill.hours - hours).abs() < 1e-6 * hours, "{} {hours}", of.bill.hours);
        let cost = hours + 0.5 * 200.0 / 60.0 + 0.001 * of.offered as f64;
        prop_assert!((of.bill.cost - cost).abs() < 1e-6 * cost);
        prop_assert!(of.bill.hours_used <= of.bill.hours + 1e-9);
        for life in &of.instances {
            prop_assert!(life.launched_ns <= life.ended_ns && life.ended_ns <= 12_000 * SECOND_NS);
            let lives = life.launched_ns..=life.ended_ns;
            prop_assert!(life.ready_ns.is_none_or(|at| lives.contains(&at)));
        }
        // As many as are alive at the end are wanted, but for those that a failure has taken.
        let launched = 4 + of.scale_out;
        prop_assert!(of.instances.len() as u64 >= launched);
        prop_assert!(fails || of.instances.len() as u64 == launched);
    }
}

/// The lives of instances without requests, worked out from a script alone: seconds launched,
/// ready, ended. Those that boot go first, the last of them; then the newest, or the oldest.
fn lives(says: &[u64], boot_s: u64, is_newest: bool, end_s: u64) -> Vec<(u64, u64, u64)> {
    let mut ended: Vec<(u64, u64, u64)> = Vec::new();
    let mut alive: Vec<(u64, u64)> = vec![(0, 0); 4];
    for (index, &says) in says.iter().enumerate() {
        let now_s = 420 * (index as u64 + 1);
        while (alive.len() as u64) < says {
            alive.push((now_s, now_s + boot_s));
        }
        while alive.len() as u64 > says {
            let booting = alive.iter().rposition(|(_, ready_s)| *ready_s > now_s);
            let last = alive.len() - 1;
            let place = booting.unwrap_or(if is_newest { last } else { 0 });
            let (launched_s, ready_s) = alive.remove(place);
            ended.push((launched_s, ready_s, now_s));
        }
    }
    ended.extend(alive.into_iter().map(|(launched_s, ready_s)| (launched_s, ready_s, end_s)));
    ended.sort_unstable();
    ended
}

fn found(of: &Outcome, boot_s: u64) -> Vec<(u64, u64, u64)> {
    let second = |ns: u64| ns / SECOND_NS;
    let of = of.instances.iter().map(|life| {
        let launched_s = second(life.launched_ns);
        // Where it never was: when it would have been.
        let ready_s = life.ready_ns.map_or(launched_s + boot_s, second);
        (launched_s, ready_s, second(life.ended_ns))
    });
    let mut all: Vec<_> = of.collect();
    all.sort_unstable();
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Nobody comes, so that what drains is gone at once.
    #[test]
    fn instances_live_as_decided(
        says in prop::collection::vec(1u64..12, 1..28),
        boot_s in prop::sample::select(vec![100u64, 500, 900]),
        is_newest in any::<bool>(),
    ) {
        let takes = Distribution::Constant { ns: boot_s * SECOND_NS };
        let setup = Setup {
            termination: if is_newest { Termination::Newest } else { Termination::Oldest },
            boot: boot(takes, Distribution::NONE),
            tick_ns: 420 * SECOND_NS,
            ..setup("0/s for 200m")
        };
        let script: Vec<u32> = says.iter().map(|says| u32::try_from(*says).unwrap()).collect();
        let of = played(&setup, &script);
        let lives = lives(&says, boot_s, is_newest, 12_000);
        prop_assert_eq!(found(&of, boot_s), lives.clone());
        let hours: u64 = lives
            .iter()
            .filter(|(_, ready_s, ended_s)| ready_s <= ended_s)
            .map(|(_, ready_s, ended_s)| (ended_s - ready_s).div_ceil(3600).max(1))
            .sum();
        prop_assert!((of.bill.hours - hours as f64).abs() < 1e-9, "{} {hours}", of.bill.hours);
    }
}

/// Five requests of a minute each, one a second, for two instances of two cores; after ten seconds
/// the first has to go. It has the first, third and fifth of them, and the last begins when the
/// first is done: so it ends after two minutes, and these are paid.
#[test]
fn what_drains_is_paid_until_it_has_finished() {
    let setup = Setup {
        arrivals: Arrivals::Even,
        service: ServiceTime::Law(law("const:1m")),
        start: 2,
        prices: prices(BillingUnit::Second, ChargeFrom::Running),
        ..setup("1/s for 5s, 0/s for 5m")
    };
    let of = played(&setup, &[1]);
    let ended: Vec<u64> = of.instances.iter().map(|of| of.ended_ns / SECOND_NS).collect();
    assert_eq!((ended, of.served), (vec![120, 305], 5));
    assert!((of.bill.hours - (120.0 + 305.0) / 3600.0).abs() < 1e-9, "{}", of.bill.hours);
}

/// Three instances that are ready at 0:00, 0:21 and 0:50; at 1:10 one has to go. The hour of the
/// second ends first, that of the third last.
#[test]
fn the_one_closest_to_its_next_hour_goes() {
    let setup = Setup {
        boot: boot(Distribution::NONE, Distribution::NONE),
        start: 1,
        tick_ns: 60 * SECOND_NS,
        ..setup("0/s for 2h")
    };
    let minutes = |minute: u32| match minute {
        0..21 => 1,
        21..50 => 2,
        50..70 => 3,
        _ => 2,
    };
    let says: Vec<u32> = (1..120).map(minutes).collect();
    let of = played(&setup, &says);
    let ended: Vec<u64> = of.instances.iter().map(|of| of.ended_ns / SECOND_NS / 60).collect();
    assert_eq!(ended, [120, 70, 120]);
    assert!((of.bill.hours - (2.0 + 1.0 + 2.0)).abs() < 1e-9, "{}", of.bill.hours);
}
