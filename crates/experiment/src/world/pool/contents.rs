//! What the run of a simulated pool has beside its figures: the series of its ticks, the decisions
//! of its policy, and the response times of the requests that were served.

use super::model::Model;
use plimsoll_elastic::controller::Decided;
use plimsoll_elastic::course::Course;
use plimsoll_elastic::observation::Metric;
use plimsoll_elastic::outcome::Outcome;
use plimsoll_runs::event::Class;
use plimsoll_runs::{DecisionRow, Event, RunWriter, Sink, SinkError, Tag};
use serde_json::{Map, Value};

/// The quantile that ticks tell where the SLO bounds none.
const QUANTILE: f64 = 0.99;

/// Writes one simulated replication of a model, under a policy of a kind, into its run.
///
/// # Errors
/// When something could not be stored.
pub fn write(
    writer: &mut RunWriter,
    model: &Model,
    kind: &str,
    outcome: &Outcome,
) -> Result<(), SinkError> {
    series(writer, model, "pool", outcome)?;
    for decided in &outcome.decisions {
        writer.event(&scaled(decided))?;
    }
    let rows: Vec<DecisionRow> = outcome.decisions.iter().map(|of| row(kind, of)).collect();
    writer.decisions(&rows)?;
    writer.histogram(Tag::Response, (0, nanoseconds(outcome.seconds)), &outcome.response)
}

/// A decision that changed the pool, as an event.
pub(super) fn scaled(of: &Decided) -> Event {
    let seen = Metric::ALL.into_iter().zip(of.seen).filter(|(_, value)| value.is_finite());
    let seen: Vec<String> =
        seen.map(|(metric, value)| format!("{} {value}", metric.name())).collect();
    let seen = if seen.is_empty() { String::new() } else { format!(" [{}]", seen.join(", ")) };
    Event {
        at_ns: of.at_ns,
        class: Class::Action,
        kind: "scale".to_owned(),
        text: format!("{} → {} instances: {}{seen}", of.from, of.to, of.reason),
    }
}

/// A decision of a policy of a kind, as it is stored.
pub(super) fn row(kind: &str, of: &Decided) -> DecisionRow {
    let seen = Metric::ALL.into_iter().zip(of.seen).filter(|(_, value)| value.is_finite());
    let seen: Map<String, Value> =
        seen.map(|(metric, value)| (metric.name().to_owned(), value.into())).collect();
    DecisionRow {
        at_ns: of.at_ns,
        observation: Value::Object(seen).to_string(),
        rule: kind.to_owned(),
        desired: of.to,
        before: of.from,
        limited_by: of.limited_by.map(|by| by.name().to_owned()),
        done: of.done,
        reason: of.reason.clone(),
    }
}

/// Writes the series of the ticks, their names behind a prefix: `pool` of what was, `predicted` of
/// what a simulation says beforehand.
///
/// # Errors
/// When something could not be stored.
pub fn series(
    writer: &mut RunWriter,
    model: &Model,
    prefix: &str,
    outcome: &Outcome,
) -> Result<(), SinkError> {
    let course = Course::of("", outcome);
    let quantile = model.facts.slo.map_or(QUANTILE, |(quantile, _)| quantile).to_string();
    for (tick, &at_s) in course.at_s.iter().enumerate() {
        let at_ns = nanoseconds(at_s);
        let seconds = |us: Option<f64>| us.map_or(f64::NAN, |us| us / 1e6);
        let samples = [
            ("offered_requests_per_second", course.rate[tick]),
            ("lost_requests_per_second", course.lost[tick]),
            ("ready_instances", course.ready[tick]),
            ("demand_instances", course.demand[tick].map_or(f64::NAN, f64::from)),
            ("cpu_ratio", course.cpu[tick] / 100.0),
            ("response_mean_seconds", seconds(course.response_us[tick])),
        ];
        for (name, value) in samples {
            writer.series(&format!("{prefix}_{name}"), &[], at_ns, value)?;
        }
        let labels = [("quantile", quantile.as_str())];
        let value = seconds(course.quantile_us[tick]);
        writer.series(&format!("{prefix}_response_quantile_seconds"), &labels, at_ns, value)?;
    }
    Ok(())
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time since 0")]
fn nanoseconds(seconds: f64) -> u64 {
    (1e9 * seconds).round() as u64
}
