//! `plimsoll capacity`: two short searches, and every way to end that can be had in seconds.

use crate::place::Place;
use plimsoll_testing::Weight;
use serde_json::Value;
use std::net::TcpListener;

/// A search's result, and that it ended with `code`.
pub(crate) fn search(place: &Place, url: &str, code: i32, args: &[&str]) -> Value {
    let done = place.plimsoll(&[&["capacity", url, "--json"], args].concat());
    done.ended_with(code).json()
}

#[test]
fn a_server_slower_than_the_slo_ends_with_3() {
    let place = Place::new();
    let target = place.target(&["--service-time", "const:50ms"]);
    let args = ["--slo", "p90<10ms"];
    let result = search(&place, &target.url(), 3, &args);
    assert_eq!(result["ended"], "slo_unreachable");
    assert!(result["estimate_per_s"].is_null());
}

#[test]
fn a_server_that_answers_only_errors_ends_with_3() {
    let place = Place::new();
    let target = place.target(&["--errors", "100%"]);
    let args = ["--slo", "p90<100ms", "--start", "50/s"];
    let result = search(&place, &target.url(), 3, &args);
    assert_eq!(result["ended"], "slo_unreachable");
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
fn a_limit_of_time_ends_it_with_what_is_known() {
    let place = Place::new();
    let target = place.target(&["--service-time", "exp:4ms"]);
    let url = target.url();
    let limit = ["--slo", "p90<30ms", "--max-time", "3s", "--start", "20/s"];
    let result = search(&place, &url, 4, &limit);
    assert_eq!(result["ended"], "budget");
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
        (vec!["--search", "ladder", "--window", "1s", "--slo", "p90<1s"], "say --window 2000ms"),
    ] {
        let done = place.plimsoll(&[&["capacity", url], &args[..]].concat());
        let stderr = done.ended_with(2).err;
        assert!(stderr.contains(said), "{args:?}: {stderr}");
    }
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
