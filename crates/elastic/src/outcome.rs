//! What one replication of a pool came to, in either world.

use crate::billing::{Bill, Used};
use crate::controller::Decided;
use crate::objective::{holds, within};
use plimsoll_stats::Histogram;
use plimsoll_stats::elasticity::Elasticity;
use plimsoll_stats::histogram::rank;
use plimsoll_stats::percentiles::is_stated;
use plimsoll_stats::slo::Slo;

/// Why a request was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub enum Loss {
    /// No instance had a place, and there is no queue.
    NoSlot,
    /// Nor had the queue.
    QueueFull,
    /// It waited in the queue for too long.
    QueueTimeout,
    /// Its client gave up.
    ClientTimeout,
    /// Its instance failed.
    InstanceFailed,
    /// Its instance was taken away, and the time was over that it had to end it.
    Drained,
    /// The balancer failed.
    BalancerFailed,
}

impl Loss {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::NoSlot,
        Self::QueueFull,
        Self::QueueTimeout,
        Self::ClientTimeout,
        Self::InstanceFailed,
        Self::Drained,
        Self::BalancerFailed,
    ];

    /// Its name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NoSlot => "no_slot",
            Self::QueueFull => "queue_full",
            Self::QueueTimeout => "queue_timeout",
            Self::ClientTimeout => "client_timeout",
            Self::InstanceFailed => "instance_failed",
            Self::Drained => "drained",
            Self::BalancerFailed => "balancer_failed",
        }
    }
}

/// What became of instances beside what was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Churn {
    /// Instances that were launched and did not come to take requests.
    pub start_failures: u64,
    /// Instances that were launched in the place of those that failed.
    pub replaced: u64,
    /// Instances that a controller that came back found there.
    pub adopted: u64,
}

/// One replication.
#[derive(Clone)]
pub struct Outcome {
    /// Requests due.
    pub offered: u64,
    /// Requests that were served by the end of the load.
    pub served: u64,
    /// Requests that were lost, in the order of [`Loss::ALL`].
    pub lost: [u64; Loss::ALL.len()],
    /// Requests that were neither when the load ended.
    pub in_flight: u64,
    /// What each clause of the SLO looks at, in the unit of its bound, over all that was offered;
    /// `None` where it lies beyond every bound.
    pub slo: Vec<Option<f64>>,
    /// Response times of the served ones, nanoseconds.
    pub response: Histogram,
    /// Their sum, nanoseconds: for an exact mean.
    pub response_sum_ns: u128,
    /// What it cost and earned.
    pub bill: Bill,
    /// The lives of its instances, in the order of their launches, up to the end.
    pub instances: Vec<Used>,
    /// What was done at each place behind the balancer, stretch by stretch; empty of a live pool.
    pub at_places: Vec<AtPlace>,
    /// The mean processor time of the instances that took requests, as a policy sees it, per cent.
    pub cpu_mean: f64,
    /// The mean share of busy cores.
    pub busy_mean: f64,
    /// Instances that were launched and ended by decisions.
    pub scale_out: u64,
    /// Ended ones.
    pub scale_in: u64,
    /// What became of instances beside that.
    pub churn: Churn,
    /// Time for which instances are charged and took no requests, seconds as they are billed.
    pub wasted_s: f64,
    /// How well supply followed demand; `None` where no number of instances would have been enough.
    pub elasticity: Option<Elasticity>,
    /// Seconds of ticks in which the SLO did not hold.
    pub violated_s: f64,
    /// Its length, seconds.
    pub seconds: f64,
    /// Its ticks, in order.
    pub ticks: Vec<Tick>,
    /// Decisions that changed something.
    pub decisions: Vec<Decided>,
}

/// What was done at a place behind the balancer in a stretch of the load: by the instances that
/// stood there, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct AtPlace {
    /// The end of the stretch, seconds since the start.
    pub at_s: f64,
    /// The place, from 0: the first in the balancer's list.
    pub slot: usize,
    /// How long an instance stood there that had begun to take requests, nanoseconds.
    pub ready_ns: u64,
    /// Requests that it served.
    pub served: u64,
    /// Processor time, over the number of its cores, seconds.
    pub cpu_s: f64,
    /// The time that requests were at it, summed up, seconds.
    pub stayed_s: f64,
}

impl AtPlace {
    /// Adds another stretch of the same place, or of the same place in another replication.
    pub fn add(&mut self, of: &Self) {
        self.at_s = self.at_s.max(of.at_s);
        self.ready_ns += of.ready_ns;
        self.served += of.served;
        self.cpu_s += of.cpu_s;
        self.stayed_s += of.stayed_s;
    }

    /// How long, seconds.
    #[must_use]
    pub fn ready_s(&self) -> f64 {
        self.ready_ns as f64 / 1e9
    }

    /// Processor time, per cent.
    #[must_use]
    pub fn cpu(&self) -> f64 {
        100.0 * (self.cpu_s / self.ready_s().max(1e-9)).min(1.0)
    }

    /// Requests that it served, per second.
    #[must_use]
    pub fn served_per_s(&self) -> f64 {
        self.served as f64 / self.ready_s().max(1e-9)
    }

    /// Requests at it, in the mean.
    #[must_use]
    pub fn concurrency(&self) -> f64 {
        self.stayed_s / self.ready_s().max(1e-9)
    }
}

/// What was seen in a tick.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tick {
    /// Its end, seconds since the start.
    pub at_s: f64,
    /// Requests due per second.
    pub rate: f64,
    /// Requests served per second.
    pub served: f64,
    /// Requests lost per second.
    pub lost: f64,
    /// Instances that took requests, in the mean.
    pub ready: f64,
    /// Instances that the rate needed; `None` where no number is enough.
    pub demand: Option<u32>,
    /// Processor time, per cent.
    pub cpu: f64,
    /// Mean response time, seconds; not a number without a served request.
    pub response_s: f64,
    /// The response time at the SLO's quantile, or p99, seconds.
    pub quantile_s: f64,
}

impl Outcome {
    /// Whether the SLO of its setup held, over all that was offered.
    #[must_use]
    pub fn holds(&self, slo: &Slo) -> bool {
        slo.clauses().iter().zip(&self.slo).all(|(clause, value)| holds(clause, *value))
    }

    /// Requests that were lost.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost.iter().sum()
    }

    /// A quantile of the response time, seconds; `None` where none was served.
    #[must_use]
    pub fn quantile_s(&self, quantile: f64) -> Option<f64> {
        let ns = within(&self.response, rank(quantile, self.response.count()));
        ns.map(|ns| ns as f64 / 1e9)
    }

    /// A percentile of the response time, microseconds; `None` where fewer than ten served requests
    /// lie beyond it ([`is_stated`]).
    #[must_use]
    pub fn percentile_us(&self, quantile: f64) -> Option<f64> {
        is_stated(quantile, self.response.count())
            .then(|| self.quantile_s(quantile))?
            .map(|s| 1e6 * s)
    }

    /// The mean response time, seconds; not a number where none was served.
    #[must_use]
    pub fn response_mean_s(&self) -> f64 {
        self.response_sum_ns as f64 / self.served as f64 / 1e9
    }
}
