//! Simple scaling on an alarm: a metric that was above, or below, a bound in so many of the last
//! periods. As EC2 Auto Scaling's simple scaling policies with CloudWatch alarms ("M out of N"
//! datapoints; Amazon EC2 Auto Scaling User Guide, *Step and simple scaling policies* and *Scaling
//! cooldowns*).
//!
//! An alarm that is *sticky* acts again after each cooldown while it lasts; one that is not, is to be
//! fulfilled anew by periods that began after the last action.

use super::{Decision, Facts, Kind, Maker, Parameters, Policy, maker, parameter, tried};
use crate::observation::{Metric, Observation, Point, Series};
use serde::{Deserialize, Serialize};

pub(super) static KIND: Kind = Kind {
    name: "threshold",
    about: "a metric above or below a bound for some time: some instances more or fewer",
    parameters: &[
        parameter("metric", "cpu, rate, lost, response, concurrency or queue", "cpu", "Of what."),
        tried(
            parameter("upper", "number", "70", "Above this it adds."),
            &["50", "60", "70", "80", "90"],
        ),
        tried(
            parameter("lower", "number", "60", "Below this it removes."),
            &["20", "30", "40", "50", "60"],
        ),
        parameter("period", "duration", "1m", "One datapoint is the mean over this."),
        tried(
            parameter("datapoints", "count", "15", "How many of the last are looked at."),
            &["1", "3", "5", "15"],
        ),
        parameter("of", "count", "all of them", "How many of these have to be beyond the bound."),
        tried(
            parameter("cooldown", "duration", "2m", "Nothing is done for so long after an action."),
            &["1m", "2m", "5m"],
        ),
        tried(
            parameter("add", "count", "1", "So many at once."),
            &["1", "2", "3"],
        ),
        parameter("remove", "count", "1", "So many at once."),
        parameter("sticky", "switch", "true", "Whether an alarm acts again after each cooldown."),
    ],
    knows_future: false,
    make,
};

struct Threshold {
    metric: Metric,
    bounds: (f64, f64),
    period_s: f64,
    datapoints: u32,
    of: u32,
    cooldown_s: f64,
    add: u32,
    remove: u32,
    is_sticky: bool,
}

/// When it acted last, seconds since the start.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Acted {
    at_s: Option<f64>,
}

/// Reads a metric's name.
pub(super) fn metric(parameters: &mut Parameters<'_>) -> Option<Metric> {
    let words = Metric::ALL.map(|metric| (metric.name(), metric));
    parameters.word("metric", &words)
}

fn make(parameters: &mut Parameters<'_>, _: &Facts) -> Option<Maker> {
    let upper = parameters.number("upper", 0.0, 1e9).unwrap_or(70.0);
    let lower = parameters.number("lower", 0.0, 1e9).unwrap_or(60.0);
    if lower >= upper {
        let message = format!("expected `lower` below `upper`, found {lower} and {upper}");
        let name = if parameters.text("lower").is_some() { "lower" } else { "upper" };
        parameters.fault(name, message, None);
    }
    let datapoints = parameters.whole("datapoints", 1, 10_000).unwrap_or(15);
    let of = parameters.whole("of", 1, 10_000).unwrap_or(datapoints);
    if of > datapoints {
        let message = format!("expected `of` at most `datapoints`, found {of} and {datapoints}");
        parameters.fault("of", message, None);
    }
    Some(maker(Threshold {
        metric: metric(parameters).unwrap_or(Metric::Cpu),
        bounds: (lower, upper),
        period_s: parameters.seconds("period").unwrap_or(60.0).max(1e-3),
        datapoints,
        of,
        cooldown_s: parameters.seconds("cooldown").unwrap_or(120.0),
        add: parameters.whole("add", 0, 10_000).unwrap_or(1),
        remove: parameters.whole("remove", 0, 10_000).unwrap_or(1),
        is_sticky: parameters.switch("sticky").unwrap_or(true),
    }))
}

/// The means of a metric over the last so many periods, the latest last; `None` where there are not
/// as many yet, or nothing was seen in one. `since_s` is when the first may begin.
pub(super) fn datapoints(
    series: &Series,
    metric: Metric,
    period_s: f64,
    count: u32,
    since_s: f64,
) -> Option<Vec<f64>> {
    let points = series.last(period_s * f64::from(count))?;
    let start_s = points.first().map(|point: &Point| point.at_s - point.seconds)?;
    if start_s < since_s - 1e-6 {
        return None;
    }
    let one = |k: u32| {
        let from_s = start_s + f64::from(k) * period_s;
        Series::mean(series.within(from_s, from_s + period_s), metric)
    };
    (0..count).map(one).collect()
}

impl Policy for Threshold {
    type State = Acted;

    fn decide(&self, state: &mut Acted, seen: &Observation<'_>) -> Decision {
        let wanted = seen.wanted();
        let stay = |reason: String| Decision { desired: wanted, reason };
        if let Some(at_s) = state.at_s.filter(|at_s| seen.now_s - at_s < self.cooldown_s - 1e-6) {
            return stay(format!("cooling down since {at_s:.0} s"));
        }
        let since_s = if self.is_sticky { None } else { state.at_s };
        let since_s = since_s.unwrap_or(f64::NEG_INFINITY);
        let count = self.datapoints;
        let Some(last) = datapoints(seen.series, self.metric, self.period_s, count, since_s) else {
            return stay(format!("fewer than {count} datapoints"));
        };
        let (lower, upper) = self.bounds;
        let many = |is: &dyn Fn(f64) -> bool| {
            last.iter().filter(|value| is(**value)).count() >= self.of as usize
        };
        let (name, now) = (self.metric.name(), last.last().copied().unwrap_or(f64::NAN));
        let (desired, which, bound) = if many(&|value| value > upper) {
            (wanted.saturating_add(self.add), "above", upper)
        } else if many(&|value| value < lower) {
            (wanted.saturating_sub(self.remove), "below", lower)
        } else {
            return stay(format!("{name} {now:.1}, between the bounds"));
        };
        let desired = seen.clamp(f64::from(desired));
        if desired == wanted {
            return stay(format!("{name} {which} {bound}, but {wanted} is as far as it goes"));
        }
        state.at_s = Some(seen.now_s);
        let reason = format!("{name} {which} {bound} in {} of {count} datapoints", self.of);
        Decision { desired, reason }
    }
}
