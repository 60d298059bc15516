//! Searches for a capacity repeated and compared: series with their gaps, resuming, prices, locks.

use crate::place::{Place, Target};
use crate::program::{Done, PLIMSOLL, wait_for};
use plimsoll_testing::Weight;
use rustix::process::Signal;
use serde_json::Value;
use std::path::PathBuf;

/// Searches of two windows of a second: the SLO holds at the greatest rate that is allowed.
#[rustfmt::skip]
pub(crate) const SHORT: [&str; 12] = [
    "--search", "ladder", "--window", "1s", "--near-rtt", "off", "--slo", "p90<500ms",
    "--start", "40/s", "--max-rate", "40/s",
];

/// A target that takes far more than is offered.
pub(crate) fn easy(place: &Place) -> Target {
    place.target(&["--service-time", "const:1ms", "--workers", "100"])
}

/// What came of a search, or of several.
pub(crate) fn searched(place: &Place, args: &[&str]) -> Done {
    place.plimsoll(&[&["capacity"], args].concat()).ended_with(0)
}

/// The path of a series, without the number of a run.
pub(crate) fn path(place: &Place, result: &Value) -> String {
    place.path("runs").join(result["series"].as_str().unwrap()).to_str().unwrap().to_owned()
}

#[test]
fn a_failed_search_is_a_gap_and_an_interrupt_ends_the_series() {
    let place = Place::measuring();
    let target = easy(&place);
    let args = ["--repeat", "9", "--every", "2s", "--quiet"];
    let url = target.url();
    let mut command = place.command(PLIMSOLL, &[&["capacity", url.as_str()], &SHORT[..]].concat());
    command.args(args);
    let mut going = place.start(command);
    let estimates = || going_file(&place).map(|file| file["runs"].as_array().unwrap().clone());
    wait_for("a search", || {
        assert!(!going.has_ended(), "{}", going.err());
        estimates().filter(|runs| !runs.is_empty())
    });
    target.end();
    let gap =
        wait_for("a gap", || estimates()?.into_iter().find(|run| run["estimate_per_s"].is_null()));
    assert!(["failed", "target_lost"].contains(&gap["ended"].as_str().unwrap()), "{gap}");
    going.signal(Signal::INT);
    let done = going.wait().ended_with(4);
    assert!(done.err.contains("go on with: plimsoll capacity --resume runs/"), "{}", done.err);
    assert!(done.out.contains("without an estimate"), "{}", done.out);
    let file = going_file(&place).unwrap();
    let (searches, found) = (&file["summary"]["searches"], &file["summary"]["found"]);
    assert!(searches.as_u64() > found.as_u64(), "{file}");
}

#[test]
fn a_series_that_was_killed_goes_on() {
    let place = Place::measuring();
    let target = easy(&place);
    let url = target.url();
    let args = [&["capacity", url.as_str(), "--repeat", "3", "--json"], &SHORT[..]].concat();
    let mut going = place.start(place.command(PLIMSOLL, &args));
    let second = wait_for("the second search", || {
        assert!(!going.has_ended(), "{}", going.err());
        let folder =
            place.runs("runs").into_iter().find(|run| run.to_string_lossy().ends_with("-2"))?;
        folder.join("artifacts/windows.jsonl").is_file().then_some(folder)
    });
    going.signal(Signal::KILL);
    going.wait();
    let path = second.to_str().unwrap().strip_suffix("-2").unwrap().to_owned();
    // What failed on a busy machine is a gap here too, so any code but that of wrong use will do.
    let done = place.plimsoll(&["capacity", "--resume", &path, "--json"]);
    let result = done.json();
    let runs = result["runs"].as_array().unwrap();
    let numbers: Vec<u64> = runs.iter().map(|run| run["number"].as_u64().unwrap()).collect();
    // The killed one is a gap, and another is made in its place.
    assert_eq!(numbers, [1, 2, 3, 4], "{result}");
    assert_eq!(
        (&runs[1]["ended"], &runs[1]["estimate_per_s"]),
        (&"incomplete".into(), &Value::Null)
    );
    assert_eq!(runs[1]["run"].as_str(), second.file_name().unwrap().to_str());
    assert!(runs[3]["run"].is_string() && result["repeat"] == 3, "{result}");
    // So it has its three now.
    let done = place.plimsoll(&["capacity", "--resume", &path]).ended_with(2);
    done.says(&["it has its 3 searches"]);
}

/// The series' file, where there is one.
fn going_file(place: &Place) -> Option<Value> {
    let entries = std::fs::read_dir(place.path("runs")).ok()?;
    let paths = entries.flatten().map(|entry| entry.path());
    let file = paths.into_iter().find(|path| path.to_string_lossy().ends_with(".series.json"))?;
    serde_json::from_str(&std::fs::read_to_string(file).ok()?).ok()
}

