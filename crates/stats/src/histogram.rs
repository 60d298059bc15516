//! The histogram of every latency in a run: the bucket layout of HdrHistogram, fixed at compile
//! time to 1 ns .. 4.9 h at three significant digits.
//!
//! # Layout
//!
//! As G. Tene's HdrHistogram with a lowest discernible value of 1 and 3 significant digits: 2048
//! buckets of width 1, then 1024 buckets for each doubling, of width 2, 4, 8, … So the index of `v`
//! is `b * 1024 + (v >> b)` with `b = max(0, ⌊log2 v⌋ - 10)`, and the relative error is below
//! 1/1024. The layout being fixed, recording is a shift and an add, and two histograms always merge
//! exactly. Least and greatest value, the sum and the sum of squares are kept beside the counts, so
//! that extremes, mean and deviation are those of the values, not of buckets.
//!
//! # Memory
//!
//! An empty histogram owns nothing. Counts are kept for a window of the layout, which grows by
//! whole half buckets (8 KiB) to hold what is recorded and is kept when the histogram is cleared:
//! the times of one service lie within a few doublings, so a histogram takes 50 to 150 KiB instead
//! of the layout's 280, and one that is filled again and again soon allocates no more. Clearing,
//! merging and reading visit the occupied range only.

pub mod codec;
mod compact;
mod exact;
mod numbers;
mod quantiles;

pub use compact::Compact;
pub use exact::Exact;
pub use quantiles::rank;

/// Buckets of width one, and twice the buckets of each further doubling.
const SUB_BUCKETS: usize = 2048;
const HALF: usize = SUB_BUCKETS / 2;
/// Doublings above the first 2048 values; `2^(11 + DOUBLINGS)` ns is 4.9 hours.
const DOUBLINGS: usize = 33;
const LEN: usize = SUB_BUCKETS + DOUBLINGS * HALF;

/// The greatest value that is told apart; larger ones are recorded as this one.
pub const MAX_VALUE: u64 = (1 << (11 + DOUBLINGS)) - 1;

/// Counts of values, in nanoseconds by convention of this project.
#[derive(Clone)]
pub struct Histogram {
    /// The counts of buckets `base..base + counts.len()`; those outside are zero.
    counts: Vec<u64>,
    base: usize,
    total: u64,
    /// Smallest and greatest recorded value; `u64::MAX` and 0 while empty.
    min: u64,
    max: u64,
    /// The sum of the values and of their squares, which the buckets do not tell.
    sum: u128,
    squares: u128,
}

/// A value's square.
#[inline]
fn square(value: u64) -> u128 {
    u128::from(value) * u128::from(value)
}

#[inline]
fn index_of(value: u64) -> usize {
    // 53 = 63 - 10: the position of the highest bit, less the ten bits of a half bucket.
    let shift = 53 - (value | (SUB_BUCKETS as u64 - 1)).leading_zeros();
    #[expect(clippy::cast_possible_truncation, reason = "below 2048 after the shift")]
    let sub = (value >> shift) as usize;
    shift as usize * HALF + sub
}

fn lowest_at(index: usize) -> u64 {
    if index < SUB_BUCKETS {
        return index as u64;
    }
    let shift = index / HALF - 1;
    ((index - shift * HALF) as u64) << shift
}

fn width_at(index: usize) -> u64 {
    if index < SUB_BUCKETS { 1 } else { 1 << (index / HALF - 1) }
}

