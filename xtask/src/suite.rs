//! Builds everything and runs it: all test binaries, the manual and the examples at the same time
//! under one budget, as most of their time is spent waiting; then, few at a time, the tests that
//! hold upper bounds of time (modules `timed`); and says at its end what was proven and what was
//! not.
//!
//! All run, whatever fails. What failed while others took the processor is run once more, alone.

mod absent;
mod again;
mod binaries;
mod closing;
mod examples;
mod host;
mod libtest;
mod reports;
mod timed;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, bail};

use crate::budget::{self, Budget, Claims};
use crate::docs::{self, Manual};
use crate::{clock, process};
use absent::Absent;
use again::{Again, Failure};
use binaries::{Binary, Run};
use closing::{Closing, Memory};
use host::Host;
pub(crate) use reports::Reports;

/// Threads for the tests of the whole program: more than have turns at once.
const THREADS: &str = "--test-threads=200";
/// How often whoever waits hears of it.
const PROGRESS: Duration = Duration::from_secs(30);

/// Which part of the suite is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// All; timed tests that this host is too busy for are not judged.
    All,
    /// Only the timed tests, each of which must be judged.
    Timed,
    /// Only tests that start servers, with every server there.
    Servers,
    /// Only tests whose names hold a word.
    Named(String),
}

/// Modules of tests that start servers, of any binary.
const SERVERS: [&str; 16] = [
    "agent",
    "balanc",
    "cassandra",
    "cloud",
    "databases",
    "mediawiki",
    "mysql",
    "nginx",
    "postgres",
    "rabbit",
    "servers",
    "services",
    "shoal",
    "squid",
    "ssh",
    "stores",
];
/// What may be absent in `make test`, but not where all servers are tested.
const ALSO_SERVERS: [&str; 2] = ["php", "cassandra"];
/// The binary whose long cases are judges of WebSocket.
const JUDGED: &str = "crates/websocket it";

/// What runs the suite.
struct Suite {
    root: PathBuf,
    part: Part,
    /// Where the outputs of the binaries lie.
    outputs: PathBuf,
    reports: PathBuf,
    /// What the test binaries are told.
    variables: Vec<(String, String)>,
    budget: Arc<Budget>,
    host: Arc<Host>,
    memory: Memory,
    flags: Vec<String>,
    /// Steps, with how long each took.
    steps: Mutex<Vec<(String, Duration)>>,
}

/// What all parts came to.
#[derive(Default)]
struct Sum {
    passed: usize,
    ignored: usize,
    failures: Vec<Failure>,
    /// Of pages, and of what this runner itself skips.
    reports: Reports,
    /// Names and seconds of what has no turn.
    took: Vec<(String, f64)>,
}

/// Builds and runs all; says whether all passed. `flags` are those of the builds: `--locked`.
pub(crate) fn run(root: &Path, part: &Part, flags: &[String]) -> anyhow::Result<bool> {
    process::start_clean()?;
    let from = clock::now();
    let binaries = binaries::build(root, flags)?;
    let built = clock::now() - from;
    let suite = Suite::begin(root, part.clone(), flags)?;
    suite.note_step("build", built);
    let mut sum = Sum::default();
    if *part != Part::Timed {
        let from = clock::now();
        sum = suite.side_by_side(&binaries)?;
        suite.note_step("side by side", clock::now() - from);
    }
    if *part != Part::Servers {
        let from = clock::now();
        suite.timed(&binaries, *part == Part::Timed, &mut sum)?;
        suite.note_step("timed", clock::now() - from);
    }
    let from = clock::now();
    let again = suite.again(&binaries, &mut sum)?;
    suite.note_step("once more", clock::now() - from);
    suite.close(sum, &again)
}

