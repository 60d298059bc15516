//! What a histogram knows of its values beyond their buckets, so that it can be kept beside an
//! encoding that has no place for it.

use super::{Histogram, index_of, square};

/// Extremes and sums of the recorded values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exact {
    /// The least value.
    pub min: u64,
    /// The greatest value.
    pub max: u64,
    /// The sum of the values.
    pub sum: u128,
    /// The sum of their squares.
    pub squares: u128,
}

impl Histogram {
    /// Its extremes and sums; `None` when empty.
    #[must_use]
    pub fn exact(&self) -> Option<Exact> {
        let Self { min, max, sum, squares, .. } = *self;
        (!self.is_empty()).then_some(Exact { min, max, sum, squares })
    }

    /// Takes extremes and sums that were kept beside the counts. `false`, and nothing is taken,
    /// where the counts say that they are another histogram's.
    pub fn restore(&mut self, exact: Exact) -> bool {
        let Exact { min, max, sum, squares } = exact;
        let ends = |min: u64, max: u64| (index_of(min), index_of(max));
        if self.is_empty() || min > max || ends(min, max) != ends(self.min, self.max) {
            return false;
        }
        let mut least = (0_u128, 0_u128);
        let mut greatest = (0_u128, 0_u128);
        for bucket in self.buckets() {
            let n = u128::from(bucket.count);
            let (low, high) = (bucket.lowest.max(min), bucket.highest().min(max));
            for (sums, value) in [(&mut least, low), (&mut greatest, high)] {
                sums.0 = sums.0.saturating_add(n.saturating_mul(value.into()));
                sums.1 = sums.1.saturating_add(n.saturating_mul(square(value)));
            }
        }
        let fits =
            (least.0..=greatest.0).contains(&sum) && (least.1..=greatest.1).contains(&squares);
        if fits {
            (self.min, self.max, self.sum, self.squares) = (min, max, sum, squares);
        }
        fits
    }

    /// Sets the sums to what the buckets tell: each value is the middle of its bucket, within the
    /// extremes.
    pub(super) fn sum_buckets(&mut self) {
        let (mut sum, mut squares) = (0_u128, 0_u128);
        for bucket in self.buckets() {
            let n = u128::from(bucket.count);
            let value = bucket.middle().clamp(self.min, self.max);
            sum = sum.saturating_add(n.saturating_mul(value.into()));
            squares = squares.saturating_add(n.saturating_mul(square(value)));
        }
        (self.sum, self.squares) = (sum, squares);
    }
}
