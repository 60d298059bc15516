//! What one replication came to.

use super::engine::Loss;
use crate::billing::{Bill, Used};
use crate::observation::Metric;
use plimsoll_stats::Histogram;
use plimsoll_stats::elasticity::Elasticity;

/// One replication.
#[derive(Clone)]
pub struct Outcome {
    /// Requests due.
    pub offered: u64,
    /// Requests that were served.
    pub served: u64,
    /// Requests that were lost, in the order of [`Loss::ALL`].
    pub lost: [u64; Loss::ALL.len()],
    /// Response times of the served ones, nanoseconds.
    pub response: Histogram,
    /// Their sum, nanoseconds: for an exact mean.
    pub response_sum_ns: u128,
    /// What it cost and earned.
    pub bill: Bill,
    /// The lives of its instances, in the order of their launches, up to the end.
    pub instances: Vec<Used>,
    /// The mean processor time of all instances, as a policy sees it, per cent.
    pub cpu_mean: f64,
    /// The mean share of busy cores.
    pub busy_mean: f64,
    /// Instances that were launched and ended by decisions.
    pub scale_out: u64,
    /// Ended ones.
    pub scale_in: u64,
    /// How well supply followed demand.
    pub elasticity: Elasticity,
    /// Seconds of ticks in which the SLO did not hold.
    pub violated_s: f64,
    /// Its length, seconds.
    pub seconds: f64,
    /// Its ticks, in order.
    pub ticks: Vec<Tick>,
    /// Decisions that changed something.
    pub decisions: Vec<Decided>,
}

/// What was seen in a tick.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tick {
    /// Its end, seconds since the start.
    pub at_s: f64,
    /// Requests per second.
    pub rate: f64,
    /// Requests lost per second.
    pub lost: f64,
    /// Instances that took requests, in the mean.
    pub ready: f64,
    /// Instances that the rate needed.
    pub demand: u32,
    /// Processor time, per cent.
    pub cpu: f64,
    /// Mean response time, seconds; not a number without a served request.
    pub response_s: f64,
    /// The response time at the SLO's quantile, or p99, seconds.
    pub quantile_s: f64,
}

/// A decision that changed the pool.
#[derive(Debug, Clone, PartialEq)]
pub struct Decided {
    /// When, nanoseconds since the start.
    pub at_ns: u64,
    /// How many there were, those that boot counted.
    pub from: u32,
    /// How many there are to be.
    pub to: u32,
    /// Why.
    pub reason: String,
    /// The last point that the policy had seen, in the order of [`Metric::ALL`]; not numbers where
    /// there was none.
    pub seen: [f64; Metric::ALL.len()],
}

impl Outcome {
    /// Requests that were lost.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost.iter().sum()
    }

    /// Requests that were neither served nor lost: those that wait at the balancer for an instance
    /// that never comes.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.offered - self.served - self.lost()
    }

    /// The mean response time, seconds; not a number where none was served.
    #[must_use]
    pub fn response_mean_s(&self) -> f64 {
        self.response_sum_ns as f64 / self.served as f64 / 1e9
    }
}
