//! The earliest of many times: a winner tree (D. E. Knuth, *The Art of Computer Programming* 3,
//! 1998, 5.4.1). A time that changes is played up to the root: log₂ n comparisons without a branch.

/// Times by place; a place without one has the greatest number.
#[derive(Clone)]
pub(super) struct Winner {
    /// A complete tree: node `k` has the children `2k` and `2k + 1`, leaves come last. Each holds
    /// the earliest time below it with its place in the low bits.
    nodes: Vec<u64>,
    leaves: usize,
}

/// Bits of a place in a key.
const PLACE_BITS: u32 = 20;
const NEVER: u64 = u64::MAX;
/// The most places.
pub(super) const MOST: usize = 1 << PLACE_BITS;
/// Times are below this: 2⁴⁴ ticks are 13 days.
pub(super) const LATEST: u64 = 1 << (64 - PLACE_BITS);

impl Winner {
    /// So many places, none of which has a time.
    pub(super) fn new(places: usize) -> Self {
        let leaves = places.max(1).next_power_of_two();
        Self { nodes: vec![NEVER; 2 * leaves], leaves }
    }

    /// Gives a place a time, or none.
    #[inline]
    pub(super) fn set(&mut self, place: usize, at: Option<u64>) {
        let mut node = self.leaves + place;
        self.nodes[node] = at.map_or(NEVER, |at| at << PLACE_BITS | place as u64);
        while node > 1 {
            let least = self.nodes[node].min(self.nodes[node ^ 1]);
            node /= 2;
            self.nodes[node] = least;
        }
    }

    /// The place with the earliest time, where that is `now` or earlier.
    #[inline]
    pub(super) fn come(&self, now: u64) -> Option<(usize, u64)> {
        let key = self.nodes[1];
        let at = key >> PLACE_BITS;
        #[expect(clippy::cast_possible_truncation, reason = "20 bits")]
        let place = (key & (MOST as u64 - 1)) as usize;
        (key != NEVER && at <= now).then_some((place, at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_earliest_is_found_whatever_changes(
            changes in prop::collection::vec((0usize..11, prop::option::of(0u64..50)), 1..100),
        ) {
            let (mut tree, mut times) = (Winner::new(11), [None; 11]);
            for (place, at) in changes {
                tree.set(place, at);
                times[place] = at;
                let earliest = times.iter().flatten().min().copied();
                let found = tree.come(LATEST - 1);
                prop_assert_eq!(found.map(|(_, at)| at), earliest);
                if let Some((place, at)) = found {
                    prop_assert_eq!(times[place], Some(at));
                    prop_assert_eq!(tree.come(at).is_some(), true);
                    prop_assert_eq!(at > 0 && tree.come(at - 1).is_some(), false);
                }
            }
        }
    }
}
