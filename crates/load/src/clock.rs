//! The engine's clock: monotonic nanoseconds since the start of a session.
//!
//! The one place of this crate that reads time. `CLOCK_MONOTONIC` comes from the vDSO (about 25
//! ns), is the same for all threads, and is what the kernel's timers sleep by.

use std::fs::File;
use std::os::unix::fs::FileExt;

use rustix::thread::{ClockId as Sleeps, clock_nanosleep_absolute};
use rustix::time::{ClockId, Timespec, clock_getres, clock_gettime};

/// Reads offsets since its origin.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin_ns: u64,
}

fn nanoseconds(time: Timespec) -> u64 {
    #[expect(clippy::cast_sign_loss, reason = "monotonic and CPU clocks are never negative")]
    let (seconds, nanoseconds) = (time.tv_sec as u64, time.tv_nsec as u64);
    seconds * 1_000_000_000 + nanoseconds
}

impl Clock {
    /// A clock whose zero is now.
    #[must_use]
    pub fn start() -> Self {
        Self { origin_ns: monotonic_ns() }
    }

    /// A clock whose zero is at `origin_ns` of this host's monotonic clock, past or to come.
    #[must_use]
    pub fn from_origin(origin_ns: u64) -> Self {
        Self { origin_ns }
    }

    /// Waits for its zero, where that is to come.
    pub fn wait_for_start(&self) {
        let start = timespec(self.origin_ns);
        while monotonic_ns() < self.origin_ns {
            // A signal may end it before.
            let _ = clock_nanosleep_absolute(Sleeps::Monotonic, &start);
        }
    }

    /// A clock whose zero is `ns` after this one's.
    #[must_use]
    pub fn shifted(self, ns: u64) -> Self {
        Self { origin_ns: self.origin_ns + ns }
    }

    /// Nanoseconds since the origin; 0 before it.
    #[inline]
    #[must_use]
    pub fn now(&self) -> u64 {
        nanoseconds(clock_gettime(ClockId::Monotonic)).saturating_sub(self.origin_ns)
    }
}

impl Clock {
    /// The wall clock less this clock, for reading the kernel's stamps.
    #[must_use]
    pub fn wall_offset(&self) -> i64 {
        let wall = nanoseconds(clock_gettime(ClockId::Realtime));
        i64::try_from(wall).unwrap_or(i64::MAX) - i64::try_from(self.now()).unwrap_or(i64::MAX)
    }
}

/// The length of the kernel's tick, to which it notes when it last heard from a peer: nanoseconds.
#[must_use]
pub fn tick_ns() -> u64 {
    nanoseconds(clock_getres(ClockId::MonotonicCoarse))
}

/// This host's monotonic clock, in nanoseconds.
#[must_use]
pub fn monotonic_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// CPU time of the calling thread, in nanoseconds.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

/// How long a thread has wanted to run and was not let: what the scheduler counts as waiting on a
/// run queue, throttling by a quota included (proc(5), `/proc/PID/task/TID/schedstat`).
#[derive(Debug)]
pub struct Denied {
    schedstat: Option<File>,
}

impl Denied {
    /// That of the calling thread.
    #[must_use]
    pub fn of_this_thread() -> Self {
        Self { schedstat: File::open("/proc/thread-self/schedstat").ok() }
    }

    /// Nanoseconds since the thread's start; 0 where the kernel does not tell.
    #[must_use]
    pub fn total_ns(&self) -> u64 {
        let mut text = [0; 96];
        let read = self.schedstat.as_ref().and_then(|file| file.read_at(&mut text, 0).ok());
        let text = std::str::from_utf8(&text[..read.unwrap_or(0)]).unwrap_or("");
        text.split_ascii_whitespace().nth(1).and_then(|field| field.parse().ok()).unwrap_or(0)
    }
}

/// CPU time of the whole process, in nanoseconds.
#[must_use]
pub fn process_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ProcessCPUTime))
}

/// A span as the kernel's waits take it.
#[must_use]
pub fn timespec(ns: u64) -> Timespec {
    #[expect(clippy::cast_possible_wrap, reason = "below 2^63 after the division")]
    Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 }
}
