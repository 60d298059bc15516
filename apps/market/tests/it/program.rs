//! Processes that a test starts and ends by their id, and waiting for what they do.

use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime};

pub(crate) use plimsoll_testing::wait_for;
use rustix::process::{Pid, Signal, kill_process};

/// An address of this host that nothing listens at.
pub(crate) fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// Since when a test has waited.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Unix time, nanoseconds.
pub(crate) fn unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    u64::try_from(since.as_nanos()).unwrap()
}

/// Waits.
pub(crate) fn pause(ms: u64) {
    // tidy: allow(waits, pools of the market end by its clock)
    std::thread::sleep(Duration::from_millis(ms));
}

/// A process, killed with its test.
pub(crate) struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).spawn().unwrap())
    }

    /// Starts a program, and waits for the line that it says.
    pub(crate) fn telling(command: &mut Command) -> (Self, String) {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        (Self(child), line)
    }

    /// Starts a program that says where it listens by a line `… at http://ADDRESS`.
    pub(crate) fn listening(command: &mut Command) -> (Self, SocketAddr) {
        let (running, line) = Self::telling(command);
        let address = line.trim().rsplit("http://").next().unwrap();
        (running, address.parse().unwrap_or_else(|_| panic!("it said {line:?}")))
    }

    /// Until it takes connections.
    pub(crate) fn wait_for(&mut self, address: SocketAddr) {
        wait_for("connections", || {
            if let Some(status) = self.0.try_wait().unwrap() {
                panic!("it has ended: {status}");
            }
            TcpStream::connect(address).ok()
        });
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    /// Waits until it has ended.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        wait_for("its end", || self.0.try_wait().unwrap())
    }
}
