//! Segments of a cache, each in the order of use: what is asked for moves up by one, and what a
//! segment cannot hold moves down by one. Segmented LRU (Karedla, Love and Wherry, "Caching
//! strategies to improve disk system performance", IEEE Computer 27(3), 1994) has two; here there
//! may be more, as libCacheSim has it.

use super::queues::Queues;
use super::{Gone, Input, Sizes};

/// The most segments.
pub(super) const MOST: usize = 8;

/// Segments as the first queues of some, from the lowest.
#[derive(Debug)]
pub(super) struct Segments {
    count: usize,
    /// What each may hold.
    rooms: [u64; MOST],
}

impl Segments {
    /// Segments that may hold so much, each one at least.
    pub(super) fn new(rooms: &[u64]) -> Self {
        let mut all = [0; MOST];
        for (room, &wanted) in all.iter_mut().zip(rooms) {
            *room = wanted.max(1);
        }
        Self { count: rooms.len().min(MOST), rooms: all }
    }

    /// The most that an object may take.
    #[inline(always)]
    pub(super) fn largest(&self) -> u64 {
        self.rooms[0]
    }

    /// What is in all segments.
    #[inline(always)]
    pub(super) fn used<const N: usize>(&self, queues: &Queues<N>) -> u64 {
        (0..self.count).map(|segment| queues.used(segment)).sum()
    }

    /// Moves up an object of `from`. Where that makes a segment overflow, its oldest move down,
    /// and at the lowest leave.
    #[inline(always)]
    pub(super) fn ask<const N: usize, S: Sizes>(
        &self,
        queues: &mut Queues<N>,
        input: &Input<'_, S>,
        (from, object): (usize, u32),
        gone: &mut impl Gone,
    ) {
        let to = (from + 1).min(self.count - 1);
        queues.shift(to, object, input.size(object));
        if to != from && queues.used(to) > self.rooms[to] {
            self.cool(to, queues, input, gone);
        }
    }

    /// Has a segment hold no more than it may.
    fn cool<const N: usize, S: Sizes>(
        &self,
        segment: usize,
        queues: &mut Queues<N>,
        input: &Input<'_, S>,
        gone: &mut impl Gone,
    ) {
        while queues.used(segment) > self.rooms[segment] {
            if segment == 0 {
                self.evict(queues, input, gone);
                continue;
            }
            let Some(oldest) = queues.front(segment) else { return };
            queues.shift(segment - 1, oldest, input.size(oldest));
            self.cool(segment - 1, queues, input, gone);
        }
    }

    /// The lowest segment that has room for so much.
    #[inline(always)]
    pub(super) fn with_room<const N: usize>(&self, queues: &Queues<N>, size: u64) -> Option<usize> {
        (0..self.count).find(|&segment| queues.used(segment) + size <= self.rooms[segment])
    }

    /// Puts an object into the lowest segment that has room, or else into the lowest of all.
    #[inline(always)]
    pub(super) fn insert<const N: usize>(&self, queues: &mut Queues<N>, object: u32, size: u64) {
        let segment = self.with_room(queues, size).unwrap_or(0);
        queues.push(segment, object, size);
    }

    /// What leaves next: the oldest of the lowest segment that is not empty.
    #[inline(always)]
    pub(super) fn victim<const N: usize>(&self, queues: &mut Queues<N>) -> Option<u32> {
        let lowest = (0..self.count).find(|&segment| queues.used(segment) > 0)?;
        queues.front(lowest)
    }

    /// Has it leave; whether there was one.
    #[inline(always)]
    pub(super) fn evict<const N: usize, S: Sizes>(
        &self,
        queues: &mut Queues<N>,
        input: &Input<'_, S>,
        gone: &mut impl Gone,
    ) -> bool {
        let Some(victim) = self.victim(queues) else { return false };
        queues.take(victim, input.size(victim));
        gone.gone(victim);
        true
    }
}
