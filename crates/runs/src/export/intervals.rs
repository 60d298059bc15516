//! The seconds of a run.

use std::io::Write;

use plimsoll_stats::availability::State;
use serde_json::{Value, json};

use super::{csv, text};
use crate::error::RunError;
use crate::row::IntervalRow;
use crate::run::Run;

pub(super) fn csv(run: &Run, out: &mut dyn Write) -> Result<(), RunError> {
    csv::row(out, NAMES)?;
    run.for_each_interval(|row| {
        csv::row(
            out,
            values(&row).map(|value| match value {
                // The status codes and their counts: `200:12 503:1`.
                Value::Object(counts) => {
                    let counts = counts.iter().map(|(code, n)| format!("{code}:{n}"));
                    counts.collect::<Vec<_>>().join(" ")
                }
                value => csv::field(&value),
            }),
        )
    })
}

pub(super) fn json(run: &Run, out: &mut dyn Write) -> Result<(), RunError> {
    text(out, "{\"summary\":")?;
    super::json(out, &run.summary()?)?;
    text(out, ",\"intervals\":[")?;
    let mut before = "\n";
    run.for_each_interval(|row| {
        text(out, before)?;
        before = ",\n";
        let pairs = NAMES.map(str::to_owned).into_iter().zip(values(&row));
        super::json(out, &Value::Object(pairs.collect()))
    })?;
    text(out, "\n]}\n")
}

/// A second's columns, names with units.
const NAMES: [&str; 53] = [
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
    "failed_redirect",
    "failed_take",
    "failed_variable",
    "failed_unanswered",
    "failed_closed",
    "failed_offline",
    "redirects",
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
fn values(row: &IntervalRow) -> impl Iterator<Item = Value> {
    let events = &row.events;
    let codes = events.status.iter().map(|(code, n)| (code.to_string(), json!(n)));
    let asked = [
        json!(row.start_s),
        json!(row.len_s),
        json!(row.phase.name()),
        json!(events.offered),
        json!(events.sent),
        json!(events.completed),
        json!(events.succeeded),
    ];
    let measured = [
        json!(events.redirects),
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
    ];
    asked.into_iter().chain(events.errors.map(Value::from)).chain(measured)
}
