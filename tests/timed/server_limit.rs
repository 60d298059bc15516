//! The server is the limit, or freezes: the run is valid, and the response time shows what a user
//! would have seen, whatever the service time hides.

use crate::json::assert_sums;
use crate::place::Place;
use plimsoll_target::recursion::{System, Truth, truth};
use plimsoll_target::{Stall, log};
use plimsoll_testing::{Weight, not_judged};
use std::num::NonZeroU32;

#[test]
fn a_server_that_is_the_limit_makes_no_run_invalid() {
    let place = Place::weighing(Weight::ALONE);
    let target = place.target(&["--service-time", "const:10ms", "--workers", "1"]);
    let url = target.url();
    let gently = [url.as_str(), "--rate", "500/s", "--for", "3s", "--drain", "1s", "--json"];
    let done = place.plimsoll(&[&["load", "--quiet"], &gently[..]].concat());
    // No second attempt: this must never be blamed on the generator.
    let summary = done.ended_with(0).json();
    assert_eq!(summary["run"]["valid"], true, "{summary}");
    assert_sums(&summary);
    assert_eq!(summary["offered"], 1500);
    // 100 a second for 4 s, and no more.
    let completed = summary["completed"].as_u64().unwrap();
    assert!((150..=405).contains(&completed), "{summary}");
    let us = |of: &str, figure: &str| summary[of][figure].as_f64().unwrap();
    assert!(us("response_us", "p90") > 2.0 * us("service_us", "p90"), "{summary}");
    assert!(us("connection_wait_us", "p90") > us("service_us", "p90"), "{summary}");
    let late = summary["generator"]["lateness_us"]["p50"].as_f64().unwrap();
    assert!(late < us("response_us", "p50") / 10.0, "{summary}");
    // What was not answered is the server's doing.
    assert_eq!(summary["blame"]["target"].as_u64(), Some(1500 - completed), "{summary}");
    assert_eq!(summary["blame"]["generator"], 0, "{summary}");

    // So it is where no more than a few may wait.
    let bounded = [&["load", "--quiet"], &gently[..], &["--max-waiting", "20"]].concat();
    let summary = place.plimsoll(&bounded).ended_with(0).json();
    assert_eq!(summary["run"]["valid"], true, "{summary}");
    assert_sums(&summary);
    let saturated = summary["errors"]["client_saturated"].as_u64().unwrap();
    assert!(saturated > 500, "{summary}");
    assert!(summary["blame"]["target"].as_u64().unwrap() >= saturated, "{summary}");
}

/// Even requests, and a server that freezes for half a second in two: what each should have taken
/// is computed from the due times alone.
#[test]
fn a_stall_is_seen_by_every_request_that_was_due_in_it() {
    let place = Place::weighing(Weight::ALONE);
    let log = place.path("target.csv");
    let target = place.target(&[
        "--service-time",
        "const:1ms",
        "--workers",
        "2",
        "--stall",
        "2s:500ms",
        "--log",
        log.to_str().unwrap(),
    ]);
    // Two connections: while the server is frozen nothing more can be sent.
    let done = place.load(&[
        &target.url(),
        "--rate",
        "200/s",
        "--for",
        "5s",
        "--connections",
        "2",
        "--json",
    ]);
    let summary = done.ran().json();
    target.end().ended_with(0);
    let (two, stall) = (NonZeroU32::new(2).unwrap(), Stall::new(2_000_000_000, 500_000_000));
    let system = System { stall, ..System::of(two) };
    let due = (0..1000).map(|request| request * 5_000_000);
    let wanted = truth(system, 1_000_000, due);
    let us = |of: &str, figure: &str| summary[of][figure].as_f64().unwrap();
    for (figure, q) in [("p90", 0.9), ("p95", 0.95), ("p98", 0.98), ("p99", 0.99)] {
        let wanted = wanted.quantile_ns(q).unwrap() as f64 / 1e3;
        let found = us("response_us", figure);
        // Two stalls of the same kind; a machine that is busy makes it worse, never better.
        assert!(found > 0.9 * wanted, "{figure}: {found}, wanted {wanted}: {summary}");
        let late = summary["host"]["timer_late_us"]["p99"].as_f64().unwrap();
        if late < 5000.0 {
            assert!(found < 1.1 * wanted + 20_000.0, "{figure}: {found}, wanted {wanted}");
        } else {
            let why = format!("an upper bound for {figure} needs a machine that is less busy");
            not_judged("a_stall_is_seen_by_every_request_that_was_due_in_it", &why);
        }
    }
    // Only the two that were under way saw the stall, if one asks when they were sent.
    assert!(us("service_us", "p98") < us("response_us", "p98") / 3.0, "{summary}");
    // The server's own books: 1,000 requests, none of them waited for long inside it.
    let records = log::read(&log).unwrap();
    assert_eq!(records.len(), 1000);
    assert!(Truth::logged(&records).quantile_ns(0.5).unwrap() < 5_000_000);
}
