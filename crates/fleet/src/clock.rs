//! By how much another clock is ahead, from four stamps.
//!
//! A question is sent at `t0`, received at `t1` and answered at `t2` by the other's clock, and the
//! answer received at `t3`. If both ways take the same time, the other clock is ahead by
//! ((t1 - t0) + (t2 - t3)) / 2; it cannot be wrong by more than half of what both ways took. Of
//! several exchanges the one with the shortest ways is believed.
//!
//! # Source
//!
//! RFC 5905, section 8 (the same four stamps); D. L. Mills, "Internet time synchronization", 1991.

/// So many exchanges are made.
pub(crate) const EXCHANGES: usize = 16;

/// What exchanges have told of another clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Offset {
    /// By how much it is ahead of ours, nanoseconds.
    pub(crate) ahead_ns: i64,
    /// How long both ways took: twice what the offset may be wrong by.
    pub(crate) ways_ns: u64,
}

impl Offset {
    /// What one exchange tells; `None` where its stamps contradict each other.
    pub(crate) fn of([t0, t1, t2, t3]: [u64; 4]) -> Option<Self> {
        let between = |from: u64, to: u64| i128::from(to) - i128::from(from);
        let (ours, theirs) = (between(t0, t3), between(t1, t2));
        let ways_ns = u64::try_from(ours - theirs).ok()?;
        if ours < 0 || theirs < 0 {
            return None;
        }
        let ahead_ns = i64::try_from((between(t0, t1) + between(t3, t2)) / 2).ok()?;
        Some(Self { ahead_ns, ways_ns })
    }

    /// The better of two.
    pub(crate) fn better(self, other: Option<Self>) -> Self {
        other.filter(|other| other.ways_ns <= self.ways_ns).unwrap_or(self)
    }

    /// A moment of ours by the other clock.
    pub(crate) fn theirs(&self, ours_ns: u64) -> u64 {
        ours_ns.saturating_add_signed(self.ahead_ns)
    }
}

/// So often it is looked whether a clock has moved: by the best exchange of so long, nanoseconds.
const WINDOW_NS: u64 = 10_000_000_000;

/// By how much another clock has moved against ours since it was settled how they differ.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Moved {
    settled: Option<Offset>,
    best: Option<Offset>,
    since_ns: u64,
    most_ns: u64,
}

impl Moved {
    /// Since a moment of ours.
    pub(crate) fn since(settled: Option<Offset>, now_ns: u64) -> Self {
        Self { settled, best: None, since_ns: now_ns, most_ns: 0 }
    }

    /// Takes what an exchange tells that ended at a moment of ours.
    pub(crate) fn take(&mut self, told: Offset, now_ns: u64) {
        let best = told.better(self.best);
        self.best = Some(best);
        if now_ns.saturating_sub(self.since_ns) < WINDOW_NS {
            return;
        }
        (self.best, self.since_ns) = (None, now_ns);
        let Some(settled) = self.settled else { return };
        // Only what neither may be wrong by is sure.
        let unknown_ns = best.ways_ns / 2 + settled.ways_ns / 2;
        let by_ns = best.ahead_ns.abs_diff(settled.ahead_ns).saturating_sub(unknown_ns);
        self.most_ns = self.most_ns.max(by_ns);
    }

    /// By how much at least, nanoseconds.
    pub(crate) fn most_ns(&self) -> u64 {
        self.most_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_moves_is_noticed_beyond_what_is_not_known() {
        const MS: i64 = 1_000_000;
        let offset = |ahead_ms: i64, ways_ms: i64| Offset {
            ahead_ns: ahead_ms * MS,
            ways_ns: (ways_ms * MS).unsigned_abs(),
        };
        let mut moved = Moved::since(Some(offset(100, 4)), 0);
        for second in 1..=10 {
            // One bad exchange does not move it.
            moved.take(offset(if second == 3 { 500 } else { 103 }, 10), second * 1_000_000_000);
        }
        assert_eq!(moved.most_ns(), 0, "3 ms are within what is not known");
        moved.take(offset(160, 6), 15_000_000_000);
        assert_eq!(moved.most_ns(), 0, "it is looked at every 10 s");
        moved.take(offset(170, 20), 20_000_000_000);
        assert_eq!(moved.most_ns(), 55_000_000);
    }
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_wrong_by_half_of_the_ways_at_most(
            ahead in -1_000_000_i64..1_000_000,
            (there, thinks, back) in (0_u64..50_000, 0_u64..1_000, 0_u64..50_000),
        ) {
            let t0 = 10_000_000_u64;
            let theirs = |ours: u64| ours.saturating_add_signed(ahead);
            let (t1, t2) = (theirs(t0 + there), theirs(t0 + there + thinks));
            let offset = Offset::of([t0, t1, t2, t0 + there + thinks + back]).unwrap();
            prop_assert_eq!(offset.ways_ns, there + back);
            prop_assert!((offset.ahead_ns - ahead).unsigned_abs() * 2 <= there + back + 1);
            prop_assert_eq!(offset.theirs(t0), t0.saturating_add_signed(offset.ahead_ns));
        }
    }

    #[test]
    fn stamps_that_contradict_each_other_tell_nothing() {
        assert_eq!(Offset::of([10, 0, 20, 15]), None, "it thought for longer than all took");
        assert_eq!(Offset::of([10, 20, 15, 30]), None);
        assert_eq!(Offset::of([10, 20, 20, 5]), None);
        let (short, long) =
            (Offset { ahead_ns: 1, ways_ns: 2 }, Offset { ahead_ns: 5, ways_ns: 9 });
        assert_eq!((long.better(Some(short)), short.better(Some(long))), (short, short));
        assert_eq!(long.better(None), long);
    }
}
