//! What an engine counts: requests, and their response times in the buckets of
//! [`plimsoll_stats::Histogram`].
//!
//! Times are in ticks of [`TICK_NS`] nanoseconds. A bucket of ticks is a bucket of nanoseconds too,
//! as 64 is a power of two and a histogram halves its resolution with each doubling: nothing is
//! rounded twice.

use plimsoll_stats::Histogram;

/// A tick of the simulated clock, nanoseconds.
pub const TICK_NS: u64 = 64;

/// Buckets of width one, as in the histogram.
const ONES: usize = 2048;
/// Buckets of each doubling.
const HALF: usize = ONES / 2;
/// Doublings: response times up to 2³⁸ ticks, which are 4.9 hours.
const DOUBLINGS: usize = 27;
const BUCKETS: usize = ONES + DOUBLINGS * HALF;
const GREATEST: u64 = (1 << (11 + DOUBLINGS)) - 1;

/// Why a request was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Loss {
    /// No instance had a place, and there is no queue.
    NoSlot,
    /// Nor had the queue.
    QueueFull,
    /// It waited in the queue for too long.
    QueueTimeout,
    /// Its client gave up.
    ClientTimeout,
    /// Its instance failed.
    InstanceFailed,
}

impl Loss {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::NoSlot,
        Self::QueueFull,
        Self::QueueTimeout,
        Self::ClientTimeout,
        Self::InstanceFailed,
    ];

    /// Its name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NoSlot => "no_slot",
            Self::QueueFull => "queue_full",
            Self::QueueTimeout => "queue_timeout",
            Self::ClientTimeout => "client_timeout",
            Self::InstanceFailed => "instance_failed",
        }
    }
}

/// Counts of a stretch of time, by when requests were due.
#[derive(Clone)]
pub struct Tally {
    /// Requests due.
    pub offered: u64,
    /// Requests that were lost, by [`Loss`].
    pub lost: [u64; Loss::ALL.len()],
    /// Requests that were counted as served.
    pub served: u64,
    /// Service that was given to requests, ticks.
    pub work: u64,
    /// Response times of the served ones: their sum, and the least and greatest.
    pub sum: u64,
    /// The least; the greatest number where there is none.
    pub min: u64,
    /// The greatest.
    pub max: u64,
    counts: Box<[u32; BUCKETS]>,
}

impl Default for Tally {
    fn default() -> Self {
        let counts = vec![0; BUCKETS].into_boxed_slice();
        let counts = counts.try_into().unwrap_or_else(|_| unreachable!("of that length"));
        Self { offered: 0, lost: [0; Loss::ALL.len()], served: 0, work: 0, sum: 0, min: u64::MAX, max: 0, counts }
    }
}

/// The bucket of a number of ticks.
#[inline(always)]
fn bucket_of(ticks: u64) -> usize {
    let ticks = ticks.min(GREATEST);
    let shift = 53 - (ticks | (ONES as u64 - 1)).leading_zeros();
    #[expect(clippy::cast_possible_truncation, reason = "below 2048 after the shift")]
    let sub = (ticks >> shift) as usize;
    shift as usize * HALF + sub
}

impl Tally {
    /// Counts some that were lost.
    #[inline(always)]
    pub(crate) fn lose(&mut self, why: Loss, count: u64) {
        self.lost[why as usize] += count;
    }

    /// Counts one that was accepted and is, or will be, served.
    #[inline(always)]
    pub fn serve(&mut self, response: u64, work: u64) {
        self.served += 1;
        self.work += work;
        self.sum += response;
        self.min = self.min.min(response);
        self.max = self.max.max(response);
        self.counts[bucket_of(response)] += 1;
    }

    /// Adds its response times to a histogram of nanoseconds, and begins anew.
    pub fn drain_into(&mut self, histogram: &mut Histogram) {
        if self.min <= self.max {
            let (first, last) = (bucket_of(self.min), bucket_of(self.max));
            for index in first..=last {
                let count = u64::from(std::mem::take(&mut self.counts[index]));
                // The least and the greatest are told exactly.
                if index == last {
                    histogram.record(self.max * TICK_NS);
                }
                let rest = count - u64::from(index == last);
                histogram.record_n(lowest_of(index).max(self.min) * TICK_NS, rest);
            }
        }
        (self.offered, self.served, self.work, self.sum) = (0, 0, 0, 0);
        self.lost = [0; Loss::ALL.len()];
        (self.min, self.max) = (u64::MAX, 0);
    }
}

/// The least number of ticks of a bucket.
fn lowest_of(bucket: usize) -> u64 {
    if bucket < ONES {
        return bucket as u64;
    }
    let shift = bucket / HALF - 1;
    ((bucket - shift * HALF) as u64) << shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_tally_says_the_same_as_a_histogram(
            ticks in prop::collection::vec(0u64..1 << 38, 1..200),
        ) {
            let (mut tally, mut drained, mut direct) =
                (Tally::default(), Histogram::new(), Histogram::new());
            for &t in &ticks {
                tally.serve(t, 0);
                direct.record(t * TICK_NS);
            }
            tally.drain_into(&mut drained);
            prop_assert_eq!((drained.min(), drained.max()), (direct.min(), direct.max()));
            let buckets = |h: &Histogram| h.buckets().map(|b| (b.lowest, b.count)).collect::<Vec<_>>();
            prop_assert_eq!(buckets(&drained), buckets(&direct));
            prop_assert_eq!(tally.max, 0);
        }
    }
}
