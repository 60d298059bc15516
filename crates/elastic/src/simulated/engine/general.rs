//! The general path: any number of instances and cores, every balancer, a queue at the balancer,
//! clients that give up, service that is slower the more there is to do, instances that fail.
//!
//! As on the fast path ([`super::lanes`]) a request's departure is known when an instance accepts it:
//! first come first served, each core knows when it is free; and so it is known whether its client
//! will have given up before. What is kept in order is only the head of each core, in a [`Winner`]
//! tree. Requests are counted when they are accepted; where instances can fail, when they leave.

use super::balancer::Balancer;
use super::tally::{Loss, Tally};
use super::winner::Winner;
use super::Rules;
use std::collections::VecDeque;

/// A request at a core.
#[derive(Debug, Clone, Copy)]
struct Held {
    due: u64,
    /// When it leaves.
    at: u64,
    work: u64,
}

/// A request at the balancer.
#[derive(Debug, Clone, Copy)]
struct Queued {
    due: u64,
    service: u64,
}

/// The state of all instances and of the balancer.
pub(super) struct General {
    rules: Rules,
    balancer: Balancer,
    heads: Winner,
    /// Cores, `rules.cores` for each instance: when it is free, and what it has, the head first.
    free: Vec<u64>,
    held: Vec<VecDeque<Held>>,
    /// Of each instance: service times are multiplied by this over 2³².
    slowness: Vec<u64>,
    queue: VecDeque<Queued>,
    /// Those at instances whose clients will give up before they are served: when, and where.
    leaving: VecDeque<(u64, usize)>,
}

/// A core that is not there is never free.
const NEVER: u64 = u64::MAX;

impl General {
    /// Room for so many instances, none of which is open.
    pub(super) fn new(rules: Rules, slots: usize, balancer: Balancer) -> Self {
        let cores = rules.cores as usize * slots;
        Self {
            rules,
            balancer,
            heads: Winner::new(cores),
            free: vec![NEVER; cores],
            held: vec![VecDeque::new(); cores],
            slowness: vec![1 << 32; slots],
            queue: VecDeque::new(),
            leaving: VecDeque::new(),
        }
    }

    fn cores_of(&self, slot: usize) -> std::ops::Range<usize> {
        let cores = self.rules.cores as usize;
        slot * cores..(slot + 1) * cores
    }

    /// Begins to send requests to an instance that has none.
    pub(super) fn open(&mut self, slot: usize, slowness: u64, now: u64) {
        for core in self.cores_of(slot) {
            self.free[core] = now;
        }
        self.slowness[slot] = slowness;
        self.balancer.open(slot);
    }

    /// Changes the speed of an instance, for requests that it accepts from now on.
    pub(super) fn set_slowness(&mut self, slot: usize, slowness: u64) {
        self.slowness[slot] = slowness;
    }

    /// Sends no more requests to an instance; it finishes those that it has.
    pub(super) fn close(&mut self, slot: usize) {
        self.balancer.close(slot);
    }

    /// Ends an instance at once: what it has is lost.
    pub(super) fn fail(&mut self, slot: usize, now: u64, tally: &mut Tally) {
        self.pass(now, tally);
        self.balancer.close(slot);
        for core in self.cores_of(slot) {
            tally.lose(Loss::InstanceFailed, self.held[core].len() as u64);
            self.held[core].clear();
            self.free[core] = now;
            self.heads.set(core, None);
        }
        // Those whose clients would have given up were counted as that, and are.
        self.leaving.retain(|&(_, of)| of != slot);
        self.balancer.clear(slot);
    }

    pub(super) fn present(&self, slot: usize) -> u32 {
        self.balancer.present(slot)
    }

    /// Requests that wait at the balancer.
    pub(super) fn queued(&self) -> usize {
        self.queue.len()
    }

    /// When an instance has done all that it was given.
    pub(super) fn done_at(&self, slot: usize) -> u64 {
        let cores = &self.free[self.cores_of(slot)];
        cores.iter().copied().filter(|&at| at < NEVER).max().unwrap_or(0)
    }

