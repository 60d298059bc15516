//! What a series of searches finds, and what it costs.

use crate::place::Place;
use crate::series::{SHORT, easy, path, searched};
use plimsoll_testing::Weight;
use serde_json::Value;

#[test]
fn three_searches_are_a_series() {
    let place = Place::weighing(Weight::ALONE);
    let target = easy(&place);
    let args = ["--repeat", "3", "--every", "1s", "--price", "0.17/h", "--name", "small", "--json"];
    let args = [&args[..], &["--basic", "user:hidden-word"]].concat();
    let url = target.url();
    let args = [&[url.as_str()], &SHORT[..], &args[..]].concat();
    let done = searched(&place, &args);
    let result = done.json();
    assert_eq!((&result["schema"], &result["repeat"]), (&1.into(), &3.into()), "{result}");
    assert_eq!((&result["name"], &result["every_s"]), (&"small".into(), &1.0.into()));
    let runs = result["runs"].as_array().unwrap();
    let numbers: Vec<u64> = runs.iter().map(|run| run["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [1, 2, 3]);
    assert!(runs.iter().all(|run| run["estimate_per_s"] == 40.0), "{result}");
    let summary = &result["summary"];
    assert_eq!((&summary["searches"], &summary["found"]), (&3.into(), &3.into()));
    let of = &summary["estimate_per_s"];
    assert_eq!((&of["n"], &of["median"], &of["cv"]), (&3.into(), &40.0.into(), &0.0.into()));
    let cost = summary["cost"]["per_request"].as_f64().unwrap();
    assert!((cost - 0.17 / (40.0 * 3600.0)).abs() < 1e-18);

    // Each is a run of its own, named after its series; its file says the same.
    let folders = place.runs("runs");
    assert_eq!(folders.len(), 3);
    for (folder, run) in folders.iter().zip(runs) {
        assert_eq!(folder.file_name().unwrap().to_str(), run["run"].as_str());
        let kept = std::fs::read_to_string(folder.join("artifacts/capacity.json")).unwrap();
        let kept: Value = serde_json::from_str(&kept).unwrap();
        assert_eq!(kept["cost"]["price_per_hour"], 0.17);
    }
    let path = path(&place, &result);
    let file = std::fs::read_to_string(format!("{path}.series.json")).unwrap();
    let file: Value = serde_json::from_str(&file).unwrap();
    assert_eq!((&file["runs"], &file["summary"]), (&result["runs"], summary));
    place.plimsoll(&["runs", "list"]).ended_with(0);

    assert!(!file.to_string().contains("hidden-word"), "{file}");

    // It has all its searches; with more, it goes on from the fourth. Its secret is not kept.
    let resume = ["capacity", "--resume", &path];
    let known = [&resume[..], &["--basic", "user:hidden-word"]].concat();
    place.plimsoll(&resume).ended_with(2).says(&["leaves out target.basic"]);
    place.plimsoll(&known).ended_with(2).says(&["it has its 3 searches", "--repeat"]);
    let wrong = place.plimsoll(&[&known[..], &["--precision", "9%"]].concat());
    wrong.ended_with(2).says(&["searches as it began", "leave out --precision"]);
    let four = ["--repeat", "4", "--json", "--every", "10ms"];
    let more = searched(&place, &[&known[1..], &four].concat());
    let more = more.json();
    assert_eq!(more["runs"].as_array().unwrap().len(), 4, "{more}");
    assert_eq!((&more["runs"][0], &more["slo"]), (&runs[0], &"p90<500ms".into()));
    assert_eq!(more["summary"]["cost"]["price_per_hour"], 0.17);
    place.plimsoll(&["capacity", "--resume", "runs/nothing"]).ended_with(2).says(&["find the run"]);
}

#[test]
fn a_price_makes_a_cost() {
    let place = Place::weighing(Weight::ALONE);
    let target = easy(&place);
    let url = target.url();
    let priced = |more: &[&str]| {
        searched(&place, &[&[url.as_str(), "--price", "0.17/h"], &SHORT[..], more].concat())
    };
    let json = priced(&["--json"]);
    let cost = json.json()["cost"].clone();
    let per_request = cost["per_request"].as_f64().unwrap();
    assert!((per_request - 0.17 / (40.0 * 3600.0)).abs() < 1e-18, "{cost}");
    assert!((cost["per_million"].as_f64().unwrap() - 1.180_556).abs() < 1e-6, "{cost}");
    let text = priced(&[]).out;
    assert!(text.contains("1.181e-6 a request, 1.181 a million, at 0.17 an hour"), "{text}");
    let run = place.run();
    place.plimsoll(&["report", run.to_str().unwrap(), "-o", "page.html"]).ended_with(0);
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.contains("A million costs") && page.contains("1.181e-6 each"));
    // Searches of no series are groups of one.
    let runs = place.runs("runs");
    let [a, b] = [&runs[0], &runs[1]].map(|run| run.to_str().unwrap());
    let done = place.plimsoll(&["capacity", "compare", a, b, "--by", "target", "--json"]);
    let groups = done.ended_with(0).json()["groups"].clone();
    assert_eq!(groups.as_array().unwrap().len(), 1, "{groups}");
    assert_eq!((&groups[0]["group"], &groups[0]["found"]), (&url.as_str().into(), &2.into()));
    let load = ["load", &url, "--rate", "20/s", "--for", "1s", "--quiet", "--out", "loads"];
    place.plimsoll(&load).ran();
    let none = place.runs("loads")[0].to_str().unwrap().to_owned();
    let none = place.plimsoll(&["capacity", "compare", &none]).ended_with(2);
    none.says(&["find a search for a capacity in", "name runs of `capacity`"]);
}
