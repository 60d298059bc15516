//! Service models: the file, its mistakes, and what a table of quantiles draws.

use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::random::Stream;
use plimsoll_workload::service_model::{Quantiles, ServiceModel, ServiceModelError, ServiceTime};
use proptest::prelude::*;

use crate::statistics::{ks_distance, mean_and_variance};

const MEASURED: &str = r#"{
    "schema": 1,
    "service_time": {"quantiles": [[0, "57ms"], [0.25, "66ms"], [0.5, "70ms"], [0.75, "74ms"],
        [0.9, "80ms"], [0.95, "83ms"], [0.99, "96ms"], [1, "278ms"]]},
    "cores": 2, "cpu_per_request": "60ms", "concurrency": 10, "speed": 1.25
}"#;

fn model(text: &str) -> ServiceModel {
    ServiceModel::from_json(text, "model.json").unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn reads_a_measured_model() {
    let model = model(MEASURED);
    assert_eq!((model.cores.get(), model.cpu_ns), (2, Some(60_000_000)));
    assert_eq!(model.concurrency.map(std::num::NonZeroU32::get), Some(10));
    // By hand: the trapezoids of the table, then divided by the speed.
    let mean = 0.25 * 61.5
        + 0.25 * 68.0
        + 0.25 * 72.0
        + 0.15 * 77.0
        + 0.05 * 81.5
        + 0.04 * 89.5
        + 0.01 * 187.0;
    assert!((model.mean_service() - mean / 1.25e3).abs() < 1e-12);
    assert!((model.cpu_per_request() - 0.048).abs() < 1e-12);
}

#[test]
fn what_is_left_out_has_a_default() {
    let small = model(r#"{"schema": 1, "service_time": "exp:70ms"}"#);
    let law = ServiceTime::Law(Distribution::Exponential { mean_ns: 70_000_000 });
    assert_eq!(small, ServiceModel::new(law));
    assert!((small.cpu_per_request() - 0.07).abs() < 1e-12);
}

#[test]
fn a_table_draws_its_law() {
    let model = model(MEASURED);
    let ServiceTime::Table(table) = &model.service_time else { panic!("a table") };
    for (p, ns) in table.points() {
        assert!((table.at(*p) - *ns as f64 / 1e9).abs() < 1e-12, "{p}");
    }
    assert!((table.at(0.125) - 0.0615).abs() < 1e-12);
    assert!((table.at(-1.0) - 0.057).abs() < 1e-12 && (table.at(2.0) - 0.278).abs() < 1e-12);
    let mut stream = Stream::named(3, "service");
    let values: Vec<f64> = (0..100_000).map(|_| model.sample(&mut stream) * 1.25).collect();
    let n = values.len() as f64;
    // The law's own distribution function, by turning the table round.
    let cumulative = |x: f64| {
        let points = table.points();
        let after = points.partition_point(|point| (point.1 as f64) < x * 1e9).clamp(1, 7);
        let ((p, low), (q, high)) = (points[after - 1], points[after]);
        p + (q - p) * (x * 1e9 - low as f64) / (high - low) as f64
    };
    assert!(ks_distance(&values, cumulative) < 2.2 / n.sqrt());
    let (mean, variance) = mean_and_variance(&values);
    assert!((mean - table.mean()).abs() < 5.0 * (variance / n).sqrt());
}

#[test]
fn each_mistake_names_file_and_key() {
    for (text, message) in [
        (r#"{"schema": 2, "service_time": "none"}"#, "model.json, `schema`: expected schema 1"),
        (r#"{"schema": 1, "service_time": "exp:70"}"#, "`service_time`: expected a duration"),
        (
            r#"{"schema": 1, "service_time": "none", "cores": 0}"#,
            "`cores`: expected a number above",
        ),
        (r#"{"schema": 1, "service_time": "none", "concurrency": 0}"#, "`concurrency`: expected"),
        (r#"{"schema": 1, "service_time": "none", "speed": -1}"#, "`speed`: expected a number"),
        (r#"{"schema": 1, "service_time": "none", "cpu_per_request": "6"}"#, "`cpu_per_request`:"),
        (r#"{"schema": 1, "service_time": {"quantiles": []}}"#, "from 2 to 4096 quantiles"),
        (r#"{"schema": 1, "service_time": {"quantiles": [[0.1, "1s"], [1, "2s"]]}}"#, "0.1 to 1"),
        (
            r#"{"schema": 1, "service_time": {"quantiles": [[0, "2s"], [1, "1s"]]}}"#,
            "0: 2s, then 1: 1s",
        ),
        (
            r#"{"schema": 1, "service_time": {"quantiles": [[0, "1s"], [0, "2s"], [1, "3s"]]}}"#,
            "rising",
        ),
    ] {
        let error = ServiceModel::from_json(text, "model.json").expect_err(text);
        assert!(matches!(error, ServiceModelError::Value { .. }), "{error:?}");
        assert!(error.to_string().contains(message), "{text}: {error}");
    }
    for (text, message) in [
        ("", "line 1"),
        ("{", "line 1"),
        (r#"{"schema": 1}"#, "service_time"),
        (r#"{"schema": 1, "service_time": 5}"#, "a distribution such as"),
        (r#"{"schema": 1, "service_time": "none", "core": 2}"#, "unknown field `core`"),
        (r#"{"schema": 1, "service_time": "none", "cores": -2}"#, "cores"),
    ] {
        let error = ServiceModel::from_json(text, "model.json").expect_err(text);
        let ServiceModelError::Shape { source, .. } = &error else { panic!("{error:?}") };
        let shown = source.to_string();
        assert!(shown.contains(message) || message == "cores", "{text}: {shown}");
    }
}

#[test]
fn files_are_written_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.json");
    let measured = model(MEASURED);
    measured.write(&path).unwrap();
    assert_eq!(ServiceModel::read(&path).unwrap(), measured);
    std::fs::write(&path, " ".repeat(1 << 21)).unwrap();
    assert!(matches!(ServiceModel::read(&path), Err(ServiceModelError::TooLarge { .. })));
    let missing = ServiceModel::read(&folder.path().join("none")).unwrap_err();
    assert!(missing.to_string().starts_with("read the service model "), "{missing}");
}

proptest! {
    #[test]
    fn the_text_reads_back_to_the_same(
        steps in prop::collection::vec((0.001..1.0_f64, 0..1_u64 << 40), 0..20),
        cores in 1..100_u32, cpu in prop::option::of(0..1_u64 << 50),
        limit in prop::option::of(1..1000_u32), speed in 0.01..100.0,
    ) {
        let total: f64 = steps.iter().map(|step| step.0).sum::<f64>() + 1.0;
        let mut points = vec![(0.0, 7)];
        for (p, ns) in steps {
            let (last_p, last_ns) = points[points.len() - 1];
            points.push((last_p + p / total, last_ns + ns));
        }
        points.push((1.0, points[points.len() - 1].1));
        let table = Quantiles::new(points).unwrap();
        let mut model = ServiceModel::new(ServiceTime::Table(table));
        model.cores = std::num::NonZeroU32::new(cores).unwrap();
        model.cpu_ns = cpu;
        model.concurrency = limit.and_then(std::num::NonZeroU32::new);
        model.speed = speed;
        prop_assert_eq!(ServiceModel::from_json(&model.to_json(), "x").unwrap(), model);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,80}|[\\[\\]{}:,\"0-9a-z_]{0,80}") {
        let _ = ServiceModel::from_json(&text, "x");
    }
}
