//! What is read back of a run, second by second.

use std::collections::BTreeMap;
use std::ops::Range;

use plimsoll_stats::availability::{Second, State};
use rusqlite::types::Type;
use rusqlite::{Connection, Row};

use crate::database::uint;
use crate::schema;
use crate::summary::{seconds, us};
use crate::{Counters, ErrorKind, LocalCause, Phase};

/// One second of a run. Counters count by event; percentiles are over the answers completed (or
/// given up) in it, of every phase, and `None` where fewer than ten lie beyond. Those of our own
/// lateness are stated however few there are, as they tell what to make of the others.
#[derive(Debug, Clone, PartialEq)]
pub struct IntervalRow {
    /// Start, seconds since the first due time (warm-up included).
    pub start_s: f64,
    /// Length, seconds.
    pub len_s: f64,
    /// The phase whose schedule was being offered at its start; the drain belongs to `Measured`.
    pub phase: Phase,
    /// Counts by event.
    pub events: Counters,
    /// Response time: mean, µs.
    pub mean_us: Option<f64>,
    /// Response time: median, µs.
    pub p50_us: Option<f64>,
    /// Response time: 90th percentile, µs.
    pub p90_us: Option<f64>,
    /// Response time: 99th percentile, µs.
    pub p99_us: Option<f64>,
    /// Response time: 99.9th percentile, µs.
    pub p999_us: Option<f64>,
    /// Response time: greatest, µs.
    pub max_us: Option<f64>,
    /// Service time: median, µs.
    pub service_p50_us: Option<f64>,
    /// Service time: 99th percentile, µs.
    pub service_p99_us: Option<f64>,
    /// Lateness of our own doing: median, µs.
    pub lateness_p50_us: Option<f64>,
    /// Lateness: 99th percentile, µs.
    pub lateness_p99_us: Option<f64>,
    /// Lateness: greatest, µs.
    pub lateness_max_us: Option<f64>,
    /// Wait for a usable connection: 99th percentile, µs.
    pub wait_p99_us: Option<f64>,
    /// Sent and unanswered at its end.
    pub in_flight: u64,
    /// Due and not sent at its end.
    pub waiting: u64,
    /// How long the longest unanswered request had been due at its end, µs.
    pub oldest_outstanding_us: f64,
    /// Usable connections at its end.
    pub connections: u64,
    /// Connections opened in it.
    pub opened: u64,
    /// Reused connections found closed in it.
    pub stale: u64,
    /// Attempts to connect that failed in it.
    pub connect_failed: u64,
    /// TCP round trip, µs; `None` where none was sampled.
    pub rtt_us: Option<f64>,
    /// Thread time spent on events / thread time; `None` where no thread time was seen.
    pub busy_share: Option<f64>,
    /// CPU time of the worker threads, seconds.
    pub cpu_s: f64,
    /// Whether at its end a request was late by our own doing.
    pub behind: bool,
    /// Up, down, or not counted; seconds outside the measured schedule are never counted.
    pub availability: State,
}

/// One second of the host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostRow {
    /// Moment of the sample, seconds since the first due time.
    pub at_s: f64,
    /// Share of CPU time given to others; `None` where not known.
    pub steal_share: Option<f64>,
    /// How late an idle timer woke: median, µs.
    pub timer_late_p50_us: Option<f64>,
    /// How late an idle timer woke: 99th percentile, µs.
    pub timer_late_p99_us: Option<f64>,
    /// How late an idle timer woke: greatest, µs.
    pub timer_late_max_us: Option<f64>,
}

/// What a second's availability depends on besides the second.
pub(crate) struct Scale {
    pub(crate) measured: Range<u64>,
    pub(crate) patience_ns: u64,
}

impl Scale {
    /// The state of a second that starts at `start_ns`. Only what lies of it in the measured
    /// schedule counts, which has to be half a second: in the drain nobody asks, and its length
    /// says how patient we were.
    pub(crate) fn state(&self, start_ns: u64, second: Second) -> State {
        let end_ns = start_ns.saturating_add(second.len_ns).min(self.measured.end);
        let len_ns = end_ns.saturating_sub(start_ns.max(self.measured.start));
        Second { len_ns, ..second }.state(self.patience_ns)
    }
}

/// Requests that failed in the eyes of a user. Those that the end of the run cut off did not, nor
/// those for which this host had no connection.
pub(crate) fn failed(counters: &Counters) -> u64 {
    let ours = [ErrorKind::Cut, ErrorKind::InFlightAtEnd, ErrorKind::Local];
    ErrorKind::ALL
        .into_iter()
        .filter(|kind| !ours.contains(kind))
        .map(|kind| counters.errors_of(kind))
        .sum()
}

