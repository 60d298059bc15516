//! Builds all tests of the workspace and runs them: those of the whole program by themselves, as
//! they look at time; then the other binaries, two at once, as most of their time is spent waiting;
//! then the examples of the documentation.
//!
//! `cargo test` runs one binary after the other and ends at the first that fails. Here all run, and
//! what failed is said at the end, with what it wrote: a long run tells everything that it can, and
//! whoever has only its last lines knows why.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::{process, turns};

/// Threads for the tests of the whole program: more than there are turns on the machine, which the
/// suite gives out itself (`tests/it/turns.rs`).
const THREADS: &str = "--test-threads=200";
/// How many of the other binaries run at once.
const SIDE_BY_SIDE: usize = 2;

/// A built test binary.
#[derive(Debug, PartialEq, Eq)]
struct TestBinary {
    path: PathBuf,
    /// The folder of its package.
    package: PathBuf,
    /// As a reader knows it: `crates/load it`.
    name: String,
    /// Whether it runs the program as its users do, and so has the machine to itself.
    whole_program: bool,
}

/// What did not pass.
struct Failure {
    name: String,
    /// What it wrote of those of its tests that failed; how it ended, and all that it wrote, where
    /// it wrote nothing of that kind.
    written: String,
}

/// Builds and runs all; says whether all passed. `flags` are those of the builds: `--locked`.
pub(crate) fn run(root: &Path, flags: &[String]) -> anyhow::Result<bool> {
    let binaries = build(root, flags)?;
    let (whole, others): (Vec<_>, Vec<_>) =
        binaries.into_iter().partition(|binary| binary.whole_program);
    let mut failed = Vec::new();
    for binary in &whole {
        println!("tests: {}", binary.name);
        failed.extend(binary.run_aloud()?);
    }
    let no_claims = others.iter().map(|_| std::collections::BTreeSet::new()).collect();
    for failure in turns::in_turns(no_claims, SIDE_BY_SIDE, |place| others[place].run()) {
        failed.extend(failure?);
    }
    let mut examples = process::cargo(root);
    examples.args(["test", "--workspace", "--doc", "--quiet"]).args(flags);
    if !examples.status().context("run cargo test --doc")?.success() {
        let name = "examples of the documentation".to_owned();
        failed.push(Failure { name, written: "as written above".to_owned() });
    }
    for failure in &failed {
        println!("tests: {} failed:\n{}", failure.name, failure.written);
    }
    println!("tests: {} binaries, failed: {}", whole.len() + others.len(), listed(&failed));
    Ok(failed.is_empty())
}

fn listed(failed: &[Failure]) -> String {
    let names: Vec<&str> = failed.iter().map(|failure| &*failure.name).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Builds the tests, and their programs with them, and returns the binaries in cargo's order.
fn build(root: &Path, flags: &[String]) -> anyhow::Result<Vec<TestBinary>> {
    let output = process::cargo(root)
        .args(["test", "--workspace", "--no-run", "--message-format=json-render-diagnostics"])
        .args(flags)
        .stderr(Stdio::inherit())
        .output()
        .context("run cargo test --no-run")?;
    if !output.status.success() {
        bail!("the tests do not build: {}", output.status);
    }
    let messages = String::from_utf8(output.stdout).context("read what cargo wrote")?;
    let binaries = binaries_in(root, &messages)?;
    if !binaries.iter().any(|binary| binary.whole_program) {
        bail!("cargo built no tests of the whole program, crates/cli it");
    }
    Ok(binaries)
}

/// The test binaries among cargo's messages, one JSON object a line.
fn binaries_in(root: &Path, messages: &str) -> anyhow::Result<Vec<TestBinary>> {
    let mut binaries = Vec::new();
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message: Value = serde_json::from_str(line).context("read a message of cargo")?;
        let is_test = message["profile"]["test"] == true;
        let Some(path) = message["executable"].as_str().filter(|_| is_test) else { continue };
        let manifest = message["manifest_path"].as_str().context("a test has a manifest")?;
        let package = Path::new(manifest).parent().context("a manifest lies in a folder")?;
        let folder = package.strip_prefix(root).unwrap_or(package).display().to_string();
        let target = message["target"]["name"].as_str().context("a test has a name")?;
        binaries.push(TestBinary {
            path: PathBuf::from(path),
            package: package.to_owned(),
            whole_program: folder == "crates/cli" && target == "it",
            name: format!("{folder} {target}"),
        });
    }
    Ok(binaries)
}

impl TestBinary {
    fn command(&self) -> Command {
        process::test_binary(&self.path, &self.package)
    }

