//! A histogram that takes an eighth of the memory, for where there are a thousand of them.
//!
//! The layout is that of [`Histogram`] with a quarter of its buckets: 512 of width 1, then 256 for
//! each doubling, so that the relative error is below 1/256. Each bucket holds whole buckets of the
//! other layout. Extremes, mean and deviation are exact, and two merge exactly.

use super::{Exact, Histogram, MAX_VALUE, square};
use crate::percentiles::{Percentiles, to_us};

/// Buckets of each doubling.
const HALF: usize = 256;
/// The window grows by so many.
const STEP: usize = HALF / 2;
/// How many buckets there are: up to that of [`MAX_VALUE`].
pub(super) const LEN: usize = 2 * HALF + 35 * HALF;

/// Counts of values, in nanoseconds.
#[derive(Debug, Clone, Default)]
pub struct Compact {
    /// The counts of buckets `base..base + counts.len()`; those outside are zero.
    pub(super) counts: Vec<u64>,
    pub(super) base: usize,
    total: u64,
    /// Extremes and sums; `None` while empty.
    pub(super) exact: Option<Exact>,
}

#[inline]
pub(super) fn index_of(value: u64) -> usize {
    // 55 = 63 - 8: the position of the highest bit, less the eight bits of a doubling.
    let shift = 55 - (value | (2 * HALF as u64 - 1)).leading_zeros();
    #[expect(clippy::cast_possible_truncation, reason = "below 512 after the shift")]
    let sub = (value >> shift) as usize;
    shift as usize * HALF + sub
}

/// The greatest value of a bucket.
pub(super) fn highest_at(index: usize) -> u64 {
    if index < 2 * HALF {
        return index as u64;
    }
    let shift = index / HALF - 1;
    (((index - shift * HALF) as u64 + 1) << shift) - 1
}

impl Compact {
    /// Counts one value; values above [`MAX_VALUE`] count as it.
    #[inline]
    pub fn record(&mut self, value: u64) {
        let value = value.min(MAX_VALUE);
        *self.slot(index_of(value)) += 1;
        self.total += 1;
        let (sum, squares) = (u128::from(value), square(value));
        self.widen_by(Exact { min: value, max: value, sum, squares });
    }

