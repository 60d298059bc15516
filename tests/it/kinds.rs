//! Experiments of every kind of plan: searches, pools and caches with factors, as loads have them.

use crate::place::Place;
use crate::program::{Going, PLIMSOLL, wait_for};
use plimsoll_runs::Run;
use plimsoll_testing::Weight;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A pool whose policies and two other keys are varied.
const POOL: &str = "\
name = 'what moves a pool'
seed = 3
[experiment]
replications = 2
respond = ['cost', 'lost']
goal = 'min cost'
[factor]
\"policy.eager.upper\" = [60, 80]
\"instance.boot\" = ['const:10s', 'const:3m']
[load]
schedule = '20/s for 4m, 40/s for 4m'
arrivals = 'poisson'
[measure]
slo = 'p99<2s'
[pool]
max = 8
start = 2
decide_every = '15s'
[instance]
service = 'exp:70ms'
cores = 2
[billing]
price = 0.17
[policy.eager]
kind = 'threshold'
lower = 30
[policy.always]
kind = 'fixed'
instances = 8
";

/// Clusters with levels of their own, of which not all go together, and a factor beside them.
const CLUSTERS: &str = "\
name = 'what moves caches'
seed = 3
[experiment]
replications = 2
respond = ['miss_ratio']
[factor]
\"workload.objects\" = [200, 1000]
\"cluster.size\" = ['10%', '20%']
[workload]
objects = 200
clients = 4
[load]
rate = '100/s'
for = '1m'
[cluster]
nodes = 2
size = '10%'
[cluster.mesh]
protocol = ['none', 'icp']
[cluster.hierarchy]
parents = 1
protocol = ['icp', 'carp']
";

/// A search of a simulated server: an M/M/c whose capacity is known.
const SEARCH: &str = "\
seed = 3
[experiment]
replications = 2
[factor]
\"instance.service\" = ['exp:20ms', 'exp:10ms']
[target]
url = 'http://127.0.0.1:9/'
[measure]
slo = 'p90<100ms'
[search]
[instance]
service = 'exp:20ms'
";

fn check(place: &Place) -> Value {
    place.plimsoll(&["check", "plan.toml", "--simulated", "--json"]).ended_with(0).json()
}

fn run(place: &Place, code: i32) -> Value {
    let run = ["run", "plan.toml", "--simulated", "--json", "--quiet"];
    place.plimsoll(&run).ended_with(code).json()
}

fn cells(of: &Value) -> Vec<Value> {
    of["cells"].as_array().unwrap().clone()
}

/// The document of every kind of plan: as many cells as were to be, all done, each with a run.
fn whole(of: &Value, wanted: usize, world: &str) {
    let head = &of["experiment"];
    assert_eq!((&of["schema"], head["complete"].as_bool()), (&1.into(), Some(true)), "{head}");
    assert_eq!(head["cells_done"], wanted, "{head}");
    assert_eq!(cells(of).len(), wanted);
    for cell in cells(of) {
        assert_eq!((&cell["state"], &cell["world"]), (&"done".into(), &world.into()), "{cell}");
        assert!(cell["run"].is_string() && !cell["figures"].as_object().unwrap().is_empty());
        assert_eq!(cell["block"], cell["replication"], "{cell}");
    }
}

/// The effect of a factor on a figure, from its first level to another.
fn effect<'a>(of: &'a Value, factor: &str, figure: &str) -> &'a Value {
    let mut all = of["effects"].as_array().unwrap().iter();
    let found = all.find(|of| of["factor"] == factor && of["figure"] == figure);
    found.unwrap_or_else(|| panic!("no effect of {factor} on {figure}: {}", of["effects"]))
}

