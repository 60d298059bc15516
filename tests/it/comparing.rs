//! `--repeat` and `compare`: intervals come from replications, and from nothing else.

use crate::place::Place;
use serde_json::Value;
use std::path::Path;

/// Three replications of one load; the group's path. `None`, and said so, where one is not valid.
fn group(place: &Place, url: &str, out: &str) -> Option<String> {
    let arguments = [url, "--rate", "40/s", "--for", "1s", "--repeat", "3", "--out", out];
    for attempt in 1..=3 {
        let done = place.plimsoll(&[&["load", "--quiet"], &arguments[..]].concat());
        if done.code() == Some(0) {
            assert!(done.out.contains("3 replications, mean and 95% interval:"), "{}", done.out);
            let line = done.out.lines().find(|line| line.trim_start().starts_with("group"));
            return Some(line.unwrap().split_whitespace().nth(1).unwrap().to_owned());
        }
        done.ended_with(5);
        println!("attempt {attempt}: the machine was too busy to measure; once more");
    }
    println!("skipped: comparing needs a machine that is less busy");
    None
}

#[test]
fn replications_are_compared_and_single_runs_are_not() {
    let place = Place::alone();
    let (calm, slow) =
        (place.calm(), place.target(&["--service-time", "const:40ms", "--workers", "1000"]));
    let Some(a) = group(&place, &calm.url(), "a") else { return };
    let Some(b) = group(&place, &calm.url(), "b") else { return };
    let Some(c) = group(&place, &slow.url(), "c") else { return };

    let equal = place.plimsoll(&["compare", &a, &b, "--tolerance", "60%", "--json"]);
    let equal = equal.ended_with(0).json();
    assert_eq!(equal["worse"], false, "{equal}");
    let verdict = |comparison: &Value, name: &str| {
        let figures = comparison["figures"].as_array().unwrap();
        let figure = figures.iter().find(|figure| figure["figure"] == name).unwrap();
        figure["comparison"]["verdict"].as_str().unwrap_or("refused").to_owned()
    };
    let p50 = verdict(&equal, "response_p50");
    assert!(["not-worse", "undecided"].contains(&p50.as_str()), "{equal}");

    let slower = place.plimsoll(&["compare", &a, &c, "--tolerance", "20%", "--json"]);
    let slower = slower.ended_with(3).json();
    assert_eq!(slower["worse"], true);
    assert_eq!(verdict(&slower, "response_p50"), "worse", "{slower}");
    let text = place.plimsoll(&["compare", &a, &c, "--tolerance", "20%"]).ended_with(3).out;
    assert!(text.contains("worse") && text.contains("95% interval"), "{text}");
    // The other way round it is an improvement.
    place.plimsoll(&["compare", &c, &a, "--tolerance", "20%"]).ended_with(0);
    // Runs by name are the same as their groups.
    let of = |group: &str| (1..=3).map(|n| format!("{group}-{n}")).collect::<Vec<_>>();
    let (runs, others) = (of(&a), of(&c));
    let mut arguments = vec!["compare"];
    arguments.extend(runs.iter().map(String::as_str));
    arguments.push("--with");
    arguments.extend(others.iter().map(String::as_str));
    arguments.extend(["--tolerance", "20%", "--json"]);
    assert_eq!(place.plimsoll(&arguments).ended_with(3).json(), slower);

    refused(
        &place,
        &runs[0],
        &others[0],
        &["with 1 run as A", "at least 2 replications", "give no interval", "--repeat 5"],
    );
    refused(&place, &runs[0], "nowhere/run", &["find the run or group nowhere/run"]);
    refused(&place, &a, &runs[0], &["with 1 run as B"]);
    assert!(Path::new(&place.path(&runs[0])).is_dir());
    place.plimsoll(&["compare", &a]).ended_with(2).says(&["--with"]);
    place.plimsoll(&["compare", &a, &b, "--tolerance", "5"]).ended_with(2).says(&["--tolerance: "]);
}

#[track_caller]
fn refused(place: &Place, a: &str, b: &str, parts: &[&str]) {
    place.plimsoll(&["compare", a, b]).ended_with(2).says(parts);
}

#[test]
fn a_run_that_is_not_valid_is_not_compared() {
    let place = Place::new();
    let target = place.calm();
    let arguments = [&target.url(), "--rate", "20/s", "--for", "1s", "--repeat", "2"];
    place.load(&arguments);
    let runs = place.runs("runs");
    let runs = &runs[runs.len() - 2..];
    // As if the generator of one had been the limit, and of the other not, however busy it is.
    for (run, reasons) in runs.iter().zip([&[][..], &["the test says so"]]) {
        let file = run.join("summary.json");
        let summary = std::fs::read_to_string(&file).unwrap();
        let mut summary: Value = serde_json::from_str(&summary).unwrap();
        summary["run"]["valid"] = reasons.is_empty().into();
        summary["run"]["invalid_because"] = serde_json::json!(reasons);
        std::fs::write(&file, summary.to_string()).unwrap();
    }
    let [a, b] = [0, 1].map(|n| runs[n].to_str().unwrap());
    let done = place.plimsoll(&["compare", a, a, "--with", a, b]).ended_with(5);
    done.says(&["not valid: the test says so"]);
}
