//! The server's clock, by which broadcasts tell when they were published: a few users ask for it,
//! and what it differs by from ours is known to all.
//!
//! Source: F. Cristian, *Probabilistic clock synchronization*, Distributed Computing 3, 1989. At
//! some point of a round trip the server has read its clock; the middle is wrong by half of the
//! round trip at most. Clocks drift apart, so that this grows with the age of an answer: what a
//! clock differed by when a broadcast came is known from the answers before and behind it, and a
//! latency is told once the one behind is there. Answers that contradict each other are of a clock
//! that was set meanwhile: of what came between them nothing is known.

use super::Users;
use crate::driver::IN_BACKGROUND;
use plimsoll_runs::ClockOffset;
use std::collections::VecDeque;

/// So many users ask at a time, over all threads.
const ASKERS: u32 = 4;
/// So many times each asks right away, and how long after an answer, nanoseconds.
const FIRST: u32 = 5;
const PAUSE_NS: u64 = 20_000_000;
/// So many answers are remembered.
const REMEMBERED: usize = 256;
/// Two clocks drift apart by so much, or by less: ordinary ones by 100 parts in a million, one that
/// is being set by NTP without a step by 500.
const DRIFT: u64 = 1_000_000 / 500;
/// How often another user is looked for in the place of one who is gone, nanoseconds.
const LOOK_NS: u64 = 1_000_000_000;

/// An answer.
#[derive(Debug, Clone, Copy)]
struct Answer {
    /// When it came.
    at_ns: u64,
    offset: ClockOffset,
    /// How often the clock had been set before, as far as answers tell.
    epoch: u32,
}

impl Answer {
    /// By how much it may be wrong at another time.
    fn error_ns(&self, at_ns: u64) -> u64 {
        self.offset.error_ns.saturating_add(self.at_ns.abs_diff(at_ns) / DRIFT)
    }

    /// Between what the offset lies at another time.
    fn bounds(&self, at_ns: u64) -> (i64, i64) {
        let (offset, error) = (self.offset.offset_ns, self.error_ns(at_ns));
        (offset.saturating_sub_unsigned(error), offset.saturating_add_unsigned(error))
    }
}

/// What all threads know of it.
#[derive(Default)]
pub(super) struct ServerClock {
    answers: VecDeque<Answer>,
    askers: u32,
}

/// What is known of the server's clock when a broadcast came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// Its offset, and by how much that may be wrong.
    Offset(ClockOffset),
    /// Nothing: it was set between two answers, or there is none.
    Nothing,
    /// It is known once the next answer is there.
    Later,
}

impl ServerClock {
    /// Takes an answer that came then.
    fn take(&mut self, at_ns: u64, offset: ClockOffset) {
        if self.answers.len() == REMEMBERED {
            self.answers.pop_front();
        }
        let epoch = self.answers.back().map_or(0, |last| last.epoch);
        let answer = Answer { at_ns, offset, epoch };
        let contradicts = |other: &&Answer| {
            let ((low, high), (from, to)) = (answer.bounds(at_ns), other.bounds(at_ns));
            other.epoch == epoch && (to < low || high < from)
        };
        let was_set = self.answers.iter().any(|other| contradicts(&other));
        let epoch = epoch + u32::from(was_set);
        // Threads tell of their answers in any order.
        let place = self.answers.iter().rposition(|other| other.at_ns <= at_ns);
        self.answers.insert(place.map_or(0, |at| at + 1), Answer { epoch, ..answer });
    }

    /// What is known of a time; where it `is_last` without an answer behind it.
    fn at(&self, at_ns: u64, is_last: bool) -> Known {
        let behind = self.answers.partition_point(|answer| answer.at_ns < at_ns);
        let best = |of: &mut dyn Iterator<Item = &Answer>| {
            of.min_by_key(|answer| answer.error_ns(at_ns)).copied()
        };
        let last_epoch = behind.checked_sub(1).map(|last| self.answers[last].epoch);
        let before = self.answers.iter().take(behind);
        let before = best(&mut before.filter(|answer| Some(answer.epoch) == last_epoch));
        let next_epoch = self.answers.get(behind).map(|next| next.epoch);
        let after = self.answers.iter().skip(behind);
        let after = best(&mut after.filter(|answer| Some(answer.epoch) == next_epoch));
        match (before, after) {
            (_, None) if !is_last => Known::Later,
            (None, None) => Known::Nothing,
            (Some(before), Some(after)) if before.epoch == after.epoch => {
                Known::Offset(between(&before, &after, at_ns))
            }
            (Some(_), Some(_)) => Known::Nothing,
            (Some(one), None) | (None, Some(one)) => {
                let error_ns = one.error_ns(at_ns);
                Known::Offset(ClockOffset { offset_ns: one.offset.offset_ns, error_ns })
            }
        }
    }
}

