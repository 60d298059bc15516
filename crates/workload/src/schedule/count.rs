//! A number of requests, whole and part kept apart.
//!
//! Integrals over a day reach 10^9 requests, where an `f64` has only a few digits left after the
//! point, and the instant of a request hangs on exactly those. So the whole requests are an
//! integer, and every piece of a schedule computes relative to its own start.

/// A number of requests: `whole + part`, `0 ≤ part < 1`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Count {
    pub(crate) whole: u64,
    pub(crate) part: f64,
}

impl Count {
    /// A count from a number; below zero is zero.
    pub(crate) fn of(n: f64) -> Self {
        let n = n.max(0.0);
        let whole = n.floor();
        #[expect(clippy::cast_possible_truncation, reason = "floored; too large saturates")]
        let count = Self { whole: whole as u64, part: n - whole };
        count
    }

    /// This many requests and `area` more.
    pub(crate) fn plus(self, area: f64) -> Self {
        let more = Self::of(area);
        let part = self.part + more.part;
        let carry = if part >= 1.0 { 1 } else { 0 };
        Self { whole: self.whole + more.whole + carry, part: part - carry as f64 }
    }

    /// How far two counts may lie apart and still mean the same: a rate such as 7/h has no exact
    /// binary form, and an integral of 6.999999999999999 means 7.
    fn tolerance(self) -> f64 {
        (self.whole as f64 * (1.0 / (1_u64 << 50) as f64)).max(1e-9)
    }

    /// Whole requests completed.
    pub(crate) fn floor(self) -> u64 {
        self.whole + u64::from(self.part > 1.0 - self.tolerance())
    }

    /// The number of the first request that is not before this count.
    pub(crate) fn ceil(self) -> u64 {
        self.whole + u64::from(self.part > self.tolerance())
    }

    /// `self − earlier` as whole requests and a part in `0..1`; zero where `earlier` is later.
    pub(crate) fn since(self, earlier: Self) -> (u64, f64) {
        let part = self.part - earlier.part;
        match self.whole.checked_sub(earlier.whole) {
            Some(whole) if part >= 0.0 => (whole, part),
            // A hair before a whole number of requests is that number: see `tolerance`.
            Some(whole) if -part <= earlier.tolerance() => (whole, 0.0),
            Some(whole) if whole > 0 => (whole - 1, 1.0 + part),
            _ => (0, 0.0),
        }
    }

    /// Whether this count is at least `other`, within the tolerance.
    pub(crate) fn reaches(self, other: Self) -> bool {
        let whole = if self.whole >= other.whole {
            (self.whole - other.whole) as f64
        } else {
            -((other.whole - self.whole) as f64)
        };
        whole + (self.part - other.part) >= -other.tolerance()
    }

    pub(crate) fn as_f64(self) -> f64 {
        self.whole as f64 + self.part
    }
}
