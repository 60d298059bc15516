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
    /// When it was launched, seconds since the start; before it for those that were there.
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

/// Points in order of time, without gaps.
#[derive(Debug, Clone, Default)]
pub struct Series {
    /// The points.
    pub points: Vec<Point>,
}

impl Series {
    /// The points whose periods lie after `from_s`, up to `to_s`.
    #[must_use]
    pub fn within(&self, from_s: f64, to_s: f64) -> &[Point] {
        let first = self.points.partition_point(|point| point.at_s - point.seconds < from_s - 1e-6);
        let last = self.points.partition_point(|point| point.at_s <= to_s + 1e-6);
        &self.points[first.min(last)..last]
    }

    /// The last so many seconds of points, where there are as many.
    #[must_use]
    pub fn last(&self, seconds: f64) -> Option<&[Point]> {
        let end_s = self.points.last()?.at_s;
        let points = self.within(end_s - seconds, end_s);
        let covered: f64 = points.iter().map(|point| point.seconds).sum();
        (covered >= seconds - 1e-6).then_some(points)
    }

    /// The mean of a metric over points, weighted by their lengths; `None` where nothing was seen.
    #[must_use]
    pub fn mean(points: &[Point], metric: Metric) -> Option<f64> {
        let seen = points.iter().filter(|point| point.of(metric).is_finite());
        let (sum, seconds) = seen.fold((0.0, 0.0), |(sum, seconds), point| {
            (sum + point.of(metric) * point.seconds, seconds + point.seconds)
        });
        (seconds > 0.0).then(|| sum / seconds)
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

    /// A number of instances that the pool may have.
    #[must_use]
    pub fn clamp(&self, instances: f64) -> u32 {
        let (least, most) = self.bounds;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
        let bounded = instances.clamp(f64::from(least), f64::from(most)) as u32;
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
