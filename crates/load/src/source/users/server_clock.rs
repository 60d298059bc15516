//! The server's clock, by which broadcasts tell when they were published: a few users ask for it,
//! and what it differs by from ours is known to all.
//!
//! Source: F. Cristian, *Probabilistic clock synchronization*, Distributed Computing 3, 1989. At
//! some point of a round trip the server has read its clock; the middle is wrong by half of the
//! round trip at most. Clocks drift apart, so that of the last answers the one with the shortest
//! round trip counts, and not that of all.

use super::Users;
use crate::driver::IN_BACKGROUND;
use plimsoll_runs::ClockOffset;
use std::collections::VecDeque;

/// So many users ask at a time, over all threads.
const ASKERS: u32 = 4;
/// So many times each asks right away, and how long after an answer, nanoseconds.
const FIRST: u32 = 5;
const PAUSE_NS: u64 = 20_000_000;
/// So many answers are looked at.
const LOOKED_AT: usize = 64;
/// How often another user is looked for in the place of one who is gone, nanoseconds.
const LOOK_NS: u64 = 1_000_000_000;

/// What all threads know of it.
#[derive(Default)]
pub(super) struct ServerClock {
    answers: VecDeque<ClockOffset>,
    askers: u32,
}

impl ServerClock {
    /// Takes an answer; returns what is known with it.
    fn take(&mut self, answer: ClockOffset) -> ClockOffset {
        if self.answers.len() == LOOKED_AT {
            self.answers.pop_front();
        }
        self.answers.push_back(answer);
        self.best().unwrap_or(answer)
    }

    /// What is known: of equally good answers the latest, as clocks drift.
    fn best(&self) -> Option<ClockOffset> {
        self.answers.iter().rev().min_by_key(|answer| answer.error_ns).copied()
    }
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
    /// What is known.
    known: Option<ClockOffset>,
    /// When somebody is looked for next.
    look_ns: u64,
}

impl Users {
    /// What the clock of the server differs by that publishes on that WebSocket; `None` where it is
    /// asked and not known yet. That of one which is not asked is taken as it is.
    pub(super) fn offset_on(&self, channel: u16) -> Option<ClockOffset> {
        match self.scenario.clock() {
            Some(clock) if clock.channel == channel => self.asking.known,
            _ => Some(ClockOffset { offset_ns: 0, error_ns: 0 }),
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
        let known = self.numbers.clock.lock().map_or(answer, |mut clock| clock.take(answer));
        self.asking.known = Some(known);
        if let Some(asker) = self.asking.askers.iter_mut().find(|asker| asker.seat == seat) {
            asker.awaits = false;
            asker.at_once = asker.at_once.saturating_sub(1);
            let pause_ns = if asker.at_once > 0 { PAUSE_NS } else { clock.every_ns };
            asker.at_ns = at.saturating_add(pause_ns);
        }
        Some(known)
    }

    /// Learns what other threads know.
    pub(crate) fn learn_clock(&mut self) {
        if self.scenario.clock().is_some()
            && let Ok(clock) = self.numbers.clock.lock()
        {
            self.asking.known = clock.best();
        }
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

    /// A server whose clock is ahead by 250 ms, asked over ways of any length, each way by itself:
    /// what is said of the error holds.
    #[test]
    fn the_offset_is_wrong_by_no_more_than_is_told() {
        const AHEAD_NS: i64 = 250 * 1_000_000;
        let mut stream = Stream::named(7, "clock");
        let mut clock = ServerClock::default();
        let mut known = None;
        for n in 0..1_000_u64 {
            let (there, back) = (stream.below(40 * MS), stream.below(40 * MS));
            let sent = 1_700_000_000_000_000_000 + n * 1_000 * MS;
            let told = (sent + there).saturating_add_signed(AHEAD_NS);
            let answer = offset(told, sent, there + back);
            assert!((answer.offset_ns - AHEAD_NS).unsigned_abs() <= answer.error_ns, "{answer:?}");
            known = Some(clock.take(answer));
        }
        let known = known.unwrap();
        assert!((known.offset_ns - AHEAD_NS).unsigned_abs() <= known.error_ns, "{known:?}");
        assert!(known.error_ns < 20 * MS, "the best of 64, not of one: {known:?}");
        assert_eq!(clock.answers.len(), LOOKED_AT);
    }

    #[test]
    fn a_clock_that_is_behind_is_below_nought_and_old_answers_are_forgotten() {
        let of = offset(1_000, 5_000, 101);
        assert_eq!((of.offset_ns, of.error_ns), (-4_050, 51));
        let mut clock = ServerClock::default();
        let answer = |offset_ns, error_ns| ClockOffset { offset_ns, error_ns };
        assert_eq!(clock.take(answer(1, 5)), answer(1, 5));
        assert_eq!(clock.take(answer(2, 9)), answer(1, 5), "the shorter round trip");
        assert_eq!(clock.take(answer(3, 5)), answer(3, 5), "the later of two as good");
        for _ in 0..LOOKED_AT {
            clock.take(answer(4, 7));
        }
        assert_eq!(clock.take(answer(5, 8)), answer(4, 7), "it was long ago");
    }
}
