//! `latency.hlog` as others read it: the `hdrhistogram` crate is the independent reader.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram as Reference;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use plimsoll_runs::{Ended, ErrorKind, Phase, Run, RunWriter, Sink as _, Tag, TagName};
use plimsoll_stats::Histogram;

use crate::made::{self, MS, SECOND};

struct Entry {
    tag: String,
    start: Duration,
    len: Duration,
    max_ms: f64,
    values: Reference<u64>,
}

/// Every line of a log and its start time, by the reference.
fn read(text: &[u8]) -> (Duration, Vec<Entry>) {
    let (mut start_time, mut entries) = (Duration::ZERO, Vec::new());
    for entry in IntervalLogIterator::new(text) {
        match entry.unwrap() {
            LogEntry::StartTime(at) => start_time = at,
            LogEntry::BaseTime(_) => panic!("there is none"),
            LogEntry::Interval(line) => {
                use base64::Engine as _;
                let payload = base64::engine::general_purpose::STANDARD
                    .decode(line.encoded_histogram())
                    .unwrap();
                let values = Deserializer::new().deserialize(&mut payload.as_slice()).unwrap();
                entries.push(Entry {
                    tag: line.tag().unwrap().as_str().to_owned(),
                    start: line.start_timestamp(),
                    len: line.duration(),
                    max_ms: line.max(),
                    values,
                });
            }
        }
    }
    (start_time, entries)
}

fn log_of(run: &Run) -> Vec<u8> {
    std::fs::read(run.path().join("latency.hlog")).unwrap()
}

/// A run with every tag in both phases, values all over the range.
fn varied(root: &std::path::Path) -> Run {
    let mut writer = RunWriter::create(root, &made::meta("varied", 1, 3)).unwrap();
    for k in 0..4_u64 {
        let mut interval = made::second(k);
        for phase in Phase::ALL {
            for tag in Tag::ALL {
                let histogram = &mut interval.phases[phase as usize].histograms[tag as usize];
                for n in 0..40 {
                    let spread = (n * n * n * 7_919 + k * 31) << (tag as u32 * 2);
                    histogram.record_n(spread, n % 3 + 1);
                }
            }
        }
        writer.interval(&interval).unwrap();
        made::host(&mut writer, k + 1, 0.01, 75_000);
    }
    writer.finish(made::end(Ended::Complete)).unwrap()
}

#[test]
fn another_program_reads_the_same_values() {
    let root = tempfile::tempdir().unwrap();
    let run = varied(root.path());
    let (start_time, entries) = read(&log_of(&run));
    assert_eq!(start_time, Duration::from_millis(1_772_366_400_250));

    let mut sums: BTreeMap<String, Reference<u64>> = BTreeMap::new();
    for entry in &entries {
        assert_eq!(entry.len, Duration::from_secs(1), "{}", entry.tag);
        // The column is in milliseconds with three decimals.
        #[expect(clippy::cast_precision_loss, reason = "below 2^44")]
        let max_ms = entry.values.max() as f64 / 1e6;
        assert!((entry.max_ms - max_ms).abs() <= max_ms / 1000.0 + 0.001, "{}", entry.tag);
        match sums.get_mut(&entry.tag) {
            Some(sum) => sum.add(&entry.values).unwrap(),
            None => drop(sums.insert(entry.tag.clone(), entry.values.clone())),
        }
    }
    let starts: Vec<u64> =
        entries.iter().filter(|e| e.tag == "response").map(|e| e.start.as_secs()).collect();
    assert_eq!(starts, [0, 1, 2, 3]);

    let same = |tag: &str, ours: &Histogram| {
        let sum = &sums[tag];
        assert_eq!(sum.len(), ours.count(), "{tag}");
        let theirs =
            sum.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value()));
        let ours = ours.buckets().map(|bucket| (bucket.highest(), bucket.count));
        assert!(ours.eq(theirs), "{tag}: buckets differ");
    };
    for tag in Tag::ALL {
        same(tag.name(), &run.histogram(Phase::Measured, tag).unwrap());
        let warm_up = format!("warm-up.{}", tag.name());
        same(&warm_up, &run.histogram(Phase::WarmUp, tag).unwrap());
    }
    assert_eq!(sums.len(), 2 * Tag::ALL.len() + 2, "and the turn and the timer");
    assert_eq!((sums["turn"].len(), sums["timer_late"].len()), (4000, 400));
}

