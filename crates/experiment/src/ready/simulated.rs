//! What is simulated by itself, made ready: pools under their policies, caches on a trace, clusters
//! of caches, searches for the parameters of a policy.

use std::path::Path;

use plimsoll_cache::bound::Bound;
use plimsoll_cache::simulate::Comparison;
use plimsoll_plan::{CacheComparison, CachePlan, Plan, TYPE};

use super::{Ask, PARTS, PlanWork, Ready, designed};
use crate::error::ExperimentError;
use crate::plans;
use crate::world::caches::{self, Requests};
use crate::world::pool::tuning::Tuning;
use crate::world::pool::{self, Grid, Model};

/// Levels by their factors.
type Levels = Vec<(String, String)>;

/// A pool that is simulated: a plan of one instance type, and one value of each key.
pub struct PoolCase {
    /// The plan.
    pub plan: Plan,
    /// What is simulated.
    pub model: Model,
    /// Its cells among those of all cases.
    pub grid: Grid,
}

impl Ready {
    pub(super) fn pool(ask: &Ask<'_>) -> Result<Self, ExperimentError> {
        let plan = ask.plan()?;
        if plan.is_experiment() {
            return designed::pool(ask, &plan);
        }
        let whole = plan.clone();
        Self::pools(&whole, vec![(plan, None)], ask.place.here)
    }

    /// The pools of a plan, one for each combination of its instance types and of values of its
    /// keys. `whole` is the plan with all instance types of the first of them. What tells each from
    /// the others are levels of its cells: nothing but its instance type where that is `None`.
    ///
    /// # Errors
    /// What cannot be simulated, and a plan without a policy.
    pub fn pools(
        whole: &Plan,
        cases: Vec<(Plan, Option<Levels>)>,
        here: &Path,
    ) -> Result<Self, ExperimentError> {
        let (mut before, mut all, mut cells) = (0, Vec::new(), Vec::new());
        let mut notes: Vec<String> = Vec::new();
        for (plan, levels) in cases {
            let model = pool::model(&plan)?;
            if model.policies.is_empty() {
                let text = "find a policy in the plan: it has none; add a section [policy.NAME], \
                            see `plimsoll simulate --list-policies`";
                return Err(ExperimentError::Conflict(text.to_owned()));
            }
            let replications = 0..plan.repeat.into();
            let grid = Grid { before, policies: model.policies.len(), replications };
            before += grid.cells();
            let levels = levels.unwrap_or_else(|| only_type(&model));
            cells.extend(pool::cells(&model, &grid, &levels));
            for note in model.notes.iter().filter(|of| !notes.contains(of)).collect::<Vec<_>>() {
                notes.push(note.clone());
            }
            all.push(PoolCase { plan, model, grid });
        }
        let pairs: Vec<_> = all.iter().map(|of| (&of.plan, &of.model)).collect();
        let subject = pool::subject_of(whole, &pairs, here);
        Ok(Self::new(subject, cells, notes, PlanWork::Pools(all)))
    }

    pub(super) fn caches(ask: &Ask<'_>) -> Result<Self, ExperimentError> {
        let plan = plans::read_caches(&ask.written())?;
        let requests = caches::recorded(&plan.trace, 0)?;
        Self::compared(&plan, requests)
    }

    /// Policies and sizes on a trace that was read.
    ///
    /// # Errors
    /// What cannot be, or is skipped, of this trace.
    pub fn compared(plan: &CacheComparison, requests: Requests) -> Result<Self, ExperimentError> {
        let comparison = caches::comparison(&plan.cache, &requests.trace)?;
        let bounds = caches::bounds(&plan.cache, &comparison, &requests.trace)?;
        let about = caches::about(plan, &requests.trace, (&comparison, &bounds));
        let subject = caches::subject_of_comparison(plan, &about)?;
        let cells = caches::policy_cells(&comparison).collect();
        let notes = requests.notes.clone();
        Ok(Self::new(
            subject,
            cells,
            notes,
            PlanWork::Caches(Box::new((comparison, bounds, requests))),
        ))
    }

    pub(super) fn clusters(ask: &Ask<'_>) -> Result<Self, ExperimentError> {
        let plan = plans::read_clusters(&ask.written())?;
        if plan.is_experiment() {
            return designed::clusters(ask, &plan);
        }
        let requests = caches::requests(&plan)?;
        Self::clustered(plan, requests)
    }

    /// Clusters, with what they are asked for in the first replication.
    ///
    /// # Errors
    /// What cannot be simulated.
    pub fn clustered(plan: CachePlan, requests: Requests) -> Result<Self, ExperimentError> {
        let clusters = caches::cells(&plan, PARTS)
            .map_err(|error| ExperimentError::Conflict(error.to_string()))?;
        let subject = caches::subject(&plan, &clusters, &requests.trace)?;
        let cells = caches::cluster_cells(&plan, &clusters).collect();
        let notes = requests.notes.clone();
        Ok(Self::new(
            subject,
            cells,
            notes,
            PlanWork::Clusters(Box::new((plan, clusters, requests))),
        ))
    }

    pub(super) fn tune(ask: &Ask<'_>) -> Result<Self, ExperimentError> {
        let plan = plans::read(&ask.written())?;
        refuse_tuned(&plan)?;
        Self::tuning(&plan, ask.place.here)
    }

    /// A search for the parameters of a plan's policy.
    ///
    /// # Errors
    /// As for [`Tuning::of`].
    pub fn tuning(plan: &Plan, here: &Path) -> Result<Self, ExperimentError> {
        let tuning = Tuning::of(plan)?;
        let (subject, notes) = (tuning.subject(here), tuning.notes().to_vec());
        Ok(Self::new(subject, Vec::new(), notes, PlanWork::Tune(Box::new(tuning))))
    }

    /// The pools that are simulated; none of any other plan.
    #[must_use]
    pub fn pool_cases(&self) -> &[PoolCase] {
        match &self.of {
            PlanWork::Pools(cases) => cases,
            _ => &[],
        }
    }

    /// The policies and sizes that are compared, what no policy undercuts, and what caches are
    /// asked for.
    #[must_use]
    pub fn comparison(&self) -> Option<&(Comparison, Vec<Bound>, Requests)> {
        match &self.of {
            PlanWork::Caches(of) => Some(of),
            _ => None,
        }
    }

    /// The plan of clusters that is simulated, its clusters, and what they are asked for first.
    #[must_use]
    pub fn clusters_of(&self) -> Option<&(CachePlan, Vec<caches::Cell>, Requests)> {
        match &self.of {
            PlanWork::Clusters(of) => Some(of),
            _ => None,
        }
    }
}

/// Refuses what a search for parameters does not do: which settings it tries is its own to say.
fn refuse_tuned(plan: &Plan) -> Result<(), ExperimentError> {
    let asked = [
        ("[testbed]", plan.testbed.is_some()),
        ("[factor]", !plan.factors.is_empty()),
        ("[experiment]", plan.experiment.is_some()),
    ];
    match asked.iter().find(|(_, is_asked)| *is_asked) {
        None => Ok(()),
        Some((section, _)) => Err(ExperimentError::Conflict(format!(
            "search for the parameters of a policy with {section}: [tune] says by itself which \
             settings are tried; leave one of them out"
        ))),
    }
}

/// The level that all cells of a pool have where its plan names the type of its instances.
fn only_type(model: &Model) -> Levels {
    let label = model.instance_type.as_ref().map(|of| of.label.clone());
    label.map(|label| (TYPE.to_owned(), label)).into_iter().collect()
}
