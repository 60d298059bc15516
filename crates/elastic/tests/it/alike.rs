//! Whole simulations say the same whichever path their engine takes, and on however many threads.

use crate::world::replicate;
use plimsoll_elastic::billing::Prices;
use plimsoll_elastic::demand::Demand;
use plimsoll_elastic::outcome::Outcome;
use plimsoll_elastic::policy::{Facts, Maker, kind};
use plimsoll_elastic::simulated::engine::Rules;
use plimsoll_elastic::simulated::{Boot, Setup, SlowStart, run};
use plimsoll_stats::Slo;
use plimsoll_workload::arrivals::Arrivals;
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::pool::{BillingUnit, ChargeFrom, Termination};
use plimsoll_workload::schedule::Schedule;
use plimsoll_workload::service_model::ServiceTime;
use std::sync::Arc;

const SECOND_NS: u64 = 1_000_000_000;

fn facts() -> Facts {
    Facts {
        cores: 2,
        limit: Some(10),
        service_s: 0.07,
        service_points_s: vec![0.07; 10].into(),
        income: 0.0,
        price_per_hour: 0.1,
        slo: None,
        boot_s: 30.0,
        start: None,
        future: None,
    }
}

fn prices() -> Prices {
    Prices {
        speed: 1.0,
        unit: BillingUnit::Minute,
        least_ns: 0,
        from: ChargeFrom::Running,
        per_hour: 0.1,
        per_request: 0.0,
        per_gb: 0.0,
        answer_bytes: 0.0,
        balancer_per_hour: 0.0,
        balancer_per_gb: 0.0,
        income_per_request: 0.0,
    }
}

/// Half an hour up to 300/s and down again, with instances of different speeds that begin slowly.
fn setup() -> Setup {
    let schedule = Schedule::parse("20/s..300/s in 15m, 300/s..20/s in 15m").unwrap();
    let schedule = Arc::new(schedule);
    let constant = |seconds: u64| Distribution::Constant { ns: seconds * SECOND_NS };
    Setup {
        seed: 7,
        load: Arc::new(move |_| schedule.clone()),
        arrivals: Arrivals::Poisson,
        service: ServiceTime::Law(Distribution::Exponential { mean_ns: 70_000_000 }),
        cpu_s: 0.07,
        rules: Rules { limit: Some(10), ..Rules::new(2) },
        speed_variation: 0.2,
        boot: Boot {
            boot: constant(30),
            configure: Distribution::NONE,
            slow_start: Some(SlowStart { factor: 3.0, for_ns: 45_500_000_000 }),
        },
        failures: None,
        start: 2,
        least: 1,
        most: 30,
        prices: prices(),
        termination: Termination::Newest,
        slo: Some(Slo::parse("p90<200ms").unwrap()),
        tick_ns: 10 * SECOND_NS,
        delay_ns: 0,
        noise: 0.0,
        has_connections: false,
        of_day_s: 0.0,
    }
}

fn policy(pairs: &[(&str, &str)]) -> Maker {
    let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
    let given: Vec<_> = pairs.iter().map(owned).collect();
    kind("threshold").unwrap().make(&given, &facts()).unwrap()
}

/// One that is never at rest.
fn restless() -> Maker {
    policy(&[("period", "10s"), ("datapoints", "1"), ("cooldown", "20s"), ("add", "3")])
}

/// All that an outcome says.
fn said(of: &Outcome) -> String {
    let buckets: Vec<_> = of.response.buckets().collect();
    let counts = (of.offered, of.served, of.lost, of.response_sum_ns, of.scale_out, of.scale_in);
    let shares = (of.cpu_mean, of.busy_mean, of.violated_s, of.bill);
    format!("{counts:?} {shares:?} {:?} {:?} {buckets:?}", of.ticks, of.decisions)
}

#[test]
fn the_fast_path_and_the_general_one_give_the_same_bytes() {
    let (mut setup, maker, demand) = (setup(), restless(), Demand::new(&facts()));
    for most in [20, 30] {
        setup.most = most;
        setup.rules.client_timeout = u64::MAX;
        let fast = run(&setup, &demand, maker().as_mut(), 3);
        // A client that waits for ever but for a tick keeps the engine off the fast path.
        setup.rules.client_timeout = u64::MAX - 1;
        let general = run(&setup, &demand, maker().as_mut(), 3);
        assert!(fast.scale_out > 10 && fast.scale_in > 10 && fast.lost() > 0, "a lively run");
        assert_eq!(said(&fast), said(&general));
    }
}

#[test]
fn replications_are_the_same_on_one_thread_and_on_three() {
    let (setup, demand) = (setup(), Demand::new(&facts()));
    let makers = [restless(), policy(&[("upper", "90"), ("lower", "50")])];
    let all = |threads| -> Vec<String> {
        let rows = replicate(&setup, &demand, &makers, 3, threads);
        rows.iter().flatten().map(said).collect()
    };
    let (one, three) = (all(1), all(3));
    assert_eq!(one, three);
    assert_ne!(one[0], one[1], "replications differ");
}

#[test]
fn instances_that_begin_slowly_answer_later() {
    let (mut setup, demand) = (setup(), Demand::new(&facts()));
    let mut mean = |slow_start| {
        setup.boot.slow_start = slow_start;
        run(&setup, &demand, restless()().as_mut(), 0).response_mean_s()
    };
    let slow = SlowStart { factor: 3.0, for_ns: 60 * SECOND_NS };
    let (at_once, slowly) = (mean(None), mean(Some(slow)));
    assert!(slowly > 1.02 * at_once, "{slowly} s, and {at_once} s at full speed");
}
