//! Who is due: the open loop's clock or the closed loop's users, behind one face.
//!
//! # Waiting costs no memory
//!
//! An open source holds two cursors over the same stream of due times: one counts what has become due,
//! the other says which request is next to start. Between them lie the waiting requests, as a number
//! only; a server that stalls for an hour costs nothing but that number.

use plimsoll_workload::arrivals::{Arrivals, DueTimes, Share};
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::random::Stream;
use plimsoll_workload::schedule::Schedule;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

/// A request that is due and not started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Due {
    /// Since when.
    pub(crate) at: u64,
    /// Whose it is, in a closed loop.
    pub(crate) user: u32,
}

/// Where due requests come from.
pub(crate) enum Source {
    /// By the clock.
    Open(Open),
    /// By the previous answer.
    Closed(Closed),
}

/// When requests of an open loop are due.
#[derive(Debug, Clone)]
pub enum Times {
    /// As a schedule and its arrivals have it.
    Schedule(Arc<Schedule>, Arrivals),
    /// As listed, in order: a log's own times.
    Listed(Arc<[u64]>),
}

impl Times {
    /// How long they are offered.
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        match self {
            Self::Schedule(schedule, _) => schedule.duration_ns(),
            Self::Listed(times) => times.last().map_or(0, |last| last + 1),
        }
    }

    fn stream(&self, seed: u64, share: Share) -> Stretch {
        match self {
            Self::Schedule(schedule, arrivals) => {
                Stretch::Drawn(DueTimes::new(schedule.clone(), *arrivals, seed, share))
            }
            Self::Listed(times) => Stretch::Listed {
                times: times.clone(),
                next: share.index as usize,
                step: share.of.max(1) as usize,
            },
        }
    }
}

/// One share of [`Times`], being read.
#[derive(Clone)]
enum Stretch {
    Drawn(DueTimes),
    Listed { times: Arc<[u64]>, next: usize, step: usize },
}

impl Stretch {
    fn fill(&mut self, out: &mut [u64]) -> usize {
        match self {
            Self::Drawn(times) => times.fill(out),
            Self::Listed { times, next, step } => {
                let mut filled = 0;
                while let (Some(slot), Some(time)) = (out.get_mut(filled), times.get(*next)) {
                    *slot = *time;
                    *next += *step;
                    filled += 1;
                }
                filled
            }
        }
    }
}

const BLOCK: usize = 128;

/// Reads a stream of due times, some ahead.
#[derive(Clone)]
struct Cursor {
    times: Stretch,
    from: u64,
    until: u64,
    left: u64,
    block: [u64; BLOCK],
    at: usize,
    len: usize,
}

impl Cursor {
    fn new(times: Stretch, from: u64, limit: u64) -> Self {
        Self { times, from, until: u64::MAX, left: limit, block: [0; BLOCK], at: 0, len: 0 }
    }

    #[inline]
    fn peek(&mut self) -> Option<u64> {
        if self.at == self.len {
            self.at = 0;
            self.len = self.times.fill(&mut self.block);
            if self.len == 0 {
                return None;
            }
        }
        let due = self.from + self.block[self.at];
        (self.left > 0 && due < self.until).then_some(due)
    }

    #[inline]
    fn advance(&mut self) {
        self.at += 1;
        self.left -= 1;
    }
}

struct Segment {
    count: Cursor,
    start: Cursor,
}

/// The open loop: what is due is due, whatever the server does.
pub(crate) struct Open {
    segments: VecDeque<Segment>,
    /// The segment that is being counted; those before it are only being started.
    counting: usize,
    waiting: u64,
    /// Due requests that found `max_waiting` others waiting, as ranges of their order.
    dropped: VecDeque<(u64, u64)>,
    counted: u64,
    started: u64,
    max_waiting: u64,
    limit: u64,
    share: Share,
    seed: u64,
}

impl Open {
    /// A source that offers nothing yet; `limit` bounds how many requests it ever offers.
    #[must_use]
    pub(crate) fn new(
        seed: u64,
        share: Share,
        max_waiting: Option<u64>,
        limit: Option<u64>,
    ) -> Self {
        Self {
            segments: VecDeque::new(),
            counting: 0,
            waiting: 0,
            dropped: VecDeque::new(),
            counted: 0,
            started: 0,
            max_waiting: max_waiting.unwrap_or(u64::MAX),
            limit: limit.unwrap_or(u64::MAX),
            share,
            seed,
        }
    }

    /// From `from` on these times hold, and none before them.
    pub(crate) fn offer(&mut self, from: u64, times: &Times, number: u64) {
        for segment in &mut self.segments {
            segment.count.until = segment.count.until.min(from);
            segment.start.until = segment.start.until.min(from);
        }
        // Each segment draws from a stream of its own, so that it does not depend on how many
        // requests those before it had.
        let seed = self.seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let limit = self.limit.saturating_sub(self.counted);
        let cursor = Cursor::new(times.stream(seed, self.share), from, limit);
        self.segments.push_back(Segment { count: cursor.clone(), start: cursor });
    }

