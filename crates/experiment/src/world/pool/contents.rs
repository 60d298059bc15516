//! What the run of a simulated pool has beside its figures: the series of its ticks, the decisions
//! of its policy, and the response times of the requests that were served.

use super::model::Model;
use plimsoll_elastic::controller::Decided;
use plimsoll_elastic::course::Course;
use plimsoll_elastic::observation::{Metric, Point};
use plimsoll_elastic::outcome::Outcome;
use plimsoll_runs::event::Class;
use plimsoll_runs::{DecisionRow, Event, RunWriter, Sink, SinkError, Tag};
use serde_json::{Map, Value};

/// When the last point of an observation was, and how long its period: seconds of the policy's
/// time.
const AT: &str = "at_s";
const SECONDS: &str = "seconds";
/// Points that arrived together with it, and are older.
const EARLIER: &str = "earlier";
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
    at_places(writer, outcome)?;
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
    let mut seen: Map<String, Value> =
        seen.map(|(metric, value)| (metric.name().to_owned(), value.into())).collect();
    if let Some((last, earlier)) = of.arrived.split_last() {
        seen.extend(times(last));
        if !earlier.is_empty() {
            seen.insert(EARLIER.to_owned(), earlier.iter().map(point).collect());
        }
    }
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

/// The points of a decision's observation that had arrived since the decision before, in the
/// policy's time.
///
/// # Errors
/// A text that is no observation.
pub(crate) fn arrived(observation: &str) -> serde_json::Result<Vec<Point>> {
    let all: Map<String, Value> = serde_json::from_str(observation)?;
    let earlier = all.get(EARLIER).and_then(Value::as_array).into_iter().flatten();
    let points = earlier.filter_map(Value::as_object).chain([&all]);
    let point = |of: &Map<String, Value>| {
        let number = |name: &str| of.get(name).and_then(Value::as_f64);
        let values = Metric::ALL.map(|metric| number(metric.name()).unwrap_or(f64::NAN));
        Some(Point { at_s: number(AT)?, seconds: number(SECONDS)?, values })
    };
    Ok(points.filter_map(point).collect())
}

fn times(of: &Point) -> [(String, Value); 2] {
    [(AT.to_owned(), of.at_s.into()), (SECONDS.to_owned(), of.seconds.into())]
}

fn point(of: &Point) -> Value {
    let seen = Metric::ALL.into_iter().zip(of.values).filter(|(_, value)| value.is_finite());
    let seen = seen.map(|(metric, value)| (metric.name().to_owned(), value.into()));
    Value::Object(seen.chain(times(of)).collect())
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

/// Writes what was done at each place behind the balancer: how evenly it spreads its requests.
fn at_places(writer: &mut RunWriter, outcome: &Outcome) -> Result<(), SinkError> {
    for of in &outcome.at_places {
        let (at_ns, place) = (nanoseconds(of.at_s), (of.slot + 1).to_string());
        let samples = [
            ("pool_instance_ready_seconds", of.ready_s()),
            ("pool_instance_served_requests_per_second", of.served_per_s()),
            ("pool_instance_cpu_ratio", of.cpu() / 100.0),
            ("pool_instance_concurrent_requests", of.concurrency()),
        ];
        for (name, value) in samples {
            writer.series(name, &[("place", place.as_str())], at_ns, value)?;
        }
    }
    Ok(())
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time since 0")]
fn nanoseconds(seconds: f64) -> u64 {
    (1e9 * seconds).round() as u64
}
