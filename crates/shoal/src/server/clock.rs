//! The two clocks, read where the server meets the world.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::Now;

/// A monotonic and a wall clock.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Instant,
}

#[expect(clippy::disallowed_methods, reason = "the live edge: all else is given a `Now`")]
impl Clock {
    /// A clock whose monotonic part begins now.
    #[must_use]
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// What they show.
    #[expect(clippy::cast_possible_truncation, reason = "584 years")]
    #[must_use]
    pub fn now(&self) -> Now {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Now { elapsed_ns: self.start.elapsed().as_nanos() as u64, unix_s: unix.as_secs_f64() }
    }
}
