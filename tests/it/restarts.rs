//! `plimsoll capacity --restarts`: commands that fail, hang or leave nothing behind, and what is
//! refused.

use crate::place::Place;
use plimsoll_testing::Weight;
use serde_json::Value;

/// The series of a place that has one.
pub(crate) fn series(place: &Place) -> (String, Value) {
    let entries = std::fs::read_dir(place.path("runs")).unwrap().flatten();
    let mut names = entries.map(|entry| entry.file_name().into_string().unwrap());
    let name = names.find(|name| name.ends_with(".series.json")).unwrap();
    let text = std::fs::read_to_string(place.path("runs").join(&name)).unwrap();
    let path = format!("runs/{}", name.trim_end_matches(".series.json"));
    (path, serde_json::from_str(&text).unwrap())
}

#[test]
fn a_command_that_fails_ends_the_series() {
    let place = Place::weighing(Weight::WAITS);
    let command = "echo hello >&2; echo 'no such unit' >&2; exit 3";
    let args = ["capacity", "http://127.0.0.1:9/", "--restarts", "2", "--restart-command", command];
    let done = place.plimsoll(&args).ended_with(4);
    done.says(&["its command ended with exit code 3: no such unit", "go on with", "--resume"]);
    assert!(!done.err.contains("hello"), "one line is enough: {}", done.err);
    let (path, file) = series(&place);
    assert_eq!(file["runs"].as_array().unwrap().len(), 0, "{file}");
    let log = std::fs::read_to_string(place.path(&format!("{path}.restart.log"))).unwrap();
    assert_eq!(log, "hello\nno such unit\n");

    let hangs = ["--restart-command", "sleep 100", "--restart-timeout", "200ms"];
    let again = place.plimsoll(&[&["capacity", "--resume", &path], &hangs[..]].concat());
    again.ended_with(4).says(&["had not ended after 200ms", "--restart-timeout"]);
}

#[test]
fn a_server_that_does_not_come_back_is_a_gap() {
    let place = Place::weighing(Weight::WAITS);
    let args = ["capacity", "http://127.0.0.1:9/", "--restarts", "1", "--restart-command", "true"];
    let done = place.plimsoll(&[&args[..], &["--restart-timeout", "300ms", "--json"]].concat());
    let result = done.ended_with(4).json();
    let runs = result["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2, "{result}");
    for run in runs {
        assert_eq!((&run["ended"], &run["run"]), (&"target_lost".into(), &Value::Null), "{run}");
        assert_eq!(run["why"], "it did not answer within 300ms after its restart", "{run}");
    }
    assert!(result["summary"]["restarts"].is_null(), "{result}");
}

#[test]
fn wrong_restarts_say_what_is_wrong() {
    let place = Place::weighing(Weight::WAITS);
    let url = "http://127.0.0.1:9/";
    for (args, said) in [
        (vec![url, "--restarts", "2"], "--restart-command 'systemctl restart nginx'"),
        (vec![url, "--restart-command", "true"], "`--restart-command` goes with --restarts"),
        (vec![url, "--restart-timeout", "1s"], "`--restart-timeout` goes with --restarts"),
        (vec![url, "--restarts", "0", "--restart-command", "true"], "from 1 to 999999"),
        (vec![url, "--restarts", "2", "--repeat", "3"], "cannot be used with"),
        (vec![url, "--restarts", "2", "--restart-command", ""], "--restart-command"),
        (
            vec![url, "--restarts", "2", "--restart-command", "true", "--restart-timeout", "5"],
            "--restart-timeout",
        ),
    ] {
        let done = place.plimsoll(&[&["capacity"], &args[..]].concat()).ended_with(2);
        assert!(done.err.contains(said), "{args:?}: {}", done.err);
    }
}
