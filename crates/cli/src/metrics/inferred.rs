//! The load of others on the server that is probed, as it was told last.

use super::families::{Family, Kind, Value};
use plimsoll_capacity::infer::result::StretchResult;
use std::collections::BTreeMap;

/// How a stretch is counted whose load was told.
const TOLD: &str = "told";

/// What is told of the load of others.
#[derive(Default)]
pub(super) struct Inferred {
    last: Option<StretchResult>,
    /// Stretches by what came of them.
    stretches: BTreeMap<String, u64>,
}

impl Inferred {
    /// Takes the next stretch.
    pub(super) fn take(&mut self, stretch: &StretchResult) {
        let declined = stretch.result.declined.as_ref();
        let outcome = declined.map_or(TOLD, |of| of.reason.as_str());
        *self.stretches.entry(outcome.to_owned()).or_default() += 1;
        self.last = Some(stretch.clone());
    }

    /// All that there is to tell; nothing where no load of others is told. What the last stretch
    /// does not know has no value.
    pub(super) fn families(&self) -> Vec<Family> {
        let Some(StretchResult { result, .. }) = &self.last else { return Vec::new() };
        let gauge = |name: &str, unit: &'static str, help: &str, value: Option<f64>| {
            let family = Family::new((name, Kind::Gauge), unit, help);
            match value {
                Some(value) => family.with(&[], Value::Amount(value)),
                None => family,
            }
        };
        let help = "Load of others on the server, in the last stretch that was probed.";
        let load = gauge("plimsoll_inferred_load_per_s", REQUESTS_PER_S, help, result.load_per_s);
        let help = "Where that load lies with 95% confidence.";
        let name = ("plimsoll_inferred_load_bound_per_s", Kind::Gauge);
        let mut bound = Family::new(name, REQUESTS_PER_S, help);
        if let Some((low, high)) = result.ci95 {
            bound.push(&[("bound", "low")], Value::Amount(low));
            bound.push(&[("bound", "high")], Value::Amount(high));
        }
        let help = "That load over the capacity of the server.";
        let share = gauge("plimsoll_inferred_share", "1", help, result.share_of_capacity);
        let help = "Capacity of the server, as its search found it.";
        let capacity = Some(result.capacity_per_s);
        let name = "plimsoll_inferred_capacity_per_s";
        let capacity = gauge(name, REQUESTS_PER_S, help, capacity);
        let help = "Stretches that were probed, by what came of them.";
        let name = ("plimsoll_inferred_stretches_total", Kind::Counter);
        let mut stretches = Family::new(name, "1", help);
        for (outcome, n) in &self.stretches {
            stretches.push(&[("outcome", outcome)], Value::Count(*n));
        }
        let all = [load, bound, share, capacity, stretches];
        all.into_iter().filter(|family| !family.points.is_empty()).collect()
    }
}

/// The unit of rates.
const REQUESTS_PER_S: &str = "{request}/s";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::families::text;

    #[test]
    fn what_the_last_moment_does_not_know_has_no_value() {
        let stretch = |load: Option<f64>, declined: Option<&str>| -> StretchResult {
            let declined = declined.map(|reason| {
                serde_json::json!({
                    "reason": reason, "probes_needed": null, "probes_needed_at_best": null
                })
            });
            let value = serde_json::json!({
                "number": 1, "from": "", "until": "", "failed": 0, "schema": 1, "warnings": [],
                "load_per_s": load, "ci95": [10.0, 30.0], "share_of_capacity": load,
                "share_ci95": null, "capacity_per_s": 100.0, "probes": 200,
                "probe_rate_per_s": 20.0, "seconds": 10.0, "declined": declined, "calibration": "c"
            });
            serde_json::from_value(value).unwrap()
        };
        let mut inferred = Inferred::default();
        assert!(inferred.families().is_empty());
        inferred.take(&stretch(Some(20.0), None));
        assert!(text(&inferred.families()).contains("plimsoll_inferred_load_per_s 20\n"));
        inferred.take(&stretch(None, Some("flat")));
        let text = text(&inferred.families());
        assert!(!text.contains("plimsoll_inferred_load_per_s"), "{text}");
        for line in [
            "plimsoll_inferred_load_bound_per_s{bound=\"high\"} 30\n",
            "plimsoll_inferred_capacity_per_s 100\n",
            "plimsoll_inferred_stretches_total{outcome=\"flat\"} 1\n",
            "plimsoll_inferred_stretches_total{outcome=\"told\"} 1\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