    fn poll(&mut self, now: u64, mut each: impl FnMut(u64, bool)) {
        while let Some(segment) = self.segments.get_mut(self.counting) {
            match segment.count.peek() {
                Some(due) if due <= now => {
                    segment.count.advance();
                    let dropped = self.waiting >= self.max_waiting;
                    if dropped {
                        match self.dropped.back_mut() {
                            Some((_, end)) if *end == self.counted => *end += 1,
                            _ => self.dropped.push_back((self.counted, self.counted + 1)),
                        }
                    } else {
                        self.waiting += 1;
                    }
                    self.counted += 1;
                    each(due, dropped);
                }
                Some(_) => return,
                None => self.counting += 1,
            }
        }
    }

    fn next_due(&mut self) -> Option<u64> {
        self.segments.get_mut(self.counting)?.count.peek()
    }

    /// The next one to start, stepping over what was dropped and segments that are used up.
    fn peek_start(&mut self) -> Option<u64> {
        if self.waiting == 0 {
            return None;
        }
        loop {
            let segment = self.segments.front_mut()?;
            let Some(due) = segment.start.peek() else {
                self.segments.pop_front();
                self.counting = self.counting.saturating_sub(1);
                continue;
            };
            match self.dropped.front() {
                Some(&(from, _)) if from == self.started => {
                    segment.start.advance();
                    self.started += 1;
                    if let Some((from, end)) = self.dropped.front_mut() {
                        *from += 1;
                        if from == end {
                            self.dropped.pop_front();
                        }
                    }
                }
                _ => return Some(due),
            }
        }
    }

    fn take(&mut self) -> Option<Due> {
        let at = self.peek_start()?;
        self.segments.front_mut()?.start.advance();
        self.started += 1;
        self.waiting -= 1;
        Some(Due { at, user: 0 })
    }

    fn stop(&mut self) {
        for segment in &mut self.segments {
            segment.count.until = 0;
        }
        self.counting = self.segments.len();
    }
}

/// The closed loop: users who think, ask, and think again.
pub(crate) struct Closed {
    think: Distribution,
    random: Stream,
    end_ns: u64,
    thinking: BinaryHeap<Reverse<(u64, u32)>>,
    /// Those who do not think and became due in this turn.
    immediate: VecDeque<Due>,
    ready: VecDeque<Due>,
    left: u64,
}

impl Closed {
    /// `users` of them, until `end_ns`; `limit` bounds how many requests they ever make.
    #[must_use]
    pub(crate) fn new(
        users: u32,
        think: Distribution,
        random: Stream,
        end_ns: u64,
        limit: Option<u64>,
    ) -> Self {
        let left = limit.unwrap_or(u64::MAX);
        let mut closed = Self {
            think,
            random,
            end_ns,
            thinking: BinaryHeap::new(),
            immediate: VecDeque::new(),
            ready: VecDeque::new(),
            left,
        };
        for user in 0..users {
            closed.finished(user, 0);
        }
        closed
    }

    fn finished(&mut self, user: u32, at: u64) {
        let think = self.think.sample(&mut self.random) * 1e9;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a think time is a positive number of seconds; casts saturate"
        )]
        let due = at.saturating_add(think as u64);
        if due >= self.end_ns {
            return;
        }
        if due == at {
            self.immediate.push_back(Due { at, user });
        } else {
            self.thinking.push(Reverse((due, user)));
        }
    }

    fn poll(&mut self, now: u64, mut each: impl FnMut(u64, bool)) {
        let mut due = |due: Due, ready: &mut VecDeque<Due>, left: &mut u64| {
            if *left > 0 {
                *left -= 1;
                ready.push_back(due);
                each(due.at, false);
            }
        };
        while let Some(next) = self.immediate.pop_front() {
            if next.at < self.end_ns {
                due(next, &mut self.ready, &mut self.left);
            }
        }
        while let Some(&Reverse((at, user))) = self.thinking.peek() {
            if at > now {
                break;
            }
            self.thinking.pop();
            if at < self.end_ns {
                due(Due { at, user }, &mut self.ready, &mut self.left);
            }
        }
    }

    fn stop(&mut self) {
        self.end_ns = 0;
        self.thinking.clear();
        self.immediate.clear();
    }
}

impl Source {
    /// Counts what has become due by `now`: `each` gets its due time, and whether it is dropped
    /// because too many are waiting.
    #[inline]
    pub(crate) fn poll(&mut self, now: u64, each: impl FnMut(u64, bool)) {
        match self {
            Self::Open(open) => open.poll(now, each),
            Self::Closed(closed) => closed.poll(now, each),
        }
    }

