//! The published day's model and everything that can run it: 20 instances of two cores behind
//! "fair", 10 requests each at most, exponential service of 70 ms, and a working day of 22 million
//! requests.

use crate::textbook::Textbook;
use plimsoll_elastic::billing::Prices;
use plimsoll_elastic::demand::Demand;
use plimsoll_elastic::policy::{Facts, Maker, kind};
use plimsoll_elastic::simulated::engine::{Engine, ONE, Rules, TICK_NS, Tally};
use plimsoll_elastic::simulated::{Boot, Requests, Setup};
use plimsoll_stats::Histogram;
use plimsoll_workload::arrivals::Arrivals;
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::pool::{BillingUnit, ChargeFrom, Termination};
use plimsoll_workload::profile::Profile;
use plimsoll_workload::random::Stream;
use plimsoll_workload::service_model::ServiceTime;
use std::sync::Arc;

pub(crate) const INSTANCES: usize = 20;
pub(crate) const CORES: u32 = 2;
const LIMIT: u32 = 10;
const SERVICE_NS: u64 = 70_000_000;
const MINUTE_NS: u64 = 60_000_000_000;
const SEED: u64 = 1;

/// What takes the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Path {
    /// Nothing: requests are made and dropped.
    Requests,
    /// The textbook's heap of events.
    Heap,
    /// The fastest that the engine has.
    Fast,
    /// The same without vector instructions, requests too.
    Portable,
    General,
    Sharing,
}

impl Path {
    pub(crate) const ALL: [(&str, Self); 6] = [
        ("requests", Self::Requests),
        ("heap", Self::Heap),
        ("fast", Self::Fast),
        ("portable", Self::Portable),
        ("general", Self::General),
        ("sharing", Self::Sharing),
    ];
}

fn exponential() -> ServiceTime {
    ServiceTime::Law(Distribution::Exponential { mean_ns: SERVICE_NS })
}

/// The requests of the day, by a law of service times.
pub(crate) fn requests(service: &ServiceTime) -> Requests {
    let schedule = Arc::new(Profile::clarknet_day().schedule(SEED).unwrap());
    Requests::new(schedule, Arrivals::Poisson, service, SEED)
}

/// What came of a run: counts, and all response times.
pub(crate) struct Ran {
    pub(crate) offered: u64,
    pub(crate) served: u64,
    pub(crate) lost: u64,
    pub(crate) response: Histogram,
}

/// Anything that takes requests in order.
enum Takes {
    Nothing(u64),
    Heap(Box<Textbook>),
    Engine(Box<Engine>),
}

/// Offers the first so many requests of the day to so many instances, minute by minute, with the
/// response times of each minute kept, as a policy needs them.
pub(crate) fn run(path: Path, instances: usize, most: u64) -> Ran {
    run_by(path, instances, most, &exponential())
}

/// The same by another law of service times.
pub(crate) fn run_by(path: Path, instances: usize, most: u64, service: &ServiceTime) -> Ran {
    let rules = Rules { limit: Some(LIMIT), ..Rules::new(CORES) };
    let chance = Stream::named(SEED, "balancer");
    let mut requests = requests(service);
    let mut takes = match path {
        Path::Requests => Takes::Nothing(0),
        Path::Heap => Takes::Heap(Box::new(Textbook::new(instances, CORES, LIMIT))),
        Path::Fast => Takes::Engine(Box::new(Engine::new(&rules, chance))),
        Path::Portable => Takes::Engine(Box::new(Engine::portable(&rules, chance))),
        Path::General => Takes::Engine(Box::new(Engine::general(&rules, chance))),
        Path::Sharing => {
            let rules = Rules { is_shared: true, ..rules };
            Takes::Engine(Box::new(Engine::general(&rules, chance)))
        }
    };
    if path == Path::Portable {
        requests = requests.portable();
    }
    let mut tally = Tally::default();
    if let Takes::Engine(engine) = &mut takes {
        (0..instances).for_each(|slot| engine.open(slot, ONE, 0, &mut tally));
    }
    let mut ran = Ran { offered: 0, served: 0, lost: 0, response: Histogram::new() };
    for minute in 1..=1440 {
        let end_ns = minute * MINUTE_NS;
        if matches!(takes, Takes::Engine(_)) {
            // As a simulation does: answers that are given later belong to a later minute.
            tally.until(end_ns / TICK_NS);
        }
        loop {
            let (due, service) = requests.until(end_ns);
            if due.is_empty() {
                break;
            }
            match &mut takes {
                Takes::Nothing(sum) => {
                    tally.offered += due.len() as u64;
                    *sum += due.iter().chain(service).fold(0, |sum, of| sum ^ of);
                }
                Takes::Heap(heap) => heap.offer(due, service, &mut tally),
                Takes::Engine(engine) => engine.offer(due, service, &mut tally),
            }
        }
        if let Takes::Engine(engine) = &mut takes {
            engine.pass(end_ns / TICK_NS, &mut tally);
        }
        ran.take_in(&mut tally);
        if ran.offered >= most {
            break;
        }
    }
    finish(takes, &mut tally);
    ran.take_in(&mut tally);
    ran
}