impl Suite {
    fn begin(root: &Path, part: Part, flags: &[String]) -> anyhow::Result<Self> {
        let target = process::target_folder()?;
        let outputs = target.join("tests");
        if outputs.exists() {
            std::fs::remove_dir_all(&outputs)
                .with_context(|| format!("empty {}", outputs.display()))?;
        }
        std::fs::create_dir_all(&outputs)
            .with_context(|| format!("create {}", outputs.display()))?;
        let memory = Memory::read(&target.join("tests.json"));
        let budget = Arc::new(Budget::new(memory.seconds.clone()));
        // A path of a socket is short.
        let socket = std::env::temp_dir().join(format!("plimsoll-turns-{}", std::process::id()));
        let _ = std::fs::remove_file(&socket);
        budget.serve(&socket)?;
        let reports = outputs.join("reports.jsonl");
        let turns = ("PLIMSOLL_TEST_TURNS".to_owned(), socket.display().to_string());
        let host = Host::watch(format!("{}={}", turns.0, turns.1));
        let told = ("PLIMSOLL_TEST_REPORTS".to_owned(), reports.display().to_string());
        Ok(Self {
            root: root.to_owned(),
            part,
            outputs,
            reports,
            variables: vec![turns, told],
            budget,
            host,
            memory,
            flags: flags.to_vec(),
            steps: Mutex::new(Vec::new()),
        })
    }

    fn note_step(&self, name: &str, took: Duration) {
        println!("tests: {name}: {} s", took.as_secs());
        self.steps.lock().unwrap_or_else(PoisonError::into_inner).push((name.to_owned(), took));
    }

    /// The words of which a test's name must hold one; none where all are run.
    fn words(&self) -> Vec<&str> {
        match &self.part {
            Part::All | Part::Timed => Vec::new(),
            Part::Servers => SERVERS.to_vec(),
            Part::Named(word) => vec![word],
        }
    }

