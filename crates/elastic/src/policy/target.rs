//! Target tracking, as the horizontal pod autoscaler of Kubernetes does it (Kubernetes documentation,
//! *Horizontal Pod Autoscaling*, "Algorithm details"; `replica_calculator.go`):
//!
//! ```text
//! desired = ⌈ready × metric / target⌉, and as it is where |metric / target − 1| ≤ tolerance
//! ```
//!
//! Of what was recommended within a window the highest is kept on the way down, the lowest on the
//! way up: a window holds back, it does not space changes out.

use super::threshold::metric;
use super::{Decision, Facts, Kind, Maker, Parameters, Policy, maker, parameter};
use crate::observation::{Metric, Observation, Series};
use serde::{Deserialize, Serialize};

pub(super) static KIND: Kind = Kind {
    name: "target",
    about: "keeps a metric of each instance near a target",
    parameters: &[
        parameter("metric", "cpu, rate, response, concurrency or queue", "cpu", "Of what."),
        parameter("target", "number", "70", "What it is to be, for each instance."),
        parameter("tolerance", "number", "0.1", "A share that it may be off."),
        parameter("period", "duration", "1m", "It is the mean over this."),
        parameter("up_window", "duration", "0s", "Of so long, the lowest goes, on the way up."),
        parameter("down_window", "duration", "5m", "Of so long, the highest goes, on the way down."),
    ],
    knows_future: false,
    make,
};

struct Target {
    metric: Metric,
    target: f64,
    tolerance: f64,
    period_s: f64,
    windows_s: (f64, f64),
}

/// What was recommended: when, and how many.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Recommended {
    past: Vec<(f64, u32)>,
}

fn make(parameters: &mut Parameters<'_>, _: &Facts) -> Option<Maker> {
    Some(maker(Target {
        metric: metric(parameters).unwrap_or(Metric::Cpu),
        target: parameters.number("target", 1e-9, 1e12).unwrap_or(70.0),
        tolerance: parameters.number("tolerance", 0.0, 1.0).unwrap_or(0.1),
        period_s: parameters.seconds("period").unwrap_or(60.0),
        windows_s: (
            parameters.seconds("up_window").unwrap_or(0.0),
            parameters.seconds("down_window").unwrap_or(300.0),
        ),
    }))
}

impl Policy for Target {
    type State = Recommended;

    fn decide(&self, state: &mut Recommended, seen: &Observation<'_>) -> Decision {
        let (wanted, ready) = (seen.wanted(), seen.ready().max(1));
        let stay = |reason: String| Decision { desired: wanted, reason };
        let points = seen.series.last(self.period_s);
        let Some(value) = points.and_then(|points| Series::mean(points, self.metric)) else {
            return stay(format!("no {} yet", self.metric.name()));
        };
        // Processor time and response time are of the mean instance, the others of all.
        let is_mean = matches!(self.metric, Metric::Cpu | Metric::Response);
        let each = if is_mean { value } else { value / f64::from(ready) };
        let ratio = each / self.target;
        let recommended = if (ratio - 1.0).abs() <= self.tolerance {
            wanted
        } else {
            seen.clamp((ratio * f64::from(ready)).ceil())
        };
        let (up_s, down_s) = self.windows_s;
        let oldest_s = seen.now_s - up_s.max(down_s);
        state.past.retain(|(at_s, _)| *at_s > oldest_s - 1e-6);
        state.past.push((seen.now_s, recommended));
        let within = |window_s: f64| {
            let from_s = seen.now_s - window_s;
            state.past.iter().filter(move |(at_s, _)| *at_s >= from_s - 1e-6).map(|(_, n)| *n)
        };
        let lowest = within(up_s).min().unwrap_or(recommended);
        let highest = within(down_s).max().unwrap_or(recommended);
        // Towards what is there: up only as far as all of one window say, down only as far as all
        // of the other do.
        let desired = wanted.max(lowest).min(highest.max(lowest));
        let name = self.metric.name();
        let reason = format!("{name} {each:.1} of {}: {recommended} recommended", self.target);
        Decision { desired, reason }
    }
}
