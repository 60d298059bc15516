//! A simulated pool as a world: a cell is a policy in one replication, in which all policies see
//! the same requests. What comes of all cells together is a simulation.

use super::contents;
use super::model::{Model, Named, simulates};
use super::words;
use crate::engine::{Execution, World};
use crate::error::ExperimentError;
use crate::prepare::scenario::files_of;
use crate::record::{CellPlan, Subject, rows_of};
use crate::world::load::identity;
use plimsoll_elastic::course::{Course, Simulation};
use plimsoll_elastic::demand::MOST;
use plimsoll_elastic::outcome::Outcome;
use plimsoll_elastic::policy;
use plimsoll_elastic::result::{Paired, PolicyResult, SCHEMA, SimulationResult, Timing};
use plimsoll_elastic::simulated::run;
use plimsoll_plan::Plan;
use plimsoll_runs::experiment::Cell;
use plimsoll_runs::{Kind, RunWriter};
use plimsoll_stats::figure;
use plimsoll_units::{show_count, show_duration};
use plimsoll_workload::instance_type::{InstanceType, PricedType};
use plimsoll_workload::random::seed_of;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The cells of a model: each policy in each replication, replication by replication.
#[derive(Debug, Clone)]
pub struct Grid {
    /// So many cells stand before them.
    pub before: u64,
    /// How many policies.
    pub policies: usize,
    /// The replications.
    pub replications: Range<u64>,
}

impl Grid {
    /// How many cells there are.
    #[must_use]
    pub fn cells(&self) -> u64 {
        self.policies as u64 * (self.replications.end - self.replications.start)
    }

    /// The cells as policies and replications, in their order.
    pub fn places(&self) -> impl Iterator<Item = (usize, u64)> + use<> {
        let policies = self.policies;
        self.replications.clone().flat_map(move |number| (0..policies).map(move |of| (of, number)))
    }

    /// Whether a cell is one of them.
    pub(crate) fn has(&self, place: u32) -> bool {
        (self.before..self.before + self.cells()).contains(&(u64::from(place) - 1))
    }

    /// The number of a cell.
    #[must_use]
    pub fn number(&self, policy: usize, replication: u64) -> u32 {
        let rows = (replication - self.replications.start) * self.policies as u64;
        u32::try_from(self.before + rows + policy as u64 + 1).unwrap_or(u32::MAX)
    }

    /// The policy and the replication of a cell.
    pub(super) fn at(&self, place: u32) -> (usize, u64) {
        let place = u64::from(place) - 1 - self.before;
        let policies = self.policies as u64;
        (usize::try_from(place % policies).unwrap_or(0), self.replications.start + place / policies)
    }
}

/// The cells of a plan's policies, beside levels that they have in common.
pub fn cells<'a>(
    model: &'a Model,
    grid: &'a Grid,
    levels: &'a [(String, String)],
) -> impl Iterator<Item = CellPlan> + 'a {
    grid.places().map(move |(policy, replication)| {
        let label = ("policy".to_owned(), model.policies[policy].label.clone());
        CellPlan {
            number: grid.number(policy, replication),
            factors: std::iter::once(label).chain(levels.iter().cloned()).collect(),
            replication: u32::try_from(replication).unwrap_or(u32::MAX),
            block: 0,
            seed: seed_of(model.setup.seed, replication),
        }
    })
}

/// What a plan's pool is, for its record; `here` is the working folder.
#[must_use]
pub fn subject(plan: &Plan, model: &Model, here: &Path) -> Subject {
    subject_of(plan, &[(plan, model)], here)
}

/// The same of a plan of several models, each with the plan that it is of.
#[must_use]
pub fn subject_of(plan: &Plan, cases: &[(&Plan, &Model)], here: &Path) -> Subject {
    let model = cases[0].1;
    let (requests, long) = (model.schedule.total(), model.schedule.duration_ns());
    Subject {
        name: plan.name.clone().unwrap_or_default(),
        kind: Kind::Pool,
        world: plimsoll_runs::World::Simulated,
        what: format!("a pool, {} requests in {}", show_count(requests), show_duration(long)),
        about: serde_json::to_string(&words::about(cases)).unwrap_or_default(),
        plan_text: plan.to_toml_from(here),
        identity: identity(plan),
        own: BTreeMap::new(),
        files: files_of(plan),
        slo: plan.measure.slo.as_ref().map(ToString::to_string),
        duration_ns: long,
    }
}

/// What is kept of an outcome.
pub type Keep<'a, T> = &'a (dyn Fn(Outcome) -> T + Sync);

/// A simulated pool under each policy of a model.
pub struct Pool<'a, T> {
    model: &'a Model,
    grid: Grid,
    keep: Keep<'a, T>,
    kept: Mutex<BTreeMap<u32, T>>,
}

impl<'a, T: Send> Pool<'a, T> {
    /// A pool, of which nothing is simulated yet.
    ///
    /// # Errors
    /// A policy that cannot be made.
    pub fn new(model: &'a Model, grid: Grid, keep: Keep<'a, T>) -> Result<Self, ExperimentError> {
        // What is wrong with a policy is known before anything runs.
        for named in &model.policies {
            simulates(model, named)?;
            model.begin(named, 0)?;
        }
        Ok(Self { model, grid, keep, kept: Mutex::default() })
    }

