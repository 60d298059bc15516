//! Availability as the user perceives it, from the seconds of a run.
//!
//! A second is *up* if a correct answer arrived in it; else *down* if a request failed in it or one
//! had been outstanding for the patience at its end; else it is not counted: nobody asked.

use serde::{Deserialize, Serialize};

/// What one stretch of a run showed, by event: counted when it happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Second {
    /// Correct answers that arrived in it.
    pub succeeded: u64,
    /// Requests that failed in it.
    pub failed: u64,
    /// At its end, how long the longest unanswered request had been due.
    pub oldest_outstanding_ns: u64,
    /// How long it was; a run's last may be shorter than a second.
    pub len_ns: u64,
}

/// What a second says about the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// A correct answer arrived.
    Up,
    /// None did, and somebody waited or was refused.
    Down,
    /// Nobody asked, or it was too short to be a second.
    NotCounted,
}

/// The length of the stretches that are counted.
const INTERVAL_NS: u64 = 1_000_000_000;

impl Second {
    /// What it says, where a user waits for at most `patience_ns`.
    ///
    /// A stretch below half a second, as a run's last may be, is not counted.
    #[must_use]
    pub fn state(&self, patience_ns: u64) -> State {
        if self.len_ns < INTERVAL_NS / 2 {
            State::NotCounted
        } else if self.succeeded > 0 {
            State::Up
        } else if self.failed > 0 || self.oldest_outstanding_ns >= patience_ns.max(1) {
            State::Down
        } else {
            State::NotCounted
        }
    }
}

/// The availability of a service over the seconds of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Availability {
    /// The length of the stretches counted, in seconds.
    pub interval_s: u64,
    /// Seconds in which the service was up.
    pub up_s: u64,
    /// Seconds in which it was down.
    pub down_s: u64,
    /// `up / (up + down)`; `None` where no second was counted.
    pub ratio: Option<f64>,
    /// Leading nines of the ratio, rounded down; `None` where nothing was down.
    pub nines: Option<u32>,
}

impl Availability {
    /// From the counts of seconds up and down.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "seconds of a run are far below 2^53")]
    pub fn new(up_s: u64, down_s: u64) -> Self {
        let counted = up_s + down_s;
        let ratio = (counted > 0).then(|| up_s as f64 / counted as f64);
        Self {
            interval_s: INTERVAL_NS / 1_000_000_000,
            up_s,
            down_s,
            ratio,
            nines: nines(up_s, down_s),
        }
    }

    /// From the states of a run's seconds.
    #[must_use]
    pub fn of(states: impl IntoIterator<Item = State>) -> Self {
        let (mut up_s, mut down_s) = (0, 0);
        for state in states {
            match state {
                State::Up => up_s += 1,
                State::Down => down_s += 1,
                State::NotCounted => {}
            }
        }
        Self::new(up_s, down_s)
    }
}

/// The greatest k with `down / (up + down) <= 10^-k`, in whole numbers, so that 999 of 1000 are
/// three nines exactly.
fn nines(up_s: u64, down_s: u64) -> Option<u32> {
    let counted = u128::from(up_s) + u128::from(down_s);
    let mut scaled = u128::from(down_s);
    if scaled == 0 {
        return None;
    }
    let mut nines = 0;
    while scaled * 10 <= counted {
        scaled *= 10;
        nines += 1;
    }
    Some(nines)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn second(succeeded: u64, failed: u64, oldest_outstanding_ns: u64) -> Second {
        Second { succeeded, failed, oldest_outstanding_ns, len_ns: S }
    }

    #[test]
    fn classifies_a_second_as_a_user_sees_it() {
        assert_eq!(second(1, 0, 0).state(S), State::Up);
        assert_eq!(second(1, 999, 9 * S).state(S), State::Up, "one correct answer is up");
        assert_eq!(second(0, 1, 0).state(S), State::Down);
        assert_eq!(second(0, 0, S).state(S), State::Down, "outstanding for the patience");
        assert_eq!(second(0, 0, S - 1).state(S), State::NotCounted);
        assert_eq!(second(0, 0, 0).state(S), State::NotCounted);
        assert_eq!(second(0, 0, 0).state(0), State::NotCounted, "nothing outstanding");
        assert_eq!(Second { len_ns: S / 2 - 1, ..second(1, 0, 0) }.state(S), State::NotCounted);
        assert_eq!(Second { len_ns: S / 2, ..second(0, 1, 0) }.state(S), State::Down);
    }

    #[test]
    fn counts_whole_nines_rounded_down() {
        for (up, down, nines) in [
            (0, 0, None),
            (100, 0, None),
            (0, 5, Some(0)),
            (89, 11, Some(0)),
            (9, 1, Some(1)),
            (98, 2, Some(1)),
            (999, 1, Some(3)),
            (998, 1, Some(2)),
            (99_999, 1, Some(5)),
            (u64::MAX, u64::MAX, Some(0)),
        ] {
            assert_eq!(super::nines(up, down), nines, "{up} up, {down} down");
        }
    }

    #[test]
    fn sums_states() {
        let sum =
            Availability::of([State::Up, State::Down, State::NotCounted, State::Up, State::Up]);
        assert_eq!((sum.interval_s, sum.up_s, sum.down_s), (1, 3, 1));
        assert_eq!((sum.ratio, sum.nines), (Some(0.75), Some(0)));
        assert_eq!(Availability::of([]).ratio, None);
    }
}
