//! One moment on the two clocks a registry needs.

/// A moment, as its caller's clocks showed it.
///
/// Ages are differences of `elapsed_ns` only: a step of the wall clock expires nothing.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Now {
    /// Of a monotonic clock, nanoseconds since the program's start.
    pub elapsed_ns: u64,
    /// Of the wall clock, seconds since 1970-01-01 00:00 UTC.
    pub unix_s: f64,
}

impl Now {
    /// Milliseconds since 1970, for what is compared with a signature's time.
    #[expect(clippy::cast_possible_truncation, reason = "a time of day in this millennium")]
    #[must_use]
    pub fn unix_ms(self) -> i64 {
        (self.unix_s * 1e3) as i64
    }
}
