//! The general path: a balancer, a queue before it, and instances of some kind behind it.
//!
//! Time goes from one request that leaves an instance to the next; each makes a place that what
//! waits at the balancer may take.

use super::balancer::Balancer;
use super::compare::has_vectors;
use super::queue::{Queue, Request};
use super::tally::Tally;
use super::{Account, Rules};
use plimsoll_workload::random::Stream;

/// What takes requests behind a balancer: instances by their places, slow by a factor over 2³².
pub(super) trait Instances {
    /// Makes room for so many.
    fn grow(&mut self, slots: usize);

    /// An instance that has no requests begins.
    fn open(&mut self, slot: usize, slowness: u64, now: u64);

    /// Changes the speed of an instance, for requests that it accepts from now on.
    fn set_slowness(&mut self, slot: usize, slowness: u64);

    /// An instance takes a request, and has so many with it.
    fn accept(&mut self, slot: usize, request: Request, present: u32, now: u64, tally: &mut Tally);

    /// Lets the next request that has left by `now` go: from where, and when.
    fn leave(&mut self, now: u64, tally: &mut Tally) -> Option<(usize, u64)>;

    /// Lets all that have left by `now` go, in any order, as nothing waits for their places.
    #[inline(always)]
    fn leave_all(&mut self, now: u64, balancer: &mut Balancer, tally: &mut Tally) {
        while let Some((slot, at)) = self.leave(now, tally) {
            balancer.remove(slot, at);
        }
    }

    /// Is told when time goes on to next, before a request is accepted.
    #[inline(always)]
    fn look_ahead(&mut self, _next: u64) {}

    /// An instance loses what it has.
    fn fail(&mut self, slot: usize, now: u64, tally: &mut Tally);

    /// How many requests have ever left a place without being served in time.
    fn lost(&self, slot: usize) -> u64;

    /// When an instance has done all that it was given, as far as that is known.
    fn done_at(&self, slot: usize) -> u64;

    /// The work that an instance has done since it was opened, up to a time by which all who left
    /// have left: ticks of cores.
    fn worked(&self, slot: usize, now: u64) -> u64;

    /// Counts the clients who have given up by now, and whose requests are still there.
    fn settle(&mut self, now: u64, tally: &mut Tally);

    /// Says of each request at an instance whose client waits for it when it was due.
    fn in_flight(&self, tally: &Tally, each: &mut dyn FnMut(u64));
}

/// A balancer and what is before and behind it.
pub(super) struct Dispatcher<I> {
    balancer: Balancer,
    queue: Queue,
    pub(super) instances: I,
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "no such vectors"))]
    has_vectors: bool,
}

impl<I: Instances> Dispatcher<I> {
    /// No instance is open.
    pub(super) fn new(rules: &Rules, instances: I, chance: Stream) -> Self {
        let balancer = Balancer::new(rules.choice, rules.limit, chance);
        Self { balancer, queue: Queue::new(rules), instances, has_vectors: has_vectors() }
    }

    /// Begins to send requests to an instance that has none: first what waits.
    pub(super) fn open(&mut self, slot: usize, slowness: u64, now: u64, tally: &mut Tally) {
        self.instances.grow(slot + 1);
        self.instances.open(slot, slowness, now);
        self.balancer.open_by_speed(slot, slowness);
        self.dispatch(now, tally);
    }

    /// Says what an instance has that was given to it elsewhere.
    pub(super) fn set_present(&mut self, slot: usize, present: u32) {
        for _ in 0..present {
            self.balancer.add(slot, 0);
        }
    }

    /// Says what an instance was given elsewhere: how many requests, and how long they would have
    /// stayed by time zero, if none of those present left.
    pub(super) fn set_given(&mut self, slot: usize, count: u64, stayed: u64) {
        self.balancer.set_given(slot, count, stayed);
    }

    /// How many places there are.
    pub(super) fn places(&self) -> usize {
        self.balancer.places()
    }

