//! Loads that go on until somebody has seen enough, and how they are asked to end.

use crate::place::{Place, SOAK, events};
use crate::pools::one_policy;
use crate::program::{PLIMSOLL, wait_for};
use plimsoll_testing::Weight;
use rustix::process::Pid;
use serde_json::Value;

/// An SLO that holds whatever the machine does besides.
const HELD: &str = "p50<9m";

#[test]
fn a_load_for_ever_ends_when_it_is_asked_to_and_is_whole() {
    let place = Place::new();
    let target = place.calm();
    let url = target.url();
    for shape in ["--rate=40/s", "--users=2"] {
        let out = &shape[2..7].replace('=', "");
        let going =
            place.soak(&[&url, shape, "--slo", HELD, "--timeout", "9m", "--json", "--out", out]);
        let of = place.stopped(going).ended_with(0).json();
        assert_eq!(of["run"]["ended"], "asked", "{of}");
        let lasted = of["duration_s"].as_f64().unwrap();
        assert!(lasted >= 1.0 && lasted.fract() < 1e-9, "{of}");
        assert_eq!((&of["succeeded"], &of["in_flight_at_end"]), (&of["offered"], &0.into()));
        if shape.starts_with("--rate") {
            assert_eq!(of["offered"].as_f64().map(f64::to_bits), Some((40.0 * lasted).to_bits()));
        }
        let run = place.runs(out).pop().unwrap();
        assert_eq!(events(&run, "stop"), ["asked to end"]);
        assert_eq!(events(&run, "asked").len(), 1);
        let run = run.to_str().unwrap();
        let status = place.plimsoll(&["status", run, "--json"]).ended_with(0).json();
        assert_eq!((&status["state"], &status["cells"]["done"]), (&"complete".into(), &1.into()));
        place.plimsoll(&["stop", run]).ended_with(2).says(&["nobody executes it (complete"]);
        let again = place.plimsoll(&["runs", "show", run]).ended_with(0);
        again.prints(&["valid", "p50<9m"]);
    }
}

#[test]
fn a_load_of_a_length_is_ended_in_the_same_way_and_its_slo_decides() {
    let place = Place::new();
    let target = place.calm();
    let url = target.url();
    let load = ["load", &url, "--rate", "20/s", "--for", SOAK, "--slo", "p50<1ms", "--json"];
    let mut going = place.start(place.command(PLIMSOLL, &load));
    wait_for("a run", || {
        assert!(!going.has_ended(), "{}{}", going.out(), going.err());
        (!place.runs("runs").is_empty()).then_some(())
    });
    // Asked before its first second is over, too.
    wait_for("it to be asked", || (place.plimsoll(&["stop"]).code() == Some(0)).then_some(()));
    let of = going.wait().ended_with(3).json();
    assert_eq!((&of["run"]["ended"], &of["slo"][0]["pass"]), (&"asked".into(), &false.into()));
}

#[test]
fn who_is_asked_to_end_before_anything_was_measured_has_no_result() {
    let place = Place::new();
    let target = place.calm();
    let going = place.soak(&[&target.url(), "--rate", "20/s", "--warm-up", SOAK, "--json"]);
    let of = place.stopped(going).ended_with(4).json();
    assert_eq!((&of["run"]["ended"], &of["offered"]), (&"asked".into(), &0.into()), "{of}");
}

#[test]
fn a_load_for_ever_ends_with_who_started_it() {
    let place = Place::new();
    let target = place.calm();
    let load = format!(
        "{PLIMSOLL} load {} --rate 20/s --for ever --quiet > load.out 2> load.err & echo $! > pid; \
         until test -e go; do sleep 0.05; done",
        target.url()
    );
    let starter = place.start(place.command("sh", &["-c", &load]));
    wait_for("a second of the load", || {
        let run = plimsoll_runs::Run::open(place.runs("runs").first()?).ok()?;
        (!run.intervals().ok()?.is_empty()).then_some(())
    });
    place.write("go", "");
    starter.wait().ended_with(0);
    let pid: i32 = std::fs::read_to_string(place.path("pid")).unwrap().trim().parse().unwrap();
    let pid = Pid::from_raw(pid).unwrap();
    wait_for("the orphan's end", || rustix::process::test_kill_process(pid).is_err().then_some(()));
    let said = std::fs::read_to_string(place.path("load.err")).unwrap();
    assert!(said.contains("the process that started this load has ended"), "{said}");
    let status = place.plimsoll(&["status", "--json"]).ended_with(4).json();
    assert_eq!(status["state"], "interrupted", "{status}");
}