/// What an experiment says is said again by `analyse`, and stands on a page.
fn is_told_again(place: &Place, of: &Value, parts: &[&str]) {
    let exit = place.plimsoll(&["analyse"]).code().unwrap();
    assert_eq!(&place.plimsoll(&["analyse", "--json"]).ended_with(exit).json(), of);
    place.plimsoll(&["report", "-o", "page.html"]).ended_with(0);
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    for part in parts {
        assert!(page.contains(part), "`{part}` is not on the page");
    }
    let status = place.plimsoll(&["status", "--json"]).ended_with(0).json();
    assert_eq!((&status["state"], &status["cells"]["left"]), (&"complete".into(), &0.into()));
}

#[test]
fn a_pool_has_factors_of_which_its_policies_are_one() {
    let place = Place::weighing(Weight::COMPUTES);
    place.write("plan.toml", POOL);
    let told = check(&place);
    let levels = |of: &Value| of["factors"].as_object().unwrap().clone();
    assert_eq!(cells(&told).len(), 16, "{told}");
    let blocks: BTreeSet<(u64, u64)> = cells(&told)
        .iter()
        .map(|of| (of["block"].as_u64().unwrap(), of["seed"].as_u64().unwrap()))
        .collect();
    assert_eq!(blocks.len(), 2, "all of a block have one seed: {told}");
    let of = run(&place, 0);
    whole(&of, 16, "simulated");
    let planned: Vec<_> = cells(&told).iter().map(levels).collect();
    assert_eq!(cells(&of).iter().map(levels).collect::<Vec<_>>(), planned, "in this order");
    // All see the same requests in a block, and others in the other one.
    let offered = |block: u64| -> BTreeSet<String> {
        let of_block = cells(&of).into_iter().filter(|of| of["block"] == block);
        of_block.map(|of| of["figures"]["offered"].to_string()).collect()
    };
    assert_eq!((offered(0).len(), offered(1).len()), (1, 1));
    assert_ne!(offered(0), offered(1));
    // The policies come last, in the order of the plan: the first of them is what is compared with.
    let named = of["experiment"]["factors"].as_array().unwrap();
    assert_eq!(named[2], json!({ "factor": "policy", "levels": ["eager", "always"] }), "{named:?}");
    let by_policy = effect(&of, "policy", "cost");
    assert!(by_policy["effect"].as_f64().unwrap() > 1.2, "{by_policy}");
    effect(&of, "instance.boot", "cost");
    // What the other policy is told to do changes nothing of one.
    let fixed = cells(&of).into_iter().filter(|of| of["factors"]["policy"] == "always");
    let mut by_rest: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for cell in fixed {
        let key = format!("{} {}", cell["factors"]["instance.boot"], cell["block"]);
        by_rest.entry(key).or_default().insert(cell["figures"].to_string());
    }
    assert!(by_rest.len() == 4 && by_rest.values().all(|of| of.len() == 1), "{by_rest:?}");
    let best = &of["best"];
    assert_eq!((&best["figure"], &best["factors"]["policy"]), (&"cost".into(), &"eager".into()));
    assert!(best["ci95"].is_array() && best["against"].as_array().unwrap().len() == 2, "{best}");
    is_told_again(&place, &of, &["Effects", "policy: eager", "instance.boot"]);
    // A choice of policies is a factor that the plan names; their order is that of the levels.
    let chosen = POOL.replace("[load]", "policy = ['always', 'eager']\n[load]");
    place.write("plan.toml", &chosen);
    let named = &run(&place, 0)["experiment"]["factors"];
    assert_eq!(named[2]["levels"], json!(["always", "eager"]), "{named}");
    place.write("plan.toml", chosen.replace("'eager']", "'eagre']"));
    let wrong = place.plimsoll(&["check", "plan.toml", "--simulated"]).ended_with(2);
    wrong.says(&["plan.toml:10:10", "a policy of the plan", "did you mean `eager`"]);
}

