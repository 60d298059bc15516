//! Open instances by how many requests they have: which of them have the fewest, and the first of
//! those.
//!
//! Up to 64 instances each number of requests has a word with a bit an instance: an instance that
//! gains or loses a request changes two words, and the first of the least is found by counting
//! zeros. More instances are in a [`Winner`] tree.

use super::winner::Winner;

/// The open instances.
pub(super) enum Levels {
    /// Up to 64.
    Few {
        /// For each number of requests, the instances that have so many.
        having: Vec<u64>,
        /// No instance has fewer requests.
        fewest: usize,
        open: u64,
    },
    /// Any number; an instance's time is the number of its requests.
    Many { tree: Winner, open: Vec<bool> },
}

/// Instances of a word.
const FEW: usize = 64;

impl Levels {
    /// None is open.
    pub(super) fn new() -> Self {
        Self::Few { having: Vec::new(), fewest: 0, open: 0 }
    }

    /// Takes in an instance that is not there, with so many requests.
    pub(super) fn open(&mut self, slot: usize, present: u32) {
        if slot >= FEW {
            self.grow(slot + 1);
        }
        match self {
            Self::Few { having, fewest, open } => {
                *open |= 1 << slot;
                enter(having, fewest, 1 << slot, present);
            }
            Self::Many { tree, open } => {
                open[slot] = true;
                tree.set(slot, Some(u64::from(present)));
            }
        }
    }

    /// Takes out an instance that is there.
    pub(super) fn close(&mut self, slot: usize, present: u32) {
        match self {
            Self::Few { having, open, .. } => {
                having[present as usize] &= !(1 << slot);
                *open &= !(1 << slot);
            }
            Self::Many { tree, open } => {
                tree.set(slot, None);
                open[slot] = false;
            }
        }
    }

    /// An instance, open or not, has another number of requests.
    #[inline(always)]
    pub(super) fn change(&mut self, slot: usize, from: u32, to: u32) {
        match self {
            Self::Few { having, fewest, open } => {
                // None of a closed one, which is of no level.
                let bit = *open & 1 << (slot % FEW);
                having[from as usize] ^= bit;
                enter(having, fewest, bit, to);
            }
            Self::Many { tree, open } if open[slot] => tree.set(slot, Some(u64::from(to))),
            Self::Many { .. } => {}
        }
    }

    /// The first instance of those with the fewest requests, and how many it has.
    #[inline(always)]
    pub(super) fn least(&mut self) -> Option<(usize, u32)> {
        match self {
            Self::Few { having, fewest, .. } => {
                while let Some(&slots) = having.get(*fewest) {
                    if slots != 0 {
                        #[expect(clippy::cast_possible_truncation, reason = "was a u32")]
                        let present = *fewest as u32;
                        return Some((slots.trailing_zeros() as usize, present));
                    }
                    *fewest += 1;
                }
                None
            }
            Self::Many { tree, .. } => {
                let (slot, present) = tree.come(u64::from(u32::MAX))?;
                u32::try_from(present).ok().map(|present| (slot, present))
            }
        }
    }

    /// Makes room for more instances than a word has bits.
    fn grow(&mut self, slots: usize) {
        if let Self::Few { having, open, .. } = self {
            let mut tree = Winner::new(slots);
            for (level, &there) in having.iter().enumerate() {
                for slot in (0..FEW).filter(|slot| there >> slot & 1 == 1) {
                    tree.set(slot, Some(level as u64));
                }
            }
            let open = (0..slots).map(|slot| slot < FEW && *open >> slot & 1 == 1).collect();
            *self = Self::Many { tree, open };
        }
        if let Self::Many { tree, open } = self
            && slots > open.len()
        {
            tree.grow(slots);
            open.resize(slots, false);
        }
    }
}

/// Puts the instance of a bit, if any, at a level.
#[inline(always)]
fn enter(having: &mut Vec<u64>, fewest: &mut usize, bit: u64, present: u32) {
    let level = present as usize;
    if let Some(slots) = having.get_mut(level) {
        *slots |= bit;
    } else {
        enter_higher(having, level, bit);
    }
    // A level of a closed one may be empty: those are gone over where the least is looked for.
    *fewest = level.min(*fewest);
}

/// The same at a level that no instance was at before.
#[cold]
fn enter_higher(having: &mut Vec<u64>, level: usize, bit: u64) {
    having.resize(level + 1, 0);
    having[level] = bit;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_of_the_least_is_found_among_few_and_many(
            slots in prop_oneof![1usize..9, 60usize..140],
            steps in prop::collection::vec((0usize..200, 0u32..4), 1..300),
        ) {
            let mut levels = Levels::new();
            let (mut present, mut open) = (vec![0_u32; slots], vec![false; slots]);
            for (slot, what) in steps {
                let slot = slot % slots;
                let before = present[slot];
                match what {
                    0 if open[slot] => {
                        levels.close(slot, before);
                        open[slot] = false;
                    }
                    0 => {
                        levels.open(slot, before);
                        open[slot] = true;
                    }
                    // One that was never open has no requests, and its place may be unknown.
                    _ if !open[slot] => {}
                    1 if before > 0 => {
                        present[slot] -= 1;
                        levels.change(slot, before, before - 1);
                    }
                    _ => {
                        present[slot] += 1;
                        levels.change(slot, before, before + 1);
                    }
                }
                let opened = (0..slots).filter(|&slot| open[slot]);
                let wanted = opened.map(|slot| (present[slot], slot)).min();
                prop_assert_eq!(levels.least(), wanted.map(|(present, slot)| (slot, present)));
            }
        }
    }
}
