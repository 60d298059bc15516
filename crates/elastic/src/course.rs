//! What is drawn of a simulation: the course of each policy's first replication, and what the
//! revenue would be for every number of instances.

use crate::observation::Metric;
use crate::outcome::{Outcome, Tick};
use crate::policy::{Facts, revenue_per_hour};
use crate::result::SimulationResult;
use plimsoll_workload::instance_type::InstanceType;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most ticks of a course; of more, neighbours are taken together.
const MOST_TICKS: usize = 20_000;
/// No curve goes further than so many instances.
const MOST_INSTANCES: u32 = 1000;

/// A simulation, as the terminal tells of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulation {
    /// The result.
    pub result: SimulationResult,
    /// What was simulated, in words.
    pub about: About,
    /// A course for each policy, in the order of the result.
    pub courses: Vec<Course>,
}

/// What is simulated, in words for a reader: what the record of its cells keeps of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// The load, its arrivals and where it comes from.
    pub load: String,
    /// Instances: cores, service time, limits.
    pub instance: String,
    /// The instance types that are compared; empty where the plan names none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<InstanceType>,
    /// The balancer.
    pub balancer: String,
    /// Prices.
    pub billing: String,
    /// The sign before amounts of money.
    pub currency: String,
    /// The time of day at which the load starts, seconds since midnight, where the load has one.
    pub clock_s: Option<f64>,
    /// How many seconds of the pool's life pass in one of the clock; nothing where time is not
    /// compressed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<f64>,
    /// The rule by which demand is told.
    pub demand: String,
    /// The kind of each policy, by its label.
    pub kinds: BTreeMap<String, String>,
    /// Revenue against instances, for the mean and the greatest rate; empty where nothing is
    /// earned.
    pub revenue: Vec<RevenueCurve>,
}

/// The course of one replication, tick by tick.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Course {
    /// The policy's label.
    pub label: String,
    /// Ends of ticks, seconds since the start.
    pub at_s: Vec<f64>,
    /// Requests per second.
    pub rate: Vec<f64>,
    /// Requests lost per second.
    pub lost: Vec<f64>,
    /// Instances that took requests, in the mean.
    pub ready: Vec<f64>,
    /// Instances that the rate needed; nothing where no number is enough.
    pub demand: Vec<Option<u32>>,
    /// Processor time, per cent.
    pub cpu: Vec<f64>,
    /// Mean response time, microseconds; nothing where none was served.
    pub response_us: Vec<Option<f64>>,
    /// Response time at the SLO's quantile, microseconds.
    pub quantile_us: Vec<Option<f64>>,
    /// What was decided.
    pub decisions: Vec<Decision>,
}

/// A decision that changed the pool.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// When, seconds since the start.
    pub at_s: f64,
    /// Instances before, those that boot counted.
    pub from: u32,
    /// Instances to be.
    pub to: u32,
    /// Why, in a sentence.
    pub reason: String,
    /// The last point of each metric that the policy had seen, by name.
    pub seen: Vec<(String, f64)>,
}

/// Revenue net of instances per hour, by the number of instances, at one rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RevenueCurve {
    /// Requests per second.
    pub rate_per_s: f64,
    /// Which rate that is: `mean`, `greatest`.
    pub which: String,
    /// With 1, 2, … instances, by the modified rule.
    pub modified: Vec<f64>,
    /// By Erlang's formula B.
    pub erlang_b: Vec<f64>,
}

