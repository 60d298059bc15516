//! `plimsoll cache simulate PLAN`: clusters of caches, every combination of their levels, what is
//! wrong with a plan.

use crate::place::Place;
use plimsoll_testing::Weight;
use serde_json::Value;

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
3,/shoes,9000,b
4,/logo,20000,b
5,/home,5000,b
";

const PLAN: &str = "\
name = 'two of a shop'
[trace]
file = 'shop.csv'
[cluster]
nodes = 2
size = '100%'
[cluster.mesh]
protocol = ['none', 'icp', 'digest:every=2s']
[cluster.hierarchy]
parents = 2
protocol = ['none', 'carp']
spread = ['round-robin', 'hash']
";

fn place() -> Place {
    let place = Place::weighing(Weight::COMPUTES);
    place.write("shop.csv", SHOP);
    place.write("plan.toml", PLAN);
    place
}

fn simulated(place: &Place, more: &[&str]) -> Value {
    let all = [&["cache", "simulate", "plan.toml", "--json"], more].concat();
    place.plimsoll(&all).ended_with(0).json()
}

fn number(of: &Value) -> u64 {
    of.as_u64().unwrap_or_else(|| panic!("{of}"))
}

#[test]
fn every_combination_is_a_result_that_adds_up() {
    let place = place();
    let result = simulated(&place, &[]);
    assert_eq!((&result["schema"], &result["name"]), (&1.into(), &"two of a shop".into()));
    assert_eq!((&result["trace"]["requests"], &result["seed"]), (&10.into(), &1.into()));
    let results = result["results"].as_array().unwrap();
    let named: Vec<_> = results
        .iter()
        .map(|cell| {
            let level = |key: &str| cell["levels"][key].as_str().unwrap();
            (cell["cluster"].as_str().unwrap(), level("protocol"), level("spread"))
        })
        .collect();
    let wanted = [
        ("mesh", "none", "round-robin"),
        ("mesh", "icp", "round-robin"),
        ("mesh", "digest:every=2s", "round-robin"),
        ("hierarchy", "none", "round-robin"),
        ("hierarchy", "none", "hash"),
        ("hierarchy", "carp", "round-robin"),
        ("hierarchy", "carp", "hash"),
    ];
    assert_eq!(named, wanted);
    for cell in results {
        let sum = |of: &str| cell[of].as_object().unwrap().values().map(number).sum::<u64>();
        assert_eq!((number(&cell["requests"]), sum("answers")), (10, 10), "{cell}");
        assert_eq!((number(&cell["requested_bytes"]), sum("answered_bytes")), (105_000, 105_000));
        assert_eq!(cell["misses"], cell["answers"]["origin"]);
        let nodes = cell["nodes"].as_array().unwrap();
        assert_eq!(nodes.iter().map(|node| number(&node["requests"])).sum::<u64>(), 10);
        let parents = if cell["cluster"] == "mesh" { 0 } else { 2 };
        assert_eq!(cell["parents"].as_array().unwrap().len(), parents);
        let course = cell["course"].as_array().unwrap();
        assert_eq!(course.iter().map(|part| number(&part["requests"])).sum::<u64>(), 10);
        assert!(cell["response_ms"]["mean"].as_f64().unwrap() > 0.0);
        let is = |key: &str, level: &str| cell["levels"][key] == level;
        assert_eq!(cell["moves"]["nodes"].is_object(), is("spread", "hash"));
        assert_eq!(cell["moves"]["parents"].is_object(), is("protocol", "carp"));
    }
    let misses = |cell: usize| number(&results[cell]["misses"]);
    // All is kept, so an object comes once from the origin where siblings are asked, where each has
    // one node, or where each has one parent.
    assert_eq!([misses(1), misses(4), misses(5), misses(6)], [4; 4]);
    assert!(misses(0) > 4);
    assert_eq!(number(&results[1]["messages"]["queries"]), misses(0));
}

