//! What is to happen on connections and when, and how the loop waits for it.
//!
//! A sleeping thread is woken some tens of microseconds after the time it asked for (60 µs on the
//! virtual machine this was measured on), so the loop asks to be woken that much earlier and polls
//! for the rest. Polling uses the processor: [`Timers::Sleep`] allows it a tenth of the time,
//! which is enough for a thousand departures a second. [`Timers::Spin`] never sleeps, so that
//! requests too are read the moment they arrive: it wants a core of its own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::options::Timers;
use crate::slab::Key;

/// How long before a timer polling begins.
const POLL_NS: u64 = 100_000;
/// One part in so many of the time may be polled with [`Timers::Sleep`].
const POLL_SHARE: u64 = 10;
/// How much of it is saved up while there is nothing to poll for.
const SAVINGS_NS: u64 = 20 * POLL_NS;

/// Something that is to happen on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Timer {
    pub(crate) at_ns: u64,
    /// Timers of one instant fire in the order in which they were set.
    order: u64,
    pub(crate) key: Key,
    pub(crate) what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    /// An answer leaves.
    Depart,
    /// A connection has lingered long enough.
    HangUp,
}

/// Timers in order of time.
#[derive(Debug)]
pub(crate) struct Due {
    heap: BinaryHeap<Reverse<Timer>>,
    set: u64,
    waits: Timers,
    /// How long may be polled, with [`Timers::Sleep`].
    allowance_ns: u64,
    last_ns: u64,
}

impl Due {
    pub(crate) fn new(waits: Timers, now_ns: u64) -> Self {
        Self { heap: BinaryHeap::new(), set: 0, waits, allowance_ns: SAVINGS_NS, last_ns: now_ns }
    }

    pub(crate) fn set(&mut self, at_ns: u64, key: Key, what: What) {
        self.set += 1;
        self.heap.push(Reverse(Timer { at_ns, order: self.set, key, what }));
    }

    /// The next timer that is due by `now_ns`; it is gone from here.
    #[inline]
    pub(crate) fn take(&mut self, now_ns: u64) -> Option<Timer> {
        match self.heap.peek() {
            Some(Reverse(timer)) if timer.at_ns <= now_ns => self.heap.pop().map(|due| due.0),
            _ => None,
        }
    }

    /// How long the loop may sleep, at most `longest_ns`; 0: it polls.
    pub(crate) fn sleep_ns(&mut self, now_ns: u64, longest_ns: u64) -> u64 {
        if self.waits == Timers::Spin {
            return 0;
        }
        let Some(Reverse(next)) = self.heap.peek() else { return longest_ns };
        let left = next.at_ns.saturating_sub(now_ns);
        let may_poll = self.allowance_ns >= POLL_NS.min(left);
        let early = if may_poll { POLL_NS } else { 0 };
        left.saturating_sub(early).min(longest_ns)
    }

    /// Takes note of a wait from `before_ns` to `now_ns`, which was a poll or a sleep.
    pub(crate) fn waited(&mut self, before_ns: u64, now_ns: u64, was_poll: bool) {
        let polled = if was_poll { now_ns - before_ns } else { 0 };
        let earned = (now_ns - self.last_ns) / POLL_SHARE;
        self.last_ns = now_ns;
        self.allowance_ns = (self.allowance_ns + earned).min(SAVINGS_NS).saturating_sub(polled);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slab::Slab;

    fn key() -> Key {
        Slab::new().insert(())
    }

    #[test]
    fn timers_fire_in_order_of_time_then_of_setting() {
        let mut due = Due::new(Timers::Sleep, 0);
        for (at, what) in [(20, What::Depart), (10, What::HangUp), (10, What::Depart)] {
            due.set(at, key(), what);
        }
        assert_eq!(due.take(9), None);
        let order: Vec<_> =
            std::iter::from_fn(|| due.take(20)).map(|timer| (timer.at_ns, timer.what)).collect();
        assert_eq!(order, [(10, What::HangUp), (10, What::Depart), (20, What::Depart)]);
    }

    #[test]
    fn sleep_ends_early_enough_to_poll() {
        let mut due = Due::new(Timers::Sleep, 0);
        assert_eq!(due.sleep_ns(0, 5_000), 5_000, "nothing to wait for");
        due.set(1_000_000, key(), What::Depart);
        assert_eq!(due.sleep_ns(0, 5_000), 5_000);
        assert_eq!(due.sleep_ns(0, 5_000_000), 900_000);
        assert_eq!(due.sleep_ns(950_000, 5_000_000), 0);
        assert_eq!(due.sleep_ns(2_000_000, 5_000_000), 0);
    }

    /// A departure every 150 µs: polling for all of them would take two thirds of the time.
    #[test]
    fn polling_is_held_to_its_share() {
        for (waits, least, most) in [(Timers::Sleep, 0.09, 0.13), (Timers::Spin, 1.0, 1.01)] {
            let mut due = Due::new(waits, 0);
            let (mut now, mut polled) = (0, 0);
            while now < 1_000_000_000 {
                due.set(now + 150_000, key(), What::Depart);
                while due.take(now).is_none() {
                    let sleep = due.sleep_ns(now, u64::MAX);
                    let after = if sleep > 0 { now + sleep } else { now + 500 };
                    polled += if sleep > 0 { 0 } else { after - now };
                    due.waited(now, after, sleep == 0);
                    now = after;
                }
            }
            let share = polled as f64 / now as f64;
            assert!((least..most).contains(&share), "{waits:?} polled for {share}");
        }
    }
}
