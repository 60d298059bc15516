//! Queues with known answers, at length: the table of `benches/simulate/TRUTH.md`.
//!
//! Every replication starts empty and ends when all is served; its mean response time and share of
//! lost requests are one value each. Formulas: [`plimsoll_stats::queueing`].

use plimsoll_elastic::simulated::Requests;
use plimsoll_elastic::simulated::engine::{Engine, ONE, Rules, TICK_NS, Tally};
use plimsoll_stats::queueing::{Finite, erlang_c, mg1_response, mg1_sharing_response};
use plimsoll_workload::arrivals::Arrivals;
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::random::Stream;
use plimsoll_workload::schedule::Schedule;
use plimsoll_workload::service_model::ServiceTime;
use std::sync::Arc;

const SERVICE_NS: u64 = 10_000_000;
/// The most that a standard error may be of its value, and a difference in standard errors.
const MOST_ERROR: f64 = 0.004;
const MOST_ERRORS: f64 = 3.0;
/// What is lost more seldom is known less well in proportion: such a queue runs so much longer.
const RARE: f64 = 0.005;
const RARE_TIMES: u64 = 8;

/// A queue: its rules, law and load, and what it must come to.
pub(crate) struct Queue {
    name: String,
    rules: Rules,
    service: Distribution,
    /// Of one core.
    load: f64,
    /// In mean service times.
    response: f64,
    lost: Option<f64>,
}

fn exponential() -> Distribution {
    Distribution::Exponential { mean_ns: SERVICE_NS }
}

/// M/M/c; with c = 21 and a load of 0.9, what SimPy and Ciw are compared on.
pub(crate) fn many(cores: u32, load: f64) -> Queue {
    let offered = load * f64::from(cores);
    let response = 1.0 + erlang_c(offered, cores) / (f64::from(cores) - offered);
    let (rules, service) = (Rules::new(cores), exponential());
    Queue { name: format!("M/M/{cores}"), rules, service, load, response, lost: None }
}

fn finite(cores: u32, room: u32, load: f64) -> Queue {
    let wanted = Finite::of(load * f64::from(cores), cores, room).unwrap();
    Queue {
        name: format!("M/M/{cores}/{room}"),
        rules: Rules { limit: Some(room), ..Rules::new(cores) },
        service: exponential(),
        load,
        response: wanted.response(),
        // Of what is hardly ever lost there is too little to say.
        lost: Some(wanted.lost).filter(|&lost| lost > 1e-5),
    }
}

fn queues() -> Vec<Queue> {
    let mut all = Vec::new();
    for load in [0.5, 0.7, 0.9] {
        all.extend([many(1, load), many(2, load), many(8, load), many(21, load)]);
        all.extend([finite(1, 10, load), finite(2, 10, load), finite(4, 40, load)]);
        let service = Distribution::Constant { ns: SERVICE_NS };
        let response = mg1_response(load, 0.0);
        let (name, rules) = ("M/D/1".to_owned(), Rules::new(1));
        all.push(Queue { name, rules, service, load, response, lost: None });
        let laws = [
            ("M/M/1-PS", exponential()),
            ("M/D/1-PS", service),
            ("M/LN(1)/1-PS", Distribution::LogNormal { mean_ns: SERVICE_NS, sigma: 1.0 }),
        ];
        for (name, service) in laws {
            let rules = Rules { is_shared: true, ..Rules::new(1) };
            let response = mg1_sharing_response(load);
            all.push(Queue { name: name.to_owned(), rules, service, load, response, lost: None });
        }
    }
    all
}

impl Queue {
    /// A replication: its mean response in service times, its share of lost requests, and how many
    /// requests there were.
    pub(crate) fn run(&self, requests: u64, seed: u64) -> (f64, f64, u64) {
        let rate = self.load * f64::from(self.rules.cores) * 1e9 / SERVICE_NS as f64;
        let duration_ns = (requests as f64 / rate * 1e9) as u64;
        let schedule = Arc::new(Schedule::constant(rate, duration_ns).unwrap());
        let service = ServiceTime::Law(self.service);
        let mut requests = Requests::new(schedule, Arrivals::Poisson, &service, seed);
        let rules = self.rules.clone().of_one_instance();
        let mut engine = Engine::new(&rules, Stream::named(seed, "balancer"));
        let mut tally = Tally::default();
        engine.open(0, ONE, 0, &mut tally);
        loop {
            let (due, service) = requests.until(u64::MAX);
            if due.is_empty() {
                break;
            }
            engine.offer(due, service, &mut tally);
        }
        // A day later all is done.
        engine.pass((duration_ns + 86_400_000_000_000) / TICK_NS, &mut tally);
        let lost: u64 = tally.lost.iter().sum();
        assert_eq!(tally.served + lost, tally.offered, "{}", self.name);
        let ticks = SERVICE_NS as f64 / TICK_NS as f64;
        let response = tally.sum as f64 / tally.served as f64 / ticks;
        (response, lost as f64 / tally.offered as f64, tally.offered)
    }

    /// What it must come to, in service times.
    pub(crate) fn response(&self) -> f64 {
        self.response
    }
}

/// Prints the table; false where a line does not hold.
pub(crate) fn print(replications: u64, requests: u64) -> bool {
    println!("| queue | load | of | simulated | formula | standard error | off by | |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    let mut all_hold = true;
    for queue in queues() {
        let times = if queue.lost.is_some_and(|lost| lost < RARE) { RARE_TIMES } else { 1 };
        let run = |seed| queue.run(times * requests, seed);
        let ran: Vec<_> = (0..replications).map(run).collect();
        let responses: Vec<f64> = ran.iter().map(|ran| ran.0).collect();
        all_hold &= line(&queue, "response", &responses, queue.response);
        if let Some(lost) = queue.lost {
            let share: Vec<f64> = ran.iter().map(|ran| ran.1).collect();
            all_hold &= line(&queue, "lost", &share, lost);
        }
    }
    all_hold
}

fn line(queue: &Queue, of: &str, values: &[f64], wanted: f64) -> bool {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let error = (variance / count).sqrt();
    let off = (mean - wanted) / error;
    let holds = off.abs() <= MOST_ERRORS && error <= MOST_ERROR * wanted;
    let Queue { name, load, .. } = queue;
    let verdict = if holds { "holds" } else { "**does not hold**" };
    let share = 100.0 * error / wanted;
    println!(
        "| {name} | {load} | {of} | {mean:.6} | {wanted:.6} | {share:.3}% | {off:+.2} | {verdict} |"
    );
    holds
}
