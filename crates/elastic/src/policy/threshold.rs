//! Simple scaling on an alarm: a metric that was above, or below, a bound in so many of the last
//! periods. As EC2 Auto Scaling's simple scaling policies with CloudWatch alarms ("M out of N"
//! datapoints; Amazon EC2 Auto Scaling User Guide, *Step and simple scaling policies* and *Scaling
//! cooldowns*). A period without data is not beyond any bound.
//!
//! An alarm that is *sticky* acts again after each cooldown while it lasts, as CloudWatch asks Auto
//! Scaling again every minute (AWS Knowledge Center, *Why doesn't my CloudWatch alarm's state
//! change invoke my Amazon EC2 Auto Scaling policy?*); one that is not acts once, and again only
//! when it has cleared and come about anew. One that comes about during a cooldown acts after it,
//! where it still lasts.
//!
//! With the check for flapping, instances are removed only as far as the metric, spread over those
//! that stay, would not be above the upper bound again (Azure Monitor, *Best practices for
//! autoscale*).

use super::{
    Bound, Decision, Facts, Kind, METRICS, MINUTE_S, Maker, Parameters, Policy, Reach, maker,
    parameter, tried,
};
use crate::observation::{Metric, Observation};
use plimsoll_units::parameter::ANY_DURATION;
use plimsoll_units::parameter::Takes::{Count, Duration, Number, Switch};
use serde::{Deserialize, Serialize};

pub(super) static KIND: Kind = Kind {
    name: "threshold",
    about: "adds or removes instances while a metric is beyond a bound for some time",
    parameters: &[
        parameter("metric", METRICS, "cpu", "The metric."),
        tried(
            parameter("upper", Number(0.0, 1e9), "70 of cpu", "Above this it adds."),
            &["50", "60", "70", "80", "90"],
        ),
        tried(
            parameter("lower", Number(0.0, 1e9), "60 of cpu", "Below this it removes."),
            &["20", "30", "40", "50", "60"],
        ),
        parameter(
            "period",
            Duration(0.001, 86_400.0),
            "1m",
            "One datapoint is the mean over this time.",
        ),
        tried(
            parameter(
                "datapoints",
                Count(1, 10_000),
                "15",
                "Number of latest datapoints considered.",
            ),
            &["1", "3", "5", "15"],
        ),
        parameter(
            "of",
            Count(1, 10_000),
            "all of them",
            "Number of these that must be beyond the bound.",
        ),
        tried(
            parameter(
                "cooldown",
                ANY_DURATION,
                "2m",
                "Time after an action in which nothing is done.",
            ),
            &["1m", "2m", "5m"],
        ),
        tried(
            parameter("add", Count(0, 10_000), "1", "Instances added per action."),
            &["1", "2", "3"],
        ),
        parameter("remove", Count(0, 10_000), "1", "Instances removed per action."),
        parameter(
            "set_above",
            Count(0, 1_000_000),
            "–",
            "Size of the pool above `upper`, instead of `add`.",
        ),
        parameter(
            "set_below",
            Count(0, 1_000_000),
            "–",
            "Size of the pool below `lower`, instead of `remove`.",
        ),
        parameter(
            "sticky",
            Switch,
            "true",
            "Whether an alarm acts again after each cooldown while it lasts.",
        ),
        parameter(
            "flap_check",
            Switch,
            "false",
            "Removes no more instances than keep the metric below `upper`.",
        ),
    ],
    pace_s: MINUTE_S,
    goes_by_day: false,
    knows_future: false,
    make,
};

/// What is done about an alarm.
#[derive(Clone, Copy)]
enum Action {
    /// So many more, or fewer.
    By(u32),
    /// To so many.
    To(u32),
}

struct Threshold {
    metric: Metric,
    lower: f64,
    upper: f64,
    period_s: f64,
    datapoints: u32,
    of: u32,
    cooldown_s: f64,
    above: Action,
    below: Action,
    is_sticky: bool,
    checks_flapping: bool,
}

/// When it acted last, seconds since the start, and on which alarms it has acted since they came
/// about: above and below.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Acted {
    at_s: Option<f64>,
    #[serde(default)]
    is_done: (bool, bool),
}

/// Reads how many more or fewer, or to how many.
fn action(parameters: &mut Parameters<'_>, by: &str, to: &str) -> Action {
    if parameters.has(by) && parameters.has(to) {
        parameters.fault(to, format!("`{to}` and `{by}` exclude each other"), None);
    }
    let count = parameters.whole(by).unwrap_or(1);
    parameters.whole(to).map_or(Action::By(count), Action::To)
}