    /// What was done at a place, up to a time by which all who left have left.
    pub(super) fn account(&self, slot: usize, now: u64) -> Account {
        let (count, stayed) = self.balancer.account(slot, now);
        let left = count - u64::from(self.balancer.present(slot));
        Account { served: left - self.instances.lost(slot), stayed }
    }

    /// Says of each request whose client waits for it when it was due.
    pub(super) fn in_flight(&self, tally: &Tally, each: &mut dyn FnMut(u64)) {
        self.instances.in_flight(tally, each);
        self.queue.dues().for_each(each);
    }

    /// Sends no more requests to an instance; it finishes those that it has.
    pub(super) fn close(&mut self, slot: usize) {
        self.balancer.close(slot);
    }

    /// Ends an instance at once: what it has is lost.
    pub(super) fn fail(&mut self, slot: usize, now: u64, tally: &mut Tally) {
        self.pass(now, tally);
        self.balancer.close(slot);
        self.balancer.clear(slot, now);
        self.instances.fail(slot, now, tally);
    }

    pub(super) fn present(&self, slot: usize) -> u32 {
        self.balancer.present(slot)
    }

    /// Requests that wait at the balancer.
    pub(super) fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Offers requests in order, none earlier than what came before.
    pub(super) fn offer(&mut self, due: &[u64], service: &[u64], tally: &mut Tally) {
        #[cfg(target_arch = "x86_64")]
        if self.has_vectors {
            #[expect(unsafe_code, reason = "vector instructions")]
            // SAFETY: the machine has them.
            return unsafe { self.offer_avx2(due, service, tally) };
        }
        self.offer_by(due, service, tally);
    }

    /// The same, with what it calls made for a machine with vector instructions.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
    fn offer_avx2(&mut self, due: &[u64], service: &[u64], tally: &mut Tally) {
        self.offer_by(due, service, tally);
    }

    #[inline(always)]
    fn offer_by(&mut self, due: &[u64], service: &[u64], tally: &mut Tally) {
        tally.offered += due.len() as u64;
        let last = due.len().saturating_sub(1);
        for (index, (&t, &service)) in due.iter().zip(service).enumerate() {
            self.pass(t, tally);
            self.instances.look_ahead(due[(index + 1).min(last)]);
            let request = Request { due: t, service };
            if self.queue.is_empty()
                && let Some(slot) = self.balancer.choose()
            {
                self.accept(slot, request, t, tally);
            } else {
                self.queue.push(request, tally);
            }
        }
    }

    /// Lets time pass up to and with `now`. What has waited for too long is lost; where a place
    /// becomes free at that very moment, too.
    #[inline(always)]
    pub(super) fn pass(&mut self, now: u64, tally: &mut Tally) {
        if self.queue.is_empty() {
            self.instances.leave_all(now, &mut self.balancer, tally);
        } else {
            self.pass_queued(now, tally);
        }
    }

    /// The same, where requests wait for the places of those that leave: in their order.
    #[inline(never)]
    fn pass_queued(&mut self, now: u64, tally: &mut Tally) {
        while let Some((slot, at)) = self.instances.leave(now, tally) {
            self.balancer.remove(slot, at);
            if !self.queue.is_empty() {
                self.dispatch(at, tally);
            }
        }
        self.queue.expire(now, tally);
    }

    /// Gives what waits at the balancer to instances with a place.
    #[inline(never)]
    fn dispatch(&mut self, now: u64, tally: &mut Tally) {
        self.queue.expire(now, tally);
        while !self.queue.is_empty()
            && let Some(slot) = self.balancer.choose()
            && let Some(request) = self.queue.pop()
        {
            self.accept(slot, request, now, tally);
        }
    }

    #[inline(always)]
    fn accept(&mut self, slot: usize, request: Request, now: u64, tally: &mut Tally) {
        let present = self.balancer.add(slot, now);
        self.instances.accept(slot, request, present, now, tally);
    }
}
