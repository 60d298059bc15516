//! When whoever starts instances is asked again after it has refused.

/// The first time until it is asked again, and the longest, nanoseconds.
const FIRST_NS: u64 = 1_000_000_000;
const LONGEST_NS: u64 = 60_000_000_000;

/// Who has refused is asked again later, for a single instance, and each time twice as late.
#[derive(Debug, Default)]
pub(super) struct Patience {
    refusals: u32,
    /// When the last refusal was known.
    refused_ns: u64,
    until_ns: u64,
    /// Whether it is being asked for the one that shows whether it refuses still.
    is_tried: bool,
}

impl Patience {
    /// Whether it may be asked for one more now.
    pub(super) fn may_ask(&self, now_ns: u64) -> bool {
        self.refusals == 0 || (now_ns >= self.until_ns && !self.is_tried)
    }

    /// Whether it is asked for one more now; if so, it is.
    pub(super) fn asks(&mut self, now_ns: u64) -> bool {
        let asks = self.may_ask(now_ns);
        self.is_tried |= asks && self.refusals > 0;
        asks
    }

    /// What it was asked for at a time is not wanted any more: it was not said whether it refuses.
    pub(super) fn spared(&mut self, asked_ns: u64) {
        self.is_tried &= asked_ns <= self.refused_ns;
    }

    /// It has refused what it was asked for at a time, which is known now.
    pub(super) fn refused(&mut self, asked_ns: u64, now_ns: u64) {
        if self.refusals > 0 && asked_ns <= self.refused_ns {
            // One of those that were asked for together.
            return;
        }
        let later_ns = FIRST_NS.saturating_mul(1 << self.refusals.min(10)).min(LONGEST_NS);
        self.refusals += 1;
        self.refused_ns = now_ns;
        self.until_ns = now_ns.saturating_add(later_ns);
        self.is_tried = false;
    }

    /// It has started one.
    pub(super) fn granted(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn who_refuses_is_asked_for_one_and_ever_more_rarely() {
        let mut patience = Patience::default();
        assert!((0..9).all(|_| patience.asks(0)));
        // Three of them are refused.
        for known_ns in [10, 11, 12] {
            patience.refused(0, known_ns);
        }
        let mut asked = Vec::new();
        for now_ns in (0..200 * SECOND).step_by(100_000_000) {
            if patience.asks(now_ns) {
                assert!(!patience.asks(now_ns), "one at a time");
                asked.push(now_ns / SECOND);
                patience.refused(now_ns, now_ns + 1);
            }
        }
        assert_eq!(asked, [1, 3, 7, 15, 31, 63, 123, 183]);
        patience.granted();
        assert!(patience.asks(200 * SECOND) && patience.asks(200 * SECOND));
    }

    proptest! {
        #[test]
        fn there_is_never_a_storm(
            pauses_ns in prop::collection::vec(0..3 * SECOND, 1..200),
            takes_ns in 0..2 * SECOND,
        ) {
            let (mut patience, mut now_ns, mut asked) = (Patience::default(), 0, 0_u32);
            patience.refused(0, 0);
            for pause_ns in pauses_ns {
                now_ns += pause_ns;
                if patience.asks(now_ns) {
                    asked += 1;
                    patience.refused(now_ns, now_ns + takes_ns);
                }
            }
            let minutes = u32::try_from(now_ns / LONGEST_NS).unwrap();
            let most = (now_ns / SECOND + 1).ilog2() + 1 + minutes;
            prop_assert!(asked <= most, "{} in {} s", asked, now_ns / SECOND);
        }
    }
}
