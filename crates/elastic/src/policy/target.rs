//! Target tracking, as Kubernetes scales pods horizontally (Kubernetes documentation, *Horizontal
//! Pod Autoscaling*, "Algorithm details" and "Configurable scaling behavior";
//! `replica_calculator.go` and `horizontal.go` of its controller):
//!
//! ```text
//! recommended = ⌈ready × metric / target⌉, and as it is where |metric / target − 1| ≤ tolerance
//! ```
//!
//! Processor and response time are means of the instances that are ready. To add, those that are
//! not count as idle: where that brings the metric within the tolerance, nothing is added. Other
//! metrics are sums, and are divided among all instances, ready or not.
//!
//! Of what was recommended within a window the highest is kept on the way down, the lowest on the
//! way up: a window holds back, it does not space changes out. It begins with what is there. What
//! comes of that is brought within the limits of change ([`super::limits`]), of which `target` has
//! none by itself.

use super::limits::{Changes, Limits, SELECT, Select};
use super::window::Recommended;
use super::{
    Bound, Decision, FIGURE, Facts, Kind, MINUTE_S, Maker, Parameter, Parameters, Policy, Reach,
    WATCHED, beyond, maker, parameter, tried, whole,
};
use crate::observation::{Metric, Observation};
use plimsoll_units::parameter::ANY_DURATION;
use plimsoll_units::parameter::Takes;
use plimsoll_units::parameter::Takes::{Duration, Number, Text, Word, WordOr};
use serde::{Deserialize, Serialize};

pub(super) static KIND: Kind = Kind {
    name: "target",
    about: "keeps a metric of each instance near a target",
    parameters: &parameters(&DEFAULTS),
    pace_s: MINUTE_S,
    goes_by_day: false,
    knows_future: false,
    make,
};

/// Of which metrics there is something for each instance.
struct Target {
    metric: Metric,
    target: f64,
    /// Shares by which the metric may be above and below its target.
    tolerance: (f64, f64),
    period_s: f64,
    up_s: f64,
    down_s: f64,
    up: Limits,
    down: Limits,
}

/// What is remembered: recommendations, and the changes that were made.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Tracked {
    recommended: Recommended,
    changes: Changes,
}

