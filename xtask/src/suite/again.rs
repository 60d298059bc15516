//! What failed while others took the processor is run once more, alone, by name: printed, counted,
//! of few failures only, and not of one that needed it in the run before, too.

use std::time::Duration;

use anyhow::bail;

use super::binaries::{self, Binary, Run};
use super::{Suite, Sum, THREADS, examples, program_beside};
use crate::docs::Manual;

/// How many failures may be tried once more: more than these are no accident.
const MOST_AGAIN: usize = 3;

/// What did not pass, and how it is run once more.
pub(super) struct Failure {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) from: Duration,
    pub(super) to: Duration,
    pub(super) again: Again,
}

/// How a failure is run once more.
#[derive(Clone)]
pub(super) enum Again {
    /// A test of a binary, by its name.
    Test(Binary, String),
    /// A binary that said no result.
    Binary(Binary),
    Page(String),
    Examples,
    /// It is not: the documentation's examples do not depend on time.
    Never,
}

impl Suite {
    /// Runs once more, alone, what failed while others took the processor.
    pub(super) fn again(&self, binaries: &[Binary], sum: &mut Sum) -> anyhow::Result<Vec<String>> {
        let mut named = Vec::new();
        let mut failures = std::mem::take(&mut sum.failures);
        let shares = |failure: &Failure| self.host.shares(failure.from, failure.to);
        let is_excused = |failure: &Failure| {
            !matches!(failure.again, Again::Never) && shares(failure).are_much()
        };
        let excused = failures.iter().filter(|failure| is_excused(failure)).count();
        if excused > MOST_AGAIN {
            println!(
                "tests: {excused} failed while others took the processor: too many to try again"
            );
            sum.failures = failures;
            return Ok(named);
        }
        for failure in failures.extract_if(.., |failure| is_excused(failure)) {
            let name = failure.name.clone();
            println!("tests: once more, alone: {name} ({})", shares(&failure));
            if self.memory.again.contains(&name) {
                println!("tests: {name} needed this the last time too: that is a fault");
                sum.failures.push(failure);
                continue;
            }
            match self.once_more(&failure.again, binaries)? {
                Ok(passed) => {
                    sum.passed += passed;
                    named.push(name);
                }
                Err(text) => {
                    let text = format!("{}\nonce more, alone:\n{text}", failure.text);
                    sum.failures.push(Failure { text, ..failure });
                }
            }
        }
        sum.failures.append(&mut failures);
        Ok(named)
    }

    /// How many more passed, or what was written.
    fn once_more(
        &self,
        again: &Again,
        binaries: &[Binary],
    ) -> anyhow::Result<Result<usize, String>> {
        let of_run = |run: Run| if run.passed() { Ok(run.ended.passed) } else { Err(run.text) };
        match again {
            Again::Test(binary, test) => {
                let exactly = ["--exact", test, "--test-threads=1"];
                binary.run(&exactly, &self.outputs, &self.variables).map(of_run)
            }
            Again::Binary(binary) => {
                if !binaries.contains(binary) {
                    bail!("{} is no binary of this run", binary.name);
                }
                let threads = if binary.is_whole_program { THREADS } else { "--test-threads=2" };
                let arguments = ["--skip", binaries::TIMED, threads];
                binary.run(&arguments, &self.outputs, &self.variables).map(of_run)
            }
            Again::Page(page) => {
                let program = program_beside()?;
                let manual = Manual::read(&self.root, std::slice::from_ref(page), &program, false)?;
                let outcome = manual.run_again(page, &self.budget)?.outcome;
                let faults = outcome.faults.join("\n");
                Ok(if faults.is_empty() { Ok(outcome.commands) } else { Err(faults) })
            }
            Again::Examples => {
                let ended = examples::run(&self.root, &program_beside()?, &self.outputs)?;
                Ok(if ended.status.success() { Ok(1) } else { Err(ended.text) })
            }
            Again::Never => Ok(Err("is not run again".to_owned())),
        }
    }
}
