//! The rate that a search finds, and how long its windows are.

use crate::capacity::search;
use crate::place::Place;
use plimsoll_testing::Weight;
use serde_json::Value;

#[test]
fn it_finds_the_capacity_of_a_queue_and_keeps_it_as_a_run() {
    let place = Place::weighing(Weight::ALONE);
    let target = place.target(&["--service-time", "exp:4ms", "--workers", "8"]);
    let url = target.url();
    let args = ["--slo", "p90<30ms", "--start", "250/s", "--precision", "15%"];
    let result = search(&place, &url, 0, &args);
    assert_eq!((&result["schema"], &result["ended"]), (&1.into(), &"found".into()), "{result}");
    // It is 1,914/s; a busy machine makes it less.
    let estimate = result["estimate_per_s"].as_f64().unwrap();
    assert!((1200.0..2300.0).contains(&estimate), "{estimate}");
    crate::figures::assert_rates(&result);
    let (low, high) = (result["ci95"][0].as_f64().unwrap(), result["ci95"][1].as_f64().unwrap());
    assert!(low < estimate && estimate < high, "{result}");
    let windows = result["windows"].as_array().unwrap();
    let figure = |w: &Value, name: &str| w[name].as_f64().unwrap();
    let due: f64 = windows.iter().map(|w| figure(w, "offered_per_s") * figure(w, "seconds")).sum();
    let requests = figure(&result, "requests");
    assert!((requests / due - 1.0).abs() < 0.05, "{requests} requests, {due} expected");
    assert_eq!(windows[0]["percentiles_us"].as_object().unwrap().len(), 99);
    assert!(result["rtt_us"]["baseline"].as_f64().unwrap() > 0.0, "{result}");

    let run = place.run();
    let lines = std::fs::read_to_string(run.join("artifacts/windows.jsonl")).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(&lines, windows);
    let told = |window: Value| {
        let fields = ["phase", "verdict", "errors"];
        (fields.map(|name| window[name].clone()), window["response_us"]["count"].clone())
    };
    let opened = plimsoll_runs::Run::open(&run).unwrap();
    let stored = opened.windows().unwrap();
    let stored = stored.iter().map(|row| told(serde_json::to_value(row).unwrap()));
    assert!(stored.eq(lines.into_iter().map(told)), "the table says what the lines say");
    let figures = opened.figures().unwrap();
    for row in &figures {
        assert!(plimsoll_stats::figure::named(&row.name).is_some(), "{row:?}");
    }
    let found = figures.iter().find(|row| row.name == "estimate_per_s").unwrap();
    assert_eq!((found.value, found.low, found.high), (estimate, Some(low), Some(high)));
    let kept = std::fs::read_to_string(run.join("artifacts/capacity.json")).unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&kept).unwrap(), result);
}

#[test]
fn the_ladder_climbs_in_windows_of_its_own_length() {
    let place = Place::weighing(Weight::ALONE);
    let target = place.target(&["--service-time", "const:2ms", "--workers", "1"]);
    let url = target.url();
    let args = ["--search", "ladder", "--slo", "p90<20ms", "--start", "100/s", "--window", "1s"];
    let result = search(&place, &url, 0, &args);
    assert_eq!(result["method"], "ladder");
    assert!(result["ci95"].is_null());
    let windows = result["windows"].as_array().unwrap();
    // What a busy machine spoiled is repeated.
    let counted = windows.iter().filter(|window| window["verdict"] != "discarded");
    let rates: Vec<f64> = counted.map(|w| w["offered_per_s"].as_f64().unwrap()).collect();
    assert_eq!(&rates[..3], &[100.0, 200.0, 400.0], "{rates:?}");
    // A window begins when the search has decided and ends with a slice of 250 ms, the nearest.
    let off = |window: &serde_json::Value| (window["seconds"].as_f64().unwrap() - 1.0).abs();
    assert!(windows.iter().all(|window| off(window) <= 0.125), "{result}");
}

#[test]
fn the_highest_rate_allowed_is_what_a_fast_server_holds() {
    let place = Place::weighing(Weight::ALONE);
    let target = place.target(&["--service-time", "exp:4ms"]);
    let most = ["--slo", "p90<100ms", "--max-rate", "50/s", "--start", "20/s"];
    let result = search(&place, &target.url(), 0, &most);
    assert_eq!(result["estimate_per_s"], 50.0);
    assert!(!result["warnings"].as_array().unwrap().is_empty());
}

#[test]
fn a_ladder_from_several_rates_finds_their_median() {
    let place = Place::weighing(Weight::ALONE);
    let target = place.target(&["--service-time", "const:2ms", "--workers", "1"]);
    let url = target.url();
    let args =
        ["--search", "ladder", "--slo", "p90<20ms", "--first", "100,150/s", "--window", "1s"];
    let result = search(&place, &url, 0, &args);
    let windows = result["windows"].as_array().unwrap();
    let rates: Vec<f64> = windows.iter().map(|w| w["offered_per_s"].as_f64().unwrap()).collect();
    assert!(rates.contains(&100.0) && rates.contains(&150.0), "{rates:?}");
    let notes = result["warnings"].as_array().unwrap().iter().map(|note| note.as_str().unwrap());
    let found = |rate: &str| {
        let note = notes.clone().find(|note| note.starts_with(&format!("from {rate}/s ")));
        let text = note.unwrap_or_else(|| panic!("{rate}: {result}"));
        text.split_whitespace().nth(2).unwrap().trim_end_matches("/s").parse::<f64>().unwrap()
    };
    let median = f64::midpoint(found("100"), found("150"));
    assert!((result["estimate_per_s"].as_f64().unwrap() - median).abs() < 0.2, "{result}");
}

#[test]
fn what_is_held_is_held_for_as_long_as_asked() {
    let place = Place::weighing(Weight::ALONE);
    let target = place.target(&["--service-time", "exp:4ms", "--workers", "8"]);
    let url = target.url();
    let args = ["--slo", "p90<150ms", "--start", "100/s", "--max-rate", "200/s", "--sustain", "3s"];
    let result = search(&place, &url, 0, &args);
    let held = &result["sustained"];
    assert_eq!((&held["sustained_per_s"], &held["falls"]), (&200.0.into(), &0.into()), "{held}");
    assert!(held["exhausted_after_s"].is_null(), "{held}");
    let windows = result["windows"].as_array().unwrap();
    let held_windows = windows.iter().filter(|w| w["phase"] == "hold");
    // The first hold is the search's own.
    let hold = held_windows.skip(1).filter(|w| w["verdict"] != "discarded");
    let seconds: f64 = hold.map(|w| w["seconds"].as_f64().unwrap()).sum();
    assert!(seconds >= 3.0 && held["held_s"].as_f64() == Some(seconds), "{result}");
}

#[test]
fn a_server_that_goes_away_ends_with_4_and_keeps_what_was_seen() {
    let place = Place::weighing(Weight::ALONE);
    let target = place.target(&["--service-time", "exp:4ms", "--for", "4s"]);
    let args = ["--slo", "p90<100ms", "--json", "--start", "20/s"];
    let done = place.plimsoll(&[&["capacity", target.url().as_str()], &args[..]].concat());
    let result = done.ended_with(4).json();
    assert_eq!(result["ended"], "target_lost", "{result}");
    assert!(result["windows"].as_array().unwrap().len() >= 4);
}
