//! The time that a live pool goes by: what time it is, and how its threads wait for what comes.
//!
//! It is passed in: the clock and real waits under a load, and a time that is moved by hand before
//! servers and balancers that obey a test.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plimsoll_load::clock::Clock;

use super::life::Life;

/// The time of a pool.
pub(super) trait Time: Send + Sync {
    /// Nanoseconds since some moment before the pool began.
    fn now(&self) -> u64;

    /// Waits until somebody wakes those who wait, no longer than `limit`. It may come back earlier:
    /// whoever waits looks again.
    fn wait<'g>(
        &self,
        all: &'g Mutex<Life>,
        life: MutexGuard<'g, Life>,
        limit: Duration,
    ) -> MutexGuard<'g, Life>;

    /// Wakes all who wait: something has changed.
    fn wake(&self);

    /// A thread of the pool is about to be started. Returns its number.
    fn starts(&self) -> u64 {
        0
    }

    /// The thread of this number has begun: it is the one that calls.
    fn begins(&self, _: u64) {}

    /// It is through.
    fn ends(&self, _: u64) {}
}

/// The time of the clock.
pub(super) struct Monotonic {
    clock: Clock,
    changed: Condvar,
}

impl Monotonic {
    /// Time that begins now.
    pub(super) fn start() -> Self {
        Self { clock: Clock::start(), changed: Condvar::new() }
    }
}

impl Time for Monotonic {
    fn now(&self) -> u64 {
        self.clock.now()
    }

    fn wait<'g>(
        &self,
        _: &'g Mutex<Life>,
        life: MutexGuard<'g, Life>,
        limit: Duration,
    ) -> MutexGuard<'g, Life> {
        let waited = self.changed.wait_timeout(life, limit);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn wake(&self) {
        self.changed.notify_all();
    }
}
