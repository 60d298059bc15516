//! `plimsoll capacity`: two short searches, and every way to end that can be had in seconds.

use crate::place::{Place, test_name};
use plimsoll_testing::{Weight, not_judged};
use serde_json::Value;
use std::net::TcpListener;

/// A search's result, and that it ended with `code`; tried again where the machine was too busy,
/// and `None`, said so, where it stayed that.
pub(crate) fn search(place: &Place, url: &str, code: i32, args: &[&str]) -> Option<Value> {
    let done = place.again(|| place.plimsoll(&[&["capacity", url, "--json"], args].concat()));
    if done.code() == Some(5) && code != 5 {
        not_judged(&test_name(), "the machine is too busy to search for a capacity");
        return None;
    }
    Some(done.ended_with(code).json())
}

#[test]
fn a_server_slower_than_the_slo_ends_with_3() {
    let place = Place::new();
    let target = place.target(&["--service-time", "const:50ms"]);
    let args = ["--slo", "p90<10ms"];
    let Some(result) = search(&place, &target.url(), 3, &args) else { return };
    assert_eq!(result["ended"], "slo_unreachable");
    assert!(result["estimate_per_s"].is_null());
}

#[test]
fn a_server_that_answers_only_errors_ends_with_3() {
    let place = Place::new();
    let target = place.target(&["--errors", "100%"]);
    let args = ["--slo", "p90<100ms", "--start", "50/s"];
    let Some(result) = search(&place, &target.url(), 3, &args) else { return };
    assert_eq!(result["ended"], "slo_unreachable");
}

#[test]
fn a_server_that_goes_away_ends_with_4_and_keeps_what_was_seen() {
    let place = Place::new();
    // tidy: allow(waits, the target ends by itself in the midst of a search, or before)
    let target = place.target(&["--service-time", "exp:4ms", "--for", "4s"]);
    let args = ["--slo", "p90<100ms", "--json", "--start", "20/s"];
    let done = place.plimsoll(&[&["capacity", target.url().as_str()], &args[..]].concat());
    if done.code() == Some(5) {
        not_judged(&test_name(), "the machine is too busy to search for a capacity");
        return;
    }
    let result = done.ended_with(4).json();
    assert_eq!(result["ended"], "target_lost", "{result}");
    assert!(result["windows"].as_array().unwrap().len() >= 4);
}

/// It was there to be looked for, and refuses whatever comes after that.
#[test]
fn a_server_that_goes_away_before_its_first_answer_ends_with_4() {
    let place = Place::new();
    for method in ["ladder", "adaptive"] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let gone = std::thread::spawn(move || drop(listener.accept().unwrap()));
        let short = ["--window", "1s", "--start", "40/s"];
        let args = [&["capacity", &url, "--json", "--search", method], &short[..]].concat();
        let result = place.plimsoll(&args).ended_with(4).json();
        assert_eq!(result["ended"], "target_lost", "{method}: {result}");
        gone.join().unwrap();
    }
}

#[test]
fn a_server_that_is_not_there_ends_with_4() {
    let place = Place::weighing(Weight::WAITS);
    let done = place.plimsoll(&["capacity", "http://127.0.0.1:9/"]);
    done.ended_with(4);
}

#[test]
fn limits_end_it_with_what_is_known() {
    let place = Place::measuring();
    let target = place.target(&["--service-time", "exp:4ms"]);
    let url = target.url();
    let limit = ["--slo", "p90<30ms", "--max-time", "3s", "--start", "20/s"];
    let Some(result) = search(&place, &url, 4, &limit) else { return };
    assert_eq!(result["ended"], "budget");

    let most = ["--slo", "p90<100ms", "--max-rate", "50/s", "--start", "20/s"];
    let Some(result) = search(&place, &url, 0, &most) else { return };
    assert_eq!(result["estimate_per_s"], 50.0);
    assert!(!result["warnings"].as_array().unwrap().is_empty());
}

#[test]
fn wrong_use_says_what_is_wrong() {
    let place = Place::weighing(Weight::WAITS);
    let url = "http://127.0.0.1:9/";
    for (args, said) in [
        (vec!["--slo", "errors<1%"], "expected one percentile of the response time"),
        (vec!["--slo", "p90<1s,p99<2s"], "expected one percentile of the response time"),
        (vec!["--slo", "p90<20s"], "the timeout is 10 s"),
        (vec!["--search", "binary"], "adaptive or ladder"),
        (vec!["--precision", "90%"], "a share from 1% to 50%"),
        (vec!["--start", "0/s"], "a rate above zero"),
        (vec!["--search", "ladder", "--window", "10ms"], "1 s or more"),
    ] {
        let done = place.plimsoll(&[&["capacity", url], &args[..]].concat());
        let stderr = done.ended_with(2).err;
        assert!(stderr.contains(said), "{args:?}: {stderr}");
    }
}

#[test]
fn a_ladder_from_several_rates_finds_their_median() {
    let place = Place::measuring();
    let target = place.target(&["--service-time", "const:2ms", "--workers", "1"]);
    let url = target.url();
    let args =
        ["--search", "ladder", "--slo", "p90<20ms", "--first", "100,150/s", "--window", "1s"];
    let Some(result) = search(&place, &url, 0, &args) else { return };
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
    let place = Place::measuring();
    let target = place.target(&["--service-time", "exp:4ms", "--workers", "8"]);
    let url = target.url();
    let args = ["--slo", "p90<150ms", "--start", "100/s", "--max-rate", "200/s", "--sustain", "3s"];
    let Some(result) = search(&place, &url, 0, &args) else { return };
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
fn flags_of_the_other_method_are_refused() {
    let place = Place::weighing(Weight::WAITS);
    let search = |args: &[&str]| {
        place.plimsoll(&[&["capacity", "http://127.0.0.1:9/"], args].concat()).ended_with(2)
    };
    search(&["--first", "400/s"]).says(&["`first` goes with the method ladder"]);
    search(&["--search", "ladder", "--sustain", "1m"])
        .says(&["`sustain` goes with the method adaptive"]);
    search(&["--search", "ladder", "--first", "400,x"]).says(&["--first", "a rate"]);
}