#[test]
fn what_has_no_moment_to_end_is_refused_at_its_place() {
    let place = Place::weighing(Weight::WAITS);
    let load = ["load", "http://127.0.0.1:9/", "--rate", "9/s", "--for", "ever"];
    let refused = |more: &[&str]| place.plimsoll(&[&load[..], more].concat()).ended_with(2);
    refused(&["--repeat", "2"]).says(&["--for: `ever` does not go with cells that are repeated"]);
    let plan = "[target]\nurl = 'http://127.0.0.1:9/'\n[load]\nrate = '9/s'\nfor = 'ever'\n\
                [instance]\nservice = 'exp:20ms'\n";
    place.write("plan.toml", plan);
    let simulated = place.plimsoll(&["run", "plan.toml", "--simulated"]).ended_with(2);
    simulated.says(&["plan.toml:5:7: `ever` does not go with what is simulated", "for = \"30m\""]);
    place.plimsoll(&["check", "plan.toml", "--simulated"]).ended_with(2);
    let scaled = place.plimsoll(&["run", "plan.toml", "--scale", "20%"]).ended_with(2);
    scaled.says(&["a load for ever"]);
    place.plimsoll(&["check", "plan.toml"]).ended_with(0).prints(&["1 d"]);
}

/// A cell whose load is for ever is done when its experiment is asked to stop: then none is left.
#[test]
fn cells_for_ever_end_with_their_experiment() {
    let place = Place::new();
    let target = place.calm();
    let plan = format!(
        "[experiment]\nat_once = 2\n[factor]\n\"load.rate\" = ['20/s', '40/s']\n\
         [target]\nurl = '{}'\n[load]\nrate = '20/s'\nfor = 'ever'\nat_most = '{SOAK}'\n\
         [measure]\nslo = '{HELD}'\n",
        target.url()
    );
    place.write("plan.toml", plan);
    let mut going = place.start(place.command(PLIMSOLL, &["run", "plan.toml", "--json"]));
    let running = wait_for("both cells", || {
        assert!(!going.has_ended(), "{}{}", going.out(), going.err());
        let status = place.plimsoll(&["status", "--json"]);
        let status = (status.code() == Some(0)).then(|| status.json())?;
        (status["cells"]["running"] == 2).then_some(status)
    });
    assert_eq!(running["state"], "running");
    let stop = place.plimsoll(&["stop"]).ended_with(0);
    stop.says(&["asked to stop with the next second of its load"]);
    let done = going.wait().ran();
    assert!(!done.err.contains("ended: it was asked"), "{}", done.err);
    let of = done.json();
    assert_eq!(of["experiment"]["complete"], true, "{of}");
    let is_done = |cell: &Value| cell["state"] == "done";
    assert!(of["cells"].as_array().unwrap().iter().all(is_done), "{of}");
    let status = place.plimsoll(&["status", "--json"]).ended_with(0).json();
    assert_eq!((&status["state"], &status["cells"]["left"]), (&"complete".into(), &0.into()));
}

#[test]
fn a_pool_under_a_load_for_ever_is_billed_up_to_its_end() {
    let place = Place::new();
    let policy = "kind = 'fixed'\ninstances = 2";
    place.write("plan.toml", one_policy("start = 2", policy));
    let live = place.stopped(place.run_for_ever(&["--json"])).ran().json();
    assert!(live["predictions"].as_array().is_none_or(Vec::is_empty), "{live}");
    let of = &live["cells"][0];
    let number =
        |name: &str| of["figures"][name].as_f64().unwrap_or_else(|| panic!("{name}: {of}"));
    let run = plimsoll_runs::Run::open(&place.run().join(of["run"].as_str().unwrap())).unwrap();
    let lasted_s = run.measured().unwrap().end as f64 / 1e9;
    assert!((1.0..1200.0).contains(&lasted_s), "{lasted_s}");
    let [offered, served, lost, open] =
        ["offered", "served", "lost", "in_flight_at_end"].map(number);
    assert!(offered > 0.0 && (offered - served - lost - open).abs() < 0.5, "{of}");
    // Two instances, from the beginning of the load to its end.
    let hours = 2.0 * lasted_s / 3600.0;
    assert!((number("instance_hours") / hours - 1.0).abs() < 0.01, "{hours} {of}");
}
