//! Random arrivals: an exact number in each second, at uniformly random instants of it.
//!
//! The instants of n requests in a second come out in order without being sorted: n + 1
//! independent exponentials, summed up and divided by their total, are distributed as n sorted
//! uniform numbers (Devroye, *Non-Uniform Random Variate Generation*, 1986, chapter V, theorem
//! 2.2). The total is needed before the first instant; the sums of a second of up to
//! [`KEPT`] requests are kept, those of a greater one are drawn twice from the same state of the
//! stream, so that memory does not grow with the rate.

use std::sync::Arc;

use super::Share;
use crate::random::Stream;
use crate::schedule::{Count, Schedule, whole_ns};

const SECOND_NS: u64 = 1_000_000_000;
/// Sums kept of a second.
const KEPT: usize = 4096;

#[derive(Clone, Debug)]
pub(super) struct Random {
    schedule: Arc<Schedule>,
    stream: Stream,
    index: u64,
    of: u64,
    total: u64,
    /// Start of the second after the present one.
    next_ns: u64,
    /// A segment that is not after `next_ns`.
    segment: usize,
    /// Requests of the whole in the seconds up to and with the present one.
    done: u64,
    second: Second,
}

/// The present second.
#[derive(Clone, Debug)]
struct Second {
    start_ns: u64,
    /// The last instant within.
    last_ns: u64,
    /// Number within the whole of the first request of the second.
    first: u64,
    /// Requests of the second.
    n: u64,
    /// The next of them to look at.
    next: u64,
    /// Nanoseconds for a sum of one.
    scale: f64,
    /// The sums, where they are few enough.
    sums: Vec<f64>,
    /// The stream at the second request's sum, and the present sum, where they are not.
    replay: Stream,
    sum: f64,
}

impl Random {
    pub(super) fn new(schedule: Arc<Schedule>, stream: Stream, share: Share) -> Self {
        let (index, of) = share.normal();
        let second = Second {
            start_ns: 0,
            last_ns: 0,
            first: 0,
            n: 0,
            next: 0,
            scale: 0.0,
            sums: Vec::with_capacity(KEPT),
            replay: stream.clone(),
            sum: 0.0,
        };
        let total = schedule.total();
        Self { schedule, stream, index, of, total, next_ns: 0, segment: 0, done: 0, second }
    }

    pub(super) fn fill(&mut self, out: &mut [u64]) -> usize {
        let mut filled = 0;
        loop {
            filled += self.second.fill(&mut out[filled..], self.index, self.of);
            if filled == out.len() || !self.enter_next_second() {
                return filled;
            }
        }
    }

    /// Draws the sums of the next second that has a request; false after the last.
    fn enter_next_second(&mut self) -> bool {
        if self.done >= self.total {
            return false;
        }
        loop {
            let start_ns = self.next_ns;
            let end_ns = (start_ns + SECOND_NS).min(self.schedule.duration_ns());
            let due = self.floor_at(end_ns).clamp(self.done, self.total);
            self.next_ns = end_ns;
            if due > self.done {
                let first = self.done;
                self.done = due;
                self.second.enter(start_ns, end_ns, first, due - first, &mut self.stream);
                return true;
            }
            if end_ns >= self.schedule.duration_ns() {
                return false;
            }
            // Where seconds are empty, go to the one in which the next request completes; one
            // second less, because rounding may have put that instant just behind its second.
            let due_ns = self.schedule.due_of(Count { whole: self.done + 1, part: 0.0 });
            let whole_seconds = (due_ns / SECOND_NS).saturating_sub(1) * SECOND_NS;
            self.next_ns = self.next_ns.max(whole_seconds);
        }
    }

    /// ⌊Λ(t)⌋ for instants that never decrease.
    fn floor_at(&mut self, t_ns: u64) -> u64 {
        let segments = self.schedule.segments();
        if segments.get(self.segment + 8).is_some_and(|segment| segment.start_ns <= t_ns) {
            self.segment = self.schedule.index_at(t_ns);
        }
        while segments.get(self.segment + 1).is_some_and(|next| next.start_ns <= t_ns) {
            self.segment += 1;
        }
        self.schedule.count_at(t_ns, self.segment).floor()
    }
}

impl Second {
    fn enter(&mut self, start_ns: u64, end_ns: u64, first: u64, n: u64, stream: &mut Stream) {
        self.start_ns = start_ns;
        self.last_ns = end_ns - 1;
        self.first = first;
        self.n = n;
        self.next = 0;
        self.replay = stream.clone();
        self.sum = 0.0;
        self.sums.clear();
        let mut sum = 0.0;
        if n <= KEPT as u64 {
            for _ in 0..n {
                sum += stream.exponential();
                self.sums.push(sum);
            }
        } else {
            for _ in 0..n {
                sum += stream.exponential();
            }
        }
        sum += stream.exponential();
        self.scale = (end_ns - start_ns) as f64 / sum;
    }

    /// Instants of this share's requests among the rest of the second.
    fn fill(&mut self, out: &mut [u64], index: u64, of: u64) -> usize {
        let mut filled = 0;
        while self.next < self.n && filled < out.len() {
            let sum = match usize::try_from(self.next).ok().and_then(|next| self.sums.get(next)) {
                Some(&sum) => sum,
                None => {
                    self.sum += self.replay.exponential();
                    self.sum
                }
            };
            if (self.first + self.next) % of == index {
                out[filled] = (self.start_ns + whole_ns(sum * self.scale)).min(self.last_ns);
                filled += 1;
            }
            self.next += 1;
        }
        filled
    }
}