/// The offset at a time between two answers: nearer to the one that is less wrong, within what both
/// allow.
fn between(before: &Answer, after: &Answer, at_ns: u64) -> ClockOffset {
    let ((low, high), (from, to)) = (before.bounds(at_ns), after.bounds(at_ns));
    let (low, high) = (low.max(from), high.min(to));
    let weight = |answer: &Answer| 1.0 / answer.error_ns(at_ns).max(1) as f64;
    let (one, other) = (weight(before), weight(after));
    let apart = after.offset.offset_ns.saturating_sub(before.offset.offset_ns) as f64;
    #[expect(clippy::cast_possible_truncation, reason = "an offset of an offset; saturates")]
    let apart = (apart * other / (one + other)) as i64;
    let offset_ns = before.offset.offset_ns.saturating_add(apart).clamp(low, high.max(low));
    let error_ns = high.abs_diff(offset_ns).max(offset_ns.abs_diff(low));
    ClockOffset { offset_ns, error_ns }
}

/// The server's clock less ours, as it was told between sending a question and the receipt of its
/// answer.
fn offset(told_unix_ns: u64, sent_unix_ns: u64, trip_ns: u64) -> ClockOffset {
    let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
    let middle = sent_unix_ns.saturating_add(trip_ns / 2);
    let offset_ns = signed(told_unix_ns).saturating_sub(signed(middle));
    ClockOffset { offset_ns, error_ns: trip_ns.div_ceil(2) }
}

/// A user who asks.
struct Asker {
    seat: u32,
    /// How many times he asks at once yet.
    at_once: u32,
    /// When he asks next, or has asked.
    at_ns: u64,
    /// Whether he has, and awaits the answer.
    awaits: bool,
}

/// What a thread knows of it, and who asks in it.
#[derive(Default)]
pub(super) struct Asking {
    askers: Vec<Asker>,
    /// When somebody is looked for next.
    look_ns: u64,
}

impl Users {
    /// Whether the server that publishes on that WebSocket is asked for its time.
    pub(crate) fn is_asked_on(&self, channel: u16) -> bool {
        self.scenario.clock().is_some_and(|clock| clock.channel == channel)
    }

    /// What is known by `now` of the server's clock at a time; where all is over, all that will be.
    pub(crate) fn known_at(&self, at: u64, now: u64, is_over: bool) -> Known {
        let every_ns = self.scenario.clock().map_or(0, |clock| clock.every_ns);
        let patience = every_ns.saturating_mul(2).saturating_add(self.timeout_ns);
        let Ok(clock) = self.numbers.clock.lock() else { return Known::Nothing };
        match clock.at(at, is_over) {
            // Nobody answers any more.
            Known::Later if now.saturating_sub(at) > patience => Known::Nothing,
            known => known,
        }
    }

    /// A user has opened a WebSocket: he may be one of those who ask.
    pub(crate) fn may_ask(&mut self, seat: u32, channel: u16, at: u64) {
        let is_asked = self.scenario.clock().is_some_and(|clock| clock.channel == channel);
        let seat = seat & !IN_BACKGROUND;
        if !is_asked || self.asking.askers.iter().any(|asker| asker.seat == seat) {
            return;
        }
        let Ok(mut clock) = self.numbers.clock.lock() else { return };
        if clock.askers < ASKERS {
            clock.askers += 1;
            let asker = Asker { seat, at_once: FIRST, at_ns: at, awaits: false };
            self.asking.askers.push(asker);
        }
    }

