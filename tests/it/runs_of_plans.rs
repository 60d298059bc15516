//! `plimsoll run` and `check`: a plan of any kind, live or simulated, and what was killed goes on.

use crate::place::Place;
use crate::program::{PLIMSOLL, wait_for};
use plimsoll_runs::experiment::{Experiment, State};
use plimsoll_testing::Weight;
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const POOL: &str = "\
[load]
rate = '40/s'
for = '10m'
arrivals = 'poisson'
[measure]
slo = 'p99<900ms'
[pool]
max = 6
start = 2
[instance]
service = 'exp:70ms'
cores = 2
[policy.calm]
kind = 'threshold'
[policy.always]
kind = 'fixed'
instances = 6
";

const CLUSTERS: &str = "\
[workload]
objects = 2000
clients = 4
[load]
rate = '400/s'
for = '2m'
[cluster]
nodes = 3
size = ['10%', '20%']
protocol = ['none', 'icp', 'htcp']
";

/// A load that a server of 5 ms takes easily, at a URL.
fn load(url: &str) -> String {
    format!(
        "seed = 7\n[target]\nurl = '{url}'\n[load]\nrate = '60/s'\nfor = '3s'\n\
         arrivals = 'poisson'\n[measure]\nslo = 'p90<200ms'\n"
    )
}

/// A search of two windows of a second: the SLO holds at the greatest rate that is allowed.
fn search(url: &str) -> String {
    format!(
        "[target]\nurl = '{url}'\n[measure]\nslo = 'p90<500ms'\n[search]\nmethod = 'ladder'\n\
         window = '1s'\nnear_rtt = 'off'\nstart = '40/s'\nmax_rate = '40/s'\n"
    )
}

fn json(place: &Place, args: &[&str]) -> Value {
    place.plimsoll(&[args, &["--json"]].concat()).ran().json()
}

/// The document that every kind of plan has.
fn contract(of: &Value) {
    for key in ["schema", "warnings", "experiment", "cells", "effects", "best"] {
        assert!(of.get(key).is_some(), "{key} in {of}");
    }
    let whole = &of["experiment"];
    let number = |key: &str| whole[key].as_u64().unwrap();
    let cells = of["cells"].as_array().unwrap();
    assert_eq!(number("cells_planned"), cells.len() as u64, "{whole}");
    assert!(whole["id"].is_string() && whole["seed"].is_u64() && whole["complete"] == true);
    for cell in cells {
        let keys = ["id", "factors", "replication", "block", "world", "state", "reason", "valid"];
        for key in keys.into_iter().chain(["gate", "run", "figures"]) {
            assert!(cell.get(key).is_some(), "{key} in {cell}");
        }
        assert!(cell["state"] == "done" && !cell["figures"].as_object().unwrap().is_empty());
    }
}

