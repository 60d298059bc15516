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

/// One that took requests for so long has not died of how it begins, nanoseconds.
const SETTLED_NS: u64 = 60_000_000_000;

/// When another comes in the place of an instance that was ready and failed. The first comes at
/// once; where those fail in turn that came in the place of such, each comes twice as late.
#[derive(Debug, Default)]
pub(super) struct Deaths {
    in_a_row: u32,
    /// When the last of them was known.
    known_ns: u64,
    until_ns: u64,
}

impl Deaths {
    /// One has failed that was launched at a time and took requests from another on, which is known
    /// now. Returns how long it takes from now until another comes, nanoseconds.
    pub(super) fn died(&mut self, (launched_ns, ready_ns): (u64, u64), now_ns: u64) -> u64 {
        if now_ns.saturating_sub(self.until_ns) >= SETTLED_NS {
            self.in_a_row = 0;
        }
        let is_settled = now_ns.saturating_sub(ready_ns) >= SETTLED_NS;
        // One of those that were there together is no sign of how the next begins.
        let is_another = self.in_a_row == 0 || launched_ns >= self.known_ns;
        if is_another && !is_settled {
            let doubled = FIRST_NS.saturating_mul(1 << self.in_a_row.saturating_sub(1).min(10));
            let later_ns = if self.in_a_row == 0 { 0 } else { doubled.min(LONGEST_NS) };
            self.in_a_row += 1;
            self.known_ns = now_ns;
            self.until_ns = now_ns.saturating_add(later_ns);
        }
        self.until_ns.saturating_sub(now_ns)
    }

    /// Whether another comes now in the place of one.
    pub(super) fn may_replace(&self, now_ns: u64) -> bool {
        now_ns >= self.until_ns
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

    /// A place whose instances live for so long: how many come in a time.
    fn come(lives_ns: u64, within_ns: u64) -> u64 {
        let (mut deaths, mut count, mut now_ns) = (Deaths::default(), 0, 0);
        while now_ns < within_ns {
            let launched_ns = now_ns;
            now_ns += lives_ns;
            now_ns += deaths.died((launched_ns, launched_ns), now_ns);
            assert!(deaths.may_replace(now_ns) && (now_ns == 0 || deaths.until_ns <= now_ns));
            count += 1;
        }
        count
    }

    #[test]
    fn who_is_ready_and_dies_is_replaced_at_once_and_then_ever_more_rarely() {
        // After 3 s, at once, and 1, 2, 4 … s later.
        assert_eq!(come(3 * SECOND, 24 * SECOND), 5);
        assert!(come(SECOND, 3600 * SECOND) < 70);
        // Who has lived for a minute is replaced at once.
        assert_eq!(come(60 * SECOND, 3600 * SECOND), 60);
        let mut deaths = Deaths::default();
        assert_eq!(deaths.died((0, 0), 5 * SECOND), 0);
        // Another of those that were there from the start.
        assert_eq!(deaths.died((0, 0), 8 * SECOND), 0);
        // And who came for the first.
        assert_eq!(deaths.died((5 * SECOND, 6 * SECOND), 9 * SECOND), SECOND);
        assert!(!deaths.may_replace(9 * SECOND) && deaths.may_replace(10 * SECOND));
        // After a minute all is forgotten.
        assert_eq!(deaths.died((60 * SECOND, 61 * SECOND), 71 * SECOND), 0);
    }

    proptest! {
        #[test]
        fn what_dies_young_comes_no_more_often_than_once_a_minute_in_the_end(
            lives_ns in SECOND / 10..59 * SECOND,
            minutes in 1..600_u64,
        ) {
            let count = come(lives_ns, 60 * minutes * SECOND);
            prop_assert!(count <= minutes + 9, "{} in {} min", count, minutes);
        }

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
