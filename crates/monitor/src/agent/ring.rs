//! The last samples of every series, in memory: one time a turn of the sampler, and a value of
//! each series at it.
//!
//! A collector is read once a turn. So a turn is over, and the next has begun, where a reading
//! comes of a collector that the turn has one of. What the clock says would not tell: readings of
//! one turn begin at different moments, the one that began first may end last, and a machine that
//! is busy delays some turns and not others.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use plimsoll_net::prometheus::Page;

use crate::collector::KINDS;
use crate::sample::{Labels, Sample, Samples, Series};
use crate::sampler;

/// Samples of the last hour, or of as long as it was made for.
#[derive(Debug)]
pub struct Ring {
    period_ns: u64,
    most: usize,
    /// When the first reading of each turn was taken, ascending, nanoseconds since 1970.
    times: VecDeque<u64>,
    /// The values of each series, the last at the last time; NaN where it has none.
    series: BTreeMap<(String, Labels), VecDeque<f64>>,
    /// Why a collector gave nothing at its last turn.
    faults: BTreeMap<&'static str, String>,
}

impl Ring {
    /// A ring that remembers so long, of samples taken once a period.
    #[must_use]
    pub fn new(period: Duration, remembered: Duration) -> Self {
        let period_ns = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX).max(1);
        let most = remembered.as_nanos() / u128::from(period_ns);
        Self {
            period_ns,
            most: usize::try_from(most).unwrap_or(usize::MAX).clamp(1, 100_000),
            times: VecDeque::new(),
            series: BTreeMap::new(),
            faults: BTreeMap::new(),
        }
    }

    /// Takes a reading of a collector as the sampler hands it on, taken at a time, nanoseconds
    /// since 1970.
    pub fn take(&mut self, at_ns: u64, samples: &Samples) {
        let up = samples.iter().find(|of| of.name == sampler::GROUP.series[0].name);
        if !up.is_some_and(|up| self.lacks(up)) {
            if self.times.back().is_some_and(|last_ns| at_ns <= *last_ns) {
                // A clock that was set back: what is newer by it than now is of no use.
                self.times.clear();
                self.series.clear();
            }
            self.advance(at_ns);
        }
        let length = self.times.len();
        for sample in samples.iter() {
            let values = self.series.entry(key(sample)).or_default();
            values.resize(length, f64::NAN);
            if let Some(value) = values.back_mut() {
                *value = sample.value;
            }
        }
        for fault in samples.faults() {
            self.faults.insert(fault.collector, fault.reason.clone());
        }
        if samples.faults().is_empty() {
            let name = up.and_then(|of| of.label("collector")).map(str::to_owned);
            self.faults.retain(|known, _| name.as_deref() != Some(*known));
        }
    }

    /// Whether there is a turn, and it has no value of the series of this sample yet.
    fn lacks(&self, sample: &Sample) -> bool {
        let values = self.series.get(&key(sample));
        !self.times.is_empty() && values.and_then(VecDeque::back).is_none_or(|last| last.is_nan())
    }

    fn advance(&mut self, at_ns: u64) {
        self.times.push_back(at_ns);
        let surplus = self.times.len().saturating_sub(self.most);
        self.times.drain(..surplus);
        let length = self.times.len();
        self.series.retain(|_, values| {
            values.push_back(f64::NAN);
            values.drain(..values.len().saturating_sub(length));
            // What had no value for so long is not there any more.
            values.iter().any(|value| value.is_finite())
        });
    }

    /// The newest value of each series that was read at one of its last two turns.
    fn newest(&self) -> impl Iterator<Item = (&str, &Labels, f64)> {
        self.series.iter().filter_map(|((name, labels), values)| {
            let value = values.iter().rev().take(2).find(|value| value.is_finite())?;
            Some((name.as_str(), labels, *value))
        })
    }

    /// The newest values, a line each, as Prometheus writes samples.
    #[must_use]
    pub fn lines(&self) -> String {
        let mut page = Page::default();
        for (name, labels, value) in self.newest() {
            page.sample(name, &texts(labels), value);
        }
        page.text()
    }

    /// The newest values as a page that Prometheus reads.
    #[must_use]
    pub fn metrics(&self) -> String {
        let (mut page, mut family) = (Page::default(), "");
        for (name, labels, value) in self.newest() {
            if name != family {
                let known = known(name);
                let kind = known.map_or("untyped", |of| of.kind.word());
                page.family(name, kind, known.map_or("", |of| of.about));
                family = name;
            }
            page.sample(name, &texts(labels), value);
        }
        page.text()
    }

    /// The newest values as JSON.
    #[must_use]
    pub fn newest_json(&self) -> String {
        let series: Vec<serde_json::Value> = self
            .newest()
            .map(|(name, labels, value)| {
                serde_json::json!({ "name": name, "labels": object(labels), "value": value })
            })
            .collect();
        let faults: BTreeMap<_, _> = self.faults.iter().collect();
        let value = serde_json::json!({
            "schema": 1,
            "at_unix_ns": self.times.back(),
            "period_s": self.period_ns as f64 / 1e9,
            "faults": faults,
            "series": series,
        });
        format!("{value}\n")
    }

    /// What is remembered of the series of a name, as JSON; `None` where there is none.
    #[must_use]
    pub fn course_json(&self, name: &str) -> Option<String> {
        let of_name = self.series.iter().filter(|((known, _), _)| known == name);
        let series: Vec<serde_json::Value> = of_name
            .map(|((_, labels), values)| {
                // A number that is none is null in JSON.
                let mut all = vec![f64::NAN; self.times.len().saturating_sub(values.len())];
                all.extend(values);
                serde_json::json!({ "labels": object(labels), "values": all })
            })
            .collect();
        if series.is_empty() {
            return None;
        }
        let value = serde_json::json!({
            "schema": 1, "name": name, "at_unix_ns": self.times, "series": series,
        });
        Some(format!("{value}\n"))
    }

    /// The first and the last moment that is remembered, nanoseconds since 1970.
    pub(super) fn span(&self) -> Option<(u64, u64)> {
        Some((*self.times.front()?, *self.times.back()?))
    }

    /// All moments, ascending.
    pub(super) fn times(&self) -> impl Iterator<Item = u64> {
        self.times.iter().copied()
    }

    /// The values at a moment, by its place among all.
    pub(super) fn at(&self, place: usize) -> impl Iterator<Item = (&str, &Labels, f64)> {
        // The last value of each series is of the last moment; it may have begun later.
        let from_end = self.times.len() - place;
        self.series.iter().filter_map(move |((name, labels), values)| {
            let value = values.len().checked_sub(from_end).and_then(|at| values.get(at))?;
            value.is_finite().then_some((name.as_str(), labels, *value))
        })
    }

    /// Why each collector that gave nothing did so.
    pub(super) fn faults(&self) -> impl Iterator<Item = (&str, &str)> {
        self.faults.iter().map(|(collector, why)| (*collector, why.as_str()))
    }
}

