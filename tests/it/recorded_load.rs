//! A run as the load of another: what it offered second by second is offered again, live and
//! simulated.

use crate::place::Place;
use plimsoll_runs::{Phase, Run};
use serde_json::Value;
use std::path::Path;

/// What a run offered in each of its measured seconds.
fn offered(run: &Path) -> Vec<u64> {
    let seconds = Run::open(run).unwrap().intervals().unwrap();
    seconds
        .iter()
        .filter(|of| of.phase == Phase::Measured && of.events.offered > 0)
        .map(|of| of.events.offered)
        .collect()
}

#[test]
fn what_a_run_offered_is_offered_again_second_by_second() {
    let place = Place::new();
    let target = place.calm();
    let schedule = "20/s for 2s, 70/s for 1s, 5/s for 2s";
    let first = ["--schedule", schedule, "--arrivals", "poisson", "--warm-up", "1s", "--out", "a"];
    place.load(&[&[target.url().as_str()][..], &first].concat()).ran();
    let run = place.runs("a").pop().unwrap();
    let text = run.to_str().unwrap();
    let again = [&target.url(), "--trace", text, "--out", "b"];
    place.load(&again).ran();
    let (was, is) = (offered(&run), offered(&place.runs("b").pop().unwrap()));
    assert_eq!((was.len(), is.len()), (5, 5), "{was:?} {is:?}");
    for (was, is) in was.iter().zip(&is) {
        // A request that is due at the end of a second may be counted in the next.
        assert!(was.abs_diff(*is) <= 2, "{was} {is}");
    }
    assert_eq!(was.iter().sum::<u64>(), is.iter().sum::<u64>());
    let check = place.plimsoll(&["load", &target.url(), "--trace", text, "--check"]).ended_with(0);
    let said = format!("{}{}", check.out, check.err);
    assert!(said.contains("which are offered second by second"), "{said}");
}

const POOL: &str = "\
seed = 3
speed = 4
[testbed]
provider = 'process'
[role.web]
recipe = 'target'
vars = { workers = 2, service = 'exp:20ms' }
[pool]
role = 'web'
max = 3
decide_every = '4s'
[instance]
service = 'exp:20ms'
cores = 2
limit = 20
boot = 'const:2s'
[load]
schedule = '30/s for 8s, 90/s for 8s'
[policy.one]
kind = 'fixed'
instances = 2
[measure]
slo = 'p90<1m, errors<90%'
";

#[test]
fn what_would_have_followed_is_simulated_under_the_requests_of_the_live_pool() {
    let place = Place::new();
    place.write("plan.toml", POOL);
    let live = place.plimsoll(&["run", "plan.toml", "--json"]).ran().json();
    let cell = place.run().join(live["cells"][0]["run"].as_str().unwrap());
    let offered: u64 = offered(&cell).iter().sum();
    assert_eq!(offered, 240, "sixteen seconds at four times the speed");
    let simulate = |more: &[&str]| -> Value {
        let words = ["simulate", "plan.toml", "--trace", cell.to_str().unwrap(), "--json"];
        place.plimsoll(&[&words[..], more].concat()).ran().json()
    };
    let of = |document: &Value| document["policies"][0]["offered"].as_f64().unwrap().to_bits();
    // The speed of the run is undone, and that of the plan done.
    assert_eq!(of(&simulate(&["--policy", "other: target target=50"])), 240.0_f64.to_bits());
    // Without it, the time that the run stands for: four times the requests at the same rates.
    let slow = simulate(&["--set", "speed=1"]);
    assert_eq!(of(&slow), 960.0_f64.to_bits(), "{slow}");
    // A run that was simulated has ticks instead of seconds.
    place.plimsoll(&["run", "plan.toml", "--simulated", "--out", "simulated"]).ran();
    let simulated = place.runs("simulated").pop().unwrap();
    let words = ["simulate", "plan.toml", "--trace", simulated.to_str().unwrap(), "--json"];
    let again = place.plimsoll(&words).ran().json();
    let count = again["policies"][0]["offered"].as_f64().unwrap();
    assert!((count - 240.0).abs() <= 2.0, "{count}");
}

#[test]
fn what_is_no_run_is_said() {
    let place = Place::new();
    let another = "[policy.other]\nkind = 'fixed'\ninstances = 1\n[measure]";
    place.write("plan.toml", POOL.replace("[measure]", another));
    place.plimsoll(&["run", "plan.toml", "--simulated"]).ran();
    std::fs::create_dir(place.path("empty")).unwrap();
    let experiment = place.run();
    let refused = |trace: &str, more: &[&str], parts: &[&str]| {
        let words = ["simulate", "plan.toml", "--trace", trace];
        let done = place.plimsoll(&[&words[..], more].concat());
        assert_ne!(done.code(), Some(0), "{trace}");
        done.says(parts);
    };
    refused("gone", &[], &["gone"]);
    refused("empty", &[], &["find a run in empty"]);
    let experiment = experiment.to_str().unwrap();
    refused(experiment, &[], &["is an experiment", "cells/0001"]);
    let cell = format!("{experiment}/cells/0001");
    refused(&cell, &["--columns", "time,rate"], &["neither"]);
}
