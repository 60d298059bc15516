//! The processes that the checks start: cargo, and the commands of the manual.
//!
//! Every command runs in a process group of its own, so that ending it ends what it started too.
//! A thread waits for it and reports; waiting for that report, with a limit, needs neither a clock
//! nor a sleep.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process_group};

/// How long a process may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(5);

/// A command in its own process group. Dropping it ends the group.
pub(crate) struct Running {
    group: Option<Pid>,
    ended: Receiver<std::io::Result<ExitStatus>>,
    status: Option<ExitStatus>,
}

impl Running {
    /// Starts `bash -c SCRIPT` in `folder`, its output going to `output`.
    pub(crate) fn bash(
        script: &str,
        folder: &Path,
        path: &str,
        output: &Path,
    ) -> anyhow::Result<Self> {
        let file = File::create(output).with_context(|| format!("create {}", output.display()))?;
        let errors = file.try_clone().context("share the file for a command's output")?;
        let child = command("bash")
            .args(["--noprofile", "--norc", "-c", script])
            .current_dir(folder)
            .env("PATH", path)
            .env("HOME", folder)
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(errors)
            .process_group(0)
            .spawn()
            .context("start bash; install it if it is missing")?;
        Ok(Self::watch(child))
    }

    fn watch(mut child: Child) -> Self {
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let (report, ended) = channel();
        std::thread::spawn(move || {
            // Nobody listens any more once the command was dropped.
            let _ = report.send(child.wait());
        });
        Self { group, ended, status: None }
    }

    /// Its exit status once it has ended; `None` where it still runs after `limit`.
    pub(crate) fn wait(&mut self, limit: Duration) -> anyhow::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            match self.ended.recv_timeout(limit) {
                Ok(status) => self.status = Some(status.context("wait for a command")?),
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                Err(RecvTimeoutError::Disconnected) => bail!("the thread that waits ended"),
            }
        }
        Ok(self.status)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(group) = self.group else { return };
        // The group may be gone, or hold children of a command that ended long ago.
        let _ = kill_process_group(group, Signal::TERM);
        if self.status.is_none() && self.ended.recv_timeout(GRACE).is_err() {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// What `cargo metadata` says of the workspace's own packages.
pub(crate) fn metadata(root: &Path) -> anyhow::Result<serde_json::Value> {
    let output = cargo(root)
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .stderr(Stdio::inherit())
        .output()
        .context("run cargo metadata")?;
    if !output.status.success() {
        bail!("cargo metadata failed: {}", output.status);
    }
    serde_json::from_slice(&output.stdout).context("read what cargo metadata wrote")
}

/// Builds the program like this one and returns where it is.
pub(crate) fn build_plimsoll(root: &Path) -> anyhow::Result<PathBuf> {
    let status = cargo(root)
        .args(["build", "--quiet", "--package", "plimsoll"])
        .status()
        .context("run cargo build")?;
    if !status.success() {
        bail!("the program does not build; run `cargo build -p plimsoll`");
    }
    let own = std::env::current_exe().context("find this program's own path")?;
    Ok(own.with_file_name("plimsoll"))
}

/// A test binary, which looks for its files from its package's folder, as cargo would start it.
pub(crate) fn test_binary(binary: &Path, package: &Path) -> Command {
    let mut test = command(&binary.to_string_lossy());
    test.current_dir(package).env("CARGO_MANIFEST_DIR", package).stdin(Stdio::null());
    test
}

/// Cargo, as a person would start it.
#[expect(clippy::disallowed_methods, reason = "cargo tells which cargo started this program")]
pub(crate) fn cargo(root: &Path) -> Command {
    let mut cargo = command(&std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    cargo.current_dir(root);
    // What it tells this program of its package: there are build scripts (ring's) that run again
    // where it is another one, and all that depends on them would be compiled anew.
    for (name, _) in std::env::vars_os() {
        let is_of_package =
            |name: &str| ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|of| name.starts_with(of));
        if name.to_str().is_some_and(is_of_package) {
            cargo.env_remove(&name);
        }
    }
    cargo
}

#[expect(clippy::disallowed_methods, reason = "the one place of xtask that starts processes")]
fn command(program: &str) -> Command {
    Command::new(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_is_told_of_no_package() {
        // These tests are started by cargo, which has told them.
        let own = ["CARGO_PKG_NAME", "CARGO_MANIFEST_DIR"];
        let cargo = cargo(Path::new("/"));
        let told: Vec<_> = cargo.get_envs().collect();
        for name in own {
            assert!(told.contains(&(name.as_ref(), None)), "{name}: {told:?}");
        }
    }
}
