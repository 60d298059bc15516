//! The fewest instances for which the queueing model predicts that the SLO holds, corrected by what
//! is seen: where it is broken all the same, the model's rate is taken for greater, and slowly for
//! less again where there is room.
//!
//! A lost request is one that took too long: the SLO is broken as well where more are lost than may
//! take longer than its bound. It is corrected once a period at most, and for greater only while
//! nothing boots: what was decided has to have shown first.

use super::window::Recommended;
use super::{
    Bound, Decision, Facts, Kind, MINUTE_S, Maker, Parameters, Policy, maker, parameter, tried,
};
use crate::demand::{Demand, LOST};
use crate::observation::{Metric, Observation};
use plimsoll_units::parameter::ANY_DURATION;
use plimsoll_units::parameter::Takes::{Duration, Number};
use serde::{Deserialize, Serialize};

pub(super) static KIND: Kind = Kind {
    name: "slo",
    about: "the fewest that hold the SLO by the queueing model, corrected by what is seen",
    parameters: &[
        parameter(
            "period",
            Duration(0.001, 86_400.0),
            "1m",
            "Rate and response time are means over this time.",
        ),
        tried(
            parameter("headroom", Number(0.0, 10.0), "0.1", "The rate is increased by this share."),
            &["0", "0.1", "0.2", "0.3"],
        ),
        parameter(
            "gain",
            Number(0.0, 1.0),
            "0.1",
            "How strongly it corrects where the SLO is broken.",
        ),
        parameter(
            "down_window",
            ANY_DURATION,
            "5m",
            "Scale-down uses the highest need of this time.",
        ),
    ],
    pace_s: MINUTE_S,
    goes_by_day: false,
    knows_future: false,
    make,
};

/// The correction goes back by this share of itself in each period with room.
const FORGETS: f64 = 0.02;
/// And is never greater than this factor.
const MOST: f64 = 3.0;
/// Below this share of the bound there is room.
const ROOM: f64 = 0.8;

struct Slo {
    demand: Demand,
    bound_s: f64,
    /// The share of requests that may be lost.
    may_lose: f64,
    period_s: f64,
    headroom: f64,
    gain: f64,
    down_s: f64,
}

/// The factor on the rate, when it was corrected last, and what was needed of late.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Corrected {
    factor: f64,
    at_s: Option<f64>,
    needed: Recommended,
}

impl Default for Corrected {
    fn default() -> Self {
        Self { factor: 1.0, at_s: None, needed: Recommended::default() }
    }
}

fn make(parameters: &mut Parameters<'_>, facts: &Facts) -> Option<Maker> {
    let (quantile, bound_s) = facts.slo.unwrap_or((1.0 - LOST, f64::INFINITY));
    Some(maker(Slo {
        demand: Demand::new(facts),
        bound_s,
        may_lose: 1.0 - quantile,
        period_s: parameters.seconds("period").unwrap_or(60.0),
        headroom: parameters.number("headroom").unwrap_or(0.1),
        gain: parameters.number("gain").unwrap_or(0.1),
        down_s: parameters.seconds("down_window").unwrap_or(300.0),
    }))
}

impl Slo {
    /// Corrects the factor by what the last period has shown.
    fn correct(&self, state: &mut Corrected, rate: f64, seen: &Observation<'_>) {
        let is_soon = |at_s: f64| seen.now_s - at_s < self.period_s - 1e-6;
        if state.at_s.is_some_and(is_soon) {
            return;
        }
        let of = |metric| seen.series.recent(self.period_s, metric);
        let lost = of(Metric::Lost).unwrap_or(0.0);
        // Without an answer nothing is known of response times.
        let response_s = of(Metric::Response);
        let is_broken =
            lost > self.may_lose * rate || response_s.is_some_and(|found| found > self.bound_s);
        let has_room = response_s.is_none_or(|found| found < ROOM * self.bound_s);
        if is_broken && seen.ready() == seen.wanted() {
            state.factor = (state.factor * (1.0 + self.gain)).min(MOST);
        } else if !is_broken && has_room {
            state.factor = (state.factor * (1.0 - FORGETS)).max(1.0);
        } else {
            return;
        }
        state.at_s = Some(seen.now_s);
    }
}

impl Policy for Slo {
    type State = Corrected;

    fn decide(&self, state: &mut Corrected, seen: &Observation<'_>) -> Decision {
        let (wanted, now_s) = (seen.wanted(), seen.now_s);
        let Some(rate) = seen.series.recent(self.period_s, Metric::Rate) else {
            return Decision::of(wanted, "no rate yet".to_owned());
        };
        self.correct(state, rate, seen);
        let expected = rate * state.factor.clamp(1.0, MOST) * (1.0 + self.headroom);
        let needed = seen.clamp(self.demand.wanted(expected, seen.speed()));
        if state.needed.is_empty() {
            state.needed.add(now_s, wanted, 0.0, self.down_s);
        }
        state.needed.add(now_s, needed, 0.0, self.down_s);
        let desired = wanted.max(needed).min(state.needed.most(needed));
        let reason = format!("{rate:.1}/s, taken for {expected:.1}/s, needs {needed}");
        let held_by = (desired != needed).then_some(Bound::Window);
        Decision::of(desired, reason).held_by(held_by)
    }

    fn shortest_s(&self) -> Option<(f64, &'static str)> {
        Some((self.period_s, "period"))
    }
}
