//! Broadcasts: messages that go to many, and say of themselves when they were published.
//!
//! What one client has had is kept with its user: by rule, connection and key the last number, and
//! those that are missing before it. They are lost once no more can come: when the WebSocket is
//! closed, the user subscribes anew or leaves. What all of
//! them have had of one broadcast is kept for all threads together, for three seconds from its
//! first receipt: then its spread is known.

use super::Users;
use plimsoll_runs::{BroadcastCounts, ClockOffset, Phase};
use plimsoll_workload::scenario::{self, Counted};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::Ordering;

/// Who has it not so long after the first has it is not in the spread.
const SPREAD_NS: u64 = 3_000_000_000;
/// A time between publication and receipt above this is none, nanoseconds: a histogram ends there.
const ABSURD_NS: u64 = 1 << 44;
/// A broadcast may be so much younger than its receipt by another clock and count as just sent.
const AHEAD_NS: u64 = 1_000_000;

/// What broadcasts are numbered within: a rule's, of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Series {
    channel: u16,
    rule: u16,
    key: u64,
}

/// What a user has had of a series on a WebSocket.
#[derive(Debug)]
pub(super) struct Heard {
    pub(super) channel: u16,
    key: u64,
    rule: u16,
    first: u64,
    last: u64,
    /// When the last was published, where it says so.
    published: Option<u64>,
    /// Numbers between these that have not come, from the one to before the other.
    missing: Vec<(u64, u64)>,
    /// How many the server says it has left out.
    skipped: u64,
    /// Lost for good already, as too many stretches are missing to remember all.
    lost: u64,
}

/// So many stretches that are missing are remembered; of more, the oldest are lost for good.
const MOST_MISSING: usize = 64;

/// What the number of a broadcast tells beside those before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Next,
    /// Numbers begin anew: it was published later than a greater one.
    Anew,
    /// It comes behind later ones.
    Late,
    /// It has come before.
    Again,
}

impl Heard {
    fn new(of: Series, number: u64, published: Option<u64>) -> Self {
        let Series { channel, rule, key } = of;
        let (missing, skipped, lost) = (Vec::new(), 0, 0);
        Self { channel, key, rule, first: number, last: number, published, missing, skipped, lost }
    }

    fn is_of(&self, of: Series) -> bool {
        of == Series { channel: self.channel, rule: self.rule, key: self.key }
    }

    /// Takes the next.
    fn take(&mut self, number: u64, published: Option<u64>, skipped: u64) -> Turn {
        if number > self.last {
            if number - self.last > 1 {
                self.misses((self.last + 1, number));
            }
            self.skipped += skipped;
            (self.last, self.published) = (number, published);
            return Turn::Next;
        }
        let is_later = published.zip(self.published).is_some_and(|(this, last)| this > last);
        if is_later {
            self.lost = self.are_lost();
            self.missing.clear();
            self.skipped = 0;
            (self.first, self.last, self.published) = (number, number, published);
            return Turn::Anew;
        }
        if number < self.first {
            return Turn::Late;
        }
        let is_it = |&(from, to): &(u64, u64)| from <= number && number < to;
        let Some(at) = self.missing.iter().position(is_it) else { return Turn::Again };
        let (from, to) = self.missing.remove(at);
        let parts = [(from, number), (number + 1, to)].into_iter().filter(|(from, to)| from < to);
        parts.rev().for_each(|part| self.missing.insert(at, part));
        Turn::Late
    }

    fn misses(&mut self, stretch: (u64, u64)) {
        self.missing.push(stretch);
        if self.missing.len() > MOST_MISSING {
            let (from, to) = self.missing.remove(0);
            self.lost = self.lost.saturating_add(to - from);
        }
    }

    /// How many are lost, where no more will come.
    fn are_lost(&self) -> u64 {
        let missing = self.missing.iter().fold(self.lost, |sum, (from, to)| sum + (to - from));
        missing.saturating_sub(self.skipped)
    }
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
    open: BTreeMap<Published, Wave>,
    /// Which they are, by when the first had them.
    order: VecDeque<(u64, Published)>,
}

/// Which broadcast: its series, its number, and when it was published where it says so, as numbers
/// may begin anew, and a server may number each connection's by themselves.
type Published = (Series, u64, Option<u64>);

