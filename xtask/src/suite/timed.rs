//! The tests that hold upper bounds of time. Most of their time they wait, so three run at a time
//! at first, when all else is through: a bound that holds beside others holds. One that fails then,
//! and one that looks for what a busy machine looks like, runs alone. What fails alone is a failure
//! where the machine was calm; else it is run once more when it is, and not judged where it never
//! is.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::bail;

use super::binaries::{Binary, Run};
use super::{Again, Failure, Part, Suite, Sum, host};
use crate::clock;

/// How long a calm machine is waited for, in all.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks.
const PAUSE: Duration = Duration::from_secs(5);
/// So many run at a time at first.
const AT_A_TIME: usize = 3;
/// Those that look for what a busy machine looks like too: they would pass for the wrong reason.
const ALONE: [&str; 7] = [
    "timed::between::rules_are_waited_for_and_a_cell_that_waits_in_vain_has_failed",
    "timed::infer::a_search_serves_as_calibration_and_a_few_probes_tell_the_load_or_decline",
    "timed::network::a_round_trip_that_rises_discards_windows_and_ends_the_search_in_the_end",
    "timed::quota::a_generator_that_is_the_limit_says_so",
    "timed::restarts::a_spread_between_restarts_is_found",
    "timed::waiting_is_told_apart_from_lateness",
    "timed::waiting_while_another_thread_has_a_free_connection_is_our_own_lateness",
];

/// A timed test, and the binary that has it.
type Test<'a> = (&'a Binary, String);

impl Suite {
    /// Runs all timed tests. Where each `must_be_judged`, one that is not is a failure.
    pub(super) fn timed(
        &self,
        binaries: &[Binary],
        must_be_judged: bool,
        sum: &mut Sum,
    ) -> anyhow::Result<()> {
        let mut tests: Vec<Test<'_>> = Vec::new();
        for binary in binaries {
            tests.extend(binary.timed()?.into_iter().map(|test| (binary, test)));
        }
        if let Some(gone) = ALONE.iter().find(|name| !tests.iter().any(|(_, of)| of == *name)) {
            bail!("there is no timed test {gone}, which runs alone");
        }
        if let Part::Named(word) = &self.part {
            tests.retain(|(_, test)| test.contains(word));
        }
        let (alone, beside): (Vec<_>, Vec<_>) =
            tests.into_iter().partition(|(_, test)| ALONE.contains(&&**test));
        let left = self.beside_others(beside, sum)?;
        for (binary, test) in left.into_iter().chain(alone) {
            self.timed_test(binary, &test, must_be_judged, sum)?;
        }
        Ok(())
    }

    /// Runs tests beside each other, those first that took longest the last time. Returns those
    /// that failed.
    fn beside_others<'a>(
        &self,
        mut tests: Vec<Test<'a>>,
        sum: &mut Sum,
    ) -> anyhow::Result<Vec<Test<'a>>> {
        let seconds = |of: &Test<'_>| self.memory.seconds.get(&name_of(of)).copied().unwrap_or(0.0);
        tests.sort_by(|a, b| seconds(a).total_cmp(&seconds(b)));
        let (waiting, done) = (Mutex::new(tests), Mutex::new((Vec::new(), sum)));
        let takes_them = || -> anyhow::Result<()> {
            loop {
                let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop();
                let Some(test) = next else { return Ok(()) };
                let run = self.exactly(test.0, &test.1)?;
                let (name, seconds) = (name_of(&test), (run.to - run.from).as_secs_f64());
                let (failed, sum) = &mut *done.lock().unwrap_or_else(PoisonError::into_inner);
                if run.passed() {
                    println!("tests: {name}: passed in {seconds:.1} s");
                    sum.passed += run.ended.passed;
                    sum.took.push((name, seconds));
                } else {
                    println!("tests: {name}: not in its bounds beside others, is run alone");
                    failed.push(test);
                }
            }
        };
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..AT_A_TIME).map(|_| scope.spawn(takes_them)).collect();
            let mut ended = all
                .into_iter()
                .map(|it| it.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            ended.try_for_each(|it| it)
        })?;
        Ok(done.into_inner().unwrap_or_else(PoisonError::into_inner).0)
    }

    fn timed_test(
        &self,
        binary: &Binary,
        test: &str,
        must_be_judged: bool,
        sum: &mut Sum,
    ) -> anyhow::Result<()> {
        let (mut run, mut unrest) = self.judged(binary, test)?;
        let mut again = "";
        if let Some(why) = unrest.as_ref().filter(|_| !run.passed()) {
            println!("tests: {} {test} failed on a busy host: {why}", binary.name);
            sum.reports.push("tried again", &binary.name, test, why);
            if host_becomes_calm() {
                again = ", once more";
                (run, unrest) = self.judged(binary, test)?;
            }
        }
        let seconds = (run.to - run.from).as_secs_f64();
        sum.took.push((format!("{} {test}", binary.name), seconds));
        let verdict = match (run.passed(), &unrest) {
            (true, _) => "passed",
            (false, None) => "FAILED",
            (false, Some(_)) => "not judged",
        };
        println!("tests: {} {test}: {verdict} in {seconds:.1} s{again}", binary.name);
        if run.passed() {
            sum.passed += run.ended.passed;
        } else if let Some(why) = unrest.filter(|_| !must_be_judged) {
            sum.reports.push("not judged", &binary.name, test, &why);
        } else {
            let (name, text) = (format!("{} {test}", binary.name), run.text);
            let failure = Failure { name, text, from: run.from, to: run.to, again: Again::Never };
            sum.failures.push(failure);
        }
        Ok(())
    }

    /// Runs a test, and says what disturbed it, before or meanwhile.
    fn judged(&self, binary: &Binary, test: &str) -> anyhow::Result<(Run, Option<String>)> {
        let before = host::unrest();
        let run = self.exactly(binary, test)?;
        let shares = self.host.shares(run.from, run.to);
        Ok((run, before.or_else(|| shares.are_much().then(|| shares.to_string()))))
    }

    fn exactly(&self, binary: &Binary, test: &str) -> anyhow::Result<Run> {
        let exactly = ["--exact", test, "--test-threads=1"];
        binary.run(&exactly, &self.outputs, &self.variables)
    }
}

/// A test as a reader knows it.
fn name_of((binary, test): &Test<'_>) -> String {
    format!("{} {test}", binary.name)
}

/// Waits for a calm machine.
fn host_becomes_calm() -> bool {
    let until = clock::now() + PATIENCE;
    while host::unrest().is_some() {
        if clock::now() > until {
            return false;
        }
        clock::sleep(PAUSE);
    }
    true
}
