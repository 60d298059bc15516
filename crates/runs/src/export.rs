//! Exports of a run, for other tools: CSV, JSON, and HdrHistogram's percentile output.

use std::io::{self, Write};

use plimsoll_stats::availability::State;
use serde_json::{Value, json};

use crate::error::RunError;
use crate::hgrm;
use crate::row::IntervalRow;
use crate::run::Run;
use crate::{Phase, Tag};

/// The forms of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One row a second, units in the header, an empty cell where there is no figure.
    Csv,
    /// An object `{ summary, intervals: [...] }`, the intervals as in the CSV.
    Json,
    /// The distribution of the measured phase's response time, in milliseconds.
    Hgrm,
}

impl Format {
    /// Every form.
    pub const ALL: [Self; 3] = [Self::Csv, Self::Json, Self::Hgrm];

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Hgrm => "hgrm",
        }
    }
}

impl std::str::FromStr for Format {
    type Err = plimsoll_units::ParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|format| format.name() == text).ok_or_else(|| {
            let wanted = "a format: csv, json or hgrm";
            let error = plimsoll_units::ParseError::new(wanted, text, 0, text.len());
            match plimsoll_units::nearest(text, Self::ALL.map(Self::name)) {
                Some(name) => error.hint(format!("did you mean `{name}`?")),
                None => error,
            }
        })
    }
}

/// Writes an export. Rows are streamed: memory does not grow with the run.
///
/// # Errors
/// Where the run cannot be read, or `out` refuses.
pub fn export(run: &Run, format: Format, out: &mut dyn Write) -> Result<(), RunError> {
    match format {
        Format::Csv => csv(run, out),
        Format::Json => intervals_as_json(run, out),
        Format::Hgrm => {
            let histogram = run.histogram(Phase::Measured, Tag::Response)?;
            hgrm::write(&histogram, out).map_err(RunError::Export)
        }
    }?;
    out.flush().map_err(RunError::Export)
}

fn csv(run: &Run, out: &mut dyn Write) -> Result<(), RunError> {
    writeln!(out, "{}", NAMES.join(",")).map_err(RunError::Export)?;
    run.for_each_interval(|row| {
        let line = values(&row).map(|value| match value {
            Value::Null => String::new(),
            Value::String(text) => text,
            // The status codes and their counts: `200:12 503:1`.
            Value::Object(counts) => {
                let parts: Vec<_> = counts.iter().map(|(code, n)| format!("{code}:{n}")).collect();
                parts.join(" ")
            }
            number => number.to_string(),
        });
        writeln!(out, "{}", line.join(",")).map_err(RunError::Export)
    })
}

fn intervals_as_json(run: &Run, out: &mut dyn Write) -> Result<(), RunError> {
    let broken = |error: serde_json::Error| RunError::Export(io::Error::from(error));
    out.write_all(b"{\"summary\":").map_err(RunError::Export)?;
    serde_json::to_writer(&mut *out, &run.summary()?).map_err(broken)?;
    out.write_all(b",\"intervals\":[").map_err(RunError::Export)?;
    let mut before = "\n";
    run.for_each_interval(|row| {
        out.write_all(before.as_bytes()).map_err(RunError::Export)?;
        before = ",\n";
        let pairs = NAMES.map(str::to_owned).into_iter().zip(values(&row));
        serde_json::to_writer(&mut *out, &Value::Object(pairs.collect())).map_err(broken)
    })?;
    out.write_all(b"\n]}\n").map_err(RunError::Export)
}

/// A second's columns, names with units.
const NAMES: [&str; 46] = [
    "start_s",
    "len_s",
    "phase",
    "offered",
    "sent",
    "completed",
    "succeeded",
    "failed_connect",
    "failed_dns",
    "failed_tls",
    "failed_client_saturated",
    "failed_cut",
    "failed_timeout",
    "failed_reset",
    "failed_protocol",
    "failed_in_flight_at_end",
    "failed_status",
    "failed_check",
    "failed_local",
    "status",
    "received_bytes",
    "sent_bytes",
    "response_mean_us",
    "response_p50_us",
    "response_p90_us",
    "response_p99_us",
    "response_p999_us",
    "response_max_us",
    "service_p50_us",
    "service_p99_us",
    "lateness_p50_us",
    "lateness_p99_us",
    "lateness_max_us",
    "connection_wait_p99_us",
    "in_flight",
    "waiting",
    "oldest_outstanding_us",
    "connections",
    "connections_opened",
    "connections_stale",
    "connect_failed",
    "tcp_round_trip_us",
    "busy_share",
    "cpu_s",
    "behind",
    "availability",
];

/// A second's values, in the order of [`NAMES`].
fn values(row: &IntervalRow) -> [Value; NAMES.len()] {
    let events = &row.events;
    let codes = events.status.iter().map(|(code, n)| (code.to_string(), json!(n)));
    let [
        connect,
        dns,
        tls,
        client_saturated,
        cut,
        timeout,
        reset,
        protocol,
        in_flight_at_end,
        status,
        check,
        local,
    ] = events.errors;
    [
        json!(row.start_s),
        json!(row.len_s),
        json!(row.phase.name()),
        json!(events.offered),
        json!(events.sent),
        json!(events.completed),
        json!(events.succeeded),
        json!(connect),
        json!(dns),
        json!(tls),
        json!(client_saturated),
        json!(cut),
        json!(timeout),
        json!(reset),
        json!(protocol),
        json!(in_flight_at_end),
        json!(status),
        json!(check),
        json!(local),
        Value::Object(codes.collect()),
        json!(events.bytes_in),
        json!(events.bytes_out),
        json!(row.mean_us),
        json!(row.p50_us),
        json!(row.p90_us),
        json!(row.p99_us),
        json!(row.p999_us),
        json!(row.max_us),
        json!(row.service_p50_us),
        json!(row.service_p99_us),
        json!(row.lateness_p50_us),
        json!(row.lateness_p99_us),
        json!(row.lateness_max_us),
        json!(row.wait_p99_us),
        json!(row.in_flight),
        json!(row.waiting),
        json!(row.oldest_outstanding_us),
        json!(row.connections),
        json!(row.opened),
        json!(row.stale),
        json!(row.connect_failed),
        json!(row.rtt_us),
        json!(row.busy_share),
        json!(row.cpu_s),
        json!(row.behind),
        match row.availability {
            State::Up => json!("up"),
            State::Down => json!("down"),
            State::NotCounted => Value::Null,
        },
    ]
}
