//! When the searches of a series begin: an interval after one another, from start to start.

use super::due_us;

/// When the next search of a series is due. Moments are microseconds since 1970.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pace {
    every_s: Option<f64>,
    due_us: Option<u64>,
}

impl Pace {
    /// A series that begins at once, with so many seconds from start to start.
    #[must_use]
    pub fn new(every_s: Option<f64>) -> Self {
        Self { every_s, due_us: None }
    }

    /// A series that is gone on with: its next search is due as if it had not been left. Where that
    /// moment has passed, it begins at once, and is not late: nobody was there.
    #[must_use]
    pub fn gone_on(every_s: Option<f64>, last_us: Option<u64>, now_us: u64) -> Self {
        let due = last_us.filter(|_| every_s.is_some()).map(|last| due_us(last, every_s));
        Self { every_s, due_us: due.filter(|due| *due > now_us) }
    }

    /// The seconds from start to start; zero where each begins when the one before has ended.
    #[must_use]
    pub fn every_s(&self) -> f64 {
        self.every_s.unwrap_or(0.0)
    }

    /// How long the next search is not due yet, microseconds: zero where it could have begun.
    /// `None` where there is no moment to wait for.
    #[must_use]
    pub fn left_us(&self, now_us: u64) -> Option<u64> {
        self.due_us.map(|due| due.saturating_sub(now_us))
    }

    /// Notes that a search begins. Returns how late that is, seconds.
    pub fn begins(&mut self, now_us: u64) -> f64 {
        let late_s = self.due_us.map_or(0.0, |due| now_us.saturating_sub(due) as f64 / 1e6);
        self.due_us = self.every_s.map(|every| due_us(now_us, Some(every)));
        late_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_units::hash::mix;

    const S: u64 = 1_000_000;

    /// A series as it goes by a clock that is moved by hand.
    struct Series {
        pace: Pace,
        now_us: u64,
        /// When each search began, and how late it was said to be.
        began: Vec<(u64, f64)>,
    }

    impl Series {
        /// Waits until the next search is due, and searches for so long.
        fn one(&mut self, takes_us: u64) {
            self.now_us += self.pace.left_us(self.now_us).unwrap_or(0);
            let late_s = self.pace.begins(self.now_us);
            self.began.push((self.now_us, late_s));
            self.now_us += takes_us;
        }
    }

    #[test]
    fn each_begins_an_interval_after_the_start_of_the_one_before_or_at_once() {
        let mut of = Series { pace: Pace::new(Some(10.0)), now_us: 100 * S, began: Vec::new() };
        // The third takes longer than the interval, and the fourth as long.
        [4, 9, 25, 10, 3, 1].into_iter().for_each(|takes| of.one(takes * S));
        let began: Vec<u64> = of.began.iter().map(|(at, _)| at / S).collect();
        assert_eq!(began, [100, 110, 120, 145, 155, 165]);
        let late: Vec<f64> = of.began.iter().map(|(_, late)| *late).collect();
        assert_eq!(late, [0.0, 0.0, 0.0, 15.0, 0.0, 0.0]);
    }

    #[test]
    fn without_an_interval_each_begins_when_the_one_before_has_ended() {
        let mut of = Series { pace: Pace::new(None), now_us: 0, began: Vec::new() };
        [4, 9, 2].into_iter().for_each(|takes| of.one(takes * S));
        assert_eq!(of.began, [(0, 0.0), (4 * S, 0.0), (13 * S, 0.0)]);
        assert_eq!(Pace::gone_on(None, Some(0), 3), Pace::new(None));
    }

    /// Searches of any length, a machine that stands still while it waits, and series that are left
    /// and gone on with: none begins sooner than an interval after the start of the one before, and
    /// none later than it has to.
    #[test]
    fn intervals_are_kept_whatever_comes_between() {
        for seed in 0..256_u64 {
            let mut state = seed;
            let mut draw = |below: u64| {
                state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                mix(state) % below
            };
            let every = 1 + draw(900);
            let pace = Pace::new(Some(every as f64));
            let mut of = Series { pace, now_us: 1_800_000_000 * S, began: Vec::new() };
            let mut left_until = 0;
            for _ in 0..12 {
                if draw(4) == 0 && !of.began.is_empty() {
                    of.now_us += draw(3 * every) * S;
                    left_until = of.now_us;
                    let last = of.began.last().map(|(at, _)| *at);
                    of.pace = Pace::gone_on(Some(every as f64), last, of.now_us);
                }
                // It stood still before it looked whether the next one was due.
                let stood_us = if draw(5) == 0 { draw(2 * every * S) } else { 0 };
                of.now_us += stood_us;
                let (could_us, before) = (of.now_us, of.began.last().copied());
                of.one(draw(2 * every * S));
                let (began, late_s) = of.began[of.began.len() - 1];
                let Some((before, _)) = before else { continue };
                let due = before + every * S;
                assert_eq!(began, due.max(could_us), "{seed}");
                let late = if due > left_until { began - due } else { 0 };
                assert!((late_s - late as f64 / 1e6).abs() < 1e-9, "{seed}: {late_s} s");
            }
        }
    }
}
