//! Checks of answers, and samples that people can read.

use crate::paths::Paths;
use crate::place::Place;
use serde_json::Value;
use std::collections::BTreeMap;

/// A load with checks; its summary.
fn checked(place: &Place, url: &str, checks: &[&str]) -> Value {
    let load = [url, "-n", "20", "--users", "2", "--json"];
    place.load(&[&load[..], checks].concat()).json()
}

#[test]
fn a_check_that_fails_is_a_failed_request_and_the_connection_goes_on() {
    let place = Place::new();
    let server = Paths::start();
    let at = |path: &str| format!("{}{path}", server.url());
    for (path, check, why) in [
        ("", ["--check-body", "Welcome"], ""),
        ("chunked", ["--check-body", "Welcome"], ""),
        ("", ["--check-body", "Hello, you"], "the body does not contain `Hello, you`"),
        ("json", ["--check-json", "/id=42"], ""),
        ("json", ["--check-json", "/ok=false"], "`/ok` is not `false`"),
        ("", ["--check-json", "/id=42"], "the body is no JSON"),
        ("", ["--check-header", "X-Kind=page"], ""),
        ("json", ["--check-header", "x-kind=page"], "there is no header `x-kind`"),
        ("long", ["--check-body", "x"], "the body is longer than the 1 MiB"),
    ] {
        let summary = checked(&place, &at(path), &check);
        let failed = if why.is_empty() { 0 } else { 20 };
        assert_eq!(summary["completed"], 20, "{path} {check:?}: {summary}");
        assert_eq!(summary["succeeded"], 20 - failed, "{path} {check:?}: {summary}");
        assert_eq!(summary["errors"]["check"].as_u64().unwrap_or(0), failed);
        assert_eq!(summary["blame"]["target"], failed);
        assert_eq!(summary["connections"]["opened"], 2, "{path} {check:?}: {summary}");
        if failed > 0 {
            let text = summary["reasons"][0]["text"].as_str().unwrap();
            assert!(text.starts_with(why), "{path} {check:?}: {text}");
            assert_eq!(summary["reasons"][0]["kind"], "check");
        }
    }
    // Another status has failed by itself; its body is not looked at.
    let summary = checked(&place, &at("status/500"), &["--check-body", "Nothing"]);
    assert_eq!(summary["errors"], serde_json::json!({ "status": 20 }));
    // All must hold, and the first that does not is named.
    let both = ["--check-body", "Welcome", "--check-header", "ETag="];
    let summary = checked(&place, &at(""), &both);
    assert_eq!(summary["reasons"][0]["text"], "there is no header `etag`");
}

#[test]
fn checks_stand_in_plans() {
    let place = Place::new();
    let target = place.target(&["--service-time", "const:1ms", "--workers", "8", "--body", "2kB"]);
    let plan = format!(
        "[target]\nurl = '{}'\ncheck_body = ['x']\ncheck_json = '/a=1'\n\
         check_header = 'Content-Length=2000'\n[load]\nusers = 1\nrequests = 5\n",
        target.url()
    );
    place.write("plan.toml", &plan);
    place.plimsoll(&["check", "plan.toml"]).ended_with(0);
    let summary = place.plimsoll(&["load", "plan.toml", "--quiet", "--json"]).json();
    assert_eq!(summary["errors"]["check"], 5, "{summary}");
    let wrong = plan.replace("'/a=1'", "'a=1'");
    place.write("wrong.toml", wrong);
    place.plimsoll(&["check", "wrong.toml"]).ended_with(2).says(&["a JSON Pointer such as /id"]);
}

/// The rows of CSV by their columns; no field of theirs has a comma or a quote.
fn rows(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut lines = text.lines();
    let heads: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row = |line: &str| {
        let fields = line.split(',').map(str::to_owned);
        heads.iter().map(|head| (*head).to_owned()).zip(fields).collect()
    };
    lines.map(row).collect()
}

#[test]
fn samples_can_be_read() {
    let place = Place::new();
    let server = Paths::start();
    place.write("list.csv", "url,name\n/,home\n/status/404,missing\n");
    let url = server.url();
    let load = ["--urls", "list.csv", "-n", "40", "--users", "2", "--samples", "--json"];
    let summary = place.load(&[&[url.as_str()], &load[..]].concat()).json();
    let run = place.run();
    let path = run.to_str().unwrap();
    let csv = place.plimsoll(&["export", path, "--format", "samples-csv"]).ended_with(0).out;
    let rows = rows(&csv);
    assert_eq!(rows.len(), 40);
    let number = |of: &BTreeMap<String, String>, column: &str| of[column].parse::<u64>().unwrap();
    for of in &rows {
        let [due, sent, first, done] =
            ["due_ns", "sent_ns", "first_byte_ns", "done_ns"].map(|column| number(of, column));
        assert!(due <= sent && sent <= first && first <= done, "{of:?}");
        let is_home = of["name"] == "home";
        assert_eq!(of["status"], if is_home { "200" } else { "404" }, "{of:?}");
        assert_eq!(of["kind"], if is_home { "" } else { "status" }, "{of:?}");
        assert_eq!(of["phase"], "measured");
        assert!(number(of, "received_bytes") > 20);
    }
    let bytes: u64 = rows.iter().map(|of| number(of, "received_bytes")).sum();
    assert_eq!(summary["bytes"]["in"], bytes);
    let lines = place
        .plimsoll(&["export", path, "--format", "samples-jsonl", "-o", "s.jsonl"])
        .ended_with(0);
    assert_eq!(lines.out, "");
    let text = std::fs::read_to_string(place.path("s.jsonl")).unwrap();
    let objects: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(objects.len(), 40);
    for (object, row) in objects.iter().zip(&rows) {
        assert_eq!(object["due_ns"].as_u64(), Some(number(row, "due_ns")));
        assert_eq!(object["kind"].as_str().unwrap_or(""), row["kind"]);
        assert_eq!(object["name"].as_str().unwrap(), row["name"]);
    }
    // What it was built without is said, and with what it would have it.
    let table = ["export", path, "--format", "samples-parquet", "-o", "s.parquet"];
    let done = place.plimsoll(&table);
    if cfg!(feature = "parquet") {
        done.ended_with(0);
        let bytes = std::fs::read(place.path("s.parquet")).unwrap();
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"), "{}", bytes.len());
    } else {
        done.ended_with(2).says(&["samples-parquet", "left out", "--features parquet"]);
        assert!(!place.path("s.parquet").exists(), "nothing was written");
    }
    // A run that kept none says so.
    let other = place.another();
    let without = other.load(&[&url, "-n", "2", "--users", "1", "--json"]);
    assert_eq!(without.json()["sent"], 2);
    let path = other.run();
    let none = other.plimsoll(&["export", path.to_str().unwrap(), "--format", "samples-csv"]);
    none.ended_with(2).says(&["kept none", "--samples"]);
}