fn highest_at(index: usize) -> u64 {
    lowest_at(index) + (width_at(index) - 1)
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram.
    #[must_use]
    pub fn new() -> Self {
        Self { counts: Vec::new(), base: 0, total: 0, min: u64::MAX, max: 0, sum: 0, squares: 0 }
    }

    /// Counts one value; values above [`MAX_VALUE`] count as it.
    #[inline]
    pub fn record(&mut self, value: u64) {
        let value = value.min(MAX_VALUE);
        *self.slot(index_of(value)) += 1;
        self.total += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum = self.sum.saturating_add(value.into());
        self.squares = self.squares.saturating_add(square(value));
    }

    /// Counts a value `n` times.
    #[inline]
    pub fn record_n(&mut self, value: u64, n: u64) {
        if n == 0 {
            return;
        }
        let value = value.min(MAX_VALUE);
        *self.slot(index_of(value)) += n;
        self.total += n;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum_up(value, n);
    }

    /// Adds `n` times a value to the sums.
    fn sum_up(&mut self, value: u64, n: u64) {
        let n = u128::from(n);
        self.sum = self.sum.saturating_add(n.saturating_mul(value.into()));
        self.squares = self.squares.saturating_add(n.saturating_mul(square(value)));
    }

    /// The count of a bucket, for changing it.
    #[inline]
    fn slot(&mut self, index: usize) -> &mut u64 {
        if index.wrapping_sub(self.base) >= self.counts.len() {
            self.widen(index, index + 1);
        }
        &mut self.counts[index - self.base]
    }

    /// Makes the window hold buckets `from..to`.
    #[cold]
    fn widen(&mut self, from: usize, to: usize) {
        let (from, to) = (from / HALF * HALF, to.next_multiple_of(HALF));
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

    /// The counts of the occupied range.
    fn occupied_counts(&self) -> &[u64] {
        let range = self.occupied();
        &self.counts[range.start.wrapping_sub(self.base)..range.end.wrapping_sub(self.base)]
    }

    /// The count of a bucket.
    fn count_at(&self, index: usize) -> u64 {
        self.counts.get(index.wrapping_sub(self.base)).copied().unwrap_or(0)
    }

    /// How many values were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.total
    }

    /// Whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Least recorded value, exact; `None` when empty.
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        (self.total > 0).then_some(self.min)
    }

    /// Greatest recorded value, exact; `None` when empty.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        (self.total > 0).then_some(self.max)
    }

    /// Occupied buckets in ascending order: lowest value, width, count.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.all_buckets().filter(|bucket| bucket.count > 0)
    }

    /// The buckets of the occupied range, empty ones too: what sums over them gains more by not
    /// branching on every count than by leaving out zeros.
    fn all_buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.occupied().zip(self.occupied_counts()).map(|(index, &count)| Bucket {
            lowest: lowest_at(index),
            width: width_at(index),
            count,
        })
    }

    /// Adds every count of `other`, exactly.
    pub fn add(&mut self, other: &Self) {
        if other.total == 0 {
            return;
        }
        let range = other.occupied();
        if self.counts.is_empty()
            || range.start < self.base
            || range.end > self.base + self.counts.len()
        {
            self.widen(range.start, range.end);
        }
        let from = range.start - self.base;
        for (mine, theirs) in self.counts[from..].iter_mut().zip(other.occupied_counts()) {
            *mine += theirs;
        }
        self.total += other.total;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum = self.sum.saturating_add(other.sum);
        self.squares = self.squares.saturating_add(other.squares);
    }

    /// Adds counts of neighbouring buckets, the first of which holds the value `from`; of what they
    /// count the least and greatest value. Nothing where there is no count.
    ///
    /// For counts that were kept elsewhere in the same layout: as adding another histogram, but
    /// that the sums take the middle of each bucket, within `least` and `greatest`.
    pub fn add_row(&mut self, from: u64, counts: &[u32], least: u64, greatest: u64) {
        let total = counts.iter().map(|&count| u64::from(count)).sum::<u64>();
        if total == 0 {
            return;
        }
        let first = index_of(from);
        let end = first + counts.len();
        debug_assert!(end <= LEN && (first..end).contains(&index_of(greatest)));
        if self.counts.is_empty() || first < self.base || end > self.base + self.counts.len() {
            self.widen(first, end);
        }
        let row = &mut self.counts[first - self.base..];
        for (mine, &theirs) in row.iter_mut().zip(counts) {
            *mine += u64::from(theirs);
        }
        for (at, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let middle = lowest_at(first + at) + width_at(first + at) / 2;
            self.sum_up(middle.clamp(least, greatest), count.into());
        }
        self.total += total;
        self.min = self.min.min(least);
        self.max = self.max.max(greatest);
    }

    /// Forgets everything; costs the occupied range only.
    pub fn clear(&mut self) {
        if self.total > 0 {
            let range = self.occupied();
            self.counts[range.start - self.base..range.end - self.base].fill(0);
        }
        self.total = 0;
        self.min = u64::MAX;
        self.max = 0;
        (self.sum, self.squares) = (0, 0);
    }

    fn occupied(&self) -> std::ops::Range<usize> {
        if self.total == 0 {
            self.base..self.base
        } else {
            index_of(self.min)..index_of(self.max) + 1
        }
    }
}

/// One occupied bucket of a [`Histogram`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// Least value that falls into the bucket.
    pub lowest: u64,
    /// How many values the bucket holds: `lowest .. lowest + width`.
    pub width: u64,
    /// How many recorded values fell into it.
    pub count: u64,
}

impl Bucket {
    /// The value that stands for the bucket where its own are not known (as HdrHistogram's median
    /// equivalent value).
    #[must_use]
    pub fn middle(&self) -> u64 {
        self.lowest + self.width / 2
    }

    /// Greatest value that falls into the bucket, which percentiles report.
    #[must_use]
    pub fn highest(&self) -> u64 {
        self.lowest + self.width - 1
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.total)
            .field("min", &self.min())
            .field("max", &self.max())
            .finish_non_exhaustive()
    }
}
