//! The tests that hold upper bounds of time, one at a time on a machine that does nothing else. One
//! that fails is a failure where the machine was calm; else it is run once more when it is, and not
//! judged where it never is.

use std::time::Duration;

use super::binaries::{Binary, Run};
use super::{Again, Failure, Part, Suite, Sum, host};
use crate::clock;

/// How long a calm machine is waited for, in all.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks.
const PAUSE: Duration = Duration::from_secs(5);

impl Suite {
    /// Runs all timed tests. Where each `must_be_judged`, one that is not is a failure.
    pub(super) fn timed(
        &self,
        binaries: &[Binary],
        must_be_judged: bool,
        sum: &mut Sum,
    ) -> anyhow::Result<()> {
        for binary in binaries {
            for test in binary.timed()? {
                if matches!(&self.part, Part::Named(word) if !test.contains(word)) {
                    continue;
                }
                self.timed_test(binary, &test, must_be_judged, sum)?;
            }
        }
        Ok(())
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
        let exactly = ["--exact", test, "--test-threads=1"];
        let run = binary.run(&exactly, &self.outputs, &self.variables)?;
        let shares = self.host.shares(run.from, run.to);
        Ok((run, before.or_else(|| shares.are_much().then(|| shares.to_string()))))
    }
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
