//! A run keeps what its plan reads: it is known by that, and executed again by it where the files
//! have changed since or are on another machine.

use crate::place::Place;
use crate::recording::Recording;
use plimsoll_testing::Weight;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const SCENARIO: &str = "\
[data.people]
file = \"data/people.csv\"
[[step]]
name = \"hello\"
get = \"/{{people.name}}\"
";

/// A load of one user by a scenario with data.
fn load(place: &Place, url: &str, out: &str) -> (Value, PathBuf) {
    let load = ["load", url, "--scenario", "s.toml", "--users", "1", "-n", "1", "--json"];
    let json = place.plimsoll(&[&load[..], &["--out", out]].concat()).ran().json();
    let run = place.path(out).join(json["run"]["id"].as_str().unwrap());
    (json, run)
}

/// What a server was asked for since.
fn asked(server: &Recording, before: usize) -> Vec<String> {
    server.asked()[before..].iter().map(|one| one.line().to_owned()).collect()
}

#[test]
fn a_load_is_repeated_by_what_it_read() {
    let place = Place::new();
    let server = Recording::start();
    std::fs::create_dir(place.path("data")).unwrap();
    place.write("data/people.csv", "name\nann\n");
    place.write("s.toml", SCENARIO);
    let (json, run) = load(&place, &server.url(), "first");
    let plan = run.join("plan.toml");
    let again = |out: &str| {
        let before = server.asked().len();
        let plan = plan.to_str().unwrap();
        let done = place.plimsoll(&["load", plan, "--out", out, "--json"]).ran();
        (asked(&server, before), done)
    };
    let (lines, done) = again("same");
    assert_eq!(lines, ["GET /ann"]);
    assert!(!done.err.contains("the copy"), "{}", done.err);
    assert_eq!(done.json()["run"]["inputs_sha256"], json["run"]["inputs_sha256"]);

    // Another text of the data is another run, and the kept one stays as it is.
    place.write("data/people.csv", "name\nbob\n");
    let (other, _) = load(&place, &server.url(), "other");
    assert_ne!(other["run"]["inputs_sha256"], json["run"]["inputs_sha256"]);
    let (lines, done) = again("changed");
    assert_eq!(lines, ["GET /ann"]);
    done.says(&["people.csv has changed since the run", "the copy that the run kept is read"]);
    assert_eq!(done.json()["run"]["inputs_sha256"], json["run"]["inputs_sha256"]);

    // So it is where nothing of it is left, from wherever it is executed.
    std::fs::remove_dir_all(place.path("data")).unwrap();
    std::fs::remove_file(place.path("s.toml")).unwrap();
    let (lines, done) = again("gone");
    assert_eq!(lines, ["GET /ann"]);
    done.says(&["s.toml cannot be read here", "people.csv cannot be read here"]);
    let last = place.path("gone").join(done.json()["run"]["id"].as_str().unwrap());
    let names: Vec<String> = kept(&last);
    assert_eq!(names, ["1-s.toml", "2-people.csv", "inputs.json"]);
}

/// What a run keeps.
fn kept(run: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(run.join("inputs")).unwrap().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_run_knows_its_scenario_by_what_it_says() {
    let place = Place::new();
    let server = Recording::start();
    std::fs::create_dir(place.path("data")).unwrap();
    place.write("data/people.csv", "name\nann\n");
    let sum = |out: &str| {
        let (json, run) = load(&place, &server.url(), out);
        for file in ["plan.toml", "run.sqlite", "latency.hlog", "inputs/1-s.toml"] {
            let mode = std::fs::metadata(run.join(file)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{file}");
        }
        assert_eq!(std::fs::metadata(&run).unwrap().permissions().mode() & 0o777, 0o700);
        json["run"]["inputs_sha256"].as_str().unwrap().to_owned()
    };
    place.write("s.toml", SCENARIO);
    let first = sum("a");
    place.write("s.toml", SCENARIO.replace("get", "post"));
    assert_ne!(sum("b"), first);
    place.write("s.toml", SCENARIO);
    assert_eq!(sum("c"), first, "the same text is the same scenario");
    let plain = place.load(&[&server.url(), "--users", "1", "-n", "1", "--json"]).ran().json();
    assert!(plain["run"]["inputs_sha256"].is_null(), "{plain}");
}

#[test]
fn experiments_and_single_cells_are_repeated_by_what_they_read() {
    let place = Place::weighing(Weight::COMPUTES);
    let trace = |requests: u64| {
        let row = |at: u64| format!("{at},o{},{}\n", at * at % 37, 100 + at * at % 37);
        format!("time_s,object,size\n{}", (1..=requests).map(row).collect::<String>())
    };
    for (policies, out) in [("lru", "one"), ("lru,fifo", "two")] {
        place.write("trace.csv", trace(500));
        let simulate = ["cache", "simulate", "--size", "10%", "--quiet", "--out"];
        let of = ["--trace", "trace.csv", "--policy", policies];
        place.plimsoll(&[&simulate[..], &[out], &of].concat()).ended_with(0);
        let kept = std::fs::read_dir(place.path(out)).unwrap().flatten();
        let plan = kept.map(|entry| entry.path().join("plan.toml")).find(|plan| plan.is_file());
        let plan = plan.unwrap().display().to_string();
        let again = || {
            let done = place.plimsoll(&["cache", "simulate", &plan, "--out", "again", "--quiet"]);
            let done = done.ended_with(0);
            done.prints(&["500 requests"]);
            done
        };
        again();
        place.write("trace.csv", trace(99));
        again().says(&["trace.csv has changed since the run"]);
        std::fs::remove_file(place.path("trace.csv")).unwrap();
        again().says(&["trace.csv cannot be read here"]);
    }
}
