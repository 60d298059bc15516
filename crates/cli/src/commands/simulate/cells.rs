//! The cells of a simulation: a policy of a case in one replication.

use super::plans::Case;
use crate::place::{VERSION, run_id, unix_ns};
use plimsoll_experiment::record::{CellPlan, MAX_RUNS, Opening, Record};
use plimsoll_experiment::simulate::Model;
use plimsoll_plan::Plan;
use plimsoll_runs::Kind;
use plimsoll_units::{show_count, show_duration};
use plimsoll_workload::random::seed_of;
use std::path::Path;

/// What is recorded of a plan of a pool.
pub(crate) struct Recorded<'a> {
    /// The plan.
    pub(crate) plan: &'a Plan,
    /// The kind of run that each cell is.
    pub(crate) kind: Kind,
    /// What is written as the plan.
    pub(crate) plan_text: String,
    /// Whether there is one cell in all.
    pub(crate) is_single: bool,
    /// Whether each cell keeps a run.
    pub(crate) keeps_runs: bool,
    /// What is simulated, for lists.
    pub(crate) subject: String,
    /// How long the load is.
    pub(crate) duration_ns: u64,
}

/// A record without a cell, in the folder for runs.
pub(crate) fn record<'a>(root: &'a Path, of: Recorded<'_>) -> Record<'a> {
    Record::new(Opening {
        root,
        id: run_id(unix_ns()),
        name: of.plan.name.clone().unwrap_or_default(),
        kind: of.kind,
        subject: of.subject,
        plan_text: of.plan_text,
        slo: of.plan.measure.slo.as_ref().map(ToString::to_string),
        duration_ns: of.duration_ns,
        version: VERSION,
        now_ns: unix_ns,
        is_single: of.is_single,
        keeps_runs: of.keeps_runs,
    })
}

/// What is simulated, in a few words: how many requests a pool is sent, in which time.
pub(crate) fn subject(model: &Model) -> String {
    let (requests, long) = (model.schedule.total(), model.schedule.duration_ns());
    format!("a pool, {} requests in {}", show_count(requests), show_duration(long))
}

/// The cells of a case, which stand behind so many others.
pub(super) struct Cells<'a> {
    pub(super) case: &'a Case,
    pub(super) model: &'a Model,
    pub(super) before: u64,
}

impl Cells<'_> {
    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        u64::from(self.case.plan.repeat) * self.model.policies.len() as u64
    }

    /// One of them.
    pub(super) fn one(&self, policy: usize, replication: u64) -> CellPlan {
        let policies = self.model.policies.len() as u64;
        let number = self.before + replication * policies + policy as u64 + 1;
        let label = self.model.policies[policy].label.clone();
        let levels = std::iter::once(("policy".to_owned(), label));
        CellPlan {
            number: u32::try_from(number).unwrap_or(u32::MAX),
            factors: levels.chain(self.case.differs.iter().cloned()).collect(),
            replication: u32::try_from(replication).unwrap_or(u32::MAX),
            block: 0,
            seed: seed_of(self.model.setup.seed, replication),
        }
    }

    /// All of them, in the order in which they are simulated.
    pub(super) fn all(&self) -> impl Iterator<Item = CellPlan> {
        let policies = self.model.policies.len();
        let replications = 0..u64::from(self.case.plan.repeat);
        replications
            .flat_map(move |number| (0..policies).map(move |policy| self.one(policy, number)))
    }
}

/// Whether each of so many cells keeps a run.
pub(crate) fn keeps_runs(cells: u64, is_asked: bool) -> bool {
    is_asked || cells <= MAX_RUNS
}