    /// Work that was accepted and is not yet done at a time, ticks of cores.
    pub(super) fn backlog(&self, now: u64) -> u64 {
        let left = |&at: &u64| if at < NEVER { at.saturating_sub(now) } else { 0 };
        self.free.iter().map(left).sum()
    }

    /// Offers requests in order, none earlier than what came before.
    pub(super) fn offer(&mut self, due: &[u64], service: &[u64], tally: &mut Tally) {
        tally.offered += due.len() as u64;
        for (&due, &service) in due.iter().zip(service) {
            self.pass(due, tally);
            if self.queue.is_empty()
                && let Some(slot) = self.balancer.choose()
            {
                self.accept(slot, Queued { due, service }, due, tally);
            } else if self.queue.len() < self.rules.queue_room {
                self.queue.push_back(Queued { due, service });
            } else {
                let why = if self.rules.queue_room == 0 { Loss::NoSlot } else { Loss::QueueFull };
                tally.lose(why, 1);
            }
        }
    }

    /// Lets time pass up to and with `now`.
    #[inline]
    pub(super) fn pass(&mut self, now: u64, tally: &mut Tally) {
        loop {
            let served = self.heads.come(now);
            let given_up = self.leaving.front().copied().filter(|&(at, _)| at <= now);
            let at = match (served, given_up) {
                (Some((core, at)), up) if up.is_none_or(|(other, _)| at <= other) => {
                    self.leave(core, tally);
                    at
                }
                (_, Some((at, slot))) => {
                    self.leaving.pop_front();
                    self.balancer.remove(slot);
                    at
                }
                (_, None) => break,
            };
            self.dispatch(at, tally);
        }
        self.expire(now, tally);
    }

    /// The head of a core leaves.
    #[inline]
    fn leave(&mut self, core: usize, tally: &mut Tally) {
        let Some(head) = self.held[core].pop_front() else { return };
        self.heads.set(core, self.held[core].front().map(|next| next.at));
        self.balancer.remove(core / self.rules.cores as usize);
        if self.rules.can_fail {
            self.count(head, tally);
        }
    }

    /// Gives what waits at the balancer to an instance with a place.
    fn dispatch(&mut self, now: u64, tally: &mut Tally) {
        self.expire(now, tally);
        while let Some(&first) = self.queue.front() {
            let Some(slot) = self.balancer.choose() else { break };
            self.queue.pop_front();
            self.accept(slot, first, now, tally);
        }
    }

    /// Drops what has waited at the balancer for too long.
    fn expire(&mut self, now: u64, tally: &mut Tally) {
        let (most, why) = self.rules.patience();
        while self.queue.front().is_some_and(|first| now - first.due >= most) {
            self.queue.pop_front();
            tally.lose(why, 1);
        }
    }

    /// An instance takes a request.
    #[inline]
    fn accept(&mut self, slot: usize, of: Queued, now: u64, tally: &mut Tally) {
        self.balancer.add(slot);
        let slowness = self.rules.slowdown.at(self.balancer.present(slot), self.slowness[slot]);
        #[expect(clippy::cast_possible_truncation, reason = "as long as 13 days")]
        let work = (u128::from(of.service) * u128::from(slowness) >> 32) as u64;
        let cores = self.cores_of(slot);
        let first = cores.start;
        let mut core = first;
        for other in cores {
            if self.free[other] < self.free[core] {
                core = other;
            }
        }
        let start = now.max(self.free[core]);
        let gives_up = of.due.saturating_add(self.rules.client_timeout);
        if start >= gives_up {
            self.leaving.push_back((gives_up, slot));
            tally.lose(Loss::ClientTimeout, 1);
            return;
        }
        let held = Held { due: of.due, at: start + work, work };
        self.free[core] = held.at;
        if self.held[core].is_empty() {
            self.heads.set(core, Some(held.at));
        }
        self.held[core].push_back(held);
        if !self.rules.can_fail {
            self.count(held, tally);
        }
    }

    /// Counts a request that an instance served: in time, or for nobody.
    #[inline]
    fn count(&self, held: Held, tally: &mut Tally) {
        let response = held.at - held.due;
        if response > self.rules.client_timeout {
            tally.work += held.work;
            tally.lose(Loss::ClientTimeout, 1);
        } else {
            tally.serve(response, held.work);
        }
    }
}
