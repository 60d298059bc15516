//! `--json` is the contract's shape, no more and no less.

use crate::place::Place;
use serde_json::Value;
use std::collections::BTreeMap;

/// Every path of the summary with the types it may have, as the specification lists them.
const SHAPE: &str = include_str!("../golden/summary.txt");
/// Objects whose keys are data: their values have the type of `.*`.
const MAPS: [&str; 3] = ["status", "errors", "by_name[].failures"];

/// The paths of a value with their types; elements of lists share one path.
fn walk(path: &str, value: &Value, found: &mut Vec<(String, &'static str)>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_u64() => "count",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    };
    if !path.is_empty() {
        found.push((path.to_owned(), kind));
    }
    match value {
        Value::Array(items) => {
            items.iter().for_each(|item| walk(&format!("{path}[]"), item, found));
        }
        Value::Object(pairs) => {
            for (key, inner) in pairs {
                let key = if MAPS.contains(&path) { "*" } else { key };
                let dot = if path.is_empty() { "" } else { "." };
                walk(&format!("{path}{dot}{key}"), inner, found);
            }
        }
        _ => {}
    }
}

/// The lines of the golden file: a path, a type or several. `NAME {` … `}` names a group of lines
/// that `PATH NAME` stands for.
fn shape() -> BTreeMap<String, Vec<String>> {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let (mut shape, mut group) = (BTreeMap::new(), None);
    let types = |text: &str| text.split('|').map(str::to_owned).collect::<Vec<_>>();
    for line in SHAPE.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        match (line.strip_suffix(" {"), line, group) {
            (Some(name), ..) => group = Some(name),
            (_, "}", _) => group = None,
            (_, line, Some(name)) => groups.entry(name).or_default().push(line.trim()),
            (_, line, None) => {
                let (path, kind) = line.split_once(' ').unwrap();
                let members = groups.get(kind);
                let own = if members.is_some() { "object" } else { kind };
                shape.insert(path.to_owned(), types(own));
                for member in members.into_iter().flatten() {
                    let (name, kind) = member.split_once(' ').unwrap();
                    shape.insert(format!("{path}.{name}"), types(kind));
                }
            }
        }
    }
    shape
}

/// Fails unless a summary has every path of the shape, no other, and the right types.
#[track_caller]
fn assert_shape(summary: &Value, may_lack: &[&str]) {
    let shape = shape();
    let mut found = Vec::new();
    walk("", summary, &mut found);
    for (path, kind) in &found {
        let wanted = shape.get(path).unwrap_or_else(|| panic!("`{path}` is not in the contract"));
        // A whole number is a number, too.
        let fits = |wanted: &String| wanted == kind || (wanted == "number" && *kind == "count");
        assert!(wanted.iter().any(fits), "`{path}` is {kind}, wanted {wanted:?}");
    }
    for path in shape.keys() {
        // A list may be empty, whatever its elements are; handshakes are there where TLS is spoken.
        let lacking = path.ends_with("[]")
            || path.starts_with("connections.tls")
            // What has no names has no figures by them, and not all loads are of users.
            || path.starts_with("by_name")
            || path.starts_with("users")
            || may_lack.iter().any(|part| path.starts_with(part));
        assert!(lacking || found.iter().any(|(found, _)| found == path), "`{path}` is missing");
    }
}

