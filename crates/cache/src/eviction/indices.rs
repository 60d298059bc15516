//! A set of numbers of which the highest is found at once: a bitmap, with a bit in the next level
//! for each word that is not zero, up to a level of one word. A hundred million numbers have five
//! levels, and all but the lowest two fit the nearest cache.

/// A set of numbers of which the highest is known.
#[derive(Debug, Default)]
pub(super) struct Indices {
    /// One bit a number; then one bit a word of the level before, up to a level of one word.
    levels: Vec<Vec<u64>>,
}

const BITS: usize = 64;

impl Indices {
    /// Whether a number is in the set.
    #[inline(always)]
    pub(super) fn has(&self, number: usize) -> bool {
        let word = self.levels.first().and_then(|level| level.get(number / BITS));
        word.is_some_and(|word| word >> (number % BITS) & 1 == 1)
    }

    /// Adds a number below `all`, which is the same every time.
    #[inline(always)]
    pub(super) fn add(&mut self, number: usize, all: usize) {
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

    /// The highest number, which is no longer in the set.
    #[inline(always)]
    pub(super) fn take_highest(&mut self) -> Option<usize> {
        let mut highest = 0;
        for level in self.levels.iter().rev() {
            let bit = level[highest].checked_ilog2()?;
            highest = highest * BITS + bit as usize;
        }
        let mut at = highest;
        for level in &mut self.levels {
            let word = &mut level[at / BITS];
            *word ^= 1 << (at % BITS);
            if *word != 0 {
                break;
            }
            at /= BITS;
        }
        (!self.levels.is_empty()).then_some(highest)
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

    pub(super) fn memory_bytes(&self) -> usize {
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