impl Course {
    /// Of a replication.
    #[must_use]
    pub fn of(label: &str, outcome: &Outcome) -> Self {
        let us = |seconds: f64| seconds.is_finite().then_some(1e6 * seconds);
        let each = outcome.ticks.len().div_ceil(MOST_TICKS).max(1);
        let ticks = together(&outcome.ticks, each);
        let decisions = outcome.decisions.iter().map(|of| Decision {
            at_s: of.at_ns as f64 / 1e9,
            from: of.from,
            to: of.to,
            reason: of.reason.clone(),
            seen: Metric::ALL
                .into_iter()
                .zip(of.seen)
                .filter(|(_, value)| value.is_finite())
                .map(|(metric, value)| (metric.name().to_owned(), value))
                .collect(),
        });
        Self {
            label: label.to_owned(),
            at_s: ticks.iter().map(|of| of.at_s).collect(),
            rate: ticks.iter().map(|of| of.rate).collect(),
            lost: ticks.iter().map(|of| of.lost).collect(),
            ready: ticks.iter().map(|of| of.ready).collect(),
            demand: ticks.iter().map(|of| of.demand).collect(),
            cpu: ticks.iter().map(|of| of.cpu).collect(),
            response_us: ticks.iter().map(|of| us(of.response_s)).collect(),
            quantile_us: ticks.iter().map(|of| us(of.quantile_s)).collect(),
            decisions: decisions.collect(),
        }
    }
}

/// So many neighbouring ticks as one: means over their time, the mean response of what they served,
/// and the greatest demand and quantile.
fn together(ticks: &[Tick], each: usize) -> Vec<Tick> {
    let mut start_s = 0.0;
    let one = |chunk: &[Tick]| {
        let end_s = chunk.last().map_or(start_s, |last| last.at_s);
        let from_s = std::mem::replace(&mut start_s, end_s);
        let starts = std::iter::once(from_s).chain(chunk.iter().map(|of| of.at_s));
        let lengths: Vec<f64> = chunk.iter().zip(starts).map(|(of, from)| of.at_s - from).collect();
        let sum = |of: &dyn Fn(&Tick) -> f64| -> f64 {
            chunk.iter().zip(&lengths).map(|(tick, seconds)| of(tick) * seconds).sum()
        };
        let seconds = end_s - from_s;
        let waited = sum(&|of| if of.served > 0.0 { of.served * of.response_s } else { 0.0 });
        let demands: Option<Vec<u32>> = chunk.iter().map(|of| of.demand).collect();
        Tick {
            at_s: end_s,
            rate: sum(&|of| of.rate) / seconds,
            served: sum(&|of| of.served) / seconds,
            lost: sum(&|of| of.lost) / seconds,
            ready: sum(&|of| of.ready) / seconds,
            demand: demands.and_then(|all| all.into_iter().max()),
            cpu: sum(&|of| of.cpu) / seconds,
            response_s: waited / sum(&|of| of.served),
            quantile_s: chunk.iter().map(|of| of.quantile_s).fold(f64::NAN, f64::max),
        }
    };
    if each == 1 { ticks.to_vec() } else { ticks.chunks(each).map(one).collect() }
}

impl RevenueCurve {
    /// For 1 to `most` instances at a rate; `None` where a request earns nothing.
    #[must_use]
    pub fn of(which: &str, rate_per_s: f64, facts: &Facts, most: u32) -> Option<Self> {
        if facts.income <= 0.0 {
            return None;
        }
        let most = most.min(MOST_INSTANCES);
        let curve = |is_erlang: bool| {
            (1..=most).map(|n| revenue_per_hour(facts, is_erlang, n, rate_per_s)).collect()
        };
        let (modified, erlang_b) = (curve(false), curve(true));
        Some(Self { rate_per_s, which: which.to_owned(), modified, erlang_b })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_ticks_are_taken_together() {
        let tick = |at_s: f64, rate: f64, served: f64, response_s: f64| Tick {
            at_s,
            rate,
            served,
            lost: 0.0,
            ready: rate,
            demand: Some(2),
            cpu: 50.0,
            response_s,
            quantile_s: response_s,
        };
        let ticks =
            [tick(1.0, 2.0, 1.0, 3.0), tick(4.0, 6.0, 0.0, f64::NAN), tick(5.0, 1.0, 1.0, 1.0)];
        let two = together(&ticks, 2);
        let found: Vec<_> = two.iter().map(|of| (of.at_s, of.rate, of.response_s)).collect();
        assert_eq!(found, [(4.0, 5.0, 3.0), (5.0, 1.0, 1.0)]);
        assert_eq!((two[0].served, two[0].quantile_s, two[0].demand), (0.25, 3.0, Some(2)));
        assert_eq!(together(&ticks, 1).len(), 3);
    }
}
