//! FIFO: what came first leaves first, asked for again or not.

use crate::prefetch::fetch;

use super::ring::Ring;
use super::{Eviction, Gone, Input, Room, SettingError, Sizes};

/// One byte an object: whether it is inside.
#[derive(Debug)]
pub(super) struct Fifo {
    inside: Vec<bool>,
    queue: Ring,
    used: u64,
    capacity: u64,
}

impl Eviction for Fifo {
    const NAME: &'static str = "fifo";
    const ABOUT: &'static str = "first in, first out";

    fn new(room: &Room<'_>) -> Result<Self, SettingError> {
        let inside = vec![false; room.objects];
        Ok(Self { inside, queue: Ring::new(), used: 0, capacity: room.capacity })
    }

    #[inline(always)]
    fn hit<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize) -> bool {
        self.inside[input.requests[at] as usize]
    }

    #[inline(always)]
    fn insert<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize, gone: &mut impl Gone) {
        let object = input.requests[at];
        let size = input.size(object);
        if size > self.capacity {
            return;
        }
        while self.used > self.capacity - size {
            let Some(victim) = self.queue.pop() else { break };
            self.queue.prefetch(&self.inside);
            self.inside[victim as usize] = false;
            self.used -= input.size(victim);
            gone.gone(victim);
        }
        self.used += size;
        self.inside[object as usize] = true;
        self.queue.push(object);
    }

    fn contains(&self, object: u32) -> bool {
        self.inside[object as usize]
    }

    #[inline(always)]
    fn prefetch(&self, object: u32) {
        fetch(&self.inside, object);
    }

    fn memory_bytes(&self) -> usize {
        self.inside.capacity() + self.queue.memory_bytes()
    }
}
