//! The processes that the checks start: cargo, and the commands of the manual.
//!
//! Every command runs in a process group of its own, so that ending it ends what it started too;
//! an interrupt of the runner ends all of them. A thread waits for it and reports; waiting for that
//! report, with a limit, needs neither a clock nor a sleep.
//!
//! What is tested inherits nothing that would decide how it ends: [`start_clean`] sets the umask
//! and the limits, [`test_binary`] starts in a session without a terminal, with signals as they are
//! by default and an environment without what steers our programs, proxies or terminals.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, bail};
use rustix::fs::Mode;
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process_group, setrlimit};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// How long a process may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(5);

/// Descriptors that a test may open, where the host allows as many.
const DESCRIPTORS: u64 = 20_000;
/// Variables that steer our programs, proxies, terminals or clients of clouds: how they begin.
const STEERING: [&str; 18] = [
    "PLIMSOLL_",
    "RUST_TEST_",
    "RUST_LOG",
    "COLUMNS",
    "LINES",
    "NO_COLOR",
    "CLICOLOR",
    "FORCE_COLOR",
    "TERM",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "XDG_RUNTIME_DIR",
    "AWS_",
];
/// Variables that say where something is that tests use.
const PLACES: [&str; 5] = [
    "PLIMSOLL_SHARED",
    "PLIMSOLL_CASSANDRA_JARS",
    "PLIMSOLL_MOTO",
    "PLIMSOLL_PYTHON_PEERS",
    "PLIMSOLL_WEBSOCKET_PEERS",
];

/// The groups of commands that run: ended where the runner is interrupted.
static GROUPS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

fn groups() -> std::sync::MutexGuard<'static, BTreeSet<i32>> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets what every test inherits, and ends with all that runs at an interrupt.
pub(crate) fn start_clean() -> anyhow::Result<()> {
    rustix::process::umask(Mode::from_raw_mode(0o022));
    let of_host = getrlimit(Resource::Nofile).maximum;
    let descriptors = of_host.map_or(DESCRIPTORS, |maximum| maximum.min(DESCRIPTORS));
    let limit = Rlimit { current: Some(descriptors), maximum: of_host };
    setrlimit(Resource::Nofile, limit).context("set the limit of descriptors")?;
    let all = [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM];
    let mut signals = signal_hook::iterator::Signals::new(all).context("await an interrupt")?;
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            for group in groups().iter().filter_map(|group| Pid::from_raw(*group)) {
                let _ = kill_process_group(group, Signal::TERM);
            }
            std::process::exit(128 + signal);
        }
    });
    Ok(())
}

/// Runs a command that begins a session of its own, and waits for it.
pub(crate) fn run_in_session(mut command: Command) -> std::io::Result<ExitStatus> {
    let mut child = command.spawn()?;
    let group = i32::try_from(child.id()).unwrap_or(0);
    groups().insert(group);
    let status = child.wait();
    groups().remove(&group);
    status
}

/// Where a command runs.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    /// Its working folder, and its home.
    pub(crate) folder: &'a Path,
    /// Where its sockets and locks lie.
    pub(crate) runtime: &'a Path,
    /// Its `PATH`.
    pub(crate) path: &'a str,
    /// The mounts that it sees, where they are not those of the host.
    pub(crate) mounts: Option<&'a str>,
}

/// A command in its own process group. Dropping it ends the group.
pub(crate) struct Running {
    group: Option<Pid>,
    ended: Receiver<std::io::Result<ExitStatus>>,
    status: Option<ExitStatus>,
}

impl Running {
    /// Starts `bash -c SCRIPT`, its output going to `output`.
    pub(crate) fn bash(script: &str, place: &Place<'_>, output: &Path) -> anyhow::Result<Self> {
        let file = File::create(output).with_context(|| format!("create {}", output.display()))?;
        let errors = file.try_clone().context("share the file for a command's output")?;
        let mut command = match place.mounts {
            Some(mounts) => {
                let mut enter = command("nsenter");
                enter.args([&format!("--mount={mounts}"), "--", "env"]);
                enter
            }
            None => command("env"),
        };
        without_steering(&mut command);
        let child = command
            // Other mounts have no working folder yet.
            .arg(format!("--chdir={}", place.folder.display()))
            .args(["--default-signal", "bash", "--noprofile", "--norc", "-c", script])
            .env("PATH", place.path)
            .env("HOME", place.folder)
            .env("XDG_RUNTIME_DIR", place.runtime)
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
        groups().extend(group.map(Pid::as_raw_nonzero).map(std::num::NonZero::get));
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
        groups().remove(&group.as_raw_nonzero().get());
    }
}

/// A network and ledgers of test-beds that are nobody else's, until it is dropped.
pub(crate) struct Apart {
    holder: Child,
}

impl Apart {
    /// Makes them, and moves this thread, and all that it starts from now on, into the network,
    /// which has a loopback interface. Ledgers, named networks and images are only seen by commands
    /// that are started with [`Apart::mounts`].
    pub(crate) fn enter() -> anyhow::Result<Self> {
        let script = "ip link set lo up && for folder in /run/plimsoll /run/netns \
                      /var/lib/plimsoll; do mkdir -p $folder && mount -t tmpfs none $folder || \
                      exit; done && echo up && exec cat";
        let holder = command("unshare")
            .args(["--net", "--mount", "sh", "-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("start unshare")?;
        let mut apart = Self { holder };
        let mut line = String::new();
        let out = apart.holder.stdout.take().context("its output is piped")?;
        BufReader::new(out).read_line(&mut line).context("await unshare")?;
        anyhow::ensure!(line == "up\n", "this host makes no namespaces");
        let path = format!("/proc/{}/ns/net", apart.holder.id());
        let network = File::open(&path).with_context(|| format!("open {path}"))?;
        move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))
            .context("enter a network namespace")?;
        Ok(apart)
    }

    /// The mounts that commands are to see.
    pub(crate) fn mounts(&self) -> String {
        format!("/proc/{}/ns/mnt", self.holder.id())
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        // It ends with its input, and the namespaces with the last that is in them.
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
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

/// The commit that is checked out; `None` outside of git.
pub(crate) fn commit(root: &Path) -> Option<String> {
    let mut git = command("git");
    let output = git.args(["rev-parse", "HEAD"]).current_dir(root).stderr(Stdio::null()).output();
    let output = output.ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

/// Cargo's target folder, where this program lies in the folder of its profile.
pub(crate) fn target_folder() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("find this program's own path")?;
    let target = own.parent().and_then(Path::parent).context("find the target folder")?;
    Ok(target.to_owned())
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
    let mut test = command("setsid");
    test.args(["--wait", "env", "--default-signal"]).arg(binary);
    test.current_dir(package).env("CARGO_MANIFEST_DIR", package).stdin(Stdio::null());
    without_steering(&mut test);
    test
}

/// Leaves out of a command's environment what would steer what is tested.
fn without_steering(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let steers =
            |name: &str| !PLACES.contains(&name) && STEERING.iter().any(|of| name.starts_with(of));
        if name.to_str().is_some_and(steers) {
            command.env_remove(&name);
        }
    }
    command.env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
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

/// A script of the project.
pub(crate) fn script(root: &Path, name: &str) -> Command {
    command(&root.join(name).display().to_string())
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
