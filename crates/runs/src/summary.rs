//! The summary of a run: what `--json` prints and `summary.json` holds.
//!
//! Field names, order and nesting are a contract with everyone who reads the JSON: change them
//! only with [`SCHEMA`]. All times are in microseconds but those whose name ends in `_s`. The
//! top-level figures are of the measured phase: of the requests that were *due* in it.
//! [`Summary::warm_up`] has the few of the warm-up. How each figure comes about is stated in
//! [`crate::summarise`].

use crate::{LabelFigures, NamedFigures, Names, SlowTrace, TlsHandshakes, UserCounts};
use std::collections::BTreeMap;

use crate::Reason;
use plimsoll_stats::Histogram;
use plimsoll_stats::availability::Availability;
use plimsoll_stats::figure::Unit;
use plimsoll_stats::percentiles::Percentiles;
use plimsoll_units::{show_count, show_share};
use serde::{Deserialize, Serialize};

/// The version of the summary's form.
pub const SCHEMA: u32 = 1;

/// [`RunIdentity::ended`] of a run that goes on.
pub const GOES_ON: &str = "going-on";

/// A run in figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Caveats, one plain sentence each.
    pub warnings: Vec<String>,
    /// Which run, and whether to believe it.
    pub run: RunIdentity,
    /// What a store was asked for; left out where the target was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<StoreWorkload>,
    /// Length of the measured schedule as far as it was offered, seconds.
    pub duration_s: f64,
    /// Length of the warm-up, seconds.
    pub warmup_s: f64,
    /// From the end of the schedule to the end of the run, seconds.
    pub drain_s: f64,
    /// Requests due.
    pub offered: u64,
    /// Requests whose first byte was given to the kernel.
    pub sent: u64,
    /// Requests answered to the last byte, whatever the status.
    pub completed: u64,
    /// Requests answered as expected.
    pub succeeded: u64,
    /// Answers that led requests elsewhere, where these went on.
    #[serde(default)]
    pub redirects: u64,
    /// Requests sent and unanswered when the run ended.
    pub in_flight_at_end: u64,
    /// Answers per second, in a window as long as the measured phase that begins a median response
    /// time later; `None` of a single request, and where no time passed.
    pub rate_mean: Option<f64>,
    /// Answers that came after that window.
    #[serde(default)]
    pub drained: u64,
    /// Answers by code.
    pub status: BTreeMap<String, u64>,
    /// Failures by kind ([`crate::ErrorKind::name`]); kinds that did not occur are left out.
    pub errors: BTreeMap<String, u64>,
    /// The first causes of each kind of failure, at most three a kind.
    #[serde(default)]
    pub reasons: Vec<Cause>,
    /// Failures by who is answerable.
    pub blame: BlameCounts,
    /// Traffic.
    pub bytes: Bytes,
    /// Connections, of the whole run: those of the warm-up stay in use.
    pub connections: Connections,
    /// Due to last byte.
    pub response_us: Percentiles,
    /// The same of those requests that succeeded. Least, greatest and deviation are exact as far as
    /// no failure took as long.
    #[serde(default)]
    pub succeeded_us: Percentiles,
    /// Sent to last byte.
    pub service_us: Percentiles,
    /// Sent to first byte.
    pub ttfb_us: Percentiles,
    /// Attempts to connect, start to usable.
    pub connect_us: Percentiles,
    /// Due to a usable connection.
    pub connection_wait_us: Percentiles,
    /// As the user perceives it, over the seconds of the measured schedule.
    pub availability: Availability,
    /// How the generator fared.
    pub generator: Generator,
    /// How its host fared.
    pub host: Host,
    /// The slowest requests that servers were asked to record, the slowest first, at most 20; left
    /// out where there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slowest_traces: Vec<SlowTraceFigures>,
    /// The SLO's clauses and their verdicts; empty without an SLO.
    pub slo: Vec<SloVerdict>,
    /// Figures by name, in the order of the names, `other` last; left out where requests have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_name: Vec<NamedFigures>,
    /// Figures by the labels of users, in their order, `other` last; left out where they have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_label: Vec<LabelFigures>,
    /// What became of the users of a scenario, over the whole run; left out where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<UserCounts>,
    /// What came of WebSockets, over the whole run; left out where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub websocket: Option<crate::WebSocketFigures>,
    /// The warm-up's own figures; `None` without a warm-up.
    pub warm_up: Option<WarmUp>,
}