    /// How many are due and not started.
    #[inline]
    #[must_use]
    pub(crate) fn waiting(&self) -> u64 {
        match self {
            Self::Open(open) => open.waiting,
            Self::Closed(closed) => closed.ready.len() as u64,
        }
    }

    /// The oldest of them, which is started by taking it.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Due> {
        match self {
            Self::Open(open) => open.take(),
            Self::Closed(closed) => closed.ready.pop_front(),
        }
    }

    /// Since when the oldest of them is due.
    pub(crate) fn oldest_waiting(&mut self) -> Option<u64> {
        match self {
            Self::Open(open) => open.peek_start(),
            Self::Closed(closed) => closed.ready.front().map(|due| due.at),
        }
    }

    /// When the next one will be due that is not due yet.
    #[inline]
    pub(crate) fn next_due(&mut self) -> Option<u64> {
        match self {
            Self::Open(open) => open.next_due(),
            Self::Closed(closed) => match closed.immediate.front() {
                Some(due) => Some(due.at),
                None => closed.thinking.peek().map(|Reverse((at, _))| *at),
            },
        }
    }

    /// A request of this user has ended.
    #[inline]
    pub(crate) fn finished(&mut self, user: u32, at: u64) {
        if let Self::Closed(closed) = self {
            closed.finished(user, at);
        }
    }

    /// Nothing becomes due any more; what waits is still there.
    pub(crate) fn stop(&mut self) {
        match self {
            Self::Open(open) => open.stop(),
            Self::Closed(closed) => closed.stop(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(max_waiting: Option<u64>) -> Source {
        let mut open = Open::new(1, Share { index: 0, of: 1 }, max_waiting, None);
        let schedule = Arc::new(Schedule::constant(1000.0, 1_000_000_000).unwrap());
        open.offer(0, &Times::Schedule(schedule, Arrivals::Even), 0);
        Source::Open(open)
    }

    fn count(source: &mut Source, now: u64) -> (u64, u64) {
        let (mut offered, mut dropped) = (0, 0);
        source.poll(now, |_, drop| {
            offered += 1;
            dropped += u64::from(drop);
        });
        (offered, dropped)
    }

    #[test]
    fn waiting_requests_start_in_order_with_their_own_due_times() {
        let mut source = open(None);
        assert_eq!(count(&mut source, 9_500_000), (10, 0));
        assert_eq!(source.next_due(), Some(10_000_000));
        for n in 0..10 {
            assert_eq!(source.oldest_waiting(), Some(n * 1_000_000));
            assert_eq!(source.take(), Some(Due { at: n * 1_000_000, user: 0 }));
        }
        assert_eq!(source.take(), None);
        assert_eq!(count(&mut source, u64::MAX), (990, 0));
        assert_eq!(source.next_due(), None);
        assert_eq!(source.waiting(), 990);
    }

    #[test]
    fn who_finds_too_many_waiting_is_dropped_and_those_who_wait_stay() {
        let mut source = open(Some(3));
        assert_eq!(count(&mut source, 4_500_000), (5, 2));
        assert_eq!(source.take().unwrap().at, 0);
        assert_eq!(count(&mut source, 6_500_000), (2, 1));
        let rest: Vec<u64> = std::iter::from_fn(|| source.take()).map(|due| due.at).collect();
        assert_eq!(rest, [1_000_000, 2_000_000, 5_000_000]);
    }

    #[test]
    fn a_new_segment_replaces_what_was_not_due_and_keeps_what_waits() {
        let mut source = open(None);
        assert_eq!(count(&mut source, 2_500_000), (3, 0));
        let Source::Open(inner) = &mut source else { unreachable!() };
        let slower = Arc::new(Schedule::constant(100.0, 1_000_000_000).unwrap());
        inner.offer(5_000_000, &Times::Schedule(slower, Arrivals::Even), 1);
        assert_eq!(count(&mut source, 15_500_000), (4, 0));
        let dues: Vec<u64> = std::iter::from_fn(|| source.take()).map(|due| due.at).collect();
        assert_eq!(dues, [0, 1_000_000, 2_000_000, 3_000_000, 4_000_000, 5_000_000, 15_000_000]);
        source.stop();
        assert_eq!(count(&mut source, u64::MAX), (0, 0));
    }

    #[test]
    fn users_are_due_when_they_have_thought() {
        let think = Distribution::parse("const:2ms").unwrap();
        let random = Stream::named(1, "think");
        let mut source = Source::Closed(Closed::new(2, think, random, 10_000_000, None));
        assert_eq!(count(&mut source, 0), (0, 0));
        assert_eq!(source.next_due(), Some(2_000_000));
        assert_eq!(count(&mut source, 2_000_000), (2, 0));
        let due = source.take().unwrap();
        source.finished(due.user, 3_000_000);
        assert_eq!(source.next_due(), Some(5_000_000));
        source.finished(due.user, 9_000_000);
        assert_eq!(count(&mut source, 20_000_000), (1, 0));
    }
}
