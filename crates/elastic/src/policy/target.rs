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
//! way up: a window holds back, it does not space changes out. It begins with what is there.

use super::window::Recommended;
use super::{Decision, Facts, Kind, Maker, Parameters, Policy, maker, parameter, whole};
use crate::observation::{Metric, Observation};

pub(super) static KIND: Kind = Kind {
    name: "target",
    about: "keeps a metric of each instance near a target",
    parameters: &[
        parameter("metric", "cpu, rate, response, concurrency or queue", "cpu", "Of what."),
        parameter("target", "number", "70 of cpu", "What it is to be, for each instance."),
        parameter("tolerance", "number", "0.1", "A share that it may be off."),
        parameter("period", "duration", "1m", "It is the mean over this."),
        parameter("up_window", "duration", "0s", "Of so long, the lowest goes, on the way up."),
        parameter(
            "down_window",
            "duration",
            "5m",
            "Of so long, the highest goes, on the way down.",
        ),
    ],
    knows_future: false,
    make,
};

/// Of which metrics there is something for each instance.
const METRICS: [Metric; 5] =
    [Metric::Cpu, Metric::Rate, Metric::Response, Metric::Concurrency, Metric::Queue];

struct Target {
    metric: Metric,
    target: f64,
    tolerance: f64,
    period_s: f64,
    up_s: f64,
    down_s: f64,
}

fn make(parameters: &mut Parameters<'_>, _: &Facts) -> Option<Maker> {
    Some(maker(Target {
        metric: parameters.metric(&METRICS, Metric::Cpu, &["target"]),
        target: parameters.number("target", 1e-9, 1e12).unwrap_or(70.0),
        tolerance: parameters.number("tolerance", 0.0, 1.0).unwrap_or(0.1),
        period_s: parameters.seconds_within("period", 0.001, 86_400.0).unwrap_or(60.0),
        up_s: parameters.seconds("up_window").unwrap_or(0.0),
        down_s: parameters.seconds("down_window").unwrap_or(300.0),
    }))
}

impl Target {
    /// How many instances a value of the metric asks for.
    fn recommend(&self, value: f64, seen: &Observation<'_>) -> f64 {
        let (wanted, ready) = (f64::from(seen.wanted()), f64::from(seen.ready()));
        let (low, high) = (1.0 - self.tolerance - 1e-9, 1.0 + self.tolerance + 1e-9);
        let is_mean = matches!(self.metric, Metric::Cpu | Metric::Response);
        if !is_mean {
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
    type State = Recommended;

    fn decide(&self, state: &mut Recommended, seen: &Observation<'_>) -> Decision {
        let (wanted, now_s) = (seen.wanted(), seen.now_s);
        let keep_s = self.up_s.max(self.down_s);
        if state.is_empty() {
            state.add(now_s, wanted, keep_s);
        }
        let name = self.metric.name();
        let Some(value) = seen.series.recent(self.period_s, self.metric) else {
            return Decision { desired: wanted, reason: format!("no {name} yet") };
        };
        let recommended = seen.clamp(self.recommend(value, seen));
        state.add(now_s, recommended, keep_s);
        // From what is there up as far as all of one window say, down as far as all of the other
        // do; the present recommendation is in both, so the two never cross.
        let up = state.fewest(now_s, self.up_s, recommended);
        let down = state.most(now_s, self.down_s, recommended);
        let desired = wanted.max(up).min(down);
        let held = if desired == recommended { "" } else { ", held back" };
        let reason = format!("{name} {value:.1}: {recommended} for {} each{held}", self.target);
        Decision { desired, reason }
    }
}