#[test]
fn flags_win_and_print_a_plan_that_means_the_same() {
    let place = place();
    let set = ["--set", "cluster.mesh.policy=lru,gdsf", "--set", "seed=9"];
    let result = simulated(&place, &set);
    assert_eq!((result["results"].as_array().unwrap().len(), &result["seed"]), (10, &9.into()));
    let all = [&["cache", "simulate", "plan.toml", "--print-plan"], &set[..]].concat();
    let printed = place.plimsoll(&all).ended_with(0).out;
    place.write("printed.toml", &printed);
    let again = ["cache", "simulate", "printed.toml", "--json"];
    let again = place.plimsoll(&again).ended_with(0).json();
    let without_times = |of: &Value| {
        let mut results = of["results"].clone();
        for cell in results.as_array_mut().unwrap() {
            cell["cpu_s"] = Value::Null;
        }
        results
    };
    assert_eq!(without_times(&again), without_times(&result));
    place.write("other.csv", "object\n1\n2\n1\n");
    let other = simulated(&place, &["--trace", "other.csv", "--set", "cluster.mesh.protocol=icp"]);
    assert_eq!(other["trace"]["requests"], 3);
}

#[test]
fn requests_are_made_up_again_and_again() {
    let place = place();
    let plan = "[workload]\nrecurrence = '70%'\n[load]\nrate = '20/s'\nfor = '100s'\n\
                [cluster]\nnodes = 2\nsize = '20%'\nprotocol = ['none', 'icp']\n";
    place.write("plan.toml", plan);
    let result = simulated(&place, &["--seeds", "4"]);
    assert_eq!(
        (&result["trace"]["format"], &result["trace"]["requests"]),
        (&"synthetic".into(), &2000.into())
    );
    let results = result["results"].as_array().unwrap();
    let figure = |cell: usize, of: &str, name: &str| {
        let of = &results[cell]["replications"][of][name];
        let ends = [&of["ci95"][0], &of["mean"], &of["ci95"][1]];
        ends.map(|end| end.as_f64().unwrap())
    };
    for (number, cell) in results.iter().enumerate() {
        assert_eq!(cell["replications"]["count"], 4);
        let [low, mean, high] = figure(number, "figures", "miss_ratio");
        assert!(0.3 < low && low < mean && mean < high && high < 0.9, "{low} {mean} {high}");
    }
    let itself = figure(0, "difference_from_first", "miss_ratio");
    assert!(itself.iter().all(|end| end.abs() < 1e-15), "{itself:?}");
    // What a sibling holds does not come from the origin: in each replication, so in all.
    let [_, mean, high] = figure(1, "difference_from_first", "miss_ratio");
    assert!(mean < high && high < 0.0, "{mean} {high}");
    // The first of four is the only one of one; another seed makes up other requests.
    let one = simulated(&place, &[]);
    let without_times = |of: &Value| {
        let mut cell = of["results"][0].clone();
        cell["cpu_s"] = Value::Null;
        cell.as_object_mut().unwrap().remove("replications");
        cell
    };
    assert_eq!(without_times(&one), without_times(&result));
    let other = simulated(&place, &["--set", "seed=2"]);
    assert_ne!(without_times(&one)["course"], without_times(&other)["course"]);
    let refused = place.plimsoll(&["cache", "simulate", "plan.toml", "--seeds", "0"]);
    assert!(refused.ended_with(2).err.contains("--seeds"));
}

