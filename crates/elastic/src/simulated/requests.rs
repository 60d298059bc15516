//! Requests in blocks: when they are due and how long their service takes, in ticks.
//!
//! Service times come from a stream of their own, one for each request, lost or not: two policies
//! under one seed see the same requests (common random numbers).

use super::engine::TICK_NS;
use super::variates::Services;
use plimsoll_workload::arrivals::{Arrivals, DueTimes, Share};
use plimsoll_workload::schedule::Schedule;
use plimsoll_workload::service_model::ServiceTime;
use std::sync::Arc;

/// Requests of a block: few enough to leave the first cache to what they come to.
const BLOCK: usize = 256;

/// A stream of requests.
pub struct Requests {
    due: DueTimes,
    services: Services,
    /// The block: when they are due, and their service times, ticks.
    ticks: Box<[u64; BLOCK]>,
    services_of: Box<[u64; BLOCK]>,
    /// What of it is left.
    at: usize,
    len: usize,
}

impl Requests {
    /// The requests of a schedule under a seed.
    #[must_use]
    pub fn new(
        schedule: Arc<Schedule>,
        arrivals: Arrivals,
        service: &ServiceTime,
        seed: u64,
    ) -> Self {
        Self {
            due: DueTimes::new(schedule, arrivals, seed, Share::WHOLE),
            services: Services::new(service, seed),
            ticks: Box::new([0; BLOCK]),
            services_of: Box::new([0; BLOCK]),
            at: 0,
            len: 0,
        }
    }

    /// The same, made without the machine's vector instructions.
    #[must_use]
    pub fn portable(mut self) -> Self {
        self.services = self.services.portable();
        self
    }

    /// The next requests that are due before a time, a block at most, in ticks, with their service
    /// times; empty where there is none. Those in the very tick in which the time lies count as
    /// before it.
    pub fn until(&mut self, end_ns: u64) -> (&[u64], &[u64]) {
        if self.at == self.len {
            self.fill();
        }
        let end = end_ns.div_ceil(TICK_NS);
        let left = &self.ticks[self.at..self.len];
        let count = match left.last() {
            Some(&last) if last < end => left.len(),
            _ => left.partition_point(|&due| due < end),
        };
        let range = self.at..self.at + count;
        self.at += count;
        (&self.ticks[range.clone()], &self.services_of[range])
    }

    fn fill(&mut self) {
        self.len = self.due.fill(&mut self.ticks[..]);
        self.at = 0;
        for due in &mut self.ticks[..] {
            *due /= TICK_NS;
        }
        self.services.fill(&mut self.services_of);
    }
}
