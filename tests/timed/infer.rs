//! The load that a few response times tell, by a search as calibration.

use crate::place::Place;
use plimsoll_testing::Weight;
use serde_json::Value;

#[test]
fn a_search_serves_as_calibration_and_a_few_probes_tell_the_load_or_decline() {
    let place = Place::weighing(Weight::ALONE);
    let target = place.target(&["--service-time", "exp:4ms", "--workers", "2"]);
    let url = target.url();
    // Nothing is offered beyond 200/s: a short search.
    let search = ["--slo", "p90<40ms", "--start", "25/s", "--max-rate", "200/s"];
    place.plimsoll(&[&["capacity", &url, "--quiet"], &search[..]].concat()).ended_with(0);
    let run = place.run();
    let run = run.to_str().unwrap();
    let few = ["--probes", "200", "--rate", "100/s", "--max-time", "10s", "--json"];
    let done = place.plimsoll(&[&["infer", run, "--probe", &url], &few[..]].concat());
    let result = done.json();
    assert_eq!(result["schema"], 1, "{result}");
    assert_eq!(result["capacity_per_s"], 200.0);
    assert_eq!(result["probe_rate_per_s"], 100.0);
    crate::figures::assert_rates(&result);
    assert!(run.ends_with(result["calibration"].as_str().unwrap()));
    assert!(result["probes"].as_u64().unwrap() <= 200, "{result}");
    let said = result["warnings"].to_string();
    assert!(said.contains("a load of their own"), "{said}");
    match done.code() {
        Some(0) => {
            let load = result["load_per_s"].as_f64().unwrap();
            let (low, high) = (number(&result["ci95"][0]), number(&result["ci95"][1]));
            assert!(low <= load && load <= high && result["declined"].is_null(), "{result}");
        }
        Some(4) => {
            assert!(result["load_per_s"].is_null(), "{result}");
            assert!(result["declined"]["reason"].is_string(), "{result}");
        }
        code => panic!("{code:?}: {result}"),
    }

    let other = format!("{url}other");
    let done = place.plimsoll(&[&["infer", run, "--probe", &other], &few[..]].concat());
    let said = done.json()["warnings"].to_string();
    assert!(said.contains("the same request to the same server"), "{said}");

    let gone = ["infer", run, "--probe", "http://127.0.0.1:9/"];
    place.plimsoll(&gone).ended_with(4).says(&["connect to 127.0.0.1:9"]);

    // The same run with most of its windows gone.
    let file = place.run().join("artifacts/capacity.json");
    let mut kept: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    kept["windows"].as_array_mut().unwrap().truncate(2);
    std::fs::write(&file, kept.to_string()).unwrap();
    let done = place.plimsoll(&["infer", run, "--probe", &url]).ended_with(2);
    done.says(&["steady windows", "--calibrate"]);
    std::fs::write(&file, "{\"schema\": 1}").unwrap();
    let done = place.plimsoll(&["infer", run, "--probe", &url]).ended_with(2);
    done.says(&["the result of a search", "capacity.json"]);
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}
