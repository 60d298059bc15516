//! The simulated world: nothing is lost from the books, everything is paid once, and the same seed
//! gives the same day.

mod billing;
mod books;
mod moments;
mod result;
mod seeds;
mod time;

use plimsoll_elastic::billing::Prices;
use plimsoll_elastic::demand::Demand;
use plimsoll_elastic::observation::Observation;
use plimsoll_elastic::outcome::Outcome;
use plimsoll_elastic::policy::{Decider, Facts, Maker, Verdict};
use plimsoll_elastic::simulated::engine::Rules;
use plimsoll_elastic::simulated::{Boot, Setup, run};
use plimsoll_workload::arrivals::Arrivals;
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::pool::{BillingUnit, ChargeFrom, Termination};
use plimsoll_workload::schedule::Schedule;
use plimsoll_workload::service_model::ServiceTime;
use std::sync::Arc;

const SECOND_NS: u64 = 1_000_000_000;

/// A law of durations.
fn law(text: &str) -> Distribution {
    Distribution::parse(text).unwrap()
}

/// A price of one an hour, and nothing else.
fn prices(unit: BillingUnit, from: ChargeFrom) -> Prices {
    Prices {
        speed: 1.0,
        unit,
        least_ns: 0,
        from,
        per_hour: 1.0,
        per_request: 0.0,
        per_gb: 0.0,
        answer_bytes: 0.0,
        balancer_per_hour: 0.0,
        balancer_per_gb: 0.0,
        income_per_request: 0.0,
    }
}

/// Instances of two cores and ten requests, 70 ms each in the mean, a boot time of a minute, a tick
/// of ten seconds; four to begin with, 1 to 20.
fn setup(load: &str) -> Setup {
    let schedule = Arc::new(Schedule::parse(load).unwrap());
    Setup {
        seed: 1,
        load: Arc::new(move |_| schedule.clone()),
        arrivals: Arrivals::Poisson,
        service: ServiceTime::Law(law("exp:70ms")),
        cpu_s: 0.06,
        rules: Rules { limit: Some(10), ..Rules::new(2) },
        speed_variation: 0.0,
        boot: Boot { boot: law("const:1m"), configure: Distribution::NONE, slow_start: None },
        failures: None,
        start: 4,
        least: 1,
        most: 20,
        prices: prices(BillingUnit::Hour, ChargeFrom::Running),
        termination: Termination::ClosestToUnit,
        slo: None,
        tick_ns: 10 * SECOND_NS,
        delay_ns: 0,
        noise: 0.0,
        has_connections: false,
        of_day_s: 0.0,
    }
}

/// So many replications of each policy on some threads, a row for each policy.
pub(crate) fn replicate(
    setup: &Setup,
    demand: &Demand,
    makers: &[Maker],
    replications: u64,
    threads: usize,
) -> Vec<Vec<Outcome>> {
    let places = |maker| (0..replications).map(move |replication| (maker, replication));
    let all: Vec<(&Maker, u64)> = makers.iter().flat_map(places).collect();
    let some = &|from: usize| {
        let mine = all.iter().enumerate().skip(from).step_by(threads);
        let one = |maker: &Maker, replication| run(setup, demand, maker().as_mut(), replication);
        mine.map(|(place, (maker, number))| (place, one(maker, *number))).collect::<Vec<_>>()
    };
    let mut outcomes = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|from| scope.spawn(move || some(from))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    outcomes.sort_by_key(|(place, _)| *place);
    let mut outcomes = outcomes.into_iter().map(|(_, outcome)| outcome);
    let mut row = || outcomes.by_ref().take(usize::try_from(replications).unwrap()).collect();
    makers.iter().map(|_| row()).collect()
}

/// The rule of demand for it.
fn demand(setup: &Setup) -> Demand {
    Demand::new(&facts(setup))
}

fn facts(setup: &Setup) -> Facts {
    let bound = setup.slo.as_ref().and_then(plimsoll_stats::Slo::response_bound);
    Facts {
        cores: setup.rules.cores,
        limit: setup.rules.limit,
        service_s: 0.07,
        service_points_s: vec![0.07].into(),
        income: 0.0017,
        price_per_hour: 17.0,
        slo: bound.map(|(quantile, ns)| (quantile, ns as f64 / 1e9)),
        boot_s: 60.0,
        start: None,
        future: None,
    }
}

/// Says one number after another, the last one for ever, and keeps what it saw.
#[derive(Default)]
struct Script {
    says: Vec<u32>,
    at: usize,
    saw: Vec<Saw>,
}

/// What a policy saw at a moment.
#[derive(Debug, Clone, PartialEq)]
struct Saw {
    now_s: f64,
    /// The end of the last point that had come.
    until_s: Option<f64>,
    /// Its metrics, in bits: what is not a number is equal to itself.
    values: Vec<u64>,
    ready: u32,
}

fn script(says: &[u32]) -> Script {
    Script { says: says.to_vec(), ..Script::default() }
}

impl Decider for Script {
    fn decide(&mut self, seen: &Observation<'_>) -> Verdict {
        let last = seen.series.points().last();
        self.saw.push(Saw {
            now_s: seen.now_s,
            until_s: last.map(|point| point.at_s),
            values: last.map_or(Vec::new(), |point| point.values.map(f64::to_bits).to_vec()),
            ready: seen.ready(),
        });
        let desired = self.says[self.at.min(self.says.len() - 1)];
        self.at += 1;
        Verdict { desired, limited_by: None, reason: "it is written".to_owned() }
    }

    fn save(&self) -> serde_json::Result<String> {
        serde_json::to_string(&self.at)
    }

    fn restore(&mut self, text: &str) -> serde_json::Result<()> {
        self.at = serde_json::from_str(text)?;
        Ok(())
    }
}

/// A replication under a script.
fn played(setup: &Setup, says: &[u32]) -> Outcome {
    run(setup, &demand(setup), &mut script(says), 0)
}
