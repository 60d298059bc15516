//! The generator is the limit: held to 30% of a core and asked for far more than that can do, it
//! says so, and gives no verdict that hangs on it.

use crate::place::{Place, test_name};
use crate::program::PLIMSOLL;
use plimsoll_testing::{Weight, skip};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A control group of our own with 30% of a core; removed when dropped.
struct Group {
    at: PathBuf,
}

impl Group {
    /// Version 1 or 2 of control groups, whichever lets us; `None`, and said so, where neither
    /// does.
    fn make() -> Option<Self> {
        let name = format!("plimsoll-test-{}", std::process::id());
        let first = || {
            let at = Path::new("/sys/fs/cgroup/cpu").join(&name);
            fs::create_dir(&at).ok()?;
            let group = Self { at };
            fs::write(group.at.join("cpu.cfs_period_us"), "100000").ok()?;
            fs::write(group.at.join("cpu.cfs_quota_us"), "30000").ok()?;
            Some(group)
        };
        let second = || {
            let own = fs::read_to_string("/proc/self/cgroup").ok()?;
            let own = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
            let mut above = Path::new("/sys/fs/cgroup").join(own);
            // Processes live in leaves: beside ours there is room, where the controller is on.
            above.pop();
            let at = above.join(&name);
            fs::create_dir(&at).ok()?;
            let group = Self { at };
            fs::write(group.at.join("cpu.max"), "30000 100000").ok()?;
            Some(group)
        };
        let group = first().or_else(second);
        if group.is_none() {
            skip(&test_name(), "namespaces: no control group that may be written");
        }
        group
    }

    fn processes(&self) -> String {
        self.at.join("cgroup.procs").display().to_string()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.at);
    }
}

#[test]
fn a_generator_that_is_the_limit_says_so() {
    let place = Place::weighing(Weight::ALONE);
    let Some(group) = Group::make() else { return };
    let target = place.target(&[]);
    let script = format!("echo $$ > {} && exec \"$@\"", group.processes());
    let url = target.url();
    let load = [PLIMSOLL, "load", &url, "--quiet", "--json", "--rate", "100k/s", "--for", "4s"];
    // Most requests are never sent, by its own fault: what p50 would be hangs on it. But nothing
    // was ever answered within a microsecond.
    let clauses = [("precise", "p50<300ms", 5), ("thrifty", "p50<300ms,p50<1us", 3)];
    for (pacing, slo, code) in clauses {
        let own = ["--slo", slo, "--drain", "1s", "--pacing", pacing];
        let arguments = [&["-c", &script, "sh"], &load[..], &own].concat();
        let done = place.start(place.command("sh", &arguments)).wait();
        let summary = done.json();
        assert_eq!(done.code(), Some(code), "{pacing}: {summary}");
        assert_eq!(summary["run"]["valid"], false, "{summary}");
        let why = summary["run"]["invalid_because"].to_string();
        assert!(why.contains("generator"), "{why}");
        assert_eq!(summary["slo"][0]["pass"], Value::Null, "{summary}");
        let note = summary["slo"][0]["note"].as_str().unwrap();
        assert!(note.contains("without the generator's own part"), "{note}");
        if code == 3 {
            assert_eq!(summary["slo"][1]["pass"], false, "{summary}");
        }
        // What it could not send or await is its own fault, not the target's.
        assert_eq!(summary["run"]["ended"], "complete", "{summary}");
        crate::json::assert_sums(&summary);
    }
}
