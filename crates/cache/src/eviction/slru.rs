//! SLRU, segmented LRU (Karedla, Love and Wherry, IEEE Computer 27(3), 1994).
//!
//! As libCacheSim has it: four segments of a quarter each (`segments` sets another number). An
//! object moves up by one segment with each request. A new one goes to the lowest segment that has
//! room; while the cache fills, that may be the highest. What leaves is the oldest of the lowest
//! segment that is not empty. An object larger than one segment is refused.

use plimsoll_units::parameter::{Parameter, Takes};

use super::queues::Queues;
use super::segments::{MOST, Segments};
use super::{Eviction, Gone, Input, Room, SettingError, Sizes};

#[derive(Debug)]
pub(super) struct Slru {
    queues: Queues<MOST>,
    segments: Segments,
    /// What left at a hit, and was not told yet.
    left: Vec<u32>,
    used: u64,
    capacity: u64,
}

/// How many segments there are.
const SEGMENTS: Parameter =
    Parameter::new("segments", Takes::Count(1, MOST as u64), "4", "How many segments there are.");

impl Eviction for Slru {
    const NAME: &'static str = "slru";
    const ABOUT: &'static str =
        "segmented LRU (Karedla et al., 1994); segments=4, up to 8; no object above one segment";
    const PARAMETERS: &'static [Parameter] = &[SEGMENTS];

    fn new(room: &Room<'_>) -> Result<Self, SettingError> {
        let count = room.settings.number(&SEGMENTS)?;
        let rooms: Vec<u64> = (0..count).map(|_| room.capacity / count).collect();
        Ok(Self {
            queues: Queues::new(room.objects),
            segments: Segments::new(&rooms),
            left: Vec::new(),
            used: 0,
            capacity: room.capacity,
        })
    }

    #[inline(always)]
    fn hit<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize) -> bool {
        let object = input.requests[at];
        let Some(segment) = self.queues.queue_of(object) else { return false };
        let before = self.left.len();
        self.segments.ask(&mut self.queues, input, (segment, object), &mut self.left);
        for &left in &self.left[before..] {
            self.used -= input.size(left);
        }
        true
    }

    #[inline(always)]
    fn insert<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize, gone: &mut impl Gone) {
        self.settle(gone);
        let object = input.requests[at];
        let size = input.size(object);
        if size > self.capacity || size > self.segments.largest() {
            return;
        }
        while self.used > self.capacity - size {
            let Some(victim) = self.segments.victim(&mut self.queues) else { break };
            let freed = input.size(victim);
            self.queues.take(victim, freed);
            self.used -= freed;
            gone.gone(victim);
        }
        self.used += size;
        self.segments.insert(&mut self.queues, object, size);
    }

    #[inline(always)]
    fn settle(&mut self, gone: &mut impl Gone) {
        self.left.drain(..).for_each(|object| gone.gone(object));
    }

    fn contains(&self, object: u32) -> bool {
        self.queues.queue_of(object).is_some()
    }

    #[inline(always)]
    fn prefetch(&self, object: u32) {
        self.queues.prefetch(object);
    }

    fn memory_bytes(&self) -> usize {
        self.queues.memory_bytes() + self.left.capacity() * size_of::<u32>()
    }
}
