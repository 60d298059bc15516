//! A program that a test starts beside itself, and ends by its id.

use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::wait_for;

/// A program that runs; killed when this is dropped. It reads nothing.
pub struct Running {
    child: Child,
}

impl Running {
    /// Starts a program.
    ///
    /// # Panics
    ///
    /// Where it cannot be started.
    pub fn start(command: &mut Command) -> Self {
        let child = command.stdin(Stdio::null()).spawn();
        Self { child: child.unwrap_or_else(|error| panic!("{command:?}: {error}")) }
    }

    /// Starts a program, and waits for the first line that it prints.
    ///
    /// # Panics
    ///
    /// Where it cannot be started, or what it prints is no text.
    pub fn telling(command: &mut Command) -> (Self, String) {
        let mut running = Self::start(command.stdout(Stdio::piped()));
        let mut line = String::new();
        let read = running.output().map(|output| BufReader::new(output).read_line(&mut line));
        assert!(matches!(read, Some(Ok(_))), "{command:?}: {read:?}");
        (running, line)
    }

    /// What it prints, where that was piped, once.
    pub fn output(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// Its process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        // It may just have ended by itself.
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    /// How it ended, where it has.
    ///
    /// # Panics
    ///
    /// Where somebody else has waited for it.
    pub fn has_ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap_or_else(|error| panic!("it is not ours: {error}"))
    }

    /// Waits until it has ended.
    ///
    /// # Panics
    ///
    /// Where it does not end.
    pub fn ended(&mut self) -> ExitStatus {
        wait_for("a program to end", || self.has_ended())
    }

    /// Waits until somebody takes connections at an address.
    ///
    /// # Panics
    ///
    /// Where the program ends before, or nobody ever does.
    pub fn serves(&mut self, address: SocketAddr) {
        wait_for("a program to take connections", || {
            let ended = self.has_ended();
            assert!(ended.is_none(), "a program has ended: {ended:?}");
            TcpStream::connect(address).ok()
        });
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a program is a process")]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_program_tells_a_line_and_is_ended_by_a_signal() {
        let (mut program, line) = Running::telling(&mut shell("echo ready; exec sleep 3600"));
        assert_eq!((line.as_str(), program.has_ended()), ("ready\n", None));
        program.signal(Signal::TERM);
        assert_eq!(program.ended().code(), None);
    }

    #[test]
    fn a_program_is_killed_when_it_is_dropped() {
        let program = Running::start(&mut shell("exec sleep 3600"));
        let of_it = format!("/proc/{}", program.id());
        assert!(std::fs::exists(&of_it).unwrap());
        drop(program);
        assert!(!std::fs::exists(&of_it).unwrap());
    }

    #[test]
    #[should_panic(expected = "a program has ended")]
    fn a_program_that_ends_is_not_waited_for() {
        Running::start(&mut shell("exit 3")).serves(crate::free_address());
    }
}
