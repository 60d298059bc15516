//! A search over a network whose round trip changes: a namespace behind a TUN device with a delay.
//! Needs root, TUN devices, `ip` and Python.

use crate::place::Place;
use crate::program::{Going, PLIMSOLL, wait_for};
use plimsoll_testing::{Weight, has_tun, installed};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/python/delayed_network.py");
const ADDRESS: &str = "10.77.0.2:8080";

/// A namespace that answers at [`ADDRESS`]; it ends with its standard input.
struct Network {
    process: Child,
    stdin: Option<ChildStdin>,
    name: String,
    control: PathBuf,
}

impl Network {
    fn start(place: &Place) -> Self {
        let (name, control) = (format!("plimsoll{}", std::process::id()), place.path("delay"));
        let mut process = Command::new("python3")
            .arg(SCRIPT)
            .args([&name, control.to_str().unwrap()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut said).unwrap();
        let network = Self { stdin: process.stdin.take(), process, name, control };
        assert_eq!(said.trim(), "ready", "what {SCRIPT} says");
        network
    }

    /// A server in the namespace.
    fn target(&self, place: &Place, arguments: &[&str]) -> Going {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, PLIMSOLL, "target", "--listen", ADDRESS]);
        command.args(arguments);
        let going = place.start(command);
        wait_for("the target", || going.out().contains("listening").then_some(()));
        going
    }

    /// So much longer is a round trip from now on.
    fn delay(&self, ms: u32) {
        let new = self.control.with_extension("new");
        std::fs::File::create(&new).unwrap().write_all(ms.to_string().as_bytes()).unwrap();
        std::fs::rename(new, &self.control).unwrap();
    }

    fn end(&mut self) {
        drop(self.stdin.take());
        let _ = self.process.wait();
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.end();
    }
}

/// The windows that a search has kept.
fn windows_so_far(place: &Place) -> Vec<Value> {
    let Some(run) = place.runs("runs").pop() else { return Vec::new() };
    let lines = std::fs::read_to_string(run.join("artifacts/windows.jsonl")).unwrap_or_default();
    // The last line may be on its way.
    lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[test]
fn a_round_trip_that_rises_discards_windows_and_ends_the_search_in_the_end() {
    let test = "a_round_trip_that_rises_discards_windows_and_ends_the_search_in_the_end";
    if installed(test, "python3").is_none() || !has_tun(test) {
        return;
    }
    let place = Place::weighing(Weight::ALONE);
    let network = Network::start(&place);
    let _target = network.target(&place, &["--service-time", "exp:4ms", "--workers", "2"]);
    let url = format!("http://{ADDRESS}/");
    let search = ["capacity", &url, "--slo", "p90<150ms", "--start", "20/s", "--json"];
    let going = place.start(place.command(PLIMSOLL, &search));
    let discarded =
        || windows_so_far(&place).iter().filter(|w| w["verdict"] == "discarded").count();
    wait_for("the ramp", || (windows_so_far(&place).len() >= 2).then_some(()));
    network.delay(40);
    // Two windows that do not count, and the search goes on where it was.
    wait_for("two discarded windows", || (discarded() >= 2).then_some(()));
    network.delay(0);
    let within = |w: &Value| w["offered_per_s"] == 80.0 && w["verdict"] == "within";
    wait_for("the search to go on", || windows_so_far(&place).iter().any(within).then_some(()));
    network.delay(40);
    let result = going.wait().ended_with(4).json();
    assert_eq!(result["ended"], "unstable_network", "{result}");
    let windows = result["windows"].as_array().unwrap();
    let last: Vec<_> = windows.iter().rev().take(5).map(|w| &w["verdict"]).collect();
    assert!(last.iter().all(|verdict| **verdict == "discarded"), "{last:?}");
    let baseline = result["rtt_us"]["baseline"].as_f64().unwrap();
    assert!(baseline < 20_000.0, "{baseline}");
}
