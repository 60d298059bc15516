//! Figures in the JSON of OTLP: the request of the metrics service, version 1.
//!
//! Names of fields are in lower camel case, enumerations are numbers, and numbers of 64 bits are
//! strings (OTLP specification 1, JSON Protobuf encoding). All sums and histograms are cumulative:
//! a second that is lost costs its resolution, and nothing that was counted.

use super::families::{Family, Kind, Point, Value};
use super::times::BOUNDS;
use serde_json::{Map, Value as Json, json};

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: u8 = 2;

/// When figures were counted, nanoseconds by the epoch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    /// From when.
    pub(super) from_ns: u64,
    /// Until when.
    pub(super) until_ns: u64,
}

/// The body of a request; `resource` says whose figures they are.
pub(super) fn encode(all: &[Family], resource: &[(String, String)], span: Span) -> Json {
    let metrics: Vec<Json> =
        all.iter().filter(|family| !family.points.is_empty()).map(|of| metric(of, span)).collect();
    let scope = json!({ "name": "plimsoll", "version": env!("CARGO_PKG_VERSION") });
    let resource = attributes(resource.iter().map(|(key, text)| (key.as_str(), text.as_str())));
    json!({ "resourceMetrics": [{
        "resource": { "attributes": resource },
        "scopeMetrics": [{ "scope": scope, "metrics": metrics }],
    }] })
}

fn metric(family: &Family, span: Span) -> Json {
    let span = Span { from_ns: family.since_ns.unwrap_or(span.from_ns), ..span };
    let points: Vec<Json> =
        family.points.iter().map(|point| data_point(point, family.kind, span)).collect();
    let mut metric = json!({
        "name": family.name,
        "description": family.help,
        "unit": family.unit,
    });
    let (of, data) = match family.kind {
        Kind::Counter => (
            "sum",
            json!({
                "dataPoints": points,
                "aggregationTemporality": CUMULATIVE,
                "isMonotonic": true,
            }),
        ),
        Kind::Gauge => ("gauge", json!({ "dataPoints": points })),
        Kind::Histogram => {
            ("histogram", json!({ "dataPoints": points, "aggregationTemporality": CUMULATIVE }))
        }
    };
    metric[of] = data;
    metric
}

fn data_point(point: &Point, kind: Kind, span: Span) -> Json {
    let mut data = Map::new();
    let labels = point.labels.iter().map(|(label, text)| (*label, text.as_str()));
    data.insert("attributes".to_owned(), attributes(labels));
    if kind != Kind::Gauge {
        data.insert("startTimeUnixNano".to_owned(), json!(span.from_ns.to_string()));
    }
    data.insert("timeUnixNano".to_owned(), json!(span.until_ns.to_string()));
    match &point.value {
        Value::Count(n) => {
            let n = i64::try_from(*n).unwrap_or(i64::MAX);
            data.insert("asInt".to_owned(), json!(n.to_string()));
        }
        Value::Amount(of) => {
            data.insert("asDouble".to_owned(), json!(of));
        }
        Value::Times(times) => {
            let each: Vec<String> = times.each().map(|n| n.to_string()).collect();
            let bounds = BOUNDS.map(|(_, ns)| ns as f64 / 1e9);
            data.insert("count".to_owned(), json!(times.count.to_string()));
            data.insert("sum".to_owned(), json!(times.sum_s));
            data.insert("bucketCounts".to_owned(), json!(each));
            data.insert("explicitBounds".to_owned(), json!(bounds));
        }
    }
    Json::Object(data)
}

fn attributes<'a>(all: impl Iterator<Item = (&'a str, &'a str)>) -> Json {
    all.map(|(key, text)| json!({ "key": key, "value": { "stringValue": text } })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::times::Buckets;
    use plimsoll_stats::Histogram;

    #[test]
    fn a_request_is_as_the_specification_has_it() {
        let mut times = Histogram::new();
        [150_000, 3_000_000, 3_000_000, 200_000_000_000]
            .into_iter()
            .for_each(|ns| times.record(ns));
        let all = [
            Family::new(("plimsoll_status_total", Kind::Counter), "{request}", "Answers by code.")
                .with(&[("code", "200")], Value::Count(u64::MAX)),
            Family::new(("plimsoll_in_flight", Kind::Gauge), "{request}", "Unanswered.")
                .with(&[], Value::Count(3)),
            Family::new(("plimsoll_response_seconds", Kind::Histogram), "s", "Times.")
                .with(&[], Value::Times(Buckets::of(&times))),
            Family::new(("plimsoll_none_total", Kind::Counter), "1", "Nothing yet."),
        ];
        let resource = [("service.name".to_owned(), "plimsoll".to_owned())];
        let body = encode(&all, &resource, Span { from_ns: 1_000, until_ns: 2_000 });
        let of = &body["resourceMetrics"][0];
        assert_eq!(
            of["resource"],
            json!({ "attributes": [
                { "key": "service.name", "value": { "stringValue": "plimsoll" } },
            ] })
        );
        let metrics = of["scopeMetrics"][0]["metrics"].as_array().unwrap();
        assert_eq!(metrics.len(), 3, "a family without points is left out");
        assert_eq!(
            metrics[0],
            json!({
                "name": "plimsoll_status_total",
                "description": "Answers by code.",
                "unit": "{request}",
                "sum": {
                    "aggregationTemporality": 2,
                    "isMonotonic": true,
                    "dataPoints": [{
                        "attributes": [{ "key": "code", "value": { "stringValue": "200" } }],
                        "startTimeUnixNano": "1000",
                        "timeUnixNano": "2000",
                        "asInt": "9223372036854775807",
                    }],
                },
            })
        );
        assert!(metrics[1]["gauge"]["dataPoints"][0].get("startTimeUnixNano").is_none());
        let point = &metrics[2]["histogram"]["dataPoints"][0];
        let each = point["bucketCounts"].as_array().unwrap();
        let bounds = point["explicitBounds"].as_array().unwrap();
        assert_eq!(each.len(), bounds.len() + 1);
        let sum: u64 = each.iter().map(|n| n.as_str().unwrap().parse::<u64>().unwrap()).sum();
        assert_eq!(point["count"], json!(sum.to_string()));
        assert_eq!((bounds[0].as_f64(), bounds[18].as_f64()), (Some(0.0001), Some(100.0)));
    }
}