/// Fails unless the sums that every part relies on hold.
#[track_caller]
pub(crate) fn assert_sums(summary: &Value) {
    let count = |key: &str| summary[key].as_u64().unwrap();
    let error = |kind: &str| summary["errors"][kind].as_u64().unwrap_or(0);
    let kinds =
        ["connect", "local", "dns", "tls", "client_saturated", "cut", "variable", "offline"];
    let unsent: u64 = kinds.map(error).iter().sum();
    assert_eq!(count("offered"), count("sent") + unsent, "{summary}");
    let kinds = ["timeout", "reset", "protocol", "in_flight_at_end", "unanswered", "closed"];
    let unanswered: u64 = kinds.map(error).iter().sum();
    assert_eq!(count("sent"), count("completed") + unanswered, "{summary}");
    let refused: u64 = ["status", "check", "redirect", "take"].map(error).iter().sum();
    assert_eq!(count("completed"), count("succeeded") + refused, "{summary}");
    assert_eq!(count("in_flight_at_end"), error("in_flight_at_end"));
    let by_code: u64 =
        summary["status"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
    assert_eq!(by_code, count("completed"), "{summary}");
    let failed: u64 =
        summary["errors"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
    let blame = &summary["blame"];
    let blamed = ["target", "generator", "environment"].map(|who| blame[who].as_u64().unwrap());
    assert_eq!(blamed.iter().sum::<u64>(), failed, "{summary}");
    assert_eq!(count("offered"), count("succeeded") + failed, "{summary}");
}

#[test]
fn a_summary_has_every_field_of_the_contract() {
    let place = Place::new();
    let target =
        place.target(&["--service-time", "const:20ms", "--workers", "100", "--errors", "20%"]);
    let done = place.load(&[
        &target.url(),
        "--rate",
        "50/s",
        "--for",
        "2s",
        "--warm-up",
        "1s",
        "--slo",
        "p50<10s, p99.9<10m, errors<100%, lost<5, availability>=99.999%",
        "--name",
        "shape",
        "--seed",
        "7",
        "--json",
    ]);
    assert!(matches!(done.code(), Some(3 | 5)), "{}", done.err);
    let summary = done.json();
    assert_shape(&summary, &[]);
    assert_sums(&summary);
    assert_eq!(summary["schema"], 1);
    assert_eq!(summary["run"]["name"], "shape");
    assert_eq!(summary["run"]["seed"], 7);
    assert_eq!(summary["offered"], 100);
    assert_eq!(summary["warm_up"]["offered"], 50);
    assert_eq!(
        (summary["duration_s"].as_f64(), summary["warmup_s"].as_f64()),
        (Some(2.0), Some(1.0))
    );
    assert_eq!(summary["slo"].as_array().unwrap().len(), 5);
    assert_eq!(summary["errors"]["status"], summary["status"]["500"]);
    assert!(summary["errors"]["status"].as_u64().unwrap() > 0, "{summary}");
    // What came after the window, by chance of its ends, is in no rate.
    let within = summary["completed"].as_f64().unwrap() - summary["drained"].as_f64().unwrap();
    let rate = summary["rate_mean"].as_f64().unwrap();
    assert!(rate > 0.0 && rate <= within / 2.0 + 0.5, "{summary}");
    // 100 requests: 10 lie beyond p90 at most, so nothing finer is stated.
    assert_eq!(summary["response_us"]["count"], 100);
    for (fine, known) in [("p50", true), ("p80", true), ("p95", false), ("p9999", false)] {
        assert_eq!(summary["response_us"][fine].is_number(), known, "{fine} of {summary}");
    }
    assert!(summary["response_us"]["p50"].as_f64().unwrap() >= 20_000.0, "{summary}");

    // Shown again, it is the same to the last digit, as is the file.
    let run = place.run();
    let again = place.plimsoll(&["runs", "show", run.to_str().unwrap(), "--json"]).ended_with(0);
    assert_eq!(again.json(), summary);
    let kept = std::fs::read_to_string(run.join("summary.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&kept).unwrap(), summary);
    std::fs::remove_file(run.join("summary.json")).unwrap();
    let rebuilt = place.plimsoll(&["runs", "show", run.to_str().unwrap(), "--json"]).ended_with(0);
    assert_eq!(rebuilt.json(), summary);
}

#[test]
fn json_is_alone_on_standard_output() {
    let place = Place::new();
    let target = place.calm();
    let done = place.load(&[&target.url(), "--rate", "20/s", "--for", "1s", "--json"]).ran();
    let summary = done.json();
    assert_shape(&summary, &["slo[]", "warm_up.", "status.*", "errors.*", "reasons[]"]);
    assert_sums(&summary);
    assert_eq!(summary["warm_up"], Value::Null);
    assert_eq!(summary["slo"], serde_json::json!([]));
    assert_eq!(done.err.replace("once more\n", ""), "", "nothing else is said");
}

#[test]
fn a_run_without_any_answer_has_sums_too() {
    let place = Place::new();
    // Takes connections, and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    let done = place.load(&[
        &url, "--rate", "10/s", "--for", "1s", "--drain", "200ms", "--json", "--slo", "p99<1s",
    ]);
    let summary = done.ended_with(4).json();
    assert_shape(&summary, &["status.*", "warm_up.", "slo[].note", "reasons[]"]);
    assert_sums(&summary);
    assert_eq!((summary["offered"].as_u64(), summary["completed"].as_u64()), (Some(10), Some(0)));
    assert_eq!(summary["blame"]["target"], 10, "{summary}");
    assert_ne!(summary["slo"][0]["pass"], Value::Bool(true), "{summary}");
    assert_eq!(summary["availability"]["up_s"], 0);
}