/// Which run, and whether to believe it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunIdentity {
    /// The folder's name.
    pub id: String,
    /// The plan's name; may be empty.
    pub name: String,
    /// Start, ISO 8601 in UTC with milliseconds.
    pub started: String,
    /// The version of the program that ran it.
    pub version: String,
    /// What it was tagged with when it was started; left out without tags.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// The seed of every random stream.
    pub seed: u64,
    /// SHA-256 of `plan.toml`.
    pub plan_sha256: String,
    /// SHA-256 of what the files hold that the plan reads; `None` where it reads none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs_sha256: Option<String>,
    /// Whether the figures are the system's, not the generator's.
    pub valid: bool,
    /// Why not: plain sentences with the figures. Empty when valid.
    pub invalid_because: Vec<String>,
    /// `complete`, `asked`, `interrupted`, `stopped`, `budget`, `failed`, or `incomplete` where the
    /// run was killed (or is still going on); [`GOES_ON`] where it is known to go on.
    pub ended: String,
}

/// What a store was asked for: texts as a plan has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreWorkload {
    /// The workload's name.
    pub name: String,
    /// The shares of its operations.
    pub mix: String,
    /// How popular each record was.
    pub keys: String,
    /// Records of the data set.
    pub records: u64,
    /// How large a value was.
    pub value_size: String,
    /// How many replicas took part in an operation, where the store has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consistency: Option<String>,
    /// `cold` where caches were emptied before the load, `warm` where they were as they were.
    #[serde(default = "warm")]
    pub caches: String,
}

fn warm() -> String {
    "warm".to_owned()
}

impl std::fmt::Display for StoreWorkload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, mix, keys, records, value_size, consistency, caches } = self;
        let records = show_count(*records);
        write!(f, "{name}: {mix} of {records} records, keys {keys}, values {value_size}")?;
        consistency.iter().try_for_each(|level| write!(f, ", consistency {level}"))?;
        write!(f, ", caches {caches}")
    }
}

/// Failed requests by who is answerable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlameCounts {
    /// The system under test.
    pub target: u64,
    /// This program.
    pub generator: u64,
    /// Neither of them.
    pub environment: u64,
}

/// Traffic of the phase, heads and bodies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bytes {
    /// Received.
    #[serde(rename = "in")]
    pub received: u64,
    /// Sent.
    #[serde(rename = "out")]
    pub sent: u64,
}

/// Connections of the whole run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connections {
    /// Opened.
    pub opened: u64,
    /// The greatest number that were open at any moment.
    pub peak: u64,
    /// Requests that crossed the close of a reused connection, and went again.
    pub stale: u64,
    /// Attempts to open one that failed, whether or not a request failed with them.
    #[serde(default)]
    pub failed: u64,
    /// TLS handshakes; `None` where TLS was not spoken, and where the run was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsHandshakes>,
}

/// A cause of failures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// The kind of failure ([`crate::ErrorKind::name`]).
    pub kind: String,
    /// What was seen: words of the peer or of the system, printable, without secrets, at most 200
    /// characters.
    pub text: String,
    /// How many requests failed so.
    pub count: u64,
    /// When the first did, seconds since the run's first due time.
    pub first_s: f64,
}

impl Cause {
    /// As a summary has it.
    #[must_use]
    pub fn of(reason: &Reason) -> Self {
        Self {
            kind: reason.kind.name().to_owned(),
            text: reason.text.clone(),
            count: reason.count,
            first_s: seconds(reason.first_ns),
        }
    }
}

/// A slow request as a summary tells it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlowTraceFigures {
    /// Its trace: 32 hexadecimal digits.
    pub trace_id: String,
    /// From due to the last byte, µs.
    pub response_us: f64,
    /// When it was due, seconds since the run's first due time.
    pub due_s: f64,
    /// The answer's code; `None` without an answer.
    pub status: Option<u16>,
    /// The kind of failure; `None` where it succeeded.
    pub error: Option<String>,
    /// Its name; `None` where requests have none.
    pub name: Option<String>,
}

