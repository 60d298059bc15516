//! Interrupts: once finishes what is in flight and writes the run, twice ends at once; either way
//! what was measured is kept.

use crate::json::assert_sums;
use crate::place::{Place, SOAK};
use crate::program::{Going, PLIMSOLL, wait_for};
use plimsoll_testing::Weight;
use rustix::process::Signal;
use serde_json::Value;
use std::net::TcpListener;

/// Starts a long run and waits until some of its seconds are on disk.
fn started(place: &Place, arguments: &[&str]) -> Going {
    let mut command = place.command(PLIMSOLL, &["load"]);
    command.args(arguments).args(["--rate", "50/s", "--for", SOAK, "--json"]);
    let mut going = place.start(command);
    wait_for("two seconds of the run", || {
        assert!(!going.has_ended(), "{}", going.err());
        let run = place.runs("runs").pop()?;
        let log = std::fs::read_to_string(run.join("latency.hlog")).ok()?;
        (log.matches("Tag=response,").count() >= 1).then_some(())
    });
    going
}

fn shown(place: &Place) -> Value {
    let run = place.run();
    let path = run.to_str().unwrap();
    place.plimsoll(&["report", path, "-o", "report.html"]).ended_with(0);
    place.plimsoll(&["runs", "show", path, "--json"]).ended_with(0).json()
}

#[test]
fn once_finishes_what_is_in_flight() {
    let place = Place::new();
    let target = place.target(&["--service-time", "const:300ms", "--workers", "1000"]);
    let going = started(&place, &[&target.url()]);
    going.signal(Signal::INT);
    let done = going.wait().ended_with(4);
    done.says(&["stopping: what is in flight is finished"]);
    let summary = done.json();
    assert_eq!(summary["run"]["ended"], "interrupted", "{summary}");
    assert_sums(&summary);
    assert_eq!(summary["in_flight_at_end"], 0, "all that was sent was answered: {summary}");
    // What waited for a connection was not sent yet.
    let mut errors = summary["errors"].clone();
    errors.as_object_mut().unwrap().remove("cut");
    assert_eq!(errors, serde_json::json!({}), "{summary}");
    assert_eq!(summary["succeeded"], summary["sent"], "{summary}");
    let duration = summary["duration_s"].as_f64().unwrap();
    assert!((1.0..45.0).contains(&duration), "{summary}");
    // The rate is that of the time it lasted, not of the time it was planned for.
    let rate = summary["rate_mean"].as_f64().unwrap();
    assert!((rate / 50.0 - 1.0).abs() < 0.1, "{summary}");
    assert_eq!(shown(&place), summary);
}

#[test]
fn twice_ends_at_once() {
    let place = Place::new();
    // Answers that are 60 s away are not awaited.
    let target = place.target(&["--service-time", "const:60s", "--workers", "1000"]);
    let going = started_unanswered(&place, &target.url());
    going.signal(Signal::INT);
    wait_for("the first interrupt to be heard", || going.err().contains("stopping").then_some(()));
    going.signal(Signal::INT);
    let done = going.wait().ended_with(4);
    done.says(&["ending at once"]);
    let summary = done.json();
    assert_eq!(summary["run"]["ended"], "interrupted", "{summary}");
    assert_sums(&summary);
    assert!(summary["in_flight_at_end"].as_u64().unwrap() > 0, "{summary}");
    // What our user cut off is nobody's fault.
    assert_eq!(summary["blame"]["target"], 0, "{summary}");
    assert_eq!(shown(&place), summary);
}

/// As [`started`], against a server that answers nothing: a second counts once it is in the file.
fn started_unanswered(place: &Place, url: &str) -> Going {
    let arguments = ["load", url, "--rate", "20/s", "--for", SOAK, "--json", "--timeout", SOAK];
    let mut going = place.start(place.command(PLIMSOLL, &arguments));
    wait_for("two seconds of the run", || {
        assert!(!going.has_ended(), "{}", going.err());
        let run = place.runs("runs").pop()?;
        let log = std::fs::read_to_string(run.join("latency.hlog")).ok()?;
        (log.matches("Tag=lateness,").count() >= 2).then_some(())
    });
    going
}

#[test]
fn other_signals_that_ask_to_end_do_the_same() {
    let place = Place::new();
    let target = place.calm();
    let going = started(&place, &[&target.url(), "--samples"]);
    going.signal(Signal::TERM);
    let summary = going.wait().ended_with(4).json();
    assert_eq!(summary["run"]["ended"], "interrupted", "{summary}");
    let run = plimsoll_runs::Run::open(&place.run()).unwrap();
    let samples = run.samples().unwrap().unwrap().count();
    assert_eq!(samples as u64, summary["offered"].as_u64().unwrap());
}

#[test]
fn the_rest_of_a_group_is_not_run_after_an_interrupt() {
    let place = Place::new();
    let target = place.calm();
    let going = started(&place, &[&target.url(), "--repeat", "3"]);
    going.signal(Signal::INT);
    going.wait().ended_with(4);
    assert_eq!(place.runs("runs").len(), 1);
}

#[test]
fn connecting_ends_at_once() {
    let place = Place::weighing(Weight::WAITS);
    // It takes connections, and says nothing in them.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", silent.local_addr().unwrap());
    let load = ["load", &url, "-k", "--rate", "10/s", "--for", "2s", "--timeout", "10m"];
    let going = place.start(place.command(PLIMSOLL, &load));
    let _taken = silent.accept().unwrap();
    going.signal(Signal::INT);
    going.wait().ended_with(4).says(&["interrupted", "nothing was sent"]);
    assert_eq!(place.runs("runs").len(), 0);
}

/// Ignores signals and becomes another program, as `nohup` does for one of them.
fn ignoring(place: &Place, signals: &str, arguments: &[&str]) -> Going {
    let script = format!("trap '' {signals}; exec \"$@\"");
    let shell = [&["-c", &script, "sh", PLIMSOLL], arguments].concat();
    place.start(place.command("sh", &shell))
}

#[test]
fn what_was_ignored_from_the_start_stays_ignored() {
    let place = Place::new();
    let target = place.calm();
    let url = target.url();
    // tidy: allow(waits, the signal is ignored, so that a load has its length)
    let load = ["load", &url, "--rate", "50/s", "--for", "3s", "--json"];
    for (ignored, signal) in [("HUP", Signal::HUP), ("INT", Signal::INT), ("TERM", Signal::TERM)] {
        let before = place.runs("runs").len();
        let going = ignoring(&place, ignored, &load);
        wait_for("the run to begin", || (place.runs("runs").len() > before).then_some(()));
        going.signal(signal);
        let summary = going.wait().ran().json();
        assert_eq!(summary["run"]["ended"], "complete", "{ignored}: {summary}");
        assert_eq!(summary["offered"], 150, "{ignored}: {summary}");
    }
    // A shell's job in the background of a script: nobody has asked for that.
    let before = place.runs("runs").len();
    let load = load.map(|word| if word == "3s" { SOAK } else { word });
    let going = ignoring(&place, "INT QUIT", &load);
    wait_for("the run to begin", || (place.runs("runs").len() > before).then_some(()));
    going.signal(Signal::INT);
    going.wait().ended_with(4);
}
