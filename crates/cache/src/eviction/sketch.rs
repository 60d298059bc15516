//! How often objects were asked for, approximately: a counting Bloom filter that is halved from
//! time to time (Einziger, Friedman and Manes, "TinyLFU", ACM Transactions on Storage 13(4), 2017,
//! section 3).
//!
//! The size is that which libCacheSim gives it: for a share of false positives of 0.001, that is
//! 14.4 counters an entry and ten hashes. Every request adds to all ten. Where there are as many
//! entries as objects, a counter for each object says the same without error, in less memory.

use crate::mix::hash;

/// Counters an entry, `-ln(0.001) / ln(2)^2`.
const COUNTERS: f64 = 6.907_755_278_982_137 / 0.480_453_013_918_201_4;

/// Their number times `ln 2`, rounded up.
const HASHES: u32 = 10;

#[derive(Debug)]
pub(super) struct Sketch {
    /// They stop at their greatest.
    counters: Vec<u16>,
    exact: bool,
}

impl Sketch {
    /// For so many entries among so many objects.
    pub(super) fn new(entries: u64, objects: usize) -> Self {
        let exact = entries >= objects as u64;
        #[expect(clippy::cast_precision_loss, reason = "fewer than 2^32")]
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let many = || (libm::ceil(entries as f64 * COUNTERS) as usize).max(2 * HASHES as usize);
        let counters = if exact { objects } else { many() };
        Self { counters: vec![0; counters], exact }
    }

    /// How often an object was asked for, or more.
    #[inline(always)]
    pub(super) fn estimate(&self, object: u32) -> u16 {
        if self.exact {
            return self.counters[object as usize];
        }
        self.places(object).map(|place| self.counters[place]).min().unwrap_or(0)
    }

    /// Counts a request.
    #[inline(always)]
    pub(super) fn add(&mut self, object: u32) {
        if self.exact {
            let counter = &mut self.counters[object as usize];
            *counter = counter.saturating_add(1);
            return;
        }
        for place in self.places(object) {
            let counter = &mut self.counters[place];
            *counter = counter.saturating_add(1);
        }
    }

    /// Halves all counters.
    pub(super) fn halve(&mut self) {
        for counter in &mut self.counters {
            *counter >>= 1;
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.counters.capacity() * size_of::<u16>()
    }

    /// Double hashing: two halves of one hash, the second added for each place.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "halves, and shares of a length")]
    fn places(&self, object: u32) -> impl Iterator<Item = usize> + use<> {
        let hash = hash(u64::from(object) + 1);
        let (first, step) = (hash as u32, (hash >> 32) as u32);
        let counters = self.counters.len() as u64;
        (0..HASHES).map(move |which| {
            let drawn = first.wrapping_add(step.wrapping_mul(which));
            ((u64::from(drawn) * counters) >> 32) as usize
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_at_least_the_count_and_seldom_more() {
        for objects in [500usize, 500_000] {
            let mut sketch = Sketch::new(1000, objects);
            for object in 0..500u32 {
                for _ in 0..object % 7 {
                    sketch.add(object);
                }
            }
            let over = |object: u32| {
                let (estimate, count) = (u32::from(sketch.estimate(object)), object % 7);
                assert!(estimate >= count, "{object}: {estimate}");
                estimate > count
            };
            let wrong = (0..500).filter(|&object| over(object)).count();
            // A share of 0.001 at 1000 entries; here are 500, so far fewer.
            assert!(wrong <= usize::from(objects > 1000) * 2, "{wrong} of 500");
            sketch.halve();
            assert_eq!(sketch.estimate(6), 3);
        }
    }

    #[test]
    fn counters_stop_at_their_greatest() {
        let mut sketch = Sketch::new(1, 10);
        for _ in 0..70_000 {
            sketch.add(3);
        }
        assert_eq!(sketch.estimate(3), u16::MAX);
    }
}