    /// Adds every value of another one.
    pub fn add(&mut self, other: &Self) {
        for (at, count) in other.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            *self.slot(other.base + at) += count;
        }
        self.total += other.total;
        other.exact.into_iter().for_each(|exact| self.widen_by(exact));
    }

    fn widen_by(&mut self, new: Exact) {
        self.exact = Some(match self.exact {
            None => new,
            Some(old) => Exact {
                min: old.min.min(new.min),
                max: old.max.max(new.max),
                sum: old.sum.saturating_add(new.sum),
                squares: old.squares.saturating_add(new.squares),
            },
        });
    }

    /// The count of a bucket, for changing it.
    #[inline]
    fn slot(&mut self, index: usize) -> &mut u64 {
        if index.wrapping_sub(self.base) >= self.counts.len() {
            self.widen(index);
        }
        &mut self.counts[index - self.base]
    }

    /// Makes the window hold a bucket.
    #[cold]
    fn widen(&mut self, index: usize) {
        let (from, to) = (index / STEP * STEP, (index + 1).next_multiple_of(STEP));
        if self.counts.is_empty() {
            self.base = from;
        }
        if from < self.base {
            let more = self.base - from;
            self.counts.splice(0..0, std::iter::repeat_n(0, more));
            self.base = from;
        }
        if to > self.base + self.counts.len() {
            self.counts.resize(to - self.base, 0);
        }
    }

    /// How many values were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.total
    }

    /// Its extremes and sums; `None` when empty.
    #[must_use]
    pub fn exact(&self) -> Option<Exact> {
        self.exact
    }

    /// The same as a histogram, in which each value is the greatest of its bucket: no percentile is
    /// below the truth. Sums are exact.
    #[must_use]
    pub fn to_histogram(&self) -> Histogram {
        let mut histogram = Histogram::new();
        for (at, &count) in self.counts.iter().enumerate() {
            histogram.record_n(highest_at(self.base + at), count);
        }
        if let Some(exact) = self.exact {
            (histogram.sum, histogram.squares) = (exact.sum, exact.squares);
        }
        histogram
    }

    /// What [`Self::to_histogram`] has told, with the extremes and sums that it had.
    #[must_use]
    pub fn of(histogram: &Histogram, exact: Option<Exact>) -> Self {
        let mut compact = Self::default();
        for bucket in histogram.buckets() {
            *compact.slot(index_of(bucket.highest().min(MAX_VALUE))) += bucket.count;
        }
        compact.total = histogram.count();
        compact.exact = exact.or(histogram.exact()).filter(|_| compact.total > 0);
        compact
    }

    /// Its percentiles, with exact extremes.
    #[must_use]
    pub fn percentiles(&self) -> Percentiles {
        let mut percentiles = Percentiles::of(&self.to_histogram());
        let Some(exact) = self.exact else { return percentiles };
        let (min, max) = (to_us(exact.min), to_us(exact.max));
        (percentiles.min, percentiles.max) = (Some(min), Some(max));
        for value in percentiles.values_mut().into_iter().flatten() {
            *value = value.min(max);
        }
        percentiles
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_value() -> impl Strategy<Value = u64> {
        prop_oneof![0..600_u64, 0..10_000_000_000_u64, Just(MAX_VALUE), Just(u64::MAX)]
    }

    proptest! {
        #[test]
        fn tells_what_a_histogram_does_less_finely(
            values in prop::collection::vec(any_value(), 1..200),
        ) {
            let (mut compact, mut fine) = (Compact::default(), Histogram::new());
            for value in &values {
                compact.record(*value);
                fine.record(*value);
            }
            prop_assert_eq!(compact.exact(), fine.exact());
            prop_assert_eq!(compact.count(), fine.count());
            let (coarse, percentiles) = (compact.to_histogram(), compact.percentiles());
            for q in [0.01, 0.5, 0.9, 1.0] {
                let (is, was) =
                    (coarse.value_at_quantile(q).unwrap(), fine.value_at_quantile(q).unwrap());
                let most = was + was / 256 + 1;
                prop_assert!((was..=most).contains(&is), "{q}: {is}, {was}");
            }
            let of = Percentiles::of(&fine);
            prop_assert_eq!((percentiles.min, percentiles.max), (of.min, of.max));
            prop_assert_eq!((percentiles.mean, percentiles.stddev), (of.mean, of.stddev));
            let back = Compact::of(&coarse, compact.exact());
            prop_assert_eq!(back.exact(), compact.exact());
            prop_assert!(back.to_histogram().buckets().eq(coarse.buckets()));
        }

        #[test]
        fn merging_is_as_recording_all_in_one(
            values in prop::collection::vec((0..3_usize, any_value()), 0..100),
        ) {
            let mut parts: [Compact; 3] = Default::default();
            let mut whole = Compact::default();
            for (part, value) in values {
                parts[part].record(value);
                whole.record(value);
            }
            let mut sum = Compact::default();
            parts.iter().for_each(|part| sum.add(part));
            prop_assert_eq!(sum.exact(), whole.exact());
            prop_assert!(sum.to_histogram().buckets().eq(whole.to_histogram().buckets()));
        }
    }

    #[test]
    fn takes_little() {
        let mut compact = Compact::default();
        assert_eq!(compact.counts.capacity(), 0);
        (1..=10_000).for_each(|us| compact.record(us * 1_000));
        // From 1 µs to 10 ms: fourteen doublings.
        assert!(compact.counts.len() <= 15 * HALF, "{}", compact.counts.len());
    }
}
