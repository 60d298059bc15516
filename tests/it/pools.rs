//! Pools of real servers: a policy in charge of each, the balancer that gives requests to them, and
//! the simulation that says beforehand what comes of it.

use crate::place::Place;
use crate::program::{PLIMSOLL, wait_for};
use plimsoll_runs::Run;
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;

const PLAN: &str = "\
name = 'two policies'
seed = 3
[experiment]
at_once = 2
[testbed]
provider = 'process'
[role.web]
recipe = 'target'
vars = { workers = 2, service = 'exp:20ms' }
[pool]
role = 'web'
max = 5
decide_every = '500ms'
[instance]
service = 'exp:20ms'
cores = 2
limit = 20
boot = 'const:500ms'
[billing]
unit = 'second'
price = 0.17
[load]
schedule = '40/s for 2s, 160/s for 4s, 20/s for 3s'
arrivals = 'poisson'
[policy.quick]
kind = 'target'
target = 60
period = '500ms'
down_window = '1s'
[policy.fixed]
kind = 'fixed'
instances = 3
[measure]
slo = 'p90<2s, errors<90%'
";

fn number(of: &Value, name: &str) -> f64 {
    of["figures"][name].as_f64().unwrap_or_else(|| panic!("{name}: {of}"))
}

fn cell<'a>(document: &'a Value, policy: &str) -> &'a Value {
    let cells = document["cells"].as_array().unwrap();
    cells.iter().find(|cell| cell["factors"]["policy"] == policy).unwrap()
}

#[test]
fn policies_in_charge_of_real_servers_are_held_against_their_prediction() {
    let place = Place::alone();
    place.write("plan.toml", PLAN);
    let check = place.plimsoll(&["check", "plan.toml"]).ended_with(0);
    check.prints(&["pool, live", "balance --listen", "2 cells at once", "takes       9"]);
    let live = place.plimsoll(&["run", "plan.toml", "--json"]).went_well().json();
    for policy in ["quick", "fixed"] {
        let of = cell(&live, policy);
        assert_eq!((&of["state"], &of["world"]), (&"done".into(), &"live".into()), "{of}");
        let [offered, served, lost, open] =
            ["offered", "served", "lost", "in_flight_at_end"].map(|name| number(of, name));
        assert!(offered > 500.0 && served > 0.5 * offered, "{of}");
        assert!((offered - served - lost - open).abs() < 0.5, "{of}");
        assert!(number(of, "instance_hours") > 0.0 && number(of, "cpu_mean") > 1.0, "{of}");
    }
    // Another rate wants more servers, and a fixed number of them is three from the start on.
    assert!(number(cell(&live, "quick"), "scale_out") >= 1.0, "{live}");
    let fixed = ["scale_out", "scale_in"].map(|name| number(cell(&live, "fixed"), name));
    assert_eq!(fixed.map(f64::to_bits), [2.0, 0.0].map(f64::to_bits));

    let folder = place.run();
    let run = Run::open(&folder.join(cell(&live, "quick")["run"].as_str().unwrap())).unwrap();
    let decisions = run.decisions().unwrap();
    assert!(decisions.len() >= 14, "a decision every half second: {}", decisions.len());
    let first = decisions.iter().find(|of| of.desired > of.before).unwrap();
    assert_eq!((first.rule.as_str(), first.done), ("target", first.desired - first.before));
    assert!(first.observation.contains("\"cpu\":"), "{first:?}");
    let events: Vec<String> = run.events().unwrap().into_iter().map(|of| of.text).collect();
    for state in ["instance 1 ready: web-1", "instance 2 requested", "instance 2 ready"] {
        assert!(events.iter().any(|text| text.starts_with(state)), "{state}: {events:?}");
    }
    let names: BTreeSet<String> = run
        .series_names()
        .unwrap()
        .into_iter()
        .filter(|name| name.ends_with("_ready_instances"))
        .collect();
    assert_eq!(
        names.into_iter().collect::<Vec<_>>(),
        ["pool_ready_instances", "predicted_ready_instances"]
    );

    // What was predicted stands beside it, and is what the simulation of the plan says.
    let predicted = live["predictions"].as_array().unwrap();
    let of = |policy: &str, figure: &str| {
        let is_it = |one: &&Value| one["policy"] == policy && one["figure"] == figure;
        predicted.iter().find(is_it).unwrap_or_else(|| panic!("{figure}: {predicted:?}")).clone()
    };
    let simulated =
        place.plimsoll(&["run", "plan.toml", "--simulated", "--json"]).went_well().json();
    for policy in ["quick", "fixed"] {
        let (of, simulated) = (of(policy, "instance_hours"), cell(&simulated, policy));
        let says = number(simulated, "instance_hours");
        assert_eq!(of["simulated"].as_f64().map(f64::to_bits), Some(says.to_bits()), "{of}");
        assert!(of["agrees"].is_boolean() && of["ratio"].as_f64().unwrap() > 0.2, "{of}");
        let names = |of: &Value| of["figures"].as_object().unwrap().keys().cloned().collect();
        let (one, other): (BTreeSet<String>, BTreeSet<String>) =
            (names(cell(&live, policy)), names(simulated));
        let differ: Vec<&String> = one
            .symmetric_difference(&other)
            // Percentiles of which too few answers tell.
            .filter(|name| !name.starts_with("response_us.p"))
            .collect();
        assert_eq!(differ, Vec::<&String>::new(), "{policy}");
    }
    place.plimsoll(&["testbed", "status"]).ended_with(0);
}

#[test]
fn a_pool_that_is_killed_leaves_nothing_but_what_down_finds() {
    let place = Place::alone();
    place.write("plan.toml", PLAN.replace("two policies", "killed"));
    let beds = || place.plimsoll(&["testbed", "status"]).out;
    let before = beds();
    let going = place.start(place.command(PLIMSOLL, &["run", "plan.toml", "--quiet"]));
    wait_for("servers of a pool", || {
        let now = beds();
        (now != before && now.matches("web-").count() > before.matches("web-").count() + 2)
            .then_some(())
    });
    going.signal(Signal::KILL);
    going.wait();
    place.plimsoll(&["testbed", "down", "--all"]).ended_with(0);
    let left: Vec<String> = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains("balance --listen") && line.contains("/control"))
        .filter(|line| line.contains(place.path("").to_str().unwrap()))
        .collect();
    assert_eq!(left, Vec::<String>::new());
    // It goes on where it was.
    let again = place.plimsoll(&["run", "plan.toml"]).went_well();
    again.says(&["going on with"]);
}

#[test]
fn what_a_live_pool_cannot_do_is_refused_by_name() {
    let place = Place::new();
    let plan = |from: &str, to: &str| {
        assert!(PLAN.contains(from), "{from}");
        place.write("plan.toml", PLAN.replace(from, to));
        place.plimsoll(&["check", "plan.toml"]).ended_with(2)
    };
    plan("role = 'web'\n", "").says(&["a pool live", "--simulated"]);
    plan("role = 'web'", "role = 'wb'").says(&["[role.wb]"]);
    plan("seed = 3", "speed = 10").says(&["speed = 2", "decide_every"]);
    let twice = "profile = { name = 'clarknet-day', to = '1h', speed = 9 }";
    let schedule = "schedule = '40/s for 2s, 160/s for 4s, 20/s for 3s'";
    place.write("plan.toml", PLAN.replace(schedule, twice).replace("seed = 3", "speed = 2"));
    let told = place.plimsoll(&["check", "plan.toml", "--simulated"]).ended_with(2);
    told.says(&["by `speed` and by that of the trace or profile"]);
}