fn key(sample: &Sample) -> (String, Labels) {
    (sample.name.to_string(), sample.labels.clone())
}

fn texts(labels: &Labels) -> Vec<(&str, &str)> {
    labels.iter().map(|(name, text)| (name.as_ref(), text.as_str())).collect()
}

fn object(labels: &Labels) -> BTreeMap<&str, &str> {
    texts(labels).into_iter().collect()
}

/// What is known of the series of a name beforehand.
fn known(name: &str) -> Option<&'static Series> {
    let groups = KINDS.iter().flat_map(|kind| kind.groups).copied();
    let all = groups.flat_map(|group| group.series).chain(sampler::GROUP.series);
    all.into_iter().find(|series| series.name == name)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A reading of a collector, as the sampler hands it on.
    fn reading(collector: &'static str, values: &[(&str, f64)]) -> Samples {
        let mut samples = Samples::of(None);
        for (name, value) in values {
            samples.push_foreign(name, [("cpu", "<0>")], *value);
        }
        samples.push(&sampler::GROUP.series[0], &[collector], 1.0);
        samples
    }

    fn samples(values: &[(&str, f64)]) -> Samples {
        reading("host", values)
    }

    /// The times and the values of the first series of a name, as they are told.
    fn course(ring: &Ring, name: &str) -> (Value, Value) {
        let told: Value = serde_json::from_str(&ring.course_json(name).unwrap()).unwrap();
        (told["at_unix_ns"].clone(), told["series"][0]["values"].clone())
    }

    fn at(second: u64) -> u64 {
        (1_000 + second) * 1_000_000_000 + 7
    }

    #[test]
    fn a_ring_remembers_so_long_and_no_longer() {
        let mut ring = Ring::new(Duration::from_secs(1), Duration::from_secs(3));
        ring.take(at(0), &samples(&[("a", 1.0), ("gone", 9.0)]));
        for second in 1..5 {
            ring.take(at(second), &samples(&[("a", second as f64)]));
        }
        assert_eq!(course(&ring, "a"), (json!([at(2), at(3), at(4)]), json!([2.0, 3.0, 4.0])));
        assert_eq!(ring.course_json("gone"), None, "it had no value for so long");
        let up = "plimsoll_collector_up{collector=\"host\"} 1";
        assert_eq!(ring.lines(), format!("a{{cpu=\"<0>\"}} 4\n{up}\n"));
    }

    #[test]
    fn a_turn_that_is_late_takes_nothing_from_the_next() {
        let mut ring = Ring::new(Duration::from_secs(1), Duration::from_secs(10));
        // The second turn is late, and in the same second as the third.
        let times = [at(0), at(2), at(2) + 900_000_000, at(3) + 900_000_000];
        for (turn, at_ns) in times.into_iter().enumerate() {
            ring.take(at_ns, &samples(&[("a", turn as f64)]));
        }
        assert_eq!(course(&ring, "a"), (json!(times), json!([0.0, 1.0, 2.0, 3.0])));
    }

    #[test]
    fn what_began_first_and_ended_last_is_of_its_turn() {
        let mut ring = Ring::new(Duration::from_secs(1), Duration::from_secs(10));
        for turn in 0..3 {
            // Two begin around the end of a second, and the one before it takes longer.
            ring.take(at(turn), &reading("fast", &[("b", turn as f64)]));
            ring.take(at(turn) - 9, &reading("slow", &[("a", turn as f64)]));
        }
        let times = json!([at(0), at(1), at(2)]);
        assert_eq!(course(&ring, "a"), (times.clone(), json!([0.0, 1.0, 2.0])));
        assert_eq!(course(&ring, "b"), (times, json!([0.0, 1.0, 2.0])));
    }

    #[test]
    fn a_gap_is_no_value_and_a_clock_that_is_set_back_begins_anew() {
        let mut ring = Ring::new(Duration::from_secs(1), Duration::from_secs(10));
        ring.take(at(0), &samples(&[("a", 1.0)]));
        ring.take(at(1), &samples(&[("b", 1.0)]));
        ring.take(at(2), &samples(&[("a", 3.0)]));
        let course = ring.course_json("a").unwrap();
        assert!(course.contains("[1.0,null,3.0]"), "{course}");
        ring.take(at(1), &samples(&[("a", 5.0)]));
        assert!(ring.course_json("a").unwrap().contains("[5.0]"));
        assert_eq!(ring.course_json("b"), None);
    }

    #[test]
    fn metrics_are_typed_as_the_collectors_know_them() {
        let mut ring = Ring::new(Duration::from_secs(1), Duration::from_secs(10));
        ring.take(at(0), &samples(&[("node_load1", 0.5), ("other", 1.0)]));
        let text = ring.metrics();
        assert!(text.contains("# TYPE node_load1 gauge\nnode_load1{cpu=\"<0>\"} 0.5"), "{text}");
        assert!(text.contains("# TYPE other untyped"), "{text}");
    }
}
