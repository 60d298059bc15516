//! What the page of pools shows: policies with their figures and courses, as the cells of an
//! experiment keep them, or runs side by side.

use std::collections::BTreeMap;

use plimsoll_analysis::paired::{Difference, differences as differences_of, first_of};
use plimsoll_elastic::course::{About, Course, Decision};
use plimsoll_elastic::result::Paired;
use plimsoll_plan::POLICY;
use plimsoll_runs::{Run, RunError};
use plimsoll_stats::figure::{self, Figure};

use super::paired;
use super::places::{self, Place};
use crate::cells::{Cells, Row};
use crate::error::ReportError;

/// The policy that is told the future: it shows what could be, and is none to choose.
const ORACLE: &str = "oracle";

/// Pools that were given the same requests.
pub(crate) struct Pools<'a> {
    /// Where all of it is from.
    pub(super) cells: &'a Cells,
    /// What they are, in words.
    pub(super) about: About,
    /// The SLO; empty without one.
    pub(super) slo: String,
    /// The policies, in order.
    pub(super) policies: Vec<Policy<'a>>,
    /// Differences of policies from another.
    pub(super) paired: Vec<Paired>,
    /// The course of each policy's first replication, of those that kept it.
    pub(super) courses: Vec<Course>,
    /// What was done in it at each place behind the balancer, by the policy's label.
    pub(super) places: Vec<(String, BTreeMap<u32, Place>)>,
}

/// A policy, and what it came to.
pub(super) struct Policy<'a> {
    /// What it is called.
    pub(super) label: &'a str,
    /// Its kind.
    pub(super) kind: String,
    /// Whether the SLO held; `None` without one.
    pub(super) holds: Option<bool>,
    row: &'a Row,
}

impl Policy<'_> {
    /// The value of a figure.
    pub(super) fn value(&self, figure: &Figure) -> Option<f64> {
        self.row.value(figure)
    }

    /// The interval of a figure.
    pub(super) fn interval(&self, figure: &Figure) -> Option<(f64, f64)> {
        self.row.interval(figure)
    }

    /// Whether the policy could be run: the oracle could not.
    pub(super) fn is_real(&self) -> bool {
        self.kind != ORACLE
    }
}

impl<'a> Pools<'a> {
    /// What pools came to.
    pub(crate) fn of(cells: &'a Cells) -> Result<Self, ReportError> {
        let about: About = serde_json::from_str(&cells.about).unwrap_or_default();
        let slo = cells.slo.clone().unwrap_or_default();
        let policy = |row: &'a Row| Policy {
            label: &row.label,
            kind: about.kinds.get(row.level("policy")).cloned().unwrap_or_default(),
            holds: held(row),
            row,
        };
        let policies = cells.rows.iter().map(policy).collect();
        let (mut courses, mut places) = (Vec::new(), Vec::new());
        for row in &cells.rows {
            let Some(run) = &row.run else { continue };
            let found = course(run, row.label.clone(), "pool").map_err(ReportError::of(run))?;
            if !found.at_s.is_empty() {
                courses.push(found);
            }
            let found = places::of_run(run).map_err(ReportError::of(run))?;
            if !found.is_empty() {
                places.push((row.label.clone(), found));
            }
        }
        Ok(Self { cells, about, slo, policies, paired: differences(cells), courses, places })
    }

    /// Whether a request earns anything.
    pub(super) fn earns(&self) -> bool {
        let revenue = |policy: &Policy<'_>| policy.value(figure::REVENUE).unwrap_or(0.0);
        self.policies.iter().any(|policy| revenue(policy) > 0.0)
    }

    /// The course of a policy, where it was kept.
    pub(super) fn course(&self, policy: &Policy<'_>) -> Option<&Course> {
        self.courses.iter().find(|course| course.label == policy.label)
    }

    /// How long the pool lived, seconds of the time that it stands for; 0 where no course tells.
    pub(super) fn seconds(&self) -> f64 {
        let last = |course: &Course| course.at_s.last().copied().unwrap_or(0.0);
        self.about.speed.unwrap_or(1.0) * self.courses.iter().map(last).fold(0.0, f64::max)
    }
}