#[test]
fn a_plan_of_each_kind_leaves_a_run() {
    let place = Place::measuring();
    let target = place.target(&["--service-time", "const:5ms", "--workers", "100"]);
    place.write("load.toml", load(&target.url()));
    place.write("search.toml", search(&target.url()));
    place.write("pool.toml", POOL);
    place.write("clusters.toml", CLUSTERS);
    let loaded = json(&place, &["run", "load.toml"]);
    let figures = &loaded["cells"][0]["figures"];
    assert_eq!(figures["offered"], figures["completed"], "{loaded}");
    let said = place.plimsoll(&["run", "search.toml"]).ran();
    assert!(said.err.contains("ramp") && said.out.contains("40/s"), "{}\n{}", said.err, said.out);
    let pool = json(&place, &["run", "pool.toml", "--simulated"]);
    let of = |label: &str| {
        let mut cells = pool["cells"].as_array().unwrap().iter();
        cells.find(|of| of["factors"]["policy"] == label).unwrap().clone()
    };
    let always = of("always");
    assert_eq!((&always["figures"]["slo_held"], &always["slo"]), (&1.0.into(), &true.into()));
    let caches = json(&place, &["run", "clusters.toml", "--simulated"]);
    assert_eq!(caches["experiment"]["cells_done"], 6, "{caches}");
    for document in [&loaded, &pool, &caches] {
        contract(document);
    }

    let list = json(&place, &["runs", "list"]);
    let kinds: Vec<&str> =
        list["runs"].as_array().unwrap().iter().map(|run| run["kind"].as_str().unwrap()).collect();
    let once = |kind: &str| kinds.iter().filter(|of| **of == kind).count() >= 1;
    assert!(["load", "search", "pool", "caches"].into_iter().all(once), "{kinds:?}");

    // A pool and caches have nothing that would start them.
    for (plan, what) in [("pool.toml", "a pool"), ("clusters.toml", "caches")] {
        let refused = place.plimsoll(&["run", plan]).ended_with(2);
        refused.says(&[what, "[testbed]", "--simulated"]);
    }
    // What no policy holds is said by the exit code.
    place
        .plimsoll(&["run", "pool.toml", "--simulated", "--set", "measure.slo=p99<80ms"])
        .ended_with(3);
    place.plimsoll(&["run", "nowhere.toml"]).ended_with(2).says(&["nowhere.toml"]);
    let wrong = place.plimsoll(&["run", "load.toml", "--set", "load.rate=fast"]).ended_with(2);
    wrong.says(&["--set load.rate"]);
}

#[test]
fn what_a_plan_would_do_is_told_before() {
    let place = Place::weighing(Weight::WAITS);
    place.write("load.toml", load("http://127.0.0.1:9/"));
    place.write("pool.toml", POOL);
    let of = json(&place, &["check", "load.toml", "--set", "repeat=3"]);
    assert_eq!((&of["kind"], &of["duration_s"]), (&"load".into(), &9.0.into()), "{of}");
    let seeds: Vec<u64> =
        of["cells"].as_array().unwrap().iter().map(|cell| cell["seed"].as_u64().unwrap()).collect();
    assert!(seeds.len() == 3 && seeds[0] == 7 && seeds[1] != seeds[2], "{of}");
    let text = place.plimsoll(&["check", "pool.toml", "--simulated"]).ended_with(0).out;
    assert!(text.contains("pool, simulated") && text.contains("policy always"), "{text}");
    assert!(!place.path("runs").exists());
    place.plimsoll(&["check", "pool.toml"]).ended_with(2).says(&["--simulated"]);
}