    /// A user asks no more: he has left, or his WebSocket is closed, or he was not answered.
    pub(crate) fn asks_no_more(&mut self, seat: u32) {
        let before = self.asking.askers.len();
        self.asking.askers.retain(|asker| asker.seat != seat);
        let gone = u32::try_from(before - self.asking.askers.len()).unwrap_or(0);
        if gone > 0
            && let Ok(mut clock) = self.numbers.clock.lock()
        {
            clock.askers = clock.askers.saturating_sub(gone);
        }
    }

    /// The next user who is to ask now, and on which WebSocket.
    pub(crate) fn take_question(&mut self, at: u64) -> Option<(u32, u16)> {
        let channel = self.scenario.clock()?.channel;
        let timeout_ns = self.timeout_ns;
        let is_late = |asker: &&Asker| asker.awaits && asker.at_ns.saturating_add(timeout_ns) <= at;
        let late = self.asking.askers.iter().filter(is_late).map(|asker| asker.seat);
        for seat in late.collect::<Vec<_>>() {
            // His answer may come yet, and would be taken for the one to the next question.
            self.asks_no_more(seat);
        }
        if at >= self.asking.look_ns {
            self.asking.look_ns = at.saturating_add(LOOK_NS);
            self.look_for_askers(channel, at);
        }
        let ends = self.end_ns;
        let is_due = |asker: &&mut Asker| !asker.awaits && asker.at_ns <= at && asker.at_ns < ends;
        let asker = self.asking.askers.iter_mut().find(is_due)?;
        (asker.awaits, asker.at_ns) = (true, at);
        Some((asker.seat, channel))
    }

    /// Finds somebody who has such a WebSocket, in the place of those who are gone.
    fn look_for_askers(&mut self, channel: u16, at: u64) {
        let Ok(clock) = self.numbers.clock.lock() else { return };
        let lacks = clock.askers < ASKERS;
        drop(clock);
        if !lacks {
            return;
        }
        let asks = |seat: u32| self.asking.askers.iter().any(|asker| asker.seat == seat);
        let somebody = self.seats.iter().enumerate().find_map(|(seat, of)| {
            let has_it = of.as_ref()?.connections.iter().any(|(lane, _)| lane.channel == channel);
            u32::try_from(seat).ok().filter(|seat| has_it && !asks(*seat))
        });
        if let Some(seat) = somebody {
            self.may_ask(seat, channel, at);
        }
    }

    /// What is asked.
    pub(crate) fn question(&self) -> Option<Box<[u8]>> {
        self.scenario.clock().map(|clock| clock.question.clone())
    }

    /// A user asks now.
    pub(crate) fn has_asked(&mut self, seat: u32, at: u64) {
        if let Some(asker) = self.asking.askers.iter_mut().find(|asker| asker.seat == seat) {
            asker.at_ns = at;
        }
    }

    /// Takes what has come for a user, where it is the answer to his question. Returns what is
    /// known with it.
    pub(crate) fn take_time(
        &mut self,
        seat: u32,
        channel: u16,
        bytes: &[u8],
        at: u64,
    ) -> Option<ClockOffset> {
        let asker = self.asking.askers.iter().find(|asker| asker.seat == seat && asker.awaits)?;
        let asked_ns = asker.at_ns;
        let scenario = self.scenario.clone();
        let clock = scenario.clock().filter(|clock| clock.channel == channel)?;
        let (sent, now) = (self.moment(asked_ns), self.moment(at));
        let told = self.seat(seat)?.user.told_time(&scenario, bytes, now)?;
        let answer = offset(told, sent.unix_ns, at.saturating_sub(asked_ns));
        let mut known = answer;
        if let Ok(mut of_all) = self.numbers.clock.lock() {
            of_all.take(at, answer);
            if let Known::Offset(offset) = of_all.at(at, true) {
                known = offset;
            }
        }
        // It is told until the next answer.
        known.error_ns = known.error_ns.saturating_add(clock.every_ns / DRIFT);
        if let Some(asker) = self.asking.askers.iter_mut().find(|asker| asker.seat == seat) {
            asker.awaits = false;
            asker.at_once = asker.at_once.saturating_sub(1);
            let pause_ns = if asker.at_once > 0 { PAUSE_NS } else { clock.every_ns };
            asker.at_ns = at.saturating_add(pause_ns);
        }
        Some(known)
    }

