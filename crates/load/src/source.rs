//! Who is due: the open loop's clock or the closed loop's users, behind one face.
//!
//! # Waiting costs no memory
//!
//! An open source holds two cursors over the same stream of due times: one counts what has become
//! due, the other says which request is next to start. Between them lie the waiting requests, as a
//! number only; a server that stalls for an hour costs nothing but that number.

pub(crate) mod users;

use plimsoll_workload::arrivals::{Arrivals, DueTimes, Share};
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::random::Stream;
use plimsoll_workload::schedule::{Schedule, ScheduleError};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use users::Users;

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
    /// By users who go through a scenario.
    Users(Box<Users>),
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
    /// A rate for so long, by chance.
    ///
    /// # Errors
    /// A rate that no schedule can have.
    pub fn at_rate(rate_per_s: f64, length_ns: u64) -> Result<Self, ScheduleError> {
        let schedule = Schedule::constant(rate_per_s, length_ns)?;
        Ok(Self::Schedule(Arc::new(schedule), Arrivals::Poisson))
    }

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
    block: [u64; BLOCK],
    at: usize,
    len: usize,
}

impl Cursor {
    fn new(times: Stretch, from: u64) -> Self {
        Self { times, from, until: u64::MAX, block: [0; BLOCK], at: 0, len: 0 }
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
        (due < self.until).then_some(due)
    }

    #[inline]
    fn advance(&mut self) {
        self.at += 1;
    }
}

