//! What the operator reads on standard error: a line now and then, however much goes wrong.

use std::io::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// One line in this time; what was kept back is counted.
const PAUSE: Duration = Duration::from_secs(1);

/// The last line's time, and how many were kept back since.
#[derive(Debug, Default)]
pub(crate) struct Log(Mutex<(Option<Instant>, u64)>);

impl Log {
    /// Says this, if nothing was said a moment ago.
    pub(crate) fn say(&self, text: &str) {
        if let Some(kept_back) = self.may_say(Instant::now()) {
            let more =
                if kept_back > 0 { format!(" (and {kept_back} more)") } else { String::new() };
            // Where standard error is closed nobody reads.
            let _ = writeln!(std::io::stderr(), "market: {text}{more}");
        }
    }

    /// How many lines were kept back, where one may be said now.
    fn may_say(&self, now: Instant) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.0.is_some_and(|last| now.saturating_duration_since(last) < PAUSE) {
            state.1 += 1;
            return None;
        }
        state.0 = Some(now);
        Some(std::mem::take(&mut state.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_a_second_and_the_rest_is_counted() {
        let (log, start) = (Log::default(), Instant::now());
        let at = |ms| log.may_say(start + Duration::from_millis(ms));
        assert_eq!([at(0), at(10), at(999), at(1_000)], [Some(0), None, None, Some(2)]);
    }
}
