//! Waiting for what happens in another thread or process.
#![expect(clippy::disallowed_methods, reason = "what is waited for takes its time")]

use std::time::{Duration, Instant};

/// How long anything may take on a machine that has much else to do.
const MOST: Duration = Duration::from_secs(90);

/// Waits until something is so.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < MOST, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
