//! `--repeat` and `compare`: intervals come from replications, and from nothing else.

use crate::place::Place;
use serde_json::Value;
use std::path::Path;

/// Three replications of one load; the group's path. What a busy machine makes invalid is said to
/// be valid: the figures that are compared lie further apart. A host that stands still for two
/// seconds touches less than half of the requests, and not their median.
fn group(place: &Place, url: &str, out: &str) -> String {
    // tidy: allow(waits, medians of three replications)
    let arguments = [url, "--rate", "40/s", "--for", "5s", "--repeat", "3", "--out", out];
    let done = place.load(&arguments).ran();
    assert!(done.out.contains("3 replications, mean and 95% interval:"), "{}", done.out);
    place.runs(out).iter().for_each(|run| say_valid(run, &[]));
    let line = done.out.lines().find(|line| line.trim_start().starts_with("group"));
    line.unwrap().split_whitespace().nth(1).unwrap().to_owned()
}

#[test]
fn replications_are_compared_and_single_runs_are_not() {
    let place = Place::new();
    // What a busy host adds to medians is less than these are.
    let target = |time: &str| place.target(&["--service-time", time, "--workers", "1000"]);
    let (calm, slow) = (target("const:200ms"), target("const:2s"));
    let [a, b] = ["a", "b"].map(|out| group(&place, &calm.url(), out));
    let c = group(&place, &slow.url(), "c");

    let equal =
        place.plimsoll(&["compare", &a, &b, "--figure", "p50", "--tolerance", "100%", "--json"]);
    let equal = equal.ended_with(0).json();
    assert_eq!(equal["worse"], false, "{equal}");
    let verdict = |comparison: &Value, name: &str| {
        let figures = comparison["figures"].as_array().unwrap();
        let figure = figures.iter().find(|figure| figure["figure"] == name).unwrap();
        figure["comparison"]["verdict"].as_str().unwrap_or("refused").to_owned()
    };
    let p50 = verdict(&equal, "response_p50");
    assert!(["not-worse", "undecided"].contains(&p50.as_str()), "{equal}");

    let slower =
        place.plimsoll(&["compare", &a, &c, "--figure", "p50", "--tolerance", "20%", "--json"]);
    let slower = slower.ended_with(3).json();
    assert_eq!(slower["worse"], true);
    assert_eq!(verdict(&slower, "response_p50"), "worse", "{slower}");
    let text = place
        .plimsoll(&["compare", &a, &c, "--figure", "p50", "--tolerance", "20%"])
        .ended_with(3)
        .out;
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
    arguments.extend(["--figure", "p50", "--tolerance", "20%", "--json"]);
    assert_eq!(place.plimsoll(&arguments).ended_with(3).json(), slower);

    refused(
        &place,
        &runs[0],
        &others[0],
        &["with 1 run as A", "at least 2 replications", "give no interval", "--repeat 5"],
    );
    refused(&place, &runs[0], "nowhere/run", &["find the run or group nowhere/run"]);
    refused(&place, &a, &others[0], &["with 1 run as B"]);
    refused(&place, &a, &runs[0], &["it stands on both sides"]);
    assert!(Path::new(&place.path(&runs[0])).is_dir());
    place.plimsoll(&["compare", &a]).ended_with(2).says(&["--with"]);
    place.plimsoll(&["compare", &a, &b, "--tolerance", "5"]).ended_with(2).says(&["--tolerance: "]);
}

#[track_caller]
fn refused(place: &Place, a: &str, b: &str, parts: &[&str]) {
    place.plimsoll(&["compare", a, b]).ended_with(2).says(parts);
}

/// Makes a run's summary say that it is valid, or not, on a host that was quiet, however busy the
/// machine was.
pub(crate) fn say_valid(run: &Path, reasons: &[&str]) {
    let file = run.join("summary.json");
    let summary = std::fs::read_to_string(&file).unwrap();
    let mut summary: Value = serde_json::from_str(&summary).unwrap();
    summary["run"]["valid"] = reasons.is_empty().into();
    summary["run"]["invalid_because"] = serde_json::json!(reasons);
    summary["host"]["steal_share"] = 0.0.into();
    summary["host"]["timer_late_us"]["p99"] = 100.0.into();
    std::fs::write(&file, summary.to_string()).unwrap();
}

