//! `plimsoll simulate` and `plimsoll tune`: the result's shape, the same bytes for the same seed,
//! every bad input.

use crate::place::Place;
use crate::program::{PLIMSOLL, wait_for};
use plimsoll_runs::experiment::Experiment;
use plimsoll_testing::Weight;
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;

/// A pool that is overloaded for a while.
const PLAN: &str = "\
[load]
schedule = '20/s for 5m, 20/s..120/s in 5m, 120/s for 10m'
arrivals = 'poisson'
[measure]
slo = 'p99<400ms'
[pool]
max = 8
start = 2
starts_at = '05:30'
[instance]
service = 'exp:70ms'
cores = 2
limit = 10
boot = 'const:90s'
[billing]
price = 0.17
income = 0.000017
[policy.eager]
kind = 'threshold'
datapoints = 2
[policy.always]
kind = 'fixed'
start = 8
";

fn simulated(place: &Place, more: &[&str]) -> Value {
    ended_with(0, place, more)
}

/// The result of a simulation that ends so: with 3 where no policy holds the SLO.
fn ended_with(code: i32, place: &Place, more: &[&str]) -> Value {
    let plan = place.write("plan.toml", PLAN);
    let all = [&["simulate", plan.to_str().unwrap(), "--json"], more].concat();
    place.plimsoll(&all).ended_with(code).json()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn the_result_has_its_shape_and_every_request_is_accounted_for() {
    let place = Place::weighing(Weight::COMPUTES);
    let result = simulated(&place, &["--replications", "10"]);
    assert_eq!(result["schema"], 1);
    let policies = result["policies"].as_array().unwrap();
    assert_eq!(policies.len(), 2);
    for policy in policies {
        let [offered, served, lost, left] =
            ["offered", "served", "lost", "in_flight_at_end"].map(|key| number(&policy[key]));
        assert!((offered - served - lost - left).abs() < 1e-6, "{policy}");
        let by: f64 = policy["lost_by"].as_object().unwrap().values().map(number).sum();
        assert!((by - lost).abs() < 1e-6, "{policy}");
        let [net, revenue, cost] = ["net", "revenue", "cost"].map(|key| number(&policy[key]));
        assert!((net - revenue + cost).abs() < 1e-9, "{policy}");
        assert!(number(&policy["response_us"]["p99"]) > 70_000.0, "{policy}");
        let low = number(&policy["ci95"]["cost"][0]);
        assert!(low <= cost && policy["demand"].as_str().unwrap().contains("400"), "{policy}");
        for side in ["under", "over"] {
            assert!((0.0..=1.0).contains(&number(&policy[side]["timeshare"])), "{policy}");
        }
        for (field, interval) in policy["ci95"].as_object().unwrap() {
            let [low, high] = [0, 1].map(|end| number(&interval[end]));
            assert!(field == "net" || low >= 0.0, "{field}: {low}");
            let mean = number(&policy[field]);
            assert!(low <= mean && mean <= high, "{field}: {low} {mean} {high}");
        }
    }
    let [eager, always] = [&policies[0], &policies[1]];
    assert_eq!((&eager["label"], &eager["kind"]), (&"eager".into(), &"threshold".into()));
    // Of a third of an hour a started one is paid, by both.
    let used = |of: &Value| number(&of["instance_hours_used"]);
    assert!(used(eager) < used(always), "{eager} {always}");
    assert!(number(&eager["lost"]) > number(&always["lost"]), "{eager} {always}");
    assert!((number(&always["instance_hours"]) - 8.0).abs() < 1e-9, "a third of an hour is paid");
    let paired = &result["paired"][0];
    assert_eq!((&paired["label"], &paired["with"]), (&"always".into(), &"eager".into()));
    let high = number(&paired["ci95"]["lost"][1]);
    assert!(high < 0.0, "always loses less on every day: {paired}");
    assert!(number(&result["timing"]["requests_per_cpu_s"]) > 0.0);
}

/// The fields that the manual's table of figures names.
fn documented() -> BTreeSet<String> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/simulate.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, figures) = page.split_once("## Figures").unwrap();
    let rows = figures.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    let names = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    names.map(|name| name.trim_end_matches("[]").to_owned()).collect()
}

