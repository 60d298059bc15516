//! What `plimsoll simulate --json` says: one object, times in microseconds, a row for each policy.

use crate::objective::holds;
use crate::outcome::{AtPlace, Loss, Outcome};
use plimsoll_stats::elasticity::{self, Elasticity};
use plimsoll_stats::figure::{self, Figure};
use plimsoll_stats::interval::{self, LEVEL};
use plimsoll_stats::slo::{self, Clause, Metric, Verdict, few_beyond};
use plimsoll_stats::{Histogram, Percentiles, Slo};
use plimsoll_workload::instance_type::{PricedPool, PricedType};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the format.
pub const SCHEMA: u32 = 1;

/// The kind of the event that says of a policy whether the SLO held over its replications.
pub const SLO: &str = "slo";
/// What that event says where it held.
pub const HELD: &str = "held";

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
    /// The instance types that were compared, each with its cheapest pool; empty without types.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<PricedType>,
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
    /// The label of its instance type; `None` where the plan names none.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub instance_type: Option<String>,
    /// How many replications.
    pub replications: usize,
    /// Hours of instances that are charged.
    pub instance_hours: f64,
    /// Hours of instances that were used.
    pub instance_hours_used: f64,
    /// What it costs.
    pub cost: f64,
    /// That, over the requests that were served, where instance types are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_per_request: Option<f64>,
    /// Requests due.
    pub offered: f64,
    /// Requests that were served.
    pub served: f64,
    /// Requests that were lost.
    pub lost: f64,
    /// By cause.
    pub lost_by: BTreeMap<String, f64>,
    /// Requests that were neither served nor lost when the load ended.
    pub in_flight_at_end: f64,
    /// What the served requests earn.
    pub revenue: f64,
    /// Less the cost.
    pub net: f64,
    /// Response times of the served requests, of all replications together.
    pub response_us: Percentiles,
    /// The mean of the replications' mean response times: what its interval is of. `None` where a
    /// replication served none.
    pub response_mean_us: Option<f64>,
    /// The mean of the replications' own p99. `None` where fewer than ten requests lie beyond that
    /// of a replication.
    pub response_p99_us: Option<f64>,
    /// The mean processor time, per cent.
    pub cpu_mean: f64,
    /// What was done at each place behind the balancer, in its order: how evenly it spreads its
    /// requests. Empty of a live pool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<Place>,
    /// Instances that were launched.
    pub scale_out: f64,
    /// Instances that were ended.
    pub scale_in: f64,
    /// Too few instances; `None` where no number would have been enough.
    pub under: Option<Off>,
    /// Too many; as `under`.
    pub over: Option<Off>,
    /// Instances launched and ended beyond what demand changed by, an hour; as `under`.
    pub jitter_per_hour: Option<f64>,
    /// Whether each clause of the SLO held, by the mean over the replications of what was found
    /// over all that was offered; empty without an SLO.
    #[serde(default)]
    pub slo: Vec<Verdict>,
    /// Seconds of ticks in which the SLO did not hold.
    pub slo_violated_s: f64,
    /// The rule by which demand is told.
    pub demand: String,
    /// Intervals of the means, by field; left out for a single replication.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ci95: BTreeMap<String, (f64, f64)>,
}

/// What the instances at a place came to, one after the other: means over the replications.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// The place in the balancer's list, from 1.
    pub place: usize,
    /// How long an instance took requests there, seconds.
    pub ready_s: f64,
    /// Requests that it served.
    pub served: f64,
    /// The same per second of that time.
    pub served_per_s: f64,
    /// Processor time, per cent.
    pub cpu_mean: f64,
    /// Requests at it, in the mean.
    pub concurrency: f64,
}

