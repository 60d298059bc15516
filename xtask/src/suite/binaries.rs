//! The test binaries of the workspace: built, found among cargo's messages, run.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::libtest::Ended;
use crate::{clock, process};

/// The tests that hold upper bounds of time: the modules of this name of any binary.
pub(super) const TIMED: &str = "timed::";
/// Examples that tests start as programs.
const STARTED: &[&str] = &["wait_and_become"];

/// A built test binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Binary {
    path: PathBuf,
    /// The folder of its package.
    package: PathBuf,
    /// As a reader knows it: `crates/load it`.
    pub(super) name: String,
    /// Whether it runs the program as its users do. Its tests take turns themselves.
    pub(super) is_whole_program: bool,
}

/// How a run of a binary ended.
pub(super) struct Run {
    pub(super) ended: Ended,
    pub(super) status: ExitStatus,
    pub(super) from: Duration,
    pub(super) to: Duration,
    /// What it wrote of failures; all that it wrote where it said no result.
    pub(super) text: String,
}

impl Run {
    /// Whether it ran to its end and nothing failed.
    pub(super) fn passed(&self) -> bool {
        self.status.success() && self.ended.is_whole
    }
}

/// Builds the tests, and their programs with them, and returns the binaries in cargo's order.
pub(super) fn build(root: &Path, flags: &[String]) -> anyhow::Result<Vec<Binary>> {
    let output = process::cargo(root)
        .args(["test", "--workspace", "--lib", "--bins", "--tests"])
        .args(["--no-run", "--message-format=json-render-diagnostics"])
        .args(flags)
        .stderr(Stdio::inherit())
        .output()
        .context("run cargo test --no-run")?;
    if !output.status.success() {
        bail!("the tests do not build: {}", output.status);
    }
    // `cargo test` would make tests of them.
    let mut examples = process::cargo(root);
    examples.args(["build", "--workspace"]).args(flags);
    examples.args(STARTED.iter().flat_map(|name| ["--example", name]));
    let status = examples.status().context("run cargo build --example")?;
    if !status.success() {
        bail!("the examples that tests start do not build: {status}");
    }
    let messages = String::from_utf8(output.stdout).context("read what cargo wrote")?;
    let binaries = binaries_in(root, &messages)?;
    if !binaries.iter().any(|binary| binary.is_whole_program) {
        bail!("cargo built no tests of the whole program, crates/cli it");
    }
    Ok(binaries)
}

/// The test binaries among cargo's messages, one JSON object a line.
fn binaries_in(root: &Path, messages: &str) -> anyhow::Result<Vec<Binary>> {
    let mut binaries = Vec::new();
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message: Value = serde_json::from_str(line).context("read a message of cargo")?;
        let is_test = message["profile"]["test"] == true;
        let is_example = message["target"]["kind"][0] == "example";
        let wanted = |_: &&str| is_test && !is_example;
        let Some(path) = message["executable"].as_str().filter(wanted) else { continue };
        let manifest = message["manifest_path"].as_str().context("a test has a manifest")?;
        let package = Path::new(manifest).parent().context("a manifest lies in a folder")?;
        let folder = package.strip_prefix(root).unwrap_or(package).display().to_string();
        let target = message["target"]["name"].as_str().context("a test has a name")?;
        binaries.push(Binary {
            path: PathBuf::from(path),
            package: package.to_owned(),
            is_whole_program: folder == "crates/cli" && target == "it",
            name: format!("{folder} {target}"),
        });
    }
    Ok(binaries)
}

