//! How busy instances are by their control groups.

use crate::place::Place;
use crate::pools::{for_ever, number, one_policy, works};
use plimsoll_runs::Run;
use plimsoll_testing::{Weight, has_instances};

#[test]
fn the_processors_of_instances_are_those_of_their_cgroups() {
    if !has_instances("the_processors_of_instances_are_those_of_their_cgroups") {
        return;
    }
    let place = Place::weighing(Weight::ALONE);
    works(&place);
    // It goes by what collectors see of an instance: there are never fewer than wished.
    let policy = "kind = 'threshold'\nmetric = 'watch:cpu'\nupper = 0.05\nlower = 0.0001\n\
                  datapoints = 1\nperiod = '500ms'\ncooldown = '1m'";
    let plan = one_policy("start = 1", policy)
        .replace(&for_ever("40/s"), "schedule = '40/s for 10s'")
        .replace("max = 5", "max = 2")
        .replace("'process'", "'namespace'")
        .replace("recipe = 'target'", "recipe = 'works'\ncpu = '20%'")
        .replace("vars = { workers = 2, service = 'exp:20ms' }", "")
        .replace("[measure]", "[collect]\nfrom = ['cgroup', 'target']\nevery = '500ms'\n[measure]");
    place.write("plan.toml", plan);
    place.plimsoll(&["check", "plan.toml"]).ended_with(0);
    let live = place.plimsoll(&["run", "plan.toml", "--json"]).ran().json();
    let of = &live["cells"][0];
    let cpu = number(of, "cpu_mean");
    assert!((20.0..95.0).contains(&cpu), "{of}");
    let folder = place.run();
    let run = Run::open(&folder.join(of["run"].as_str().unwrap())).unwrap();
    let decisions = run.decisions().unwrap();
    assert!(decisions.iter().any(|of| of.observation.contains("\"watched\":")), "{decisions:?}");
    let added = decisions.iter().find(|of| of.desired > of.before).unwrap();
    assert!(added.reason.starts_with("watched above 0.05"), "{added:?}");
    // The simulator does not know it, and nothing is predicted.
    assert!(live["predictions"].as_array().is_none_or(Vec::is_empty), "{live}");
    let told = place.plimsoll(&["run", "plan.toml", "--simulated"]).ended_with(2);
    told.says(&["policy.one.metric", "watch:cpu", "the simulator does not know"]);
    // Both are watched, the one that was there and the one that came.
    for instance in ["web-1", "web-2"] {
        for name in ["container_cpu_usage_seconds_total", "plimsoll_collector_up"] {
            let samples = run.series(name).unwrap();
            let is_its = |of: &&plimsoll_runs::SeriesRow| {
                of.labels.get("instance").is_some_and(|of| of == instance)
            };
            assert!(samples.iter().filter(is_its).count() > 5, "{instance}: {name}");
        }
    }
}
