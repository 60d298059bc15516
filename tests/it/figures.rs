//! The registry of figures against what the program prints: every figure of a document, above all
//! each that has an interval, is a registered one.

use crate::comparing::say_valid;
use crate::place::Place;
use plimsoll_stats::figure::{self, Better};
use plimsoll_testing::Weight;
use serde_json::Value;
use std::collections::BTreeSet;

const POOL: &str = "\
[load]
schedule = '20/s..80/s in 2m'
arrivals = 'poisson'
[measure]
slo = 'p99<400ms'
[pool]
max = 8
start = 2
[instance]
service = 'exp:70ms'
cores = 2
limit = 10
[billing]
price = 0.17
income = 0.000017
[policy.eager]
kind = 'threshold'
[policy.always]
kind = 'fixed'
start = 8
";
const CLUSTERS: &str = "\
[workload]
recurrence = '70%'
[load]
rate = '20/s'
for = '10s'
[cluster]
nodes = 2
size = '20%'
protocol = ['none', 'icp']
";

/// The names under which a document has intervals: the keys of an object `ci95`, or the key of an
/// object that has a mean and its interval.
fn intervals(key: &str, value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| intervals(key, item, found)),
        Value::Object(pairs) => {
            match pairs.get("ci95") {
                Some(Value::Object(named)) => found.extend(named.keys().cloned()),
                Some(_) => {
                    found.insert(key.to_owned());
                }
                None => {}
            }
            let inner = pairs.iter().filter(|(key, _)| *key != "ci95");
            inner.for_each(|(key, value)| intervals(key, value, found));
        }
        _ => {}
    }
}

/// The names of a document's intervals, all of them registered.
#[track_caller]
fn registered(document: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    intervals("", document, &mut found);
    let unknown: Vec<_> = found.iter().filter(|name| figure::named(name).is_none()).collect();
    assert!(unknown.is_empty(), "the registry has no {unknown:?}");
    assert!(found.len() >= 5, "{found:?}");
    found
}

/// The rates of a document's first level, all of them registered.
#[track_caller]
pub(crate) fn assert_rates(document: &Value) {
    let keys = document.as_object().unwrap().keys();
    let rates: Vec<_> = keys.filter(|key| key.ends_with("_per_s")).collect();
    let unknown: Vec<_> = rates.iter().filter(|name| figure::named(name).is_none()).collect();
    assert!(unknown.is_empty() && !rates.is_empty(), "the registry has no {unknown:?}");
}

#[test]
fn every_figure_with_an_interval_is_registered() {
    let place = Place::weighing(Weight::COMPUTES);
    let pool = place.write("pool.toml", POOL);
    let pool = pool.to_str().unwrap();
    let simulated = place.plimsoll(&["simulate", pool, "--replications", "2", "--json"]);
    let names = registered(&simulated.json());
    // A policy's own keys are what it has no interval of, or figures.
    assert!(names.contains("instance_hours") && names.contains("slo_violated_s"), "{names:?}");
    let tune = ["tune", pool, "--policy", "eager", "--vary", "upper=60,80", "--json"];
    registered(&place.plimsoll(&[&tune[..], &["--replications", "2"]].concat()).json());
    let clusters = place.write("clusters.toml", CLUSTERS);
    let clusters = ["cache", "simulate", clusters.to_str().unwrap(), "--seeds", "2", "--json"];
    let names = registered(&place.plimsoll(&clusters).ended_with(0).json());
    assert!(names.contains("miss_ratio"), "{names:?}");
    // Of 200 requests there is no p99: not of the cells, and none with an interval.
    assert!(!names.contains("response_p99_ms"), "{names:?}");
}

#[test]
fn a_percentile_of_a_replication_needs_ten_beyond_it() {
    let place = Place::weighing(Weight::COMPUTES);
    let pool = place.write("pool.toml", POOL);
    let pool = pool.to_str().unwrap();
    // Of 800 requests eight lie beyond a p99.
    let few = ["--set", "load.schedule=400/m for 2m", "--set", "load.arrivals=even"];
    let simulate = ["simulate", pool, "--replications", "2", "--only", "always", "--json"];
    let result = place.plimsoll(&[&simulate[..], &few].concat()).json();
    let policy = &result["policies"][0];
    assert!(policy["response_p99_us"].is_null(), "{policy}");
    assert!(policy["ci95"].get("response_p99_us").is_none(), "{policy}");
    assert!(policy["ci95"]["response_mean_us"].is_array(), "{policy}");
    // The verdict is given all the same, and says so.
    let note = policy["slo"][0]["note"].as_str().unwrap_or_default();
    assert_eq!(note, "fewer than 10 requests lie beyond it", "{policy}");
    // A search is told that its objective is none.
    let tune = ["tune", pool, "--policy", "eager", "--vary", "upper=60,80", "--minimise", "p99"];
    let more = ["--replications", "2", "--json"];
    let result = place.plimsoll(&[&tune[..], &few, &more].concat()).json();
    assert!(result["finalists"][0]["objective"].is_null(), "{result}");
    assert!(result["warnings"].to_string().contains("response_p99_us is not stated"), "{result}");
}

#[test]
fn loads_are_compared_by_registered_figures() {
    let place = Place::new();
    let target = place.calm();
    let url = target.url();
    let load = ["load", &url, "--quiet", "--json", "--rate", "40/s", "--for", "1s"];
    let more = |name| ["--repeat", "2", "--name", name];
    let group = place.plimsoll(&[&load[..], &more("a")].concat()).ran().json();
    for (name, of) in group["figures"].as_object().unwrap() {
        let figure = figure::named(name).unwrap_or_else(|| panic!("the registry has no {name}"));
        assert_ne!(figure.better, Better::Neither, "{name} is compared");
        assert!(of.get("ci95").is_some(), "{of}");
    }
    place.plimsoll(&[&load[..], &more("b")].concat()).ran();
    place.runs("runs").iter().for_each(|run| say_valid(run, &[]));
    let done = place.plimsoll(&["compare", "a", "b", "--tolerance", "99%", "--json"]);
    for row in done.json()["figures"].as_array().unwrap() {
        let label = row["figure"].as_str().unwrap().replace('_', " ");
        assert!(figure::ALL.iter().any(|figure| figure.label == label), "{row}");
    }
}
