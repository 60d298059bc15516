//! What is read is what was written: logs, lists, traces, plans and runs, from files and from
//! standard input.

use crate::place::Place;
use crate::program::{Done, PLIMSOLL};
use crate::recording::Recording;
use plimsoll_testing::{Weight, shared};
use std::path::Path;

/// Runs a line of a shell in the folder, with `$plimsoll` as the program.
fn shell(place: &Place, line: &str) -> Done {
    let mut command = place.command("sh", &["-c", line]);
    command.env("plimsoll", PLIMSOLL);
    place.start(command).wait()
}

#[test]
fn tags_stay_with_runs_and_experiments_and_lists_find_them() {
    let place = Place::new();
    let target = place.calm();
    let url = target.url();
    let load = ["--rate", "5/s", "--for", "1s", "--tag", "commit=a=b", "--tag", "branch=main"];
    let run = place.load(&[&[url.as_str(), "--json"], &load[..]].concat()).json();
    assert_eq!(run["run"]["tags"], serde_json::json!({ "commit": "a=b", "branch": "main" }));
    place.load(&[&url, "--rate", "5/s", "--for", "1s", "--tag", "branch=other"]);
    place.load(&[&url, "--rate", "5/s", "--for", "1s"]);
    place.write(
        "plan.toml",
        "[load]\nrate = '5/s'\nfor = '5m'\n[pool]\nmax = 2\n[instance]\nservice = 'const:1ms'\n\
         [policy.one]\nkind = 'fixed'\ninstances = 1\n",
    );
    place.plimsoll(&["simulate", "plan.toml", "--quiet", "--tag", "branch=main"]).ended_with(0);
    let list = |more: &[&str]| {
        let all = [&["runs", "list", "--json"], more].concat();
        place.plimsoll(&all).ended_with(0).json()["runs"].as_array().unwrap().clone()
    };
    assert_eq!(list(&[]).len(), 4);
    let kinds: Vec<_> =
        list(&["--tag", "branch=main"]).iter().map(|of| of["kind"].clone()).collect();
    assert_eq!(kinds, ["load", "pool"]);
    assert_eq!(list(&["--tag", "branch=main", "--tag", "commit=a=b"]).len(), 1);
    // The index is made again.
    std::fs::remove_file(place.path("runs/index.sqlite")).unwrap();
    assert_eq!(list(&["--tag", "branch=other"]).len(), 1);
    let shown = place.plimsoll(&["runs", "show", run["run"]["id"].as_str().unwrap()]);
    shown.prints(&["branch=main, commit=a=b"]);
    let load = ["load", &url, "--rate", "5/s", "--for", "1s"];
    for wrong in ["commit", "=a", "a b=c", "commit="] {
        let done = place.plimsoll(&[&load[..], &["--tag", wrong]].concat());
        done.ended_with(2).says(&["expected KEY=VALUE"]);
    }
    place
        .plimsoll(&[&load[..], &["--tag", "a=1", "--tag", "a=2"]].concat())
        .ended_with(2)
        .says(&["a is given twice"]);
}

/// The trace, the URLs with their counts, and the JSON of an import.
fn imported(place: &Place, log: &Path) -> (Vec<String>, serde_json::Value) {
    let log = log.to_str().unwrap();
    let arguments = ["trace", "from-log", log, "-o", "t.csv", "--urls", "u.csv", "--json"];
    let json = place.plimsoll(&arguments).ended_with(0).json();
    let list = std::fs::read_to_string(place.path("u.csv")).unwrap();
    let mut lines = list.lines().map(str::to_owned);
    assert_eq!(lines.next().as_deref(), Some("url,count"));
    (lines.collect(), json)
}

#[test]
fn logs_of_other_programs_are_read_or_refused_by_name() {
    let test = "logs_of_other_programs_are_read_or_refused_by_name";
    let place = Place::weighing(Weight::WAITS);
    for (name, urls, warning) in [
        ("host-in-quotes.log", &["/a,1", "/b,1"][..], None),
        ("post-only.json", &[], Some("1 of POST")),
        ("query-in-args.json", &["/,1", "/find?q=mast,1", "/find?q=sail&page=2,1"], None),
        ("verb-and-path-in-request.json", &["/a?x=1,1"], Some("1 of POST")),
    ] {
        let Some(log) = shared(test, &format!("cases/load/logs/{name}")) else { return };
        let (found, json) = imported(&place, &log);
        assert_eq!(found, urls, "{name}");
        let warnings = json["warnings"].to_string();
        assert!(warnings.contains(warning.unwrap_or_default()), "{name}: {warnings}");
        assert_eq!(json["warnings"] == serde_json::json!([]), warning.is_none(), "{warnings}");
    }
    for (name, format, urls) in [
        ("alb.log", "alb", "https://shop.example:443/a?x=1,1\nhttps://shop.example:443/b,1\n"),
        ("cloudfront.log", "w3c", "/a?x=1,1\n/b,1\n"),
        ("docker.json", "combined", "/a,1\n/b,1\n"),
        ("ecs.json", "json", "/a?x=1,1\n"),
        ("fraction-in-brackets.log", "common", "/a,1\n/b,1\n"),
        ("haproxy-httplog.log", "haproxy", "/a?x=1,1\n/b,1\n"),
        ("iis.log", "w3c", "/a?x=1,1\n/b,1\n"),
    ] {
        let Some(log) = shared(test, &format!("cases/load/logs/{name}")) else { return };
        let arguments =
            ["trace", "from-log", log.to_str().unwrap(), "--urls", "read.csv", "--json"];
        let json = place.plimsoll(&arguments).ended_with(0).json();
        assert_eq!(
            (&json["format"], &json["requests"]),
            (&format.into(), &urls.lines().count().into()),
            "{name}"
        );
        assert_eq!(json["unreadable"], 0, "{name}");
        let found = std::fs::read_to_string(place.path("read.csv")).unwrap();
        assert_eq!(found, format!("url,count\n{urls}"), "{name}");
    }
}

