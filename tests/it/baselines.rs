//! Baselines: what replications came to, kept in a small file that later runs are held against.

use crate::comparing::say_valid;
use crate::place::Place;
use plimsoll_testing::Weight;
use serde_json::Value;

/// Replications of one load, kept in a folder; they are said to be valid, on a host that was quiet.
fn runs(place: &Place, url: &str, out: &str, repeat: &str) {
    let load = [url, "--rate", "60/s", "--for", "2s", "--repeat", repeat, "--out", out];
    place.load(&load).ran();
    place.runs(out).iter().for_each(|run| say_valid(run, &[]));
}

#[test]
fn runs_are_held_against_a_baseline_that_is_small_and_sealed() {
    let place = Place::new();
    // What a busy host adds to medians is less than these are.
    let calm = place.target(&["--service-time", "const:200ms", "--workers", "1000"]);
    let slow = place.target(&["--service-time", "const:2s", "--workers", "1000"]);
    runs(&place, &calm.url(), "a", "3");
    runs(&place, &calm.url(), "b", "2");
    runs(&place, &slow.url(), "c", "2");
    let made = place.plimsoll(&["runs", "baseline", "a", "-o", "base.plim"]).ended_with(0);
    made.says(&["baseline: base.plim of 3 replications"]);
    assert!(std::fs::metadata(place.path("base.plim")).unwrap().len() < 200_000);
    let against = |side: &str, tolerance: &str, code: i32| {
        let compare = ["compare", "base.plim", side, "--figure", "p50", "--tolerance", tolerance];
        place.plimsoll(&[&compare[..], &["--json"]].concat()).ended_with(code).json()
    };
    let same = against("b", "100%", 0);
    assert_eq!((&same["worse"], &same["untold"]), (&false.into(), &Value::Null), "{same}");
    let worse = against("c", "60%", 3);
    assert!(worse["says"].as_str().unwrap().starts_with("B is worse: response p50"), "{worse}");
    // The same by the runs themselves.
    let direct = ["compare", "a", "c", "--figure", "p50", "--tolerance", "60%", "--json"];
    let direct = place.plimsoll(&direct);
    assert_eq!(direct.ended_with(3).json()["figures"], worse["figures"]);
    // Of one replication nothing can be told.
    let one = place.runs("c").remove(0);
    let alone = place.plimsoll(&["compare", "base.plim", one.to_str().unwrap()]).ended_with(0);
    alone.prints(&["It cannot be told whether B is worse: B has 1 replication"]);
    // What is no replication makes none, and what is no baseline is not written over.
    let all = place.runs("a");
    let (first, second) = (all[0].to_str().unwrap(), all[1].to_str().unwrap());
    let twice = place.plimsoll(&["runs", "baseline", first, second, first, "-o", "x.plim"]);
    twice.ended_with(2).says(&["as two replications: it is one run"]);
    let mixed = place.plimsoll(&["runs", "baseline", "a", "c", "-o", "x.plim"]).ended_with(2);
    mixed.says(&["several targets"]);
    place.write("plan.toml", "[load]\n");
    let taken = place.plimsoll(&["runs", "baseline", "a", "-o", "plan.toml"]).ended_with(2);
    taken.says(&["another file is there"]);
    let over = place.plimsoll(&["compare", "base.plim", "b", "-o", "base.plim"]).ended_with(2);
    over.says(&["it is what is compared"]);
    let wrong = place.plimsoll(&["compare", "b", "base.plim"]).ended_with(2);
    wrong.says(&["it stands first"]);
    // Before anything is sent.
    let url = calm.url();
    let search = ["capacity", &url, "--slo", "p90<1s", "--baseline", "base.plim"];
    let search = place.plimsoll(&search).ended_with(2);
    search.says(&["compare runs of search with a baseline of load"]);
    // Nobody has changed it.
    let text = std::fs::read_to_string(place.path("base.plim")).unwrap();
    place.write("changed.plim", text.replacen("\"seed\":", "\"seed\": ", 1));
    let changed = place.plimsoll(&["compare", "changed.plim", "b"]).ended_with(2);
    changed.says(&["changed.plim: it was changed after it was made"]);
}

