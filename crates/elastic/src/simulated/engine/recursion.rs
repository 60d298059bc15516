//! Instances that nothing is asked of: a balancer that takes them in turn or by chance, no limits,
//! first come first served.
//!
//! A request begins when it is there and the core that is free first is free: the recursion of
//! J. Kiefer and J. Wolfowitz (Transactions of the American Mathematical Society 78, 1955) over the
//! times at which an instance's cores are free. The least of them is the winner of a tree of losers
//! (D. E. Knuth, *The Art of Computer Programming* 3, 1998, 5.4.1). As it is always the winner that
//! changes, a request plays log₂ of the cores without a branch, and no departure is an event.

use super::balancer::Balancer;
use super::compare::has_vectors;
use super::tally::{Loss, Tally};
use super::{Rules, scaled};
use plimsoll_workload::random::Stream;

/// Bits of a core in a key, below the time at which it is free.
const CORE_BITS: u32 = 8;
const _: () = assert!(super::MOST_CORES <= 1 << CORE_BITS);
/// The latest time of a key: 2⁵⁶ ticks of 64 ns are 146 years.
const LATEST: u64 = (u64::MAX >> CORE_BITS) - 1;
/// The key of a leaf without a core.
const NEVER: u64 = u64::MAX;

/// The state of all instances.
pub(super) struct Recursion {
    balancer: Balancer,
    instances: Vec<Instance>,
    cores: usize,
    now: u64,
    /// How long all requests that were accepted wait for a core, modulo 2⁶⁴.
    waits: u64,
    /// The work of instances that were there before others at their places.
    worked_before: u64,
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "no such vectors"))]
    has_vectors: bool,
}

/// What an instance has to do.
struct Instance {
    /// The winner, and the loser of each match: those of node `k` were won at `2k` and `2k + 1`,
    /// and leaves come last.
    losers: Vec<u64>,
    slowness: u64,
    /// The work that it was given, ticks of cores.
    given: u64,
    starts: Starts,
}

impl Instance {
    /// All cores are free from a time on.
    fn free_from(cores: usize, now: u64, slowness: u64) -> Self {
        let leaves = cores.next_power_of_two();
        let leaf = |core| if core < cores { now << CORE_BITS | core as u64 } else { NEVER };
        let mut winners: Vec<u64> = vec![0; leaves];
        winners.extend((0..leaves).map(leaf));
        let mut losers = vec![0; leaves];
        for node in (1..leaves).rev() {
            let (one, other) = (winners[2 * node], winners[2 * node + 1]);
            (winners[node], losers[node]) = (one.min(other), one.max(other));
        }
        losers[0] = winners[1];
        Self { losers, slowness, given: 0, starts: Starts::new() }
    }

    /// When the core that is free first is free, and which it is.
    #[inline(always)]
    fn first_free(&self) -> (u64, usize) {
        let winner = self.losers[0];
        let core = (winner & ((1 << CORE_BITS) - 1)) as usize;
        (winner >> CORE_BITS, core)
    }

    /// That core is free at another time.
    #[inline(always)]
    fn replace(&mut self, core: usize, at: u64) {
        let mut key = at << CORE_BITS | core as u64;
        let mut node = (self.losers.len() + core) / 2;
        while node > 0 {
            let loser = self.losers[node];
            self.losers[node] = loser.max(key);
            key = loser.min(key);
            node /= 2;
        }
        self.losers[0] = key;
    }

    /// When each core is free.
    fn free(&self) -> impl Iterator<Item = u64> + '_ {
        self.losers.iter().filter(|&&key| key != NEVER).map(|key| key >> CORE_BITS)
    }

    /// The work that it has done up to a time, ticks of cores.
    fn worked(&self, now: u64) -> u64 {
        // It was given all that keeps its cores from being free.
        self.given - self.free().map(|at| at.saturating_sub(now)).sum::<u64>()
    }

    /// Cores that are busy, and requests that wait for one.
    fn present(&self, now: u64) -> u32 {
        let busy = self.free().filter(|&at| at > now).count();
        u32::try_from(busy + self.starts.after(now)).unwrap_or(u32::MAX)
    }
}

/// When the requests that have to wait begin, in a ring: as they come, so they begin.
struct Starts {
    ring: Vec<u64>,
    first: usize,
    len: usize,
}

impl Starts {
    fn new() -> Self {
        Self { ring: vec![0; 16], first: 0, len: 0 }
    }

    /// Keeps a start where it is later than the request came.
    #[inline(always)]
    fn push(&mut self, start: u64, now: u64) {
        let mask = self.ring.len() - 1;
        self.ring[(self.first + self.len) & mask] = start;
        self.len += usize::from(start > now);
        if self.len == self.ring.len() {
            self.make_room(now);
        }
    }

    /// Forgets what has begun; makes the ring larger where that leaves too little room.
    #[cold]
    fn make_room(&mut self, now: u64) {
        let left = self.after(now);
        self.first += self.len - left;
        self.len = left;
        if left > self.ring.len() / 2 {
            let mask = self.ring.len() - 1;
            let kept = (0..left).map(|place| self.ring[(self.first + place) & mask]);
            let mut ring: Vec<u64> = kept.collect();
            ring.resize(2 * self.ring.len(), 0);
            (self.ring, self.first) = (ring, 0);
        }
    }

    /// How many are after a time.
    fn after(&self, now: u64) -> usize {
        self.all_after(now).count()
    }

