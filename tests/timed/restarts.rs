//! What restarts of a server do to its capacity, and a series that goes on after an interrupt.

use crate::place::Place;
use crate::program::{PLIMSOLL, wait_for};
use crate::restarts::series;
use plimsoll_testing::{Weight, free_address};
use rustix::process::{Pid, Signal, kill_process};
use std::path::PathBuf;

/// A server that a script restarts: after every second restart with one worker instead of two.
struct Restarted {
    url: String,
    pid: PathBuf,
}

impl Restarted {
    fn new(place: &Place) -> Self {
        let listen = free_address();
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
    let place = Place::weighing(Weight::ALONE);
    let server = Restarted::new(&place);
    let plan = format!(
        "name = 'other'\n[target]\nurl = '{}'\nrestart = 'sh restart.sh'\n[load]\nrate = '1/s'\n\
         for = '1s'\n[measure]\nslo = 'p90<100ms'\n",
        server.url
    );
    place.write("plan.toml", plan);
    let args = ["capacity", "plan.toml", "--restarts", "1", "--start", "100/s"];
    let args = [&args[..], &["--precision", "50%", "--json"]].concat();
    let done = place.plimsoll(&args);
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

#[test]
fn an_interrupt_lets_the_restart_end_and_the_series_goes_on_later() {
    let place = Place::weighing(Weight::ALONE);
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
