//! A simulated pool under the combinations of an experiment: its policies, and levels of any other
//! key of the plan. Combinations that differ in nothing but their policy have one model in common,
//! its trace and its demand.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

use plimsoll_plan::{POLICY, Plan, TYPE, Varied};
use plimsoll_runs::experiment::Cell;

use crate::bench::Text;
use crate::engine::{Execution, World};
use crate::error::ExperimentError;
use crate::factors::{Combination, levels_of};
use crate::prepare::scenario::files_of;
use crate::record::{Own, Subject};
use crate::world::load::identity;
use crate::world::pool::live::OfCell;
use crate::world::pool::{Model, Named, hand_over, model, simulate, subject_of};

/// The level of each factor of a combination.
type Levels = BTreeMap<String, String>;

/// What is simulated of each combination.
pub(super) struct Combinations {
    cases: Vec<Case>,
    /// The places of the cases, by the levels of all factors but the policy.
    places: BTreeMap<Levels, usize>,
    /// The combinations, in the order of the plan.
    all: Vec<Levels>,
}

/// The combinations that differ in nothing but their policy.
struct Case {
    /// The plan with their levels.
    plan: Plan,
    /// What is simulated.
    model: Model,
}

impl Combinations {
    /// What an experiment means; reads the files that it names.
    ///
    /// # Errors
    /// Levels that a key does not take, or that do not go together; a policy that cannot be made.
    pub(super) fn of(
        text: &Text,
        varied: &Varied,
        all: &[Combination],
        environment: fn(&str) -> Option<String>,
    ) -> Result<Self, ExperimentError> {
        let (mut cases, mut places) = (Vec::new(), BTreeMap::new());
        for of in all {
            let levels = but_policy(&levels_of(varied, of));
            if let Entry::Vacant(place) = places.entry(levels) {
                let plan = text.plan(&text.settings(of), None, environment)?;
                let plan = plan.chosen(place.key().get(TYPE).map(String::as_str));
                let model = model(&plan)?;
                place.insert(cases.len());
                cases.push(Case { plan, model });
            }
        }
        let all = all.iter().map(|of| levels_of(varied, of)).collect();
        let found = Self { cases, places, all };
        for levels in &found.all {
            let (case, named) = found.at(levels)?;
            // What is wrong with a policy is known before anything runs.
            case.model.begin(named, 0)?;
        }
        Ok(found)
    }

    /// The case and the policy of a combination.
    fn at(&self, levels: &Levels) -> Result<(&Case, &Named), ExperimentError> {
        let place = self.places.get(&but_policy(levels)).ok_or_else(|| {
            ExperimentError::Conflict("find the levels of a cell among those of the plan".into())
        })?;
        let case = &self.cases[*place];
        match levels.get(POLICY) {
            Some(label) => Ok((case, case.model.policy(label)?)),
            None => Err(ExperimentError::Conflict(
                "find a policy in the plan: it has none; add a section [policy.NAME], see \
                 `plimsoll simulate --list-policies`"
                    .to_owned(),
            )),
        }
    }

    /// What a cell is of.
    ///
    /// # Errors
    /// A cell of another plan.
    pub(super) fn of_cell(&self, cell: &Cell) -> Result<OfCell<'_>, ExperimentError> {
        self.of_levels(&cell.factors)
    }

    /// What a combination is of.
    ///
    /// # Errors
    /// A combination of another plan.
    pub(super) fn of_levels(&self, levels: &Levels) -> Result<OfCell<'_>, ExperimentError> {
        let (Case { plan, model }, named) = self.at(levels)?;
        Ok(OfCell { plan, model, named })
    }

    /// What a reader should know of the models, each once.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = Vec::new();
        for note in self.cases.iter().flat_map(|case| &case.model.notes) {
            if !notes.contains(note) {
                notes.push(note.clone());
            }
        }
        notes
    }

    /// What the experiment of a plan is, for its record; `here` is the working folder, and `beside`
    /// tells what else than its plan a combination depends on.
    ///
    /// # Errors
    /// Where it has no combination, and those of `beside`.
    pub(super) fn subject(
        &self,
        plan: &Plan,
        here: &Path,
        beside: impl Fn(&Plan) -> Result<(String, Vec<PathBuf>), ExperimentError>,
    ) -> Result<Subject, ExperimentError> {
        let mut own = BTreeMap::new();
        for levels in &self.all {
            let (Case { plan, .. }, named) = self.at(levels)?;
            let (text, files) = beside(plan)?;
            let text = identity(&alone(plan, named)) + &text;
            own.insert(levels.clone(), Own::new(&text, [files_of(plan), files].concat()));
        }
        let (first, _) = self.at(self.all.first().unwrap_or(&Levels::new()))?;
        let cases: Vec<_> = self.cases.iter().map(|case| (&case.plan, &case.model)).collect();
        let of = subject_of(&first.plan, &cases, here);
        let load = |of: &Case| (of.model.schedule.total(), of.model.schedule.duration_ns());
        let is_same = |other: &Case| load(other) == load(first);
        let what = match self.cases.iter().all(is_same) {
            true => of.what.clone(),
            false => "a pool under several loads".to_owned(),
        };
        let mut files: Vec<_> = own.values().flat_map(Own::files).cloned().collect();
        files.sort();
        files.dedup();
        let plan_text = plan.to_toml_from(here);
        Ok(Subject { what, plan_text, identity: String::new(), own, files, ..of })
    }
}

/// The levels of all factors but the policy.
fn but_policy(levels: &Levels) -> Levels {
    let others = levels.iter().filter(|(factor, _)| *factor != POLICY);
    others.map(|(factor, level)| (factor.clone(), level.clone())).collect()
}

/// A plan with one of its policies, whatever that is called, and nothing that is varied: what the
/// figures of a cell depend on.
fn alone(plan: &Plan, named: &Named) -> Plan {
    let mut alone = Plan { experiment: None, factors: Vec::new(), fleet: None, ..plan.clone() };
    if let Some(elastic) = &mut alone.elastic {
        elastic.policies.retain(|of| of.label == named.label);
        elastic.policies.iter_mut().for_each(|of| POLICY.clone_into(&mut of.label));
    }
    alone
}

impl World for Combinations {
    /// All at once: many have a model in common.
    fn batches<'c>(&self, cells: &'c [Cell]) -> Vec<&'c [Cell]> {
        vec![cells]
    }

    fn execute(&self, batch: &[Cell], to: &Execution<'_>) -> Result<(), ExperimentError> {
        to.each(batch, &|cell| {
            let (Case { model, .. }, named) = self.at(&cell.factors)?;
            let outcome = simulate(model, named, cell.replication.into())?;
            hand_over(model, named, &outcome, cell, to)
        })
    }
}
