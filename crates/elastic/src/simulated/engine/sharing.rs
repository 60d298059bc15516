//! Processor sharing: the requests of an instance share its cores alike, none has more than one.
//!
//! Each instance has a clock of its own that runs as fast as each of its requests is served: with n
//! requests on c cores at the rate min(1, c / n). A request leaves when that clock has gone on by its
//! service time (virtual time; S. F. Yashkov, *Processor-sharing queues*, Queueing Systems 2, 1987).
//! So an arrival changes only when the first of an instance leaves, not the order of the others, and
//! only the first is kept in a [`Winner`] tree.
//!
//! Requests are counted when they leave: until then it is not known when that will be.

use super::Rules;
use super::balancer::Balancer;
use super::tally::{Loss, Tally};
use super::winner::Winner;
use std::collections::VecDeque;

/// A request at an instance.
#[derive(Debug, Clone, Copy)]
struct Held {
    /// The instance's own time at which it leaves.
    leaves: f64,
    due: u64,
    work: u64,
}

/// An instance.
#[derive(Debug, Clone)]
struct Instance {
    /// Its own time, and when that was.
    own: f64,
    at: u64,
    /// What it has, the first to leave last.
    held: Vec<Held>,
    /// Service times are multiplied by this over 2³².
    slowness: u64,
    /// When the last one left.
    done_at: u64,
}

/// The state of all instances and of the balancer.
pub(super) struct Sharing {
    rules: Rules,
    balancer: Balancer,
    first: Winner,
    instances: Vec<Instance>,
    queue: VecDeque<(u64, u64)>,
}

impl Sharing {
    /// Room for so many instances, none of which is open.
    pub(super) fn new(rules: Rules, slots: usize, balancer: Balancer) -> Self {
        let instance =
            Instance { own: 0.0, at: 0, held: Vec::new(), slowness: super::ONE, done_at: 0 };
        let first = Winner::new(slots);
        Self { rules, balancer, first, instances: vec![instance; slots], queue: VecDeque::new() }
    }

    /// Begins to send requests to an instance that has none.
    pub(super) fn open(&mut self, slot: usize, slowness: u64, now: u64) {
        let instance = &mut self.instances[slot];
        (instance.own, instance.at, instance.done_at) = (0.0, now, now);
        instance.slowness = slowness;
        self.balancer.open(slot);
    }

    /// Sends no more requests to an instance; it finishes those that it has.
    pub(super) fn close(&mut self, slot: usize) {
        self.balancer.close(slot);
    }

    /// Ends an instance at once: what it has is lost.
    pub(super) fn fail(&mut self, slot: usize, now: u64, tally: &mut Tally) {
        self.pass(now, tally);
        tally.lose(Loss::InstanceFailed, self.instances[slot].held.len() as u64);
        self.instances[slot].held.clear();
        self.first.set(slot, None);
        self.balancer.close(slot);
        self.balancer.clear(slot);
    }

    pub(super) fn present(&self, slot: usize) -> u32 {
        self.balancer.present(slot)
    }

    /// Requests that wait at the balancer.
    pub(super) fn queued(&self) -> usize {
        self.queue.len()
    }

    /// When the last request of an instance left.
    pub(super) fn done_at(&self, slot: usize) -> u64 {
        self.instances[slot].done_at
    }

    /// Work that was counted and is not yet done: none.
    pub(super) fn backlog() -> u64 {
        0
    }

    /// Offers requests in order, none earlier than what came before.
    pub(super) fn offer(&mut self, due: &[u64], service: &[u64], tally: &mut Tally) {
        tally.offered += due.len() as u64;
        for (&due, &service) in due.iter().zip(service) {
            self.pass(due, tally);
            if self.queue.is_empty()
                && let Some(slot) = self.balancer.choose()
            {
                self.accept(slot, due, service, due);
            } else if self.queue.len() < self.rules.queue_room {
                self.queue.push_back((due, service));
            } else {
                let why = if self.rules.queue_room == 0 { Loss::NoSlot } else { Loss::QueueFull };
                tally.lose(why, 1);
            }
        }
    }

    /// Lets time pass up to and with `now`.
    #[inline]
    pub(super) fn pass(&mut self, now: u64, tally: &mut Tally) {
        while let Some((slot, at)) = self.first.come(now) {
            self.leave(slot, at, tally);
            self.expire(at, tally);
            while let Some(&(due, service)) = self.queue.front() {
                let Some(slot) = self.balancer.choose() else { break };
                self.queue.pop_front();
                self.accept(slot, due, service, at);
            }
        }
        self.expire(now, tally);
    }

    /// Drops what has waited at the balancer for too long.
    fn expire(&mut self, now: u64, tally: &mut Tally) {
        let (most, why) = self.rules.patience();
        while self.queue.front().is_some_and(|(due, _)| now - due >= most) {
            self.queue.pop_front();
            tally.lose(why, 1);
        }
    }

    /// Takes an instance's own time up to now.
    #[inline]
    fn bring(&mut self, slot: usize, now: u64) {
        let cores = f64::from(self.rules.cores);
        let of = &mut self.instances[slot];
        let count = of.held.len() as f64;
        let rate = if count > cores { cores / count } else { 1.0 };
        of.own += (now - of.at) as f64 * rate;
        of.at = now;
    }

    /// Says anew when the first of an instance leaves.
    #[inline]
    fn plan(&mut self, slot: usize) {
        let cores = f64::from(self.rules.cores);
        let of = &self.instances[slot];
        let at = of.held.last().map(|first| {
            let count = of.held.len() as f64;
            let slower = if count > cores { count / cores } else { 1.0 };
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "ticks")]
            let left = ((first.leaves - of.own).max(0.0) * slower).ceil() as u64;
            of.at + left
        });
        self.first.set(slot, at);
    }

    #[inline]
    fn accept(&mut self, slot: usize, due: u64, service: u64, now: u64) {
        self.balancer.add(slot);
        self.bring(slot, now);
        let present = self.balancer.present(slot);
        let of = &mut self.instances[slot];
        let slowness = self.rules.slowdown.at(present, of.slowness);
        #[expect(clippy::cast_possible_truncation, reason = "as long as 13 days")]
        let work = (u128::from(service) * u128::from(slowness) >> 32) as u64;
        let leaves = of.own + work as f64;
        let place = of.held.partition_point(|held| held.leaves >= leaves);
        of.held.insert(place, Held { leaves, due, work });
        self.plan(slot);
    }

    /// The first of an instance leaves.
    #[inline]
    fn leave(&mut self, slot: usize, now: u64, tally: &mut Tally) {
        self.bring(slot, now);
        let of = &mut self.instances[slot];
        of.done_at = now;
        let Some(first) = of.held.pop() else { return };
        if of.held.is_empty() {
            // Sums begin anew, so that they stay exact.
            of.own = 0.0;
        }
        self.balancer.remove(slot);
        self.plan(slot);
        let response = now - first.due;
        if response > self.rules.client_timeout {
            tally.work += first.work;
            tally.lose(Loss::ClientTimeout, 1);
        } else {
            tally.serve(response, first.work);
        }
    }
}
