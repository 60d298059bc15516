//! Policies of pools that go by connections and by memory, live and simulated.

use crate::place::Place;
use plimsoll_runs::Run;
use plimsoll_testing::{has_instances, installed};
use serde_json::Value;

fn plan(metric: &str, target: &str, kind: &str) -> String {
    format!(
        "name = 'by {metric}'
seed = 3
[testbed]
provider = 'process'
[role.web]
recipe = 'target'
vars = {{ workers = 64, service = 'const:100ms' }}
[pool]
role = 'web'
max = 4
decide_every = '500ms'
[instance]
service = 'const:100ms'
cores = 64
boot = 'const:200ms'
[balancer]
kind = '{kind}'
choose = 'least-connections'
[load]
schedule = '100/s for 5s'
connections = 30
[policy.one]
kind = 'target'
metric = '{metric}'
target = {target}
period = '500ms'
[measure]
slo = 'p90<1m, errors<90%'
"
    )
}

/// What was seen of a metric in each decision of the only cell.
fn seen(place: &Place, document: &Value, metric: &str) -> Vec<f64> {
    let cell = &document["cells"][0];
    let run = Run::open(&place.run().join(cell["run"].as_str().unwrap())).unwrap();
    let decisions = run.decisions().unwrap();
    let value = |text: &String| serde_json::from_str::<Value>(text).unwrap()[metric].as_f64();
    decisions.iter().filter_map(|of| value(&of.observation)).collect()
}

#[test]
fn connections_are_those_of_clients_at_the_balancer() {
    for kind in ["built-in", "nginx", "haproxy"] {
        let test = "connections_are_those_of_clients_at_the_balancer";
        if kind != "built-in" && installed(test, kind).is_none() {
            continue;
        }
        let place = Place::new();
        // Thirty connections, of which an instance is to have ten.
        place.write("plan.toml", plan("connections", "10", kind));
        let live = place.plimsoll(&["run", "plan.toml", "--json"]).ran().json();
        let seen = seen(&place, &live, "connections");
        let most = seen.iter().copied().fold(0.0, f64::max);
        if kind == "nginx" {
            // It closes those that nobody uses when it takes its servers anew: ten are in use.
            assert!((9.0..32.0).contains(&most), "{seen:?}");
            continue;
        }
        assert!((most - 30.0).abs() < 1.5, "{kind}: {seen:?}");
        let ready = live["cells"][0]["figures"]["scale_out"].as_f64().unwrap();
        assert!((ready - 2.0).abs() < 0.1, "{kind}: {live}");
    }
}

#[test]
fn the_simulator_counts_connections_where_each_request_has_its_own() {
    let place = Place::new();
    place.write("plan.toml", plan("connections", "4", "built-in"));
    let simulated = ["run", "plan.toml", "--simulated", "--json"];
    let refused = place.plimsoll(&simulated).ended_with(2);
    refused.says(&["policy.one.metric = \"connections\"", "per-request"]);
    let own = [&simulated[..], &["--set", "load.connection=per-request"]].concat();
    let document = place.plimsoll(&own).ran().json();
    // A hundred a second that stay for 100 ms are ten at once: three instances of four.
    let out = document["cells"][0]["figures"]["scale_out"].as_f64().unwrap();
    assert!((out - 2.0).abs() < 0.1, "{document}");
}

#[test]
fn memory_is_the_share_that_programs_have_of_their_limit() {
    let place = Place::new();
    // What the program needs lies far below the target: the pool stays as it is.
    place.write("plan.toml", plan("memory", "95", "built-in"));
    let refused = |set: &[&str], parts: &[&str]| {
        let mut words = vec!["check", "plan.toml"];
        set.iter().for_each(|pair| words.extend(["--set", pair]));
        place.plimsoll(&words).ended_with(2).says(parts);
    };
    refused(&[], &["policy.one", "`memory` in [role.web]"]);
    let simulated = place.plimsoll(&["run", "plan.toml", "--simulated"]).ended_with(2);
    simulated.says(&["policy.one.metric = \"memory\"", "the simulator knows cpu, rate"]);
    let set = ["--set", "testbed.provider=namespace", "--set", "role.web.memory=64MiB"];
    if !has_instances("memory_is_the_share_that_programs_have_of_their_limit") {
        return;
    }
    place.plimsoll(&[&["check", "plan.toml"], &set[..]].concat()).ended_with(0);
    let run = [&["run", "plan.toml", "--json"], &set[..]].concat();
    let live = place.plimsoll(&run).ran().json();
    let seen = seen(&place, &live, "memory");
    assert!(seen.len() > 5 && seen.iter().all(|of| (0.5..95.0).contains(of)), "{seen:?}");
}