#[test]
fn a_load_and_a_search_are_simulated_on_an_instance() {
    let place = Place::measuring();
    let target = place.target(&["--service-time", "const:5ms", "--workers", "2"]);
    place.write("load.toml", load(&target.url()));
    place.write("search.toml", search(&target.url()));
    for plan in ["load.toml", "search.toml"] {
        let refused = place.plimsoll(&["run", plan, "--simulated"]).ended_with(2);
        refused.says(&["[instance]", "model"]);
    }
    let instance = "[instance]\nservice = 'const:5ms'\ncores = 2\n";
    place.write("load.toml", load(&target.url()) + instance);
    let run = |more: &[&str]| json(&place, &[&["run", "load.toml"], more].concat());
    let (live, simulated) = (run(&[]), run(&["--simulated"]));
    // The same schedule and the same seed.
    let offered = |of: &Value| of["cells"][0]["figures"]["offered"].clone();
    assert_eq!(offered(&live), offered(&simulated), "{simulated}");
    let p50 = |of: &Value| of["cells"][0]["figures"]["response_us.p50"].as_f64().unwrap();
    let (live, simulated) = (p50(&live), p50(&simulated));
    assert!(simulated >= 5000.0 && live > 0.9 * simulated, "{live} {simulated}");
    // The simulated one is the same every time.
    assert_eq!(p50(&run(&["--simulated"])).to_bits(), simulated.to_bits());

    // A live run over a simulated one is a page, of loads and of searches. Runs of one second are
    // in no order: a live one has taken some.
    let page = |place: &Place, root: &str| {
        let runs = place.runs(root);
        let [one, other] = [0, 1].map(|number| runs[number].to_str().unwrap());
        place.plimsoll(&["report", one, other, "-o", "both.html"]).ended_with(0);
        std::fs::read_to_string(place.path("both.html")).unwrap()
    };
    assert!(page(&place, "runs").contains("predicted"));
    place.write("search.toml", search(&target.url()) + instance);
    json(&place, &["run", "search.toml", "--out", "searches"]);
    json(&place, &["run", "search.toml", "--simulated", "--out", "searches"]);
    assert!(page(&place, "searches").contains("predicted"));
    let list = json(&place, &["runs", "list", "--out", "searches"]);
    let last = list["runs"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["kind"], &last["rate_mean"]), (&"search".into(), &Value::Null), "{last}");
    assert!(last["subject"].as_str().unwrap().ends_with(", simulated"), "{last}");

    // An M/M/1 of 20 ms holds p90 < 100 ms up to 50/s - ln 10 / 0.1 s = 27/s.
    let plan = "[target]\nurl = 'http://127.0.0.1:9/'\n[measure]\nslo = 'p90<100ms'\n[search]\n\
                [instance]\nservice = 'exp:20ms'\n";
    place.write("search.toml", plan);
    let result = json(&place, &["run", "search.toml", "--simulated", "--out", "line"]);
    contract(&result);
    let best = &result["best"];
    let estimate = best["value"].as_f64().unwrap();
    assert!(best["figure"] == "estimate_per_s" && (25.0..29.0).contains(&estimate), "{result}");
    assert!(best["ci95"][0].as_f64().unwrap() < estimate, "a search knows how sure it is");
    let shown = json(&place, &["runs", "show", "line"]);
    assert_eq!(shown["figures"]["estimate_per_s"], best["value"], "{shown}");
    // It can be had again at any time.
    assert_eq!(json(&place, &["analyse", "line"]), result);
    let shared = ["run", "search.toml", "--simulated", "--set", "instance.discipline=sharing"];
    place.plimsoll(&shared).ended_with(2).says(&["instance.discipline"]);
}

/// The journal of the only experiment, as JSON.
fn experiment(place: &Place) -> Option<(PathBuf, Value)> {
    let folder =
        place.runs("runs").into_iter().find(|path| path.join("experiment.sqlite").is_file());
    let folder = folder?;
    let shown = place.plimsoll(&["runs", "show", folder.to_str()?, "--json"]);
    (shown.code() == Some(0)).then(|| (folder, shown.json()))
}

/// The figures of each combination.
fn figures(of: &Value) -> BTreeMap<String, Value> {
    let results = of["results"].as_array().unwrap().iter();
    results.map(|of| (of["factors"].to_string(), of["figures"].clone())).collect()
}

/// Runs a plan to its end, killed after some of its cells; and another one that nobody kills.
fn killed_and_whole(plan: &str, args: &[&str], kill_after: u64) -> (Value, Value) {
    let run = |place: &Place| {
        place.write("plan.toml", plan);
        place.start(place.command(PLIMSOLL, &[&["run", "plan.toml"], args].concat()))
    };
    let place = Place::weighing(Weight::COMPUTES);
    let mut going = run(&place);
    let (_, of) = wait_for("some cells", || {
        let found = experiment(&place);
        assert!(!going.has_ended(), "{}", going.err());
        found.filter(|(_, of)| of["cells"]["done"].as_u64() >= Some(kill_after))
    });
    going.signal(Signal::KILL);
    going.wait();
    let (folder, left) = experiment(&place).unwrap();
    let (done, all) =
        (left["cells"]["done"].as_u64().unwrap(), left["cells"]["of"].as_u64().unwrap());
    assert!(kill_after <= done && done < all, "{of}");
    let times = |folder: &Path| cell_times(folder);
    let before = times(&folder);
    let again = run(&place).wait().ended_with(0);
    let going_on = format!("{} of {all} cells are left", all - done);
    assert!(again.err.contains("going on with") && again.err.contains(&going_on), "{}", again.err);
    let after = times(&folder);
    assert_eq!(place.runs("runs").len(), 1);
    assert_eq!(after.len() as u64, all, "every cell once");
    for (cell, ended) in &before {
        assert_eq!(after.get(cell), Some(ended), "cell {cell} ran again");
    }
    let (_, went_on) = experiment(&place).unwrap();
    // It is finished: another one begins.
    let other = place.another();
    run(&other).wait().ended_with(0);
    (went_on, experiment(&other).unwrap().1)
}

