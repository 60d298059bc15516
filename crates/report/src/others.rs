//! Series that no collector knows: those of a page for Prometheus, and of StatsD. Each name that
//! moves has a chart, up to so many; its unit follows from its name, as names are given there.

use std::collections::BTreeMap;

use plimsoll_draw::chart::unit::Unit;
use plimsoll_stats::figure::is_of_collectors;

use crate::stored::{INSTANCE, Stored, Value};

/// The most names that are read of a run, and the most that have a chart.
const MOST_READ: usize = 200;
const MOST_CHARTS: usize = 24;
/// The buckets of a histogram are no courses.
const BUCKETS: &str = "_bucket";

/// The application's own series of a run.
#[derive(Default)]
pub(crate) struct Others {
    moving: BTreeMap<String, Vec<Stored>>,
    /// What is told of the load of others, by name.
    inferred: BTreeMap<String, Vec<Stored>>,
    /// How many names have no chart: as their values stood still, and as there are too many.
    pub(crate) still: usize,
    pub(crate) beyond: usize,
}

/// How the series begin that tell what the workers of a load did: no collector has them.
const OF_WORKERS: &str = "plimsoll_worker_";
/// How those begin that tell the load of others on a server.
pub(crate) const OF_INFERRED: &str = "plimsoll_inferred_";

/// Whether a name is of no collector.
pub(crate) fn is_other(name: &str) -> bool {
    !is_of_collectors(name) || [OF_WORKERS, OF_INFERRED].iter().any(|own| name.starts_with(own))
}

/// Those of a run's series that are not of collectors, and how many more there are than are read.
pub(crate) fn chosen(names: &[String]) -> (impl Iterator<Item = &str>, usize) {
    let is_other = |name: &&str| is_other(name) && !name.ends_with(BUCKETS);
    let all = || names.iter().map(String::as_str).filter(is_other);
    (all().take(MOST_READ), all().count().saturating_sub(MOST_READ))
}

impl Others {
    /// Of series by their names.
    pub(crate) fn of(all: BTreeMap<String, Vec<Stored>>, unread: usize) -> Self {
        let is_inferred = |name: &str| name.starts_with(OF_INFERRED);
        let (inferred, mut all): (BTreeMap<_, _>, BTreeMap<_, _>) =
            all.into_iter().partition(|(name, _)| is_inferred(name));
        let count = all.len();
        all.retain(|_, series| series.iter().any(moves));
        let still = count - all.len();
        let mut names = all.keys().skip(MOST_CHARTS).cloned();
        let beyond = match names.next() {
            Some(first) => all.split_off(&first).len(),
            None => 0,
        };
        Self { moving: all, inferred, still, beyond: beyond + unread }
    }

    /// The series of a name that tells the load of others.
    pub(crate) fn stored(&self, name: &str) -> &[Stored] {
        self.inferred.get(name).map_or(&[], Vec::as_slice)
    }

    /// The names that have a chart, sorted.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.moving.keys().map(String::as_str)
    }

    /// The lines of a name, each with what tells it from the others.
    pub(crate) fn lines(&self, name: &str) -> Vec<(String, Vec<Value>)> {
        let all = self.moving.get(name).into_iter().flatten();
        all.map(|of| (called(of), values(name, of))).collect()
    }
}

/// Whether any value differs from the first.
fn moves(of: &Stored) -> bool {
    let mut values = of.samples.iter().map(|(_, value)| value);
    let first = values.next();
    values.any(|value| Some(value) != first)
}

/// A series by its labels: its instance as it is called, others with their names.
fn called(of: &Stored) -> String {
    let instance = of.labels.get(INSTANCE).cloned();
    let others = of.labels.iter().filter(|(name, _)| *name != INSTANCE);
    let others = others.map(|(name, text)| format!("{name} {text}"));
    instance.into_iter().chain(others).collect::<Vec<_>>().join(", ")
}

/// Whether a name is a counter's.
fn is_counter(name: &str) -> bool {
    ["_total", "_count", "_sum"].iter().any(|end| name.ends_with(end))
}

