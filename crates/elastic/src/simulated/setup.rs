//! What is simulated.

use super::engine::Rules;
use crate::billing::Prices;
use crate::controller::Terms;
use plimsoll_stats::Slo;
use plimsoll_workload::arrivals::Arrivals;
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::pool::Termination;
use plimsoll_workload::schedule::Schedule;
use plimsoll_workload::service_model::ServiceTime;
use std::sync::Arc;

/// How much is asked, and when: a schedule for each replication, made from its seed.
pub type Load = Arc<dyn Fn(u64) -> Arc<Schedule> + Send + Sync>;

/// A pool, its prices and its load.
#[derive(Clone)]
pub struct Setup {
    /// The seed of all replications.
    pub seed: u64,
    /// The load of a replication.
    pub load: Load,
    /// How single requests fall.
    pub arrivals: Arrivals,
    /// Service times at speed 1.
    pub service: ServiceTime,
    /// Processor time of a request at speed 1, seconds.
    pub cpu_s: f64,
    /// What is the same for all instances.
    pub rules: Rules,
    /// How far the speeds of instances scatter: the coefficient of variation of a log-normal speed
    /// with mean 1, drawn once for each.
    pub speed_variation: f64,
    /// How instances begin.
    pub boot: Boot,
    /// How they fail.
    pub failures: Option<Failures>,
    /// Instances at the start, and the fewest and the most.
    pub start: u32,
    /// The fewest.
    pub least: u32,
    /// The most.
    pub most: u32,
    /// The price list.
    pub prices: Prices,
    /// Which instance goes first.
    pub termination: Termination,
    /// The SLO.
    pub slo: Option<Slo>,
    /// Metrics are collected, and the policy decides, so often, nanoseconds.
    pub tick_ns: u64,
    /// A metric arrives so late, nanoseconds.
    pub delay_ns: u64,
    /// The standard deviation of a metric's noise, as a share of it.
    pub noise: f64,
    /// Whether each request has a connection of its own, so that connections can be counted.
    pub has_connections: bool,
    /// The time of day at the start, seconds since midnight.
    pub of_day_s: f64,
}

impl Setup {
    /// The processor time of cores that have worked for so many seconds, over their number: a core
    /// that works is busy with a processor for a share of the time.
    #[must_use]
    pub fn cpu_of(&self, worked_s: f64) -> f64 {
        worked_s * self.cpu_s / self.service.mean() / f64::from(self.rules.cores)
    }

    /// What the controller is told of the pool.
    #[must_use]
    pub fn terms(&self) -> Terms {
        Terms {
            bounds: (self.least, self.most),
            delay_ns: self.delay_ns,
            of_day_s: self.of_day_s,
            speed: self.prices.speed,
        }
    }
}

/// How an instance begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Boot {
    /// From its launch until it runs.
    pub boot: Distribution,
    /// From then until it takes requests.
    pub configure: Distribution,
    /// It is slow at first.
    pub slow_start: Option<SlowStart>,
}

/// An instance that has just begun is slower.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlowStart {
    /// How many times slower.
    pub factor: f64,
    /// For how long after it is ready, nanoseconds; in a straight line back to its speed.
    pub for_ns: u64,
}

impl SlowStart {
    /// How many times slower an instance is, so long after it is ready.
    #[must_use]
    pub fn factor_at(&self, since_ns: u64) -> f64 {
        let left = 1.0 - since_ns as f64 / self.for_ns.max(1) as f64;
        1.0 + (self.factor - 1.0) * left.max(0.0)
    }
}

/// Instances fail by chance: exponential times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Failures {
    /// The mean time from ready to failure, seconds.
    pub mttf_s: f64,
    /// The mean time from failure to ready, seconds.
    pub mttr_s: f64,
}