#[test]
fn a_load_is_held_against_a_baseline_at_its_end() {
    let place = Place::new();
    let slow = place.target(&["--service-time", "const:400ms", "--workers", "1000"]);
    let calm = place.calm();
    runs(&place, &calm.url(), "a", "3");
    place.plimsoll(&["runs", "baseline", "a", "-o", "base.plim"]).ended_with(0);
    let url = slow.url();
    let load = ["load", &url, "--quiet", "--rate", "60/s", "--for", "2s", "--repeat", "2"];
    let against = ["--baseline", "base.plim", "--tolerance", "20%", "--json"];
    let done = place.plimsoll(&[&load[..], &against].concat());
    // What a noisy host makes of it is left open.
    let document = done.json();
    let baseline = &document["baseline"];
    let rows = baseline["figures"].as_array().unwrap();
    let p50 = rows.iter().find(|row| row["figure"] == "response_p50").unwrap();
    assert!(p50["b"].as_f64().unwrap() > p50["a"].as_f64().unwrap(), "{baseline}");
    let judged: Vec<&Value> = rows.iter().filter(|row| row["judged"] == true).collect();
    assert!(judged.iter().any(|row| row["figure"] == "response_p90"), "{baseline}");
    let is_worse = judged.iter().any(|row| row["comparison"]["verdict"] == "worse");
    assert_eq!(baseline["worse"], is_worse, "{baseline}");
    if document["group"].is_object() && done.code() != Some(5) {
        assert_eq!(done.code(), Some(if is_worse { 3 } else { 0 }), "{}", done.err);
    }
    let missing = place.plimsoll(&[&load[..], &["--baseline", "none.plim"]].concat());
    missing.ended_with(4).says(&["read the baseline none.plim"]);
}

/// Two rates on a simulated server.
const PLAN: &str = "\
name = 'queue'
seed = 4
[experiment]
replications = 5
respond = ['p50']
[factor]
\"load.rate\" = ['50/s', '100/s']
[target]
url = 'http://127.0.0.1:9/'
[load]
rate = '50/s'
for = '60s'
arrivals = 'poisson'
[instance]
service = 'exp:3ms'
";

#[test]
fn an_experiment_is_held_against_the_baseline_of_another_in_every_form() {
    let place = Place::weighing(Weight::COMPUTES);
    place.write("plan.toml", PLAN);
    let simulate = ["run", "plan.toml", "--simulated", "-q"];
    place.plimsoll(&[&simulate[..], &["--out", "a"]].concat()).ended_with(0);
    let made = place.plimsoll(&["runs", "baseline", "a", "-o", "base.plim"]).ended_with(0);
    made.says(&["of 2 combinations, of 5 replications at least"]);
    let against = ["--baseline", "base.plim", "--json", "--junit", "j.xml", "--markdown", "m.md"];
    // Another seed of the same server, and a server that is slower by half.
    let same = ["--out", "same", "--set", "seed=9", "--tolerance", "20%"];
    let same = place.plimsoll(&[&simulate[..], &against, &same].concat()).ended_with(0).json();
    assert_eq!(same["baseline"]["worse"], false, "{same}");
    assert!(!std::fs::read_to_string(place.path("j.xml")).unwrap().contains("<failure"));
    let slow = ["--out", "slow", "--set", "instance.service=exp:4.5ms"];
    let slow = place.plimsoll(&[&simulate[..], &against, &slow].concat()).ended_with(3).json();
    assert_eq!(slow["baseline"]["worse"], true, "{slow}");
    let junit = std::fs::read_to_string(place.path("j.xml")).unwrap();
    assert_eq!(junit.matches("<failure").count(), 2, "{junit}");
    assert!(junit.contains("<testsuite name=\"queue: B against A, 100/s\""), "{junit}");
    let markdown = std::fs::read_to_string(place.path("m.md")).unwrap();
    assert!(markdown.starts_with("## plimsoll: broken"), "{markdown}");

    // The same by `compare`, of the file and of the experiment itself, and as a page.
    let compare = |a: &str, more: &[&str]| {
        let path = place.runs("slow")[0].display().to_string();
        place.plimsoll(&[&["compare", a, &path], more].concat()).ended_with(3)
    };
    let of_file = compare("base.plim", &["--json"]).json();
    assert_eq!(of_file["figures"], slow["baseline"]["figures"]);
    let direct = compare("a", &["--json", "-o", "page.html", "--junit", "c.xml"]).json();
    assert_eq!(direct["figures"], of_file["figures"]);
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.contains("B is worse: ") && page.contains("B over A"), "{page}");
    let text = compare("base.plim", &[]).out;
    assert!(text.starts_with("B is worse: 50/s: response p50 +"), "{text}");
    let analysed = ["analyse", "slow", "--baseline", "base.plim", "--junit", "a.xml"];
    place.plimsoll(&analysed).ended_with(3).prints(&["B is worse: 50/s: response p50 +"]);
    // An equal load, however it is written; another load is no other version.
    let equal = ["--out", "equal", "--set", "load.for=1m", "--baseline", "base.plim"];
    place.plimsoll(&[&simulate[..], &equal].concat()).ended_with(0);
    let other = ["--out", "other", "--set", "load.for=30s", "--baseline", "base.plim"];
    let other = place.plimsoll(&[&simulate[..], &other].concat()).ended_with(2);
    other.says(&["whose loads differ"]);
}

