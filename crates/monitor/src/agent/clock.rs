//! How far the clocks of two hosts are apart, by four times: when a question was sent, came, was
//! answered, and when the answer came.
//!
//! *Source:* D. L. Mills, RFC 958, *Network Time Protocol*, 1985. The offset is right where both
//! ways take as long; it is off by half of what they differ by, so by no more than half of the
//! round trip.

/// The four times of an exchange, nanoseconds since 1970: the first and last by the asking side's
/// clock, the others by the answering side's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// When the question was sent.
    pub sent_ns: u64,
    /// When it came.
    pub came_ns: u64,
    /// When the answer was sent.
    pub answered_ns: u64,
    /// When that came back.
    pub back_ns: u64,
}

/// How far another clock is ahead of one here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset {
    /// By how much it is ahead, nanoseconds; below zero where it is behind.
    pub ahead_ns: i128,
    /// The most that this is off by, nanoseconds.
    pub within_ns: u64,
}

impl Offset {
    /// A moment of the other clock by the one here; 0 where it lies before that one's beginning.
    #[must_use]
    pub fn here(&self, there_ns: u64) -> u64 {
        let here = i128::from(there_ns) - self.ahead_ns;
        u64::try_from(here.max(0)).unwrap_or(u64::MAX)
    }
}

impl Exchange {
    /// How far the answering side's clock is ahead.
    #[must_use]
    pub fn offset(&self) -> Offset {
        // A clock that was set meanwhile may make it negative.
        let round_trip_ns = self.round_trip_ns().max(0);
        let within_ns = u64::try_from((round_trip_ns + 1) / 2).unwrap_or(u64::MAX);
        Offset { ahead_ns: self.offset_ns(), within_ns }
    }

    /// How far the answering side's clock is ahead, nanoseconds.
    #[must_use]
    pub fn offset_ns(&self) -> i128 {
        let by = |a: u64, b: u64| i128::from(a) - i128::from(b);
        (by(self.came_ns, self.sent_ns) + by(self.answered_ns, self.back_ns)) / 2
    }

    /// How long both ways took together, nanoseconds: twice the most that the offset is off by.
    #[must_use]
    pub fn round_trip_ns(&self) -> i128 {
        let by = |a: u64, b: u64| i128::from(a) - i128::from(b);
        by(self.back_ns, self.sent_ns) - by(self.answered_ns, self.came_ns)
    }
}

/// What the answering side says of its two times.
pub(super) fn answer(came_ns: u64, answered_ns: u64) -> String {
    format!("{{\"schema\":1,\"came_unix_ns\":{came_ns},\"answered_unix_ns\":{answered_ns}}}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever both ways take, the offset is off by no more than half of the round trip.
        #[test]
        fn the_offset_is_within_half_of_the_round_trip(
            ahead in -1_000_000_i64..1_000_000,
            there in 0_u64..1_000_000,
            back in 0_u64..1_000_000,
            work in 0_u64..1_000_000,
        ) {
            let sent_ns = 1_000_000_000;
            let at = |own: u64| own.saturating_add_signed(ahead);
            let (came, answered) = (sent_ns + there, sent_ns + there + work);
            let exchange = Exchange {
                sent_ns,
                came_ns: at(came),
                answered_ns: at(answered),
                back_ns: answered + back,
            };
            prop_assert_eq!(exchange.round_trip_ns(), i128::from(there + back));
            let off = (exchange.offset_ns() - i128::from(ahead)).abs();
            prop_assert!(2 * off <= exchange.round_trip_ns() + 1, "{:?}", exchange);
            // What happened there is found here, as exactly.
            let offset = exchange.offset();
            let found = i128::from(offset.here(exchange.came_ns)) - i128::from(came);
            prop_assert!(found.abs() <= i128::from(offset.within_ns), "{:?}", exchange);
        }
    }
}
