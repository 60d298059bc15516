//! The runner's one clock: how long anything took is told, and says whether others were at work
//! meanwhile. No test passes or fails by it.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

#[expect(clippy::disallowed_methods, reason = "the runner's one clock")]
fn instant() -> Instant {
    Instant::now()
}

static START: LazyLock<Instant> = LazyLock::new(instant);

/// Time since the runner began.
pub(crate) fn now() -> Duration {
    let start = *START;
    instant().saturating_duration_since(start)
}

/// Waits.
#[expect(clippy::disallowed_methods, reason = "the runner looks at the host once a second")]
pub(crate) fn sleep(time: Duration) {
    std::thread::sleep(time);
}
