//! Every command leaves a run or an experiment, and `runs list`, `show`, `export` and `compare`
//! read all of them alike.

use crate::place::Place;
use crate::program::{PLIMSOLL, wait_for};
use plimsoll_testing::Weight;
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A pool that is overloaded for a while.
const PLAN: &str = "\
name = 'two policies'
[load]
schedule = '20/s for 2m, 60/s for 4m'
arrivals = 'poisson'
[measure]
slo = 'p99<400ms'
[pool]
max = 8
start = 2
[instance]
service = 'exp:70ms'
cores = 2
limit = 10
boot = 'const:60s'
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

/// Two clients ask for two objects again and again, and for others once.
const SHOP: &str = "\
time_s,object,size,client
0,/home,5000,a
0,/logo,20000,b
1,/home,5000,b
1,/shoes,9000,a
2,/logo,20000,a
2,/hats,7000,b
3,/home,5000,a
5,/home,5000,b
";

const CLUSTERS: &str = "\
name = 'two of a shop'
[workload]
objects = 200
clients = 4
[load]
rate = '20/s'
for = '1m'
[cluster]
nodes = 2
size = '20%'
protocol = ['none', 'icp']
";

fn place() -> Place {
    let place = Place::weighing(Weight::COMPUTES);
    place.write("plan.toml", PLAN);
    place.write("shop.csv", SHOP);
    place.write("clusters.toml", CLUSTERS);
    place
}

fn json(place: &Place, args: &[&str]) -> Value {
    place.plimsoll(&[args, &["--json"]].concat()).ended_with(0).json()
}