#[test]
fn a_trend_shows_where_a_figure_changed() {
    let place = Place::weighing(Weight::COMPUTES);
    let plan = PLAN.replace("[factor]\n\"load.rate\" = ['50/s', '100/s']\n", "");
    place.write("plan.toml", &plan);
    let versions = [("c1", "3ms", "1"), ("c2", "3ms", "2"), ("c3", "6ms", "3"), ("c4", "6ms", "4")];
    for (commit, service, seed) in versions {
        let (tag, service) =
            (format!("commit={commit}"), format!("instance.service=exp:{service}"));
        let seed = format!("seed={seed}");
        let set = ["--set", &service, "--set", &seed, "--tag", &tag];
        let run = ["run", "plan.toml", "--simulated", "-q", "--new"];
        place.plimsoll(&[&run[..], &set].concat()).ended_with(0);
    }
    let trend = ["runs", "trend", "commit", "--tolerance", "20%"];
    let of = place.plimsoll(&[&trend[..], &["--json", "-o", "trend.html"]].concat());
    let of = of.ended_with(0).json();
    let verdict = |at: usize| of["points"][at]["verdict"].clone();
    assert_eq!(of["points"].as_array().unwrap().len(), 4, "{of}");
    assert_eq!((verdict(0), verdict(2)), (Value::Null, "worse".into()), "{of}");
    assert_ne!(verdict(1), "worse");
    assert_ne!(verdict(3), "worse");
    assert!(of["says"].as_str().unwrap().contains("worse last with commit c3: × "), "{of}");
    place.plimsoll(&trend).ended_with(0).prints(&["c3", "worse", "▇▇▇", "95% interval"]);
    let page = std::fs::read_to_string(place.path("trend.html")).unwrap();
    assert!(page.contains("Response p50 became worse last with commit c3"), "{page}");
    let none = place.plimsoll(&["runs", "trend", "branch"]).ended_with(2);
    none.says(&["find runs with the tag branch in runs: there are none"]);
}

/// Of comparisons of equal simulated servers few sound an alarm, and one that is slower by a tenth
/// is found nearly every time: four of each are tried, each side of five replications.
#[test]
fn alarms_are_few_and_what_is_slower_by_a_tenth_is_found() {
    let place = Place::weighing(Weight::COMPUTES);
    let plan =
        PLAN.replace("[factor]\n\"load.rate\" = ['50/s', '100/s']\n", "").replace("'60s'", "'5m'");
    place.write("plan.toml", &plan);
    let simulated = |seed: usize, service: &str| {
        let out = format!("s{seed}-{service}");
        let (seed, service) = (format!("seed={seed}"), format!("instance.service=exp:{service}"));
        let run = ["run", "plan.toml", "--simulated", "-q", "--out", &out];
        let set = ["--set", &seed, "--set", &service];
        place.plimsoll(&[&run[..], &set].concat()).ended_with(0);
        out
    };
    let (mut alarms, mut found) = (0, 0);
    for n in 0..4 {
        let (a, b) = (simulated(2 * n, "3ms"), simulated(2 * n + 1, "3ms"));
        let slower = simulated(2 * n + 1, "3.3ms");
        let compare = |b: &str| place.plimsoll(&["compare", &a, b, "--tolerance", "0%"]).code();
        alarms += usize::from(compare(&b) == Some(3));
        found += usize::from(compare(&slower) == Some(3));
    }
    assert!(alarms <= 1 && found >= 3, "{alarms} alarms, {found} found, of 4");
}