fn make(parameters: &mut Parameters<'_>, _: &Facts) -> Option<Maker> {
    let metric = parameters.metric(Metric::Cpu, &["lower", "upper"]);
    let upper = parameters.number("upper").unwrap_or(70.0);
    let lower = parameters.number("lower").unwrap_or(60.0);
    if lower >= upper && !parameters.is_faulty(&["lower", "upper"]) {
        let message = format!("expected `lower` below `upper`, found {lower} and {upper}");
        let name = if parameters.has("lower") { "lower" } else { "upper" };
        parameters.fault(name, message, None);
    }
    let datapoints = parameters.whole("datapoints").unwrap_or(15);
    let of = parameters.whole("of").unwrap_or(datapoints);
    if of > datapoints && !parameters.is_faulty(&["of", "datapoints"]) {
        let message = format!("expected `of` at most `datapoints`, found {of} and {datapoints}");
        parameters.fault("of", message, None);
    }
    Some(maker(Threshold {
        metric,
        lower,
        upper,
        period_s: parameters.seconds("period").unwrap_or(60.0),
        datapoints,
        of,
        cooldown_s: parameters.seconds("cooldown").unwrap_or(120.0),
        above: action(parameters, "add", "set_above"),
        below: action(parameters, "remove", "set_below"),
        is_sticky: parameters.switch("sticky").unwrap_or(true),
        checks_flapping: parameters.switch("flap_check").unwrap_or(false),
    }))
}

/// The mean of what was seen.
fn mean(values: &[f64]) -> f64 {
    let seen = values.iter().filter(|value| value.is_finite());
    let (sum, count) = seen.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

impl Threshold {
    /// Whether the metric would be above the upper bound if only so many were left, where it is
    /// `value` with those that are ready.
    fn would_flap(&self, value: f64, left: u32, seen: &Observation<'_>) -> bool {
        // Sums do not depend on how many there are.
        let spread =
            if self.metric.is_mean() { f64::from(seen.ready()) / f64::from(left) } else { 1.0 };
        value * spread > self.upper
    }

    /// How many are to stay where the alarm says `desired`.
    fn fewer(&self, desired: u32, values: &[f64], seen: &Observation<'_>) -> u32 {
        let (value, wanted) = (mean(values), seen.wanted());
        if !self.checks_flapping {
            return desired;
        }
        (desired..wanted).find(|&left| !self.would_flap(value, left, seen)).unwrap_or(wanted)
    }
}

impl Policy for Threshold {
    type State = Acted;

    fn decide(&self, state: &mut Acted, seen: &Observation<'_>) -> Decision {
        let wanted = seen.wanted();
        let stay = |reason: String| Decision::of(wanted, reason);
        let count = self.datapoints;
        let ever = f64::NEG_INFINITY;
        let values = seen.series.datapoints(self.metric, self.period_s, count, ever);
        let many = |is: &dyn Fn(f64) -> bool| {
            let values = values.iter().flatten();
            values.filter(|value| is(**value)).count() >= self.of as usize
        };
        let (is_above, is_below) =
            (many(&|value| value > self.upper), many(&|value| value < self.lower));
        // An alarm that has cleared acts again when it comes about anew.
        state.is_done = (state.is_done.0 && is_above, state.is_done.1 && is_below);
        if let Some(at_s) = state.at_s.filter(|at_s| seen.now_s - at_s < self.cooldown_s - 1e-6) {
            let would_act = (is_above || is_below).then_some(Bound::Cooldown);
            return stay(format!("cooling down since {at_s:.0} s")).held_by(would_act);
        }
        let Some(values) = values else {
            return stay(format!("fewer than {count} datapoints"));
        };
        let name = self.metric.name();
        let (desired, beyond, is_done) = if is_above {
            let desired = match self.above {
                Action::By(more) => wanted.saturating_add(more),
                Action::To(count) => count,
            };
            (desired, format!("{name} above {}", self.upper), &mut state.is_done.0)
        } else if is_below {
            let desired = match self.below {
                Action::By(fewer) => wanted.saturating_sub(fewer),
                Action::To(count) => count,
            };
            let desired = self.fewer(desired, &values, seen);
            (desired, format!("{name} below {}", self.lower), &mut state.is_done.1)
        } else {
            return stay(format!("{name} {:.1}, no alarm", values.last().unwrap_or(&f64::NAN)));
        };
        if *is_done && !self.is_sticky {
            return stay(format!("{beyond}, and it has acted on that"));
        }
        let limit = super::beyond(seen, f64::from(desired));
        let desired = seen.clamp(f64::from(desired));
        if desired == wanted {
            return stay(format!("{beyond}, but it stays at {wanted}")).held_by(limit);
        }
        *is_done = true;
        state.at_s = Some(seen.now_s);
        let reason = format!("{beyond} in {} of {count} datapoints", self.of);
        Decision::of(desired, reason).held_by(limit)
    }

    fn adds_above(&self) -> Option<Reach> {
        Some(Reach { metric: self.metric, bound: self.upper, is_each: false })
    }

    fn shortest_s(&self) -> Option<(f64, &'static str)> {
        Some((self.period_s, "period"))
    }
}