impl SlowTraceFigures {
    /// As a summary has it.
    pub(crate) fn of(trace: &SlowTrace, names: &Names) -> Self {
        Self {
            trace_id: trace.id.to_string(),
            response_us: us(trace.response_ns),
            due_s: seconds(trace.due_ns),
            status: (trace.status > 0).then_some(trace.status),
            error: trace.error.map(|kind| kind.name().to_owned()),
            name: names.called(trace.name).map(str::to_owned),
        }
    }
}

/// How the generator fared, over the seconds of the measured schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Generator {
    /// Worker threads.
    pub threads: u32,
    /// `precise` or `thrifty`.
    pub pacing: String,
    /// CPU time from start to end, seconds; of the worker threads alone where the run was killed.
    pub cpu_s: f64,
    /// Thread time spent on events / thread time; 0 where no time was seen.
    pub busy_share: f64,
    /// Greatest resident memory; `None` where the run was killed.
    pub max_rss_bytes: Option<u64>,
    /// The greatest rate it is reckoned to have been good for, per second, where it can tell.
    pub max_rate: Option<f64>,
    /// How late requests were sent by our own doing.
    pub lateness_us: Spread,
    /// Time between two polls.
    pub turn_us: Spread,
}

/// How the generator's host fared, over the seconds of the measured schedule.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Mean share of CPU time given to others; `None` where not known.
    pub steal_share: Option<f64>,
    /// How late an idle timer woke.
    pub timer_late_us: Spread,
}

/// A host that gives more of its CPU time away is worth a word.
const NOTABLE_STEAL: f64 = 0.02;
/// As is one on which an idle timer wakes later than this, µs.
const NOTABLE_TIMER_US: f64 = 1_000.0;

impl Host {
    /// How noisy the host was, a sentence each; none where it was quiet.
    #[must_use]
    pub fn noise(&self) -> Vec<String> {
        let steal = self.steal_share.filter(|share| *share > NOTABLE_STEAL).map(|share| {
            let share = show_share(share);
            format!("the host was noisy: it gave {share} of its CPU time to others")
        });
        let late = self.timer_late_us.p99.filter(|us| *us > NOTABLE_TIMER_US).map(|us| {
            let late = Unit::Micros.show(us);
            format!("the host was noisy: an idle timer woke {late} late (p99)")
        });
        steal.into_iter().chain(late).collect()
    }
}

/// Three figures of a distribution that only diagnoses: `None` when nothing was recorded, and,
/// unlike [`Percentiles`], stated however few values lie beyond, because a run's validity rests
/// on them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Median, µs.
    pub p50: Option<f64>,
    /// 99th percentile, µs.
    pub p99: Option<f64>,
    /// Greatest, µs.
    pub max: Option<f64>,
}

impl Spread {
    /// The three figures of a histogram of nanoseconds.
    #[must_use]
    pub fn of(histogram: &Histogram) -> Self {
        Self {
            p50: histogram.value_at_quantile(0.5).map(us),
            p99: histogram.value_at_quantile(0.99).map(us),
            max: histogram.max().map(us),
        }
    }
}

/// One clause of the SLO and how the run stands to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SloVerdict {
    /// The clause.
    pub expr: String,
    /// What was measured: µs, a share, or per second, as the clause has it; `None` where it is
    /// beyond every bound or not resolvable.
    pub value: Option<f64>,
    /// Whether it held; `None` where that hangs on the generator's own part.
    pub pass: Option<bool>,
    /// Why it could not be told, or what else to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The warm-up's own figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WarmUp {
    /// Requests due in it.
    pub offered: u64,
    /// Of those, sent.
    pub sent: u64,
    /// Of those, answered.
    pub completed: u64,
    /// Of those, answered as expected.
    pub succeeded: u64,
    /// Due to last byte.
    pub response_us: Percentiles,
}

/// Nanoseconds in microseconds.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "exact up to 104 days")]
pub(crate) fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

/// Nanoseconds in seconds.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "exact up to 104 days")]
pub(crate) fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
