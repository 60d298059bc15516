//! The server's queue, kept in computed time: every departure is known when its request arrives.
//!
//! First come, first served, by `workers` equal workers:
//!
//! > departure = max(arrival, earliest free worker) + service
//!
//! which is the recursion of J. Kiefer and J. Wolfowitz, "On the theory of queues with many
//! servers", Trans. AMS 78 (1955), and for one worker that of D. V. Lindley (1952). With Poisson
//! arrivals and exponential services it is an M/M/c queue, exactly: no timer, no thread and no
//! system call takes part, so a busy machine delays answers, never the queue.
//!
//! The queue lives in working time (see [`Stall`]): arrivals are mapped into it, departures back
//! out of it. Instants are nanoseconds since time zero and must not go backwards.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::num::NonZeroU32;

use crate::stall::Stall;

/// When a request that was admitted is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// First instant at which a worker works on it; start − arrival is its wait.
    pub start_ns: u64,
    /// When its answer leaves.
    pub depart_ns: u64,
}

/// What becomes of a request that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It is served, at times known from now on.
    Served(Departure),
    /// All workers were busy and the queue was full.
    Refused,
}

/// A first-come-first-served queue of many servers in computed time.
///
/// *Cost*: amortised O(log workers) an arrival; memory is O(workers + waiting).
#[derive(Debug, Clone)]
pub struct Queue {
    workers: usize,
    /// Greatest number of requests that may wait; beyond it arrivals are refused.
    bound: Option<u64>,
    stall: Option<Stall>,
    /// For each worker that has something to do: when it will have nothing left.
    busy: BinaryHeap<Reverse<u64>>,
    /// When those that had to wait begin to be served; in order of arrival, so non-decreasing.
    waiting: VecDeque<u64>,
    /// Last arrival, to hold the caller to its order.
    last_ns: u64,
    peak: u64,
    /// Service of all that were admitted.
    promised_ns: u128,
}

impl Queue {
    /// An empty queue; `bound` is how many may wait (not counting those in service), `None` for
    /// any number, 0 for a loss system.
    #[must_use]
    pub fn new(workers: NonZeroU32, bound: Option<u64>) -> Self {
        Self {
            workers: workers.get() as usize,
            bound,
            stall: None,
            busy: BinaryHeap::new(),
            waiting: VecDeque::new(),
            last_ns: 0,
            peak: 0,
            promised_ns: 0,
        }
    }

    /// The same queue, frozen now and then.
    #[must_use]
    pub fn stalling(mut self, stall: Stall) -> Self {
        self.stall = Some(stall);
        self
    }

    /// A request arrives at `at_ns` that needs `service_ns` of one worker.
    ///
    /// Instants may not go backwards: an earlier one is taken as the latest seen so far.
    pub fn arrive(&mut self, at_ns: u64, service_ns: u64) -> Admission {
        debug_assert!(at_ns >= self.last_ns, "arrival at {at_ns} after one at {}", self.last_ns);
        self.last_ns = self.last_ns.max(at_ns);
        let now = self.catch_up(self.last_ns);
        let start = if self.busy.len() < self.workers {
            now
        } else {
            if self.bound.is_some_and(|bound| self.waiting.len() as u64 >= bound) {
                return Admission::Refused;
            }
            let Some(Reverse(free)) = self.busy.pop() else { unreachable!("a queue has workers") };
            self.waiting.push_back(free);
            free
        };
        let end = start.saturating_add(service_ns);
        self.busy.push(Reverse(end));
        self.promised_ns += u128::from(service_ns);
        self.peak = self.peak.max(self.len());
        Admission::Served(Departure { start_ns: self.instant(start), depart_ns: self.instant(end) })
    }

    /// How many are in the system, waiting or in service, as of the last arrival.
    fn len(&self) -> u64 {
        (self.busy.len() + self.waiting.len()) as u64
    }

    /// How many are in service and how many wait at `at_ns`, at or after the last arrival.
    pub fn at_hand(&mut self, at_ns: u64) -> (u64, u64) {
        self.catch_up(at_ns);
        (self.busy.len() as u64, self.waiting.len() as u64)
    }

    /// Greatest number that were in the system at once, waiting or in service.
    #[must_use]
    pub fn peak(&self) -> u64 {
        self.peak
    }

    /// Work done by `at_ns` by all workers together, nanoseconds; at or after the last arrival.
    #[must_use]
    pub fn worked_ns(&self, at_ns: u64) -> u128 {
        let now = self.stall.map_or(at_ns, |stall| stall.working(at_ns));
        let left = |&Reverse(end): &Reverse<u64>| u128::from(end.saturating_sub(now));
        self.promised_ns - self.busy.iter().map(left).sum::<u128>()
    }

    /// Forgets what has departed, and what no longer waits, by the instant; returns its working
    /// time. In a stall, what would end at its very beginning is still there.
    fn catch_up(&mut self, at_ns: u64) -> u64 {
        let (now, frozen) = match self.stall {
            Some(stall) => (stall.working(at_ns), stall.is_frozen(at_ns)),
            None => (at_ns, false),
        };
        let is_past = |instant: u64| instant < now || (instant == now && !frozen);
        while self.busy.peek().is_some_and(|&Reverse(end)| is_past(end)) {
            self.busy.pop();
        }
        while self.waiting.front().is_some_and(|&start| is_past(start)) {
            self.waiting.pop_front();
        }
        now
    }

    fn instant(&self, working_ns: u64) -> u64 {
        self.stall.map_or(working_ns, |stall| stall.instant(working_ns))
    }
}
