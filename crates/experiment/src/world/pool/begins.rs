//! How a pool begins under a policy: with how many instances, at which pace, at what time of day.

use std::time::Duration;

use plimsoll_elastic::policy::{Beginning, Decider};
use plimsoll_elastic::simulated::Setup;
use plimsoll_runs::Event;
use plimsoll_runs::event::Class;
use plimsoll_workload::trace::Moment;

use super::model::{Model, Named};
use crate::clock::CLOCK;

/// What tells the time of day at which a load begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Day {
    /// The plan: seconds since midnight.
    Said(f64),
    /// The log or the trace of the load, by its own clock.
    Recorded(Moment),
    /// The clock of this host, as the load begins now.
    Clock(Moment),
    /// Nothing: it is midnight.
    Unknown,
}

impl Day {
    /// What a plan says, else what its load was recorded at.
    pub(super) fn of(said: Option<Duration>, recorded: Option<Moment>) -> Self {
        let recorded = recorded.filter(|at| at.of_day_s().is_some());
        match (said, recorded) {
            (Some(said), _) => Self::Said(said.as_secs_f64()),
            (None, Some(at)) => Self::Recorded(at),
            (None, None) => Self::Unknown,
        }
    }

    /// Seconds since midnight; 0 where nothing tells them.
    #[must_use]
    pub fn of_day_s(self) -> f64 {
        self.known_s().unwrap_or_default()
    }

    /// Seconds since midnight; `None` where nothing tells them.
    #[must_use]
    pub fn known_s(self) -> Option<f64> {
        match self {
            Self::Said(of_day_s) => Some(of_day_s),
            Self::Recorded(at) | Self::Clock(at) => at.of_day_s(),
            Self::Unknown => None,
        }
    }

    /// What a run is told of the clock, where that tells its day.
    pub(super) fn event(self) -> Option<Event> {
        let Self::Clock(at) = self else { return None };
        let (class, kind) = (Class::Infrastructure, CLOCK.to_owned());
        Some(Event { at_ns: 0, class, kind, text: at.to_string() })
    }
}

impl Model {
    /// The pool as it begins under a policy that is made: with the policy's number of instances, at
    /// its pace.
    ///
    /// A policy whose number hangs on nothing that is seen has it from the first request on:
    /// `fixed` always, `schedule` unless the plan has it begin with another. A pool that somebody
    /// else runs has the instances that there are.
    #[must_use]
    pub fn setup_of(&self, of: &Named, policy: &dyn Decider) -> Setup {
        let own = policy.begins(self.setup.of_day_s).filter(|_| !self.is_followed);
        let (least, most) = (self.setup.least, self.setup.most);
        let start = match (own, of.start) {
            (Some(Beginning::Always(count)), _) | (Some(Beginning::Now(count)), None) => count,
            (Some(Beginning::Most), _) => most,
            (Some(Beginning::Now(_)) | None, Some(start)) => start,
            (None, None) => self.setup.start,
        };
        let tick_ns = u64::try_from(self.pace_of(of).as_nanos()).unwrap_or(u64::MAX);
        Setup { start: start.clamp(least, most.max(least)), tick_ns, ..self.setup.clone() }
    }

    /// The same pool, which begins at a moment of the clock where nothing else tells when.
    #[must_use]
    pub fn at(&self, now: Moment) -> Self {
        let mut model = self.clone();
        if model.day == Day::Unknown {
            model.day = Day::Clock(now);
            model.setup.of_day_s = model.day.of_day_s();
        }
        model
    }
}
