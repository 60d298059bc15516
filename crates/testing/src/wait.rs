//! Waiting for what happens in another thread or process: as long as it takes, on however busy a
//! machine, and not for ever.

use std::time::{Duration, Instant};

/// How long a test waits for anything. No busy machine explains more.
pub const PATIENCE: Duration = Duration::from_secs(600);
/// How often something awaited is looked for.
const STEP: Duration = Duration::from_millis(10);

/// Waits until something is there.
///
/// # Panics
///
/// Where it is not there within [`PATIENCE`].
#[expect(clippy::disallowed_methods, reason = "what is waited for takes its time")]
#[track_caller]
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "waited {PATIENCE:?} for {what}");
        std::thread::sleep(STEP);
    }
}

/// Waits until something is so.
///
/// # Panics
///
/// As [`wait_for`].
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    wait_for(what, || is_so().then_some(()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_later_is_waited_for() {
        let mut looks = 0;
        let found = wait_for("the third look", || {
            looks += 1;
            (looks == 3).then_some("there")
        });
        assert_eq!((found, looks), ("there", 3));
        wait_until("it is so", || true);
    }
}
