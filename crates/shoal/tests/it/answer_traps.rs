//! The eight traps into which a successor of Shoal's server falls, a test for each.

use std::sync::Arc;

use plimsoll_shoal::answer::old::{OldEntry, entries, old_distance};
use plimsoll_shoal::answer::paths::{DEFAULT_COUNT, Route, route};
use plimsoll_shoal::geo::Place;
use plimsoll_shoal::order::Menu;
use plimsoll_shoal::registry::{Cache, State};
use serde_json::{Value, json};

use crate::support::beat::cache;
use crate::support::python::python;

fn place(latitude: f64, longitude: f64) -> Place {
    Place { latitude, longitude, city: Some("Zürich, \"ZH\"".into()), ..Place::default() }
}

/// Three caches that differ in what an agent may leave out.
fn three() -> [Arc<Cache>; 3] {
    let full = json!({
        "max_load": 1_125_000, "private_ip": "10.1.2.3", "external_ip": "192.0.2.9", "load": 0.5,
    });
    [
        cache(0, Some(place(47.0, 8.5)), &full),
        cache(1, None, &json!({"load": 7, "cache_type": "varnish", "upstream": "cvmfs"})),
        cache(2, Some(place(-33.9, 151.2)), &json!({"cache_port": "3129", "max_load": "250000"})),
    ]
}

/// The answer with these caches, of which the first is local.
fn nearest(caches: &[Arc<Cache>]) -> String {
    let mut out = Vec::new();
    let items = caches.iter().enumerate().map(|(rank, cache)| OldEntry {
        cache,
        local: rank == 0,
        distance: Some(old_distance(Some(100.0), cache.load().value())),
    });
    entries(&mut out, items);
    String::from_utf8(out).unwrap()
}

/// What the real client's expressions find in a body: the values of each key, as text.
fn found_by_the_client(test: &str, body: &str) -> Option<Value> {
    const SCRIPT: &str = r#"
import json, re, sys
body = sys.stdin.read()
keys = ["squid_port", "hostname", "public_ip", "private_ip", "local"]
found = {key: re.findall(r'"%s": ([^,]+)[,|}]' % key, body) for key in keys}
found["load"] = re.findall(r'"load": ([^,}]+)', body)
print(json.dumps(found))
"#;
    python(test, SCRIPT, body.as_bytes()).map(|found| serde_json::from_str(&found).unwrap())
}

