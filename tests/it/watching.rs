//! What is watched beside a load: figures by which runs are judged, warm-ups end, cells are lost,
//! and which are told.

use crate::place::Place;
use plimsoll_runs::Run;
use serde_json::Value;

/// A cache that is empty at first: its reads find more and more of what its updates have set.
const CACHE: &str = "\
name = 'warming'
[testbed]
provider = 'process'
[role.db]
recipe = 'memcached'
[target]
url = 'memcached://{{role.db.address}}:{{role.db.port}}'
[store]
records = 100
[load]
rate = '2000/s'
for = '2s'
start_when = 'memcached.hit_ratio>=60% for 1s'
start_within = '60s'
[collect]
every = '250ms'
from = ['host', 'memcached']
[watch.warm]
when = 'memcached.hit_ratio>=50%'
[measure]
slo = 'memcached.hit_ratio>=50%, host.memory<100%, instance.db*.memcached.items>1 for 1s'
";

fn clause<'a>(run: &'a Value, expr: &str) -> &'a Value {
    let mut clauses = run["slo"].as_array().unwrap().iter();
    clauses.find(|of| of["expr"].as_str().unwrap().starts_with(expr)).unwrap()
}

#[test]
fn a_warm_up_goes_on_until_its_rule_holds_and_the_run_is_judged_by_what_was_watched() {
    let place = Place::alone();
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

#[test]
fn a_warm_up_whose_rule_does_not_come_to_hold_fails_its_cell_with_the_reason() {
    let place = Place::alone();
    let plan = CACHE
        .replace("hit_ratio>=60% for 1s", "items>100000 for 1s")
        .replace("start_within = '60s'", "start_within = '3s'");
    place.write("plan.toml", &plan);
    let failed = place.plimsoll(&["run", "plan.toml"]).ended_with(4);
    assert!(failed.err.contains("did not end within 3 s: it never held"), "{}", failed.err);
    // What failed is not to be believed, whatever its generator was like.
    let run = Run::open(&place.run()).unwrap().summary().unwrap().run;
    assert!(!run.valid && run.invalid_because[0].starts_with("it failed: "), "{run:?}");
    let analysed = place.plimsoll(&["analyse", "--json"]).ended_with(4).json();
    let cell = &analysed["cells"][0];
    assert_eq!((&cell["state"], &cell["valid"]), (&"failed".into(), &false.into()), "{analysed}");
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
    let place = Place::alone();
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

#[test]
fn a_rule_that_is_watched_may_end_the_load() {
    let place = Place::alone();
    let plan = CACHE
        .replace("start_when", "# start_when")
        .replace("start_within", "# start_within")
        .replace("for = '2s'", "for = '60s'")
        .replace(
            "when = 'memcached.hit_ratio>=50%'",
            "when = 'memcached.items>=1 for 1s'\nstop = true",
        );
    place.write("plan.toml", &plan);
    let ended = place.plimsoll(&["run", "plan.toml"]);
    let told = format!("{}{}", ended.out, ended.err);
    assert!(told.contains("warm: memcached.items>=1 for 1s held after"), "{told}");
    assert_eq!(ended.code(), Some(4), "{told}");
}

#[test]
fn figures_that_there_are_not_are_refused_with_the_nearest_and_so_is_watching_nothing() {
    let place = Place::alone();
    place.write(
        "plan.toml",
        CACHE.replace("memcached.hit_ratio>=50%, host", "memcached.hit_ration>=5%, host"),
    );
    let refused = place.plimsoll(&["check", "plan.toml"]).ended_with(2);
    assert!(refused.err.contains("did you mean memcached.hit_ratio?"), "{}", refused.err);
    place.write("plan.toml", CACHE.replace("from = ['host', 'memcached']", "from = []"));
    let refused = place.plimsoll(&["check", "plan.toml"]).ended_with(2);
    assert!(refused.err.contains("nothing is watched"), "{}", refused.err);
}