/// When each done cell of an experiment ended, by the journal.
fn cell_times(folder: &Path) -> BTreeMap<u32, u64> {
    let cells = Experiment::open(folder).unwrap().cells().unwrap();
    let done = cells.into_iter().filter(|row| row.state == State::Done);
    done.map(|row| (row.cell.number, row.ended_ns.unwrap())).collect()
}

#[test]
fn a_sweep_of_simulations_that_was_killed_goes_on() {
    let plan = format!("repeat = 60\n{POOL}").replace("10m", "2h");
    let (went_on, whole) = killed_and_whole(&plan, &["--simulated", "--quiet"], 5);
    assert_eq!(figures(&went_on), figures(&whole));
}

#[test]
fn a_sweep_of_caches_that_was_killed_goes_on() {
    let plan = format!("repeat = 8\n{CLUSTERS}").replace("2m", "10m");
    let (went_on, whole) = killed_and_whole(&plan, &["--simulated", "--quiet"], 3);
    assert_eq!(figures(&went_on), figures(&whole));
}

#[test]
fn three_searches_that_were_killed_go_on() {
    let place = Place::measuring();
    let target = place.target(&["--service-time", "const:1ms", "--workers", "100"]);
    place.write("plan.toml", format!("repeat = 3\n{}", search(&target.url())));
    let run = || place.start(place.command(PLIMSOLL, &["run", "plan.toml", "--quiet"]));
    let mut going = run();
    // The second search goes on while the first is done.
    let folder = wait_for("the second search", || {
        assert!(!going.has_ended(), "{}", going.err());
        let (folder, of) = experiment(&place)?;
        let is_on = folder.join("cells/0002.part/artifacts/windows.jsonl").is_file();
        (of["cells"]["done"] == 1 && is_on).then_some(folder)
    });
    going.signal(Signal::KILL);
    going.wait();
    let first = cell_times(&folder);
    assert_eq!(first.keys().collect::<Vec<_>>(), [&1]);
    let again = run().wait();
    assert!(matches!(again.code(), Some(0 | 4 | 5)), "{}", again.err);
    assert!(again.err.contains("2 of 3 cells are left"), "{}", again.err);
    let after = cell_times(&folder);
    assert_eq!(after.get(&1), first.get(&1));
    assert!(folder.join("cells/0002.cut-1").is_dir() && folder.join("cells/0002").is_dir());
    if again.code() == Some(0) {
        assert_eq!(after.len(), 3);
        // All are there: another experiment begins.
        let other = place.plimsoll(&["run", "plan.toml", "--set", "repeat=1", "--quiet"]);
        assert!(!other.err.contains("going on"), "{}", other.err);
    }
}

#[test]
fn a_changed_plan_is_not_taken_for_the_one_that_was_begun() {
    let place = Place::weighing(Weight::COMPUTES);
    place.write("plan.toml", format!("repeat = 400\n{POOL}").replace("10m", "2h"));
    let args = ["run", "plan.toml", "--simulated", "--quiet"];
    let mut going = place.start(place.command(PLIMSOLL, &args));
    wait_for("a cell", || {
        assert!(!going.has_ended(), "{}", going.err());
        experiment(&place).filter(|(_, of)| of["cells"]["done"].as_u64() > Some(0))
    });
    // While one process is at it, no other one goes on with it.
    let second = place.plimsoll(&args).ended_with(2);
    second.says(&["another program is at it"]);
    going.signal(Signal::INT);
    let ended = going.wait().ended_with(4);
    ended.says(&["go on with: plimsoll run plan.toml"]);
    let changed = place.plimsoll(&[&args[..], &["--set", "load.rate=41/s"]].concat()).ended_with(2);
    changed.says(&["another plan", "--new"]);
    let new = [&args[..], &["--set", "load.rate=41/s", "--set", "repeat=1", "--new"]].concat();
    place.plimsoll(&new).ended_with(0);
}

