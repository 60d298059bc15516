//! `--check` says what a plan would do, and sends nothing.

use crate::place::Place;
use crate::recording::Recording;
use plimsoll_testing::Weight;

#[test]
fn a_check_tells_and_sends_nothing() {
    let place = Place::weighing(Weight::WAITS);
    let server = Recording::start();
    let url = server.url();
    let arguments = [
        &url,
        "--schedule",
        "100/s for 10s, 100/s..300/s in 10s",
        "--check",
        "--json",
        "--threads",
        "1",
        "--connections",
        "10..50",
    ];
    let check = place.load(&arguments).ended_with(0).json();
    assert_eq!(check["requests"], 3000, "{check}");
    assert_eq!(check["duration_s"], 20.0);
    assert_eq!(check["peak_per_s"], 300.0);
    assert_eq!(check["connections"], serde_json::json!({ "start": 10, "most": 50 }));
    assert!((51..200).contains(&check["descriptors"].as_u64().unwrap()), "{check}");

    // tidy: allow(waits, a check sends nothing)
    let text = place.load(&[&url, "--rate", "2000/s", "--for", "10s", "--check"]).ended_with(0);
    assert!(text.out.contains("20,000 in 10 s, 2,000/s at the peak"), "{}", text.out);
    // tidy: allow(waits, a check sends nothing)
    let closed = place.load(&[&url, "--users", "5", "--for", "10s", "--check"]).ended_with(0);
    assert!(closed.out.contains("as many as the target answers, for 10 s"), "{}", closed.out);

    // A day in 144 s: the total is that of the compressed time.
    let day = ["--profile", "clarknet-day", "--check", "--json"];
    let whole = place.load(&[&[url.as_str()], &day[..]].concat()).ended_with(0).json();
    assert_eq!(whole["duration_s"], 86_400.0);
    let fast = [&[url.as_str(), "--speed", "600"], &day[..]].concat();
    let fast = place.load(&fast).ended_with(0).json();
    assert_eq!(fast["duration_s"], 144.0);
    assert_eq!(fast["peak_per_s"], whole["peak_per_s"]);
    let total = |check: &serde_json::Value| check["requests"].as_f64().unwrap();
    assert!((total(&whole) / total(&fast) / 600.0 - 1.0).abs() < 1e-3);

    assert!(server.asked().is_empty(), "a check sends nothing");
    assert!(place.runs("runs").is_empty(), "a check leaves no run");
    // Nor does it need the target to be there.
    place.load(&["http://127.0.0.1:1/", "--rate", "5/s", "--for", "1s", "--check"]).ended_with(0);
}

#[test]
fn a_check_says_what_was_filled_in() {
    let place = Place::weighing(Weight::WAITS);
    place.write("day.csv", "time_s,rate\n0,100\n60,10\n120,100\n180,90\n");
    let arguments =
        ["http://127.0.0.1:1/", "--trace", "day.csv", "--fill-drops", "25%", "--check", "--json"];
    let check = place.load(&arguments).ended_with(0).json();
    let notes = check["notes"].to_string();
    assert!(notes.contains("day.csv: 1 of 4 intervals were drops"), "{notes}");
    assert_eq!(check["requests"], 60 * (100 + 100 + 100 + 90));
}