    /// Those that are after a time, the last first.
    fn all_after(&self, now: u64) -> impl Iterator<Item = u64> + '_ {
        let mask = self.ring.len() - 1;
        let last_first =
            (0..self.len).rev().map(move |place| self.ring[(self.first + place) & mask]);
        last_first.take_while(move |&start| start > now)
    }
}

impl Recursion {
    /// No instance is open.
    pub(super) fn new(rules: &Rules, chance: Stream) -> Self {
        let balancer = Balancer::new(rules.choice, None, chance);
        let (cores, has_vectors) = (rules.cores as usize, has_vectors());
        let (waits, worked_before) = (0, 0);
        Self { balancer, instances: Vec::new(), cores, now: 0, waits, worked_before, has_vectors }
    }

    /// Begins to send requests to an instance that has none.
    pub(super) fn open(&mut self, slot: usize, slowness: u64, now: u64) {
        let cores = self.cores;
        let known = self.instances.len();
        self.instances.extend((known..=slot).map(|_| Instance::free_from(cores, 0, super::ONE)));
        self.worked_before = self.worked_before.wrapping_add(self.instances[slot].given);
        self.instances[slot] = Instance::free_from(cores, now, slowness);
        self.balancer.open_by_speed(slot, slowness);
    }

    /// Changes the speed of an instance, for requests that it accepts from now on.
    pub(super) fn set_slowness(&mut self, slot: usize, slowness: u64) {
        self.instances[slot].slowness = slowness;
    }

    /// Sends no more requests to an instance; it finishes those that it has.
    pub(super) fn close(&mut self, slot: usize) {
        self.balancer.close(slot);
    }

    /// How many requests an instance has.
    pub(super) fn present(&self, slot: usize) -> u32 {
        self.instances.get(slot).map_or(0, |of| of.present(self.now))
    }

    /// When an instance has done all that it was given.
    pub(super) fn done_at(&self, slot: usize) -> u64 {
        self.instances.get(slot).and_then(|of| of.free().max()).unwrap_or(0)
    }

    /// The work that an instance has done since it was opened, up to a time, ticks of cores.
    pub(super) fn worked(&self, slot: usize, now: u64) -> u64 {
        self.instances.get(slot).map_or(0, |of| of.worked(now))
    }

    /// The time that requests were at instances, up to a time, ticks modulo 2⁶⁴: in service, as
    /// long as they were worked on, and waiting.
    pub(super) fn presence(&self, now: u64) -> u64 {
        let worked = self.instances.iter().map(|of| of.worked(now)).fold(0, u64::wrapping_add);
        let waiting = self.instances.iter().flat_map(|of| of.starts.all_after(now));
        let still = waiting.map(|start| start - now).fold(0, u64::wrapping_add);
        self.worked_before.wrapping_add(worked).wrapping_add(self.waits).wrapping_sub(still)
    }

    /// Lets time pass without a request.
    pub(super) fn pass(&mut self, now: u64) {
        self.now = now;
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

    /// The same, made for a machine with vector instructions, and the shifts that come with them.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
    fn offer_avx2(&mut self, due: &[u64], service: &[u64], tally: &mut Tally) {
        self.offer_by(due, service, tally);
    }

    #[inline(always)]
    fn offer_by(&mut self, due: &[u64], service: &[u64], tally: &mut Tally) {
        tally.offered += due.len() as u64;
        let (mut sums, counts, later) = tally.running();
        let (mut lost, mut waits) = (0, self.waits);
        for (&now, &service) in due.iter().zip(service) {
            let Some(slot) = self.balancer.choose() else {
                lost += 1;
                continue;
            };
            let instance = &mut self.instances[slot];
            let (free, core) = instance.first_free();
            let start = free.max(now);
            let work = scaled(service, instance.slowness);
            let at = start.saturating_add(work).min(LATEST);
            instance.replace(core, at);
            instance.starts.push(start, now);
            instance.given += at - start;
            waits = waits.wrapping_add(start - now);
            sums.serve(counts, later, now, at);
        }
        tally.resume(sums);
        tally.lose(Loss::NoSlot, lost);
        self.waits = waits;
        self.now = due.last().copied().unwrap_or(self.now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_core_that_is_free_first_is_found(
            cores in 1usize..40,
            works in prop::collection::vec(0u64..100, 1..200),
        ) {
            let mut instance = Instance::free_from(cores, 7, super::super::ONE);
            let mut free = vec![7; cores];
            for work in works {
                let (at, core) = instance.first_free();
                prop_assert_eq!(Some(&at), free.iter().min());
                instance.replace(core, at + work);
                free[core] += work;
                let (mut said, mut wanted) = (instance.free().collect::<Vec<_>>(), free.clone());
                said.sort_unstable();
                wanted.sort_unstable();
                prop_assert_eq!(said, wanted);
            }
        }

        #[test]
        fn what_waits_is_counted(waits in prop::collection::vec((0u64..40, 0u64..3), 1..400)) {
            let (mut starts, mut all) = (Starts::new(), Vec::new());
            let (mut now, mut latest) = (0, 0);
            for (wait, gap) in waits {
                now += gap;
                latest = latest.max(now + wait);
                starts.push(latest, now);
                all.push(latest);
                prop_assert_eq!(starts.after(now), all.iter().filter(|&&at| at > now).count());
            }
        }
    }
}
