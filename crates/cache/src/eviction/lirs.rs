//! LIRS (Jiang and Zhang, SIGMETRICS 2002, section 3): objects of low inter-reference recency (LIR)
//! are kept; the others (HIR) have 1% of the cache, and become LIR where they are asked for again
//! while they are in the stack `S` of what was asked for since the oldest LIR was.
//!
//! As libCacheSim has it for objects of any size: both kinds have a limit in bytes; an object that
//! is larger than one of the two is refused; a hit on an HIR object outside of the stack makes room
//! among the LIR ones too; the stack holds at most twice the capacity, without the oldest of those
//! objects that have left. A cache of one object has no place for both kinds, and keeps nothing.

use super::queues::Queues;
use super::{Eviction, Gone, Input, Room, SettingError, Sizes};

/// The queue of the HIR objects that are inside, and that of those in the stack that have left.
const RESIDENT: usize = 0;
const LEFT: usize = 1;

#[derive(Debug)]
pub(super) struct Lirs {
    /// `S`: one queue in the order of requests, the bottom at its front.
    stack: Queues<1>,
    /// `Q`, and what is in the stack only.
    others: Queues<2>,
    /// Whether an object has LIR status; it is then inside, and in the stack.
    low: Vec<bool>,
    low_used: u64,
    low_room: u64,
    high_room: u64,
    capacity: u64,
    /// What left at a hit, and was not told yet.
    left: Vec<u32>,
}

impl Eviction for Lirs {
    const NAME: &'static str = "lirs";
    const ABOUT: &'static str =
        "by inter-reference recency (Jiang and Zhang, SIGMETRICS 2002); no object above 1%";

    fn new(room: &Room<'_>) -> Result<Self, SettingError> {
        let high_room = (room.capacity / 100).max(1);
        Ok(Self {
            stack: Queues::new(room.objects),
            others: Queues::new(room.objects),
            low: vec![false; room.objects],
            low_used: 0,
            low_room: room.capacity - high_room,
            high_room,
            capacity: room.capacity,
            left: Vec::new(),
        })
    }

    #[inline(always)]
    fn hit<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize) -> bool {
        let object = input.requests[at];
        if !self.contains(object) {
            return false;
        }
        let mut left = std::mem::take(&mut self.left);
        self.ask(object, input, &mut left);
        self.left = left;
        true
    }

    #[inline(always)]
    fn insert<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize, gone: &mut impl Gone) {
        self.settle(gone);
        let object = input.requests[at];
        let size = input.size(object);
        if size > self.high_room || size > self.low_room {
            return;
        }
        if self.stack.queue_of(object).is_some() {
            // It has left, and is still in the stack: it becomes LIR.
            self.stack.shift(0, object, size);
            self.make_low_room(size, input, gone);
            self.others.take(object, size);
            self.low[object as usize] = true;
            self.low_used += size;
        } else if self.low_used + size <= self.low_room {
            self.stack.push(0, object, size);
            self.low[object as usize] = true;
            self.low_used += size;
        } else {
            self.make_high_room(size, input, gone);
            self.stack.push(0, object, size);
            self.others.push(RESIDENT, object, size);
        }
        self.limit(input);
    }

    #[inline(always)]
    fn settle(&mut self, gone: &mut impl Gone) {
        self.left.drain(..).for_each(|object| gone.gone(object));
    }

    #[inline(always)]
    fn contains(&self, object: u32) -> bool {
        self.low[object as usize] || self.others.queue_of(object) == Some(RESIDENT)
    }

    #[inline(always)]
    fn prefetch(&self, object: u32) {
        crate::prefetch::fetch(&self.low, object);
        self.stack.prefetch(object);
        self.others.prefetch(object);
    }

    fn memory_bytes(&self) -> usize {
        let flags = self.low.capacity() + self.left.capacity() * size_of::<u32>();
        self.stack.memory_bytes() + self.others.memory_bytes() + flags
    }
}

impl Lirs {
    /// A request to an object that is inside.
    #[inline(always)]
    fn ask<S: Sizes>(&mut self, object: u32, input: &Input<'_, S>, gone: &mut impl Gone) {
        let size = input.size(object);
        if self.low[object as usize] {
            self.stack.shift(0, object, size);
            self.prune(input);
        } else if self.stack.queue_of(object).is_some() {
            self.stack.shift(0, object, size);
            self.others.take(object, size);
            self.make_low_room(size, input, gone);
            self.low[object as usize] = true;
            self.low_used += size;
        } else {
            self.others.shift(RESIDENT, object, size);
            self.make_low_room(size, input, gone);
            self.stack.push(0, object, size);
            // What lost LIR status may have crowded it out, where sizes differ.
            if self.others.queue_of(object).is_none() {
                self.others.push(LEFT, object, size);
            }
        }
        self.limit(input);
    }

    /// Takes LIR status from the bottom of the stack until there is room for this much.
    #[inline(always)]
    fn make_low_room<S: Sizes>(&mut self, size: u64, input: &Input<'_, S>, gone: &mut impl Gone) {
        while self.low_used + size > self.low_room {
            // Something is LIR, and has to be at the bottom. It is not yet where the first of them
            // came in above others.
            self.prune(input);
            let Some(bottom) = self.stack.front(0) else { return };
            let freed = input.size(bottom);
            self.stack.take(bottom, freed);
            self.low[bottom as usize] = false;
            self.low_used -= freed;
            self.make_high_room(freed, input, gone);
            self.others.push(RESIDENT, bottom, freed);
            self.prune(input);
        }
    }

    /// Has HIR objects leave until there is room for this much.
    #[inline(always)]
    fn make_high_room<S: Sizes>(&mut self, size: u64, input: &Input<'_, S>, gone: &mut impl Gone) {
        while self.others.used(RESIDENT) + size > self.high_room {
            let Some(oldest) = self.others.front(RESIDENT) else { return };
            let freed = input.size(oldest);
            if self.stack.queue_of(oldest).is_some() {
                self.others.shift(LEFT, oldest, freed);
            } else {
                self.others.take(oldest, freed);
            }
            gone.gone(oldest);
        }
    }

    /// Takes what is not LIR from the bottom of the stack; what is alone in it stays.
    #[inline(always)]
    fn prune<S: Sizes>(&mut self, input: &Input<'_, S>) {
        while self.stack.len(0) > 1 {
            let Some(bottom) = self.stack.front(0) else { return };
            if self.low[bottom as usize] {
                return;
            }
            self.forget(bottom, input);
        }
    }

    /// Has the stack take no more than twice the capacity.
    #[inline(always)]
    fn limit<S: Sizes>(&mut self, input: &Input<'_, S>) {
        while self.stack.used(0) > self.capacity.saturating_mul(2) {
            let Some(oldest) = self.others.front(LEFT) else { return };
            self.forget(oldest, input);
        }
    }

    fn forget<S: Sizes>(&mut self, object: u32, input: &Input<'_, S>) {
        let size = input.size(object);
        self.stack.take(object, size);
        if self.others.queue_of(object) == Some(LEFT) {
            self.others.take(object, size);
        }
    }
}
