//! What is read from a histogram: quantiles, counts above a bound, mean, deviation; and taking a
//! part of it away.
//!
//! Quantiles are those of G. Tene's HdrHistogram, against which they are tested, but within the
//! extremes: the value at quantile `q` is the greatest value of the bucket that holds the
//! `⌈q·n⌉`-th smallest recorded value (the first for `q` near 0), and never above the greatest
//! value recorded. So a quantile is never below the true one and less than 0.1% above it. Mean and
//! deviation are those of the values, from their sums.

use super::{Histogram, highest_at, index_of, lowest_at};

/// The rank of quantile `q` among `n` values, counted from 1: `⌈q·n⌉` within `1..=n`.
///
/// `q` is clamped to 0..=1; 0 for `n` = 0. Every quantile in this project goes through here, so a
/// table and a verdict on the same percentile agree.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "n is far below 2^53; the product is between 0 and n"
)]
pub fn rank(q: f64, n: u64) -> u64 {
    ((q.clamp(0.0, 1.0) * n as f64).ceil() as u64).clamp(u64::from(n > 0), n)
}

impl Histogram {
    /// The value at a quantile between 0 and 1: HdrHistogram's, but never above the greatest value
    /// recorded. At exactly 0 it is the least value recorded. `None` when empty.
    #[must_use]
    pub fn value_at_quantile(&self, q: f64) -> Option<u64> {
        if q <= 0.0 {
            return self.min();
        }
        self.value_at_rank(rank(q, self.count()))
    }

    /// The greatest value of the bucket that holds the `rank`-th smallest value, from 1, or the
    /// greatest value recorded where that is less.
    ///
    /// `None` for 0 and for a rank above the count.
    #[must_use]
    pub fn value_at_rank(&self, rank: u64) -> Option<u64> {
        self.values_at_ranks([rank])[0]
    }

    /// [`Self::value_at_rank`] for several ranks in ascending order, in one pass.
    #[must_use]
    pub fn values_at_ranks<const N: usize>(&self, ranks: [u64; N]) -> [Option<u64>; N] {
        debug_assert!(ranks.is_sorted(), "ranks ascend: {ranks:?}");
        let range = self.occupied();
        let counts = self.occupied_counts();
        let (mut at, mut seen) = (0, 0);
        ranks.map(|rank| {
            while seen < rank {
                seen += counts.get(at)?;
                at += 1;
            }
            (rank > 0).then(|| highest_at(range.start + at - 1).min(self.max))
        })
    }

    /// How many recorded values are above `value`, as far as buckets tell: values that share its
    /// bucket do not count, unless every recorded value is above it.
    #[must_use]
    pub fn count_above(&self, value: u64) -> u64 {
        match (self.min(), self.max()) {
            (Some(min), _) if value < min => self.count(),
            (_, Some(max)) if value < max => {
                let range = index_of(value) + 1 - self.occupied().start..;
                self.occupied_counts().get(range).map_or(0, |counts| counts.iter().sum())
            }
            _ => 0,
        }
    }

    /// Takes the counts of `other`, a part of this histogram, away from it.
    ///
    /// Exact by bucket. A bucket of which `other` has more stays at zero: it was no part then. The
    /// least and greatest value are exact only where their bucket is still occupied and nothing of
    /// it was taken; else they are that bucket's bounds. The sums are exact where `other` was a
    /// part; else they take the middle of each bucket.
    pub fn subtract(&mut self, other: &Self) {
        let range = other.occupied();
        if self.is_empty() || range.is_empty() {
            return;
        }
        let before = self.occupied();
        let was_part = (range.start >= before.start && range.end <= before.end)
            && range.clone().all(|index| other.count_at(index) <= self.count_at(index));
        for index in range.start.max(before.start)..range.end.min(before.end) {
            let taken = other.count_at(index).min(self.count_at(index));
            if taken > 0 {
                *self.slot(index) -= taken;
                self.total -= taken;
            }
        }
        let Some(first) = before.clone().find(|&index| self.count_at(index) > 0) else {
            return self.clear();
        };
        let last = before.rev().find(|&index| self.count_at(index) > 0).unwrap_or(first);
        if other.count_at(first) > 0 || first != index_of(self.min) {
            self.min = lowest_at(first);
        }
        if other.count_at(last) > 0 || last != index_of(self.max) {
            self.max = highest_at(last);
        }
        match (self.sum.checked_sub(other.sum), self.squares.checked_sub(other.squares)) {
            (Some(sum), Some(squares)) if was_part => (self.sum, self.squares) = (sum, squares),
            _ => self.sum_buckets(),
        }
    }

