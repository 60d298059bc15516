//! Randomness: the same seed is the same day, on one thread and on several, under each policy.

use super::{demand, facts, law, replicate, setup};
use plimsoll_elastic::outcome::Outcome;
use plimsoll_elastic::policy::{self, Maker};
use plimsoll_elastic::simulated::{Boot, Failures, Setup, run};
use plimsoll_workload::distribution::Distribution;

/// Everything that is by chance.
fn chancy() -> Setup {
    let mut setup = Setup {
        speed_variation: 0.2,
        boot: Boot { boot: law("exp:40s"), configure: law("uniform:1s..9s"), slow_start: None },
        failures: Some(Failures { mttf_s: 200.0, mttr_s: 30.0 }),
        noise: 0.1,
        slo: Some(plimsoll_stats::Slo::parse("p95<200ms").unwrap()),
        ..setup("40/s..160/s in 5m")
    };
    setup.rules.choice = plimsoll_workload::pool::Choice::TwoChoices;
    setup
}

fn makers(setup: &Setup) -> Vec<Maker> {
    let threshold = [("datapoints", "2"), ("period", "10s"), ("cooldown", "20s")];
    let of = |kind: &str, given: &[(&str, &str)]| {
        let pairs: Vec<_> =
            given.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        policy::kind(kind).unwrap().make(&pairs, &facts(setup)).unwrap()
    };
    vec![
        of("fixed", &[("instances", "6")]),
        of("threshold", &threshold),
        of("slo", &[("period", "10s")]),
    ]
}

/// All of an outcome, for comparison.
fn said(of: &Outcome) -> String {
    let buckets: Vec<_> = of.response.buckets().map(|of| (of.lowest, of.count)).collect();
    let counts = (of.offered, of.served, of.lost, of.response_sum_ns, of.scale_out, of.scale_in);
    let figures = (of.cpu_mean, of.busy_mean, of.violated_s, of.seconds, of.elasticity, of.bill);
    format!(
        "{counts:?} {figures:?} {buckets:?} {:?} {:?} {:?}",
        of.ticks, of.decisions, of.instances
    )
}

#[test]
fn the_same_seed_is_the_same_day_on_any_number_of_threads() {
    let setup = chancy();
    let demand = demand(&setup);
    let makers = makers(&setup);
    let all = |threads: usize| {
        let rows = replicate(&setup, &demand, &makers, 4, threads);
        rows.iter().map(|row| row.iter().map(said).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let one = all(1);
    assert_eq!(one, all(3));
    assert_eq!(one, all(50));
    // And alone, by the number of the replication.
    let alone = run(&setup, &demand, makers[1]().as_mut(), 2);
    assert_eq!(said(&alone), one[1][2]);
    // Replications differ, and so does another seed.
    assert!(one[0][0] != one[0][1] && one[0][1] != one[0][2]);
    let other = Setup { seed: 2, ..setup };
    assert_ne!(said(&run(&other, &demand, makers[1]().as_mut(), 2)), one[1][2]);
}

#[test]
fn every_policy_sees_the_same_requests() {
    let setup = chancy();
    let rows = replicate(&setup, &demand(&setup), &makers(&setup), 3, 2);
    for replication in 0..3 {
        let rates = |row: &[Outcome]| -> Vec<f64> {
            row[replication].ticks.iter().map(|of| of.rate).collect()
        };
        let offered = rows[0][replication].offered;
        for row in &rows {
            assert_eq!(row[replication].offered, offered);
            assert_eq!(rates(row), rates(&rows[0]));
        }
    }
    // Where nothing waits or is lost, also the same response times: those of the service alone.
    let mut wide = setup_without_waiting();
    let of = |setup: &Setup, instances: u32| super::played(setup, &[instances]);
    let (few, many) = (of(&wide, 1), of(&wide, 20));
    assert_eq!(few.response_sum_ns, many.response_sum_ns);
    wide.seed = 9;
    assert_ne!(of(&wide, 1).response_sum_ns, few.response_sum_ns);
}

/// Instances of so many cores that nobody ever waits.
fn setup_without_waiting() -> Setup {
    let mut setup = setup("100/s for 1m");
    setup.rules = plimsoll_elastic::simulated::engine::Rules::new(64);
    setup.boot.boot = Distribution::NONE;
    setup
}
