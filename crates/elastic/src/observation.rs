//! What a policy sees: the instances of a pool, and series of metrics as they were collected.

use serde::{Deserialize, Serialize};
use std::ops::Range;

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
    /// The figure that collectors watch and the policy asks for: its mean over the instances, in
    /// its own unit. The simulator has none.
    Watched,
    /// Memory in use of what an instance may have, per cent, in the mean over the instances. The
    /// simulator has none.
    Memory,
    /// Connections of clients that are open at the balancer, in the mean. The simulator has them
    /// where each request has a connection of its own.
    Connections,
}

impl Metric {
    /// All of them, in the order of the manual.
    pub const ALL: [Self; 9] = [
        Self::Cpu,
        Self::Rate,
        Self::Lost,
        Self::Response,
        Self::Concurrency,
        Self::Queue,
        Self::Watched,
        Self::Memory,
        Self::Connections,
    ];

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
            Self::Watched => "watched",
            Self::Memory => "memory",
            Self::Connections => "connections",
        }
    }

    /// Whether it is a mean over the instances, which fewer of them would raise; others are sums
    /// over the pool, which do not depend on how many there are.
    #[must_use]
    pub fn is_mean(self) -> bool {
        matches!(self, Self::Cpu | Self::Response | Self::Watched | Self::Memory)
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

/// Points of a block whose sums are kept: so a mean over many points looks at few.
const BLOCK: usize = 64;

/// Values times seconds, and these seconds, of each metric.
type Sums = [(f64, f64); Metric::ALL.len()];

/// Points in order of time, without gaps.
#[derive(Debug, Clone, Default)]
pub struct Series {
    points: Vec<Point>,
    /// Sums of whole blocks of points, of blocks of these, and so on.
    blocks: Vec<Vec<Sums>>,
}

impl Series {
    /// The points.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Adds the next point.
    pub fn push(&mut self, point: Point) {
        self.points.push(point);
        let mut count = self.points.len();
        for level in 0.. {
            if !count.is_multiple_of(BLOCK) {
                break;
            }
            let of = |metric| self.sum_of(level, count - BLOCK..count, metric);
            let sums = Metric::ALL.map(of);
            if level == self.blocks.len() {
                self.blocks.push(Vec::new());
            }
            self.blocks[level].push(sums);
            count /= BLOCK;
        }
    }

    /// The sums of a range of points, at level 0, or of blocks of the level below.
    fn sum_of(&self, level: usize, range: Range<usize>, metric: Metric) -> (f64, f64) {
        let one = |index: usize| match level.checked_sub(1) {
            None => {
                let point = &self.points[index];
                let value = point.of(metric);
                if value.is_finite() { (value * point.seconds, point.seconds) } else { (0.0, 0.0) }
            }
            Some(below) => self.blocks[below][index][metric as usize],
        };
        let blocks = range.start.div_ceil(BLOCK)..range.end / BLOCK;
        let is_short = range.len() < 2 * BLOCK || level >= self.blocks.len();
        if is_short {
            return range.map(one).fold((0.0, 0.0), plus);
        }
        let before = (range.start..blocks.start * BLOCK).map(one).fold((0.0, 0.0), plus);
        let after = (blocks.end * BLOCK..range.end).map(one).fold((0.0, 0.0), plus);
        plus(plus(before, self.sum_of(level + 1, blocks, metric)), after)
    }

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
        let (sum, seconds) = self.sum(from_s, to_s, metric);
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
        self.sum(from_s, to_s, metric).1
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

    /// Values times seconds, and seconds, summed over what points cover of a time.
    fn sum(&self, from_s: f64, to_s: f64, metric: Metric) -> (f64, f64) {
        let first = self.points.partition_point(|point| point.at_s <= from_s + NEAR_S);
        let starts_before = |point: &Point| point.at_s - point.seconds < to_s - NEAR_S;
        let end = self.points.partition_point(starts_before);
        if end.saturating_sub(first) < 2 * BLOCK {
            return self.weigh(from_s, to_s, metric, |_| 1.0);
        }
        // Of the first and the last point a part may be outside.
        let (from, to) = (self.points[first].at_s, self.points[end - 2].at_s);
        let before = self.weigh(from_s, from, metric, |_| 1.0);
        let after = self.weigh(to, to_s, metric, |_| 1.0);
        plus(plus(before, self.sum_of(0, first + 1..end - 1, metric)), after)
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

/// The sums of both.
fn plus(one: (f64, f64), other: (f64, f64)) -> (f64, f64) {
    (one.0 + other.0, one.1 + other.1)
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_mean_of_many_points_is_that_of_all_of_them(
            values in prop::collection::vec(prop::option::of(0.0f64..100.0), 1..9000),
            from in 0.0f64..1.0,
            length in 0.0f64..1.0,
        ) {
            let mut series = Series::default();
            for (n, value) in values.iter().enumerate() {
                let metrics = [value.unwrap_or(f64::NAN); Metric::ALL.len()];
                series.push(Point { at_s: n as f64 + 1.0, seconds: 1.0, values: metrics });
            }
            let end_s = values.len() as f64;
            let (from_s, to_s) = (from * end_s, (from + length) * end_s);
            let (sum, seconds) = series.weigh(from_s, to_s, Metric::Cpu, |_| 1.0);
            let found = series.sum(from_s, to_s, Metric::Cpu);
            prop_assert!((found.0 - sum).abs() <= 1e-9 * (1.0 + sum), "{found:?} {sum}");
            prop_assert!((found.1 - seconds).abs() <= 1e-6 * (1.0 + seconds));
        }
    }
}
