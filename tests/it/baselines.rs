//! Baselines: what replications came to, kept in a small file that later runs are held against.

use crate::comparing::say_valid;
use crate::place::Place;
use serde_json::Value;
use std::path::Path;

/// Replications of one load, kept in a folder; they are said to be valid, on a host that was quiet.
fn runs(place: &Place, url: &str, out: &str, repeat: &str) {
    // tidy: allow(waits, medians of some replications)
    let load = [url, "--rate", "40/s", "--for", "3s", "--repeat", repeat, "--out", out];
    place.load(&load).ran();
    place.runs(out).iter().for_each(|run| quiet(run));
}

/// Makes a run's summary say that it is valid and that its host was quiet.
fn quiet(run: &Path) {
    say_valid(run, &[]);
    let file = run.join("summary.json");
    let mut summary: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    summary["host"]["steal_share"] = 0.0.into();
    summary["host"]["timer_late_us"]["p99"] = 100.0.into();
    std::fs::write(&file, summary.to_string()).unwrap();
}

#[test]
fn runs_are_held_against_a_baseline_that_is_small_and_sealed() {
    let place = Place::new();
    let calm = place.calm();
    let slow = place.target(&["--service-time", "const:60ms", "--workers", "1000"]);
    runs(&place, &calm.url(), "a", "3");
    runs(&place, &calm.url(), "b", "2");
    runs(&place, &slow.url(), "c", "2");
    let made = place.plimsoll(&["runs", "baseline", "a", "-o", "base.plim"]).ended_with(0);
    made.says(&["baseline: base.plim of 3 replications"]);
    assert!(std::fs::metadata(place.path("base.plim")).unwrap().len() < 200_000);
    let against = |side: &str, code: i32| {
        let compare = ["compare", "base.plim", side, "--tolerance", "60%", "--json"];
        place.plimsoll(&compare).ended_with(code).json()
    };
    let same = against("b", 0);
    assert_eq!((&same["worse"], &same["untold"]), (&false.into(), &Value::Null), "{same}");
    let worse = against("c", 3);
    assert!(worse["says"].as_str().unwrap().starts_with("B is worse: response p50"), "{worse}");
    // The same by the runs themselves.
    let direct = place.plimsoll(&["compare", "a", "c", "--tolerance", "60%", "--json"]);
    assert_eq!(direct.ended_with(3).json()["figures"], worse["figures"]);
    // Of one replication nothing can be told.
    let one = place.runs("c").remove(0);
    let alone = place.plimsoll(&["compare", "base.plim", one.to_str().unwrap()]).ended_with(0);
    alone.prints(&["It cannot be told whether B is worse: B has 1 replication"]);
    // Nobody has changed it.
    let text = std::fs::read_to_string(place.path("base.plim")).unwrap();
    place.write("changed.plim", text.replacen("\"seed\":", "\"seed\": ", 1));
    let changed = place.plimsoll(&["compare", "changed.plim", "b"]).ended_with(2);
    changed.says(&["changed.plim: it was changed after it was made"]);
}

#[test]
fn a_load_is_held_against_a_baseline_at_its_end() {
    let place = Place::new();
    let slow = place.target(&["--service-time", "const:60ms", "--workers", "1000"]);
    let calm = place.calm();
    runs(&place, &calm.url(), "a", "3");
    place.plimsoll(&["runs", "baseline", "a", "-o", "base.plim"]).ended_with(0);
    let url = slow.url();
    // tidy: allow(waits, medians of some replications)
    let load = ["load", &url, "--quiet", "--rate", "40/s", "--for", "3s", "--repeat", "2"];
    let against = ["--baseline", "base.plim", "--tolerance", "20%", "--json"];
    let done = place.plimsoll(&[&load[..], &against].concat());
    // What a noisy host makes of it is left open.
    let document = done.json();
    let baseline = &document["baseline"];
    let judged = baseline["figures"].as_array().unwrap().iter().filter(|row| row["judged"] == true);
    let p50 = judged.clone().find(|row| row["figure"] == "response_p50").unwrap();
    assert!(p50["b"].as_f64().unwrap() > p50["a"].as_f64().unwrap(), "{baseline}");
    let is_open = p50["open"].is_string();
    assert_eq!(baseline["worse"], !is_open, "{baseline}");
    assert_eq!(done.code(), Some(if is_open { 0 } else { 3 }), "{}", done.err);
    let missing = place.plimsoll(&[&load[..], &["--baseline", "none.plim"]].concat());
    missing.ended_with(4).says(&["read the baseline none.plim"]);
}
