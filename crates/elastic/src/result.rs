//! What `plimsoll simulate --json` says: one object, times in microseconds, a row for each policy.

use crate::simulated::Outcome;
use crate::simulated::engine::Loss;
use plimsoll_stats::interval::{self, LEVEL};
use plimsoll_stats::{Histogram, Percentiles};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the format.
pub const SCHEMA: u32 = 1;

/// A simulation of several policies on the same requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SimulationResult {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What a reader has to know, one sentence each.
    pub warnings: Vec<String>,
    /// A policy each, in the order of the plan.
    pub policies: Vec<PolicyResult>,
    /// Differences of each policy from the first, on the same requests.
    pub paired: Vec<Paired>,
    /// The time it took: the only part that differs between two runs with one seed.
    pub timing: Timing,
}

/// One policy: means over its replications.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PolicyResult {
    /// The name that the plan gives it.
    pub label: String,
    /// The kind of policy.
    pub kind: String,
    /// How many replications.
    pub replications: usize,
    /// Hours of instances that are charged.
    pub instance_hours: f64,
    /// Hours of instances that were used.
    pub instance_hours_used: f64,
    /// What it costs.
    pub cost: f64,
    /// Requests due.
    pub offered: f64,
    /// Requests that were served.
    pub served: f64,
    /// Requests that were lost.
    pub lost: f64,
    /// By cause.
    pub lost_by: BTreeMap<String, f64>,
    /// Requests that were neither served nor lost: none, as those that are there at the end of the
    /// load are followed to their own, unless they wait at the balancer without a bound for an
    /// instance that never comes.
    pub in_flight_at_end: f64,
    /// What the served requests earn.
    pub revenue: f64,
    /// Less the cost.
    pub net: f64,
    /// Response times of the served requests, of all replications.
    pub response_us: Percentiles,
    /// The mean processor time, per cent.
    pub cpu_mean: f64,
    /// Instances that were launched.
    pub scale_out: f64,
    /// Instances that were ended.
    pub scale_in: f64,
    /// Too few instances.
    pub under: Off,
    /// Too many.
    pub over: Off,
    /// Instances launched and ended beyond what demand changed by, an hour.
    pub jitter_per_hour: f64,
    /// Seconds of ticks in which the SLO did not hold.
    pub slo_violated_s: f64,
    /// The rule by which demand is told.
    pub demand: String,
    /// Intervals of the means, by field; left out for a single replication.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ci95: BTreeMap<String, (f64, f64)>,
}

/// How far the supply was off to one side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Off {
    /// By how many instances, in the mean over all the time.
    pub accuracy: f64,
    /// For which share of the time.
    pub timeshare: f64,
}

/// The difference of a policy from the first, replication by replication.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Paired {
    /// The policy.
    pub label: String,
    /// The one that it is compared with.
    pub with: String,
    /// Means of the differences, by field.
    pub difference: BTreeMap<String, f64>,
    /// Their intervals.
    pub ci95: BTreeMap<String, (f64, f64)>,
}

/// The time it took.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Timing {
    /// By the clock, seconds.
    pub wall_s: f64,
    /// Of processors, seconds.
    pub cpu_s: f64,
    /// Simulated requests for each of these.
    pub requests_per_cpu_s: f64,
}

