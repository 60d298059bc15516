//! Step scaling: the further a metric is beyond its bound, the more instances at once; instances
//! that are warming up count as capacity that is on its way (Amazon EC2 Auto Scaling User Guide,
//! *Step and simple scaling policies*, *Set the default instance warmup*): an adjustment starts
//! from those that are warm, so that the same alarm does not add again what is coming, and nothing
//! is removed while instances warm up. A share of them is cut to a whole number, and is at least
//! one (*PercentChangeInCapacity*). A step is taken when all of the last datapoints have reached
//! its bound; a period without data has reached none.

use super::{
    Decision, Facts, Kind, METRICS, MINUTE_S, Maker, Parameters, Policy, Reach, maker, parameter,
    tried,
};
use crate::observation::{Metric, Observation, State};
use plimsoll_units::ParseError;
use plimsoll_units::parameter::ANY_DURATION;
use plimsoll_units::parameter::Takes::{Count, Duration, Text};

pub(super) static KIND: Kind = Kind {
    name: "step",
    about: "several bounds of a metric, each with its own step",
    parameters: &[
        parameter("metric", METRICS, "cpu", "The metric."),
        parameter(
            "up",
            Text("BOUND:STEP,…"),
            "70:1,80:2,90:4 of cpu",
            "Above each bound: add 2, add 50%, or =5 in all.",
        ),
        parameter(
            "down",
            Text("BOUND:STEP,…"),
            "40:1 of cpu",
            "Below each bound: remove 2, remove 50%, or =5 in all.",
        ),
        parameter(
            "period",
            Duration(0.001, 86_400.0),
            "1m",
            "One datapoint is the mean over this time.",
        ),
        parameter(
            "datapoints",
            Count(1, 10_000),
            "1",
            "Number of latest datapoints that must be beyond a bound.",
        ),
        tried(
            parameter(
                "warm_up",
                ANY_DURATION,
                "3m",
                "Time after which a ready instance counts as warm.",
            ),
            &["0s", "1m", "3m", "5m"],
        ),
    ],
    pace_s: MINUTE_S,
    goes_by_day: false,
    knows_future: false,
    make,
};

/// What is done from a bound on.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Change {
    /// So many more, or fewer.
    By(u32),
    /// By so many hundredths of those that there are.
    Share(u32),
    /// To so many.
    To(u32),
}

impl Change {
    /// By how many of those that there are, or to how many.
    fn count(self, of: u32) -> u32 {
        match self {
            Self::By(count) | Self::To(count) => count,
            Self::Share(hundredths) => {
                let count = u64::from(of) * u64::from(hundredths) / 100;
                u32::try_from(count).unwrap_or(u32::MAX).max(1)
            }
        }
    }
}

struct Step {
    metric: Metric,
    /// Bounds with their steps; ascending upwards, descending downwards.
    up: Vec<(f64, Change)>,
    down: Vec<(f64, Change)>,
    period_s: f64,
    datapoints: u32,
    warm_up_s: f64,
}

/// Reads `70:1,80:2,90:=10`; a step by a number may have a sign, which is that of its direction.
fn steps(text: &str, sign: char) -> Result<Vec<(f64, Change)>, ParseError> {
    let mut at = 0;
    let mut steps: Vec<(f64, Change)> = Vec::new();
    for part in text.split(',') {
        let error = |wanted: &str| ParseError::new(wanted, part, at, part.len());
        let wanted = "a bound and a step as 70:1, 70:50% or 70:=5";
        let step = step(part, sign).ok_or_else(|| error(wanted))?;
        if steps.iter().any(|(bound, _)| bound.total_cmp(&step.0).is_eq()) {
            return Err(error("each bound once"));
        }
        steps.push(step);
        at += part.len() + 1;
    }
    Ok(steps)
}

/// Reads one of them.
fn step(part: &str, sign: char) -> Option<(f64, Change)> {
    let (bound, step) = part.split_once(':')?;
    let bound: f64 = bound.trim().parse().ok().filter(|bound: &f64| bound.is_finite())?;
    let step = step.trim();
    let by = step.strip_prefix(sign).unwrap_or(step);
    let (digits, change): (&str, fn(u32) -> Change) = match (step.strip_prefix('='), by) {
        (Some(digits), _) => (digits, Change::To),
        (None, by) => match by.strip_suffix('%') {
            Some(digits) => (digits, Change::Share),
            None => (by, Change::By),
        },
    };
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let count = digits.parse().ok().filter(|count| is_number && *count <= 1_000_000)?;
    Some((bound, change(count)))
}

