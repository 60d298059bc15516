//! When things happen, against values computed by hand: work when it is done, answers when they are
//! given, presence while it lasts, and nothing after the end.

use super::{SECOND_NS, Saw, demand, law, played, script, setup};
use plimsoll_elastic::observation::Metric;
use plimsoll_elastic::simulated::engine::{Loss, Rules, SlowdownTable, TICK_NS};
use plimsoll_elastic::simulated::{Boot, Setup, SlowStart, run};
use plimsoll_stats::Slo;
use plimsoll_workload::arrivals::Arrivals;
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::service_model::ServiceTime;

/// Requests of a constant service in milliseconds on one instance of some cores, ticks of 15 s,
/// processor time as service time.
fn even(load: &str, service_ms: u64, cores: u32) -> Setup {
    Setup {
        arrivals: Arrivals::Even,
        service: ServiceTime::Law(law(&format!("const:{service_ms}ms"))),
        cpu_s: service_ms as f64 / 1e3,
        rules: Rules::new(cores),
        start: 1,
        tick_ns: 15 * SECOND_NS,
        ..setup(load)
    }
}

fn saw(setup: &Setup, says: &[u32]) -> Vec<Saw> {
    let mut policy = script(says);
    let _ = run(setup, &demand(setup), &mut policy, 0);
    policy.saw
}

fn seen(of: &Saw, metric: Metric) -> f64 {
    f64::from_bits(of.values[metric as usize])
}

/// 2/s on a core that serves 1/s, clients give up after 3 s: the core goes on with what they left,
/// and is always busy.
#[test]
fn work_for_clients_who_have_given_up_is_work() {
    for is_shared in [false, true] {
        let mut setup = even("2/s for 20m", 1000, 1);
        setup.rules.client_timeout = 3 * SECOND_NS / TICK_NS;
        setup.rules.is_shared = is_shared;
        let of = played(&setup, &[1]);
        assert!(of.ticks.iter().skip(1).all(|of| of.cpu > 99.99), "{:?}", of.ticks[1]);
        assert!(of.lost() * 2 > of.offered - 10, "{} of {}", of.lost(), of.offered);
        assert_eq!(of.lost(), of.lost[Loss::ClientTimeout as usize]);
    }
}

/// 600/s for 5 minutes on 8 cores of 70 ms: 12,600 core seconds, done at 26:15.
#[test]
fn a_backlog_is_worked_off_and_seen_until_then() {
    let four = Setup { start: 4, most: 4, ..even("600/s for 5m, 1/s for 25m", 70, 2) };
    let of = played(&four, &[4]);
    let busy_until = of.ticks.iter().take_while(|of| of.cpu > 99.9).last().unwrap();
    // 1/s more come on the way: 25 s of work in 8 cores, 3 s.
    assert!((busy_until.at_s - 1575.0).abs() <= 15.0, "{}", busy_until.at_s);
    // After five minutes 300 s × (600 − 114.3)/s are there, half of them from end to end.
    let at_5m = &saw(&four, &[4])[19];
    let present = seen(at_5m, Metric::Concurrency);
    assert!((present / (292.5 * (600.0 - 8.0 / 0.07)) - 1.0).abs() < 0.001, "{present}");
}

/// 100/s, from 5:00 on 600/s, on 114.3/s: a request due t seconds later waits 4.25 t seconds, so
/// the first that takes more than a minute is answered at 6:14.
#[test]
fn no_answer_is_seen_before_it_is_given() {
    let load = "100/s for 5m, 600/s for 2m, 100/s for 5m";
    let four = Setup {
        start: 4,
        tick_ns: 10 * SECOND_NS,
        slo: Some(Slo::parse("p90<1s").unwrap()),
        ..even(load, 70, 2)
    };
    let all = saw(&four, &[4]);
    let first = all.iter().find(|of| seen(of, Metric::Response) > 60.0).unwrap();
    assert!((first.now_s - 380.0).abs() < 1e-9, "{}", first.now_s);
}

/// 10/s for ten minutes on a core that serves 1/s.
#[test]
fn what_is_in_flight_at_the_end_earns_nothing() {
    let mut setup = even("10/s for 10m", 1000, 1);
    setup.prices.income_per_request = 1.0;
    let of = played(&setup, &[1]);
    assert!((599..=600).contains(&of.served), "{}", of.served);
    assert_eq!((of.lost(), of.served + of.in_flight), (0, 6000));
    assert!((of.bill.revenue - of.served as f64).abs() < 1e-9);
}

