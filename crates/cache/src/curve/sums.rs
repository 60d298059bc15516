//! Sums of what stands behind a place, under additions: a tree of fan-out 16 whose nodes hold, for
//! each child, what was added to the children behind it.
//!
//! A Fenwick tree would take half the additions but a step for each power of two, each waiting for
//! its own line of memory. Here a level is one line, added to by a few vector instructions, and the
//! lines of all levels are known from the place alone, so nothing waits for anything.

use std::ops::{AddAssign, BitAnd};

use crate::prefetch::fetch;

/// Children of a node: 16 of 4 bytes are a line of memory.
const FAN: usize = 16;

/// What can be added up.
pub(super) trait Amount:
    Copy + Default + AddAssign + BitAnd<Output = Self> + 'static
{
    /// All ones for the children before this one, else zeros: adding without a branch.
    fn before(child: usize) -> &'static [Self; FAN];
}

/// The rows of [`Amount::before`] for a type of unsigned numbers.
macro_rules! amount {
    ($number:ty) => {
        impl Amount for $number {
            #[inline(always)]
            fn before(child: usize) -> &'static [Self; FAN] {
                static ROWS: [[$number; FAN]; FAN] = {
                    let mut rows = [[0; FAN]; FAN];
                    let mut cell = 0;
                    while cell < FAN * FAN {
                        let (child, before) = (cell / FAN, cell % FAN);
                        rows[child][before] = if before < child { <$number>::MAX } else { 0 };
                        cell += 1;
                    }
                    rows
                };
                &ROWS[child]
            }
        }
    };
}

amount!(u32);
amount!(u64);

/// Amounts at places, and the sum of those behind any place.
#[derive(Debug)]
pub(super) struct Sums<T> {
    /// Nodes of each level, the finest first; the last level is one node.
    levels: Vec<Vec<[T; FAN]>>,
}

impl<T: Amount> Sums<T> {
    /// Nothing at each of so many places.
    pub(super) fn new(places: usize) -> Self {
        let (mut levels, mut nodes) = (Vec::new(), places.div_ceil(FAN).max(1));
        levels.push(vec![[T::default(); FAN]; nodes]);
        while nodes > 1 {
            nodes = nodes.div_ceil(FAN);
            levels.push(vec![[T::default(); FAN]; nodes]);
        }
        Self { levels }
    }

    /// Adds to a place, and returns what stands at the places behind it.
    #[inline(always)]
    pub(super) fn add(&mut self, place: usize, amount: T) -> T {
        let (mut place, mut behind) = (place, T::default());
        for level in &mut self.levels {
            let (node, child) = (place / FAN, place % FAN);
            let node_sums = &mut level[node];
            behind += node_sums[child];
            // Every child is added to, many of them nothing: no branch, and whole vectors.
            for (sum, &mask) in node_sums.iter_mut().zip(T::before(child)) {
                *sum += amount & mask;
            }
            place = node;
        }
        behind
    }

    /// What stands at the places behind this one.
    #[inline(always)]
    pub(super) fn behind(&self, place: usize) -> T {
        let (mut place, mut behind) = (place, T::default());
        for level in &self.levels {
            behind += level[place / FAN][place % FAN];
            place /= FAN;
        }
        behind
    }

    /// Has memory fetch the line of a place that is likely not to be near.
    #[inline(always)]
    pub(super) fn prefetch(&self, place: u32) {
        #[expect(clippy::cast_possible_truncation, reason = "16")]
        const CHILDREN: u32 = FAN as u32;
        fetch(&self.levels[0], place / CHILDREN);
    }

    /// Nothing at any place again.
    pub(super) fn clear(&mut self) {
        for level in &mut self.levels {
            level.fill([T::default(); FAN]);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sums_are_those_of_a_list(
            places in 1usize..700,
            steps in proptest::collection::vec((any::<u16>(), 0u64..1 << 40), 0..200),
        ) {
            let (mut sums, mut list) = (Sums::new(places), vec![0u64; places]);
            for (place, amount) in steps {
                let place = usize::from(place) % places;
                let behind: u64 = list[place + 1..].iter().sum();
                prop_assert_eq!(sums.behind(place), behind);
                prop_assert_eq!(sums.add(place, amount), behind);
                list[place] += amount;
            }
            sums.clear();
            prop_assert_eq!(sums.behind(0), 0);
        }
    }
}
