//! The closing lines of the suite: what took longest, what was not proven and why, and, alone on
//! the last line, how many passed, failed and were skipped. `target/tests.json` holds the same for
//! programs, and the seconds of everything for the next run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::reports::Reports;
use crate::budget::Times;
use crate::{long, process};

/// How many of the slowest are shown.
const SLOWEST: usize = 20;

/// What an earlier run left.
#[derive(Default)]
pub(super) struct Memory {
    /// Seconds by name of test, page and binary.
    pub(super) seconds: BTreeMap<String, f64>,
    /// What was run once more.
    pub(super) again: BTreeSet<String>,
}

impl Memory {
    /// A file that is not there, or that cannot be read, remembers nothing.
    pub(super) fn read(file: &Path) -> Self {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let read: Value = serde_json::from_str(&text).unwrap_or_default();
        let names = read["run once more"].as_array().into_iter().flatten();
        let seconds = read["seconds"].as_object().into_iter().flatten();
        Self {
            again: names.filter_map(|name| name.as_str().map(str::to_owned)).collect(),
            seconds: seconds.filter_map(|(name, it)| Some((name.clone(), it.as_f64()?))).collect(),
        }
    }
}

/// What all came to.
pub(super) struct Closing<'a> {
    pub(super) root: &'a Path,
    pub(super) passed: usize,
    pub(super) ignored: usize,
    pub(super) failed: &'a [String],
    pub(super) reports: &'a Reports,
    /// What was run once more, and passed then.
    pub(super) again: &'a [String],
    pub(super) turns: Vec<Times>,
    pub(super) took: &'a [(String, f64)],
    pub(super) steps: Vec<(String, Duration)>,
}

impl Closing<'_> {
    /// How many passed, and how many were skipped.
    fn counts(&self) -> (usize, usize) {
        (self.passed.saturating_sub(self.reports.of_tests()), self.reports.skipped().len())
    }

    /// The line that says what was not proven.
    fn not_proven(&self) -> String {
        let count = |what| self.reports.of(what).count();
        format!(
            "not run here: {}; not judged: {}; ended with 5: {}; tried again: {}; \
             run once more: {}; long: {} pages; ignored: {}",
            self.reports.needs(),
            count("not judged"),
            count("ended with 5"),
            count("tried again"),
            self.again.len(),
            count("left"),
            self.ignored,
        )
    }

    /// Prints the lines; `target` is where `make test-long` leaves its stamps.
    pub(super) fn print(&self, target: &Path) {
        for name in self.failed {
            println!("failed: {name}");
        }
        for report in self.reports.of("not judged") {
            println!("not judged: {} {}: {}", report.binary, report.test, report.why);
        }
        for name in self.again {
            println!("run once more: {name}");
        }
        let all = super::seconds(&self.turns, self.took);
        let mut slowest: Vec<(&String, &f64)> = all.iter().collect();
        slowest.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        println!("\nslowest, in seconds:");
        for (name, seconds) in slowest.into_iter().take(SLOWEST) {
            println!("{seconds:>7.1}  {name}");
        }
        println!("make test-long: {}", long::ages(target));
        let (passed, skipped) = self.counts();
        println!("{}", self.not_proven());
        println!("{passed} passed, {} failed, {skipped} skipped", self.failed.len());
    }

    /// Writes all of it as JSON.
    pub(super) fn write(&self, file: &Path) -> anyhow::Result<()> {
        let (passed, skipped) = self.counts();
        let report = |what: &str| -> Vec<Value> {
            let of = self.reports.of(what);
            of.map(|it| json!({"binary": it.binary, "test": it.test, "why": it.why})).collect()
        };
        let turns = self.turns.iter().map(|turn| {
            let seconds = |at: Option<Duration>| at.map(|at| at.as_secs_f64());
            json!({
                "name": turn.name,
                "asked_s": turn.asked.as_secs_f64(),
                "began_s": seconds(turn.began),
                "ended_s": seconds(turn.ended),
            })
        });
        let steps: BTreeMap<&str, f64> =
            self.steps.iter().map(|(name, took)| (&**name, took.as_secs_f64())).collect();
        let document = json!({
            "commit": process::commit(self.root),
            "passed": passed,
            "failed": self.failed,
            "skipped_count": skipped,
            "skipped": report("skipped"),
            "not judged": report("not judged"),
            "ended with 5": report("ended with 5"),
            "tried again": report("tried again"),
            "run once more": self.again,
            "ignored": self.ignored,
            "steps_s": steps,
            "turns": turns.collect::<Vec<_>>(),
            "seconds": super::seconds(&self.turns, self.took),
        });
        let text = serde_json::to_string_pretty(&document).context("write tests.json")?;
        std::fs::write(file, text).with_context(|| format!("write {}", file.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::absent::Absent;
    use super::*;

    #[test]
    fn what_was_skipped_is_not_counted_as_passed() {
        let mut reports = Reports::default();
        reports.push("skipped", "crates/cli it", "a", "sshd");
        reports.push("skipped", "crates/cli it", "a", "sshd: its keys");
        reports.push("skipped", "docs", "docs/a.md:3", "php");
        reports.push("tried again", "crates/cli it", "b", "busy");
        reports.push("skipped", "crates/cli it", "d", "nginx");
        let absent = Absent::of(&["php", "sshd"]);
        let expected = ["crates/cli it d: skipped, and may not be: nginx"];
        assert_eq!(reports.forbid_others(&absent), expected);
        let closing = Closing {
            root: Path::new("/"),
            passed: 10,
            ignored: 2,
            failed: &[],
            reports: &reports,
            again: &["c".to_owned()],
            turns: Vec::new(),
            took: &[],
            steps: Vec::new(),
        };
        assert_eq!(closing.counts(), (8, 2));
        let expected = "not run here: 1 needs php, 1 needs sshd; not judged: 0; ended with 5: 0; \
                        tried again: 1; run once more: 1; long: 0 pages; ignored: 2";
        assert_eq!(closing.not_proven(), expected);
    }

    #[test]
    fn a_run_remembers_what_the_last_one_ran_once_more() {
        let file = std::env::temp_dir().join(format!("xtask-tests-{}.json", std::process::id()));
        let reports = Reports::default();
        let closing = Closing {
            root: Path::new("/"),
            passed: 1,
            ignored: 0,
            failed: &[],
            reports: &reports,
            again: &["crates/a it b".to_owned()],
            turns: Vec::new(),
            took: &[("docs/a.md".to_owned(), 2.5)],
            steps: Vec::new(),
        };
        closing.write(&file).expect("it can be written");
        let memory = Memory::read(&file);
        assert!(memory.again.contains("crates/a it b"));
        assert!(memory.seconds.contains_key("docs/a.md"));
        std::fs::remove_file(&file).expect("it was written");
        assert!(Memory::read(&file).again.is_empty());
    }
}