#[test]
fn clusters_of_caches_have_factors_of_which_their_own_levels_are_some() {
    let place = Place::weighing(Weight::COMPUTES);
    place.write("plan.toml", CLUSTERS);
    let told = check(&place);
    // Two protocols in each of two clusters, by two factors, in two blocks.
    assert_eq!(cells(&told).len(), 32, "{told}");
    let notes = told["warnings"].to_string();
    assert!(notes.contains("cluster = mesh needs protocol = none, icp"), "{notes}");
    let of = run(&place, 0);
    whole(&of, 32, "simulated");
    for cell in cells(&of) {
        let (cluster, protocol) = (&cell["factors"]["cluster"], &cell["factors"]["protocol"]);
        let mine = if cluster == "mesh" { ["none", "icp"] } else { ["icp", "carp"] };
        assert!(mine.iter().any(|of| protocol == of), "{cell}");
    }
    let larger = effect(&of, "cluster.size", "miss_ratio");
    assert!(larger["effect"].as_f64().unwrap() < 1.0, "{larger}");
    effect(&of, "workload.objects", "miss_ratio");
    effect(&of, "cluster", "miss_ratio");
    assert_eq!(of["best"]["factors"]["cluster.size"], "20%", "{}", of["best"]);
    is_told_again(&place, &of, &["Effects", "workload.objects", "cluster.size"]);
    // The figures are those of the same plan without factors.
    let plain = CLUSTERS.split("[experiment]").next().unwrap().to_owned()
        + CLUSTERS
            .split_once("[workload]")
            .map(|(_, rest)| ["[workload]", rest].concat())
            .unwrap()
            .as_str();
    place.write("plain.toml", plain);
    let plain =
        place.plimsoll(&["run", "plain.toml", "--simulated", "--json", "-q", "--out", "plain"]);
    for cell in cells(&plain.ended_with(0).json()) {
        let twin = cells(&of).into_iter().find(|of| {
            let is = |factor: &str, level: &Value| of["factors"][factor] == *level;
            is("cluster", &cell["factors"]["cluster"])
                && is("protocol", &cell["factors"]["protocol"])
                && is("cluster.size", &"10%".into())
                && is("workload.objects", &"200".into())
                && of["replication"] == 0
        });
        assert_eq!(twin.unwrap()["figures"], cell["figures"], "{cell}");
    }
}

#[test]
fn a_search_has_factors_in_both_worlds() {
    let place = Place::measuring();
    place.write("plan.toml", SEARCH);
    assert_eq!(cells(&check(&place)).len(), 4);
    let of = run(&place, 0);
    whole(&of, 4, "simulated");
    assert_eq!(of["experiment"]["respond"], json!(["estimate_per_s"]), "{of}");
    // M/M/1: 1/s - ln 10 / 0.1 s, of 50/s and of 100/s.
    let faster = effect(&of, "instance.service", "estimate_per_s");
    let ratio = faster["effect"].as_f64().unwrap();
    assert!((2.4..3.2).contains(&ratio), "{faster}");
    assert_eq!(of["best"]["factors"]["instance.service"], "exp:10ms", "{}", of["best"]);
    is_told_again(&place, &of, &["Effects", "instance.service"]);
    // No rate holds what a single request breaks.
    let slow = ["--set", "measure.slo=p90<5ms", "--new", "--quiet"];
    place.plimsoll(&[&["run", "plan.toml", "--simulated"], &slow[..]].concat()).ended_with(3);

    // Live: servers of the plan's own stand for each cell.
    let live = "[experiment]\n[factor]\n\"role.web.vars.workers\" = [1, 2]\n[testbed]\n\
                provider = 'process'\n[role.web]\nrecipe = 'target'\n\
                vars = { service = 'const:2ms' }\n\
                [target]\nurl = 'http://{{role.web.address}}:{{role.web.port}}/'\n\
                [measure]\nslo = 'p90<500ms'\n[search]\nmethod = 'ladder'\nwindow = '1s'\n\
                near_rtt = 'off'\nstart = '40/s'\nmax_rate = '40/s'\n[collect]\nfrom = ['host']\n";
    place.write("plan.toml", live);
    let told = place.plimsoll(&["check", "plan.toml"]).ended_with(0);
    told.prints(&["search, live", "role.web.vars.workers", "start it"]);
    let of = place.plimsoll(&["run", "plan.toml", "--json", "--out", "live"]).ran().json();
    whole(&of, 2, "live");
    for cell in cells(&of) {
        let number = cell["id"].as_u64().unwrap();
        let folder = place.runs("live").pop().unwrap().join(format!("cells/{number:04}"));
        let plan = std::fs::read_to_string(folder.join("plan.toml")).unwrap();
        let level = cell["factors"]["role.web.vars.workers"].as_str().unwrap().to_owned();
        assert!(plan.contains(&format!("workers = {level}")), "{plan}");
        assert!(folder.join("artifacts/capacity.json").is_file());
        // What the plan watches is kept beside the search.
        let series = Run::open(&folder).unwrap().series("node_cpu_seconds_total").unwrap();
        assert!(!series.is_empty(), "{number}");
    }
    place.plimsoll(&["testbed", "status"]).ended_with(0);
}