#[test]
fn runs_that_say_nothing_together_are_not_compared() {
    let place = Place::new();
    let target = place.calm();
    let url = target.url();
    for rate in ["20/s", "30/s"] {
        let load = ["load", &url, "--quiet", "--rate", rate, "--for", "1s", "--repeat", "2"];
        place.plimsoll(&load).ran();
    }
    let runs = place.runs("runs");
    let [a, b, c, d] = [0, 1, 2, 3].map(|n| runs[n].to_str().unwrap());
    runs.iter().for_each(|run| say_valid(run, &[]));
    // A run is no replication of itself, by whatever path, and not its own other side.
    let twice = place.plimsoll(&["compare", a, a, "--with", c, d]).ended_with(2);
    twice.says(&["as two replications of A: it is one run"]);
    let dotted = format!("runs/./{}", runs[0].file_name().unwrap().to_str().unwrap());
    let both = place.plimsoll(&["compare", a, b, "--with", c, &dotted]).ended_with(2);
    both.says(&["it stands on both sides"]);
    // Different loads are compared, and said to be so; too few requests for a p90 leave it out.
    let done = place.plimsoll(&["compare", a, b, "--with", c, d, "--json", "--tolerance", "90%"]);
    let compared = done.ended_with(0).json();
    let warnings = compared["warnings"].to_string();
    assert!(warnings.contains("the loads differ") && warnings.contains("30/s"), "{warnings}");
    assert_eq!(compared["pairing"], "pairs", "{compared}");
    let done = place.plimsoll(&["compare", a, c, "--with", b, d, "--json", "--tolerance", "90%"]);
    assert_eq!(done.json()["pairing"], "independent");

    say_valid(&runs[3], &["the test says so"]);
    let done = place.plimsoll(&["compare", a, b, "--with", c, d]).ended_with(5);
    done.says(&["not valid: the test says so"]);
}

#[test]
fn replications_draw_by_seeds_of_their_own_in_step() {
    let place = Place::new();
    let target = place.calm();
    let url = target.url();
    let group = || {
        let load = ["load", &url, "--quiet", "--json", "--rate", "150/s", "--for", "1s"];
        let each = ["--arrivals", "poisson", "--repeat", "3", "--seed", "9"];
        place.plimsoll(&[&load[..], &each].concat()).ran().json()
    };
    let (one, other) = (group(), group());
    let of = |group: &Value, key: &str| -> Vec<u64> {
        let runs = group["runs"].as_array().unwrap();
        runs.iter()
            .map(|run| if key == "seed" { &run["run"]["seed"] } else { &run[key] })
            .map(|n| n.as_u64().unwrap())
            .collect()
    };
    let (seeds, offered) = (of(&one, "seed"), of(&one, "offered"));
    assert_eq!(seeds[0], 9, "the first has the plan's");
    assert!(seeds[0] != seeds[1] && seeds[1] != seeds[2], "{seeds:?}");
    assert!(
        offered.iter().any(|n| *n != offered[0]),
        "another day has another number: {offered:?}"
    );
    assert_eq!((seeds, offered), (of(&other, "seed"), of(&other, "offered")), "in step");
    // A run's own plan repeats it.
    let plan = place.runs("runs")[1].join("plan.toml");
    let again =
        place.plimsoll(&["load", plan.to_str().unwrap(), "--quiet", "--json", "--repeat", "1"]);
    assert_eq!(again.ran().json()["offered"], one["runs"][1]["offered"]);
}

#[test]
fn replications_print_one_document() {
    let place = Place::new();
    let target = place.calm();
    let url = target.url();
    let load =
        ["load", &url, "--quiet", "--json", "--rate", "40/s", "--for", "1s", "--name", "both"];
    let group = place.plimsoll(&[&load[..], &["--repeat", "2"]].concat());
    let code = group.code();
    let group = group.ran().json();
    assert_eq!(group["schema"], 1);
    assert_eq!((&group["group"]["name"], &group["group"]["repeat"]), (&"both".into(), &2.into()));
    let runs = group["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    runs.iter().for_each(crate::json::assert_sums);
    let valid = runs.iter().all(|run| run["run"]["valid"] == true);
    assert_eq!(group["group"]["valid"], valid, "{group}");
    assert_eq!(code, Some(if valid { 0 } else { 5 }), "{group}");
    let id = group["group"]["id"].as_str().unwrap();
    assert_eq!(runs[1]["run"]["id"], format!("{id}-2"));
    let mean = &group["figures"]["rate_mean"];
    let rates = [0, 1].map(|run: usize| runs[run]["rate_mean"].as_f64().unwrap());
    let apart = mean["mean"].as_f64().unwrap() - rates.iter().sum::<f64>() / 2.0;
    assert!(apart.abs() < 1e-9 && mean["n"] == 2, "{rates:?} {group}");
    assert!(mean["ci95"].is_array(), "{group}");
    // Forty requests are too few for a p99.
    let p99 = &group["figures"]["response_us.p99"];
    assert_eq!((&p99["mean"], &p99["ci95"], &p99["n"]), (&Value::Null, &Value::Null, &0.into()));

    // Nobody listens: there is a document all the same, of one and of several.
    let nobody =
        ["load", "http://127.0.0.1:1/", "--quiet", "--json", "--rate", "5/s", "--for", "1s"];
    let done = place.plimsoll(&nobody).ended_with(4);
    done.says(&["Connection refused"]);
    let document = done.json();
    assert_eq!(document["run"], Value::Null, "{document}");
    assert!(document["warnings"][0].as_str().unwrap().contains("Connection refused"));
    let done = place.plimsoll(&[&nobody[..], &["--repeat", "2"]].concat()).ended_with(4);
    let document = done.json();
    assert_eq!(
        (&document["group"]["repeat"], &document["runs"]),
        (&2.into(), &Value::Array(vec![]))
    );
    assert!(document["warnings"][0].as_str().unwrap().contains("Connection refused"));
}