#[test]
fn two_searches_never_load_one_target() {
    let place = Place::measuring();
    let target = place.target(&["--service-time", "exp:4ms"]);
    let url = target.url();
    let first = ["capacity", &url, "--slo", "p90<200ms", "--start", "5/s", "--precision", "1%"];
    let going = place.start(place.command(PLIMSOLL, &first));
    wait_for("the first window", || going.err().contains("ramp").then_some(()));
    let second = place.plimsoll(&["capacity", &url]).ended_with(2);
    second.says(&["another search (process", "hint: wait for its end"]);
    // Nor does another one use this machine meanwhile: it waits for its turn.
    let other = easy(&place);
    let other_url = other.url();
    let third = [&["capacity", other_url.as_str()], &SHORT[..]].concat();
    let waiting = place.start(place.command(PLIMSOLL, &third));
    wait_for("another search to wait", || waiting.err().contains("waiting").then_some(()));
    let who = format!("another search (process {}, of {})", going.id(), target.address());
    assert!(waiting.err().contains(&who), "{who} in {}", waiting.err());
    assert!(!waiting.err().contains("ramp"), "{}", waiting.err());
    going.signal(Signal::KILL);
    going.wait();
    waiting.wait().ran();
    // The lock has gone with its process.
    let again = place.plimsoll(&[&["capacity", url.as_str()], &SHORT[..]].concat());
    assert_ne!(again.code(), Some(2), "{}", again.err);
}

#[test]
fn a_search_gets_its_turn_between_those_of_a_series() {
    let place = Place::measuring();
    let (target, other) = (easy(&place), easy(&place));
    let (url, other_url) = (target.url(), other.url());
    let series = [&["capacity", url.as_str(), "--repeat", "50"], &SHORT[..]].concat();
    let mut going = place.start(place.command(PLIMSOLL, &series));
    wait_for("the first search", || going.err().contains("search 1 of 50").then_some(()));
    let other = [&["capacity", other_url.as_str()], &SHORT[..]].concat();
    let done = place.plimsoll(&other);
    assert!(!going.has_ended(), "the series goes on: {}", going.err());
    assert!(matches!(done.code(), Some(0 | 4 | 5)), "{}", done.err);
    assert!(done.err.contains("waiting for its end"), "{}", done.err);
    going.signal(Signal::KILL);
    going.wait();
}

/// A series of made-up estimates, as if it had been searched.
fn made(place: &Place, id: &str, name: &str, estimates: &[Option<f64>]) -> String {
    let run = |(at, estimate): (usize, &Option<f64>)| {
        serde_json::json!({
            "number": at + 1,
            "run": estimate.map(|_| format!("{id}-{}", at + 1)),
            "started": format!("2026-10-01T{:02}:{:02}:00.000Z", at / 4 % 24, at % 4 * 15),
            "started_unix_us": 1_790_812_800_000_000_u64 + 900_000_000 * at as u64,
            "late_s": 0.0,
            "ended": if estimate.is_some() { "found" } else { "target_lost" },
            "estimate_per_s": estimate,
            "ci95": null,
            "why": null,
        })
    };
    let runs: Vec<Value> = estimates.iter().enumerate().map(run).collect();
    let file = serde_json::json!({
        "schema": 1, "warnings": [], "series": id, "name": name, "target": "http://h/",
        "method": "adaptive", "slo": "p90<150ms", "every_s": 900.0, "repeat": runs.len(),
        "price_per_hour": null, "runs": runs,
        "summary": { "searches": 0, "found": 0, "estimate_per_s": null, "cost": null,
            "changes": [], "dips": [] },
        "plan": "", "search": [],
    });
    let path: PathBuf = place.write(&format!("{id}.series.json"), file.to_string());
    path.to_str().unwrap().strip_suffix(".series.json").unwrap().to_owned()
}

/// 28 give or take, by a pattern.
fn about(level: f64, at: usize) -> Option<f64> {
    Some(level * (1.0 + [0.02, -0.01, 0.0, -0.03, 0.01, 0.015, -0.005][at % 7]))
}

