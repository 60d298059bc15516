//! What the page of simulated pools shows: policies with their figures and courses, made from the
//! result of a simulation, or from runs of pools.

use std::collections::BTreeMap;

use plimsoll_elastic::course::{About, Course, Decision, RevenueCurve, Simulation};
use plimsoll_elastic::result::{Paired, PolicyResult};
use plimsoll_runs::{Run, RunError};
use plimsoll_stats::figure::{self, Figure};

use crate::error::ReportError;

/// The policy that is told the future: it shows what could be, and is none to choose.
const ORACLE: &str = "oracle";

/// Pools that were simulated on the same requests.
pub(crate) struct Pools {
    /// What was simulated, in words.
    pub(super) about: About,
    /// The policies, in order.
    pub(super) policies: Vec<Policy>,
    /// Differences of policies from another.
    pub(super) paired: Vec<Paired>,
    /// The course of each policy's first replication.
    pub(super) courses: Vec<Course>,
    /// Revenue against instances; empty where nothing is earned.
    pub(super) revenue: Vec<RevenueCurve>,
    /// What a reader should know, a sentence each.
    pub(super) warnings: Vec<String>,
    /// Whether each policy is a run of its own, which need not have seen the same requests.
    pub(super) is_of_runs: bool,
}

/// A policy, and what it came to.
pub(super) struct Policy {
    /// What it is called.
    pub(super) label: String,
    /// Its kind.
    pub(super) kind: String,
    /// Its figures, by name.
    values: BTreeMap<String, f64>,
    /// Their 95% intervals, by name.
    pub(super) ci95: BTreeMap<String, (f64, f64)>,
    /// Requests lost, by cause.
    pub(super) lost_by: BTreeMap<String, f64>,
    /// Whether the SLO held; `None` without one.
    pub(super) holds: Option<bool>,
    /// The rule by which demand is told; empty where it is not known.
    pub(super) demand: String,
}

impl Policy {
    fn of(result: &PolicyResult) -> Self {
        let valued = figure::valued(|figure| result.value(figure));
        Self {
            label: result.label.clone(),
            kind: result.kind.clone(),
            values: valued.map(|(figure, value)| (figure.name.to_owned(), value)).collect(),
            ci95: result.ci95.clone(),
            lost_by: result.lost_by.clone(),
            holds: (!result.slo.is_empty()).then(|| result.holds()),
            demand: result.demand.clone(),
        }
    }

    fn of_run(run: &Run, label: String) -> Result<Self, RunError> {
        let rows = run.figures()?;
        let interval =
            |row: &plimsoll_runs::FigureRow| Some((row.name.clone(), (row.low?, row.high?)));
        Ok(Self {
            label,
            kind: run.meta().subject.clone(),
            ci95: rows.iter().filter_map(interval).collect(),
            values: rows.into_iter().map(|row| (row.name, row.value)).collect(),
            lost_by: BTreeMap::new(),
            holds: None,
            demand: String::new(),
        })
    }

    /// The value of a figure.
    pub(super) fn value(&self, figure: &Figure) -> Option<f64> {
        self.values.get(figure.name).copied().filter(|value| value.is_finite())
    }

    /// The interval of a figure.
    pub(super) fn interval(&self, figure: &Figure) -> Option<(f64, f64)> {
        let &(low, high) = self.ci95.get(figure.name)?;
        (low.is_finite() && high.is_finite()).then_some((low, high))
    }

    /// Whether the policy could be run: the oracle could not.
    pub(super) fn is_real(&self) -> bool {
        self.kind != ORACLE
    }
}

impl Pools {
    /// What a simulation came to.
    pub(crate) fn of(simulation: &Simulation) -> Self {
        Self {
            about: simulation.about.clone(),
            policies: simulation.result.policies.iter().map(Policy::of).collect(),
            paired: simulation.result.paired.clone(),
            courses: simulation.courses.clone(),
            revenue: simulation.revenue.clone(),
            warnings: simulation.result.warnings.clone(),
            is_of_runs: false,
        }
    }

