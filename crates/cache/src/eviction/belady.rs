//! Belady's MIN (Belady, "A study of replacement algorithms for a virtual-storage computer", IBM
//! Systems Journal 5(2), 1966): what is used next the latest leaves first. It always inserts, so it
//! is a bound for policies that always insert, and for objects of one size only.
//!
//! Next uses are indices of requests, and no two objects share one. So what is inside is a set of
//! indices: a bitmap over the trace, with a bit in the next level for each word that is not zero,
//! up to one word. An object is inside at its request exactly where the bit of that request is
//! set, which is read in sequence; the victim is the highest bit. What is never used again stands
//! aside and leaves first, the latest before the others.

use crate::prefetch::fetch;
use crate::trace::NEVER;

use super::{Eviction, Gone, Input, Needs, Room, SettingError, Sizes, index};

#[derive(Debug)]
pub(super) struct Belady {
    /// For each object whether it is inside.
    inside: Vec<bool>,
    coming: Indices,
    /// What is inside, and never used again.
    never: Vec<u32>,
    used: u64,
    capacity: u64,
}

impl Eviction for Belady {
    const NAME: &'static str = "belady";
    const ABOUT: &'static str =
        "what is used next the latest leaves (Belady, 1966); a bound for objects of one size";
    const NEEDS: Needs = Needs { next: true, seconds: false };

    fn new(room: &Room<'_>) -> Result<Self, SettingError> {
        room.settings.only(&[])?;
        Ok(Self {
            inside: vec![false; room.objects],
            coming: Indices::default(),
            never: Vec::new(),
            used: 0,
            capacity: room.capacity,
        })
    }

    #[inline(always)]
    fn hit<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize) -> bool {
        let inside = self.coming.has(at);
        if inside {
            // The bit of this request stays: what is past is below all that is still to come.
            self.note(input, at);
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
            let victim = match self.never.pop() {
                Some(victim) => victim,
                None => match self.coming.take_highest() {
                    Some(latest) => input.requests[latest],
                    None => break,
                },
            };
            if let Some(latest) = self.coming.highest() {
                fetch(input.requests, index(latest));
            }
            self.inside[victim as usize] = false;
            self.used -= input.size(victim);
            gone.gone(victim);
        }
        self.used += size;
        self.inside[object as usize] = true;
        self.note(input, at);
    }

    fn contains(&self, object: u32) -> bool {
        self.inside[object as usize]
    }

    fn memory_bytes(&self) -> usize {
        let never = self.never.capacity() * size_of::<u32>();
        self.inside.capacity() + self.coming.memory_bytes() + never
    }
}

impl Belady {
    #[inline(always)]
    fn note<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize) {
        match input.next[at] {
            NEVER => self.never.push(input.requests[at]),
            next => self.coming.add(next as usize, input.requests.len()),
        }
    }
}

/// A set of numbers of which the highest is known.
#[derive(Debug, Default)]
struct Indices {
    /// One bit a number; then one bit a word of the level before, up to a level of one word.
    levels: Vec<Vec<u64>>,
}

const BITS: usize = 64;

impl Indices {
    #[inline(always)]
    fn has(&self, number: usize) -> bool {
        let word = self.levels.first().and_then(|level| level.get(number / BITS));
        word.is_some_and(|word| word >> (number % BITS) & 1 == 1)
    }

    /// Adds a number below `all`, which is the same every time.
    #[inline(always)]
    fn add(&mut self, number: usize, all: usize) {
        if self.levels.is_empty() {
            self.reserve(all);
        }
        let mut at = number;
        for level in &mut self.levels {
            let word = &mut level[at / BITS];
            let before = std::mem::replace(word, *word | 1 << (at % BITS));
            if before != 0 {
                return;
            }
            at /= BITS;
        }
    }

    #[inline(always)]
    fn highest(&self) -> Option<usize> {
        let mut at = 0;
        for level in self.levels.iter().rev() {
            let bit = level[at].checked_ilog2()?;
            at = at * BITS + bit as usize;
        }
        (!self.levels.is_empty()).then_some(at)
    }

    #[inline(always)]
    fn take_highest(&mut self) -> Option<usize> {
        let highest = self.highest()?;
        let mut at = highest;
        for level in &mut self.levels {
            let word = &mut level[at / BITS];
            *word ^= 1 << (at % BITS);
            if *word != 0 {
                break;
            }
            at /= BITS;
        }
        Some(highest)
    }

    #[cold]
    fn reserve(&mut self, all: usize) {
        let mut words = all;
        loop {
            words = words.div_ceil(BITS).max(1);
            self.levels.push(vec![0; words]);
            if words == 1 {
                return;
            }
        }
    }

    fn memory_bytes(&self) -> usize {
        self.levels.iter().map(|level| level.capacity() * size_of::<u64>()).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_highest_is_the_highest(
            all in prop_oneof![Just(1usize), Just(64), Just(65), Just(5000), Just(300_000)],
            steps in proptest::collection::vec(any::<Option<u32>>(), 0..300),
        ) {
            let (mut indices, mut set) = (Indices::default(), BTreeSet::new());
            for step in steps {
                match step {
                    Some(number) => {
                        let number = number as usize % all;
                        indices.add(number, all);
                        set.insert(number);
                        prop_assert!(indices.has(number));
                    }
                    None => prop_assert_eq!(indices.take_highest(), set.pop_last()),
                }
            }
            prop_assert!((0..all).all(|number| indices.has(number) == set.contains(&number)));
        }
    }
}