/// The places of all replications, each over all its time.
fn places(outcomes: &[Outcome]) -> Vec<Place> {
    let mut sums: BTreeMap<usize, AtPlace> = BTreeMap::new();
    for of in outcomes.iter().flat_map(|of| &of.at_places) {
        sums.entry(of.slot).or_default().add(of);
    }
    let count = outcomes.len().max(1) as f64;
    let place = |(slot, of): (usize, AtPlace)| Place {
        place: slot + 1,
        ready_s: of.ready_s() / count,
        served: of.served as f64 / count,
        served_per_s: of.served_per_s(),
        cpu_mean: of.cpu(),
        concurrency: of.concurrency(),
    };
    sums.into_iter().map(place).collect()
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

/// The figures that have intervals.
const ESTIMATED: [&Figure; 15] = [
    figure::INSTANCE_HOURS,
    figure::INSTANCE_HOURS_USED,
    figure::COST,
    figure::OFFERED,
    figure::SERVED,
    figure::LOST,
    figure::IN_FLIGHT_AT_END,
    figure::REVENUE,
    figure::NET,
    figure::RESPONSE_MEAN_US,
    figure::RESPONSE_P99_US,
    figure::CPU_MEAN,
    figure::SCALE_OUT,
    figure::SCALE_IN,
    figure::SLO_VIOLATED_S,
];

/// Takes a figure's value from a policy's result; `None` where there is none.
type Take = fn(&PolicyResult) -> Option<f64>;

/// All figures of a policy's result, each with the function that takes it.
const TAKEN: [(&Figure, Take); 27] = [
    (figure::INSTANCE_HOURS, |of| Some(of.instance_hours)),
    (figure::INSTANCE_HOURS_USED, |of| Some(of.instance_hours_used)),
    (figure::COST, |of| Some(of.cost)),
    (figure::OFFERED, |of| Some(of.offered)),
    (figure::SERVED, |of| Some(of.served)),
    (figure::LOST, |of| Some(of.lost)),
    (figure::LOST_SHARE, |of| (of.offered > 0.0).then(|| of.lost / of.offered)),
    (figure::IN_FLIGHT_AT_END, |of| Some(of.in_flight_at_end)),
    (figure::REVENUE, |of| Some(of.revenue)),
    (figure::NET, |of| Some(of.net)),
    (figure::RESPONSE_MEAN_US, |of| of.response_mean_us),
    (figure::RESPONSE_P99_US, |of| of.response_p99_us),
    (figure::RESPONSE_US_MIN, |of| of.response_us.min),
    (figure::RESPONSE_US_P50, |of| of.response_us.p50),
    (figure::RESPONSE_US_P90, |of| of.response_us.p90),
    (figure::RESPONSE_US_P95, |of| of.response_us.p95),
    (figure::RESPONSE_US_P999, |of| of.response_us.p999),
    (figure::RESPONSE_US_MAX, |of| of.response_us.max),
    (figure::CPU_MEAN, |of| Some(of.cpu_mean)),
    (figure::SCALE_OUT, |of| Some(of.scale_out)),
    (figure::SCALE_IN, |of| Some(of.scale_in)),
    (figure::UNDER_ACCURACY, |of| of.under.map(|off| off.accuracy)),
    (figure::UNDER_TIMESHARE, |of| of.under.map(|off| off.timeshare)),
    (figure::OVER_ACCURACY, |of| of.over.map(|off| off.accuracy)),
    (figure::OVER_TIMESHARE, |of| of.over.map(|off| off.timeshare)),
    (figure::JITTER_PER_HOUR, |of| of.jitter_per_hour),
    (figure::SLO_VIOLATED_S, |of| Some(of.slo_violated_s)),
];

/// A figure's value of a replication; not a number where there is none.
fn value(of: &Outcome, figure: &Figure) -> f64 {
    of.value(figure).unwrap_or(f64::NAN)
}

fn mean(outcomes: &[Outcome], of: impl Fn(&Outcome) -> f64) -> f64 {
    outcomes.iter().map(of).sum::<f64>() / outcomes.len().max(1) as f64
}

/// A mean where every replication has a value.
fn known(outcomes: &[Outcome], of: impl Fn(&Outcome) -> Option<f64>) -> Option<f64> {
    let all: Option<Vec<f64>> = outcomes.iter().map(of).collect();
    all.map(|all| all.iter().sum::<f64>() / all.len().max(1) as f64)
}

/// The response times of all replications. Their mean is exact, and no percentile lies beyond the
/// greatest of them, as the end of its bucket may.
pub(crate) fn response(outcomes: &[Outcome]) -> Percentiles {
    let mut response = Histogram::new();
    outcomes.iter().for_each(|of| response.add(&of.response));
    let mut all = Percentiles::of(&response);
    let sum_ns: u128 = outcomes.iter().map(|of| of.response_sum_ns).sum();
    all.mean = all.mean.map(|_| sum_ns as f64 / all.count as f64 / 1e3);
    let Percentiles { p25, p50, p66, p75, p80, p90, p95, p98, p99, p999, p9999, .. } = &mut all;
    let greatest = response.max().map_or(f64::INFINITY, |ns| ns as f64 / 1e3);
    for value in [p25, p50, p66, p75, p80, p90, p95, p98, p99, p999, p9999] {
        *value = value.map(|us| us.min(greatest));
    }
    all
}

/// The verdict on a clause, by its number in the SLO: by the mean over the replications of what was
/// found over all that was offered.
fn verdict(clause: &Clause, number: usize, outcomes: &[Outcome]) -> Verdict {
    let value = known(outcomes, |of| of.slo.get(number).copied().flatten());
    let is_idle = outcomes.iter().all(|of| of.offered == 0);
    let lost = mean(outcomes, |of| of.lost() as f64);
    let note = match clause.metric {
        _ if clause.is_of_seconds() => {
            let why = "a simulation judges no second by itself";
            Some(format!("{}: {why}", slo::NOT_RESOLVABLE))
        }
        Metric::Availability => {
            Some("down are ticks in which requests were lost and none was served".to_owned())
        }
        Metric::Watched(_) => {
            Some(format!("{}: nothing is watched in a simulation", slo::NOT_RESOLVABLE))
        }
        Metric::Counted(_) => {
            Some(format!("{}: a simulated pool has no users", slo::NOT_RESOLVABLE))
        }
        Metric::Time(_, slo::Figure::Quantile(quantile)) if value.is_some() => {
            outcomes.iter().find_map(|of| few_beyond(quantile, of.offered))
        }
        _ if value.is_some() => None,
        _ if is_idle => Some(slo::NOTHING_DUE.to_owned()),
        _ => Some(format!("beyond every bound: {lost:.0} requests were lost")),
    };
    Verdict { expr: clause.expr.clone(), value, pass: holds(clause, value), note }
}

impl PolicyResult {
    /// Of the replications of a policy.
    #[must_use]
    pub fn of(
        label: &str,
        kind: &str,
        demand: &str,
        slo: Option<&Slo>,
        outcomes: &[Outcome],
    ) -> Self {
        let of_all = |figure: &Figure| mean(outcomes, |of| value(of, figure));
        let finite = |figure: &Figure| Some(of_all(figure)).filter(|value| value.is_finite());
        let lost_by = Loss::ALL
            .map(|why| (why.name().to_owned(), mean(outcomes, |of| of.lost[why as usize] as f64)));
        let off = |of: fn(&Elasticity) -> elasticity::Off| {
            let of = |outcome: &Outcome| outcome.elasticity.as_ref().map(of);
            let accuracy = known(outcomes, |outcome| of(outcome).map(|off| off.accuracy))?;
            let timeshare = known(outcomes, |outcome| of(outcome).map(|off| off.timeshare))?;
            Some(Off { accuracy, timeshare })
        };
        let ci95 = ESTIMATED.iter().filter_map(|figure| {
            let values: Vec<f64> = outcomes.iter().map(|of| value(of, figure)).collect();
            let found = interval::mean(&values, LEVEL).ok()?;
            let (least, greatest) = figure.unit.range();
            let interval = (found.low.max(least), found.high.min(greatest));
            found.low.is_finite().then(|| (figure.name.to_owned(), interval))
        });
        let clauses = slo.into_iter().flat_map(Slo::clauses).enumerate();
        Self {
            label: label.to_owned(),
            kind: kind.to_owned(),
            instance_type: None,
            replications: outcomes.len(),
            instance_hours: of_all(figure::INSTANCE_HOURS),
            instance_hours_used: of_all(figure::INSTANCE_HOURS_USED),
            cost: of_all(figure::COST),
            cost_per_request: None,
            offered: of_all(figure::OFFERED),
            served: of_all(figure::SERVED),
            lost: of_all(figure::LOST),
            lost_by: lost_by.into_iter().collect(),
            in_flight_at_end: of_all(figure::IN_FLIGHT_AT_END),
            revenue: of_all(figure::REVENUE),
            net: of_all(figure::NET),
            response_us: response(outcomes),
            response_mean_us: finite(figure::RESPONSE_MEAN_US),
            response_p99_us: finite(figure::RESPONSE_P99_US),
            cpu_mean: of_all(figure::CPU_MEAN),
            instances: places(outcomes),
            scale_out: of_all(figure::SCALE_OUT),
            scale_in: of_all(figure::SCALE_IN),
            under: off(|of| of.under),
            over: off(|of| of.over),
            jitter_per_hour: known(outcomes, |of| {
                // Not −0 where nothing changed.
                of.elasticity.map(|elasticity| 3600.0 * elasticity.jitter_per_s + 0.0)
            }),
            slo: clauses.map(|(number, of)| verdict(of, number, outcomes)).collect(),
            slo_violated_s: of_all(figure::SLO_VIOLATED_S),
            demand: demand.to_owned(),
            ci95: ci95.collect(),
        }
    }

    /// The same, of instances of a type.
    #[must_use]
    pub fn of_type(mut self, label: &str) -> Self {
        self.instance_type = Some(label.to_owned());
        self.cost_per_request = (self.served > 0.0).then(|| self.cost / self.served);
        self
    }

    /// What it costs, to be compared with other pools.
    #[must_use]
    pub fn priced(&self) -> PricedPool {
        PricedPool {
            policy: self.label.clone(),
            cost: self.cost,
            cost_per_request: self.cost_per_request,
            slo: (!self.slo.is_empty()).then(|| self.holds()),
        }
    }

    /// The value of a figure; `None` where there is none, and for figures that no pool has.
    #[must_use]
    pub fn value(&self, figure: &Figure) -> Option<f64> {
        let (_, take) = TAKEN.iter().find(|(of, _)| *of == figure)?;
        take(self)
    }

    /// All figures that there are, in the order of the registry, with their values.
    pub fn figures(&self) -> impl Iterator<Item = (&'static Figure, f64)> {
        figure::valued(|figure| self.value(figure))
    }

    /// Whether all clauses of the SLO held.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.slo.iter().all(|verdict| verdict.pass)
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
        for figure in ESTIMATED {
            let less = |(a, b): (&Outcome, &Outcome)| value(a, figure) - value(b, figure);
            let values: Vec<f64> = outcomes.iter().zip(others).map(less).collect();
            let Ok(found) = interval::mean(&values, LEVEL) else { continue };
            difference.insert(figure.name.to_owned(), found.value);
            ci95.insert(figure.name.to_owned(), (found.low, found.high));
        }
        Some(Self { label: label.to_owned(), with: with.to_owned(), difference, ci95 })
    }
}
