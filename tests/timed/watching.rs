//! How soon samples are there of what is watched, and how soon a cell ends that is lost.

use crate::place::Place;
use crate::watching::CACHE;
use plimsoll_runs::Run;
use plimsoll_testing::Weight;
use serde_json::Value;

fn clause<'a>(run: &'a Value, expr: &str) -> &'a Value {
    let mut clauses = run["slo"].as_array().unwrap().iter();
    clauses.find(|of| of["expr"].as_str().unwrap().starts_with(expr)).unwrap()
}

#[test]
fn a_warm_up_goes_on_until_its_rule_holds_and_the_run_is_judged_by_what_was_watched() {
    let place = Place::weighing(Weight::ALONE);
    place.write("plan.toml", CACHE);
    let done = place.plimsoll(&["run", "plan.toml"]).ended_with(0);
    assert!(done.err.contains("warm: memcached.hit_ratio>=50% holds"), "{}", done.err);
    let run = Run::open(&place.run()).unwrap();
    let events = run.events().unwrap();
    let begun = events.iter().find(|event| event.kind == "measuring").unwrap();
    assert!(begun.text.contains("memcached.hit_ratio"), "{}", begun.text);
    let told = events.iter().filter(|event| event.kind == "watch").count();
    let whole_s = (begun.at_ns / 1_000_000_000) as usize;
    assert!((1..=whole_s.max(2)).contains(&told), "once for each change: {told}");

    let summary = serde_json::to_value(run.summary().unwrap()).unwrap();
    // The measured phase begins with a whole second.
    assert_eq!(begun.at_ns % 1_000_000_000, 0);
    assert_eq!(summary["warmup_s"].as_f64(), Some(whole_s as f64));
    assert_eq!(summary["duration_s"], 2.0);
    // What was due before is of the warm-up, and kept.
    assert!(summary["warm_up"]["offered"].as_u64().unwrap() > 0, "{}", summary["warm_up"]);
    let ratio = clause(&summary, "memcached.hit_ratio");
    let value = ratio["value"].as_f64().unwrap();
    assert!(ratio["pass"] == true && (0.5..=1.0).contains(&value), "{ratio}");
    assert_eq!(clause(&summary, "instance.db*")["pass"], true);
    let figures = run.figures().unwrap();
    let named = |name: &str| figures.iter().find(|row| row.name == name).unwrap().value;
    assert!((named("memcached.hit_ratio") - value).abs() < 1e-12);
    assert!(named("instance.db-1.memcached.requests") > 0.0 && named("host.cpu") > 0.0);
    // No sample is dated before the load, nor long behind it.
    let covered_s = run.intervals().unwrap().last().map(|of| of.start_s + of.len_s).unwrap();
    let series = run.series("memcached_current_items").unwrap();
    assert!(
        series.len() > 8 && series.iter().all(|row| row.at_ns as f64 <= 1e9 * (covered_s + 1.0))
    );
}

const LOST: &str = "\
name = 'one level is lost'
[experiment]
respond = ['rate', 'host.memory']
[factor]
'target.ok' = ['2xx', '404']
[testbed]
provider = 'process'
[role.web]
recipe = 'target'
vars = { service = 'const:1ms' }
[target]
url = 'http://{{role.web.address}}:{{role.web.port}}/'
[load]
rate = '50/s'
for = '8s'
ends_when = 'availability<80%'
[collect]
from = ['host']
[measure]
slo = 'p99<5s, availability>=80%'
";

#[test]
fn a_cell_that_is_lost_ends_early_is_kept_and_is_in_no_ranking() {
    let place = Place::weighing(Weight::ALONE);
    place.write("plan.toml", LOST);
    let done = place.plimsoll(&["run", "plan.toml", "--json"]).ended_with(0).json();
    assert_eq!(
        (&done["experiment"]["complete"], &done["experiment"]["cells_failed"]),
        (&true.into(), &0.into())
    );
    let cells = done["cells"].as_array().unwrap();
    let with = |ok: &str| cells.iter().find(|cell| cell["factors"]["target.ok"] == ok).unwrap();
    let (good, lost) = (with("2xx"), with("404"));
    assert_eq!((&good["state"], &good["gate"]), (&"done".into(), &"held".into()), "{good}");
    assert_eq!(
        (&lost["state"], &lost["gate"]),
        (&"ended_early".into(), &"broken".into()),
        "{lost}"
    );
    assert!(lost["reason"].as_str().unwrap().starts_with("availability<80% held"), "{lost}");
    assert!(good["figures"]["host.memory"].as_f64().unwrap() > 0.0, "{good}");
    assert_eq!(done["best"]["factors"]["target.ok"], "2xx");
    // Its run is there, and shorter than it was meant to be.
    let run = Run::open(&place.run().join(lost["run"].as_str().unwrap())).unwrap();
    assert!(run.summary().unwrap().duration_s < 7.0);
    // It is not executed again.
    let journal = plimsoll_runs::experiment::Experiment::open(&place.run()).unwrap();
    let progress = journal.progress().unwrap();
    assert_eq!((progress.done, progress.of), (2, 2));
}
