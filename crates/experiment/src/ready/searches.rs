//! A search for a capacity, made ready: on a live target, or on a simulated server.

use plimsoll_plan::Plan;

use super::{Ask, Of, Ready, designed};
use crate::error::ExperimentError;
use crate::prepare::{Place, Prepared, outlined};
use crate::world::search::Asked;
use crate::world::simulated::{self, Instance};
use crate::world::{load, search};

impl Ready {
    pub(super) fn search(ask: &Ask<'_>) -> Result<Self, ExperimentError> {
        let plan = ask.plan()?;
        if plan.testbed.is_some() || plan.is_experiment() {
            return designed::bench(ask, &plan);
        }
        let instance = ask.is_simulated.then(|| Instance::of(&plan)).transpose()?;
        let mut prepared = ask.prepared(&plan)?;
        prepared.notes.extend(instance.as_ref().and_then(|_| simulated::live_only(&plan)));
        let Some(instance) = instance else {
            return Self::sought(plan, prepared, &ask.place);
        };
        let asked = Asked::of(&plan)?;
        let subject = search::subject(&plan, &prepared, &asked, &ask.place);
        // A simulated server is the same at any time: another search is another sample.
        let cells = load::cells(&plan).collect();
        let notes = prepared.notes.clone();
        let of = Of::SimulatedSearch(Box::new((plan, prepared, asked, instance)));
        Ok(Self {
            subject: simulated::subject(subject),
            cells,
            notes,
            length_s: None,
            steps: Vec::new(),
            cell_s: 0.0,
            budget: None,
            of,
        })
    }

    /// A search on a live target by a plan that was read already, for saying what it would do:
    /// nothing is asked of the target.
    ///
    /// # Errors
    /// What is wrong with what the plan names.
    pub fn searched(plan: Plan, place: &Place<'_>) -> Result<Self, ExperimentError> {
        let prepared = outlined(&plan, place)?;
        Self::sought(plan, prepared, place)
    }

    /// A search on a live target whose plan is read and prepared.
    ///
    /// # Errors
    /// What is wrong with the plan's search.
    pub fn sought(
        plan: Plan,
        prepared: Prepared,
        place: &Place<'_>,
    ) -> Result<Self, ExperimentError> {
        let asked = Asked::of(&plan)?;
        Ok(Self {
            subject: search::subject(&plan, &prepared, &asked, place),
            cells: search::cells(1..=plan.repeat, plan.seed).collect(),
            notes: prepared.notes.clone(),
            length_s: None,
            steps: Vec::new(),
            cell_s: 0.0,
            budget: None,
            of: Of::Search(Box::new((plan, prepared, asked))),
        })
    }
}
