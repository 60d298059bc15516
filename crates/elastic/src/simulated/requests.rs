//! Requests in blocks: when they are due and how long their service takes, in ticks.
//!
//! Service times come from a stream of their own, one for each request, lost or not: two policies
//! under one seed see the same requests (common random numbers).

use super::engine::TICK_NS;
use plimsoll_workload::arrivals::{Arrivals, DueTimes, Share};
use plimsoll_workload::random::Stream;
use plimsoll_workload::schedule::Schedule;
use plimsoll_workload::service_model::ServiceTime;
use std::sync::Arc;

/// Requests of a block.
const BLOCK: usize = 1024;

/// A stream of requests.
pub(super) struct Requests {
    due: DueTimes,
    service: ServiceTime,
    stream: Stream,
    /// The block: due in nanoseconds, and in ticks; service in ticks.
    due_ns: Box<[u64; BLOCK]>,
    ticks: Box<[u64; BLOCK]>,
    services: Box<[u64; BLOCK]>,
    /// What of it is left.
    at: usize,
    len: usize,
}

impl Requests {
    pub(super) fn new(
        schedule: Arc<Schedule>,
        arrivals: Arrivals,
        service: ServiceTime,
        seed: u64,
    ) -> Self {
        Self {
            due: DueTimes::new(schedule, arrivals, seed, Share::WHOLE),
            service,
            stream: Stream::named(seed, "service"),
            due_ns: Box::new([0; BLOCK]),
            ticks: Box::new([0; BLOCK]),
            services: Box::new([0; BLOCK]),
            at: 0,
            len: 0,
        }
    }

    /// The next requests that are due before a time, a block at most; empty where there is none.
    pub(super) fn until(&mut self, end_ns: u64) -> (&[u64], &[u64]) {
        if self.at == self.len {
            self.fill();
        }
        let left = &self.due_ns[self.at..self.len];
        let count = match left.last() {
            Some(&last) if last < end_ns => left.len(),
            _ => left.partition_point(|&due| due < end_ns),
        };
        let range = self.at..self.at + count;
        self.at += count;
        (&self.ticks[range.clone()], &self.services[range])
    }

    fn fill(&mut self) {
        self.len = self.due.fill(&mut self.due_ns[..]);
        self.at = 0;
        for (ticks, due) in self.ticks.iter_mut().zip(&self.due_ns[..self.len]) {
            *ticks = *due / TICK_NS;
        }
        for service in &mut self.services[..self.len] {
            let seconds = self.service.sample(&mut self.stream);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
            let ticks = (seconds * (1e9 / TICK_NS as f64) + 0.5) as u64;
            *service = ticks;
        }
    }
}