#[test]
fn the_fields_of_the_result_are_those_of_the_manual() {
    let place = Place::weighing(Weight::COMPUTES);
    let result = simulated(&place, &["--replications", "2"]);
    let keys = |of: &Value| of.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    let said = keys(&result).union(&keys(&result["policies"][0])).cloned().collect::<BTreeSet<_>>();
    assert_eq!(said, documented());
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_any_number_of_threads() {
    let place = Place::weighing(Weight::COMPUTES);
    let without_timing = |more: &[&str]| {
        let mut result = simulated(&place, &[&["--replications", "4"], more].concat());
        result["timing"] = Value::Null;
        result.to_string()
    };
    let one = without_timing(&["--threads", "1"]);
    assert_eq!(without_timing(&["--threads", "1"]), one);
    assert_eq!(without_timing(&["--threads", "3"]), one);
    assert_ne!(without_timing(&["--seed", "2"]), one);
}

#[test]
fn one_replication_has_no_intervals_and_several_values_are_each_simulated() {
    let place = Place::weighing(Weight::COMPUTES);
    let result =
        ended_with(3, &place, &["--only", "eager", "--set", "instance.boot=const:1s,const:5m"]);
    let policies = result["policies"].as_array().unwrap();
    let labels: Vec<&str> = policies.iter().map(|of| of["label"].as_str().unwrap()).collect();
    let wanted = ["eager · instance.boot=const:1s", "eager · instance.boot=const:5m"];
    assert_eq!(labels, wanted);
    assert!(policies[0].get("ci95").is_none(), "{}", policies[0]);
    assert_eq!(policies[0]["offered"], policies[1]["offered"], "the same requests");
    assert!(number(&policies[0]["lost"]) < number(&policies[1]["lost"]), "{labels:?}");
    // A value with a comma of its own is one.
    let schedule = "load.schedule=20/s for 2m, 30/s for 3m";
    let result = simulated(&place, &["--set", schedule, "--policy", "calm: slo headroom=0.3"]);
    let policies = result["policies"].as_array().unwrap();
    assert_eq!(policies.len(), 3);
    assert_eq!((&policies[2]["label"], &policies[2]["kind"]), (&"calm".into(), &"slo".into()));
}

#[test]
fn decisions_are_shown_with_their_reasons_and_a_report_is_written() {
    let place = Place::weighing(Weight::COMPUTES);
    let plan = place.write("plan.toml", PLAN);
    let plan = plan.to_str().unwrap();
    let done = place.plimsoll(&["simulate", plan, "--decisions", "--report", "pool.html"]);
    let done = done.ended_with(0);
    let out = done.out.clone();
    assert!(out.contains("cpu above 70 in 2 of 2 datapoints"), "{out}");
    assert!(out.contains("always") && out.contains("nothing was changed"), "{out}");
    let page = std::fs::read_to_string(place.path("pool.html")).unwrap();
    assert!(page.contains("eager") && page.contains("<svg"), "{} bytes", page.len());
    let folder = place.run();
    assert!(folder.join("experiment.sqlite").is_file() && folder.join("plan.toml").is_file());
    // The kept plan gives the same again.
    let again = folder.join("plan.toml");
    let mut first = simulated(&place, &[]);
    let mut second =
        place.plimsoll(&["simulate", again.to_str().unwrap(), "--json"]).ended_with(0).json();
    (first["timing"], second["timing"]) = (Value::Null, Value::Null);
    assert_eq!(first, second);
}

#[test]
fn better_parameters_are_found_and_told_by_replications_of_their_own() {
    let place = Place::weighing(Weight::COMPUTES);
    let plan = place.write("plan.toml", PLAN);
    let tune = ["tune", plan.to_str().unwrap(), "--vary", "upper=50..80/10", "--vary"];
    let more = ["datapoints=1,5", "--replications", "3", "--minimise", "lost", "--json"];
    let result = place.plimsoll(&[&tune[..], &more].concat()).ended_with(0).json();
    // Two bounds above the lower one, with two numbers of datapoints.
    assert_eq!(result["candidates"], 4);
    let lost = |of: &str| number(&result[of]["lost"]);
    assert!(lost("best") <= lost("baseline"), "{result}");
    assert_eq!(result["parameters"].as_array().unwrap().len(), 2);
    assert!(result["paired"]["ci95"]["lost"].is_array(), "{result}");
    let never = ["datapoints=1", "--subject-to", "lost<0.0001%,p50<1ms"];
    let done = place.plimsoll(&[&tune[..], &never].concat()).ended_with(3);
    assert!(done.out.contains("nothing that was tried does"), "{}", done.out);
}

#[test]
fn what_is_looked_for_stands_in_the_plan_and_in_what_is_kept_of_it() {
    let place = Place::weighing(Weight::COMPUTES);
    let tune = "[tune]\nminimise = 'lost'\nreplications = 3\n[tune.vary]\nupper = '50..80/10'\n\
                datapoints = [1, 5]\n";
    let plan = place.write("plan.toml", format!("{PLAN}\n{tune}"));
    let plan = plan.to_str().unwrap();
    let said = place.plimsoll(&["tune", plan, "--json", "--out", "runs"]).ended_with(0).json();
    assert_eq!(said["candidates"], 4, "{said}");
    // A run keeps a plan that says the same again.
    let kept = place.run().join("plan.toml");
    let again = place.plimsoll(&["tune", kept.to_str().unwrap(), "--json"]).ended_with(0).json();
    assert_eq!((&again["best"], &again["wish"]), (&said["best"], &said["wish"]));
    // A flag wins, and a mistake is told in its place.
    let one = ["tune", plan, "--vary", "upper=70", "--vary", "datapoints=1", "--json"];
    assert_eq!(place.plimsoll(&one).ended_with(0).json()["candidates"], 1);
    let wrong = place.write("wrong.toml", format!("{PLAN}\n[tune]\nminimise = 'lots'\n"));
    let done = place.plimsoll(&["tune", wrong.to_str().unwrap()]).ended_with(2);
    done.says(&["wrong.toml:", "minimise = 'lots'", "did you mean lost?"]);
}

#[test]
fn each_policy_has_a_verdict_and_one_that_holds_is_enough() {
    let place = Place::weighing(Weight::COMPUTES);
    let result = simulated(&place, &[]);
    let slo = |n: usize| &result["policies"][n]["slo"][0];
    assert_eq!((&slo(0)["expr"], &slo(0)["pass"]), (&"p99<400ms".into(), &false.into()));
    assert_eq!((&slo(0)["value"], &slo(1)["pass"]), (&Value::Null, &true.into()));
    let found = number(&slo(1)["value"]);
    assert!((300_000.0..400_000.0).contains(&found), "{found}");
    let alone = ended_with(3, &place, &["--only", "eager"]);
    assert_eq!(alone["policies"][0]["slo"][0]["pass"], false);
    let no_slo = ended_with(0, &place, &["--only", "eager", "--slo", "lost<100%"]);
    assert_eq!(no_slo["policies"][0]["slo"][0]["pass"], true);
}

#[test]
fn the_table_has_intervals_and_differences() {
    let place = Place::weighing(Weight::COMPUTES);
    let plan = place.write("plan.toml", PLAN);
    let done = place.plimsoll(&["simulate", plan.to_str().unwrap(), "--replications", "3"]);
    let out = done.ended_with(0).out.clone();
    // Columns that do not fit beside the others stand in a block below, with the names again.
    let lines =
        |start: &str| -> Vec<&str> { out.lines().filter(|line| line.starts_with(start)).collect() };
    assert_eq!(lines("eager").concat().matches('±').count(), 7, "{out}");
    let (heads, of_eager) = (lines("policy"), lines("eager"));
    assert_eq!((heads.len(), of_eager.len()), (2, 2), "{out}");
    assert!(heads[1].ends_with("SLO") && of_eager[1].ends_with("not p99<400ms"), "{out}");
    assert!(lines("against eager").concat().contains("mean"), "{out}");
    assert_eq!(lines("always").len(), 4, "figures and differences, two blocks each: {out}");
    let table = out.lines().take_while(|line| !line.starts_with("load "));
    assert!(table.into_iter().all(|line| line.chars().count() <= 100), "{out}");
}

#[test]
fn what_can_never_happen_is_said_before() {
    let place = Place::weighing(Weight::COMPUTES);
    let warned = |code: i32, more: &[&str], part: &str| {
        let result = ended_with(code, &place, more);
        let warnings = result["warnings"].as_array().unwrap();
        let has = warnings.iter().any(|of| of.as_str().unwrap().contains(part));
        assert!(has, "{part}: {warnings:?}");
        result
    };
    let full = ["--set", "instance.cpu=47ms", "--policy", "t: target target=70"];
    warned(0, &full, "policy t never adds an instance: cpu is at most 67% with all cores at work");
    let few = ["--set", "instance.limit=1", "--policy", "t: target target=70", "--only", "t"];
    warned(3, &few, "cpu is at most 50% with the 1 requests that `limit` allows on 2 cores");
    warned(0, &["--set", "pool.metric_delay=20m"], "no policy sees a metric: each arrives 20 m");
    let fast = ["--slo", "p99<50ms", "--set", "instance.service=const:70ms"];
    let result = warned(3, &fast, "there is no demand to hold the supply against");
    let policy = &result["policies"][0];
    assert!(policy["under"].is_null() && policy["jitter_per_hour"].is_null(), "{policy}");
}

#[test]
fn tune_knows_what_to_try_and_names_the_nearest() {
    let place = Place::weighing(Weight::COMPUTES);
    let plan = place.write("plan.toml", PLAN);
    let plan = plan.to_str().unwrap();
    let short = ["--set", "load.schedule=20/s for 2m, 60/s for 2m", "--replications", "2"];
    let only = PLAN.replace("kind = 'threshold'\ndatapoints = 2", "kind = 'target'");
    let target = place.write("target.toml", &only);
    let tune = |plan: &str, more: &[&str]| {
        place.plimsoll(&[&["tune", plan, "--json"], &short[..], more].concat())
    };
    let result = tune(target.to_str().unwrap(), &["--policy", "eager"]).ended_with(0).json();
    assert_eq!(result["candidates"], 15, "five targets with three windows");
    let said = |more: &[&str], parts: &[&str]| {
        tune(plan, more).ended_with(2).says(parts);
    };
    said(&["--policy", "eagre"], &["find the policy `eagre`", "did you mean eager?"]);
    said(&["--vary", "uper=50,60"], &["no parameter `uper`", "did you mean upper?"]);
    said(&["--vary", "upper=50,high"], &["vary upper=high", "found `high`"]);
    let some = tune(plan, &["--vary", "upper=50,70", "--vary", "lower=40,60"]).ended_with(0).json();
    assert_eq!(some["candidates"], 3);
    let note = some["warnings"][0].as_str().unwrap();
    assert!(note.starts_with("1 of 4 settings cannot be made"), "{note}");
}

/// Kubernetes' own sequence, and a policy that decides every millisecond.
#[test]
fn kubernetes_own_sequence_is_that_of_hpa() {
    let place = Place::weighing(Weight::COMPUTES);
    let plan = "[load]\nschedule = '10/s for 2m, 350/s for 3m'\narrivals = 'even'\n[pool]\n\
                max = 50\ndecide_every = '15s'\n[instance]\nservice = 'const:1ms'\n\
                [policy.hpa]\nkind = 'hpa'\nmetric = 'rate'\ntarget = 10\n";
    let plan = place.write("hpa.toml", plan);
    let plan = plan.to_str().unwrap();
    let out = place.plimsoll(&["simulate", plan, "--decisions"]).ended_with(0).out.clone();
    let steps = ["02:15    1 → 5", "02:30    5 → 10", "02:45   10 → 20", "03:00   20 → 35"];
    let shown: Vec<&str> = out.lines().filter(|line| line.contains('→')).collect();
    assert_eq!(shown.len(), 4, "{out}");
    for (step, line) in steps.iter().zip(shown) {
        assert!(line.contains(step), "{step}: {line}");
    }
    let often = ["--set", "pool.decide_every=1ms", "--set", "load.schedule=20/s for 20s"];
    let folder = ["--json", "--out", "often"];
    let result = place.plimsoll(&[&["simulate", plan], &often[..], &folder].concat());
    assert_eq!(result.ended_with(0).json()["policies"][0]["offered"], 400.0);
}

#[test]
fn bad_input_is_one_message_with_its_place() {
    let place = Place::weighing(Weight::WAITS);
    let cases: [(&str, &str, &[&str]); 12] = [
        ("kind = 'threshold'", "kind = 'treshold'", &["plan.toml:19", "did you mean threshold?"]),
        (
            "datapoints = 2",
            "datapionts = 2",
            &["plan.toml:20", "no parameter `datapionts`", "did you mean datapoints?"],
        ),
        ("datapoints = 2", "upper = 50", &["`eager`", "expected `lower` below `upper`"]),
        ("datapoints = 2", "of = 99", &["plan.toml:20", "at most `datapoints`"]),
        ("max = 8", "max = 8\nmin = 9", &["expected `min` at most `max`, found 9 and 8"]),
        ("start = 2", "start = 9", &["expected `start` from 1 to 8, found 9"]),
        ("price = 0.17", "price = -1", &["plan.toml:16", "a number from 0"]),
        ("service = 'exp:70ms'", "service = 'const:0s'", &["a service time above zero"]),
        ("service = 'exp:70ms'", "", &["expected `service` or `model`"]),
        (
            "schedule = '20/s for 5m, 20/s..120/s in 5m, 120/s for 10m'",
            "rate = '5/s'\nfor = '30s'",
            &["decide even once"],
        ),
        (
            "schedule = '20/s for 5m, 20/s..120/s in 5m, 120/s for 10m'\narrivals = 'poisson'",
            "users = 5\nfor = '30m'",
            &["simulate users that wait"],
        ),
        ("start = 8", "start = 99", &["plan.toml:23", "from 1 to 8, found 99"]),
    ];
    for (from, to, parts) in cases {
        assert!(PLAN.contains(from), "{from}");
        place.write("plan.toml", PLAN.replacen(from, to, 1));
        let done = place.plimsoll(&["simulate", "plan.toml"]).ended_with(2);
        done.says(parts);
    }
    place.write("plan.toml", PLAN);
    let of = |flags: &[&str], parts: &[&str]| {
        place.plimsoll(&[&["simulate", "plan.toml"], flags].concat()).ended_with(2).says(parts);
    };
    of(&["--policy", "threshold upper"], &["a parameter such as upper=60"]);
    of(&["--policy", "revenu"], &["did you mean revenue?"]);
    of(&["--only", "lazy"], &["find the policy `lazy`", "eager, always"]);
    of(&["--replications", "0"], &["--replications", "from 1 to 1000000"]);
    of(&["--set", "instance.cores=0"], &["from 1 to 1024"]);
    of(&["--threads", "0"], &["from 1 to 1024 threads"]);
    place.write("server.json", r#"{ "schema": 1, "service_time": "const:0s" }"#);
    place.write("plan.toml", PLAN.replacen("service = 'exp:70ms'", "model = 'server.json'", 1));
    of(&[], &["a service time above zero"]);
    place.write("plan.toml", "[load]\nrate = '5/s'\nfor = '1m'\n[target]\nurl = 'http://h/'\n");
    of(&[], &["find a pool in the plan"]);
    assert!(place.runs("runs").is_empty(), "a folder was left");
}

#[test]
fn an_interrupt_keeps_what_is_whole() {
    let place = Place::weighing(Weight::COMPUTES);
    let plan = place.write("plan.toml", PLAN);
    let long = ["simulate", plan.to_str().unwrap(), "--replications", "100000", "--json"];
    let going = place.start(place.command(PLIMSOLL, &long));
    wait_for("replications", || {
        let runs = place.runs("runs");
        let progress = Experiment::open(runs.first()?).ok()?.progress().ok()?;
        (progress.done >= 4).then_some(())
    });
    going.signal(Signal::INT);
    let done = going.wait().ended_with(4);
    let result = done.json();
    let replications = number(&result["policies"][0]["replications"]);
    assert!((1.0..100_000.0).contains(&replications), "{replications}");
    assert_eq!(result["policies"][0]["replications"], result["policies"][1]["replications"]);
}
