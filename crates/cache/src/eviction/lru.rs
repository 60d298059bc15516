//! LRU: what has not been asked for the longest leaves first.
//!
//! Without lists: the trace itself is the order of use. An object keeps the index of its latest
//! request; the cache holds exactly those whose latest request is not before a moving bound. To
//! evict, the bound walks up the trace to the next request that was the latest of its object: every
//! request is passed once, in sequence. A hit writes four bytes.

use crate::prefetch::fetch;

use super::{Eviction, Gone, Input, Room, SettingError, Sizes};

/// How far ahead of the bound the state of objects is asked from memory.
const AHEAD: usize = 16;

#[derive(Debug)]
pub(super) struct Lru {
    /// For each object one more than the index of its latest request that was taken in; 0 before.
    latest: Vec<u32>,
    /// One more than the index up to which everything has left.
    bound: u32,
    used: u64,
    capacity: u64,
}

impl Eviction for Lru {
    const NAME: &'static str = "lru";
    const ABOUT: &'static str = "least recently used";

    fn new(room: &Room<'_>) -> Result<Self, SettingError> {
        let latest = vec![0; room.objects];
        Ok(Self { latest, bound: 1, used: 0, capacity: room.capacity })
    }

    #[inline(always)]
    fn hit<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize) -> bool {
        let latest = &mut self.latest[input.requests[at] as usize];
        let inside = *latest >= self.bound;
        if inside {
            *latest = mark(at);
        }
        inside
    }

    #[inline(always)]
    fn insert<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize, gone: &mut impl Gone) {
        let object = input.requests[at];
        let size = input.size(object);
        if size > self.capacity {
            return;
        }
        while self.used > self.capacity - size {
            // Something is inside, so its latest request lies ahead of the bound.
            let index = self.bound as usize - 1;
            let oldest = input.requests[index];
            if let Some(&coming) = input.requests.get(index + AHEAD) {
                fetch(&self.latest, coming);
            }
            if self.latest[oldest as usize] == self.bound {
                self.used -= input.size(oldest);
                gone.gone(oldest);
            }
            self.bound += 1;
        }
        self.used += size;
        self.latest[object as usize] = mark(at);
    }

    fn contains(&self, object: u32) -> bool {
        self.latest[object as usize] >= self.bound
    }

    #[inline(always)]
    fn prefetch(&self, object: u32) {
        fetch(&self.latest, object);
    }

    fn memory_bytes(&self) -> usize {
        self.latest.capacity() * size_of::<u32>()
    }
}

/// Indices are below [`crate::trace::NEVER`], so one more fits.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "a trace has fewer than 2^32 - 1 requests")]
fn mark(at: usize) -> u32 {
    at as u32 + 1
}
