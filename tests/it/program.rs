//! A process of the program: started, bounded in time, ended by its own id.

use plimsoll_testing::ended_with_5;
pub(crate) use plimsoll_testing::wait_for;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

/// The binary under test.
pub(crate) const PLIMSOLL: &str = env!("CARGO_BIN_EXE_plimsoll");

/// How names of variables begin that change what a program does, or how it says it. Those that
/// whoever started the tests has set are no matter of theirs.
const DISTURBING: [&str; 10] = [
    "AWS_",
    "CLICOLOR",
    "COLUMNS",
    "FORCE_COLOR",
    "LINES",
    "NO_COLOR",
    "PLIMSOLL_",
    "SHOAL_",
    "TZ",
    "XDG_",
];

/// Whether a variable would disturb; names of proxies are written in both cases.
fn is_disturbing(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    name.ends_with("_PROXY") || DISTURBING.iter().any(|begins| name.starts_with(begins))
}

/// The command without what its process would inherit by chance: variables that it does not set
/// itself, and signals that whoever started the tests ignores, as `nohup` and shells' jobs in the
/// background do. `env` becomes the program, under the same process id.
fn undisturbed(command: &Command) -> Command {
    let mut own = Command::new("env");
    own.arg("--default-signal=HUP,INT,QUIT,TERM").arg(command.get_program());
    own.args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        own.current_dir(folder);
    }
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_disturbing(name)) {
        own.env_remove(name);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => own.env(name, value),
            None => own.env_remove(name),
        };
    }
    own
}

/// A process that goes on; killed when dropped.
pub(crate) struct Going {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Going {
    /// Starts a command with its output in files named after `name`.
    #[expect(clippy::needless_pass_by_value, reason = "a command is started once")]
    pub(crate) fn start(command: Command, folder: &Path, name: &str) -> Self {
        let (out, err) = (folder.join(format!("{name}.out")), folder.join(format!("{name}.err")));
        let child = undisturbed(&command)
            .stdin(Stdio::null())
            .stdout(File::create(&out).unwrap())
            .stderr(File::create(&err).unwrap())
            .spawn()
            .unwrap();
        Self { child, out, err }
    }

    /// What it has printed so far.
    pub(crate) fn out(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.out).unwrap()).into_owned()
    }

    /// What it has said so far.
    pub(crate) fn err(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.err).unwrap()).into_owned()
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Its process id.
    pub(crate) fn id(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// What of it is in memory, KiB (`VmRSS` of `/proc/PID/status`).
    pub(crate) fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
    }

    /// Sends it a signal, by its id.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        // It may just have ended by itself.
        let _ = kill_process(pid, signal);
    }

    /// Awaits its end.
    pub(crate) fn wait(mut self) -> Done {
        let status = wait_for("a process to end", || self.child.try_wait().unwrap());
        Done { status, out: self.out(), err: self.err() }
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        if !self.has_ended() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// A process that has ended.
pub(crate) struct Done {
    status: ExitStatus,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

impl Done {
    /// The exit code; `None` where a signal ended it.
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Fails unless it ended with this code.
    #[track_caller]
    pub(crate) fn ended_with(self, code: i32) -> Self {
        let found = self.status;
        assert_eq!(self.code(), Some(code), "{found}\n{}\n{}", self.out, self.err);
        self
    }

    /// Fails unless it did all that it was to do. Whether what it measured is valid, which decides
    /// between 0 and 5, is no matter of the test: nothing that it asserts of the figures depends on
    /// that, and so on the machine.
    #[track_caller]
    pub(crate) fn ran(self) -> Self {
        let found = self.status;
        assert!(matches!(self.code(), Some(0 | 5)), "{found}\n{}\n{}", self.out, self.err);
        if self.code() == Some(5) {
            ended_with_5(&crate::place::test_name(), "what it measured is not valid");
        }
        self
    }

    /// Fails unless each of these is part of what it said.
    #[track_caller]
    pub(crate) fn says(&self, parts: &[&str]) {
        for part in parts {
            assert!(self.err.contains(part), "`{part}` is not in:\n{}", self.err);
        }
        assert!(!self.err.contains("panicked"), "{}", self.err);
    }

    /// Fails unless each of these is part of what it printed.
    #[track_caller]
    pub(crate) fn prints(&self, parts: &[&str]) {
        for part in parts {
            assert!(self.out.contains(part), "`{part}` is not in:\n{}", self.out);
        }
    }

    /// What it printed, as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }
}
