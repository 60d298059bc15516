//! Figures by the labels of users.

use serde_json::{Value, json};

use crate::place::Place;
use crate::program::wait_for;
use plimsoll_testing::free_address;

/// Fails unless the figures by label add up to those of all.
#[track_caller]
pub(crate) fn assert_adds_up(document: &Value) {
    let all = document["by_label"].as_array().unwrap();
    let sum = |key: &str| all.iter().map(|of| of[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum("succeeded"), document["succeeded"].as_u64().unwrap(), "{document:#}");
    assert_eq!(sum("count"), document["offered"].as_u64().unwrap(), "{document:#}");
    assert_eq!(sum("users"), document["users"]["arrived"].as_u64().unwrap(), "{document:#}");
    for (kind, n) in document["errors"].as_object().unwrap() {
        let of_kind = all.iter().map(|of| of["failures"][kind].as_u64().unwrap_or(0)).sum::<u64>();
        assert_eq!(of_kind, n.as_u64().unwrap(), "{kind} of {document:#}");
    }
    let answered: u64 = all.iter().map(|of| of["response_us"]["count"].as_u64().unwrap()).sum();
    assert_eq!(answered, document["response_us"]["count"].as_u64().unwrap(), "{document:#}");
}

pub(crate) fn labelled<'d>(document: &'d Value, label: &str) -> &'d Value {
    let all = document["by_label"].as_array().unwrap();
    let found = all.iter().find(|figures| figures["label"] == label);
    found.unwrap_or_else(|| panic!("no figures of {label}: {document:#}"))
}

const REGIONS: &str = r#"
label = "{{accounts.region}}"
on_failure = "go on"
[data.accounts]
file = "accounts.csv"
[[step]]
name = "near or far"
get = "/{{accounts.path}}"
[[step]]
name = "missing"
get = "/x"
take.x = { regex = "nothing like it" }
"#;

#[test]
fn requests_are_told_by_the_labels_of_their_users() {
    let place = Place::new();
    place.write("s.toml", REGIONS);
    place.write("accounts.csv", "region,path\neu,near\nasia,far\neu,near\n,near\n");
    let paths = ["--path", "/near=const:2ms", "--path", "/far=const:60ms"];
    let target = place.target(&[&paths[..], &["--workers", "100"]].concat());
    let run = ["--scenario", "s.toml", "--users", "8", "-n", "80", "--json", "-t", "2"];
    let document = place.load(&[&[target.url().as_str()][..], &run].concat()).ran().json();
    let labels: Vec<&Value> =
        document["by_label"].as_array().unwrap().iter().map(|of| &of["label"]).collect();
    assert_eq!(labels, ["(none)", "asia", "eu"], "in their order: {document:#}");
    assert_adds_up(&document);
    let (near, far) = (labelled(&document, "eu"), labelled(&document, "asia"));
    assert_eq!((&near["users"], &far["users"]), (&40.into(), &20.into()), "{document:#}");
    assert_eq!((&near["count"], &near["failures"]), (&80.into(), &json!({ "take": 40 })));
    let max = |of: &Value| of["response_us"]["max"].as_f64().unwrap();
    assert!(max(far) >= 60_000.0 && far["response_us"]["p66"].is_number(), "{far}");
    assert_eq!(far.get("latency_us"), None, "nothing was published");
    // What is stored is what is told, and so is the page.
    let run = plimsoll_runs::Run::open(&place.run()).unwrap();
    let again = plimsoll_runs::summarise(&run).unwrap();
    assert_eq!(serde_json::to_value(&again.by_label).unwrap(), document["by_label"]);
    let shown = place.plimsoll(&["runs", "show", place.run().to_str().unwrap()]).ended_with(0);
    shown.prints(&["by label", "asia"]);
    place.plimsoll(&["report", "-o", "page.html"]).ended_with(0);
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.contains("By label") && page.contains("asia"));
}

#[test]
fn labels_are_told_live_and_as_a_table() {
    let place = Place::new();
    place.write("s.toml", REGIONS);
    place.write("accounts.csv", "region,path\neu,near\nasia,far\n");
    let paths = ["--path", "/near=const:2ms", "--path", "/far=const:60ms"];
    let target = place.target(&[&paths[..], &["--workers", "100"]].concat());
    let (url, address) = (target.url(), free_address().to_string());
    let load = [&url, "--scenario", "s.toml", "--users", "8", "--quiet", "--prometheus", &address];
    let going = place.soak(&load);
    let page = wait_for("figures by label", || {
        let page = crate::prometheus::get(&address, "/metrics")?;
        page.contains("plimsoll_label_requests_total{label=\"asia\"}").then_some(page)
    });
    for says in [
        "# TYPE plimsoll_label_users_total counter",
        "plimsoll_label_users_total{label=\"eu\"}",
        "plimsoll_label_errors_total{label=\"eu\",kind=\"take\"}",
        "plimsoll_label_response_seconds_count{label=\"asia\"}",
    ] {
        assert!(page.contains(says), "{says}: {page}");
    }
    place.stopped(going).ran();
    let folder = place.run();
    let path = folder.to_str().unwrap();
    let document = place.plimsoll(&["runs", "show", path, "--json"]).json();
    let table = place.plimsoll(&["export", path, "--format", "labels-csv"]).ended_with(0).out;
    let rows: Vec<&str> = table.lines().collect();
    assert!(rows[0].starts_with("label,labels,users,count,succeeded,errors,failures,redirects"));
    assert_eq!(rows.len(), 3, "{table}");
    for (row, label) in rows[1..].iter().zip(["asia", "eu"]) {
        let of = labelled(&document, label);
        let begins = format!("{label},,{},{},{},", of["users"], of["count"], of["succeeded"]);
        assert!(row.starts_with(&begins), "{row}: {begins}");
    }
}
