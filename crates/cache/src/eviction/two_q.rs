//! 2Q, full version (Johnson and Shasha, VLDB 1994, section 3): what comes in first passes a FIFO
//! queue (`A1in`); what leaves it is remembered for a while (`A1out`), and only what is asked for
//! in that time is kept in an LRU queue (`Am`).
//!
//! As libCacheSim has it: `A1in` of 25% of the capacity, `A1out` remembers 50% of it, and an object
//! larger than `A1in` is refused. What leaves comes from `A1in` where that is above its share, else
//! from `Am`.

use super::queues::Queues;
use super::{Eviction, Gone, Input, Room, SettingError, Sizes};

const A1_IN: usize = 0;
const AM: usize = 1;
const A1_OUT: usize = 2;

#[derive(Debug)]
pub(super) struct TwoQ {
    queues: Queues<3>,
    /// What `A1in` may take before `Am` gives way, and the most that one object may.
    room_in: u64,
    room_out: u64,
    capacity: u64,
}

impl Eviction for TwoQ {
    const NAME: &'static str = "2q";
    const ABOUT: &'static str =
        "FIFO first, LRU for what comes back (Johnson and Shasha, VLDB 1994); no object above 25%";

    fn new(room: &Room<'_>) -> Result<Self, SettingError> {
        Ok(Self {
            queues: Queues::new(room.objects),
            room_in: (room.capacity / 4).max(1),
            room_out: room.capacity / 2,
            capacity: room.capacity,
        })
    }

    #[inline(always)]
    fn hit<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize) -> bool {
        let object = input.requests[at];
        match self.queues.queue_of(object) {
            Some(AM) => {
                self.queues.shift(AM, object, input.size(object));
                true
            }
            queue => queue == Some(A1_IN),
        }
    }

    #[inline(always)]
    fn insert<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize, gone: &mut impl Gone) {
        let object = input.requests[at];
        let size = input.size(object);
        if size > self.room_in {
            return;
        }
        let remembered = self.queues.queue_of(object).is_some();
        self.queues.take(object, size);
        while self.queues.used(A1_IN) + self.queues.used(AM) > self.capacity - size {
            self.evict(input, gone);
        }
        // `Am` has its own limit, which holds also while `A1in` is not full.
        let room_am = self.capacity - self.room_in;
        if remembered && size <= room_am {
            while self.queues.used(AM) > room_am - size {
                self.evict_am(input, gone);
            }
            self.queues.push(AM, object, size);
        } else {
            self.queues.push(A1_IN, object, size);
        }
    }

    fn contains(&self, object: u32) -> bool {
        self.queues.queue_of(object).is_some_and(|queue| queue < A1_OUT)
    }

    #[inline(always)]
    fn prefetch(&self, object: u32) {
        self.queues.prefetch(object);
    }

    fn memory_bytes(&self) -> usize {
        self.queues.memory_bytes()
    }
}

impl TwoQ {
    #[inline(always)]
    fn evict<S: Sizes>(&mut self, input: &Input<'_, S>, gone: &mut impl Gone) {
        if self.queues.used(AM) > 0 && self.queues.used(A1_IN) <= self.room_in {
            self.evict_am(input, gone);
            return;
        }
        let Some(victim) = self.queues.front(A1_IN) else { return };
        let size = input.size(victim);
        gone.gone(victim);
        self.queues.take(victim, size);
        if size > self.room_out {
            return;
        }
        while self.queues.used(A1_OUT) > self.room_out - size {
            let Some(oldest) = self.queues.front(A1_OUT) else { break };
            self.queues.take(oldest, input.size(oldest));
        }
        self.queues.push(A1_OUT, victim, size);
    }

    #[inline(always)]
    fn evict_am<S: Sizes>(&mut self, input: &Input<'_, S>, gone: &mut impl Gone) {
        let Some(victim) = self.queues.front(AM) else { return };
        self.queues.take(victim, input.size(victim));
        gone.gone(victim);
    }
}