#[test]
fn groups_are_compared_with_their_cost_and_their_dips() {
    let place = Place::weighing(Weight::WAITS);
    let dipped = |at: usize| about(if (40..52).contains(&at) { 19.6 } else { 28.0 }, at);
    let mut small: Vec<Option<f64>> = (0..96).map(dipped).collect();
    small[70] = None;
    let large: Vec<Option<f64>> = (0..96).map(|at| about(56.0, at)).collect();
    let (a, b) = (made(&place, "s1", "small", &small), made(&place, "s2", "large", &large));
    let args = ["--price", "0.17/h", "--price", "large=0.34/h"];
    let compare = |more: &[&str]| {
        place.plimsoll(&[&["capacity", "compare", &a, &b], &args[..], more].concat())
    };
    let found = compare(&["--json"]).ended_with(0).json();
    let groups = found["groups"].as_array().unwrap();
    assert_eq!((&groups[0]["group"], &groups[1]["group"]), (&"small".into(), &"large".into()));
    assert_eq!((&groups[0]["searches"], &groups[0]["found"]), (&96.into(), &95.into()));
    let dip = &groups[0]["dips"][0];
    assert_eq!(
        (&dip["number"], &dip["searches"], &dip["length_s"]),
        (&41.into(), &12.into(), &10800.0.into())
    );
    assert!((dip["depth"].as_f64().unwrap() - 0.3).abs() < 0.01, "{dip}");
    assert!((dip["recovery"].as_f64().unwrap() - 1.0).abs() < 0.05, "{dip}");
    assert_eq!(groups[1]["dips"].as_array().unwrap().len(), 0);
    for (group, price) in groups.iter().zip([0.17, 0.34]) {
        let median = group["estimate_per_s"]["median"].as_f64().unwrap();
        let cost = &group["cost"];
        assert_eq!(cost["price_per_hour"], price);
        let per_request = cost["per_request"].as_f64().unwrap();
        assert!((per_request - price / (median * 3600.0)).abs() < 1e-15, "{cost}");
        assert!((cost["per_million"].as_f64().unwrap() - per_request * 1e6).abs() < 1e-9);
    }

    // Held against the first, the second is better; the other way round it is worse.
    let judged = compare(&["--json", "--tolerance", "5%"]).ended_with(0).json();
    assert_eq!(judged["comparison"]["worse"], false, "{}", judged["comparison"]);
    let turned = ["capacity", "compare", &b, &a, "--junit", "capacity.xml"];
    place.plimsoll(&turned).ended_with(3).prints(&["B is worse: small: estimate × 0."]);
    let junit = std::fs::read_to_string(place.path("capacity.xml")).unwrap();
    assert!(
        junit.contains("<failure") && junit.contains("capacity: B against A, small"),
        "{junit}"
    );

    let text = compare(&["--out", "page.html", "--title", "Two types"]).ended_with(0);
    for part in ["median", "quartile", "1.687e-6", "small fell by 29.9%", "(12 searches)"] {
        assert!(text.out.contains(part), "{part}: {}", text.out);
    }
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.contains("Two types") && page.contains("id=\"boxes\""));

    for (wrong, said) in [
        ("0.17", "a price per hour above zero"),
        ("0/h", "a price per hour above zero"),
        ("huge=0.17/h", "one of the groups small, large"),
        ("small=x/h", "without its sign"),
    ] {
        compare(&["--price", wrong]).ended_with(2).says(&["--price", said]);
    }
    place.plimsoll(&["capacity", "compare", &a, "--by", "colour"]).ended_with(2).says(&["--by"]);
    let nothing = place.plimsoll(&["capacity", "compare", "nowhere"]);
    nothing.ended_with(2).says(&["find the run or series nowhere"]);
    let gaps = made(&place, "s3", "", &[None, None]);
    place.plimsoll(&["capacity", "compare", &gaps]).ended_with(4);
    place.write("s4.series.json", "{\"schema\":1");
    let broken = place.path("s4");
    let broken = place.plimsoll(&["capacity", "compare", broken.to_str().unwrap()]);
    broken.ended_with(4).says(&["s4.series.json: EOF while parsing"]);
}

#[test]
fn wrong_series_say_what_is_wrong() {
    let place = Place::weighing(Weight::WAITS);
    let url = "http://127.0.0.1:9/";
    for (args, said) in [
        (vec![url, "--price", "0.17"], "write 0.17/h"),
        (vec![url, "--every", "15m"], "--repeat 96"),
        (vec![url, "--repeat", "2", "--every", "15"], "--every"),
        (vec![url, "--repeat", "0"], "repeat"),
        (vec![], "<TARGET>"),
        (vec![url, "--resume", "runs/x"], "cannot be used with"),
        (vec!["compare"], "<RUNS>"),
    ] {
        let done = place.plimsoll(&[&["capacity"], &args[..]].concat()).ended_with(2);
        assert!(done.err.contains(said), "{args:?}: {}", done.err);
    }
}

#[test]
fn completions_know_the_comparison() {
    let place = Place::weighing(Weight::WAITS);
    for shell in ["bash", "zsh", "fish"] {
        let script = place.plimsoll(&["completions", shell]).ended_with(0).out;
        assert!(script.contains("--by") || script.contains("-l by"), "{shell}");
        assert!(script.contains("every"), "{shell}");
    }
}