/// Every field of a result, as `a`, `b.c`.
fn fields(of: &Value, into: &mut Vec<String>) {
    match of {
        Value::Object(fields_of) => {
            for (name, value) in fields_of {
                into.push(name.clone());
                if name != "levels" {
                    fields(value, into);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| fields(item, into)),
        _ => {}
    }
}

#[test]
fn every_field_is_in_the_manual() {
    let place = place();
    let result = simulated(&place, &[]);
    let mut names = Vec::new();
    fields(&result, &mut names);
    let page = |name: &str| {
        let path = format!("{}/../../docs/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).unwrap()
    };
    let pages = [page("clusters.md"), page("cache.md")].concat();
    names.sort();
    names.dedup();
    let known = |name: &String| {
        [format!("`{name}`"), format!("`{name}[]`")].iter().any(|text| pages.contains(text))
    };
    let lacking: Vec<_> = names.iter().filter(|name| !known(name)).collect();
    assert!(lacking.is_empty(), "docs/clusters.md says nothing of {lacking:?}");
    assert!(names.len() > 40, "{names:?}");
}

#[test]
fn the_table_has_a_row_a_cluster() {
    let place = place();
    let told = place.plimsoll(&["cache", "simulate", "plan.toml", "--quiet"]).ended_with(0).out;
    let row = |name: &str| told.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    for name in ["mesh · icp ", "mesh · digest:every=2s ", "hierarchy · carp · hash "] {
        assert!(row(name).contains('%'), "{told}");
    }
}

#[test]
fn the_report_has_every_cluster_and_is_called_after_the_plan() {
    let place = place();
    let all = ["cache", "simulate", "plan.toml", "--quiet", "--report", "clusters.html"];
    let told = place.plimsoll(&all).ended_with(0).err;
    assert!(told.contains("report: clusters.html"), "{told}");
    let page = std::fs::read_to_string(place.path("clusters.html")).unwrap();
    for text in [
        "<h1>two of a shop</h1>",
        "10 requests of shop.csv to 4 objects with 41 kB, simulated through 7 clusters",
        "mesh · digest:every=2s",
        "hierarchy · carp · hash",
        "id=\"moves-table\"",
        "protocol = carp, spread = hash",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!place.path("clusters.html.tmp").exists());
    let unnamed = PLAN.split_once('\n').unwrap().1;
    place.write("plan.toml", unnamed);
    place.plimsoll(&all).ended_with(0);
    let page = std::fs::read_to_string(place.path("clusters.html")).unwrap();
    assert!(page.contains("<h1>plan</h1>"));
}

#[test]
fn what_is_wrong_with_a_plan_is_said_in_its_place() {
    let place = place();
    let refused = |more: &[&str], wanted: &str| {
        let all = [&["cache", "simulate", "plan.toml"], more].concat();
        let told = place.plimsoll(&all).ended_with(2).err;
        assert_eq!(told.matches("error:").count(), 1, "{told}");
        assert!(told.contains(wanted), "{told}");
    };
    let carp = ["--set", "cluster.mesh.protocol=icp,carp"];
    refused(&carp, "a hierarchy for CARP, which chooses among parents, found `carp`");
    refused(&["--set", "cluster.mesh.policy=belady"], "does not need the future");
    refused(&["--set", "cluster.mesh.policy=lur"], "did you mean lru?");
    refused(&["--set", "cluster.mesh.protocol=digest:bits=0"], "1 to 64 as bits");
    refused(&["--set", "cluster.size=0"], "nothing fits into a cache of zero");
    refused(&["--set", "cluster.size=9223372036854775808"], "2^63 - 1");
    refused(&["--set", "cluster.nodes=0"], "from 1 to 256");
    refused(&["--set", "cluster.nodes=255"], "at most 256 nodes and parents together");
    refused(&["--set", "cluster.mesh.parent_size=1GB"], "`parents` beside it");
    refused(&["--set", "cluster.size=0.001%"], "at least 1 byte");
    refused(&["--trace", "none.csv"], "none.csv");
    refused(&["--policy", "lru"], "--policy");
    place.write("other.csv", "object\n1\n2\n1\n");
    let other = |set: &str, wanted: &str| refused(&["--trace", "other.csv", "--set", set], wanted);
    other("cluster.mesh.protocol=digest", "a trace with times for digests");
    place.write("timed.csv", "time,object\n1,1\n2,2\n3,1\n");
    let sticky = ["--trace", "timed.csv", "--set", "cluster.mesh.spread=sticky"];
    refused(&sticky, "a trace with clients to spread them sticky");
    // A plan of a load is none of caches, and the other way round.
    let told = place.plimsoll(&["load", "plan.toml"]).ended_with(2).err;
    assert!(told.contains("`plimsoll cache simulate PLAN` reads such plans"), "{told}");
}