/// Selects what [`interval`] reads.
pub(crate) fn select_intervals(database: &Connection) -> rusqlite::Result<String> {
    let counters = schema::counter_columns();
    let own = ["start_ns", "len_ns", "phase"].into_iter();
    let columns = own.chain(counters.iter().map(String::as_str)).chain(schema::STATES);
    let columns = schema::select(database, "interval", columns)?;
    Ok(format!("SELECT {columns} FROM interval ORDER BY rowid"))
}

/// Reads a row of [`select_intervals`].
pub(crate) fn interval(row: &Row<'_>, scale: &Scale) -> rusqlite::Result<IntervalRow> {
    let count = |column: &str| row.get(column).map(uint);
    let time = |column: &str| row.get(column).map(|ns: Option<i64>| ns.map(|ns| us(uint(ns))));
    let (start_ns, len_ns) = (count("start_ns")?, count("len_ns")?);
    let phase: String = row.get("phase")?;
    let events = counters(row, 3)?;
    let oldest_outstanding_ns = count("oldest_outstanding_ns")?;
    let second = Second {
        succeeded: events.succeeded,
        failed: failed(&events),
        oldest_outstanding_ns,
        len_ns,
    };
    let (busy_ns, thread_ns) = (count("busy_ns")?, count("thread_ns")?);
    Ok(IntervalRow {
        start_s: seconds(start_ns),
        len_s: seconds(len_ns),
        phase: if phase == Phase::WarmUp.name() { Phase::WarmUp } else { Phase::Measured },
        events,
        mean_us: row.get("response_mean_ns").map(|ns: Option<f64>| ns.map(|ns| ns / 1e3))?,
        p50_us: time("response_p50_ns")?,
        p90_us: time("response_p90_ns")?,
        p99_us: time("response_p99_ns")?,
        p999_us: time("response_p999_ns")?,
        max_us: time("response_max_ns")?,
        service_p50_us: time("service_p50_ns")?,
        service_p99_us: time("service_p99_ns")?,
        lateness_p50_us: time("lateness_p50_ns")?,
        lateness_p99_us: time("lateness_p99_ns")?,
        lateness_max_us: time("lateness_max_ns")?,
        wait_p99_us: time("connection_wait_p99_ns")?,
        in_flight: count("in_flight")?,
        waiting: count("waiting")?,
        oldest_outstanding_us: us(oldest_outstanding_ns),
        connections: count("connections")?,
        opened: count("opened")?,
        stale: count("stale")?,
        connect_failed: count("connect_failed")?,
        rtt_us: time("rtt_ns")?,
        busy_share: (thread_ns > 0).then(|| seconds(busy_ns) / seconds(thread_ns)),
        cpu_s: seconds(count("cpu_ns")?),
        behind: row.get("behind")?,
        availability: scale.state(start_ns, second),
    })
}

/// Reads the columns of [`schema::counter_columns`], the first of which is at `first`.
pub(crate) fn counters(row: &Row<'_>, first: usize) -> rusqlite::Result<Counters> {
    let count = |at: usize| row.get(first + at).map(uint);
    let mut counters = Counters {
        offered: count(0)?,
        sent: count(1)?,
        completed: count(2)?,
        succeeded: count(3)?,
        ..Counters::default()
    };
    for (at, slot) in counters.errors.iter_mut().enumerate() {
        *slot = count(4 + at)?;
    }
    counters.redirects = count(4 + counters.errors.len())?;
    let rest = 5 + counters.errors.len();
    (counters.bytes_in, counters.bytes_out) = (count(rest)?, count(rest + 1)?);
    let at = first + rest + 2;
    let status: BTreeMap<u16, u64> = object(row, at)?;
    counters.status = status.into_iter().collect();
    let local: BTreeMap<String, u64> = object(row, at + 1)?;
    for cause in LocalCause::ALL {
        counters.local[cause as usize] = local.get(cause.name()).copied().unwrap_or(0);
    }
    Ok(counters)
}

/// Reads a column that holds a JSON object.
fn object<T: serde::de::DeserializeOwned>(row: &Row<'_>, at: usize) -> rusqlite::Result<T> {
    let text: String = row.get(at)?;
    serde_json::from_str(&text)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(at, Type::Text, error.into()))
}

/// Selects what [`host`] reads.
pub(crate) const SELECT_HOST: &str = "SELECT at_ns, steal_share, timer_late_p50_ns, \
     timer_late_p99_ns, timer_late_max_ns FROM host ORDER BY at_ns";

/// Reads a row of [`SELECT_HOST`].
pub(crate) fn host(row: &Row<'_>) -> rusqlite::Result<HostRow> {
    let time = |at: usize| row.get(at).map(|ns: Option<i64>| ns.map(|ns| us(uint(ns))));
    Ok(HostRow {
        at_s: seconds(row.get(0).map(uint)?),
        steal_share: row.get(1)?,
        timer_late_p50_us: time(2)?,
        timer_late_p99_us: time(3)?,
        timer_late_max_us: time(4)?,
    })
}
