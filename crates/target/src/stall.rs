//! Stalls: the server freezes for a while, again and again, at instants known beforehand.
//!
//! # What a stall is
//!
//! With `every` = P and `length` = L (L < P), the server is frozen in every
//! `[k·P, k·P + L)`, k = 1, 2, 3, …, counted from time zero (the arrival of the first request).
//! While it is frozen nothing departs and no service progresses; requests still arrive and queue
//! up. A departure at the very instant a stall begins falls into it.
//!
//! # Working time
//!
//! Let W(t) be the time the server was not frozen in `[0, t)`. Services progress in working time
//! only, so the whole queue is computed there and the result mapped back: a request that arrives
//! at `a` arrives at W(a), and one whose work ends at `w` departs at the greatest `t` with
//! W(t) = w. That shifts every service in progress, and every departure that would fall into a
//! stall, by the stall's length, exactly, in whole nanoseconds; several stalls add up.

/// A stall of `length_ns` every `every_ns` nanoseconds of the server's own time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    every_ns: u64,
    length_ns: u64,
}

impl Stall {
    /// A stall of `length_ns` that begins at every multiple of `every_ns` but zero.
    ///
    /// `None` when the length is zero or does not leave time to work between two stalls.
    #[must_use]
    pub fn new(every_ns: u64, length_ns: u64) -> Option<Self> {
        (length_ns > 0 && length_ns < every_ns).then_some(Self { every_ns, length_ns })
    }

    /// Time from the beginning of one stall to the beginning of the next, nanoseconds.
    #[must_use]
    pub fn every_ns(self) -> u64 {
        self.every_ns
    }

    /// How long each stall lasts, nanoseconds.
    #[must_use]
    pub fn length_ns(self) -> u64 {
        self.length_ns
    }

    /// W(t): how long the server was not frozen in `[0, at_ns)`.
    #[must_use]
    pub fn working(self, at_ns: u64) -> u64 {
        let (stall, within) = (at_ns / self.every_ns, at_ns % self.every_ns);
        if stall == 0 {
            return at_ns;
        }
        let worked = self.every_ns + (stall - 1) * (self.every_ns - self.length_ns);
        worked + within.saturating_sub(self.length_ns)
    }

    /// The greatest instant t with W(t) = `worked_ns`: never inside a stall. What would be later
    /// than 584 years is `u64::MAX`.
    #[must_use]
    pub fn instant(self, worked_ns: u64) -> u64 {
        let Some(beyond) = worked_ns.checked_sub(self.every_ns) else { return worked_ns };
        let between = self.every_ns - self.length_ns;
        let stalls = beyond / between + 1;
        stalls.saturating_mul(self.every_ns).saturating_add(self.length_ns + beyond % between)
    }

    /// Whether the server is frozen at the instant.
    #[must_use]
    pub fn is_frozen(self, at_ns: u64) -> bool {
        at_ns >= self.every_ns && at_ns % self.every_ns < self.length_ns
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// One second every five: seconds 5..6, 10..11 are frozen.
    const FIVE: Stall = Stall { every_ns: 5_000, length_ns: 1_000 };

    #[test]
    fn refuses_stalls_that_leave_no_time_to_work() {
        assert_eq!(Stall::new(5, 5), None);
        assert_eq!(Stall::new(5, 0), None);
        assert!(Stall::new(5, 4).is_some());
    }

    #[test]
    fn working_time_by_hand() {
        for (at, worked) in
            [(0, 0), (4_999, 4_999), (5_000, 5_000), (5_999, 5_000), (6_000, 5_000), (6_001, 5_001)]
        {
            assert_eq!(FIVE.working(at), worked, "W({at})");
        }
        assert_eq!(FIVE.working(10_000), 9_000);
        assert_eq!(FIVE.working(11_500), 9_500);
        assert_eq!(FIVE.instant(4_999), 4_999);
        assert_eq!(FIVE.instant(5_000), 6_000);
        assert_eq!(FIVE.instant(8_999), 9_999);
        assert_eq!(FIVE.instant(9_000), 11_000);
    }

    proptest! {
        /// W counts the instants that are not frozen, one by one.
        #[test]
        fn working_time_is_the_count_of_free_instants(every in 2_u64..40, length in 1_u64..40) {
            prop_assume!(length < every);
            let stall = Stall::new(every, length).unwrap();
            let mut worked = 0;
            for at in 0..200 {
                prop_assert_eq!(stall.working(at), worked);
                if !stall.is_frozen(at) {
                    prop_assert_eq!(stall.instant(worked), at);
                    worked += 1;
                }
            }
        }

        #[test]
        fn instant_inverts_working(
            every in 2_u64..1 << 40,
            free in 1_u64..1 << 40,
            at in 0..u64::MAX >> 24,
        ) {
            prop_assume!(free < every && at / free < 1 << 22);
            let stall = Stall::new(every, every - free).unwrap();
            prop_assert!(!stall.is_frozen(stall.instant(at)));
            prop_assert_eq!(stall.working(stall.instant(at)), at);
            if !stall.is_frozen(at) {
                prop_assert_eq!(stall.instant(stall.working(at)), at);
            }
        }
    }
}