/// What tells `target` and `hpa` apart: the target and the period with how they are written, and
/// the limits of change, empty for none.
pub(super) struct Defaults {
    pub(super) target: (f64, &'static str),
    pub(super) period_s: (f64, &'static str),
    pub(super) up: &'static str,
    pub(super) down: &'static str,
}

const DEFAULTS: Defaults =
    Defaults { target: (70.0, "70 of cpu"), period_s: (60.0, "1m"), up: "", down: "" };

const fn limit(text: &'static str) -> &'static str {
    if text.is_empty() { "no limit" } else { text }
}

/// The metrics that can be kept near a target.
const METRICS: Takes = WordOr(
    &["cpu", "memory", "rate", "response", "concurrency", "connections", "queue"],
    WATCHED,
    FIGURE,
);
/// How fast the number may change.
const LIMITS: Takes = Text("COUNT/PERIOD or SHARE/PERIOD, …");
const WHICH: Takes = Word(&["max", "min", "off"]);

/// The parameters of a policy of this kind.
pub(super) const fn parameters(defaults: &Defaults) -> [Parameter; 12] {
    [
        parameter("metric", METRICS, "cpu", "The metric that is kept near its target."),
        tried(
            parameter(
                "target",
                Number(1e-9, 1e12),
                defaults.target.1,
                "The metric's target for each instance.",
            ),
            &["50", "60", "70", "80", "90"],
        ),
        parameter(
            "tolerance",
            Number(0.0, 1.0),
            "0.1",
            "Nothing is done where the metric is off by no more than this share.",
        ),
        parameter(
            "up_tolerance",
            Number(0.0, 1.0),
            "as `tolerance`",
            "The same for scale-up only.",
        ),
        parameter(
            "down_tolerance",
            Number(0.0, 1.0),
            "as `tolerance`",
            "The same for scale-down only.",
        ),
        parameter(
            "period",
            Duration(0.001, 86_400.0),
            defaults.period_s.1,
            "The metric is its mean over this time.",
        ),
        parameter(
            "up_window",
            ANY_DURATION,
            "0s",
            "Scale-up uses the lowest recommendation of this time.",
        ),
        tried(
            parameter(
                "down_window",
                ANY_DURATION,
                "5m",
                "Scale-down uses the highest recommendation of this time.",
            ),
            &["1m", "5m", "10m"],
        ),
        parameter("up", LIMITS, limit(defaults.up), "The most instances added in a period."),
        parameter("down", LIMITS, limit(defaults.down), "The most instances removed in a period."),
        parameter("up_select", WHICH, "max", "Which limit of `up` counts."),
        parameter("down_select", WHICH, "max", "Which limit of `down` counts."),
    ]
}

fn make(parameters: &mut Parameters<'_>, _: &Facts) -> Option<Maker> {
    Some(tracking(parameters, &DEFAULTS))
}

/// Reads the limits of one direction.
fn limits(parameters: &mut Parameters<'_>, name: &str, select: &str, usual: &str) -> Limits {
    let select = parameters.word(select, &SELECT).unwrap_or(Select::Max);
    let given = parameters.parsed(name, |text| Limits::read(text, select));
    // A default can be read; what is given and cannot is a fault already.
    given.or_else(|| Limits::read(usual, select).ok()).unwrap_or_else(|| Limits::none(select))
}

/// Reads a policy of this kind.
pub(super) fn tracking(parameters: &mut Parameters<'_>, defaults: &Defaults) -> Maker {
    let tolerance = parameters.number("tolerance").unwrap_or(0.1);
    let mut tolerance_of = |name: &str| parameters.number(name).unwrap_or(tolerance);
    let tolerance = (tolerance_of("up_tolerance"), tolerance_of("down_tolerance"));
    maker(Target {
        metric: parameters.metric(Metric::Cpu, &["target"]),
        target: parameters.number("target").unwrap_or(defaults.target.0),
        tolerance,
        period_s: parameters.seconds("period").unwrap_or(defaults.period_s.0),
        up_s: parameters.seconds("up_window").unwrap_or(0.0),
        down_s: parameters.seconds("down_window").unwrap_or(300.0),
        up: limits(parameters, "up", "up_select", defaults.up),
        down: limits(parameters, "down", "down_select", defaults.down),
    })
}

impl Target {
    /// How many instances a value of the metric asks for.
    fn recommend(&self, value: f64, seen: &Observation<'_>) -> f64 {
        let (wanted, ready) = (f64::from(seen.wanted()), f64::from(seen.ready()));
        let (above, below) = self.tolerance;
        let (low, high) = (1.0 - below - 1e-9, 1.0 + above + 1e-9);
        if !self.metric.is_mean() {
            let ratio = value / self.target / wanted.max(1.0);
            let is_near = (low..=high).contains(&ratio);
            return if is_near { wanted } else { whole(value / self.target) };
        }
        let ratio = value / self.target;
        let needed = whole(ratio * ready.max(1.0));
        if ratio > high {
            let with_idle = ratio * ready.max(1.0) / wanted.max(1.0);
            if with_idle <= high { wanted } else { needed.max(wanted) }
        } else if ratio < low {
            needed.min(wanted)
        } else {
            wanted
        }
    }
}

impl Policy for Target {
    type State = Tracked;

    fn decide(&self, state: &mut Tracked, seen: &Observation<'_>) -> Decision {
        let (wanted, now_s) = (seen.wanted(), seen.now_s);
        let Tracked { recommended: past, changes } = state;
        if past.is_empty() {
            past.add(now_s, wanted, self.up_s, self.down_s);
        }
        let name = self.metric.name();
        let Some(value) = seen.series.recent(self.period_s, self.metric) else {
            return Decision::of(wanted, format!("no {name} yet"));
        };
        let wished = self.recommend(value, seen);
        let recommended = seen.clamp(wished);
        past.add(now_s, recommended, self.up_s, self.down_s);
        // From what is there up as far as all of one window say, down as far as all of the other
        // do; the present recommendation is in both, so the two never cross.
        let stable = wanted.max(past.fewest(recommended)).min(past.most(recommended));
        let desired = if stable > wanted {
            f64::from(stable).min(self.up.most(now_s, wanted, changes))
        } else if stable < wanted {
            f64::from(stable).max(self.down.fewest(now_s, wanted, changes))
        } else {
            f64::from(stable)
        };
        let desired = seen.clamp(desired);
        changes.add(now_s, wanted, desired);
        let held = if desired == recommended { "" } else { ", held back" };
        let reason = format!("{name} {value:.1}: {recommended} for {} each{held}", self.target);
        let is_held = desired != recommended;
        let held_by = if is_held { Some(Bound::Window) } else { beyond(seen, wished) };
        Decision::of(desired, reason).held_by(held_by)
    }

    fn adds_above(&self) -> Option<Reach> {
        let bound = self.target * (1.0 + self.tolerance.0);
        Some(Reach { metric: self.metric, bound, is_each: true })
    }

    fn shortest_s(&self) -> Option<(f64, &'static str)> {
        let limits = [(self.up.shortest_s(), "up"), (self.down.shortest_s(), "down")];
        let limits = limits.into_iter().filter_map(|(of, name)| Some((of?, name)));
        limits.chain([(self.period_s, "period")]).min_by(|a, b| a.0.total_cmp(&b.0))
    }
}
