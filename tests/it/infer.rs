//! `plimsoll infer`: of what is no search, and over time.

use crate::place::{Place, events};
use crate::program::{PLIMSOLL, wait_for};
use plimsoll_runs::Run;
use serde_json::Value;

/// A search on a simulated server: it calibrates for one that is served alike.
const SEARCH: &str = "\
[target]
url = 'http://127.0.0.1:9/'
[instance]
service = 'exp:4ms'
[measure]
slo = 'p90<40ms'
[search]
calibrate = true
";

#[test]
fn what_is_no_search_does_not_calibrate() {
    let place = Place::new();
    let target = place.target(&[]);
    let url = target.url();
    place.load(&[&url, "--rate", "20/s", "--for", "500ms"]).ran();
    let run = place.run();
    let run = run.to_str().unwrap();
    let done = place.plimsoll(&["infer", run, "--probe", &url]).ended_with(2);
    done.says(&["the run of a finished search", "plimsoll capacity --calibrate"]);
    let nothing = place.path("nothing");
    let nothing = nothing.to_str().unwrap();
    place.plimsoll(&["infer", nothing, "--probe", &url]).ended_with(2);
}

/// What the loads are is not judged here: a busy host changes them.
#[test]
fn the_load_of_others_is_told_over_time_or_it_is_said_why_not() {
    let place = Place::new();
    place.write("search.toml", SEARCH);
    place.plimsoll(&["run", "search.toml", "--simulated", "-q", "--out", "searched"]).ended_with(0);
    let searched = place.runs("searched").remove(0).display().to_string();
    let target = place.target(&["--service-time", "exp:4ms"]);
    let url = target.url();
    let infer = ["infer", &searched, "--probe", &url, "--every", "2s", "--rate", "100/s"];
    let more = ["--tag", "of=it", "--out", "told", "--json"];
    let going = place.start(place.command(PLIMSOLL, &[&infer[..], &more].concat()));
    wait_for("two stretches", || (going.out().lines().count() >= 2).then_some(()));
    let done = place.stopped(going);
    assert!(matches!(done.code(), Some(0 | 4 | 5)), "{}", done.err);
    done.says(&["the probes are", "a load of their own"]);
    let stretches: Vec<Value> =
        done.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(stretches.len() >= 2, "{}", done.out);
    let run = Run::open(&place.runs("told")[0]).unwrap();
    let load = run.series("plimsoll_inferred_load_per_s").unwrap();
    let capacity = run.series("plimsoll_inferred_capacity_per_s").unwrap();
    for (number, stretch) in (1_u64..).zip(&stretches) {
        assert_eq!(stretch["number"], number);
        // Either, and the same in the run.
        assert!(stretch["load_per_s"].is_null() != stretch["declined"].is_null(), "{stretch}");
        let at = usize::try_from(number).unwrap() - 1;
        assert_eq!(load[at].at_ns, number * 2_000_000_000);
        assert_eq!(load[at].value, stretch["load_per_s"].as_f64());
        assert_eq!(capacity[at].value, stretch["capacity_per_s"].as_f64());
    }
    let declined = stretches.iter().filter(|stretch| !stretch["declined"].is_null()).count();
    assert_eq!(run.series("plimsoll_inferred_declined").unwrap().len(), declined);
    assert!(events(run.path(), "inferred")[0].starts_with("the load of others is "));
    assert_eq!(run.meta().tags["of"], "it");
    let text = place.plimsoll(&["report", run.path().to_str().unwrap(), "-o", "page.html"]);
    text.ended_with(0);
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.contains("Load of others") && !page.contains("The application's own series"));
    // What could say nothing, or would be left out in silence.
    let few = ["infer", &searched, "--probe", &url, "--every", "2s"];
    place
        .plimsoll(&few)
        .ended_with(2)
        .says(&["a stretch has to have 150", "--rate 75/s, or --every 80s"]);
    let tagged = ["infer", &searched, "--probe", &url, "--tag", "a=b"];
    place.plimsoll(&tagged).ended_with(2).says(&["tag what keeps no run: say --every"]);
    place.plimsoll(&[&infer[..], &["--max-time", "1s"]].concat()).ended_with(2);
    let served = ["infer", &searched, "--probe", &url, "--prometheus", "9464"];
    place.plimsoll(&served).ended_with(2).says(&["--every"]);
    for (more, words) in [
        (&["--every", "0s"][..], "1s or more"),
        (&["--every", "3s", "--for", "2s", "--rate", "100/s"], "no stretch would end"),
        (&["--every", "2s", "--rate", "100/s", "--set", "repeat=2"], "leave `repeat` out"),
        (&["--every", "2s", "--rate", "100/s", "--set", "load.warm_up=1s"], "leave `warm_up` out"),
        (&["--every", "2s", "--rate", "100/s", "--set", "load.rate=5/s"], "say --rate"),
        (&["--rate", "9k/s"], "below the capacity"),
    ] {
        let words_of_command = [&["infer", &searched, "--probe", &url][..], more].concat();
        place.plimsoll(&words_of_command).ended_with(2).says(&[words]);
    }
}

/// Failures are answered fast: they are no load. Who reads no more ends it.
#[test]
fn a_server_that_fails_has_no_load_that_is_told_and_nobody_probes_for_no_reader() {
    let place = Place::new();
    place.write("search.toml", SEARCH);
    place.plimsoll(&["run", "search.toml", "--simulated", "-q", "--out", "searched"]).ended_with(0);
    let searched = place.runs("searched").remove(0).display().to_string();
    let target = place.target(&["--service-time", "exp:4ms", "--errors", "30%"]);
    let url = target.url();
    let once = ["infer", &searched, "--probe", &url, "--rate", "50/s", "--json"];
    let done = place.plimsoll(&once);
    let of: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(of["declined"]["reason"], "failing", "{of}");
    let infer = format!(
        "{PLIMSOLL} infer {searched} --probe {url} --every 2s --rate 100/s --out told --json"
    );
    // It would go on for a day.
    let piped = place.start(place.command("sh", &["-c", &format!("{infer} | head -1")]));
    let done = piped.wait();
    let first: Value = serde_json::from_str(&done.out).unwrap();
    let reason = &first["declined"]["reason"];
    assert!(reason == "failing" || reason == "generator_late", "{first}");
    assert!(first["failed"].as_u64() > Some(0) && first["load_per_s"].is_null(), "{first}");
    let run = place.runs("told").remove(0);
    assert!(run.ends_with(first["run"].as_str().unwrap()), "{first}");
}
