//! How late an idle timer wakes: the host's own noise, measured while a run goes on.
//!
//! A thread that does nothing else sleeps to absolute deadlines, one a period, and records how
//! long after each it woke. No work of ours delays it, so what it sees is the host: a scheduler
//! with other things to do, a hypervisor that ran another guest, a processor slow to wake.
//!
//! # Nothing is left out
//!
//! Deadlines are the start plus whole periods, never the last wake plus one. A thread that was
//! held up for ten periods records all ten, each with its own lateness; a loop that re-armed from
//! the wake would record one (coordinated omission, in a timer).
//!
//! # Units
//!
//! Nanoseconds of `CLOCK_MONOTONIC`. The thread asks for a timer slack of 1 ns, as the engine's
//! threads do, so the kernel's default rounding of 50 µs is not mistaken for noise.

use plimsoll_units::failure::{Failure, Kind};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use plimsoll_stats::Histogram;
use rustix::io::Errno;
use rustix::thread::{ClockId, clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{Timespec, clock_gettime};

/// Why a [`TimerProbe`] could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TimerError {
    /// Every deadline would be due at once.
    #[error("measure timers with a period above zero, found 0")]
    NoPeriod,
    /// The host gave no thread.
    #[error("start the thread that measures how late timers wake")]
    NoThread(#[source] std::io::Error),
}

/// A thread that measures how late an idle timer wakes. It stops when this is dropped.
#[derive(Debug)]
pub struct TimerProbe {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    lateness: Mutex<Histogram>,
}

impl TimerProbe {
    /// Starts measuring, with one deadline every `period` (10 ms costs about 0.1% of a core).
    ///
    /// # Errors
    /// When the period is zero, or the host gives no thread.
    pub fn start(period: Duration) -> Result<Self, TimerError> {
        let period_ns = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
        let period_ns = NonZeroU64::new(period_ns).ok_or(TimerError::NoPeriod)?;
        let shared = Arc::new(Shared::default());
        let in_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("timer-probe".to_owned())
            .spawn(move || measure(&in_thread, period_ns.get()))
            .map_err(TimerError::NoThread)?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// The lateness of every deadline since the last call, in nanoseconds.
    #[must_use]
    pub fn take(&self) -> Histogram {
        std::mem::take(&mut self.shared.lateness.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for TimerProbe {
    /// Waits for the thread, one period at most.
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A probe that panicked has nothing to say, and dropping must not panic.
            let _ = thread.join();
        }
    }
}

fn measure(shared: &Shared, period_ns: u64) {
    // Refused by no kernel we know; then 50 µs of slack are part of what is measured.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let mut deadline_ns = now_ns();
    while !shared.stop.load(Ordering::Relaxed) {
        deadline_ns = deadline_ns.saturating_add(period_ns);
        sleep_until(deadline_ns);
        let late_ns = now_ns().saturating_sub(deadline_ns);
        shared.lateness.lock().unwrap_or_else(PoisonError::into_inner).record(late_ns);
    }
}

fn sleep_until(deadline_ns: u64) {
    let deadline = timespec(deadline_ns);
    // A signal ends the sleep early; the deadline is absolute, so sleeping again is exact.
    while clock_nanosleep_absolute(ClockId::Monotonic, &deadline) == Err(Errno::INTR) {}
}

const NS_PER_S: u64 = 1_000_000_000;

/// Nanoseconds of the monotonic clock.
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let whole = u64::try_from(now.tv_sec).unwrap_or(0).saturating_mul(NS_PER_S);
    whole.saturating_add(u64::try_from(now.tv_nsec).unwrap_or(0))
}

fn timespec(ns: u64) -> Timespec {
    let in_range = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    Timespec { tv_sec: in_range(ns / NS_PER_S), tv_nsec: in_range(ns % NS_PER_S) }
}

impl Failure for TimerError {
    fn kind(&self) -> Kind {
        Kind::Incomplete
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoPeriod => "give one such as 10ms",
            Self::NoThread(_) => "see `ulimit -u` for the limit",
        };
        Some(hint.to_owned())
    }
}
