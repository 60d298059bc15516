//! Under which ids requests are traced: those that say so of themselves, and all where the plan
//! says of which share servers are asked to record them.

use super::Place;
use plimsoll_load::Users;
use plimsoll_plan::Plan;
use plimsoll_workload::request::{Request, Requests};
use plimsoll_workload::scenario::Scenario;
use plimsoll_workload::traceparent::{Traceparents, USUAL_SHARE};

/// How a plan wants its requests traced.
pub(super) struct Traces {
    by: Traceparents,
    /// Whether each request has the header, asked for or not.
    all: bool,
}

impl Traces {
    /// As a plan has it, by a key of its own.
    pub(super) fn of(plan: &Plan, place: &Place<'_>) -> Self {
        let share = plan.load.traceparent;
        let by = Traceparents::new((place.key)(), share.unwrap_or(USUAL_SHARE));
        Self { by, all: share.is_some() }
    }

    /// A scenario whose requests are traced so.
    pub(super) fn of_users(&self, scenario: Scenario) -> Scenario {
        scenario.traced(self.by.clone(), self.all)
    }

    /// Gives requests the header where they all are to have it.
    pub(super) fn of_list(&self, list: &mut [Request]) {
        if self.all {
            list.iter_mut().for_each(Request::trace);
        }
    }

    /// Where ids come from, if any is needed.
    pub(super) fn needed(&self, asked: &Requests, users: Option<&Users>) -> Option<Traceparents> {
        let is_needed = match users {
            Some(users) => self.all || users.scenario.is_traced(),
            None => asked.list.iter().any(Request::is_traced),
        };
        is_needed.then(|| self.by.clone())
    }
}