    /// What runs of pools came to, each with its label, in order.
    pub(crate) fn of_runs(runs: &[Run]) -> Result<Self, ReportError> {
        let first = runs.first().map(Run::meta);
        let mut pools = Self {
            about: About {
                name: first.map(|meta| meta.name.clone()).unwrap_or_default(),
                load: String::new(),
                instance: String::new(),
                balancer: String::new(),
                billing: String::new(),
                slo: first.and_then(|meta| meta.slo.clone()).unwrap_or_default(),
                currency: String::new(),
                replications: 1,
                seed: first.map_or(0, |meta| meta.seed),
                clock_s: None,
            },
            policies: Vec::new(),
            paired: Vec::new(),
            courses: Vec::new(),
            revenue: Vec::new(),
            warnings: Vec::new(),
            is_of_runs: true,
        };
        for run in runs {
            let label = label(run, runs.len() > 1);
            let policy = Policy::of_run(run, label.clone()).map_err(ReportError::of(run))?;
            pools.policies.push(policy);
            pools.courses.push(course(run, label).map_err(ReportError::of(run))?);
        }
        Ok(pools)
    }

    /// Whether a request earns anything.
    pub(super) fn earns(&self) -> bool {
        let revenue = |policy: &Policy| policy.value(figure::REVENUE).unwrap_or(0.0);
        self.policies.iter().any(|policy| revenue(policy) > 0.0)
    }

    /// How long the load was, seconds; 0 where no course tells.
    pub(super) fn seconds(&self) -> f64 {
        let last = |course: &Course| course.at_s.last().copied().unwrap_or(0.0);
        self.courses.iter().map(last).fold(0.0, f64::max)
    }

    /// The rule by which demand is told; empty where it is not known.
    pub(super) fn demand(&self) -> &str {
        self.policies.first().map_or("", |policy| policy.demand.as_str())
    }
}

/// What a run of a pool is called: its plan's name, or its id; the id too, where there are several.
fn label(run: &Run, is_one_of_several: bool) -> String {
    let meta = run.meta();
    match (meta.name.is_empty(), is_one_of_several) {
        (true, _) => meta.id.clone(),
        (false, true) => format!("{} ({})", meta.name, meta.id),
        (false, false) => meta.name.clone(),
    }
}

/// The course of a pool, from the series and events of its run.
fn course(run: &Run, label: String) -> Result<Course, RunError> {
    let at = |name: &str| -> Result<Vec<(u64, f64)>, RunError> {
        let known = |row: plimsoll_runs::SeriesRow| Some((row.at_ns, row.value?));
        Ok(run.series(name)?.into_iter().filter_map(known).collect())
    };
    let rate = at("pool_offered_requests_per_second")?;
    let values = |name: &str| -> Result<Vec<f64>, RunError> {
        let of: BTreeMap<u64, f64> = at(name)?.into_iter().collect();
        Ok(rate.iter().map(|(at, _)| of.get(at).copied().unwrap_or(f64::NAN)).collect())
    };
    let known = |values: Vec<f64>, unit: f64| {
        values.into_iter().map(|value| value.is_finite().then_some(value * unit)).collect()
    };
    let demand = values("pool_demand_instances")?;
    Ok(Course {
        label,
        lost: values("pool_lost_requests_per_second")?,
        ready: values("pool_ready_instances")?,
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a number of instances"
        )]
        demand: demand.into_iter().map(|n| n.is_finite().then_some(n as u32)).collect(),
        cpu: values("pool_cpu_ratio")?.into_iter().map(|ratio| 100.0 * ratio).collect(),
        response_us: known(values("pool_response_mean_seconds")?, 1e6),
        quantile_us: known(values("pool_response_quantile_seconds")?, 1e6),
        decisions: run.events()?.iter().filter_map(decision).collect(),
        at_s: rate.iter().map(|&(at, _)| at as f64 / 1e9).collect(),
        rate: rate.into_iter().map(|(_, rate)| rate).collect(),
    })
}

/// A decision, from the event that tells of it: `2 → 3 instances: why`.
fn decision(event: &plimsoll_runs::Event) -> Option<Decision> {
    if event.kind != "scale" {
        return None;
    }
    let (numbers, reason) = event.text.split_once(" instances: ")?;
    let (from, to) = numbers.split_once(" → ")?;
    Some(Decision {
        at_s: event.at_ns as f64 / 1e9,
        from: from.parse().ok()?,
        to: to.parse().ok()?,
        reason: reason.to_owned(),
        seen: Vec::new(),
    })
}