impl Binary {
    /// Runs it with these arguments of libtest. What it writes goes to files in `folder`: a server
    /// that a failing test left would keep a pipe open, and the runner waiting.
    pub(super) fn run(
        &self,
        arguments: &[&str],
        folder: &Path,
        variables: &[(String, String)],
    ) -> anyhow::Result<Run> {
        let what = || format!("run {}", self.path.display());
        // A test that is run alone has files of its own.
        let test = arguments.iter().skip_while(|word| **word != "--exact").nth(1);
        let name = format!("{} {}", self.name, test.unwrap_or(&"")).trim_end().to_owned();
        let name = name.replace(['/', ' ', ':'], "-");
        let (out, err) = (folder.join(format!("{name}.out")), folder.join(format!("{name}.err")));
        let mut command = process::test_binary(&self.path, &self.package);
        command.args(arguments).envs(variables.iter().map(|(name, value)| (name, value)));
        command.env("PLIMSOLL_TEST_BINARY", &self.name);
        command.stdout(File::create(&out).with_context(what)?);
        command.stderr(File::create(&err).with_context(what)?);
        let from = clock::now();
        let status = process::run_in_session(command).with_context(what)?;
        let read = |path: &Path| std::fs::read(path).map(|it| String::from_utf8_lossy(&it).into());
        let (out, err): (String, String) =
            (read(&out).with_context(what)?, read(&err).with_context(what)?);
        let ended = Ended::read(&out);
        let shown = if ended.failures.is_empty() { &out } else { &ended.failures };
        let text = format!("{status}\n{shown}{err}");
        Ok(Run { ended, status, from, to: clock::now(), text })
    }

    /// Its timed tests, by name.
    pub(super) fn timed(&self) -> anyhow::Result<Vec<String>> {
        let mut list = process::test_binary(&self.path, &self.package);
        let output = list.args(["--list", TIMED]).output();
        let output = output.with_context(|| format!("list {}", self.path.display()))?;
        let out = String::from_utf8_lossy(&output.stdout);
        let names = out.lines().filter_map(|line| line.strip_suffix(": test"));
        Ok(names.filter(|name| name.starts_with(TIMED)).map(str::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_binaries_are_found_among_cargos_messages() {
        let message = |package: &str, target: &str, kind: &str, is_test: bool, path: Value| {
            serde_json::json!({
                "reason": "compiler-artifact",
                "manifest_path": format!("/w/{package}/Cargo.toml"),
                "target": { "name": target, "kind": [kind] },
                "profile": { "test": is_test },
                "executable": path,
            })
            .to_string()
        };
        let messages = [
            message("crates/cli", "it", "test", true, "/w/target/it-1".into()),
            message("crates/cli", "plimsoll", "bin", false, "/w/target/plimsoll".into()),
            message("crates/load", "it", "test", true, "/w/target/it-2".into()),
            message("crates/load", "replay", "example", true, "/w/target/replay-1".into()),
            message("crates/load", "plimsoll_load", "lib", true, Value::Null),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        let messages = messages.join("\n");
        let found = binaries_in(Path::new("/w"), &messages).expect("cargo's own form");
        let told: Vec<_> = found.iter().map(|it| (&*it.name, it.is_whole_program)).collect();
        assert_eq!(told, [("crates/cli it", true), ("crates/load it", false)]);
        assert_eq!(found[1].package, Path::new("/w/crates/load"));
    }

    #[test]
    fn a_binary_that_says_no_result_has_not_passed() {
        let folder = std::env::temp_dir().join(format!("xtask-binaries-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let binary = |path: &str| Binary {
            path: PathBuf::from(path),
            package: PathBuf::from("/"),
            name: path.replace('/', "-"),
            is_whole_program: false,
        };
        let says = "echo 'test result: ok. 1 passed; 0 failed; 0 ignored'";
        let run = binary("sh").run(&["-c", says], &folder, &[]).expect("sh can be run");
        assert!(run.passed() && run.ended.passed == 1);
        let run = binary("true").run(&[], &folder, &[]).expect("true can be run");
        assert!(!run.passed());
        let run = binary("sh").run(&["-c", "echo why >&2; exit 3"], &folder, &[]);
        assert_eq!(run.expect("sh can be run").text, "exit status: 3\nwhy\n");
        // The session that runs it says so by its own code.
        let run = binary("/no/such/binary").run(&[], &folder, &[]).expect("a session");
        assert!(!run.passed());
        std::fs::remove_dir_all(&folder).expect("the folder was made above");
    }
}