/// A figure of an outcome, by its field.
type Figure = (&'static str, fn(&Outcome) -> f64);

/// The figures that have intervals.
const FIGURES: [Figure; 14] = [
    ("instance_hours", |of| of.bill.hours),
    ("instance_hours_used", |of| of.bill.hours_used),
    ("cost", |of| of.bill.cost),
    ("offered", |of| of.offered as f64),
    ("served", |of| of.served as f64),
    ("lost", |of| of.lost() as f64),
    ("revenue", |of| of.bill.revenue),
    ("net", |of| of.bill.revenue - of.bill.cost),
    ("response_mean_us", |of| 1e6 * of.response_mean_s()),
    ("response_p99_us", |of| {
        of.response.value_at_quantile(0.99).map_or(f64::NAN, |ns| ns as f64 / 1e3)
    }),
    ("cpu_mean", |of| of.cpu_mean),
    ("scale_out", |of| of.scale_out as f64),
    ("scale_in", |of| of.scale_in as f64),
    ("slo_violated_s", |of| of.violated_s),
];

fn mean(outcomes: &[Outcome], of: impl Fn(&Outcome) -> f64) -> f64 {
    outcomes.iter().map(of).sum::<f64>() / outcomes.len().max(1) as f64
}

impl PolicyResult {
    /// Of the replications of a policy.
    #[must_use]
    pub fn of(label: &str, kind: &str, demand: &str, outcomes: &[Outcome]) -> Self {
        let mut response = Histogram::new();
        for outcome in outcomes {
            response.add(&outcome.response);
        }
        let figure = |name: &str| {
            let of = FIGURES.iter().find(|(field, _)| *field == name).map(|(_, of)| *of);
            mean(outcomes, of.unwrap_or_else(|| unreachable!("{name} is a figure")))
        };
        let lost_by = Loss::ALL
            .map(|why| (why.name().to_owned(), mean(outcomes, |of| of.lost[why as usize] as f64)));
        let off = |of: fn(&Outcome) -> plimsoll_stats::elasticity::Off| Off {
            accuracy: mean(outcomes, |outcome| of(outcome).accuracy),
            timeshare: mean(outcomes, |outcome| of(outcome).timeshare),
        };
        let ci95 = FIGURES.iter().filter_map(|(name, of)| {
            let values: Vec<f64> = outcomes.iter().map(of).collect();
            let found = interval::mean(&values, LEVEL).ok()?;
            found.low.is_finite().then(|| ((*name).to_owned(), (found.low, found.high)))
        });
        Self {
            label: label.to_owned(),
            kind: kind.to_owned(),
            replications: outcomes.len(),
            instance_hours: figure("instance_hours"),
            instance_hours_used: figure("instance_hours_used"),
            cost: figure("cost"),
            offered: figure("offered"),
            served: figure("served"),
            lost: figure("lost"),
            lost_by: lost_by.into_iter().collect(),
            in_flight_at_end: mean(outcomes, |of| of.in_flight() as f64),
            revenue: figure("revenue"),
            net: figure("net"),
            response_us: Percentiles::of(&response),
            cpu_mean: figure("cpu_mean"),
            scale_out: figure("scale_out"),
            scale_in: figure("scale_in"),
            under: off(|of| of.elasticity.under),
            over: off(|of| of.elasticity.over),
            jitter_per_hour: mean(outcomes, |of| 3600.0 * of.elasticity.jitter_per_s),
            slo_violated_s: figure("slo_violated_s"),
            demand: demand.to_owned(),
            ci95: ci95.collect(),
        }
    }
}

impl Paired {
    /// The differences of one policy's replications from another's, which saw the same requests;
    /// `None` where there are fewer than two, or not as many of both.
    #[must_use]
    pub fn of(label: &str, outcomes: &[Outcome], with: &str, others: &[Outcome]) -> Option<Self> {
        if outcomes.len() < 2 || outcomes.len() != others.len() {
            return None;
        }
        let (mut difference, mut ci95) = (BTreeMap::new(), BTreeMap::new());
        for (name, of) in FIGURES {
            let values: Vec<f64> =
                outcomes.iter().zip(others).map(|(a, b)| of(a) - of(b)).collect();
            let Ok(found) = interval::mean(&values, LEVEL) else { continue };
            difference.insert(name.to_owned(), found.value);
            ci95.insert(name.to_owned(), (found.low, found.high));
        }
        Some(Self { label: label.to_owned(), with: with.to_owned(), difference, ci95 })
    }
}