fn finish(takes: Takes, tally: &mut Tally) {
    match takes {
        Takes::Nothing(sum) => {
            std::hint::black_box(sum);
        }
        Takes::Heap(mut heap) => heap.finish(tally),
        Takes::Engine(mut engine) => {
            engine.pass(1441 * MINUTE_NS / TICK_NS, tally);
            tally.until(u64::MAX);
        }
    }
}

impl Ran {
    fn take_in(&mut self, tally: &mut Tally) {
        self.offered += tally.offered;
        self.served += tally.served;
        self.lost += tally.lost.iter().sum::<u64>();
        tally.drain_into(&mut self.response);
    }

    /// Counts and a sum over all buckets: the same for all that say the same.
    pub(crate) fn said(&self) -> (u64, u64, u64, u64) {
        let buckets = self.response.buckets();
        let sum = buckets.fold(0_u64, |sum, of| {
            sum.wrapping_mul(31).wrapping_add(of.lowest).wrapping_mul(31).wrapping_add(of.count)
        });
        (self.offered, self.served, self.lost, sum)
    }
}

/// The whole simulation of the day: a policy that always has 20 instances, billing, metrics of
/// every minute.
pub(crate) fn setup() -> (Setup, Demand, Maker) {
    let points: Vec<f64> =
        (0..100).map(|n| -0.07 * libm::log1p(-(f64::from(n) + 0.5) / 100.0)).collect();
    let facts = Facts {
        cores: CORES,
        limit: Some(LIMIT),
        service_s: 0.07,
        service_points_s: points.into(),
        income: 1.7e-5,
        price_per_hour: 0.17,
        slo: None,
        boot_s: 180.0,
        start: None,
        future: None,
    };
    let prices = Prices {
        speed: 1.0,
        unit: BillingUnit::Hour,
        least_ns: 0,
        from: ChargeFrom::Running,
        per_hour: 0.17,
        per_request: 0.0,
        per_gb: 0.0,
        answer_bytes: 0.0,
        balancer_per_hour: 0.0,
        balancer_per_gb: 0.0,
        income_per_request: 1.7e-5,
    };
    let three_minutes = Distribution::Constant { ns: 3 * MINUTE_NS };
    let setup = Setup {
        seed: SEED,
        load: Arc::new(|seed| Arc::new(Profile::clarknet_day().schedule(seed).unwrap())),
        arrivals: Arrivals::Poisson,
        service: exponential(),
        cpu_s: 0.06,
        rules: Rules { limit: Some(LIMIT), ..Rules::new(CORES) },
        speed_variation: 0.0,
        boot: Boot { boot: three_minutes, configure: Distribution::NONE, slow_start: None },
        failures: None,
        start: 20,
        least: 1,
        most: 20,
        prices,
        termination: Termination::ClosestToUnit,
        slo: None,
        tick_ns: MINUTE_NS,
        delay_ns: 0,
        noise: 0.0,
        has_connections: false,
        of_day_s: 5.0 * 3600.0,
    };
    let maker = kind("fixed").unwrap().make(&[("instances".into(), "20".into())], &facts).unwrap();
    (setup, Demand::new(&facts), maker)
}