const LOG: &str = "\
h - - [20/Nov/2026:05:00:00 +0000] \"GET /a HTTP/1.1\" 200 1
h - - [20/Nov/2026:05:00:00 +0000] \"POST /a HTTP/1.1\" 200 1
no line of a log
h - - [20/Nov/2026:05:00:00 +0000] \"GET /b HTTP/1.1\" 200 1
";

#[test]
fn a_replay_says_what_it_leaves_out_and_reads_a_pipe() {
    let place = Place::new();
    let server = Recording::start();
    place.write("access.log", LOG);
    let url = server.url();
    let file = shell(&place, &format!("$plimsoll load {url} --replay access.log --check"));
    let file = file.ended_with(0);
    let left_out = "2 requests are replayed; left out: 1 of POST, 1 lines that cannot be read";
    assert!(file.out.contains(left_out), "{}", file.out);
    let line = format!("cat access.log | $plimsoll load {url} --replay - --json");
    let json = shell(&place, &line).ran().json();
    assert_eq!((&json["offered"], &json["succeeded"]), (&2.into(), &2.into()));
    assert!(json["warnings"].to_string().contains("1 of POST"), "{json}");
    let lines: Vec<String> = server.asked().iter().map(|one| one.line().to_owned()).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines.iter().all(|line| line.starts_with("GET ")), "{lines:?}");
}

#[test]
fn a_comma_is_a_part_of_a_url_unless_it_is_said_to_be_none() {
    let place = Place::new();
    let server = Recording::start();
    let url = server.url();
    place.write("commas.txt", "/tiles?bbox=1.2,3.4,5.6,7.8\n/items?ids=11,12,13\n");
    let gently = [url.as_str(), "--rate", "20/s", "--for", "500ms"];
    let with = |more: &[&str]| place.load(&[&gently[..], more].concat());
    let done = with(&["--urls", "commas.txt", "--json"]).ran().json();
    let warnings = done["warnings"].to_string();
    assert!(warnings.contains("url,weight") && warnings.contains("--order weighted"), "{warnings}");
    let asked: Vec<String> = server.asked().iter().map(|one| one.line().to_owned()).collect();
    for line in ["GET /tiles?bbox=1.2,3.4,5.6,7.8", "GET /items?ids=11,12,13"] {
        assert!(asked.iter().any(|asked| asked == line), "{asked:?}");
    }

    place.write("weights.csv", "url,weight\n/a,3\n\"/b,5\",1\n");
    let json = with(&["--urls", "weights.csv", "--check", "--json"]).ended_with(0).json();
    assert_eq!(json["mix"]["order"], "weighted");
    assert_eq!(json["mix"]["most"][0]["share"], 0.75);
    let text = with(&["--urls", "weights.csv", "--check"]).ended_with(0).out;
    assert!(text.contains("75%  GET") && text.contains("/b,5"), "{text}");
    let even = with(&["--urls", "weights.csv", "--order", "uniform", "--check"]);
    assert!(even.out.contains("its weights are not used"), "{}", even.out);
    place.write("none.txt", "/a\t0\n/b\t0\n");
    let none = with(&["--urls", "none.txt"]).ended_with(2);
    none.says(&["at least one weight above zero in none.txt"]);
    assert!(!none.err.contains("thread"), "{}", none.err);
}

#[test]
fn times_and_columns_of_a_trace_are_told() {
    let place = Place::weighing(Weight::WAITS);
    place.write("ms.csv", "timestamp,rate\n1772524800000,5\n1772524860000,6\n");
    let done = place.plimsoll(&["trace", "info", "ms.csv", "--json"]).ended_with(0).json();
    assert_eq!((&done["interval_s"], &done["duration_s"]), (&60.0.into(), &120.0.into()));
    assert!(done["warnings"][0].as_str().unwrap().contains("milliseconds since 1970"), "{done}");
    let url = "http://127.0.0.1:9/";
    let check = place.plimsoll(&["load", url, "--trace", "ms.csv", "--check"]).ended_with(0);
    assert!(check.out.contains("2026-03-03 08:00"), "{}", check.out);
    place.write("grafana.csv", "\"Time\",\"Value\"\n\"2026-03-03 08:00:00\",\"12.5\"\n");
    let done = place.plimsoll(&["load", url, "--trace", "grafana.csv", "--check"]).ended_with(2);
    done.says(&["`Value`", "--columns time,rate", "--columns time,count"]);
    let given = ["load", url, "--trace", "grafana.csv", "--columns", "time,count"];
    let given = [&given[..], &["--counts-per", "10s", "--check"]].concat();
    assert!(place.plimsoll(&given).ended_with(0).out.contains("1.25/s at the peak"));
    let wrong = ["load", url, "--trace", "ms.csv", "--columns", "time,foo", "--check"];
    place.plimsoll(&wrong).ended_with(2).says(&["--columns", "foo"]);
}