#[test]
fn a_file_that_holds_something_else_is_another_plan() {
    let place = Place::weighing(Weight::COMPUTES);
    let trace = |rate: u32| format!("time_s,rate\n0,{rate}\n3600,{rate}\n");
    place.write("day.csv", trace(30));
    let plan = POOL.replace("rate = '40/s'\nfor = '10m'", "trace = { file = 'day.csv' }");
    place.write("plan.toml", format!("repeat = 400\n{plan}"));
    let args = ["run", "plan.toml", "--simulated", "--quiet"];
    let mut going = place.start(place.command(PLIMSOLL, &args));
    wait_for("a cell", || {
        assert!(!going.has_ended(), "{}", going.err());
        experiment(&place).filter(|(_, of)| of["cells"]["done"].as_u64() > Some(0))
    });
    going.signal(Signal::INT);
    going.wait().ended_with(4);
    let inputs = place.run().join("inputs");
    assert_eq!(std::fs::read_to_string(inputs.join("1-day.csv")).unwrap(), trace(30));
    place.write("day.csv", trace(31));
    place.plimsoll(&args).ended_with(2).says(&["another plan", "--new"]);
    // The content decides, not the time at which it was written.
    place.write("day.csv", trace(30));
    let fewer = [&args[..], &["--set", "repeat=1"]].concat();
    place.plimsoll(&fewer).says(&["going on with"]);
}

#[test]
fn a_search_for_parameters_runs_by_its_plan() {
    let place = Place::weighing(Weight::COMPUTES);
    let tune = "[tune]\npolicy = 'calm'\nreplications = 2\n[tune.vary]\nupper = [80, 90]\n";
    place.write("plan.toml", format!("{POOL}{tune}"));
    place.plimsoll(&["run", "plan.toml"]).ended_with(2).says(&["[testbed]", "--simulated"]);
    let of = json(&place, &["check", "plan.toml", "--simulated"]);
    assert_eq!((&of["kind"], &of["most_cells"]), (&"tune".into(), &8.into()), "{of}");
    let ran = json(&place, &["run", "plan.toml", "--simulated"]);
    let tuned = json(&place, &["tune", "plan.toml"]);
    contract(&ran);
    let level = ran["best"]["factors"]["upper"].as_str().unwrap();
    let policy = tuned["policy"].as_str().unwrap();
    assert!(policy.contains(&format!("upper={level}")), "{policy} {ran}");
    let best = (&ran["best"]["figure"], &ran["best"]["value"]);
    assert_eq!(best, (&"cost".into(), &tuned["best"]["cost"]));
    let never = ["--set", "tune.subject_to=p50<1ms"];
    let args = [&["run", "plan.toml", "--simulated", "--new"][..], &never].concat();
    let done = place.plimsoll(&args).ended_with(3);
    assert!(done.out.contains("nothing that was tried does"), "{}", done.out);
    let none = place.plimsoll(&["analyse", "--json"]).json();
    assert_eq!(none["best"], Value::Null, "{none}");
}

#[test]
fn a_target_that_does_not_come_back_ends_it_and_leaves_nothing() {
    let place = Place::weighing(Weight::WAITS);
    let plan = search("http://127.0.0.1:9/")
        .replace("[measure]", "restart = 'true'\nrestart_timeout = '300ms'\n[measure]");
    place.write("plan.toml", format!("{plan}restarts = 1\n"));
    let ended = place.plimsoll(&["run", "plan.toml", "--quiet"]).ended_with(4);
    ended.says(&["put a load on http://127.0.0.1:9/", "did not answer within 300ms"]);
    assert!(place.runs("runs").is_empty());
}
