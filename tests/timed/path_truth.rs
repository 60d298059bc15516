//! Path truth, the short form: what a run says of an M/M/1 queue against what the queue made of the
//! very same requests. The long form is `benches/load/path-truth.sh`.

use crate::place::Place;
use plimsoll_target::log;
use plimsoll_target::recursion::{Arrival, System, Truth};
use plimsoll_testing::{Weight, not_judged};
use std::num::NonZeroU32;

/// On a host whose idle timers wake later than this (p99) figures are compared loosely,
const CALM_US: f64 = 100.0;
/// and later than this not at all.
pub(crate) const BUSY_US: f64 = 500.0;

#[test]
fn a_run_measures_what_the_queue_did() {
    let place = Place::weighing(Weight::ALONE);
    let log = place.path("target.csv");
    let target = place.target(&[
        "--service-time",
        "exp:2ms",
        "--workers",
        "1",
        "--timers",
        "spin",
        "--log",
        log.to_str().unwrap(),
    ]);
    let done = place.plimsoll(&[
        "load",
        &target.url(),
        "--quiet",
        "--rate",
        "250/s",
        "--for",
        "5s",
        "--arrivals",
        "poisson",
        "--json",
    ]);
    let summary = done.ran().json();
    target.end().ended_with(0);
    let records = log::read(&log).unwrap();
    assert_eq!(records.len() as u64, summary["completed"].as_u64().unwrap());

    // The queue is kept in computed time: on any machine, however busy, it is exact.
    let arrivals: Vec<Arrival> = records.iter().map(Arrival::from).collect();
    let truth = Truth::of(System::of(NonZeroU32::MIN), &arrivals);
    assert_eq!(truth, Truth::logged(&records));

    let late = summary["host"]["timer_late_us"]["p99"].as_f64().unwrap();
    let (share, more) = if late < CALM_US { (0.01, 100.0) } else { (0.05, 1000.0) };
    if late >= CALM_US {
        println!("the machine is busy, idle timers late by {late} µs: 5% + 1 ms are allowed");
    }
    let pairs = [
        ("mean", truth.mean_ns().unwrap()),
        ("p99", truth.quantile_ns(0.99).unwrap() as f64),
        ("p50", truth.quantile_ns(0.5).unwrap() as f64),
    ];
    for (figure, wanted_ns) in pairs {
        let (wanted, found) = (wanted_ns / 1e3, summary["response_us"][figure].as_f64().unwrap());
        // An answer cannot come before it leaves; 0.1% is the histogram's.
        assert!(found > 0.99 * wanted, "{figure}: {found} µs, the queue made {wanted} µs");
        if late < BUSY_US {
            let bound = (1.0 + share) * wanted + more;
            assert!(found < bound, "{figure}: {found} µs, the queue made {wanted} µs");
        }
    }
    if late >= BUSY_US {
        let why = format!("idle timers have to be late by less than 0.5 ms, here {late} µs");
        not_judged("a_run_measures_what_the_queue_did", &why);
    }
}