/// The unit of a chart, what its axis counts, and by what values are multiplied for it.
pub(crate) fn unit(name: &str) -> (Unit, &'static str, f64) {
    let has = |word: &str| name.split('_').any(|part| part == word);
    match (is_counter(name), has("bytes"), has("seconds"), has("ratio")) {
        (true, true, ..) => (Unit::BytesPerSecond, "bytes per second", 1.0),
        (true, _, true, _) => (Unit::Number, "seconds per second", 1.0),
        (true, ..) => (Unit::PerSecond, "per second", 1.0),
        (false, true, ..) => (Unit::Bytes, "bytes", 1.0),
        (false, _, true, _) => (Unit::Micros, "time", 1e6),
        (false, _, _, true) => (Unit::Share, "share", 1.0),
        _ => (Unit::Number, "value", 1.0),
    }
}

/// What a series has for the stretch from each sample to the next: what a counter rose by a second,
/// unless it began anew, or the value as it stood.
fn values(name: &str, of: &Stored) -> Vec<Value> {
    let (_, _, times) = unit(name);
    let pairs = of.samples.windows(2).map(|two| (two[0], two[1]));
    let value = |((from, before), (to, after)): ((u64, f64), (u64, f64))| {
        if !is_counter(name) {
            return Some((from, to, times * after));
        }
        let seconds = to.saturating_sub(from).max(1) as f64 / 1e9;
        (after >= before).then(|| (from, to, (after - before) / seconds))
    };
    pairs.filter_map(value).map(Value::of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(values: &[f64]) -> Vec<Stored> {
        let labels = [("instance", "web-1"), ("code", "200")];
        let labels = labels.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
        let samples = (0..).step_by(500_000_000).zip(values.iter().copied());
        vec![Stored { labels, samples: samples.collect() }]
    }

    #[test]
    fn counters_are_rates_and_gauges_stand_and_what_stands_still_is_counted() {
        let all = [
            ("jobs_total", &[1.0, 3.0, 0.0, 1.0][..]),
            ("queue", &[4.0, 4.0, 5.0]),
            ("wait_seconds", &[0.5, 0.25]),
            ("version", &[1.0, 1.0]),
        ];
        let all = all.map(|(name, values)| (name.to_owned(), stored(values))).into();
        let others = Others::of(all, 0);
        assert_eq!((others.still, others.beyond), (1, 0));
        assert_eq!(others.names().collect::<Vec<_>>(), ["jobs_total", "queue", "wait_seconds"]);
        let of = |name: &str| {
            let (called, values) = others.lines(name).remove(0);
            assert_eq!(called, "web-1, code 200");
            values.iter().map(|of| of.value).collect::<Vec<_>>()
        };
        assert_eq!(of("jobs_total"), [4.0, 2.0], "it began anew between");
        assert_eq!(of("queue"), [4.0, 5.0]);
        assert_eq!(of("wait_seconds"), [250_000.0], "microseconds");
    }

    #[test]
    fn names_of_collectors_and_buckets_are_no_others_and_too_many_are_counted() {
        let mut names: Vec<String> =
            ["node_load1", "took_bucket", "took_sum"].map(str::to_owned).into();
        assert_eq!(chosen(&names).0.collect::<Vec<_>>(), ["took_sum"]);
        names.extend((0..MOST_READ).map(|n| format!("own_{n:04}")));
        assert_eq!(chosen(&names).1, 1);
        let many = names.into_iter().skip(3).map(|name| (name, stored(&[1.0, 2.0]))).collect();
        let others = Others::of(many, 7);
        assert_eq!(others.names().count(), MOST_CHARTS);
        assert_eq!(others.beyond, MOST_READ - MOST_CHARTS + 7);
    }

    #[test]
    fn units_follow_from_names() {
        for (name, wanted) in [
            ("http_requests_total", Unit::PerSecond),
            ("sent_bytes_total", Unit::BytesPerSecond),
            ("heap_bytes", Unit::Bytes),
            ("took_seconds_sum", Unit::Number),
            ("last_run_seconds", Unit::Micros),
            ("cache_hit_ratio", Unit::Share),
            ("temperature", Unit::Number),
        ] {
            assert_eq!(unit(name).0, wanted, "{name}");
        }
    }
}
