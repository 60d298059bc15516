//! The original's order, against answers that the original gave.

use std::sync::Arc;

use plimsoll_shoal::geo::Spot;
use plimsoll_shoal::heartbeat::{Echo, Kind, Number, Upstream};
use plimsoll_shoal::order::{Menu, Weighed, Weighing, shoal_order};
use plimsoll_shoal::registry::{Cache, State};
use plimsoll_testing::shared;
use serde_json::Value;

use crate::members::{beat, cache, squids};

/// Where the clients of the record are: the first two at places of caches, the third by its costs.
const CLIENTS: [(&str, f64, f64); 3] = [
    ("128.142.200.1", 46.2296, 6.0526),
    ("142.104.200.1", 48.4265, -123.362),
    ("8.8.8.8", 37.422, -122.085),
];

fn entries(body: &Value) -> Vec<&Value> {
    let body = body.as_object().unwrap();
    (0..body.len()).map(|at| &body[&at.to_string()]).collect()
}

/// A cache as an answer tells it, without its load.
fn told(number: u32, entry: &Value) -> Arc<Cache> {
    let mut beat = beat(number);
    beat.hostname = entry["hostname"].as_str().unwrap().into();
    beat.max_load = Some(Echo { value: 1.0, text: "the original does not weigh it".into() });
    beat.kind = match entry["cache_type"].as_str() {
        Some("varnish") => Kind::Varnish,
        _ => Kind::Squid,
    };
    beat.upstream = match entry["upstream"].as_str() {
        Some("cvmfs") => Upstream::Cvmfs,
        Some("frontier") => Upstream::Frontier,
        _ => Upstream::Both,
    };
    let geo = &entry["geo_data"];
    let place = (geo["latitude"].as_f64().unwrap(), geo["longitude"].as_f64().unwrap());
    let cache = cache(&beat, number, Some(place));
    cache.set_state(if entry["verified"] == true { State::Verified } else { State::Unverified });
    cache
}

#[test]
fn recorded_answers_have_these_costs_to_the_last_bit() {
    let test = "recorded_answers_have_these_costs_to_the_last_bit";
    let file = "reference/shoal-fixtures/server_responses.json";
    let Some(file) = shared(test, file) else { return };
    let record: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let all = record.iter().find(|answer| answer["path"] == "/all").unwrap();
    let caches: Vec<_> =
        (0..).zip(entries(&all["body_json"])).map(|(number, entry)| told(number, entry)).collect();
    let mut compared = 0;
    for answer in &record {
        let path = answer["path"].as_str().unwrap();
        let client = CLIENTS.iter().find(|client| answer["client_ip"] == client.0);
        let menu = match path.split(['/', '?']).nth(1) {
            Some("nearest" | "nearestverified") => Menu::Squid,
            Some("nearestcvmfs") => Menu::Cvmfs,
            Some("nearestconditions") => Menu::Conditions,
            _ => continue,
        };
        let (Some(&(_, latitude, longitude)), true) = (client, answer["body_json"].is_object())
        else {
            continue;
        };
        let spot = Spot { latitude, longitude, country: None };
        let expected = entries(&answer["body_json"]);
        let entry_of =
            |cache: &Cache| expected.iter().find(|entry| entry["hostname"] == *cache.hostname());
        for cache in &caches {
            if let Some(entry) = entry_of(cache) {
                cache.set_load(Number::Float(entry["load"].as_f64().unwrap()));
            }
        }
        let same = |cache: &Cache| entry_of(cache).is_some_and(|entry| entry["local"] == true);
        let weighing = Weighing::default();
        let count = expected.len();
        let found = shoal_order(caches.iter(), spot, menu, count, &weighing, same);
        assert_eq!(found.len(), count, "{path}");
        for (Weighed { cache, cost, local }, entry) in found.iter().zip(expected) {
            assert_eq!(entry["hostname"], *cache.hostname(), "{path}");
            let recorded = entry["distance"].as_f64().unwrap();
            assert_eq!(cost.to_bits(), recorded.to_bits(), "{cost} is not {recorded}: {path}");
            assert_eq!(*local, entry["local"] == true);
            compared += 1;
        }
    }
    assert!(compared > 80, "{compared} entries");
}

#[test]
fn ties_are_in_joining_order_and_the_unverified_only_at_home() {
    let caches = squids([(10.0, 10.0); 6]);
    for (cache, state) in caches.iter().zip([
        State::Verified,
        State::Unverified,
        State::Failing,
        State::Banned,
        State::Drained,
        State::Verified,
    ]) {
        cache.set_state(state);
    }
    let spot = Spot { latitude: 10.0, longitude: 10.0, country: None };
    let order = |home: bool| {
        let weighing = Weighing::default();
        let found = shoal_order(caches.iter(), spot, Menu::All, 9, &weighing, |_| home);
        found.iter().map(|w| (w.cache.number, w.local)).collect::<Vec<_>>()
    };
    assert_eq!(order(false), [(0, false), (5, false)]);
    assert_eq!(order(true), [(0, true), (1, true), (2, true), (5, true)]);
    caches[5].end();
    assert_eq!(order(false), [(0, false)]);
}
