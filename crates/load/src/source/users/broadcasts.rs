//! Broadcasts: messages that go to many, and say of themselves when they were published.
//!
//! What one client has had is kept with its user: the number of the last of each key. What all of
//! them have had of one broadcast is kept for all threads together, for three seconds from its
//! first receipt: then its spread is known.

use super::Users;
use plimsoll_runs::{BroadcastCounts, Phase};
use plimsoll_workload::scenario::Published;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::Ordering;

/// Who has it not so long after the first has it is not in the spread.
const SPREAD_NS: u64 = 3_000_000_000;
/// A broadcast may be so much younger than its receipt by another clock and count as just sent.
const AHEAD_NS: u64 = 1_000_000;

/// The last broadcast of a key that a user has had on a WebSocket.
pub(super) struct Heard {
    channel: u16,
    key: u64,
    last: u64,
}

/// One broadcast, over all who had it.
struct Wave {
    first_ns: u64,
    last_ns: u64,
    received: u64,
}

/// The broadcasts of the last seconds, over all threads.
#[derive(Default)]
pub(crate) struct Waves {
    open: BTreeMap<(u64, u64), Wave>,
    /// Their keys and numbers, by when the first had them.
    order: VecDeque<(u64, (u64, u64))>,
}

impl Waves {
    fn take(&mut self, of: (u64, u64), at: u64) {
        let order = &mut self.order;
        let wave = self.open.entry(of).or_insert_with(|| {
            order.push_back((at, of));
            Wave { first_ns: at, last_ns: at, received: 0 }
        });
        // Threads tell of what they have read: the first to tell need not have had it first.
        wave.first_ns = wave.first_ns.min(at);
        wave.last_ns = wave.last_ns.max(at);
        wave.received += 1;
    }

    /// Adds the spreads of those that began so long ago that who has them not has lost them, but
    /// for those of before `from`.
    pub(crate) fn settle(&mut self, until: u64, from: u64, counts: &mut BroadcastCounts) {
        while let Some(&(first, of)) = self.order.front() {
            if first.saturating_add(SPREAD_NS) > until {
                return;
            }
            self.order.pop_front();
            let is_told = |wave: &Wave| wave.received > 1 && wave.first_ns >= from;
            if let Some(wave) = self.open.remove(&of).filter(is_told) {
                counts.spread.record(wave.last_ns - wave.first_ns);
            }
        }
    }
}

impl Users {
    /// Takes a broadcast that came for a user. Returns how long it took, where that is known. It is
    /// recorded where the broadcast came in the measured phase.
    pub(crate) fn take_broadcast(
        &mut self,
        seat: u32,
        channel: u16,
        of: &Published,
        (at, phase): (u64, Phase),
        counts: &mut BroadcastCounts,
    ) -> Option<u64> {
        let unix_ns = self.moment(at).unix_ns;
        counts.received += 1;
        counts.skipped += of.skipped;
        if let Some(sequence) = of.sequence {
            self.note_sequence(seat, channel, of, sequence, counts);
            if let Ok(mut waves) = self.numbers.waves.lock() {
                waves.take((of.key, sequence), at);
            }
        }
        // Before the server has told its time, nothing is known of when it published.
        let (published, clock) = of.at_unix_ns.zip(self.offset_on(channel))?;
        let published = published.saturating_add_signed(clock.offset_ns.saturating_neg());
        if published > unix_ns.saturating_add(AHEAD_NS.max(clock.error_ns)) {
            counts.ahead += 1;
            return None;
        }
        // What takes less than a nanosecond took one: 0 is not told.
        let latency_ns = unix_ns.saturating_sub(published).max(1);
        if phase == Phase::Measured {
            counts.latency.record(latency_ns);
        }
        Some(latency_ns)
    }

    /// Compares the number of a broadcast with that of the one before.
    fn note_sequence(
        &mut self,
        seat: u32,
        channel: u16,
        of: &Published,
        sequence: u64,
        counts: &mut BroadcastCounts,
    ) {
        let Some(user) = self.seat(seat) else { return };
        let known =
            user.heard.iter_mut().find(|heard| heard.channel == channel && heard.key == of.key);
        let Some(heard) = known else {
            user.heard.push(Heard { channel, key: of.key, last: sequence });
            return;
        };
        if sequence > heard.last {
            counts.lost += (sequence - heard.last - 1).saturating_sub(of.skipped);
            heard.last = sequence;
        } else if sequence == heard.last {
            counts.doubled += 1;
        } else {
            counts.disorder += 1;
        }
    }

    /// What came on a WebSocket that is closed has no successor.
    pub(super) fn forgets_broadcasts(&mut self, seat: u32, channel: u16) {
        if let Some(user) = self.seat(seat) {
            user.heard.retain(|heard| heard.channel != channel);
        }
    }

    /// A user has subscribed to a key: what was before is none of his.
    pub(super) fn subscribes(&mut self, seat: u32) {
        let Some(user) = self.seat(seat) else { return };
        for (channel, key) in user.user.take_subscribed() {
            user.heard.retain(|heard| heard.channel != channel || heard.key != key);
        }
    }

    /// Adds the spreads of broadcasts that are over, of those that began at `from` or later: of
    /// all such, where no user is there any more.
    pub(crate) fn settle_waves(&mut self, now: u64, from: u64, counts: &mut BroadcastCounts) {
        let is_last = self.numbers.active.load(Ordering::Relaxed) == 0;
        let until = if is_last { u64::MAX } else { now };
        if let Ok(mut waves) = self.numbers.waves.lock() {
            waves.settle(until, from, counts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_from_the_first_to_the_last_within_three_seconds() {
        let (mut waves, mut counts) = (Waves::default(), BroadcastCounts::default());
        for at in [1_000, 400_000_000, 200_000_000] {
            waves.take((1, 7), at);
        }
        waves.take((1, 8), 500_000_000);
        waves.settle(2_999_999_999, 0, &mut counts);
        assert_eq!(counts.spread.count(), 0, "not over yet");
        waves.settle(3_000_001_000, 1_000, &mut counts);
        let exact = counts.spread.exact().unwrap();
        assert_eq!((exact.min, exact.max), (399_999_000, 399_999_000));
        // Who has it later begins anew, and one alone has no spread.
        waves.take((1, 7), 3_000_002_000);
        waves.settle(u64::MAX, 0, &mut counts);
        assert_eq!(counts.spread.count(), 1);
        // And what began in the warm-up is in no figure.
        waves.take((1, 9), 4_000_000_000);
        waves.take((1, 9), 4_300_000_000);
        waves.settle(u64::MAX, 4_000_000_001, &mut counts);
        assert_eq!(counts.spread.count(), 1);
    }
}
