//! A long window, and a short one for bursts, as Knative Serving scales pods by itself
//! (knative.dev, *Additional autoscaling configuration*, and the source of its `scaling` package):
//!
//! ```text
//! stable = ⌈mean over the long window / target⌉        panic = ⌈mean over the short one / target⌉
//! ```
//!
//! both kept within ⌊ready / down⌋ and ⌈up × ready⌉. When `panic / ready`, before that, reaches the
//! threshold it panics: it takes the greater of both and never fewer than before, until a long
//! window has gone by without a reason to. A new one begins in panic where more than one instance
//! is ready: without a past it is not to remove what may be needed.

use super::{
    Bound, Decision, Facts, Kind, Maker, Parameters, Policy, beyond, maker, parameter, tried, whole,
};
use crate::observation::{Metric, Observation};
use plimsoll_units::parameter::Takes::{Duration, Number, Word};
use serde::{Deserialize, Serialize};

pub(super) static KIND: Kind = Kind {
    name: "panic",
    about: "a long window, and a short one that takes over when load bursts",
    parameters: &[
        parameter("metric", Word(&["concurrency", "rate"]), "concurrency", "The metric."),
        parameter(
            "target",
            Number(1e-9, 1e12),
            "70% of the limit",
            "The metric's target for each instance.",
        ),
        tried(
            parameter("stable", Duration(0.001, 86_400.0), "60s", "The long window."),
            &["30s", "1m", "2m"],
        ),
        parameter("panic", Duration(0.001, 86_400.0), "a tenth of it", "The short window."),
        parameter(
            "threshold",
            Number(1.0, 1000.0),
            "2",
            "It panics when this many times the ready instances are needed.",
        ),
        parameter(
            "up",
            Number(1.0, 1e6),
            "1000",
            "The most by which the pool may be multiplied at once.",
        ),
        parameter(
            "down",
            Number(1.0, 1e6),
            "2",
            "The most by which the pool may be divided at once.",
        ),
    ],
    pace_s: 2.0,
    goes_by_day: false,
    knows_future: false,
    make,
};

struct Panic {
    metric: Metric,
    target: f64,
    stable_s: f64,
    panic_s: f64,
    threshold: f64,
    rates: (f64, f64),
}

/// Since when it panics, and the most that was wanted since.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Panicking {
    has_begun: bool,
    since_s: Option<f64>,
    most: u32,
}

fn make(parameters: &mut Parameters<'_>, facts: &Facts) -> Option<Maker> {
    let metric = parameters.metric(Metric::Concurrency, &["target"]);
    let usual = 0.7 * f64::from(facts.limit.unwrap_or(facts.cores));
    let stable_s = parameters.seconds("stable").unwrap_or(60.0);
    let panic_s = parameters.seconds("panic").unwrap_or(0.1 * stable_s);
    if panic_s > stable_s && !parameters.is_faulty(&["panic", "stable"]) {
        let message = format!("expected `panic` within `stable`, found {panic_s} of {stable_s} s");
        parameters.fault("panic", message, None);
    }
    Some(maker(Panic {
        metric,
        target: parameters.number("target").unwrap_or(usual),
        stable_s,
        panic_s,
        threshold: parameters.number("threshold").unwrap_or(2.0),
        rates: (
            parameters.number("up").unwrap_or(1000.0),
            parameters.number("down").unwrap_or(2.0),
        ),
    }))
}

impl Panic {
    /// The mean over a window, as far as it has been seen; over the last point where that is
    /// longer.
    fn mean(&self, seen: &Observation<'_>, window_s: f64) -> Option<f64> {
        let series = seen.series;
        let last_s = series.points().last()?.seconds;
        let end_s = series.end_s()?;
        series.average(end_s - window_s.max(last_s), end_s, self.metric)
    }
}

impl Policy for Panic {
    type State = Panicking;

    fn decide(&self, state: &mut Panicking, seen: &Observation<'_>) -> Decision {
        let (wanted, ready) = (seen.wanted(), f64::from(seen.ready().max(1)));
        if !state.has_begun {
            let since_s = (seen.ready() > 1).then_some(seen.now_s);
            *state = Panicking { has_begun: true, since_s, most: wanted };
        }
        let name = self.metric.name();
        let (Some(long), Some(short)) =
            (self.mean(seen, self.stable_s), self.mean(seen, self.panic_s))
        else {
            return Decision::of(wanted, format!("no {name} yet"));
        };
        let (up, down) = self.rates;
        let bounded = |needed: f64| needed.max((ready / down).floor()).min((up * ready).ceil());
        let (stable, panic) = (whole(long / self.target), whole(short / self.target));
        if panic / ready >= self.threshold {
            if state.since_s.is_none() {
                state.most = wanted;
            }
            state.since_s = Some(seen.now_s);
        } else if state.since_s.is_some_and(|since_s| seen.now_s > since_s + self.stable_s + 1e-6) {
            state.since_s = None;
        }
        let (stable, panic) = (bounded(stable), bounded(panic));
        if state.since_s.is_some() {
            state.most = state.most.max(seen.clamp(stable.max(panic)));
            let reason =
                format!("panics: {name} {short:.1} in the short window, {long:.1} in the long");
            let is_held = state.most > seen.clamp(stable.max(panic));
            let held_by =
                if is_held { Some(Bound::Window) } else { beyond(seen, stable.max(panic)) };
            return Decision::of(state.most, reason).held_by(held_by);
        }
        let reason = format!("{name} {long:.1}, {} for each", self.target);
        Decision::of(seen.clamp(stable), reason).held_by(beyond(seen, stable))
    }

    fn shortest_s(&self) -> Option<(f64, &'static str)> {
        Some((self.panic_s, "panic"))
    }
}
