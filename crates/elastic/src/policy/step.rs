//! Step scaling: the further a metric is beyond its bound, the more instances at once; instances that
//! are warming up count as capacity that is on its way (Amazon EC2 Auto Scaling User Guide, *Step and
//! simple scaling policies*, *Set the default instance warmup*): an adjustment starts from those
//! that are warm, so that the same alarm does not add again what is coming.

use super::threshold::{datapoints, metric};
use super::{Decision, Facts, Kind, Maker, Parameters, Policy, maker, parameter};
use crate::observation::{Metric, Observation};
use plimsoll_units::ParseError;

pub(super) static KIND: Kind = Kind {
    name: "step",
    about: "several bounds of a metric, each with its own step",
    parameters: &[
        parameter("metric", "cpu, rate, lost, response, concurrency or queue", "cpu", "Of what."),
        parameter("up", "BOUND:STEP,…", "70:1,80:2,90:4", "From each bound on it adds so many."),
        parameter("down", "BOUND:STEP,…", "40:1", "From each bound down it removes so many."),
        parameter("period", "duration", "1m", "One datapoint is the mean over this."),
        parameter("datapoints", "count", "1", "How many of the last have to be beyond a bound."),
        parameter("warm_up", "duration", "3m", "An instance is warm so long after it is ready."),
    ],
    knows_future: false,
    make,
};

struct Step {
    metric: Metric,
    /// Bounds with their steps; ascending upwards, descending downwards.
    up: Vec<(f64, u32)>,
    down: Vec<(f64, u32)>,
    period_s: f64,
    datapoints: u32,
    warm_up_s: f64,
}

/// Reads `70:1,80:2`.
fn steps(text: &str) -> Result<Vec<(f64, u32)>, ParseError> {
    let mut at = 0;
    let mut steps = Vec::new();
    for part in text.split(',') {
        let step = part.split_once(':').and_then(|(bound, step)| {
            let bound: f64 = bound.trim().parse().ok()?;
            let step: u32 = step.trim().trim_start_matches(['+', '-']).parse().ok()?;
            bound.is_finite().then_some((bound, step))
        });
        match step {
            Some(step) => steps.push(step),
            None => return Err(ParseError::new("a bound and a step as 70:1", part, at, part.len())),
        }
        at += part.len() + 1;
    }
    Ok(steps)
}

fn make(parameters: &mut Parameters<'_>, _: &Facts) -> Option<Maker> {
    let mut up = parameters.parsed("up", steps).unwrap_or(vec![(70.0, 1), (80.0, 2), (90.0, 4)]);
    let mut down = parameters.parsed("down", steps).unwrap_or(vec![(40.0, 1)]);
    up.sort_by(|a, b| a.0.total_cmp(&b.0));
    down.sort_by(|a, b| b.0.total_cmp(&a.0));
    if let (Some((upper, _)), Some((lower, _))) = (up.first(), down.first())
        && lower >= upper
    {
        let message = format!("expected the bounds of `down` below those of `up`, found {lower}");
        parameters.fault("down", message, None);
    }
    Some(maker(Step {
        metric: metric(parameters).unwrap_or(Metric::Cpu),
        up,
        down,
        period_s: parameters.seconds("period").unwrap_or(60.0).max(1e-3),
        datapoints: parameters.whole("datapoints", 1, 10_000).unwrap_or(1),
        warm_up_s: parameters.seconds("warm_up").unwrap_or(180.0),
    }))
}

impl Step {
    /// The instances that have been ready for the time of a warm-up.
    fn warm(&self, seen: &Observation<'_>) -> u32 {
        let is_warm = |ready_s: f64| seen.now_s >= ready_s + self.warm_up_s - 1e-6;
        let alive = seen.instances.iter().filter(|of| of.state != crate::observation::State::Draining);
        let count = alive.filter(|of| of.ready_s.is_some_and(is_warm)).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    }
}

impl Policy for Step {
    type State = ();

    fn decide(&self, (): &mut (), seen: &Observation<'_>) -> Decision {
        let wanted = seen.wanted();
        let stay = |reason: String| Decision { desired: wanted, reason };
        let forever = f64::NEG_INFINITY;
        let last = datapoints(seen.series, self.metric, self.period_s, self.datapoints, forever);
        let Some(last) = last else {
            return stay(format!("fewer than {} datapoints", self.datapoints));
        };
        let name = self.metric.name();
        let least = last.iter().copied().fold(f64::INFINITY, f64::min);
        let most = last.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let warm = self.warm(seen);
        if let Some(&(bound, step)) = self.up.iter().rev().find(|(bound, _)| least > *bound) {
            let desired = seen.clamp(f64::from(warm.saturating_add(step))).max(wanted);
            let reason = format!("{name} {least:.1} above {bound}: {step} more than the {warm} warm");
            return Decision { desired, reason };
        }
        if let Some(&(bound, step)) = self.down.iter().rev().find(|(bound, _)| most < *bound) {
            if warm < wanted {
                return stay(format!("{name} {most:.1} below {bound}, but instances warm up"));
            }
            let desired = seen.clamp(f64::from(wanted.saturating_sub(step)));
            return Decision { desired, reason: format!("{name} {most:.1} below {bound}") };
        }
        stay(format!("{name} {most:.1}, between the bounds"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_with_their_places() {
        assert_eq!(steps("70:1, 80:+2").unwrap(), [(70.0, 1), (80.0, 2)]);
        let error = steps("70:1,x:2").unwrap_err();
        assert_eq!((error.at, error.len), (5, 3));
    }
}