/// Begins the plan, and kills it when so many cells are done.
fn killed(place: &Place, plan: &str, after: u64) -> BTreeMap<String, Value> {
    place.write("plan.toml", plan);
    let run = ["run", "plan.toml", "--simulated", "--quiet", "--threads", "1"];
    let mut going: Going = place.start(place.command(PLIMSOLL, &run));
    wait_for("some cells", || {
        assert!(!going.has_ended(), "{}{}", going.out(), going.err());
        let done = place.plimsoll(&["status", "--json"]);
        (done.code() != Some(2))
            .then(|| done.json()["cells"]["done"].as_u64())?
            .filter(|n| *n >= after)
    });
    going.signal(Signal::KILL);
    going.wait();
    let left = place.plimsoll(&["analyse", "--json"]).ended_with(4).json();
    figures(&left)
}

/// The figures of cells that are done, by what each is.
fn figures(of: &Value) -> BTreeMap<String, Value> {
    let done = cells(of).into_iter().filter(|of| of["state"] == "done");
    done.map(|of| (format!("{} {}", of["factors"], of["replication"]), of["figures"].clone()))
        .collect()
}

#[test]
fn what_was_killed_goes_on_to_the_same_figures() {
    let longer = |plan: &str| plan.replace("replications = 2", "replications = 12");
    for (plan, from, to) in [
        (POOL, "20/s for 4m, 40/s for 4m", "20/s for 30m, 40/s for 30m"),
        (CLUSTERS, "for = '1m'", "for = '3m'"),
    ] {
        let plan = longer(plan).replace(from, to);
        let place = Place::weighing(Weight::COMPUTES);
        let before = killed(&place, &plan, 3);
        let exit = place.plimsoll(&["run", "plan.toml", "--simulated"]);
        assert!(exit.err.contains("going on with"), "{}", exit.err);
        let went_on = place.plimsoll(&["analyse", "--json"]).json();
        assert_eq!(went_on["experiment"]["complete"], true);
        assert_eq!(place.runs("runs").len(), 1);
        let went_on = figures(&went_on);
        assert!(before.iter().all(|(cell, of)| went_on[cell] == *of));
        let whole = ["run", "plan.toml", "--simulated", "--json", "--quiet", "--out", "whole"];
        let whole = place.plimsoll(&whole).json();
        assert_eq!(figures(&whole), went_on);
    }
}