#[test]
fn options_mean_what_they_say() {
    let place = Place::new();
    let server = Recording::start();
    let url = server.url();
    let gently = [url.as_str(), "--rate", "5/s", "--for", "200ms"];
    let with = |more: &[&str]| place.load(&[&gently[..], more].concat());
    with(&["--slo", "errors<1"]).ended_with(2).says(&["write 1%, or 100% if"]);
    let zero = with(&["--body-file", "/dev/zero"]).ended_with(2);
    zero.says(&["/dev/zero", "more than 256 MiB"]);
    with(&["--report", "nowhere/r.html"]).ended_with(2).says(&["write the report to nowhere"]);
    with(&["--report", "."]).ended_with(2).says(&["it is a folder"]);
    assert!(server.asked().is_empty(), "something was sent");
    let sent = with(&["-X", "POST", "--body", "@form.json", "--json"]).ran().json();
    assert!(sent["warnings"].to_string().contains("`--body-file form.json`"), "{sent}");
    for (words, advice) in [
        (&["--vus", "5"][..], "--users N"),
        (&["--duration", "30s"], "--for DURATION"),
        (&["-z", "30s"], "--for DURATION"),
        (&["--iterations", "100"], "--requests N"),
        (&["-d", "30s"], "--for DURATION"),
    ] {
        let done = with(words).ended_with(2);
        done.says(&[advice]);
        assert!(!done.err.contains("--value-size"), "{}", done.err);
    }
    with(&["--metod", "GET"]).ended_with(2).says(&["--method"]);
}

#[test]
fn a_dash_is_standard_input_wherever_a_file_is_read() {
    let place = Place::weighing(Weight::WAITS);
    place.write("access.log", LOG);
    place.write(
        "plan.toml",
        "[target]\nurl = \"http://h/\"\n[load]\nrate = \"5/s\"\nfor = \"2s\"\n",
    );
    place.write("day.csv", "time_s,rate\n0,3\n1,4\n");
    place.write("urls.txt", "/a\n/b\n");
    let load = "$plimsoll load http://127.0.0.1:9/";
    for (line, part) in [
        ("$plimsoll trace from-log - < access.log", "time_s,count\n0,3"),
        ("cat day.csv | $plimsoll trace info -", "4/s greatest"),
        (&format!("cat day.csv | {load} --trace - --check"), "requests     7 in 2 s"),
        (&format!("cat urls.txt | {load} --rate 5/s --for 1s --urls - --check"), "GET http"),
        ("cat plan.toml | $plimsoll load - --print-plan", "rate = \"5/s\""),
        ("printf 'a\\nb\\na\\n' | $plimsoll cache trace info -", "3"),
    ] {
        let done = shell(&place, line).ended_with(0);
        assert!(done.out.contains(part), "{line}: {}", done.out);
    }
    shell(&place, "$plimsoll load - < /dev/zero").ended_with(2).says(&["more than 16 MiB"]);
}

#[test]
fn runs_are_found_by_folder_by_name_and_as_the_last() {
    let place = Place::new();
    place.plimsoll(&["runs", "show"]).ended_with(2).says(&["no folder runs here"]);
    let target = place.calm();
    let url = target.url();
    for (name, out) in [("morning", "runs"), ("evening", "runs"), ("night", "elsewhere")] {
        let load = [&url, "--rate", "20/s", "--for", "300ms", "--name", name, "--out", out];
        place.load(&[&load[..], &["--repeat", "2"]].concat());
    }
    let last = place.plimsoll(&["runs", "show", "--json"]).json();
    assert_eq!(last["run"]["name"], "evening");
    let named = place.plimsoll(&["runs", "show", "morning", "--json"]).json();
    assert_eq!(named["run"]["name"], "morning");
    let folder = place.plimsoll(&["runs", "show", "elsewhere", "--json"]).json();
    assert_eq!(folder["run"]["name"], "night");
    let page = place.plimsoll(&["report"]).ended_with(0).out;
    assert!(page.contains(last["run"]["id"].as_str().unwrap()), "{page}");
    for (a, b) in [("morning", "evening"), ("morning", "elsewhere")] {
        let done = place.plimsoll(&["compare", a, b, "--tolerance", "100%", "--json"]);
        // A machine that was too busy for a valid run is told so; the runs were found.
        assert!(matches!(done.code(), Some(0 | 3 | 5)), "{}", done.err);
    }
    let none = place.plimsoll(&["compare", "morning", "noon"]).ended_with(2);
    none.says(&["find the run or group noon"]);
}
