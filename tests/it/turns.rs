//! Turns on the machine: most tests share it, a few at once; those that look at time have it to
//! themselves, as far as this suite goes.
//!
//! Who wants it alone waits until nobody else wants it. So with more threads than turns, as `cargo
//! xtask tests` has it, those that share run side by side first and the others one by one then,
//! instead of each keeping everybody waiting.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

static MACHINE: Mutex<Wishes> = Mutex::new(Wishes { wanted: 0, shared: 0, alone: false });
static CHANGED: Condvar = Condvar::new();

/// How many tests share the machine at once, beyond one for each of its cores.
const MORE_THAN_CORES: usize = 2;

struct Wishes {
    /// Tests that wait for a share.
    wanted: usize,
    /// Tests that have one.
    shared: usize,
    /// Whether a test has the machine to itself.
    alone: bool,
}

/// A turn, until it is dropped.
pub(crate) enum Turn {
    Shared,
    Alone,
}

impl Turn {
    /// Waits for a share of the machine.
    pub(crate) fn shared() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let mut wishes = wishes();
        wishes.wanted += 1;
        let is_full = |now: &mut Wishes| now.alone || now.shared >= cores + MORE_THAN_CORES;
        let mut wishes =
            CHANGED.wait_while(wishes, is_full).unwrap_or_else(PoisonError::into_inner);
        wishes.wanted -= 1;
        wishes.shared += 1;
        Self::Shared
    }

    /// Waits until no other test has a turn, or wants to share.
    pub(crate) fn alone() -> Self {
        let is_taken = |now: &mut Wishes| now.alone || now.shared + now.wanted > 0;
        let wishes = CHANGED.wait_while(wishes(), is_taken);
        wishes.unwrap_or_else(PoisonError::into_inner).alone = true;
        Self::Alone
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut wishes = wishes();
        match self {
            Self::Shared => wishes.shared -= 1,
            Self::Alone => wishes.alone = false,
        }
        drop(wishes);
        CHANGED.notify_all();
    }
}

fn wishes() -> MutexGuard<'static, Wishes> {
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}
