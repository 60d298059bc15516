//! The earliest of many times: a winner tree (D. E. Knuth, *The Art of Computer Programming* 3,
//! 1998, 5.4.1). A time that changes is played up to the root: log₂ n comparisons without a branch.
//!
//! A node holds a time and its place in one word. So times are relative to a base, and those too
//! late to be told apart are found when the base has moved on: any time can be given.

/// Bits of a place in a key.
const PLACE_BITS: u32 = 24;
/// The most places.
pub(super) const MOST: usize = 1 << PLACE_BITS;
/// Times so long after the base, or longer, are one: 2⁴⁰ ticks of 64 ns are 19 hours.
const FAR: u64 = (1 << (64 - PLACE_BITS)) - 1;
/// The base moves on after so long, and stays so far behind.
const MOVES: u64 = FAR / 2;
const BEHIND: u64 = FAR / 4;
/// The key of a place without a time. One with the greatest time that is told apart is less.
const NEVER: u64 = u64::MAX;

/// Times by place; a place without one has the greatest number.
#[derive(Clone)]
pub(super) struct Winner {
    /// A complete tree: node `k` has the children `2k` and `2k + 1`, which are pair `k`, and leaves
    /// come last. Each holds the earliest time below it with its place in the low bits.
    pairs: Vec<[u64; 2]>,
    root: u64,
    leaves: usize,
    /// The times themselves; [`NEVER`] where there is none.
    times: Vec<u64>,
    base: u64,
}

impl Winner {
    /// So many places, at most [`MOST`], none of which has a time.
    pub(super) fn new(places: usize) -> Self {
        debug_assert!(places <= MOST, "{places} places");
        let leaves = places.max(1).next_power_of_two();
        let (pairs, times) = (vec![[NEVER; 2]; leaves], vec![NEVER; leaves]);
        Self { pairs, root: NEVER, leaves, times, base: 0 }
    }

    /// Makes room for more places; those that are there keep their times.
    pub(super) fn grow(&mut self, places: usize) {
        if places > self.leaves {
            let mut grown = Self::new(places);
            grown.times[..self.leaves].copy_from_slice(&self.times);
            grown.rebase(self.base);
            *self = grown;
        }
    }

    /// Gives a place a time, or none. Times before the last that was looked for are told apart as
    /// far as [`BEHIND`] goes.
    #[inline(always)]
    pub(super) fn set(&mut self, place: usize, at: Option<u64>) {
        self.times[place] = at.unwrap_or(NEVER);
        let (mut node, mut key) = (self.leaves + place, self.key(place));
        while node > 1 {
            let (pair, side) = (&mut self.pairs[node / 2], node % 2);
            pair[side] = key;
            key = key.min(pair[1 - side]);
            node /= 2;
        }
        self.root = key;
    }

    #[inline(always)]
    fn key(&self, place: usize) -> u64 {
        let at = self.times[place];
        if at == NEVER {
            return NEVER;
        }
        at.saturating_sub(self.base).min(FAR) << PLACE_BITS | place as u64
    }

    /// The place with the earliest time, where that is `now` or earlier; of several the first.
    #[inline(always)]
    pub(super) fn come(&mut self, now: u64) -> Option<(usize, u64)> {
        if now.saturating_sub(self.base) > MOVES {
            self.move_on(now);
        }
        let key = self.root;
        let at = key >> PLACE_BITS;
        // Those that are far are not there yet, whatever the time: see `move_on`.
        let gone = now.saturating_sub(self.base).min(FAR - 1);
        #[expect(clippy::cast_possible_truncation, reason = "24 bits")]
        let place = (key & (MOST as u64 - 1)) as usize;
        (at <= gone).then(|| (place, self.base + at))
    }

    /// Moves the base towards the earliest time, or now where that is earlier. Then the earliest is
    /// not far, if it has come at all.
    #[cold]
    fn move_on(&mut self, now: u64) {
        let earliest = self.times.iter().copied().min().unwrap_or(NEVER);
        self.rebase(earliest.min(now).saturating_sub(BEHIND));
    }

    fn rebase(&mut self, base: u64) {
        self.base = base;
        for place in 0..self.leaves {
            let (node, key) = (self.leaves + place, self.key(place));
            self.pairs[node / 2][node % 2] = key;
        }
        for node in (1..self.leaves).rev() {
            let [one, other] = self.pairs[node];
            self.pairs[node / 2][node % 2] = one.min(other);
        }
        self.root = self.pairs[0][1];
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
            let (mut tree, mut times) = (Winner::new(4), [None; 11]);
            for (place, at) in changes {
                tree.grow(place + 1);
                tree.set(place, at);
                times[place] = at;
                let earliest = times.iter().flatten().min().copied();
                let found = tree.clone().come(50);
                prop_assert_eq!(found.map(|(_, at)| at), earliest);
                if let Some((place, at)) = found {
                    prop_assert_eq!(times.iter().position(|&time| time == Some(at)), Some(place));
                    prop_assert!(tree.clone().come(at).is_some());
                    prop_assert!(at == 0 || tree.clone().come(at - 1).is_none());
                }
            }
        }

        #[test]
        fn times_come_in_order_however_far_they_are_apart(
            mut times in prop::collection::vec(0u64..1 << 60, 1..30),
            bits in 0u32..60,
        ) {
            times.iter_mut().for_each(|time| *time >>= bits);
            let mut tree = Winner::new(times.len());
            for (place, &at) in times.iter().enumerate() {
                tree.set(place, Some(at));
            }
            times.sort_unstable();
            for &time in &times {
                if time > 0 {
                    let before = tree.come(time - 1);
                    prop_assert!(before.is_none_or(|(_, at)| at < time), "{before:?} {time}");
                }
                let (place, at) = tree.come(time).unwrap();
                prop_assert_eq!(at, time);
                tree.set(place, None);
            }
            prop_assert_eq!(tree.come(u64::MAX - 1), None);
        }
    }
}
