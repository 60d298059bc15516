//! Figures as families of points, whoever they are for: Prometheus' text, or OTLP.

use plimsoll_net::prometheus::Page;
use std::fmt::Display;

use super::times::{BOUNDS, Buckets};

/// What a family measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A number that only grows.
    Counter,
    /// A number of now.
    Gauge,
    /// Times.
    Histogram,
}

/// What a point says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// How many.
    Count(u64),
    /// How much.
    Amount(f64),
    /// Times.
    Times(Buckets),
}

/// One point of a family.
#[derive(Debug, Clone)]
pub(super) struct Point {
    /// Its labels, with their values.
    pub(super) labels: Vec<(&'static str, String)>,
    /// What it says.
    pub(super) value: Value,
}

/// Points of one name.
#[derive(Debug, Clone)]
pub(super) struct Family {
    /// As Prometheus has it, with its unit and `_total`.
    pub(super) name: String,
    /// What it measures.
    pub(super) kind: Kind,
    /// Its unit, by UCUM.
    pub(super) unit: &'static str,
    /// A sentence of one line.
    pub(super) help: String,
    /// Since when it counts, by the epoch; nanoseconds. `None`: since the figures began.
    pub(super) since_ns: Option<u64>,
    /// The points, each with labels of its own.
    pub(super) points: Vec<Point>,
}

impl Family {
    /// A family without points.
    pub(super) fn new(
        (name, kind): (impl Into<String>, Kind),
        unit: &'static str,
        help: impl Into<String>,
    ) -> Self {
        let (name, help) = (name.into(), help.into());
        Self { name, kind, unit, help, since_ns: None, points: Vec::new() }
    }

    /// The same, with one point more.
    pub(super) fn with(mut self, labels: &[(&'static str, &str)], value: Value) -> Self {
        self.push(labels, value);
        self
    }

    /// Adds a point.
    pub(super) fn push(&mut self, labels: &[(&'static str, &str)], value: Value) {
        let labels = labels.iter().map(|(label, text)| (*label, (*text).to_owned())).collect();
        self.points.push(Point { labels, value });
    }
}

/// All families in Prometheus' text format.
pub(super) fn text(all: &[Family]) -> String {
    let mut page = Page::default();
    for family in all {
        let kind = match family.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        page.family(&family.name, kind, &family.help);
        for point in &family.points {
            let labels: Vec<(&str, &str)> =
                point.labels.iter().map(|(label, text)| (*label, text.as_str())).collect();
            let mut sample = |value: &dyn Display| page.sample(&family.name, &labels, value);
            match &point.value {
                Value::Count(n) => sample(n),
                Value::Amount(of) => sample(of),
                Value::Times(times) => buckets(&mut page, &family.name, &labels, times),
            }
        }
    }
    page.text()
}

fn buckets(page: &mut Page, family: &str, labels: &[(&str, &str)], times: &Buckets) {
    let name = format!("{family}_bucket");
    let mut sample = |le: &str, n: u64| {
        let labels: Vec<(&str, &str)> = labels.iter().copied().chain([("le", le)]).collect();
        page.sample(&name, &labels, n);
    };
    for ((le, _), n) in BOUNDS.iter().zip(times.within) {
        sample(le, n);
    }
    sample("+Inf", times.count);
    page.sample(&format!("{family}_sum"), labels, times.sum_s);
    page.sample(&format!("{family}_count"), labels, times.count);
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_stats::Histogram;

    #[test]
    fn buckets_are_cumulative_and_hold_all() {
        let mut times = Histogram::new();
        [50_000, 150_000, 3_000_000, 3_000_000, 200_000_000_000]
            .into_iter()
            .for_each(|ns| times.record(ns));
        let family = Family::new(("t_seconds", Kind::Histogram), "s", "Times.")
            .with(&[("name", "a")], Value::Times(Buckets::of(&times)));
        let text = text(&[family]);
        for (le, n) in [("0.0001", 1), ("0.0002", 2), ("0.002", 2), ("0.005", 4), ("100", 4)] {
            let line = format!("t_seconds_bucket{{name=\"a\",le=\"{le}\"}} {n}\n");
            assert!(text.contains(&line), "{line} in {text}");
        }
        assert!(text.contains("t_seconds_bucket{name=\"a\",le=\"+Inf\"} 5\n"), "{text}");
        assert!(text.contains("t_seconds_count{name=\"a\"} 5\n"), "{text}");
    }
}
