//! Processes that a test starts and ends by their id, and waiting for what they do.

use std::net::SocketAddr;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

pub(crate) use plimsoll_testing::{Running, wait_for};

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

/// Starts a program that says where it listens by a line `… at http://ADDRESS`.
pub(crate) fn listening(command: &mut Command) -> (Running, SocketAddr) {
    let (running, line) = Running::telling(command);
    let address = line.trim().rsplit("http://").next().unwrap();
    (running, address.parse().unwrap_or_else(|_| panic!("it said {line:?}")))
}
