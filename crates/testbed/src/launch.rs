//! Starts the process of an instance, without a moment in which it runs and is written nowhere.
//!
//! A process is begun that only waits: for one line on its standard input. Its number and the time
//! of its start are written into the ledger, then the line is sent, and it becomes the server by
//! `exec`, which keeps both. Where we are killed in between, the input ends, and so does it.
//!
//! [`wait_and_become`] is what that process does: the command line has a hidden command for it.

use std::fs::File;
use std::io::{BufRead, ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::command::{ENVIRONMENT, Words};
use crate::error::TestbedError;
use crate::thing::{mark_of, started_at};
use crate::time::Deadline;

/// The longest line that is waited for, bytes.
const MOST_LINE: u64 = 1 << 20;

/// How long a program that is still open for writing is tried again.
const MOST_BUSY: Duration = Duration::from_secs(5);

/// What a process is to become.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The files `cgroup.procs` that it enters itself into first.
    pub cgroups: Vec<PathBuf>,
    /// The words of the command.
    pub words: Vec<String>,
    /// Its environment, beside that of every command.
    pub environment: Vec<(String, String)>,
    /// The user and the group that it becomes, where its words do not see to that.
    pub user: Option<(u32, u32)>,
    /// The same by name, where the host that has the user is another one: it knows the numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub becomes: Option<String>,
    /// The name of the cgroups that it enters, where the host that has them is another one: it
    /// knows their folders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enters: Option<String>,
}

/// How the waiting process is started: this program, and the hidden command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// A process that waits for its order. It ends by itself where that never comes.
pub struct Waiting {
    child: Child,
}

impl Launcher {
    /// Whether every user of this host may go to the program: not where it lies below root's home.
    #[must_use]
    pub fn is_open_to_all(&self) -> bool {
        let is_open =
            |folder: &Path| folder.metadata().is_ok_and(|of| of.permissions().mode() & 0o001 != 0);
        self.program.ancestors().skip(1).all(is_open)
    }

    /// Begins a process that waits, in a group of its own; what it will say goes to `output`.
    ///
    /// # Errors
    /// Where it cannot be started.
    #[expect(clippy::disallowed_methods, reason = "what is under test is other programs")]
    pub fn begin(&self, folder: &Path, output: &File) -> Result<Waiting, TestbedError> {
        let shown = || self.program.display().to_string();
        let failed = |source| TestbedError::Start { command: shown(), source };
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).env_clear().envs(ENVIRONMENT).current_dir(folder);
        command.stdin(Stdio::piped()).process_group(0);
        command.stdout(output.try_clone().map_err(failed)?);
        command.stderr(output.try_clone().map_err(failed)?);
        Ok(Waiting { child: command.spawn().map_err(failed)? })
    }
}

impl Waiting {
    /// Its process number, which the server keeps.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Lets it become the server.
    ///
    /// # Errors
    /// Where it is not there any more.
    pub fn go(mut self, order: &Order) -> Result<Child, TestbedError> {
        let shown = || Words(order.words.clone()).to_string();
        let failed = |source| TestbedError::Start { command: shown(), source };
        let text = serde_json::to_string(order).map_err(|error| failed(error.into()))?;
        let mut input = self.child.stdin.take();
        let sent = input.as_mut().map(|input| input.write_all(format!("{text}\n").as_bytes()));
        sent.unwrap_or(Ok(())).map_err(failed)?;
        Ok(self.child)
    }
}

/// Waits for an order on standard input, and becomes what it says. Returns only where that is not
/// possible, with the reason; `None` where no order came.
#[expect(clippy::disallowed_methods, reason = "becomes the server under test")]
pub fn wait_and_become() -> Option<std::io::Error> {
    let mut line = String::new();
    let mut input = std::io::stdin().lock().take(MOST_LINE);
    match std::io::BufReader::new(&mut input).read_line(&mut line) {
        Ok(0) => return None,
        Ok(_) => {}
        Err(error) => return Some(error),
    }
    let order: Order = match serde_json::from_str(&line) {
        Ok(order) => order,
        // A line that was cut: who sent it was killed.
        Err(_) => return None,
    };
    for file in &order.cgroups {
        let entered = std::fs::write(file, format!("{}\n", std::process::id()));
        if let Err(error) = entered {
            let text = format!("enter {}: {error}", file.display());
            return Some(std::io::Error::new(error.kind(), text));
        }
    }
    let Some((program, arguments)) = order.words.split_first() else {
        return Some(std::io::Error::other("the order has no command"));
    };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).envs(order.environment.iter().cloned());
    let own = std::process::id();
    command.envs(started_at(own).map(|started| mark_of(own, started)));
    if let Some((user, group)) = order.user {
        // Other groups go with it, as std leaves them where root becomes another user.
        command.uid(user).gid(group);
    }
    Some(once_written(|| command.exec()))
}

/// Tries again what failed because the program is still open for writing.
///
/// A copy of a program is closed before it is started. Yet a process that another thread began
/// meanwhile has inherited the open file, and holds it until it becomes a program itself.
fn once_written(mut attempt: impl FnMut() -> std::io::Error) -> std::io::Error {
    let deadline = Deadline::within(MOST_BUSY);
    loop {
        let is_last = deadline.is_over();
        let error = attempt();
        if error.kind() != ErrorKind::ExecutableFileBusy || is_last {
            return error;
        }
        deadline.pause();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "starts a program that is being written")]
    fn a_program_that_is_open_for_writing_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("true");
        std::fs::copy("/bin/true", &program).unwrap();
        let mut writer = Some(OpenOptions::new().append(true).open(&program).unwrap());
        let mut refused = 0;
        let last = once_written(|| match Command::new(&program).status() {
            Ok(status) => std::io::Error::other(status.to_string()),
            Err(error) => {
                refused += 1;
                // Whoever held it lets it go after a while.
                writer.take_if(|_| refused == 3);
                error
            }
        });
        assert!(refused >= 3, "{refused}");
        assert_eq!(last.to_string(), "exit status: 0");
    }
}