/// Whether the SLO held: as the simulation told of all replications, else in most of them; `None`
/// without an SLO.
fn held(row: &Row) -> Option<bool> {
    row.holds.or_else(|| Some(row.value(figure::SLO_HELD)? > 0.5))
}

/// The differences of each policy from the first one at the same levels, replication by
/// replication.
fn differences(cells: &Cells) -> Vec<Paired> {
    let mut all = Vec::new();
    for (number, row) in cells.rows.iter().enumerate() {
        let before = cells.rows[..number].iter().map(|row| &row.of);
        let Some((first, of)) = first_of(&row.of, before, POLICY) else { continue };
        let Some(found) = differences_of(&row.of, of, &paired::FIGURES) else { continue };
        let named = |of: &Difference| of.figure.name.to_owned();
        all.push(Paired {
            label: row.label.clone(),
            with: cells.rows[first].label.clone(),
            difference: found.iter().map(|of| (named(of), of.mean)).collect(),
            ci95: found.iter().map(|of| (named(of), of.ci95)).collect(),
        });
    }
    all
}

/// The course of a pool, from the series of its run whose names begin with a prefix, and from its
/// events.
pub(super) fn course(run: &Run, label: String, prefix: &str) -> Result<Course, RunError> {
    let at = |name: &str| -> Result<Vec<(u64, f64)>, RunError> {
        let known = |row: plimsoll_runs::SeriesRow| Some((row.at_ns, row.value?));
        Ok(run.series(&format!("{prefix}_{name}"))?.into_iter().filter_map(known).collect())
    };
    let rate = at("offered_requests_per_second")?;
    let values = |name: &str| -> Result<Vec<f64>, RunError> {
        let of: BTreeMap<u64, f64> = at(name)?.into_iter().collect();
        Ok(rate.iter().map(|(at, _)| of.get(at).copied().unwrap_or(f64::NAN)).collect())
    };
    let known = |values: Vec<f64>, unit: f64| {
        values.into_iter().map(|value| value.is_finite().then_some(value * unit)).collect()
    };
    let demand = values("demand_instances")?;
    Ok(Course {
        label,
        lost: values("lost_requests_per_second")?,
        ready: values("ready_instances")?,
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a number of instances"
        )]
        demand: demand.into_iter().map(|n| n.is_finite().then_some(n as u32)).collect(),
        cpu: values("cpu_ratio")?.into_iter().map(|ratio| 100.0 * ratio).collect(),
        response_us: known(values("response_mean_seconds")?, 1e6),
        quantile_us: known(values("response_quantile_seconds")?, 1e6),
        decisions: run.events()?.iter().filter_map(decision).collect(),
        at_s: rate.iter().map(|&(at, _)| at as f64 / 1e9).collect(),
        rate: rate.into_iter().map(|(_, rate)| rate).collect(),
    })
}

/// A decision, from the event that tells of it: `2 → 3 instances: why [cpu 71.25, rate 40]`.
fn decision(event: &plimsoll_runs::Event) -> Option<Decision> {
    if event.kind != "scale" {
        return None;
    }
    let (numbers, reason) = event.text.split_once(" instances: ")?;
    let (from, to) = numbers.split_once(" → ")?;
    let (reason, seen) = seen(reason).unwrap_or_else(|| (reason, Vec::new()));
    Some(Decision {
        at_s: event.at_ns as f64 / 1e9,
        from: from.parse().ok()?,
        to: to.parse().ok()?,
        reason: reason.to_owned(),
        seen,
    })
}

/// A reason, and what its policy had seen, which stands in brackets behind it.
fn seen(text: &str) -> Option<(&str, Vec<(String, f64)>)> {
    let (reason, seen) = text.strip_suffix(']')?.rsplit_once(" [")?;
    let one = |part: &str| {
        let (metric, value) = part.rsplit_once(' ')?;
        Some((metric.to_owned(), value.parse().ok()?))
    };
    Some((reason, seen.split(", ").map(one).collect::<Option<_>>()?))
}