#[test]
fn trap_1_json_spacing_is_part_of_the_format() {
    let body = nearest(&three());
    // As Python writes it again: the same bytes.
    let test = "trap_1_json_spacing_is_part_of_the_format";
    let script = "import json, sys\nprint(json.dumps(json.load(sys.stdin)), end='')";
    if let Some(again) = python(test, script, body.as_bytes()) {
        assert_eq!(again, body);
    }
    assert!(body.is_ascii() && body.contains(r#""city": "Z\u00fcrich, \"ZH\"""#), "{body}");
    let Some(found) = found_by_the_client(test, &body) else { return };
    let expected = json!({
        "squid_port": ["3128", "3128", "\"3129\""],
        "hostname": ["\"squid0.example\"", "\"squid1.example\"", "\"squid2.example\""],
        "public_ip": ["\"192.0.2.0\"", "\"192.0.2.1\"", "\"192.0.2.2\""],
        "private_ip": ["\"10.1.2.3\"", "null", "null"],
        "local": ["true", "null", "null"],
        "load": ["0.5", "7", "0.0"],
    });
    assert_eq!(found, expected);
    // The check finds nothing in compact JSON: it can fail.
    let compact = body.replace(": ", ":").replace(", ", ",");
    assert_eq!(found_by_the_client(test, &compact).unwrap()["load"], json!([]));
}

#[test]
fn trap_2_every_key_is_in_every_entry_once_and_no_key_that_is_read_is_last() {
    let geo = [
        "city",
        "region_code",
        "time_zone",
        "metro_code",
        "latitude",
        "longitude",
        "postal_code",
        "country_code",
        "country_name",
        "continent",
    ];
    // The order of a recorded entry.
    let (before, after) = (
        [
            "created",
            "last_active",
            "hostname",
            "squid_port",
            "public_ip",
            "private_ip",
            "external_ip",
            "geo_data",
        ],
        [
            "load",
            "verified",
            "global_access",
            "max_load",
            "local",
            "cache_type",
            "upstream",
            "distance",
        ],
    );
    for (rank, cache) in three().iter().enumerate() {
        let body = nearest(std::slice::from_ref(cache));
        // Every second part between quotes is a string; a key is one with a colon behind. (The
        // quotes inside of a city's name come in pairs.)
        let parts: Vec<&str> = body.split('"').collect();
        let is_key = |two: &&[&str]| two.len() == 2 && two[1].starts_with(": ");
        let body_keys: Vec<&str> = parts[1..].chunks(2).filter(is_key).map(|two| two[0]).collect();
        let expected: Vec<&str> = ["0"].into_iter().chain(before).chain(geo).chain(after).collect();
        assert_eq!(body_keys, expected, "cache {rank}: {body}");
    }
    // And in `/all`, where there is no distance, the last key is still one that nobody reads.
    let mut out = Vec::new();
    let all = three();
    entries(&mut out, all.iter().map(|cache| OldEntry { cache, local: false, distance: None }));
    let body = String::from_utf8(out).unwrap();
    assert_eq!(body.matches("\"upstream\": \"both\"}").count(), 2);
    assert!(body.ends_with("\"upstream\": \"both\"}}") && !body.contains("distance"), "{body}");
}

#[test]
fn trap_3_local_is_true_or_null_and_never_false() {
    let body = nearest(&three());
    assert_eq!(body.matches("\"local\": true, ").count(), 1);
    assert_eq!(body.matches("\"local\": null, ").count(), 2);
    assert_eq!(body.matches("\"local\": ").count(), 3);
}

#[test]
fn trap_4_nothing_is_null() {
    assert_eq!(nearest(&[]), "null");
    // With status 200: a count of 0 is a path like any other.
    assert_eq!(route("GET", "/nearest/0"), Route::Nearest { menu: Menu::Squid, count: 0 });
}

#[test]
fn trap_5_the_port_is_answered_as_squid_port_whatever_the_agent_called_it() {
    let current = cache(0, None, &json!({"cache_port": 3128}));
    let old = cache(0, None, &json!({"cache_port": null, "squid_port": 3128}));
    for cache in [current, old] {
        let body = nearest(&[cache]);
        assert!(body.contains("\"squid_port\": 3128, ") && !body.contains("cache_port"), "{body}");
    }
}

#[test]
fn trap_6_port_and_max_load_are_echoed_as_they_came() {
    for (sent, answered) in [
        (json!({"cache_port": 3128, "max_load": 122_000}), ["3128", "122000"]),
        (json!({"cache_port": "3128", "max_load": "250000"}), ["\"3128\"", "\"250000\""]),
        (json!({"cache_port": "3128", "max_load": 1.5e6}), ["\"3128\"", "1500000.0"]),
        // Where nothing was said: the original's own setting.
        (json!({"cache_port": 3128}), ["3128", "122000"]),
    ] {
        let body = nearest(&[cache(0, None, &sent)]);
        assert!(body.contains(&format!("\"squid_port\": {}, ", answered[0])), "{body}");
        assert!(body.contains(&format!("\"max_load\": {}, ", answered[1])), "{body}");
    }
    // And the load: an integer stays one.
    let loads = [json!(7), json!(7.0), json!(0.087_890_625), json!(1000)];
    for (load, text) in loads.into_iter().zip(["7", "7.0", "0.087890625", "1000"]) {
        let body = nearest(&[cache(0, None, &json!({ "load": load }))]);
        assert!(body.contains(&format!("\"load\": {text}, ")), "{body}");
    }
}

#[test]
fn trap_7_distance_is_a_cost_without_a_unit() {
    let bits = |x: f64| x.to_bits();
    // A recorded one: 30.25 KiB/s at no distance, though that cache can send 250,000.
    assert_eq!(bits(old_distance(Some(0.0), 30.25)), bits(0.000_123_975_409_836_065_58));
    // Half the way around the Earth is the whole of the weight of distance, ½, and what cannot be
    // located is as far.
    assert!((old_distance(Some(20_037.08), 0.0) - 0.5).abs() < 1e-7);
    assert_eq!(bits(old_distance(None, 61_000.0)), bits(0.75));
    // Kilometres count to the hundredth, to the even one from the very middle.
    assert_eq!(bits(old_distance(Some(1_229.354_9), 0.0)), bits(old_distance(Some(1_229.35), 0.0)));
    assert_eq!(bits(old_distance(Some(0.125), 0.0)), bits(old_distance(Some(0.12), 0.0)));
    assert_eq!(bits(old_distance(Some(0.375), 0.0)), bits(old_distance(Some(0.38), 0.0)));
    // 2.675 is a little less than that.
    assert_eq!(bits(old_distance(Some(2.675), 0.0)), bits(old_distance(Some(2.67), 0.0)));
}

#[test]
fn trap_8_the_count_is_in_the_path_and_the_query_says_nothing() {
    let nearest = |menu, count| Route::Nearest { menu, count };
    for path in ["/nearest/7/", "/nearest/7"] {
        assert_eq!(route("GET", path), nearest(Menu::Squid, 7));
    }
    assert_eq!(route("GET", "/nearestcvmfs/7/"), nearest(Menu::Cvmfs, 7));
    assert_eq!(route("GET", "/nearest?count=1"), nearest(Menu::Squid, DEFAULT_COUNT));
}

#[test]
fn verified_says_whether_the_cache_answered_with_the_object() {
    let cache = cache(0, None, &json!({"verified": true}));
    for state in [State::Unverified, State::Failing, State::Drained, State::Banned] {
        cache.set_state(state);
        let body = nearest(std::slice::from_ref(&cache));
        assert!(body.contains("\"verified\": false, \"global_access\": false, "), "{body}");
    }
    cache.set_state(State::Verified);
    let body = nearest(std::slice::from_ref(&cache));
    assert!(body.contains("\"verified\": true, \"global_access\": true, "), "{body}");
}

#[test]
fn what_cannot_be_located_has_every_key_of_geo_data_with_null() {
    let body = nearest(&[cache(0, None, &json!({}))]);
    let json: Value = serde_json::from_str(&body).unwrap();
    let geo = json["0"]["geo_data"].as_object().unwrap();
    assert_eq!(geo.len(), 10);
    assert!(geo.values().all(Value::is_null), "{body}");
}

#[test]
fn a_secret_is_in_no_answer() {
    let cache = cache(0, None, &json!({"uuid": "d03b93b6e4b811f19f970e468af6f828"}));
    assert!(!nearest(&[cache]).contains("d03b93b6"));
}