    /// The mean of the recorded values; `None` when empty.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a mean is a fraction: rounded once")]
    pub fn mean(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.sum as f64 / self.count() as f64)
    }

    /// The standard deviation of the recorded values (divided by n); `None` when empty.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a deviation is irrational: rounded once")]
    pub fn stddev(&self) -> Option<f64> {
        let mean = self.mean()?;
        let n = u128::from(self.count());
        // In whole numbers as long as they fit: differences of great sums lose their digits.
        let whole = n.checked_mul(self.squares).zip(self.sum.checked_mul(self.sum));
        let variance = match whole {
            Some((squares, square)) => squares.saturating_sub(square) as f64 / n as f64 / n as f64,
            None => (self.squares as f64 / n as f64 - mean * mean).max(0.0),
        };
        Some(variance.sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|&value| histogram.record(value));
        histogram
    }

    #[test]
    fn ranks_by_hand() {
        assert_eq!(rank(0.5, 10), 5);
        assert_eq!(rank(0.5, 11), 6);
        assert_eq!(rank(0.99, 100), 99);
        assert_eq!(rank(0.0, 7), 1);
        assert_eq!(rank(1.0, 7), 7);
        assert_eq!(rank(2.0, 7), 7);
        assert_eq!(rank(f64::NAN, 7), 1);
        assert_eq!(rank(0.5, 0), 0);
    }

    #[test]
    fn quantiles_of_nothing_and_of_few() {
        assert_eq!(Histogram::new().value_at_quantile(0.5), None);
        assert_eq!(Histogram::new().mean(), None);
        assert_eq!(Histogram::new().stddev(), None);
        let h = of(&[10, 20, 30, 40]);
        assert_eq!(h.value_at_quantile(0.0), Some(10));
        assert_eq!(h.value_at_quantile(0.25), Some(10));
        assert_eq!(h.value_at_quantile(0.26), Some(20));
        assert_eq!(h.value_at_quantile(1.0), Some(40));
        assert_eq!(h.values_at_ranks([0, 1, 1, 4, 5]), [None, Some(10), Some(10), Some(40), None]);
        assert_eq!(h.mean(), Some(25.0));
        assert_eq!(h.stddev(), Some(125.0_f64.sqrt()));
    }

    #[test]
    fn counts_above_a_bound() {
        let h = of(&[10, 20, 30, 1_000_000, 1_000_100]);
        assert_eq!(h.count_above(0), 5);
        assert_eq!(h.count_above(10), 4);
        assert_eq!(h.count_above(29), 3);
        // 1,000,000 and 1,000,100 share a bucket of width 512.
        assert_eq!(h.count_above(1_000_000), 0);
        assert_eq!(h.count_above(999_000), 2);
        assert_eq!(h.count_above(u64::MAX), 0);
        assert_eq!(Histogram::new().count_above(5), 0);
    }

    #[test]
    fn takes_a_part_away() {
        let mut h = of(&[10, 20, 20, 30, 5_000_000]);
        h.subtract(&of(&[20, 5_000_000]));
        assert_eq!((h.count(), h.min(), h.max()), (3, Some(10), Some(30)));
        h.subtract(&of(&[10]));
        assert_eq!((h.count(), h.min(), h.max()), (2, Some(20), Some(30)));
        h.subtract(&of(&[20, 20, 30, 40]));
        assert!(h.is_empty() && h.max().is_none() && h.buckets().next().is_none());
    }

    #[test]
    fn bounds_after_taking_from_the_outer_bucket_are_the_buckets() {
        let mut h = of(&[1_000_000, 1_000_100]);
        h.subtract(&of(&[1_000_100]));
        assert_eq!((h.min(), h.max()), (Some(999_936), Some(1_000_447)));
        assert_eq!(h.count(), 1);
    }
}
