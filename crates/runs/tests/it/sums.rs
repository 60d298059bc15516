//! The sums that must be, over random runs: whatever becomes of requests, the counts add up,
//! seconds add up to totals, and figures lie between their extremes.

use std::collections::BTreeMap;

use plimsoll_runs::export::{Format, export};
use plimsoll_runs::{
    Counters, Ended, ErrorKind, Interval, LocalCause, Phase, Run, RunWriter, Sink as _, Summary,
    Tag,
};
use plimsoll_stats::Percentiles;
use proptest::prelude::*;

use crate::made::{self, MS, SECOND};

/// A request and what becomes of it, milliseconds.
#[derive(Debug, Clone)]
struct Request {
    due: u64,
    wait: u64,
    late: u64,
    service: u64,
    /// Why it fails; `None` where it succeeds.
    error: Option<ErrorKind>,
    cause: LocalCause,
}

fn request(seconds: u64) -> impl Strategy<Value = Request> {
    let error = prop::option::weighted(0.4, prop::sample::select(ErrorKind::ALL.to_vec()));
    let cause = prop::sample::select(LocalCause::ALL.to_vec());
    let times = (0..seconds * 1000, 0..900_u64, 0..20_u64, 0..1500_u64);
    (times, error, cause).prop_map(|((due, wait, late, service), error, cause)| Request {
        due,
        wait,
        late,
        service,
        error,
        cause,
    })
}

/// A run's seconds, each event in that of its own time.
struct Seconds {
    warmup_ms: u64,
    intervals: Vec<Interval>,
}

impl Seconds {
    fn of(requests: &[Request], warmup_s: u64, seconds: u64) -> Self {
        // The longest a request takes, after the last second in which one is due.
        let intervals = (0..seconds + 4).map(made::second).collect();
        let mut all = Self { warmup_ms: warmup_s * 1000, intervals };
        requests.iter().for_each(|request| all.add(request));
        all
    }

    /// Counts something of a request at a moment, by second and by phase.
    fn count(&mut self, at_ms: u64, phase: Phase, what: impl Fn(&mut Counters)) {
        let interval = &mut self.intervals[usize::try_from(at_ms / 1000).unwrap()];
        what(&mut interval.events);
        what(&mut interval.phases[phase as usize].counters);
    }

    fn record(&mut self, at_ms: u64, phase: Phase, tag: Tag, ms: u64) {
        let interval = &mut self.intervals[usize::try_from(at_ms / 1000).unwrap()];
        interval.phases[phase as usize].histograms[tag as usize].record(ms * MS);
    }

    fn add(&mut self, request: &Request) {
        let Request { due, wait, late, service, error, cause } = *request;
        let phase = if due < self.warmup_ms { Phase::WarmUp } else { Phase::Measured };
        self.count(due, phase, |counters| counters.offered += 1);
        let sent = due + wait + late;
        if let Some(kind) = error.filter(|kind| ErrorKind::NEVER_SENT.contains(kind)) {
            return self.count(sent, phase, |counters| match kind {
                ErrorKind::Local => counters.local_n(cause, 1),
                kind => counters.error(kind),
            });
        }
        self.count(sent, phase, |counters| counters.sent += 1);
        self.record(sent, phase, Tag::ConnectionWait, wait);
        self.record(sent, phase, Tag::Lateness, late);
        let (done, response) = (sent + service, wait + late + service);
        let answered = !error.is_some_and(|kind| ErrorKind::UNANSWERED.contains(&kind));
        self.count(done, phase, |counters| {
            if answered {
                counters.completed += 1;
                counters.status(if error.is_some() { 503 } else { 200 });
                counters.bytes_in += 100;
            }
            match error {
                None => counters.succeeded += 1,
                Some(kind) => counters.error(kind),
            }
        });
        if answered || error == Some(ErrorKind::Timeout) {
            self.record(done, phase, Tag::Response, response);
            self.record(done, phase, Tag::Service, service);
            if error.is_some() {
                self.record(done, phase, Tag::FailedResponse, response);
                self.record(done, phase, Tag::FailedService, service);
            } else if late * 128 > response {
                self.record(done, phase, Tag::Late, response);
                self.record(done, phase, Tag::Punctual, response - late);
            }
        }
    }
}

/// The sums of a summary (docs/counting.md).
fn add_up(summary: &Summary) -> Result<(), TestCaseError> {
    let of = |kinds: &[ErrorKind]| -> u64 {
        kinds.iter().filter_map(|kind| summary.errors.get(kind.name())).sum()
    };
    let unsent = of(&ErrorKind::NEVER_SENT);
    prop_assert_eq!(summary.offered, summary.sent + unsent);
    prop_assert_eq!(summary.sent, summary.completed + of(&ErrorKind::UNANSWERED));
    let answered = [ErrorKind::Status, ErrorKind::Check, ErrorKind::Redirect, ErrorKind::Take];
    let refused = of(&answered);
    prop_assert_eq!(summary.completed, summary.succeeded + refused);
    prop_assert_eq!(summary.completed, summary.status.values().sum::<u64>());
    let failed: u64 = summary.errors.values().sum();
    let blame = summary.blame;
    prop_assert_eq!(failed, blame.target + blame.generator + blame.environment);
    prop_assert_eq!(summary.offered, summary.succeeded + failed);
    let doubts = summary.warnings.iter().any(|warning| warning.contains("do not add up"));
    prop_assert!(!doubts, "{:?}", summary.warnings);
    let times = [&summary.response_us, &summary.service_us, &summary.connection_wait_us];
    times.into_iter().try_for_each(ordered)
}