struct Segment {
    count: Cursor,
    start: Cursor,
    /// How many lie between the two.
    counted: u64,
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
    /// Nothing is due from here on.
    pub(crate) end_ns: u64,
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
            end_ns: u64::MAX,
            max_waiting: max_waiting.unwrap_or(u64::MAX),
            limit: limit.unwrap_or(u64::MAX),
            share,
            seed,
        }
    }

    /// From `from` on these times hold, and none before them; what has been counted stays.
    pub(crate) fn offer(&mut self, from: u64, times: &Times, number: u64) {
        for segment in &mut self.segments {
            segment.count.until = segment.count.until.min(from);
        }
        // Each segment draws from a stream of its own, so that it does not depend on how many
        // requests those before it had.
        let seed = self.seed.wrapping_add(number.wrapping_mul(plimsoll_units::hash::GOLDEN));
        let cursor = Cursor::new(times.stream(seed, self.share), from);
        self.segments.push_back(Segment { count: cursor.clone(), start: cursor, counted: 0 });
    }

    /// How many are due and not started.
    pub(crate) fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Whether no more than those that were counted is ever offered.
    pub(crate) fn is_used_up(&self) -> bool {
        self.counted >= self.limit
    }

    pub(crate) fn poll(
        &mut self,
        now: u64,
        spare: impl Fn() -> u64,
        mut each: impl FnMut(u64, bool),
    ) {
        let mut bound = None;
        while let Some(segment) = self.segments.get_mut(self.counting) {
            match segment.count.peek() {
                Some(due) if due <= now && due < self.end_ns && self.counted < self.limit => {
                    segment.count.advance();
                    segment.counted += 1;
                    let dropped = self.waiting >= self.max_waiting
                        && self.waiting
                            >= *bound
                                .get_or_insert_with(|| self.max_waiting.saturating_add(spare()));
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

    pub(crate) fn next_due(&mut self) -> Option<u64> {
        if self.counted >= self.limit {
            return None;
        }
        // A segment that is used up is passed over: the next one may be due already.
        let mut ahead = self.segments.iter_mut().skip(self.counting);
        let due = ahead.find_map(|segment| segment.count.peek());
        due.filter(|due| *due < self.end_ns)
    }

    /// The next one to start, stepping over what was dropped and segments that are used up.
    fn peek_start(&mut self) -> Option<u64> {
        if self.waiting == 0 {
            return None;
        }
        loop {
            let segment = self.segments.front_mut()?;
            let next = segment.start.peek().filter(|_| segment.counted > 0);
            let Some(due) = next else {
                // As some wait, they are further on: this one is counted to its end.
                self.segments.pop_front();
                self.counting = self.counting.saturating_sub(1);
                continue;
            };
            match self.dropped.front() {
                Some(&(from, _)) if from == self.started => {
                    segment.start.advance();
                    segment.counted -= 1;
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

    pub(crate) fn take(&mut self) -> Option<Due> {
        let at = self.peek_start()?;
        let segment = self.segments.front_mut()?;
        segment.start.advance();
        segment.counted -= 1;
        self.started += 1;
        self.waiting -= 1;
        Some(Due { at, user: 0 })
    }

    pub(crate) fn stop(&mut self) {
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
    /// because too many are waiting. `spare` says how many more requests the connections could take
    /// at once: so many are due without having to wait.
    #[inline]
    pub(crate) fn poll(&mut self, now: u64, spare: impl Fn() -> u64, each: impl FnMut(u64, bool)) {
        match self {
            Self::Open(open) => open.poll(now, spare, each),
            Self::Closed(closed) => closed.poll(now, each),
            // Those who arrive ask later.
            Self::Users(_) => {}
        }
    }

    /// How many are due and not started.
    #[inline]
    #[must_use]
    pub(crate) fn waiting(&self) -> u64 {
        match self {
            Self::Open(open) => open.waiting(),
            Self::Closed(closed) => closed.ready.len() as u64,
            Self::Users(users) => users.waiting(),
        }
    }

    /// How many steps of users await messages.
    pub(crate) fn awaiting(&self) -> u32 {
        match self {
            Self::Open(_) | Self::Closed(_) => 0,
            Self::Users(users) => users.awaiting(),
        }
    }

    /// How many of them count as requests.
    pub(crate) fn awaiting_requests(&self) -> u32 {
        match self {
            Self::Open(_) | Self::Closed(_) => 0,
            Self::Users(users) => users.awaiting_requests(),
        }
    }

    /// The oldest of them, which is started by taking it.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Due> {
        match self {
            Self::Open(open) => open.take(),
            Self::Closed(closed) => closed.ready.pop_front(),
            // Each of their requests goes on a connection of its user's own.
            Self::Users(_) => None,
        }
    }

    /// Since when the oldest of them is due.
    pub(crate) fn oldest_waiting(&mut self) -> Option<u64> {
        match self {
            Self::Open(open) => open.peek_start(),
            Self::Closed(closed) => closed.ready.front().map(|due| due.at),
            Self::Users(users) => users.oldest_due(),
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
            Self::Users(users) => users.next_due(),
        }
    }

    /// A request of this user has ended.
    #[inline]
    pub(crate) fn finished(&mut self, user: u32, at: u64) {
        match self {
            Self::Open(_) => {}
            Self::Closed(closed) => closed.finished(user, at),
            Self::Users(users) => users.finished(user, at),
        }
    }

    /// Nothing becomes due from `at` on.
    pub(crate) fn end_at(&mut self, at: u64) {
        match self {
            Self::Open(open) => open.end_ns = at,
            Self::Closed(closed) => closed.end_ns = closed.end_ns.min(at),
            Self::Users(users) => users.end_at(at),
        }
    }

    /// Whether all that may ever become due has.
    #[must_use]
    pub(crate) fn is_used_up(&self) -> bool {
        match self {
            Self::Open(open) => open.is_used_up(),
            Self::Closed(closed) => closed.left == 0,
            Self::Users(users) => users.is_used_up(),
        }
    }

    /// Nothing becomes due any more; what waits is still there.
    pub(crate) fn stop(&mut self) {
        match self {
            Self::Open(open) => open.stop(),
            Self::Closed(closed) => closed.stop(),
            Self::Users(users) => users.stop(),
        }
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