    /// What was kept: a row for each policy. Replications that not all policies have are left out.
    pub fn rows(self) -> Vec<Vec<T>> {
        let kept = self.kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        let policies = self.grid.policies;
        let first = self.grid.number(0, self.grid.replications.start);
        let is_next = |(place, (number, _)): &(u32, (&u32, &T))| first + place == **number;
        let whole = (0..).zip(&kept).take_while(is_next).count() / policies.max(1) * policies;
        let mut rows: Vec<Vec<T>> = (0..policies).map(|_| Vec::new()).collect();
        for (place, (_, outcome)) in kept.into_iter().take(whole).enumerate() {
            rows[place % policies].push(outcome);
        }
        rows
    }

    fn at(&self, cell: &Cell) -> (&'a Named, u64) {
        let (policy, replication) = self.grid.at(cell.place);
        (&self.model.policies[policy], replication)
    }
}

/// Simulates one replication of a model under a policy.
pub(crate) fn simulate(
    model: &Model,
    named: &Named,
    replication: u64,
) -> Result<Outcome, ExperimentError> {
    simulates(model, named)?;
    let mut policy = model.begin(named, replication)?;
    let setup = model.setup_of(named, policy.as_ref());
    Ok(run(&setup, &model.demand, policy.as_mut(), replication))
}

/// Hands over what came of a cell; says whether to go on.
pub(crate) fn hand_over(
    model: &Model,
    named: &Named,
    outcome: &Outcome,
    cell: &Cell,
    to: &Execution<'_>,
) -> Result<bool, ExperimentError> {
    let write = |run: &mut RunWriter| contents::write(run, model, named.kind.name, outcome);
    let mut figures = outcome.figures();
    if let Some(slo) = &model.setup.slo {
        figures.push((figure::SLO_HELD, f64::from(u8::from(outcome.holds(slo)))));
    }
    if model.instance_type.is_some() && outcome.served > 0 {
        figures.push((figure::COST_PER_MILLION, 1e6 * outcome.bill.cost / outcome.served as f64));
    }
    to.done(cell, rows_of(&figures), &write)
}

impl<T: Send> World for Pool<'_, T> {
    /// All at once: they have the model in common.
    fn batches<'c>(&self, cells: &'c [Cell]) -> Vec<&'c [Cell]> {
        vec![cells]
    }

    fn execute(&self, batch: &[Cell], to: &Execution<'_>) -> Result<(), ExperimentError> {
        to.each(batch, &|cell| {
            let (named, replication) = self.at(cell);
            let outcome = simulate(self.model, named, replication)?;
            let goes_on = hand_over(self.model, named, &outcome, cell, to)?;
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.insert(cell.place, (self.keep)(outcome));
            Ok(goes_on)
        })
    }
}

/// What the outcomes of a model's policies, a row for each, come to together, without its timing;
/// `None` where a policy has no replication.
#[must_use]
pub fn simulation(plan: &Plan, model: &Model, outcomes: &[Vec<Outcome>]) -> Option<Simulation> {
    if outcomes.iter().any(Vec::is_empty) || outcomes.is_empty() {
        return None;
    }
    let (demand, slo) = (model.demand.describe(), model.setup.slo.as_ref());
    let labels = || model.policies.iter().zip(outcomes);
    let of_type = |result: PolicyResult| match &model.instance_type {
        Some(of) => result.of_type(&of.label),
        None => result,
    };
    let policies: Vec<PolicyResult> = labels()
        .map(|(named, of)| PolicyResult::of(&named.label, named.kind.name, &demand, slo, of))
        .map(of_type)
        .collect();
    let about = words::about(&[(plan, model)]);
    let paired = labels()
        .skip(1)
        .filter_map(|(named, of)| {
            Paired::of(&named.label, of, &model.policies[0].label, &outcomes[0])
        })
        .collect();
    let result = SimulationResult {
        schema: SCHEMA,
        warnings: warnings(model, outcomes),
        policies,
        paired,
        types: Vec::new(),
        timing: Timing::default(),
    };
    let courses = labels().map(|(named, of)| Course::of(&named.label, &of[0])).collect();
    Some(Simulation { result, about, courses })
}

/// What simulations of several models come to together.
#[must_use]
pub fn together(all: Vec<Simulation>, cases: &[(&Plan, &Model)]) -> Option<Simulation> {
    let about = words::about(cases);
    let mut all = all.into_iter();
    let mut together = all.next()?;
    for mut one in all {
        together.result.policies.append(&mut one.result.policies);
        together.result.paired.append(&mut one.result.paired);
        together.courses.append(&mut one.courses);
        for warning in one.result.warnings {
            if !together.result.warnings.contains(&warning) {
                together.result.warnings.push(warning);
            }
        }
    }
    // What is told the future is none to choose.
    let is_real =
        |of: &&PolicyResult| !policy::kind(&of.kind).is_ok_and(policy::Kind::knows_future);
    let policies = &together.result.policies;
    let priced = |of: &InstanceType| {
        let pools = policies.iter().filter(|one| one.instance_type.as_ref() == Some(&of.label));
        PricedType::new(of.clone(), pools.filter(is_real).map(PolicyResult::priced))
    };
    together.result.types = about.types.iter().map(priced).collect();
    together.about = about;
    Some(together)
}

/// What a reader should know of the model, and of what came out.
fn warnings(model: &Model, outcomes: &[Vec<Outcome>]) -> Vec<String> {
    let mut warnings = model.notes.clone();
    if outcomes.iter().flatten().any(|of| of.elasticity.is_none()) {
        let most = show_count(u64::from(MOST));
        warnings.push(format!(
            "no number of instances up to {most} is {}: there is no demand to hold the supply \
             against, so under, over and jitter are left out",
            model.demand.describe()
        ));
    }
    warnings
}