#[test]
fn a_level_that_changes_is_another_cell_and_the_others_stay() {
    let place = Place::weighing(Weight::COMPUTES);
    let plan = POOL
        .replace("replications = 2", "replications = 40")
        .replace("20/s for 4m, 40/s for 4m", "20/s for 30m, 40/s for 30m");
    let before = killed(&place, &plan, 8);
    // What `eager` does is no matter to cells of `always`, nor is the plan's own boot time, as each
    // cell has one by its level; and a third level is of cells that there were not.
    let changed = plan
        .replace("kind = 'threshold'", "kind = 'threshold'\ndatapoints = 3")
        .replace("service = 'exp:70ms'", "service = 'exp:70ms'\nboot = 'const:1m'")
        .replace("'const:3m']", "'const:3m', 'const:5m']")
        .replace("replications = 40", "replications = 2");
    place.write("plan.toml", changed);
    place.plimsoll(&["run", "plan.toml", "--simulated"]).ended_with(2).says(&["--adopt"]);
    let adopted = place.plimsoll(&["run", "plan.toml", "--simulated", "--adopt", "--quiet"]);
    let folder = place.run();
    let of = place.plimsoll(&["analyse", "--json"]).json();
    assert_eq!(of["experiment"]["cells_done"], 24, "{}", adopted.err);
    let after = figures(&of);
    let aside = std::fs::read_dir(folder.join("cells")).unwrap();
    let aside =
        aside.filter(|of| of.as_ref().unwrap().file_name().to_string_lossy().contains(".cut-"));
    assert!(aside.count() > 0, "cells of the policy that has changed are set aside");
    let (always, eager): (Vec<_>, Vec<_>) = before
        .iter()
        .filter(|(cell, _)| after.contains_key(*cell))
        .partition(|(cell, _)| cell.contains("always"));
    assert!(!always.is_empty() && !eager.is_empty(), "{before:?}");
    assert!(
        always.iter().all(|(cell, of)| after[*cell] == **of),
        "a cell that was equal ran again"
    );
    assert!(eager.iter().any(|(cell, of)| after[*cell] != **of));
}

#[test]
fn a_changed_level_of_a_named_factor_leaves_the_other_levels() {
    let place = Place::weighing(Weight::COMPUTES);
    let plan = |large: &str| {
        format!(
            "seed = 4\n[experiment]\nreplications = 60\nrespond = ['rate']\n[factor.crowd]\n\
             small = {{ \"load.rate\" = '20/s' }}\nlarge = {{ {large} }}\n\
             [target]\nurl = 'http://127.0.0.1:9/'\n[load]\nrate = '20/s'\nfor = '30m'\n\
             arrivals = 'poisson'\n[instance]\nservice = 'exp:10ms'\n"
        )
    };
    let before = killed(&place, &plan("\"load.rate\" = '50/s'"), 4);
    let changed = plan("\"load.rate\" = '60/s'").replace("replications = 60", "replications = 1");
    place.write("plan.toml", changed);
    place.plimsoll(&["run", "plan.toml", "--simulated", "--adopt", "--quiet"]).ended_with(0);
    let after = figures(&place.plimsoll(&["analyse", "--json"]).ended_with(0).json());
    let of = |all: &BTreeMap<String, Value>, crowd: &str| {
        all.iter().find(|(cell, _)| cell.contains(crowd)).unwrap().1.clone()
    };
    assert_eq!(after.len(), 2);
    assert_eq!(of(&after, "small"), of(&before, "small"), "a cell that was equal ran again");
    let rate = of(&after, "large")["rate_mean"].as_f64().unwrap();
    assert!((55.0..65.0).contains(&rate), "{rate}");
    // The seconds of the cell that stayed are those of before: it kept its run.
    assert!(place.run().join("cells/0001").is_dir() || place.run().join("cells/0002").is_dir());
}

