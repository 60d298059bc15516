//! Figures by name and by label, a row each.

use std::collections::BTreeMap;
use std::io::Write;

use serde_json::{Value, json};

use super::csv;
use crate::error::RunError;
use crate::run::Run;
use plimsoll_stats::percentiles::{Percentiles, QUANTILES};

/// What both have of the requests.
const COUNTED: [&str; 6] =
    ["count", "succeeded", "errors", "failures", "redirects", "received_bytes"];

/// Writes the names of a run in their order, `other` last; the heading alone where it has none.
pub(super) fn csv(run: &Run, out: &mut dyn Write) -> Result<(), RunError> {
    heading(&["name", "kind", "names"], &["response", "service"], out)?;
    for of in run.summary()?.by_name {
        let own = [json!(of.name), json!(of.kind), json!(of.names)];
        let counted = [json!(of.count), json!(of.succeeded), json!(of.errors)];
        let rest = [json!(shown(&of.failures)), json!(of.redirects), json!(of.bytes_in)];
        let times = [Some(&of.response_us), of.service_us.as_ref()];
        row(own.into_iter().chain(counted).chain(rest), &times, out)?;
    }
    Ok(())
}

/// Writes the labels that users of a run have in their order, `other` last; the heading alone where
/// they have none.
pub(super) fn labels_csv(run: &Run, out: &mut dyn Write) -> Result<(), RunError> {
    heading(&["label", "labels", "users"], &["response", "service", "latency"], out)?;
    for of in run.summary()?.by_label {
        let own = [json!(of.label), json!(of.labels), json!(of.users)];
        let counted = [json!(of.count), json!(of.succeeded), json!(of.errors)];
        let rest = [json!(shown(&of.failures)), json!(of.redirects), json!(of.bytes_in)];
        let times = [Some(&of.response_us), Some(&of.service_us), of.latency_us.as_ref()];
        row(own.into_iter().chain(counted).chain(rest), &times, out)?;
    }
    Ok(())
}

/// The figures of times, in their order.
fn of_times() -> impl Iterator<Item = &'static str> {
    ["mean"].into_iter().chain(QUANTILES.map(|(name, _)| name)).chain(["max"])
}

fn heading(own: &[&str], times: &[&str], out: &mut dyn Write) -> Result<(), RunError> {
    let plain = own.iter().chain(&COUNTED).map(|name| (*name).to_owned());
    let timed =
        times.iter().flat_map(|time| of_times().map(move |figure| format!("{time}_{figure}_us")));
    csv::row(out, plain.chain(timed))
}

fn row(
    fields: impl Iterator<Item = Value>,
    times: &[Option<&Percentiles>],
    out: &mut dyn Write,
) -> Result<(), RunError> {
    let times = times.iter().flat_map(|times| {
        let times = json!(times);
        of_times().map(move |name| times.get(name).cloned().unwrap_or(Value::Null))
    });
    csv::row(out, fields.chain(times).map(|value| csv::field(&value)))
}

/// Failures as `timeout:3 reset:1`.
fn shown(failures: &BTreeMap<String, u64>) -> String {
    let all = failures.iter().map(|(kind, n)| format!("{kind}:{n}"));
    all.collect::<Vec<_>>().join(" ")
}