/// However slow an instance is and why, one whose core is always busy says so.
#[test]
fn a_slow_instance_at_work_is_busy() {
    let base = even("2/s for 5m", 1000, 1);
    let last = |setup: &Setup| played(setup, &[1]).ticks.last().unwrap().cpu;
    assert!(last(&Setup { speed_variation: 0.5, ..base.clone() }) > 99.99);
    let slowdown = SlowdownTable::of(&[1.0, 1.5, 2.0]);
    for is_shared in [false, true] {
        let rules = Rules { slowdown: slowdown.clone(), is_shared, ..base.rules.clone() };
        assert!(last(&Setup { rules, ..base.clone() }) > 99.99);
    }
    // 0.5/s of a second, two cores: a quarter; at half the speed a half. What begins after the
    // start begins slowly.
    let slow_start = Some(SlowStart { factor: 2.0, for_ns: u64::MAX / 4 });
    let boot = Boot { boot: Distribution::NONE, configure: Distribution::NONE, slow_start };
    let slow = Setup { start: 0, least: 0, boot, ..even("0.5/s for 10m", 1000, 2) };
    let cpu = last(&slow);
    assert!((cpu - 50.0).abs() < 4.0, "{cpu}");
}

/// With sharing the number of requests at each moment says how slow they are: two of a second that
/// come together on two cores, twice as slow while both are there.
#[test]
fn slowdown_follows_the_number_present_where_cores_are_shared() {
    use plimsoll_elastic::simulated::engine::{Engine, ONE, Tally};
    use plimsoll_workload::random::Stream;
    let slowdown = SlowdownTable::of(&[1.0, 2.0]);
    let rules = Rules { slowdown, is_shared: true, ..Rules::new(2) };
    let mut engine = Engine::new(&rules, Stream::named(1, "balancer"));
    let mut tally = Tally::default();
    engine.open(0, ONE, 0, &mut tally);
    // The second has half of its work left when the first leaves, and does it at full speed.
    engine.offer(&[0, 0], &[1000, 2000], &mut tally);
    engine.pass(10_000, &mut tally);
    assert_eq!((tally.min, tally.max), (2000, 3000));
    assert_eq!(engine.worked(0, 10_000), 2000 + 2000 + 1000);
    assert_eq!(engine.presence(10_000), 5000);
}

/// Within a tick of 40 s one instance is there, then three: of two that are needed, one too few for
/// half of it and one too many for the other.
#[test]
fn too_few_and_too_many_do_not_cancel_out() {
    let steps = Setup {
        tick_ns: 40 * SECOND_NS,
        boot: Boot { boot: law("const:20s"), configure: Distribution::NONE, slow_start: None },
        ..even("20/s for 80s", 70, 1)
    };
    let of = played(&steps, &[3]);
    assert!(of.ticks.iter().all(|of| of.demand == Some(2)));
    let elasticity = of.elasticity.unwrap();
    // 60 s too few, 20 s too many, of 80 s.
    for (off, share) in [(elasticity.under, 0.75), (elasticity.over, 0.25)] {
        assert!((off.accuracy - share).abs() < 1e-9 && (off.timeshare - share).abs() < 1e-9);
    }
    // What nothing can hold has no demand.
    let never = Setup { slo: Some(Slo::parse("p99<50ms").unwrap()), ..steps };
    assert!(played(&never, &[3]).elasticity.is_none());
}

/// 100/s at one instance of two places, two cores of 100 ms each: 20/s are served at once, all
/// others are lost, and those served take 100 ms.
#[test]
fn the_whole_slo_is_judged_over_all_that_was_offered() {
    let of = |slo: &str| {
        let mut setup = even("100/s for 8m", 100, 2);
        setup.rules.limit = Some(2);
        played(&Setup { slo: Some(Slo::parse(slo).unwrap()), ..setup }, &[1])
    };
    for (slo, violated_s) in [
        ("p99<400ms,errors<1%", 480.0),
        ("p99<400ms", 480.0),
        ("p10<400ms", 0.0),
        ("mean<400ms", 0.0),
        ("errors<90%", 0.0),
        ("rate>=50/s", 480.0),
        ("p10<400ms,lost<5", 480.0),
    ] {
        let found = of(slo).violated_s;
        assert!((found - violated_s).abs() < 1e-9, "{slo}: {found}");
    }
    let both = of("p99<400ms,errors<1%,p10<400ms");
    assert_eq!(both.slo[0], None, "beyond every bound");
    assert!((both.slo[1].unwrap() - 0.8).abs() < 0.01 && both.slo[2] == Some(100_000.0));
    // Where nothing ends, those who wait say how long it takes.
    let mut stuck = even("1/s for 2m", 600_000, 1);
    stuck.slo = Some(Slo::parse("p50<20s").unwrap());
    let stuck = played(&stuck, &[1]);
    assert_eq!((stuck.served, stuck.lost()), (0, 0));
    assert!((60.0..=90.0).contains(&stuck.violated_s), "{}", stuck.violated_s);
    assert!(stuck.slo[0].unwrap() > 50e6, "{:?}", stuck.slo);
}
