//! A search for a capacity, made ready: on a live target, or on a simulated server.

use std::ops::RangeInclusive;

use plimsoll_plan::Plan;

use super::{Ask, PlanWork, Ready, Sought, designed};
use crate::error::ExperimentError;
use crate::prepare::{Place, Prepared, outlined};
use crate::series::Pace;
use crate::world::search::SearchSettings;
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
        let asked = SearchSettings::of(&plan)?;
        let subject = search::subject(&plan, &prepared, &asked, &ask.place);
        // A simulated server is the same at any time: another search is another sample.
        let cells = load::cells(&plan).collect();
        let notes = prepared.notes.clone();
        let of = PlanWork::SimulatedSearch(Box::new((plan, prepared, asked, instance)));
        Ok(Self::new(simulated::subject(subject), cells, notes, of))
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
        let asked = SearchSettings::of(&plan)?;
        let subject = search::subject(&plan, &prepared, &asked, place);
        let cells = search::cells(1..=plan.repeat, plan.seed).collect();
        let notes = prepared.notes.clone();
        let every_s = plan.search.as_ref().and_then(|search| search.every);
        let pace = Pace::new(every_s.map(|every| every.as_secs_f64()));
        let of = Sought { plan, prepared, asked, killed: 0, pace };
        Ok(Self::new(subject, cells, notes, PlanWork::Search(Box::new(of))))
    }

    /// The searches of a series that is gone on with: those of these numbers, so many searches of
    /// it having been killed, at this pace.
    #[must_use]
    pub fn going_on(mut self, numbers: RangeInclusive<u32>, killed: u32, pace: Pace) -> Self {
        if let PlanWork::Search(of) = &mut self.of {
            self.cells = search::cells(numbers, of.plan.seed).collect();
            (of.killed, of.pace) = (killed, pace);
        }
        self
    }
}
