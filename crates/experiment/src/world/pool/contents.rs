//! What the run of a simulated pool has beside its figures: the series of its ticks, the decisions
//! of its policy, and the response times of the requests that were served.

use super::model::Model;
use plimsoll_elastic::course::Course;
use plimsoll_elastic::outcome::Outcome;
use plimsoll_runs::event::Class;
use plimsoll_runs::{Event, RunWriter, Sink, SinkError, Tag};

/// The quantile that ticks tell where the SLO bounds none.
const QUANTILE: f64 = 0.99;

/// Writes one replication of a model into its run.
///
/// # Errors
/// When something could not be stored.
pub fn write(writer: &mut RunWriter, model: &Model, outcome: &Outcome) -> Result<(), SinkError> {
    let course = Course::of("", outcome);
    let quantile = model.facts.slo.map_or(QUANTILE, |(quantile, _)| quantile).to_string();
    for (tick, &at_s) in course.at_s.iter().enumerate() {
        let at_ns = nanoseconds(at_s);
        let seconds = |us: Option<f64>| us.map_or(f64::NAN, |us| us / 1e6);
        let samples = [
            ("pool_offered_requests_per_second", course.rate[tick]),
            ("pool_lost_requests_per_second", course.lost[tick]),
            ("pool_ready_instances", course.ready[tick]),
            ("pool_demand_instances", course.demand[tick].map_or(f64::NAN, f64::from)),
            ("pool_cpu_ratio", course.cpu[tick] / 100.0),
            ("pool_response_mean_seconds", seconds(course.response_us[tick])),
        ];
        for (name, value) in samples {
            writer.series(name, &[], at_ns, value)?;
        }
        let labels = [("quantile", quantile.as_str())];
        let value = seconds(course.quantile_us[tick]);
        writer.series("pool_response_quantile_seconds", &labels, at_ns, value)?;
    }
    for decision in &course.decisions {
        let (from, to, reason) = (decision.from, decision.to, &decision.reason);
        let seen: Vec<String> =
            decision.seen.iter().map(|(metric, value)| format!("{metric} {value}")).collect();
        let seen = if seen.is_empty() { String::new() } else { format!(" [{}]", seen.join(", ")) };
        writer.event(&Event {
            at_ns: nanoseconds(decision.at_s),
            class: Class::Action,
            kind: "scale".to_owned(),
            text: format!("{from} → {to} instances: {reason}{seen}"),
        })?;
    }
    writer.histogram(Tag::Response, (0, nanoseconds(outcome.seconds)), &outcome.response)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time since 0")]
fn nanoseconds(seconds: f64) -> u64 {
    (1e9 * seconds).round() as u64
}