    /// Runs everything but the timed tests.
    fn side_by_side(&self, binaries: &[Binary]) -> anyhow::Result<Sum> {
        let program = program_beside()?;
        let manual = Manual::read(&self.root, &[], &program, false)?;
        let sum = Mutex::new(Sum::default());
        let add =
            |add: &dyn Fn(&mut Sum)| add(&mut sum.lock().unwrap_or_else(PoisonError::into_inner));
        let is_done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let mut parts = Vec::new();
            for binary in binaries {
                parts.push(scope.spawn(move || self.binary(binary, &add)));
            }
            if self.part == Part::All {
                parts.push(scope.spawn(|| self.manual(&manual, &add)));
                parts.push(scope.spawn(|| self.examples(&program, &add)));
                parts.push(scope.spawn(|| self.documentation(&add)));
            }
            scope.spawn(|| self.tell_progress(&is_done));
            let mut result = Ok(());
            for part in parts {
                let ended = part.join().unwrap_or_else(|it| std::panic::resume_unwind(it));
                result = result.and(ended);
            }
            is_done.store(true, std::sync::atomic::Ordering::Relaxed);
            result
        })?;
        Ok(sum.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn binary(&self, binary: &Binary, add: &Adds<'_>) -> anyhow::Result<()> {
        let mut arguments = vec!["--skip", binaries::TIMED];
        if self.part == Part::Servers && binary.name == JUDGED {
            arguments.push("--include-ignored");
        } else {
            arguments.extend(self.words());
        }
        // Tests of the whole program take turns themselves.
        let turn = if binary.is_whole_program {
            arguments.push(THREADS);
            None
        } else {
            Some(self.budget.take(&binary.name, budget::BINARY, Claims::new()))
        };
        let run = binary.run(&arguments, &self.outputs, &self.variables)?;
        drop(turn);
        let seconds = (run.to - run.from).as_secs();
        let (passed, failed) = (run.ended.passed, run.ended.failed.len());
        println!("tests: {}: {passed} passed, {failed} failed in {seconds} s", binary.name);
        let failures = Mutex::new(self.failures(binary, &run));
        add(&|sum| {
            sum.passed += run.ended.passed;
            sum.ignored += run.ended.ignored;
            sum.failures.append(&mut failures.lock().unwrap_or_else(PoisonError::into_inner));
        });
        Ok(())
    }

    /// Each failed test, with the time of its turn; the binary itself where it said no result.
    fn failures(&self, binary: &Binary, run: &Run) -> Vec<Failure> {
        if run.passed() {
            return Vec::new();
        }
        if run.ended.failed.is_empty() {
            let again = Again::Binary(binary.clone());
            let (name, text) = (binary.name.clone(), run.text.clone());
            return vec![Failure { name, text, from: run.from, to: run.to, again }];
        }
        let turns = self.budget.turns();
        let mut failures = Vec::new();
        for test in &run.ended.failed {
            let turn = turns.iter().find(|turn| turn.name == *test);
            let window = turn.and_then(|turn| Some((turn.began?, turn.ended?)));
            let (from, to) = window.unwrap_or((run.from, run.to));
            let text = run.text.clone();
            let again = Again::Test(binary.clone(), test.clone());
            failures.push(Failure {
                name: format!("{} {test}", binary.name),
                text,
                from,
                to,
                again,
            });
        }
        failures
    }

    fn manual(&self, manual: &Manual, add: &Adds<'_>) -> anyhow::Result<()> {
        let show = |ended: &docs::Ended| println!("docs: {}", ended.line());
        let pages = manual.run(&self.budget, &self.memory.seconds, &show)?;
        add(&|sum| {
            for page in &pages {
                sum.add_page(page);
            }
        });
        Ok(())
    }

    fn examples(&self, program: &Path, add: &Adds<'_>) -> anyhow::Result<()> {
        let turn = self.budget.take("examples", budget::COMPUTES, Claims::new());
        let from = turn.began();
        let ended = examples::run(&self.root, program, &self.outputs)?;
        drop(turn);
        println!("tests: examples: {} in {} s", ended.status, (clock::now() - from).as_secs());
        add(&|sum| {
            if ended.status.success() {
                sum.passed += 1;
            } else {
                let (name, text) = ("examples".to_owned(), ended.text.clone());
                let (to, again) = (clock::now(), Again::Examples);
                sum.failures.push(Failure { name, text, from, to, again });
            }
        });
        Ok(())
    }

    fn documentation(&self, add: &Adds<'_>) -> anyhow::Result<()> {
        let name = "examples of the documentation";
        let turn = self.budget.take(name, budget::COMPUTES, Claims::new());
        let from = turn.began();
        let run = examples::documentation(&self.root, &self.flags, &self.outputs)?;
        drop(turn);
        println!(
            "tests: {name}: {} passed in {} s",
            run.ended.passed,
            (clock::now() - from).as_secs()
        );
        add(&|sum| {
            sum.passed += run.ended.passed;
            if !run.status.success() {
                let (text, to) = (run.text.clone(), clock::now());
                let again = Again::Never;
                sum.failures.push(Failure { name: name.to_owned(), text, from, to, again });
            }
        });
        Ok(())
    }

    /// Says every half minute how far it is, and what runs.
    fn tell_progress(&self, is_done: &std::sync::atomic::AtomicBool) {
        let mut next = clock::now() + PROGRESS;
        while !is_done.load(std::sync::atomic::Ordering::Relaxed) {
            clock::sleep(Duration::from_millis(200));
            if clock::now() < next {
                continue;
            }
            next += PROGRESS;
            let turns = self.budget.turns();
            let ended = turns.iter().filter(|turn| turn.ended.is_some()).count();
            let running: Vec<&str> = turns
                .iter()
                .filter(|turn| turn.began.is_some() && turn.ended.is_none())
                .map(|turn| &*turn.name)
                .collect();
            println!("tests: {ended} of {} turns ended; now: {}", turns.len(), running.join(", "));
        }
    }

    /// What the Makefile skipped before this run; once.
    fn skipped_steps(&self) -> anyhow::Result<Reports> {
        let file = steps_file(&self.outputs);
        let reports = Reports::read(&file)?;
        let _ = std::fs::remove_file(&file);
        Ok(reports)
    }

    /// Adds up, prints and writes what all came to.
    fn close(&self, mut sum: Sum, again: &[String]) -> anyhow::Result<bool> {
        sum.reports.0.extend(Reports::read(&self.reports)?.0);
        let mut absent = Absent::read(&self.root)?;
        match &self.part {
            Part::All => sum.reports.0.extend(self.skipped_steps()?.0),
            Part::Servers => ALSO_SERVERS.iter().for_each(|name| absent.forbid(name)),
            Part::Timed | Part::Named(_) => {}
        }
        let wrong = sum.reports.forbid_others(&absent);
        let mut written = "";
        for Failure { name, text, .. } in &sum.failures {
            // Failures of one binary are written together: once.
            let shown = if text == written { "written above" } else { text };
            println!("tests: {name} failed:\n{shown}");
            written = text;
        }
        let mut failed: Vec<String> = sum.failures.iter().map(|it| it.name.clone()).collect();
        failed.extend(wrong);
        let closing = Closing {
            root: &self.root,
            passed: sum.passed,
            ignored: sum.ignored,
            failed: &failed,
            reports: &sum.reports,
            again,
            turns: self.budget.turns(),
            took: &sum.took,
            steps: self.steps.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        };
        if self.part == Part::All {
            closing.write(&self.outputs.with_file_name("tests.json"))?;
        }
        closing.print(&process::target_folder()?);
        Ok(failed.is_empty())
    }
}