#[test]
fn what_cannot_be_is_told_by_name() {
    let place = Place::weighing(Weight::WAITS);
    place.write("shop.csv", "time_s,object,size,client\n0,/home,5000,a\n1,/logo,20000,b\n");
    let recorded = "[trace]\nfile = 'shop.csv'\n";
    let tuned = format!("{POOL}[tune]\nvary = {{ upper = '60..70/5' }}\npolicy = 'eager'\n");
    let search = "[experiment]\n[target]\nurl = 'http://127.0.0.1:9/'\n[search]\n[instance]\nservice = 'exp:1ms'\n";
    for (plan, says) in [
        (tuned, &["[tune]", "[factor]"][..]),
        (
            format!("[factor]\n\"cache.size\" = ['1%', '2%']\n{recorded}[cache]\n"),
            &["`factor` does not go with [cache]"],
        ),
        (
            format!("[experiment]\nreplications = 2\n{recorded}[cluster]\nsize = '50%'\n"),
            &["`replications` goes with a [workload]"],
        ),
        (
            CLUSTERS
                .replace("nodes = 2", "nodes = [2, 3]")
                .replace("cluster.size", "cluster.nodes"),
            &["`nodes` of clusters has levels in [factor] and several in [cluster]"],
        ),
        (POOL.replace("policy.eager.upper", "policy.eager.uper"), &["uper", "did you mean upper?"]),
        (POOL.replace("instance.boot", "role.web.cpu"), &["simulate the factor `role.web.cpu`"]),
        (
            POOL.replace("replications = 2", "design = 'fractional 2^(4-1)'"),
            &["4 factors with two levels each", "`policy` with 2"],
        ),
        (
            POOL.replace(
                "replications = 2",
                "constraints = ['policy = eagre needs instance.boot = const:10s']",
            ),
            &["a level of `policy`", "did you mean `eager`?"],
        ),
        (
            search.replace("[search]", "[search]\nrestarts = 2"),
            &["series of searches", "`replications`"],
        ),
        (
            POOL.replace("instance.boot", "seed").replace("'const:10s', 'const:3m'", "1, 2"),
            &["not `seed`"],
        ),
    ] {
        place.write("plan.toml", &plan);
        let refused = place.plimsoll(&["check", "plan.toml", "--simulated"]).ended_with(2);
        refused.says(says);
        place.plimsoll(&["run", "plan.toml", "--simulated"]).ended_with(2);
        assert!(!place.path("runs").exists(), "{plan}");
    }
}

#[test]
fn factors_are_executed_by_run_alone() {
    let place = Place::weighing(Weight::WAITS);
    // Commands of one kind would leave the factors out.
    place.write(
        "load.toml",
        "[factor]\n\"load.users\" = [1, 2]\n[load]\nusers = 1\nfor = '1s'\n\
                              [target]\nurl = 'http://127.0.0.1:9/'\n",
    );
    place.write("search.toml", SEARCH);
    place.write("pool.toml", POOL);
    place.write("clusters.toml", CLUSTERS);
    for command in [
        &["load", "load.toml"][..],
        &["capacity", "search.toml"],
        &["simulate", "pool.toml"],
        &["cache", "simulate", "clusters.toml"],
    ] {
        let hint = format!("plimsoll run {}", command.last().unwrap());
        place.plimsoll(command).ended_with(2).says(&["[factor]", &hint]);
    }
    // Live, a pool and caches have nothing that would start them, with factors too.
    for plan in [POOL, CLUSTERS] {
        place.write("plan.toml", plan);
        place.plimsoll(&["run", "plan.toml"]).ended_with(2).says(&["[testbed]", "--simulated"]);
    }
}

#[test]
fn replications_of_a_pool_are_added_until_a_figure_is_known() {
    let place = Place::weighing(Weight::COMPUTES);
    let plan = POOL.replace("replications = 2", "until = 'cost within 20%'\nat_most = 8");
    place.write("plan.toml", &plan);
    let told = check(&place);
    assert_eq!((cells(&told).len(), &told["most_cells"]), (40, &64.into()), "{told}");
    let of = run(&place, 0);
    let until = of["experiment"]["until"].as_str().unwrap();
    assert!(until.starts_with("cost within 20% was"), "{until}");
    assert!(cells(&of).len() >= 40 && cells(&of).len().is_multiple_of(8));
}
