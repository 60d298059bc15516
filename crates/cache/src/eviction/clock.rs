//! CLOCK, also "second chance" (Corbató, "A paging experiment with the Multics system", 1968): a
//! queue whose front leaves, unless it was asked for since it came there; then it goes to the back.
//!
//! The setting `bits` gives each object a counter of so many bits instead of one bit, which is
//! counted down each time that the object goes to the back (generalised CLOCK: Smith, 1978).

use plimsoll_units::parameter::{Parameter, Takes};

use crate::prefetch::fetch;

use super::ring::Ring;
use super::{Eviction, Gone, Input, Room, SettingError, Sizes};

const ABSENT: u8 = 0;
const INSIDE: u8 = 1;

#[derive(Debug)]
pub(super) struct Clock {
    /// 0 for what is absent, else 1 and how often it may still go to the back.
    state: Vec<u8>,
    queue: Ring,
    most: u8,
    used: u64,
    capacity: u64,
}

/// How many bits each counter has.
const BITS: Parameter =
    Parameter::new("bits", Takes::Count(1, 7), "1", "How many bits each counter has.");

impl Eviction for Clock {
    const NAME: &'static str = "clock";
    const ABOUT: &'static str =
        "a queue with a second chance (Corbató, 1968); bits=1 to 7 of its counters";
    const PARAMETERS: &'static [Parameter] = &[BITS];

    fn new(room: &Room<'_>) -> Result<Self, SettingError> {
        let bits = room.settings.number(&BITS)?;
        Ok(Self {
            state: vec![ABSENT; room.objects],
            queue: Ring::new(),
            most: 1 << bits,
            used: 0,
            capacity: room.capacity,
        })
    }

    #[inline(always)]
    fn hit<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize) -> bool {
        let state = &mut self.state[input.requests[at] as usize];
        let inside = *state != ABSENT;
        // Without a branch: what is absent, or counted to the end, stays as it is.
        *state += u8::from(inside & (*state < self.most));
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
            let Some(front) = self.queue.pop() else { break };
            self.queue.prefetch(&self.state);
            let state = &mut self.state[front as usize];
            *state -= 1;
            if *state == ABSENT {
                self.used -= input.size(front);
                gone.gone(front);
            } else {
                self.queue.push(front);
            }
        }
        self.used += size;
        self.state[object as usize] = INSIDE;
        self.queue.push(object);
    }

    fn contains(&self, object: u32) -> bool {
        self.state[object as usize] != ABSENT
    }

    #[inline(always)]
    fn prefetch(&self, object: u32) {
        fetch(&self.state, object);
    }

    fn memory_bytes(&self) -> usize {
        self.state.capacity() + self.queue.memory_bytes()
    }
}
