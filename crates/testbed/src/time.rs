//! Time as the test-bed needs it: limits of steps, and waiting. The one place of this crate that
//! reads the clock.

use std::time::{Duration, Instant};

/// How often what may have happened is looked at.
const STEP: Duration = Duration::from_millis(10);

/// A moment after which a step has taken too long.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    begun: Instant,
    limit: Duration,
}

impl Deadline {
    /// A limit that begins now.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "steps are limited by the clock")]
    pub fn within(limit: Duration) -> Self {
        Self { begun: Instant::now(), limit }
    }

    /// How long it is since the step began.
    #[must_use]
    pub fn passed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// How long it may still take; zero when it is over.
    #[must_use]
    pub fn left(&self) -> Duration {
        self.limit.saturating_sub(self.passed())
    }

    /// How long it may take in all.
    #[must_use]
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Whether it is over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.left().is_zero()
    }

    /// Waits a moment, until something is looked at again.
    #[expect(clippy::disallowed_methods, reason = "waits for other processes")]
    pub fn pause(&self) {
        std::thread::sleep(STEP.min(self.left()));
    }
}
