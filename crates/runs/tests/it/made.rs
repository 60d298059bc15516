//! Runs made by hand, with figures that a person can check.

use std::path::{Path, PathBuf};

use plimsoll_runs::{
    End, Ended, ErrorKind, HostSample, Interval, Kind, LoadMeta, Names, Phase, Run, RunMeta,
    RunWriter, Sink as _, Tag, World,
};
use plimsoll_stats::Histogram;

pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const MS: u64 = 1_000_000;

/// A run of `warmup_s` and `duration_s` seconds.
pub(crate) fn meta(id: &str, warmup_s: u64, duration_s: u64) -> RunMeta {
    RunMeta {
        id: id.to_owned(),
        name: "by hand".to_owned(),
        subject: "http://127.0.0.1:8080/".to_owned(),
        about: String::new(),
        factors: std::collections::BTreeMap::new(),
        tags: [].into(),
        kind: Kind::Load,
        cell: 0,
        started_unix_ns: 1_772_366_400_250_000_000,
        version: "0.1.0".to_owned(),
        seed: u64::MAX,
        plan_text: "# a plan\nrate = \"10/s\"\n".to_owned(),
        plan_sha256: "ab".repeat(32),
        inputs_sha256: Some("cd".repeat(32)),
        warmup_ns: warmup_s * SECOND,
        duration_ns: duration_s * SECOND,
        slo: None,
        load: Some(LoadMeta {
            workload: None,
            threads: 1,
            pacing: "precise".to_owned(),
            patience_ns: SECOND,
            samples: false,
            names: Names::default(),
        }),
        world: World::Live,
        host: vec![("kernel".to_owned(), "6.1".to_owned()), ("cores".to_owned(), "2".to_owned())],
    }
}

/// Second `k` of a run, with a quiet generator.
pub(crate) fn second(k: u64) -> Interval {
    let mut interval = Interval {
        start_ns: k * SECOND,
        len_ns: SECOND,
        connections: 4,
        busy_ns: SECOND / 4,
        thread_ns: SECOND,
        cpu_ns: SECOND / 2,
        rtt_ns: 30_000,
        ..Interval::default()
    };
    interval.turn.record_n(20_000, 1000);
    interval
}

/// Adds `n` requests that were due, sent and answered with 200 in the second, each in
/// `response_ns`, of which `late_ns` were our own doing.
pub(crate) fn answered(
    interval: &mut Interval,
    phase: Phase,
    n: u64,
    response_ns: u64,
    late_ns: u64,
) {
    let slice = &mut interval.phases[phase as usize];
    for counters in [&mut slice.counters, &mut interval.events] {
        counters.offered += n;
        counters.sent += n;
        counters.completed += n;
        counters.succeeded += n;
        counters.bytes_in += n * 200;
        counters.bytes_out += n * 50;
        for _ in 0..n {
            counters.status(200);
        }
    }
    let service_ns = response_ns - late_ns;
    for (tag, value) in [
        (Tag::Response, response_ns),
        (Tag::Service, service_ns),
        (Tag::Ttfb, service_ns / 2),
        (Tag::ConnectionWait, 0),
        (Tag::Lateness, late_ns),
    ] {
        slice.histograms[tag as usize].record_n(value, n);
    }
    if late_ns * 128 > response_ns {
        for (tag, value) in [(Tag::Late, response_ns), (Tag::Punctual, service_ns)] {
            slice.histograms[tag as usize].record_n(value, n);
        }
    }
}

/// Adds `n` requests that were due, sent, and failed in the second.
pub(crate) fn failed(interval: &mut Interval, phase: Phase, n: u64, kind: ErrorKind) {
    let slice = &mut interval.phases[phase as usize];
    let answered = kind >= ErrorKind::Status;
    for counters in [&mut slice.counters, &mut interval.events] {
        counters.offered += n;
        counters.sent += n;
        for _ in 0..n {
            counters.error(kind);
            if answered {
                counters.completed += 1;
                counters.status(503);
            }
        }
    }
    for tag in [Tag::Response, Tag::Service, Tag::FailedResponse, Tag::FailedService] {
        if answered || kind == ErrorKind::Timeout {
            slice.histograms[tag as usize].record_n(10 * MS, n);
        }
    }
}

/// The host's second that ends at `at_s`.
pub(crate) fn host(writer: &mut RunWriter, at_s: u64, steal_share: f64, late_ns: u64) {
    let mut timer_late = Histogram::new();
    timer_late.record_n(late_ns, 100);
    let sample = HostSample { steal_share: Some(steal_share), timer_late: &timer_late };
    writer.host(at_s * SECOND, &sample).unwrap();
}

pub(crate) fn end(ended: Ended) -> End {
    End { max_rss_bytes: Some(7_000_000), cpu_ns: 3 * SECOND, ..End::new(ended) }
}

/// A run of 2 s warm-up and 4 s measured, 100 requests a second of 1 ms in the warm-up and 2 ms,
/// 4 ms, 6 ms, 8 ms in the measured seconds; not finished.
pub(crate) fn steps(root: &Path, id: &str) -> RunWriter {
    let mut writer = RunWriter::create(root, &meta(id, 2, 4)).unwrap();
    for k in 0..6 {
        let mut interval = second(k);
        let (phase, ms) = if k < 2 { (Phase::WarmUp, 1) } else { (Phase::Measured, 2 * (k - 1)) };
        answered(&mut interval, phase, 100, ms * MS, 10_000);
        writer.interval(&interval).unwrap();
        host(&mut writer, k + 1, 0.0, 60_000);
    }
    writer
}

/// That run, finished.
pub(crate) fn whole(root: &Path, id: &str) -> Run {
    steps(root, id).finish(end(Ended::Complete)).unwrap()
}

/// A copy of a folder, as a crash at this moment would leave it.
pub(crate) fn crashed(folder: &Path, to: &Path) -> PathBuf {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let there = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            crashed(&entry.path(), &there);
        } else {
            std::fs::copy(entry.path(), there).unwrap();
        }
    }
    to.to_path_buf()
}

/// What every tag of both phases holds, as counts and sums that must not change.
pub(crate) fn fingerprint(run: &Run) -> Vec<(u64, Option<u64>, Option<u64>)> {
    let mut all = Vec::new();
    for phase in Phase::ALL {
        for tag in Tag::ALL {
            let histogram = run.histogram(phase, tag).unwrap();
            all.push((histogram.count(), histogram.min(), histogram.max()));
        }
    }
    all
}
