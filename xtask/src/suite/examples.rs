//! The plans of `examples/`, and the examples of the documentation.

use std::fs::File;
use std::path::Path;
use std::process::ExitStatus;

use anyhow::Context as _;

use super::libtest::Ended;
use crate::process;

/// How they ended, and what they wrote.
pub(super) struct Examples {
    pub(super) status: ExitStatus,
    pub(super) ended: Ended,
    pub(super) text: String,
}

/// Runs `.ci/examples` with the program.
pub(super) fn run(root: &Path, program: &Path, outputs: &Path) -> anyhow::Result<Examples> {
    let mut command = process::test_binary(&root.join(".ci/examples"), root);
    command.arg(program);
    ended(command, outputs, "examples")
}

/// Runs the examples of the documentation.
pub(super) fn documentation(
    root: &Path,
    flags: &[String],
    outputs: &Path,
) -> anyhow::Result<Examples> {
    let mut command = process::cargo(root);
    command.args(["test", "--workspace", "--doc", "--quiet"]).args(flags);
    ended(command, outputs, "documentation")
}

fn ended(
    mut command: std::process::Command,
    outputs: &Path,
    name: &str,
) -> anyhow::Result<Examples> {
    let path = outputs.join(format!("{name}.out"));
    let out = File::create(&path).with_context(|| format!("create {}", path.display()))?;
    let err = out.try_clone().context("share the file for an output")?;
    command.stdout(out).stderr(err);
    let status = process::run_in_session(command).with_context(|| format!("run {name}"))?;
    let out = std::fs::read(&path).with_context(|| format!("read {}", path.display()))?;
    let out = String::from_utf8_lossy(&out);
    let text = if status.success() { String::new() } else { format!("{status}\n{out}") };
    Ok(Examples { status, ended: Ended::read(&out), text })
}