    /// When the next question is asked, or given up.
    pub(super) fn next_question(&self) -> Option<u64> {
        let next = self.asking.askers.iter().map(|asker| match asker.awaits {
            true => asker.at_ns.saturating_add(self.timeout_ns),
            false => asker.at_ns,
        });
        next.min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_workload::random::Stream;

    const MS: u64 = 1_000_000;
    const S: u64 = 1_000 * MS;
    const UNIX: u64 = 1_700_000_000 * S;

    /// Asks a clock, whose offset at each time is given, over ways of any length, each way by
    /// itself, every `every` up to the end.
    fn asked(clock: &mut ServerClock, ahead: &dyn Fn(u64) -> i64, (every, until): (u64, u64)) {
        let mut stream = Stream::named(7, "clock");
        for sent in (0..until).step_by(usize::try_from(every).unwrap()) {
            let (there, back) = (stream.below(4 * MS), stream.below(4 * MS));
            let told = (UNIX + sent + there).saturating_add_signed(ahead(sent + there));
            let at = sent + there + back;
            clock.take(at, offset(told, UNIX + sent, there + back));
        }
    }

    /// Clocks that stand, gain and lose: what is said of the error holds at every time, and an
    /// ordinary drift is seen.
    #[test]
    fn the_offset_is_wrong_by_no_more_than_is_told() {
        for ppm in [0, 30, -200, 400] {
            let ahead = |at: u64| 250_000_000 + i64::try_from(at / S).unwrap() * ppm * 1_000;
            let mut clock = ServerClock::default();
            asked(&mut clock, &ahead, (10 * S, 300 * S));
            for at in (0..290 * S).step_by(70_000_000) {
                let Known::Offset(known) = clock.at(at, false) else { panic!("{at}") };
                let off = (known.offset_ns - ahead(at)).unsigned_abs();
                assert!(off <= known.error_ns + 400_000, "{ppm} ppm at {at}: {known:?}");
                assert!(known.error_ns < 10 * MS && off < 6 * MS, "{ppm} at {at}: {known:?} {off}");
            }
        }
    }

    /// What came between the last answer before a clock was set and the first behind it has no
    /// offset; all else has the right one.
    #[test]
    fn a_clock_that_is_set_is_unknown_between_two_answers() {
        for step in [-2_000_000_000, 2_000_000_000, 50_000_000] {
            let ahead = |at: u64| if at < 7 * S + 500 * MS { 0 } else { step };
            let mut clock = ServerClock::default();
            asked(&mut clock, &ahead, (S, 20 * S));
            let mut unknown = 0;
            for at in (100 * MS..18 * S).step_by(100_000_000) {
                match clock.at(at, false) {
                    Known::Offset(known) => {
                        let off = (known.offset_ns - ahead(at)).unsigned_abs();
                        assert!(off <= known.error_ns && off < 5 * MS, "{at}: {known:?}");
                    }
                    Known::Nothing => unknown += 1,
                    Known::Later => panic!("{at}"),
                }
            }
            assert!((9..=11).contains(&unknown), "{unknown} of one second");
        }
    }

    #[test]
    fn a_latency_waits_for_the_answer_behind_it() {
        let mut clock = ServerClock::default();
        assert_eq!((clock.at(5, false), clock.at(5, true)), (Known::Later, Known::Nothing));
        let answer = |offset_ns, error_ns| ClockOffset { offset_ns, error_ns };
        clock.take(S, answer(100, 1_000));
        assert_eq!(clock.at(S / 2, false), Known::Offset(answer(100, 1_000 + 250_000)));
        assert_eq!(clock.at(2 * S, false), Known::Later);
        assert_eq!(clock.at(2 * S, true), Known::Offset(answer(100, 1_000 + 500_000)));
        clock.take(3 * S, answer(300, 1_000));
        let Known::Offset(known) = clock.at(2 * S, false) else { panic!() };
        assert_eq!(known.offset_ns, 200, "half way between two as good");
        for n in 0..2 * REMEMBERED as u64 {
            clock.take((4 + n) * S, answer(300, 1_000));
        }
        assert_eq!(clock.answers.len(), REMEMBERED);
    }

    #[test]
    fn a_clock_that_is_behind_is_below_nought() {
        let of = offset(1_000, 5_000, 101);
        assert_eq!((of.offset_ns, of.error_ns), (-4_050, 51));
    }
}
