//! SIEVE (Zhang et al., NSDI 2024, algorithm 1): one queue, one bit, and a hand that goes from the
//! oldest to the newest, lets pass what was asked for since it last came, and takes what was not.
//!
//! The queue is kept as two: what the hand has let pass, and what it has still to see. The hand is
//! always at the front of the second; what comes in joins its back. When it is through, the first
//! becomes the second. So both are read and written in sequence, and nothing is linked.

use crate::prefetch::fetch;

use super::ring::Ring;
use super::{Eviction, Gone, Input, Room, SettingError, Sizes};

const ABSENT: u8 = 0;
const INSIDE: u8 = 1;
const VISITED: u8 = 2;

#[derive(Debug)]
pub(super) struct Sieve {
    state: Vec<u8>,
    /// What the hand let pass, in order.
    passed: Ring,
    /// What it will see, and what came in since.
    ahead: Ring,
    used: u64,
    capacity: u64,
}

impl Eviction for Sieve {
    const NAME: &'static str = "sieve";
    const ABOUT: &'static str = "a hand lets pass what was asked for (Zhang et al., NSDI 2024)";

    fn new(room: &Room<'_>) -> Result<Self, SettingError> {
        Ok(Self {
            state: vec![ABSENT; room.objects],
            passed: Ring::new(),
            ahead: Ring::new(),
            used: 0,
            capacity: room.capacity,
        })
    }

    #[inline(always)]
    fn hit<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize) -> bool {
        let state = &mut self.state[input.requests[at] as usize];
        let inside = *state != ABSENT;
        // Without a branch: absent stays absent, all else is visited.
        *state = u8::from(inside) * VISITED;
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
            let Some(met) = self.ahead.pop() else { break };
            self.ahead.prefetch(&self.state);
            let state = &mut self.state[met as usize];
            if *state == VISITED {
                *state = INSIDE;
                self.passed.push(met);
            } else {
                *state = ABSENT;
                self.used -= input.size(met);
                gone.gone(met);
            }
            // At once, so that what comes in next is behind what the hand let pass.
            if self.ahead.is_empty() {
                std::mem::swap(&mut self.ahead, &mut self.passed);
            }
        }
        self.used += size;
        self.state[object as usize] = INSIDE;
        self.ahead.push(object);
    }

    fn contains(&self, object: u32) -> bool {
        self.state[object as usize] != ABSENT
    }

    #[inline(always)]
    fn prefetch(&self, object: u32) {
        fetch(&self.state, object);
    }

    fn memory_bytes(&self) -> usize {
        self.state.capacity() + self.passed.memory_bytes() + self.ahead.memory_bytes()
    }
}
