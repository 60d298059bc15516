//! What a policy sees: the instances of a pool, and series of metrics as they were collected.

use serde::{Deserialize, Serialize};

/// A moment at which a policy decides.
#[derive(Debug, Clone, Copy)]
pub struct Observation<'a> {
    /// Seconds since the start.
    pub now_s: f64,
    /// Seconds since the midnight before, by the calendar that schedules go by.
    pub of_day_s: f64,
    /// The instances that are not ended, in the order in which they were launched.
    pub instances: &'a [Instance],
    /// What was collected and has arrived by now.
    pub series: &'a Series,
    /// The fewest and the most instances that the pool may have.
    pub bounds: (u32, u32),
}

/// Where an instance is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Launched, and not ready yet.
    Booting,
    /// Takes requests.
    Ready,
    /// Takes no more, and finishes what it has.
    Draining,
}

/// An instance as a policy sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Instance {
    /// When it was launched, seconds since the start; 0 or less for those that were there.
    pub launched_s: f64,
    /// When it was ready; `None` before that.
    pub ready_s: Option<f64>,
    /// Where it is in its life.
    pub state: State,
    /// Its measured speed: 1 is that of its type.
    pub speed: f64,
}

/// A metric of the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Busy processor time over all of it, per cent.
    Cpu,
    /// Requests per second.
    Rate,
    /// Requests that were lost, per second.
    Lost,
    /// The response time's percentile of the plan's SLO, seconds.
    Response,
    /// Requests at instances, in the mean.
    Concurrency,
    /// Requests that wait at the balancer, at the end.
    Queue,
}

impl Metric {
    /// All of them, in the order of the manual.
    pub const ALL: [Self; 6] =
        [Self::Cpu, Self::Rate, Self::Lost, Self::Response, Self::Concurrency, Self::Queue];

    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Rate => "rate",
            Self::Lost => "lost",
            Self::Response => "response",
            Self::Concurrency => "concurrency",
            Self::Queue => "queue",
        }
    }
}

/// What was collected in one period.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Point {
    /// The end of the period, seconds since the start.
    pub at_s: f64,
    /// Its length.
    pub seconds: f64,
    /// The metrics, in the order of [`Metric::ALL`]; not a number where there was nothing to see.
    pub values: [f64; Metric::ALL.len()],
}

impl Point {
    /// One of its metrics.
    #[must_use]
    pub fn of(&self, metric: Metric) -> f64 {
        self.values[metric as usize]
    }
}

/// Times that are nearer than this are the same, seconds.
const NEAR_S: f64 = 1e-6;

/// Points in order of time, without gaps.
#[derive(Debug, Clone, Default)]
pub struct Series {
    /// The points.
    pub points: Vec<Point>,
}

impl Series {
    /// From when it says something, seconds since the start; `None` where it is empty.
    #[must_use]
    pub fn start_s(&self) -> Option<f64> {
        self.points.first().map(|point| point.at_s - point.seconds)
    }

    /// Until when it says something; `None` where it is empty.
    #[must_use]
    pub fn end_s(&self) -> Option<f64> {
        self.points.last().map(|point| point.at_s)
    }

    /// The mean of a metric over a time, each point weighted by how much of that time its period
    /// covers, whether the period is shorter or longer; `None` where nothing was seen.
    #[must_use]
    pub fn average(&self, from_s: f64, to_s: f64, metric: Metric) -> Option<f64> {
        let (sum, seconds) = self.weigh(from_s, to_s, metric, |_| 1.0);
        (seconds > 0.0).then(|| sum / seconds)
    }

    /// As [`Series::average`], with a weight for the time at which a period ends.
    #[must_use]
    pub fn weighted(
        &self,
        from_s: f64,
        to_s: f64,
        metric: Metric,
        weight: impl Fn(f64) -> f64,
    ) -> Option<f64> {
        let (sum, weights) = self.weigh(from_s, to_s, metric, weight);
        (weights > 0.0).then(|| sum / weights)
    }

    /// For how many seconds of a time a metric was seen.
    #[must_use]
    pub fn seen_s(&self, from_s: f64, to_s: f64, metric: Metric) -> f64 {
        self.weigh(from_s, to_s, metric, |_| 1.0).1
    }

    /// The mean over the last so many seconds; `None` where there are not as many, or nothing was
    /// seen in them.
    #[must_use]
    pub fn recent(&self, seconds: f64, metric: Metric) -> Option<f64> {
        let (start_s, end_s) = (self.start_s()?, self.end_s()?);
        let is_covered = end_s - start_s >= seconds - NEAR_S;
        is_covered.then(|| self.average(end_s - seconds, end_s, metric)).flatten()
    }

    /// The means over the last so many periods, the latest last, not a number where nothing was
    /// seen in one; `None` where there are not as many yet, or the first of them begins before
    /// `since_s`.
    #[must_use]
    pub fn datapoints(
        &self,
        metric: Metric,
        period_s: f64,
        count: u32,
        since_s: f64,
    ) -> Option<Vec<f64>> {
        let from_s = self.end_s()? - period_s * f64::from(count);
        if from_s < self.start_s()?.max(since_s) - NEAR_S {
            return None;
        }
        let one = |k: u32| {
            let from_s = from_s + f64::from(k) * period_s;
            self.average(from_s, from_s + period_s, metric).unwrap_or(f64::NAN)
        };
        Some((0..count).map(one).collect())
    }

    /// Values and weights summed over what points cover of a time.
    fn weigh(
        &self,
        from_s: f64,
        to_s: f64,
        metric: Metric,
        weight: impl Fn(f64) -> f64,
    ) -> (f64, f64) {
        let first = self.points.partition_point(|point| point.at_s <= from_s + NEAR_S);
        let (mut sum, mut weights) = (0.0, 0.0);
        for point in &self.points[first..] {
            let start_s = point.at_s - point.seconds;
            if start_s >= to_s - NEAR_S {
                break;
            }
            let covered_s = point.at_s.min(to_s) - start_s.max(from_s);
            let value = point.of(metric);
            if value.is_finite() && covered_s > 0.0 {
                let share = covered_s * weight(point.at_s);
                (sum, weights) = (sum + share * value, weights + share);
            }
        }
        (sum, weights)
    }
}

impl Observation<'_> {
    /// How many instances take requests.
    #[must_use]
    pub fn ready(&self) -> u32 {
        self.count(|state| state == State::Ready)
    }

    /// How many take requests, or will: what a decision is about.
    #[must_use]
    pub fn wanted(&self) -> u32 {
        self.count(|state| state != State::Draining)
    }

    fn count(&self, is: impl Fn(State) -> bool) -> u32 {
        let count = self.instances.iter().filter(|instance| is(instance.state)).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// The nearest number of instances that the pool may have.
    #[must_use]
    pub fn clamp(&self, instances: f64) -> u32 {
        let (least, most) = self.bounds;
        // In this order also what is not a number is bounded.
        let instances = instances.max(f64::from(least)).min(f64::from(most.max(least)));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
        let bounded = instances as u32;
        bounded
    }

    /// The mean measured speed of those that take requests, or will; 1 where there is none.
    #[must_use]
    pub fn speed(&self) -> f64 {
        let alive = self.instances.iter().filter(|instance| instance.state != State::Draining);
        let (sum, count) = alive.fold((0.0, 0.0), |(sum, n), of| (sum + of.speed, n + 1.0));
        if count > 0.0 { sum / count } else { 1.0 }
    }
}