/// Percentiles ascend between the least and the greatest value, and the mean lies between these.
fn ordered(times: &Percentiles) -> Result<(), TestCaseError> {
    let of: BTreeMap<_, _> = times.figures().into_iter().collect();
    let quantiles: Vec<f64> =
        plimsoll_stats::percentiles::QUANTILES.iter().filter_map(|(name, _)| of[name]).collect();
    prop_assert!(quantiles.is_sorted(), "{:?}", times);
    let (Some(min), Some(max)) = (times.min, times.max) else {
        prop_assert!(quantiles.is_empty() && times.count == 0);
        return Ok(());
    };
    let (mean, stddev) = (times.mean.unwrap(), times.stddev.unwrap());
    for figure in quantiles.into_iter().chain([mean]) {
        let hair = 1e-9 * max;
        prop_assert!(min - hair <= figure && figure <= max + hair, "{} of {:?}", figure, times);
    }
    prop_assert!(stddev <= (max - min) / 2.0 + 1e-9 * max, "{:?}", times);
    Ok(())
}

/// Seconds, as rows and as CSV, add up to the totals of both phases.
fn seconds_add_up(run: &Run) -> Result<(), TestCaseError> {
    let mut totals = run.total(Phase::WarmUp).unwrap();
    totals.add(&run.total(Phase::Measured).unwrap());
    let rows = run.intervals().unwrap();
    let mut sum = Counters::default();
    for row in &rows {
        sum.add(&row.events);
        let quantiles: Vec<f64> =
            [row.p50_us, row.p90_us, row.p99_us, row.p999_us].into_iter().flatten().collect();
        prop_assert!(quantiles.is_sorted());
        let max = row.max_us.unwrap_or(0.0);
        prop_assert!(quantiles.iter().all(|q| *q <= max), "{:?} above {}", quantiles, max);
    }
    sum.status.sort_unstable();
    totals.status.sort_unstable();
    prop_assert_eq!(&sum, &totals);
    let mut csv = Vec::new();
    export(run, Format::Csv, &mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    let mut lines = csv.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    let column = |name: &str| -> u64 {
        let at = names.iter().position(|known| *known == name).unwrap();
        rows.iter().map(|row| row[at].parse::<u64>().unwrap()).sum()
    };
    for (name, wanted) in [
        ("offered", totals.offered),
        ("sent", totals.sent),
        ("completed", totals.completed),
        ("succeeded", totals.succeeded),
    ] {
        prop_assert_eq!(column(name), wanted, "{}", name);
    }
    for kind in ErrorKind::ALL {
        let name = format!("failed_{}", kind.name());
        prop_assert_eq!(column(&name), totals.errors_of(kind), "{}", name);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn sums_hold_of_any_run_whole_or_killed(
        requests in prop::collection::vec(request(5), 0..120),
        warmup_s in 0..3_u64,
        killed_after in 0..8_usize,
    ) {
        let root = tempfile::tempdir().unwrap();
        let seconds = Seconds::of(&requests, warmup_s, 5);
        let mut meta = made::meta("a", warmup_s, 5 - warmup_s);
        meta.slo = Some("p90<500ms,errors<10%,lost<5,rate>=1/s,availability>=50%".to_owned());
        let mut writer = RunWriter::create(root.path(), &meta).unwrap();
        let mut killed = None;
        for (number, interval) in seconds.intervals.iter().enumerate() {
            if number == killed_after {
                killed = Some(made::crashed(writer.path(), &root.path().join("killed")));
            }
            writer.interval(interval).unwrap();
        }
        let run = writer.finish(made::end(Ended::Complete)).unwrap();
        let summary = run.summary().unwrap();
        add_up(&summary)?;
        seconds_add_up(&run)?;
        let measured = requests.iter().filter(|request| request.due >= warmup_s * 1000).count();
        prop_assert_eq!(summary.offered, measured as u64);
        prop_assert_eq!(summary.slo.len(), 5);

        let killed = Run::open(&killed.unwrap()).unwrap();
        let told = killed.summary().unwrap();
        add_up(&told)?;
        seconds_add_up(&killed)?;
        // What was due later than its last second is none of its requests.
        let end = killed_after as u64 * SECOND;
        let due = |request: &&Request| {
            request.due >= warmup_s * 1000 && request.due * MS < end
        };
        prop_assert_eq!(told.offered, requests.iter().filter(due).count() as u64);
    }
}