/// How parts add to the sum.
type Adds<'a> = dyn Fn(&dyn Fn(&mut Sum)) + Sync + 'a;

impl Sum {
    fn add_page(&mut self, page: &docs::Ended) {
        let docs::Ended { page: path, outcome, from, to } = page;
        let failed = outcome.faults.len();
        self.passed += outcome.commands - failed.min(outcome.commands) - outcome.not_judged.len();
        for (line, needs) in &outcome.skipped {
            self.reports.push("skipped", "docs", &format!("{path}:{line}"), needs);
        }
        for line in &outcome.not_judged {
            self.reports.push(
                "not judged",
                "docs",
                &format!("{path}:{line}"),
                "a busy host, twice",
            );
        }
        if let Some(line) = outcome.begun_anew {
            self.reports.push("tried again", "docs", &format!("{path}:{line}"), "a busy host");
        }
        if outcome.left > 0 {
            let left = format!("{} long blocks", outcome.left);
            self.reports.push("left", "docs", path, &left);
        }
        if failed > 0 {
            let (text, again) = (outcome.faults.join("\n"), Again::Page(path.clone()));
            let failure = Failure { name: path.clone(), text, from: *from, to: *to, again };
            self.failures.push(failure);
        }
    }
}

/// The program, which the tests had built beside this one.
fn program_beside() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("find this program's own path")?;
    let program = own.with_file_name("plimsoll");
    if !program.is_file() {
        bail!("there is no program at {}; the tests build it", program.display());
    }
    Ok(program)
}

/// Where steps of the Makefile that were skipped are noted, until the suite adds them up.
fn steps_file(outputs: &Path) -> PathBuf {
    outputs.with_file_name("steps-skipped.jsonl")
}

/// Notes that a step of the Makefile is not run here, for the suite's closing lines.
pub(crate) fn skip_step(step: &str, needs: &str) -> anyhow::Result<()> {
    println!("skipped: {step}: {needs}");
    let target = process::target_folder()?;
    let line = serde_json::json!({
        "what": "skipped", "binary": "make", "test": step, "why": needs
    });
    let file = steps_file(&target.join("tests"));
    std::fs::write(&file, format!("{line}\n")).with_context(|| format!("write {}", file.display()))
}

/// The seconds of turns by name, and what has none.
fn seconds(turns: &[budget::Times], took: &[(String, f64)]) -> BTreeMap<String, f64> {
    let of_turns = turns.iter().filter_map(|it| Some((it.name.clone(), it.took()?.as_secs_f64())));
    of_turns.chain(took.iter().cloned()).collect()
}
