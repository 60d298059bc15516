//! The fewest instances for which the queueing model predicts that the SLO holds, corrected by what is
//! seen: where the response time is above the bound all the same, the model's rate is taken for
//! greater, and slowly for less again where there is room.

use super::{Decision, Facts, Kind, Maker, Parameters, Policy, maker, parameter};
use crate::demand::Demand;
use crate::observation::{Metric, Observation, Series};
use serde::{Deserialize, Serialize};

pub(super) static KIND: Kind = Kind {
    name: "slo",
    about: "the fewest for which the queueing model predicts the SLO held, corrected by what is seen",
    parameters: &[
        parameter("period", "duration", "1m", "Rate and response time are of this."),
        parameter("headroom", "number", "0.1", "The rate is taken for greater by this share."),
        parameter("gain", "number", "0.1", "By so much it is corrected where the SLO is broken."),
        parameter("down_window", "duration", "5m", "Removes only what all of this time could spare."),
    ],
    knows_future: false,
    make,
};

/// The correction goes back by this share of itself in each decision with room.
const FORGETS: f64 = 0.02;
/// And is never greater than this factor.
const MOST: f64 = 3.0;
/// Below this share of the bound there is room.
const ROOM: f64 = 0.8;

struct Slo {
    demand: Demand,
    bound_s: Option<f64>,
    period_s: f64,
    headroom: f64,
    gain: f64,
    down_s: f64,
}

/// The factor on the rate, and what was needed in the past.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Corrected {
    factor: f64,
    past: Vec<(f64, u32)>,
}

impl Default for Corrected {
    fn default() -> Self {
        Self { factor: 1.0, past: Vec::new() }
    }
}

#[expect(clippy::unnecessary_wraps, reason = "as all kinds are made")]
fn make(parameters: &mut Parameters<'_>, facts: &Facts) -> Option<Maker> {
    Some(maker(Slo {
        demand: Demand::new(facts),
        bound_s: facts.slo.map(|(_, bound_s)| bound_s),
        period_s: parameters.seconds("period").unwrap_or(60.0),
        headroom: parameters.number("headroom", 0.0, 10.0).unwrap_or(0.1),
        gain: parameters.number("gain", 0.0, 1.0).unwrap_or(0.1),
        down_s: parameters.seconds("down_window").unwrap_or(300.0),
    }))
}

impl Policy for Slo {
    type State = Corrected;

    fn decide(&self, state: &mut Corrected, seen: &Observation<'_>) -> Decision {
        let wanted = seen.wanted();
        let points = seen.series.last(self.period_s).unwrap_or_default();
        let Some(rate) = Series::mean(points, Metric::Rate) else {
            return Decision { desired: wanted, reason: "no rate yet".to_owned() };
        };
        if let (Some(bound_s), Some(response_s)) =
            (self.bound_s, Series::mean(points, Metric::Response))
        {
            if response_s > bound_s {
                state.factor = (state.factor * (1.0 + self.gain)).min(MOST);
            } else if response_s < ROOM * bound_s {
                state.factor = (state.factor * (1.0 - FORGETS)).max(1.0);
            }
        }
        let expected = rate * state.factor * (1.0 + self.headroom);
        let needed = seen.clamp(f64::from(self.demand.instances(expected, seen.speed())));
        state.past.retain(|(at_s, _)| *at_s > seen.now_s - self.down_s - 1e-6);
        state.past.push((seen.now_s, needed));
        let most = state.past.iter().map(|(_, n)| *n).max().unwrap_or(needed);
        let desired = if needed > wanted { needed } else { most.min(wanted) };
        let reason = format!("{rate:.1}/s, taken for {expected:.1}/s, needs {needed}");
        Decision { desired, reason }
    }
}
