//! The one place where this crate reads a clock: `CLOCK_MONOTONIC`, in nanoseconds, which is what
//! the load engine's samples use too, so that the two can be compared on one machine.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds of the monotonic clock.
#[inline]
pub(crate) fn now_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// Processor time this thread has used, nanoseconds.
#[inline]
pub(crate) fn thread_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

/// Processor time this process has used, nanoseconds.
pub(crate) fn process_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ProcessCPUTime))
}

#[inline]
fn nanoseconds(time: Timespec) -> u64 {
    // Both fields of these two clocks are never negative.
    #[expect(
        clippy::cast_sign_loss,
        reason = "time since the machine, the process or the thread started"
    )]
    let (seconds, nanoseconds) = (time.tv_sec as u64, time.tv_nsec as u64);
    seconds * 1_000_000_000 + nanoseconds
}

/// The time of day, nanoseconds since 1970.
pub(crate) fn unix_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Realtime))
}
