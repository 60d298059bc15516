//! The cases: M/M/c with a mean service time of 4 ms under three SLOs, and two log-normal ones.
//!
//! Capacities of M/M/c are exact (Erlang's C; L. Kleinrock, *Queueing Systems* 1, 1975, 3.5); those
//! of the log-normal queues come from long simulations.

use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::service_model::{ServiceModel, ServiceTime};
use std::num::NonZeroU32;

/// The SLO's quantile in every case.
pub(crate) const SLO_QUANTILE: f64 = 0.9;

/// A queue, an SLO, and what a search should reach.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    workers: u32,
    service: &'static str,
    pub(crate) bound_ns: u64,
    /// The true capacity.
    pub(crate) capacity_per_s: f64,
    /// Seconds at the capacity that an error of 2.5% costs, whatever the method.
    pub(crate) ideal_s: f64,
    pub(crate) most_bias: f64,
    pub(crate) most_rmse: f64,
}

impl Case {
    pub(crate) fn model(&self) -> ServiceModel {
        let law = Distribution::parse(self.service).unwrap();
        let mut model = ServiceModel::new(ServiceTime::Law(law));
        model.cores = NonZeroU32::new(self.workers).unwrap();
        model
    }
}

/// Requests a second that one worker of the exponential cases serves.
const SPEED: f64 = 250.0;

/// All cases.
pub(crate) fn all() -> Vec<Case> {
    let bounds = [20, 30, 150];
    let exponential: [(u32, [&str; 3], [f64; 3]); 4] = [
        (1, ["M/M/1, 20 ms", "M/M/1, 30 ms", "M/M/1, 150 ms"], [120.0, 63.0, 31.0]),
        (2, ["M/M/2, 20 ms", "M/M/2, 30 ms", "M/M/2, 150 ms"], [25.0, 19.0, 18.0]),
        (4, ["M/M/4, 20 ms", "M/M/4, 30 ms", "M/M/4, 150 ms"], [12.0, 9.0, 6.0]),
        (8, ["M/M/8, 20 ms", "M/M/8, 30 ms", "M/M/8, 150 ms"], [4.0, 4.0, 4.0]),
    ];
    let mut cases = Vec::new();
    for (workers, names, ideals) in exponential {
        for ((name, ideal_s), bound_ms) in names.into_iter().zip(ideals).zip(bounds) {
            cases.push(Case {
                name,
                workers,
                service: "exp:4ms",
                bound_ns: bound_ms * 1_000_000,
                capacity_per_s: capacity(workers, bound_ms as f64 / 1e3),
                ideal_s,
                most_bias: if bound_ms == 150 { 0.02 } else { 0.01 },
                most_rmse: 0.025,
            });
        }
    }
    cases.push(Case {
        name: "M/LN(0.8)/16, 25 ms",
        workers: 16,
        service: "lognormal:8ms,0.8",
        bound_ns: 25_000_000,
        capacity_per_s: 1858.0,
        ideal_s: 0.0,
        most_bias: 0.01,
        most_rmse: 0.025,
    });
    cases.push(Case {
        name: "M/LN(1.5)/2, 30 ms",
        workers: 2,
        service: "lognormal:3ms,1.5",
        bound_ns: 30_000_000,
        capacity_per_s: 432.7,
        ideal_s: f64::INFINITY,
        most_bias: 0.01,
        most_rmse: 0.1,
    });
    cases
}

/// The rate at which a tenth of the responses of M/M/c takes longer than `t` seconds.
pub(crate) fn capacity(workers: u32, t: f64) -> f64 {
    let (mut low, mut high) = (0.0, f64::from(workers) * SPEED);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if beyond(workers, middle, t) > 1.0 - SLO_QUANTILE { high = middle } else { low = middle }
    }
    low
}

/// The share of the responses of M/M/c that takes longer than `t` seconds.
fn beyond(workers: u32, rate: f64, t: f64) -> f64 {
    let servers = f64::from(workers);
    let offered = rate / SPEED;
    let b = (1..=workers).fold(1.0, |b, n| offered * b / (f64::from(n) + offered * b));
    let waits = b / (1.0 - offered / servers * (1.0 - b));
    let wait = servers * SPEED - rate;
    // Wait and service together: two exponentials, of rates that may be equal.
    let both = if (wait / SPEED - 1.0).abs() < 1e-9 {
        (1.0 + SPEED * t) * (-SPEED * t).exp()
    } else {
        (wait * (-SPEED * t).exp() - SPEED * (-wait * t).exp()) / (wait - SPEED)
    };
    (1.0 - waits) * (-SPEED * t).exp() + waits * both
}