#[test]
fn a_histogram_of_nothing_has_no_line() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(root.path(), &made::meta("a", 0, 2)).unwrap();
    let mut interval = made::second(0);
    interval.turn.clear();
    made::failed(&mut interval, Phase::Measured, 3, ErrorKind::Reset);
    writer.interval(&interval).unwrap();
    let run = writer.finish(made::end(Ended::Complete)).unwrap();
    let text = String::from_utf8(log_of(&run)).unwrap();
    let header: Vec<&str> = text.lines().collect();
    assert_eq!(header.len(), 4, "{text}");
    assert_eq!(header[1], "#[Histogram log format version 1.3]");
    assert_eq!(
        header[2],
        "#[StartTime: 1772366400.250 (seconds since epoch), 2026-03-01T12:00:00.250Z]"
    );
    assert!(header[3].starts_with("\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\","));
}

#[test]
fn times_between_the_milliseconds_survive() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(root.path(), &made::meta("a", 0, 2)).unwrap();
    let places = [(0, SECOND), (SECOND, 250 * MS), (1_250_000_001, 749_999_999)];
    for (start_ns, len_ns) in places {
        let mut interval = made::second(0);
        (interval.start_ns, interval.len_ns) = (start_ns, len_ns);
        made::answered(&mut interval, Phase::Measured, 1, MS, 0);
        writer.interval(&interval).unwrap();
    }
    let run = writer.finish(made::end(Ended::Complete)).unwrap();
    let over_time = run.histograms_over_time(Phase::Measured, Tag::Response).unwrap();
    let found: Vec<(u64, u64)> = over_time.iter().map(|(start, len, _)| (*start, *len)).collect();
    assert_eq!(found, places);
    let (_, entries) = read(&log_of(&run));
    let last = entries.iter().rfind(|entry| entry.tag == "response").unwrap();
    assert_eq!(last.start, Duration::new(1, 250_000_001));
}

#[test]
fn a_run_has_tags_of_its_own_beside_those_of_every_run() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(root.path(), &made::meta("named", 1, 3)).unwrap();
    let [checkout, browse] = ["step.checkout", "step.browse"].map(|name| name.parse().unwrap());
    for k in 0..4_u64 {
        let mut interval = made::second(k);
        let phase = if k == 0 { Phase::WarmUp } else { Phase::Measured };
        made::answered(&mut interval, phase, 5, MS, 0);
        let named = &mut interval.phases[phase as usize].named;
        named.of(&checkout).record_n((k + 1) * MS, 10);
        if k == 2 {
            named.of(&browse).record(7 * MS);
        }
        writer.interval(&interval).unwrap();
    }
    let mut other = Histogram::new();
    other.record_n(9 * MS, 3);
    writer.histogram(&browse, (5 * SECOND, SECOND), &other).unwrap();
    let run = writer.finish(made::end(Ended::Complete)).unwrap();

    let told = |phase, name: &str| {
        let histogram = run.histogram(phase, name).unwrap();
        (histogram.count(), histogram.min(), histogram.max())
    };
    assert_eq!(told(Phase::WarmUp, "step.checkout"), (10, Some(MS), Some(MS)));
    assert_eq!(told(Phase::Measured, "step.checkout"), (30, Some(2 * MS), Some(4 * MS)));
    assert_eq!(told(Phase::Measured, "step.browse"), (4, Some(7 * MS), Some(9 * MS)));
    assert_eq!(told(Phase::Measured, "step.none"), (0, None, None));
    let name: TagName = checkout;
    assert_eq!(run.histograms_over_time(Phase::Measured, &name).unwrap().len(), 3);
    assert_eq!(run.histogram(Phase::Measured, Tag::Response).unwrap().count(), 15);
    assert_eq!(run.summary().unwrap().response_us.count, 15, "a summary is of every run's own");
    let tags: Vec<String> = run.tags(Phase::WarmUp).unwrap().into_iter().collect();
    let own = ["connection_wait", "lateness", "response", "service"];
    assert_eq!(tags, [&own[..], &["step.checkout", "ttfb"]].concat());
    assert!(run.tags(Phase::Measured).unwrap().contains("step.browse"));
    // Another program finds them under their names, too.
    let (_, entries) = read(&log_of(&run));
    let count = |tag: &str| {
        let of = entries.iter().filter(|entry| entry.tag == tag);
        of.map(|entry| entry.values.len()).sum::<u64>()
    };
    assert_eq!((count("step.checkout"), count("warm-up.step.checkout")), (30, 10));
}
