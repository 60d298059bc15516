//! Knows the future: at each moment as many instances as will be needed by the time that one
//! launched now is ready, and until the next decision. What nobody has; the bound that others are
//! held against.

use super::{Decision, Facts, Future, Kind, MINUTE_S, Maker, Parameters, Policy, maker, parameter};
use crate::demand::Demand;
use crate::observation::Observation;
use plimsoll_units::parameter::ANY_DURATION;
use plimsoll_units::parameter::Takes::Number;
use std::sync::Arc;

pub(super) static KIND: Kind = Kind {
    name: "oracle",
    about: "is given the future: the bound that no policy can beat",
    parameters: &[
        parameter("ahead", ANY_DURATION, "twice the boot time", "How far ahead it looks."),
        parameter("headroom", Number(0.0, 10.0), "0", "The rate is increased by this share."),
    ],
    pace_s: MINUTE_S,
    goes_by_day: false,
    knows_future: true,
    make,
};

struct Oracle {
    demand: Demand,
    future: Arc<Future>,
    ahead_s: f64,
    headroom: f64,
}

fn make(parameters: &mut Parameters<'_>, facts: &Facts) -> Option<Maker> {
    let Some(future) = facts.future.clone() else {
        let message = "`oracle` knows the future of simulated load only";
        parameters.fault("ahead", message.to_owned(), None);
        return None;
    };
    let usual = (2.0 * facts.boot_s).max(2.0 * future.step_s);
    Some(maker(Oracle {
        demand: Demand::new(facts),
        future,
        ahead_s: parameters.seconds("ahead").unwrap_or(usual),
        headroom: parameters.number("headroom").unwrap_or(0.0),
    }))
}

impl Policy for Oracle {
    type State = ();

    fn decide(&self, (): &mut (), seen: &Observation<'_>) -> Decision {
        let most = self.future.most(seen.now_s, seen.now_s + self.ahead_s) * (1.0 + self.headroom);
        let desired = seen.clamp(self.demand.wanted(most, seen.speed()));
        Decision::of(desired, format!("up to {most:.1}/s in the next {:.0} s", self.ahead_s))
    }
}

impl Future {
    /// The greatest rate of the steps that a time touches; 0 beyond the end.
    #[must_use]
    pub fn most(&self, from_s: f64, to_s: f64) -> f64 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let step = |at_s: f64| (at_s / self.step_s).max(0.0) as usize;
        let last = step(to_s).min(self.rates.len().saturating_sub(1));
        let steps = self.rates.get(step(from_s)..=last).unwrap_or_default();
        steps.iter().copied().fold(0.0, f64::max)
    }
}