impl Waves {
    fn take(&mut self, of: Published, at: u64) {
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
    /// Takes a broadcast that came for a user.
    pub(crate) fn take_broadcast(
        &mut self,
        seat: u32,
        (channel, of): (u16, &Counted),
        at: u64,
        counts: &mut BroadcastCounts,
    ) {
        let Some(published) = of.published else { return };
        counts.received += 1;
        counts.skipped += published.skipped;
        let Some(number) = published.sequence else { return };
        let series = Series { channel, rule: of.rule, key: published.key };
        let turn = self.note_number(seat, series, number, &published);
        counts.doubled += u64::from(turn == Some(Turn::Again));
        counts.disorder += u64::from(turn == Some(Turn::Late));
        // Who has one twice has it from the first time on.
        if turn != Some(Turn::Again)
            && let Ok(mut waves) = self.numbers.waves.lock()
        {
            waves.take((series, number, published.at_unix_ns), at);
        }
    }

    /// How long a broadcast took that came then, by the server's clock; `None` where that is not
    /// known. It is recorded where the broadcast came in the measured phase.
    pub(crate) fn latency(
        &self,
        published_unix_ns: u64,
        clock: ClockOffset,
        (at, phase): (u64, Phase),
        counts: &mut BroadcastCounts,
    ) -> Option<u64> {
        let unix_ns = self.moment(at).unix_ns;
        let published = published_unix_ns.saturating_add_signed(clock.offset_ns.saturating_neg());
        if published.abs_diff(unix_ns) > ABSURD_NS {
            counts.misdated += 1;
            return None;
        }
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

    /// Compares the number of a broadcast with those before.
    fn note_number(
        &mut self,
        seat: u32,
        series: Series,
        number: u64,
        of: &scenario::Published,
    ) -> Option<Turn> {
        let user = self.seat(seat)?;
        match user.heard.iter_mut().find(|heard| heard.is_of(series)) {
            Some(heard) => Some(heard.take(number, of.at_unix_ns, of.skipped)),
            None => {
                user.heard.push(Heard::new(series, number, of.at_unix_ns));
                Some(Turn::Next)
            }
        }
    }

    /// Some series of a user are over: what is missing of them is lost.
    pub(super) fn forgets_broadcasts(&mut self, seat: u32, is_over: impl Fn(&Heard) -> bool) {
        let Some(user) = self.seat(seat) else { return };
        let mut lost = 0;
        user.heard.retain(|heard| {
            let is_over = is_over(heard);
            lost += if is_over { heard.are_lost() } else { 0 };
            !is_over
        });
        self.lost += lost;
    }

    /// A user has subscribed to a key: what was before is none of his.
    pub(super) fn subscribes(&mut self, seat: u32) {
        let subscribed = self.seat(seat).map(|user| user.user.take_subscribed());
        for (channel, key) in subscribed.unwrap_or_default() {
            self.forgets_broadcasts(seat, |heard| heard.channel == channel && heard.key == key);
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

    const OF: Series = Series { channel: 1, rule: 0, key: 1 };

    /// Numbers, each with when it was published, as one client has them; what is said of them and
    /// how many are lost in the end.
    fn told(numbers: &[(u64, Option<u64>)]) -> (Vec<Turn>, u64) {
        let ((number, published), rest) = (numbers[0], &numbers[1..]);
        let mut heard = Heard::new(OF, number, published);
        let turns = rest.iter().map(|(number, published)| heard.take(*number, *published, 0));
        (turns.collect(), heard.are_lost())
    }

    #[test]
    fn what_comes_late_is_not_lost() {
        let of = |numbers: &[u64]| {
            told(&numbers.iter().map(|number| (*number, None)).collect::<Vec<_>>())
        };
        use Turn::{Again, Late, Next};
        assert_eq!(of(&[1, 3, 2, 4]), (vec![Next, Late, Next], 0));
        assert_eq!(of(&[1, 5, 3, 3, 2]), (vec![Next, Late, Again, Late], 1));
        assert_eq!(of(&[5, 4, 6, 6, 5]), (vec![Late, Next, Again, Again], 0));
        assert_eq!(of(&[1, 4, 8]), (vec![Next, Next], 5));
    }

    #[test]
    fn numbers_that_begin_anew_are_told_by_when_they_were_published() {
        use Turn::{Again, Anew, Late, Next};
        let numbers = [(7, Some(70)), (9, Some(90)), (1, Some(100)), (2, Some(110))];
        assert_eq!(told(&numbers), (vec![Next, Anew, Next], 1), "8 was lost before");
        let redelivered = [(1, Some(10)), (2, Some(20)), (1, Some(10)), (2, Some(20))];
        assert_eq!(told(&redelivered), (vec![Next, Again, Again], 0));
        let late = [(1, Some(10)), (3, Some(30)), (2, Some(20))];
        assert_eq!(told(&late), (vec![Next, Late], 0));
    }

    #[test]
    fn what_the_server_left_out_is_not_lost() {
        let mut heard = Heard::new(OF, 1, None);
        assert_eq!(heard.take(5, None, 2), Turn::Next);
        assert_eq!(heard.are_lost(), 1);
        for number in 1..1_000_u64 {
            heard.take(5 + number * 2, None, 0);
        }
        assert_eq!((heard.are_lost(), heard.missing.len()), (1_000, MOST_MISSING));
    }

    #[test]
    fn a_spread_is_from_the_first_to_the_last_within_three_seconds() {
        let (mut waves, mut counts) = (Waves::default(), BroadcastCounts::default());
        for at in [1_000, 400_000_000, 200_000_000] {
            waves.take((OF, 7, None), at);
        }
        waves.take((OF, 8, None), 500_000_000);
        waves.settle(2_999_999_999, 0, &mut counts);
        assert_eq!(counts.spread.count(), 0, "not over yet");
        waves.settle(3_000_001_000, 1_000, &mut counts);
        let exact = counts.spread.exact().unwrap();
        assert_eq!((exact.min, exact.max), (399_999_000, 399_999_000));
        // Who has it later begins anew, and one alone has no spread.
        waves.take((OF, 7, None), 3_000_002_000);
        waves.settle(u64::MAX, 0, &mut counts);
        assert_eq!(counts.spread.count(), 1);
        // And what began in the warm-up is in no figure.
        waves.take((OF, 9, None), 4_000_000_000);
        waves.take((OF, 9, None), 4_300_000_000);
        waves.settle(u64::MAX, 4_000_000_001, &mut counts);
        assert_eq!(counts.spread.count(), 1);
    }
}
