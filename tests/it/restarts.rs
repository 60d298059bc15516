//! `plimsoll capacity --restarts`: a server that is another one after each restart, commands that
//! fail, hang or leave nothing behind, and going on after an interrupt.

use crate::place::{Place, test_name};
use crate::program::{PLIMSOLL, wait_for};
use plimsoll_testing::{Weight, not_judged};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::net::TcpListener;
use std::path::PathBuf;

/// A server that a script restarts: after every second restart with one worker instead of two.
struct Restarted {
    url: String,
    pid: PathBuf,
}

impl Restarted {
    fn new(place: &Place) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let listen = format!("127.0.0.1:{port}");
        let script = format!(
            "if [ -f pid ]; then\n\
               old=$(cat pid); kill -9 $old; while [ -e /proc/$old/exe ]; do sleep 0.05; done\n\
             fi\n\
             echo again >> restarts; workers=$((1 + $(wc -l < restarts) % 2))\n\
             '{PLIMSOLL}' target --listen {listen} --service-time const:5ms --workers $workers \
               > target.out 2>&1 &\n\
             echo $! > pid\n"
        );
        place.write("restart.sh", script);
        Self { url: format!("http://{listen}/"), pid: place.path("pid") }
    }
}

impl Drop for Restarted {
    fn drop(&mut self) {
        let text = std::fs::read_to_string(&self.pid).unwrap_or_default();
        if let Some(pid) = text.trim().parse().ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

#[test]
fn a_spread_between_restarts_is_found() {
    let place = Place::measuring();
    let server = Restarted::new(&place);
    let plan = format!(
        "name = 'other'\n[target]\nurl = '{}'\nrestart = 'sh restart.sh'\n[load]\nrate = '1/s'\n\
         for = '1s'\n[measure]\nslo = 'p90<100ms'\n",
        server.url
    );
    place.write("plan.toml", plan);
    let args = ["capacity", "plan.toml", "--restarts", "1", "--start", "100/s"];
    let args = [&args[..], &["--precision", "50%", "--json"]].concat();
    let done = place.again(|| {
        let _ = std::fs::remove_file(place.path("restarts"));
        place.plimsoll(&args)
    });
    if done.code() == Some(5) {
        not_judged(&test_name(), "the machine is too busy to search for a capacity");
        return;
    }
    let result = done.ended_with(0).json();
    let runs = result["runs"].as_array().unwrap();
    assert_eq!((runs.len(), &result["restarts"]), (2, &true.into()), "{result}");
    assert!(runs.iter().all(|run| run["restarted"] == true), "{result}");
    let lines = std::fs::read_to_string(place.path("restarts")).unwrap();
    assert_eq!(lines.lines().count(), 2, "one before each search, the first too");
    // 400/s and 200/s at most.
    let of = &result["summary"]["restarts"];
    let figure = |name: &str| of[name].as_f64().unwrap_or_else(|| panic!("{name}: {result}"));
    assert!(of["is_more_than_chance"] == true && figure("p_value") < 0.05, "{of}");
    assert!((0.15..0.8).contains(&figure("between_cv")), "{of}");
    assert!(figure("between_sd_per_s") > figure("within_sd_per_s"), "{of}");
    let id = result["series"].as_str().unwrap();
    let compared = place.plimsoll(&["capacity", "compare", &format!("runs/{id}")]).ended_with(0);
    for part in ["other after restarts: 2 estimates", "more than chance", "after a next restart"] {
        assert!(compared.out.contains(part), "{part}: {}", compared.out);
    }
}

/// The series of a place that has one.
fn series(place: &Place) -> (String, Value) {
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
fn an_interrupt_lets_the_restart_end_and_the_series_goes_on_later() {
    let place = Place::measuring();
    let target = place.target(&["--service-time", "const:1ms", "--workers", "100"]);
    let slow = "echo began >> began; sleep 1; echo ended >> ended";
    #[rustfmt::skip]
    let args = [
        "capacity", &target.url(), "--search", "ladder", "--window", "1s", "--near-rtt", "off",
        "--slo", "p90<500ms", "--start", "40/s", "--max-rate", "40/s", "--restarts", "1",
        "--restart-command", slow,
    ];
    let going = place.start(place.command(PLIMSOLL, &args));
    wait_for("a restart", || place.path("began").is_file().then_some(()));
    going.signal(Signal::INT);
    let done = going.wait().ended_with(4);
    assert!(place.path("ended").is_file(), "{}", done.err);
    let (path, file) = series(&place);
    assert_eq!(file["runs"].as_array().unwrap().len(), 0, "{file}");
    let resume = ["capacity", "--resume", &path, "--json"];
    let quick = ["--restart-command", "echo again >> began"];
    let done = place.plimsoll(&[&resume[..], &quick].concat());
    if done.code() == Some(5) {
        not_judged(&test_name(), "the machine is too busy to search for a capacity");
        return;
    }
    let result = done.ended_with(0).json();
    let runs = result["runs"].as_array().unwrap();
    assert!(runs.len() == 2 && runs.iter().all(|run| run["restarted"] == true), "{result}");
    // The SLO holds at the highest rate allowed: such estimates are no sample of the capacity.
    assert!(runs.iter().all(|run| run["bound"] == "at_least"), "{result}");
    assert_eq!(result["summary"]["bounds"], 2);
    assert!(result["summary"]["restarts"].is_null(), "{result}");
    let warnings = result["warnings"].to_string();
    assert!(warnings.contains("Of 2 estimates, 2 are no more than a bound"), "{warnings}");
    let restarts = std::fs::read_to_string(place.path("began")).unwrap();
    assert_eq!(restarts, "began\nagain\nagain\n");
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
