//! Figures by name, a row a name.

use std::io::Write;

use serde_json::{Value, json};

use super::csv;
use crate::error::RunError;
use crate::run::Run;
use plimsoll_stats::percentiles::QUANTILES;

/// Writes the names of a run in their order, `other` last; the heading alone where it has none.
pub(super) fn csv(run: &Run, out: &mut dyn Write) -> Result<(), RunError> {
    let times = ["response", "service"];
    let mut heads: Vec<String> =
        ["name", "kind", "names", "count", "succeeded", "errors", "failures", "redirects"]
            .map(str::to_owned)
            .to_vec();
    heads.push("received_bytes".to_owned());
    for time in times {
        let figures = ["mean"].into_iter().chain(QUANTILES.map(|(name, _)| name)).chain(["max"]);
        heads.extend(figures.map(|figure| format!("{time}_{figure}_us")));
    }
    csv::row(out, &heads)?;
    for of in run.summary()?.by_name {
        let failures = of.failures.iter().map(|(kind, n)| format!("{kind}:{n}"));
        let failures = failures.collect::<Vec<_>>().join(" ");
        let mut fields = vec![
            json!(of.name),
            json!(of.kind),
            json!(of.names),
            json!(of.count),
            json!(of.succeeded),
            json!(of.errors),
            json!(failures),
            json!(of.redirects),
            json!(of.bytes_in),
        ];
        for times in [Some(&of.response_us), of.service_us.as_ref()] {
            let times = json!(times);
            let named = QUANTILES.map(|(name, _)| name);
            let all = ["mean"].into_iter().chain(named).chain(["max"]);
            fields.extend(all.map(|name| times.get(name).cloned().unwrap_or(Value::Null)));
        }
        csv::row(out, fields.iter().map(csv::field))?;
    }
    Ok(())
}