    /// Runs its tests by many threads, and shows what it writes as it writes it.
    fn run_aloud(&self) -> anyhow::Result<Option<Failure>> {
        let what = || format!("run {}", self.path.display());
        let mut command = self.command();
        let mut child = command.arg(THREADS).stdout(Stdio::piped()).spawn().with_context(what)?;
        let out = child.stdout.take().context("its output is piped")?;
        let failures = told(BufReader::new(out)).with_context(what)?;
        let status = child.wait().with_context(what)?;
        let written = if failures.is_empty() { status.to_string() } else { failures };
        Ok((!status.success()).then(|| Failure { name: self.name.clone(), written }))
    }

    /// Runs it, and says in a line how it ended.
    #[expect(clippy::disallowed_methods, reason = "how long it took is told, and decides nothing")]
    fn run(&self) -> anyhow::Result<Option<Failure>> {
        let start = Instant::now();
        let output = self.command().output();
        let output = output.with_context(|| format!("run {}", self.path.display()))?;
        let written = String::from_utf8_lossy(&output.stdout);
        let result = written.lines().rfind(|line| line.starts_with("test result: "));
        let (took, result) = (start.elapsed().as_secs(), result.unwrap_or("it said no result"));
        println!("tests: {} in {took} s: {result}", self.name);
        let name = self.name.clone();
        Ok((!output.status.success()).then(|| Failure { name, written: end_of(&output) }))
    }
}

/// Prints what tests write, and returns what they write of those that failed. That a test is slow
/// is left out, as most of them wait for their turns.
fn told(out: impl BufRead) -> std::io::Result<String> {
    let mut failures = String::new();
    for line in out.lines() {
        let line = line?;
        if !line.ends_with(" has been running for over 60 seconds") {
            println!("{line}");
        }
        if line == "failures:" || !failures.is_empty() {
            failures += &format!("{line}\n");
        }
    }
    Ok(failures)
}

/// How a process ended, and what it wrote: of tests, from where they say what failed.
fn end_of(output: &Output) -> String {
    let out = String::from_utf8_lossy(&output.stdout);
    let failures = out.find("\nfailures:\n").map_or(0, |at| at + 1);
    let err = String::from_utf8_lossy(&output.stderr);
    format!("{}\n{}{err}", output.status, &out[failures..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_binaries_are_found_among_cargos_messages() {
        let message = |package: &str, target: &str, is_test: bool, executable: Value| {
            serde_json::json!({
                "reason": "compiler-artifact",
                "manifest_path": format!("/w/{package}/Cargo.toml"),
                "target": { "name": target },
                "profile": { "test": is_test },
                "executable": executable,
            })
            .to_string()
        };
        let messages = [
            message("crates/cli", "it", true, "/w/target/it-1".into()),
            message("crates/cli", "plimsoll", false, "/w/target/plimsoll".into()),
            message("crates/load", "it", true, "/w/target/it-2".into()),
            message("crates/load", "plimsoll_load", true, Value::Null),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        let messages = messages.join("\n");
        let found = binaries_in(Path::new("/w"), &messages).expect("cargo's own form");
        let told: Vec<_> = found.iter().map(|it| (&*it.name, it.whole_program)).collect();
        assert_eq!(told, [("crates/cli it", true), ("crates/load it", false)]);
        assert_eq!(found[1].package, Path::new("/w/crates/load"));
    }

    fn binary(path: &str) -> TestBinary {
        TestBinary {
            path: PathBuf::from(path),
            package: PathBuf::from("/"),
            name: path.to_owned(),
            whole_program: false,
        }
    }

    #[test]
    fn a_binary_passes_where_it_ends_with_0() {
        assert!(binary("true").run().expect("true can be run").is_none());
        let failure = binary("false").run().expect("false can be run");
        assert!(failure.expect("it ends with 1").written.starts_with("exit status: 1"));
        assert!(binary("/no/such/binary").run().is_err());
    }

    #[test]
    fn what_is_written_of_failures_is_kept_to_the_end() {
        let slow = "test b has been running for over 60 seconds";
        let out = format!("test a ... ok\n{slow}\ntest b ... FAILED\n\nfailures:\n\n---- b ----\n");
        assert_eq!(told(out.as_bytes()).expect("text"), "failures:\n\n---- b ----\n");
        assert_eq!(told(&b"test a ... ok\n"[..]).expect("text"), "");
        assert!(binary("true").run_aloud().expect("true can be run").is_none());
        let failure = binary("false").run_aloud().expect("false can be run");
        assert_eq!(failure.expect("it ends with 1").written, "exit status: 1");
    }
}
