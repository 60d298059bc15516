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
    let Some(result) = search(&place, &url, 0, &args) else { return };
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
    let Some(result) = search(&place, &url, 0, &args) else { return };
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