fn make(parameters: &mut Parameters<'_>, _: &Facts) -> Option<Maker> {
    let metric = parameters.metric(Metric::Cpu, &["up", "down"]);
    let by = |steps: &[(f64, u32)]| steps.iter().map(|(at, by)| (*at, Change::By(*by))).collect();
    let mut up = parameters
        .parsed("up", |text| steps(text, '+'))
        .unwrap_or_else(|| by(&[(70.0, 1), (80.0, 2), (90.0, 4)]));
    let mut down =
        parameters.parsed("down", |text| steps(text, '-')).unwrap_or_else(|| by(&[(40.0, 1)]));
    up.sort_by(|a, b| a.0.total_cmp(&b.0));
    down.sort_by(|a, b| b.0.total_cmp(&a.0));
    if let (Some((upper, _)), Some((lower, _))) = (up.first(), down.first())
        && lower >= upper
        && !parameters.is_faulty(&["up", "down"])
    {
        let message =
            format!("expected the bounds of `down` below those of `up`, found {lower} and {upper}");
        parameters.fault(if parameters.has("down") { "down" } else { "up" }, message, None);
    }
    Some(maker(Step {
        metric,
        up,
        down,
        period_s: parameters.seconds("period").unwrap_or(60.0),
        datapoints: parameters.whole("datapoints").unwrap_or(1),
        warm_up_s: parameters.seconds("warm_up").unwrap_or(180.0),
    }))
}

impl Step {
    /// The instances that have been ready for the time of a warm-up, or were there at the start.
    fn warm(&self, seen: &Observation<'_>) -> u32 {
        let is_warm = |ready_s: f64| seen.now_s >= ready_s + self.warm_up_s - 1e-6;
        let alive = seen.instances.iter().filter(|of| of.state != State::Draining);
        let warm = alive.filter(|of| {
            of.ready_s.is_some_and(|ready_s| of.launched_s <= 0.0 || is_warm(ready_s))
        });
        u32::try_from(warm.count()).unwrap_or(u32::MAX)
    }
}

impl Policy for Step {
    type State = ();

    fn decide(&self, (): &mut (), seen: &Observation<'_>) -> Decision {
        let wanted = seen.wanted();
        let stay = |reason: String| Decision::of(wanted, reason);
        let ever = f64::NEG_INFINITY;
        let values = seen.series.datapoints(self.metric, self.period_s, self.datapoints, ever);
        let Some(values) = values else {
            return stay(format!("fewer than {} datapoints", self.datapoints));
        };
        let name = self.metric.name();
        let warm = self.warm(seen);
        let up = self.up.iter().rev().find(|(bound, _)| values.iter().all(|of| of >= bound));
        if let Some((bound, change)) = up {
            let (desired, how) = match change {
                Change::To(count) => (*count, format!("to {count}")),
                Change::By(_) | Change::Share(_) => {
                    let more = change.count(warm);
                    let desired = seen.clamp(f64::from(warm.saturating_add(more))).max(wanted);
                    (desired, format!("{more} more than the {warm} warm"))
                }
            };
            return Decision::of(desired, format!("{name} from {bound} on: {how}"));
        }
        let down = self.down.iter().rev().find(|(bound, _)| values.iter().all(|of| of <= bound));
        if let Some((bound, change)) = down {
            if warm < wanted {
                return stay(format!("{name} down to {bound}, but instances warm up"));
            }
            let (desired, how) = match change {
                Change::To(count) => (*count, format!("to {count}")),
                Change::By(_) | Change::Share(_) => {
                    let fewer = change.count(wanted);
                    (wanted.saturating_sub(fewer), format!("{fewer} fewer"))
                }
            };
            return Decision::of(desired, format!("{name} down to {bound}: {how}"));
        }
        stay(format!("{name} {:.1}, between the bounds", values.last().unwrap_or(&f64::NAN)))
    }

    fn adds_above(&self) -> Option<Reach> {
        // A step is taken where the metric reaches its bound.
        let (bound, _) = self.up.first()?;
        Some(Reach { metric: self.metric, bound: bound.next_down(), is_each: false })
    }

    fn shortest_s(&self) -> Option<(f64, &'static str)> {
        Some((self.period_s, "period"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_with_their_places() {
        let read = steps("70:1, 80:+2,90:=7", '+').unwrap();
        assert_eq!(read, [(70.0, Change::By(1)), (80.0, Change::By(2)), (90.0, Change::To(7))]);
        assert_eq!(steps("40:-3", '-').unwrap(), [(40.0, Change::By(3))]);
        assert_eq!(steps("70:+50%", '+').unwrap(), [(70.0, Change::Share(50))]);
        let counts = [1, 3, 10].map(|of| Change::Share(50).count(of));
        assert_eq!(counts, [1, 1, 5], "cut, and at least one");
        for (text, at, len) in [
            ("70:1,x:2", 5, 3),
            ("70:-1", 0, 5),
            ("70:++1", 0, 6),
            ("70", 0, 2),
            ("70:1,70:2", 5, 4),
        ] {
            let error = steps(text, '+').unwrap_err();
            assert_eq!((error.at, error.len), (at, len), "{text}");
        }
    }
}
