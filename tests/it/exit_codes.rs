//! The exit codes (docs/exit-codes.md), but 0 and 5, which [`crate::timed`] has.

use crate::place::Place;
use plimsoll_testing::Weight;
use serde_json::Value;

#[test]
fn an_slo_that_does_not_hold() {
    let place = Place::new();
    let target = place.calm();
    let done = place.load(&[
        &target.url(),
        "--rate",
        "20/s",
        "--for",
        "2s",
        "--json",
        "--slo",
        "p50<1ms, errors<1%",
    ]);
    let summary = done.json();
    let pass = |clause: usize| &summary["slo"][clause]["pass"];
    // However late the requests were sent: an answer takes 20 ms.
    done.ended_with(3);
    assert_eq!((pass(0), pass(1)), (&Value::Bool(false), &Value::Bool(true)), "{summary}");
    assert!(summary["slo"][0]["value"].as_f64().unwrap() >= 20_000.0, "{summary}");
}

#[test]
fn failed_requests_rank_slower_than_every_bound() {
    let place = Place::new();
    let target =
        place.target(&["--service-time", "const:20ms", "--workers", "1000", "--errors", "30%"]);
    let done =
        place.load(&[&target.url(), "--rate", "50/s", "--for", "2s", "--json", "--slo", "p90<1h"]);
    let summary = done.json();
    done.ended_with(3);
    assert_eq!(
        (&summary["slo"][0]["value"], &summary["slo"][0]["pass"]),
        (&Value::Null, &Value::Bool(false)),
        "{summary}"
    );
    assert!(summary["response_us"]["p90"].is_null() || summary["response_us"]["p90"].is_number());
}

#[test]
fn a_stop_rule_ends_with_4_whatever_the_slo_says() {
    let place = Place::new();
    let target = place.target(&["--errors", "100%"]);
    let done = place.load(&[
        &target.url(),
        "--rate",
        "50/s",
        "--for",
        "30s",
        "--json",
        "--stop-when",
        "errors>50% for 2s",
        "--slo",
        "errors<1%",
    ]);
    let summary = done.ended_with(4).json();
    assert_eq!(summary["run"]["ended"], "stopped", "{summary}");
    let duration = summary["duration_s"].as_f64().unwrap();
    assert!((2.0..20.0).contains(&duration), "{summary}");
    let warnings = summary["warnings"].to_string();
    assert!(warnings.contains("stopped: errors>50% for 2s held after "), "{warnings}");
    crate::json::assert_sums(&summary);
}

/// A server that refuses everything breaks its SLO, however late the generator was: the exit code
/// is not that of a run that is not valid.
#[test]
fn a_server_that_only_refuses_ends_with_3_from_a_busy_generator_too() {
    let place = Place::new();
    let target = place.target(&["--errors", "100%"]);
    let url = target.url();
    for pacing in ["precise", "thrifty"] {
        let load = [&url, "--rate", "2k/s", "--for", "2s", "--pacing", pacing, "--json"];
        let done = place.plimsoll(&[&["load"], &load[..], &["--slo", "errors<1%"]].concat());
        let summary = done.ended_with(3).json();
        assert_eq!(summary["slo"][0]["pass"], false, "{summary}");
        assert_eq!(summary["succeeded"], 0, "{summary}");
        crate::json::assert_sums(&summary);
    }
}

#[test]
fn no_answer_at_all_ends_with_4() {
    let place = Place::new();
    // Answers nothing, but takes connections.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    let done = place.load(&[
        &url,
        "--rate",
        "10/s",
        "--for",
        "1s",
        "--timeout",
        "300ms",
        "--slo",
        "p50<1s",
        "--json",
    ]);
    let summary = done.ended_with(4).json();
    assert_eq!(summary["errors"]["timeout"], 10, "{summary}");
    assert_eq!(summary["run"]["ended"], "complete");
}

#[test]
fn a_wrong_plan_counts_before_all() {
    let place = Place::weighing(Weight::WAITS);
    // Both the unit is wrong (2) and nobody listens (4).
    let arguments = ["http://127.0.0.1:1/", "--rate", "5", "--for", "1s", "--slo", "p50<1us"];
    place.load(&arguments).ended_with(2);
}

#[test]
fn wrong_use_of_the_target() {
    let place = Place::weighing(Weight::WAITS);
    let cases: [(&[&str], &[&str]); 7] = [
        (&["--service-time", "exp:5"], &["--service-time: ", "`5`", "ms"]),
        (&["--workers", "0"], &["--workers: ", "1 worker or more"]),
        (&["--errors", "120%"], &["--errors: "]),
        (&["--stall", "1s:2s"], &["--stall: ", "5s:1s"]),
        (&["--listen", "nowhere"], &["--listen: ", "127.0.0.1:8080"]),
        (&["--body", "lots"], &["--body: "]),
        (&["--model", "missing.json"], &["missing.json", "No such file"]),
    ];
    for (arguments, parts) in cases {
        place.plimsoll(&[&["target"], arguments].concat()).ended_with(2).says(parts);
    }
    let burn = ["target", "--burn", "--stall", "5s:1s", "--service-time", "const:1ms"];
    place.plimsoll(&burn).ended_with(2).says(&["error: expected either burn or stall"]);
}
