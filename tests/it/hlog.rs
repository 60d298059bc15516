//! `latency.hlog` is what other readers of the format make of it.

use crate::place::Place;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use plimsoll_runs::{Phase, Run, Tag};
use std::collections::BTreeMap;
use std::path::Path;

/// The histograms of a log, added up by tag, as the `hdrhistogram` crate reads them.
fn by_tag(path: &Path) -> BTreeMap<String, Histogram<u64>> {
    let bytes = std::fs::read(path).unwrap();
    // A torn last line is no line.
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let mut sums: BTreeMap<String, Histogram<u64>> = BTreeMap::new();
    for entry in IntervalLogIterator::new(&bytes[..end]) {
        let LogEntry::Interval(line) = entry.unwrap() else { continue };
        let payload = STANDARD.decode(line.encoded_histogram()).unwrap();
        let read: Histogram<u64> = Deserializer::new().deserialize(&mut &payload[..]).unwrap();
        let tag = line.tag().unwrap().as_str().to_owned();
        match sums.get_mut(&tag) {
            Some(sum) => sum.add(read).unwrap(),
            None => assert!(sums.insert(tag, read).is_none()),
        }
    }
    sums
}

/// How many values each tag of a log has.
pub(crate) fn counts_by_tag(path: &Path) -> BTreeMap<String, u64> {
    by_tag(path).into_iter().map(|(tag, sum)| (tag, sum.len())).collect()
}

/// Every non-empty bucket: its lowest value and its count.
fn ours(histogram: &plimsoll_stats::Histogram) -> Vec<(u64, u64)> {
    histogram.buckets().map(|bucket| (bucket.lowest, bucket.count)).collect()
}

fn theirs(histogram: &Histogram<u64>) -> Vec<(u64, u64)> {
    let lowest = |value| histogram.lowest_equivalent(value);
    let values = histogram.iter_recorded();
    values.map(|one| (lowest(one.value_iterated_to()), one.count_at_value())).collect()
}

#[test]
fn another_reader_finds_the_same_buckets() {
    let place = Place::new();
    let target =
        place.target(&["--service-time", "lognormal:8ms,1.2", "--workers", "50", "--errors", "5%"]);
    let done = place.load(&[
        &target.url(),
        "--rate",
        "150/s",
        "--for",
        "2s",
        "--warm-up",
        "1s",
        "--json",
        "--ok",
        "200,500",
    ]);
    let summary = done.ran().json();
    let run = place.run();
    let sums = by_tag(&run.join("latency.hlog"));
    let opened = Run::open(&run).unwrap();
    let mut compared = 0;
    for (phase, prefix) in [(Phase::Measured, ""), (Phase::WarmUp, "warm-up.")] {
        for tag in Tag::ALL {
            let name = format!("{prefix}{}", tag.name());
            let own = opened.histogram(phase, tag).unwrap();
            match sums.get(&name) {
                Some(read) => assert_eq!(ours(&own), theirs(read), "{name}"),
                None => assert_eq!(own.count(), 0, "{name}"),
            }
            compared += usize::from(own.count() > 0);
        }
    }
    assert!(compared >= 8, "only {compared} histograms had anything");
    let response = &sums["response"];
    assert_eq!(response.len(), summary["completed"].as_u64().unwrap());
    assert_eq!(sums["warm-up.response"].len(), summary["warm_up"]["completed"].as_u64().unwrap());
    // The percentiles of the summary are those that this reader computes.
    for (name, q) in [("p50", 0.5), ("p80", 0.8), ("p90", 0.9)] {
        let us = summary["response_us"][name].as_f64().unwrap();
        let read = response.value_at_quantile(q) as f64 / 1000.0;
        assert!((us - read).abs() < 1e-3, "{name}: {us} and {read}");
    }
    for extra in ["turn", "timer_late"] {
        assert!(sums.contains_key(extra), "{extra}: {:?}", sums.keys());
    }
}