/// The newest folder in `runs`.
fn newest(place: &Place) -> PathBuf {
    let mut runs = place.runs("runs");
    let changed = |path: &PathBuf| std::fs::metadata(path).unwrap().modified().unwrap();
    runs.sort_by_key(changed);
    runs.pop().unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The rows of a CSV whose fields have no commas of their own.
fn rows(csv: &str) -> Vec<Vec<&str>> {
    csv.lines().map(|line| line.split(',').collect()).collect()
}

#[test]
fn everything_that_was_run_stands_in_one_list() {
    let place = Place::weighing(Weight::COMPUTES);
    for (name, text) in [("plan.toml", PLAN), ("shop.csv", SHOP), ("clusters.toml", CLUSTERS)] {
        place.write(name, text);
    }
    let target = place.target(&["--service-time", "const:2ms", "--workers", "1"]);
    let url = target.url();
    place.load(&[&url, "--rate", "30/s", "--for", "2s", "--name", "live"]).ran();
    let ladder = ["--search", "ladder", "--slo", "p90<20ms", "--start", "100/s", "--window", "1s"];
    // A busy machine may keep it from its end; it leaves a run all the same.
    place.plimsoll(&[&["capacity", &url, "--quiet"], &ladder[..]].concat());
    let simulate = ["simulate", "plan.toml", "--quiet"];
    place.plimsoll(&[&simulate[..], &["--replications", "2"]].concat()).ended_with(0);
    place.plimsoll(&[&simulate[..], &["--only", "always"]].concat()).ended_with(0);
    let caches = ["cache", "simulate", "--trace", "shop.csv", "--policy", "lru,fifo"];
    place.plimsoll(&[&caches[..], &["--size", "50%,100%", "--quiet"]].concat()).ended_with(0);
    let clusters = ["cache", "simulate", "clusters.toml", "--seeds", "2", "--quiet"];
    place.plimsoll(&clusters).ended_with(0);
    let tune = ["tune", "plan.toml", "--vary", "upper=70,80", "--replications", "2", "--quiet"];
    place.plimsoll(&tune).ended_with(0);

    let list = json(&place, &["runs", "list"]);
    assert_eq!(list["warnings"], serde_json::json!([]), "{list}");
    let runs = list["runs"].as_array().unwrap();
    // A load that a busy machine held up was sent again: both are there.
    let loads = runs.iter().take_while(|of| of["kind"] == "load").count();
    let runs = &runs[loads.saturating_sub(1)..];
    let kinds: Vec<&str> = runs.iter().map(|of| of["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["load", "search", "pool", "pool", "caches", "caches", "tune"]);
    // Two settings on one replication; both, and the plan's own, on two fresh ones.
    let of = |done: u64| serde_json::json!({ "done": done, "of": done });
    let wanted = [Value::Null, Value::Null, of(4), Value::Null, of(4), of(4), of(8)];
    assert_eq!(runs.iter().map(|run| run["cells"].clone()).collect::<Vec<_>>(), wanted);
    let lines = place.plimsoll(&["runs", "list"]).ended_with(0).out;
    assert_eq!(lines.lines().count(), 7 + loads.max(1), "{lines}");
    assert!(lines.contains("two policies: a pool"), "{lines}");
    assert!(lines.contains("(4 of 4 cells)"), "{lines}");
    assert!(runs[3]["rate_mean"].is_null(), "{}", runs[3]);

    for folder in place.runs("runs") {
        let folder = text(&folder);
        let shown = json(&place, &["runs", "show", folder]);
        assert!(shown.is_object(), "{folder}");
        let out = place.plimsoll(&["runs", "show", folder]).ended_with(0).out;
        assert!(out.lines().count() > 3, "{folder}\n{out}");
        let csv = place.plimsoll(&["export", folder]).ended_with(0).out;
        assert!(csv.lines().count() > 2, "{folder}\n{csv}");
        let exported = place.plimsoll(&["export", folder, "--format", "json"]).ended_with(0).json();
        assert!(exported.is_object(), "{folder}");
    }
}

/// Every figure that an experiment shows is in the registry, and the means are those of the
/// simulation's own result.
#[test]
fn means_over_the_cells_are_those_of_the_result() {
    let place = place();
    let result = json(&place, &["simulate", "plan.toml", "--replications", "3"]);
    let experiment = newest(&place);
    let shown = json(&place, &["runs", "show", text(&experiment)]);
    assert_eq!((&shown["name"], &shown["kind"]), (&"two policies".into(), &"pool".into()));
    assert_eq!(shown["factors"], serde_json::json!({ "policy": ["eager", "always"] }));
    let (results, policies) = (&shown["results"], &result["policies"]);
    for (of, policy) in results.as_array().unwrap().iter().zip(policies.as_array().unwrap()) {
        assert_eq!((&of["factors"]["policy"], &of["done"]), (&policy["label"], &3.into()));
        let mean = |name: &str| of["figures"][name]["mean"].as_f64().unwrap();
        for name in ["cost", "lost", "offered", "served", "net", "cpu_mean", "slo_violated_s"] {
            assert_eq!(of["figures"][name]["mean"], policy[name], "{name}");
            assert_eq!(of["figures"][name]["ci95"], policy["ci95"][name], "{name}");
        }
        assert!(
            (mean("response_us.mean") - policy["response_mean_us"].as_f64().unwrap()).abs() < 1e-6
        );
        assert!(of["figures"].as_object().unwrap().len() > 30, "{of}");
    }
    // What a cell stores and the table of all shows is the same.
    let csv = place.plimsoll(&["export", text(&experiment)]).ended_with(0).out;
    let rows = rows(&csv);
    let known: BTreeSet<&str> =
        results[0]["figures"].as_object().unwrap().keys().map(String::as_str).collect();
    let stored: BTreeSet<&str> = rows[0][7..].iter().copied().collect();
    assert_eq!(stored, known, "a figure is stored that the registry does not know");
    assert_eq!((rows.len(), &rows[0][..3]), (7, &["cell", "policy", "replication"][..]));
}

#[test]
fn a_cell_is_a_run_of_its_own_with_series_decisions_and_response_times() {
    let place = place();
    place.plimsoll(&["simulate", "plan.toml", "--replications", "2", "-q"]).ended_with(0);
    let experiment = newest(&place);
    for file in ["plan.toml", "experiment.sqlite", "cells/0004/run.sqlite"] {
        assert!(experiment.join(file).is_file(), "{file}");
    }
    let folder = experiment.join("cells/0003");
    let run = place.plimsoll(&["export", text(&folder), "--format", "json"]).ended_with(0).json();
    let (by_number, name) = (experiment.join("cells/3"), experiment.file_name().unwrap());
    let cell = json(&place, &["runs", "show", text(&by_number)]);
    assert_eq!((&cell["factors"]["policy"], &cell["replication"]), (&"eager".into(), &1.into()));
    assert_eq!(cell["figures"], run["figures"]);
    let by_id = Path::new(name).join("cells/0003");
    assert_eq!(json(&place, &["runs", "show", text(&by_id)]), cell);
    let series = run["series"].as_array().unwrap();
    let ready = |of: &&Value| of["series"] == "pool_ready_instances";
    assert_eq!(series.iter().filter(ready).count(), 6, "a tick a minute");
    let events = run["events"].as_array().unwrap();
    assert!(events.iter().all(|event| event["class"] == "action"), "{events:?}");
    assert!(events[0]["text"].as_str().unwrap().contains(" instances: cpu "), "{events:?}");
    let hgrm = ["export", text(&folder), "--format", "hgrm"];
    let served = format!("{:.0}", cell["figures"]["served"].as_f64().unwrap());
    let hgrm = place.plimsoll(&hgrm).ended_with(0).out;
    assert!(hgrm.contains(&served), "{served} requests are not in:\n{hgrm}");
    // The other replication of a policy saw other requests, and both policies the same.
    let offered = |cell: &str| {
        let path = experiment.join("cells").join(cell);
        json(&place, &["runs", "show", text(&path)])["figures"]["offered"].clone()
    };
    assert_eq!((offered("1"), offered("3")), (offered("2"), offered("4")));
    assert_ne!(offered("1"), offered("3"));
    let missing = experiment.join("cells/9");
    let done = place.plimsoll(&["runs", "show", text(&missing)]).ended_with(2);
    done.says(&["find cell 9", "it has 4"]);
}

#[test]
fn factors_are_what_differs() {
    let place = place();
    let several = ["--set", "instance.boot=const:1s,const:2m", "--only", "eager", "-q"];
    place.plimsoll(&[&["simulate", "plan.toml"], &several[..]].concat());
    let shown = json(&place, &["runs", "show"]);
    let wanted =
        serde_json::json!({ "instance.boot": ["const:1s", "const:2m"], "policy": ["eager"] });
    assert_eq!(shown["factors"], wanted);
    let caches = ["cache", "simulate", "--trace", "shop.csv", "--policy", "lru,fifo", "-q"];
    let result = json(&place, &[&caches[..], &["--size", "50%"]].concat());
    let shown = json(&place, &["runs", "show", text(&newest(&place))]);
    let ratios = |of: &Value| of["figures"]["miss_ratio"]["mean"].clone();
    let shown: Vec<Value> = shown["results"].as_array().unwrap().iter().map(ratios).collect();
    let wanted = result["results"].as_array().unwrap().iter();
    assert_eq!(shown, wanted.map(|of| of["miss_ratio"].clone()).collect::<Vec<_>>());
    let plan = std::fs::read_to_string(newest(&place).join("plan.toml")).unwrap();
    assert!(plan.contains("policy = [\"lru\", \"fifo\"]") && plan.contains("/shop.csv"), "{plan}");
    let clusters = ["cache", "simulate", "clusters.toml", "--seeds", "3", "-q"];
    let result = json(&place, &clusters);
    let shown = json(&place, &["runs", "show", text(&newest(&place))]);
    for (place, of) in shown["results"].as_array().unwrap().iter().enumerate() {
        let wanted = &result["results"][place]["replications"]["figures"]["miss_ratio"];
        assert_eq!(&of["figures"]["miss_ratio"], wanted);
    }
    assert_eq!(shown["factors"]["protocol"], serde_json::json!(["none", "icp"]));
    // The kept plan, elsewhere, means the same.
    let kept = newest(&place).join("plan.toml");
    let again = json(&place, &["cache", "simulate", text(&kept), "-q"]);
    assert_eq!(again["results"][0]["misses"], result["results"][0]["misses"]);
}

#[test]
fn experiments_of_one_kind_are_compared_by_the_seeds_that_they_share() {
    let place = place();
    let simulate = |name: &str, more: &[&str]| {
        let out = ["--out", name, "--replications", "3", "-q"];
        // The slower pool does not keep its SLO.
        place.plimsoll(&[&["simulate", "plan.toml"], &out[..], more].concat());
    };
    simulate("a", &[]);
    simulate("same", &[]);
    simulate("slower", &["--set", "instance.service=exp:90ms"]);
    simulate("other", &["--seed", "9"]);
    let compare =
        |b: &str, code: i32| place.plimsoll(&["compare", "a", b, "--json"]).ended_with(code).json();
    let same = compare("same", 0);
    let rows = same["figures"].as_array().unwrap();
    let is_zero = |row: &Value| row["comparison"]["estimate"]["value"] == 0.0;
    assert!(rows.len() > 8 && rows.iter().all(is_zero), "{same}");
    let all = |of: &Value, pairing: &str| {
        of["figures"].as_array().unwrap().iter().all(|row| row["pairing"] == pairing)
    };
    assert!(all(&same, "pairs") && all(&compare("slower", 3), "pairs"));
    let other = place.plimsoll(&["compare", "a", "other", "--json", "--tolerance", "90%"]);
    assert!(all(&other.json(), "independent"), "{}", other.out);
    let table = place.plimsoll(&["compare", "a", "slower"]).ended_with(3).out;
    assert!(table.contains("compared as pairs of one seed") && table.contains("worse"), "{table}");
    let caches = ["cache", "simulate", "--trace", "shop.csv", "--out", "caches", "-q"];
    place.plimsoll(&caches).ended_with(0);
    place.plimsoll(&["compare", "a", "caches"]).ended_with(2).says(&["two kinds", "B of caches"]);
}

/// An experiment of every kind has a page, which answers first; so has a cell that is a run.
#[test]
fn an_experiment_of_every_kind_has_a_page() {
    let place = place();
    let target = place.target(&["--service-time", "const:2ms", "--workers", "1"]);
    let url = target.url();
    let page = |named: &str| {
        place.plimsoll(&["report", named, "-o", "page.html"]).ended_with(0);
        std::fs::read_to_string(place.path("page.html")).unwrap()
    };
    // A command's own page is that of what it left.
    let caches = ["cache", "simulate", "--trace", "shop.csv", "--policy", "lru,fifo", "--bound"];
    let more = ["--size", "50%,100%", "--out", "caches", "-q", "--report", "own.html"];
    place.plimsoll(&[&caches[..], &more].concat()).ended_with(0);
    let found = page("caches");
    assert_eq!(found, std::fs::read_to_string(place.path("own.html")).unwrap());
    for text in ["Caches for shop.csv", "miss least", "no policy is below", "course-table-1"] {
        assert!(found.contains(text), "{text}");
    }
    let curves =
        ["cache", "mrc", "--trace", "shop.csv", "--policy", "lru,sieve", "--out", "curves"];
    place.plimsoll(&[&curves[..], &["-q", "--report", "own.html"]].concat()).ended_with(0);
    let found = page("curves");
    assert_eq!(found, std::fs::read_to_string(place.path("own.html")).unwrap());
    assert!(found.contains("Miss-ratio curves of shop.csv") && found.contains("Over sizes"));
    let clusters = ["cache", "simulate", "clusters.toml", "--seeds", "2", "--out", "clusters"];
    place.plimsoll(&[&clusters[..], &["-q", "--report", "own.html"]].concat()).ended_with(0);
    let found = page("clusters");
    assert_eq!(found, std::fs::read_to_string(place.path("own.html")).unwrap());
    assert!(found.contains("Lowest miss ratio") && found.contains("replications-table"));
    let pools = ["simulate", "plan.toml", "--replications", "2", "--out", "pools", "-q"];
    let more = ["--set", "instance.boot=const:30s,const:90s", "--report", "own.html"];
    place.plimsoll(&[&pools[..], &more].concat()).ended_with(0);
    let found = page("pools");
    assert_eq!(found, std::fs::read_to_string(place.path("own.html")).unwrap());
    for text in
        ["The cheapest policy that holds", "always · instance.boot=const:30s", "zero outside"]
    {
        assert!(found.contains(text), "{text}");
    }
    let tune = ["tune", "plan.toml", "--vary", "upper=70,80", "--replications", "2"];
    place.plimsoll(&[&tune[..], &["--out", "tune", "-q"]].concat()).ended_with(0);
    let found = page("tune");
    assert!(found.contains("Best: threshold") && found.contains("Cost over upper"), "{found}");
    place.load(&[&url, "--rate", "30/s", "--for", "1s", "--repeat", "2"]).ran();
    let journal = |folder: &str| {
        let all = std::fs::read_dir(place.path(folder)).unwrap();
        let mut names = all.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let name = names.find(|name| name.ends_with(".experiment.sqlite")).unwrap();
        format!("{folder}/{}", name.trim_end_matches(".experiment.sqlite"))
    };
    let found = page(&journal("runs"));
    assert!(found.contains("2 of 2 cells done") && found.contains("Response mean: "), "{found}");
    let ladder = ["--search", "ladder", "--slo", "p90<20ms", "--start", "100/s", "--window", "1s"];
    let searches =
        [&["capacity", &url, "--quiet", "--repeat", "2", "--out", "searches"], &ladder[..]];
    // A busy machine may keep it from an estimate; it leaves its searches all the same.
    place.plimsoll(&searches.concat());
    assert!(page(&journal("searches")).contains("of 2 cells done"));
}

#[test]
fn a_cell_has_the_page_of_its_run_and_experiments_have_one_each() {
    let place = place();
    let out = ["--replications", "2", "--out", "pools", "-q"];
    place.plimsoll(&[&["simulate", "plan.toml"], &out[..]].concat()).ended_with(0);
    let page = place.plimsoll(&["report", "pools", "-o", "pools.html"]).ended_with(0);
    assert_eq!(page.out, "pools.html\n");
    let experiment = place.runs("pools").pop().unwrap();
    let beside = place.plimsoll(&["report", "pools"]).ended_with(0);
    assert!(experiment.join("report.html").ends_with(beside.out.trim_end()), "{}", beside.out);
    let two = place.plimsoll(&["report", "pools", "pools"]).ended_with(2);
    two.says(&["one page of several experiments", "a live and a simulated one"]);
    // A cell of a pool is a run with series, which has a page as any other.
    place.plimsoll(&["report", text(&experiment.join("cells/0001"))]).ended_with(0);
    let page = experiment.join("cells/0001/artifacts/report.html");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("Instances against demand") && page.contains("instances-table-0"));
    let done = place.plimsoll(&["export", text(&experiment), "--format", "hgrm"]).ended_with(2);
    done.says(&["E/cells/1"]);
    let figure = ["runs", "show", text(&experiment), "--figure"];
    let out = place.plimsoll(&[&figure[..], &["served"]].concat()).ended_with(0).out;
    assert!(out.contains("served") && !out.contains("share lost"), "{out}");
    place
        .plimsoll(&[&figure[..], &["servd"]].concat())
        .ended_with(2)
        .says(&["did you mean served?"]);
}

/// A place that cannot be written is told before the work, which leaves nothing then.
#[test]
fn what_cannot_be_written_is_told_before_the_work() {
    let place = place();
    for args in [
        &["simulate", "plan.toml", "--report", "nowhere/page.html"][..],
        &["cache", "simulate", "--trace", "shop.csv", "--report", "nowhere/page.html"],
        &["cache", "simulate", "clusters.toml", "--report", "nowhere/page.html"],
        &["cache", "mrc", "--trace", "shop.csv", "--report", "nowhere/page.html"],
        &["capacity", "http://127.0.0.1:9/", "--model-out", "nowhere/model.json"],
    ] {
        place.plimsoll(args).ended_with(2).says(&["to nowhere/", "choose another place"]);
        assert!(!place.path("runs").exists(), "{args:?}");
    }
}

/// How far an experiment is, once it is so far that so many cells are done.
fn progress(place: &Place, at_least: u64) -> Value {
    wait_for("cells to be done", || {
        let done = place.plimsoll(&["runs", "list", "--json"]);
        let list = (done.code() == Some(0)).then(|| done.json())?;
        let of = list["runs"].get(0)?.clone();
        (of["cells"]["done"].as_u64()? >= at_least).then_some(of)
    })
}

#[test]
fn a_kill_leaves_no_half_cell() {
    for more in [&[][..], &["--keep-cells"]] {
        let place = place();
        let many = ["simulate", "plan.toml", "--replications", "100000", "-q"];
        let going = place.start(place.command(PLIMSOLL, &[&many[..], more].concat()));
        progress(&place, 40);
        going.signal(Signal::KILL);
        let _ = going.wait();
        let of = progress(&place, 40);
        assert_eq!((&of["ended"], &of["cells"]["of"]), (&"incomplete".into(), &200_000.into()));
        let experiment = newest(&place);
        let exported = place.plimsoll(&["export", text(&experiment), "--format", "json"]);
        let exported = exported.ended_with(0).json();
        let cells = exported["cells"].as_array().unwrap();
        let mut done = 0;
        for cell in cells {
            let figures = cell["figures"].as_object().unwrap();
            let is_done = cell["state"] == "done";
            assert_eq!(is_done, !figures.is_empty(), "{cell}");
            if is_done {
                done += 1;
                let number = |name: &str| figures[name].as_f64().unwrap();
                let sum = number("served") + number("lost") + number("in_flight_at_end");
                assert!((number("offered") - sum).abs() < 0.5, "{cell}");
            }
        }
        assert_eq!(of["cells"]["done"].as_u64(), Some(done));
        // A folder that has its name is one of a done cell, and whole.
        let folders = std::fs::read_dir(experiment.join("cells")).unwrap();
        let names = folders.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut whole = 0;
        for name in names.filter(|name| !name.contains('.')) {
            let number: usize = name.parse().unwrap();
            // The journal says that a cell is done before its folder gets its name.
            assert_eq!(cells[number - 1]["state"], "done", "{name}");
            let folder = experiment.join("cells").join(&name);
            let run = place.plimsoll(&["export", text(&folder), "--format", "json"]);
            if whole < 3 {
                assert_eq!(run.ended_with(0).json()["figures"], cells[number - 1]["figures"]);
            }
            whole += 1;
            if whole == 3 {
                break;
            }
        }
        // Pages draw the first replication; of so many cells only --keep-cells has runs of all.
        let first = (0..3).take_while(|n| cells[*n]["replication"] == 0).count();
        assert_eq!(whole, if more.is_empty() { first } else { 3 });
        place.plimsoll(&["runs", "show", text(&experiment)]).ended_with(0);
    }
}

#[test]
fn an_interrupt_is_said_in_the_journal() {
    let place = place();
    let many = ["simulate", "plan.toml", "--replications", "100000", "--json"];
    let going = place.start(place.command(PLIMSOLL, &many));
    progress(&place, 40);
    going.signal(Signal::INT);
    let result = going.wait().ended_with(4).json();
    let of = progress(&place, 40);
    assert_eq!(of["ended"], "interrupted");
    // What not all policies have is in no mean of the result, and done all the same.
    let replications = result["policies"][0]["replications"].as_u64().unwrap();
    assert!(of["cells"]["done"].as_u64().unwrap() >= 2 * replications, "{of}");
    let page = place.plimsoll(&["report", text(&newest(&place)), "-o", "cut.html"]);
    page.ended_with(0);
    let page = std::fs::read_to_string(place.path("cut.html")).unwrap();
    assert!(page.contains("interrupted") && page.contains("instances-table-1"));
}
