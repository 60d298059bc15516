//! What an engine counts: requests, and their response times in the buckets of
//! [`plimsoll_stats::Histogram`].
//!
//! Times are in ticks of [`TICK_NS`] nanoseconds. A bucket of ticks is a bucket of nanoseconds too,
//! as 64 is a power of two and a histogram halves its resolution with each doubling: nothing is
//! rounded twice.
//!
//! An engine may know how a request ends long before it does. A tally counts what ends by its
//! *horizon*, the end of the present tick, at once; what ends after it waits in a heap until the
//! horizon has come that far. So a tick counts the answers that were given in it, and nothing that
//! was only going to happen.

use crate::outcome::Loss;
use plimsoll_stats::Histogram;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A tick of the simulated clock, nanoseconds.
pub const TICK_NS: u64 = 64;

/// Buckets of width one, as in the histogram.
const ONES: usize = 2048;
/// Buckets of each doubling.
const HALF: usize = ONES / 2;
/// Doublings: response times up to 2³⁸ ticks, which are 4.9 hours. Longer ones count as that.
const DOUBLINGS: usize = 27;
pub(crate) const GREATEST: u64 = (1 << (11 + DOUBLINGS)) - 1;
/// No bucket lies beyond: a power of two, so that a mask keeps an index within.
const BUCKETS: usize = 1 << 15;
const _: () = assert!(ONES + DOUBLINGS * HALF <= BUCKETS);

/// Counts of a stretch of time: requests that were due in it, and those that ended in it.
#[derive(Clone)]
pub struct Tally {
    /// Requests due.
    pub offered: u64,
    /// Requests that were lost, by [`Loss`].
    pub lost: [u64; Loss::ALL.len()],
    /// Requests that were served.
    pub served: u64,
    /// Response times of the served ones: their sum, and the least and greatest.
    pub sum: u64,
    /// The least; the greatest number where there is none.
    pub min: u64,
    /// The greatest.
    pub max: u64,
    counts: Box<[u32; BUCKETS]>,
    later: Later,
}

impl Default for Tally {
    fn default() -> Self {
        let counts = vec![0; BUCKETS].into_boxed_slice();
        let counts = counts.try_into().unwrap_or_else(|_| unreachable!("of that length"));
        let lost = [0; Loss::ALL.len()];
        let later = Later { horizon: u64::MAX, ends: BinaryHeap::new() };
        Self { offered: 0, lost, served: 0, sum: 0, min: u64::MAX, max: 0, counts, later }
    }
}

/// How a request is going to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct End {
    at: u64,
    due: u64,
    /// What it is lost to; `None` where it is served.
    loss: Option<Loss>,
}

/// Requests whose end is known and lies after the horizon.
#[derive(Clone)]
pub(super) struct Later {
    horizon: u64,
    /// The earliest first.
    ends: BinaryHeap<Reverse<End>>,
}

impl Later {
    /// Keeps a request that is served after the horizon.
    #[cold]
    #[inline(never)]
    pub(super) fn serve(&mut self, due: u64, at: u64) {
        self.ends.push(Reverse(End { at, due, loss: None }));
    }
}

/// What is summed up over served requests: in registers while requests are offered.
#[derive(Clone, Copy)]
pub(super) struct Sums {
    /// What ends later is not counted yet.
    horizon: u64,
    served: u64,
    sum: u64,
    min: u64,
    max: u64,
}

impl Sums {
    /// Counts one that is served at a time, or keeps it until then.
    #[inline(always)]
    pub(super) fn serve(
        &mut self,
        counts: &mut [u32; BUCKETS],
        later: &mut Later,
        due: u64,
        at: u64,
    ) {
        // Seldom, as most of a tick's requests are served in it.
        if at > self.horizon {
            later.serve(due, at);
            return;
        }
        let response = (at - due).min(GREATEST);
        self.served += 1;
        self.sum += response;
        self.min = self.min.min(response);
        self.max = self.max.max(response);
        counts[bucket_of(response) % BUCKETS] += 1;
    }
}

/// The bucket of a number of ticks.
#[inline(always)]
fn bucket_of(ticks: u64) -> usize {
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

    /// Counts one that is served now.
    #[inline]
    pub fn serve(&mut self, response: u64) {
        let response = response.min(GREATEST);
        self.served += 1;
        self.sum += response;
        self.min = self.min.min(response);
        self.max = self.max.max(response);
        self.counts[bucket_of(response) % BUCKETS] += 1;
    }

    /// Counts one that is served at a time, or keeps it until then.
    #[inline]
    pub(super) fn serve_at(&mut self, due: u64, at: u64) {
        if at > self.later.horizon {
            self.later.serve(due, at);
        } else {
            self.serve(at - due);
        }
    }

    /// Counts one that is lost at a time, or keeps it until then.
    #[inline]
    pub(super) fn lose_at(&mut self, why: Loss, due: u64, at: u64) {
        if at > self.later.horizon {
            self.later.ends.push(Reverse(End { at, due, loss: Some(why) }));
        } else {
            self.lose(why, 1);
        }
    }

    /// Moves the horizon on, and counts what has ended by then. Without a horizon all is counted
    /// as soon as it is known.
    pub fn until(&mut self, horizon: u64) {
        self.later.horizon = horizon;
        while let Some(Reverse(end)) = self.later.ends.peek().copied()
            && end.at <= horizon
        {
            self.later.ends.pop();
            match end.loss {
                None => self.serve(end.at - end.due),
                Some(why) => self.lose(why, 1),
            }
        }
    }

    /// When the requests were due whose end is known and lies after the horizon.
    pub(super) fn waiting(&self) -> impl Iterator<Item = u64> + '_ {
        self.later.ends.iter().map(|Reverse(end)| end.due)
    }

    /// What to count with, until [`Tally::resume`].
    #[inline(always)]
    pub(super) fn running(&mut self) -> (Sums, &mut [u32; BUCKETS], &mut Later) {
        let Self { served, sum, min, max, .. } = *self;
        let horizon = self.later.horizon;
        (Sums { horizon, served, sum, min, max }, &mut *self.counts, &mut self.later)
    }

    /// Takes back what was counted.
    #[inline(always)]
    pub(super) fn resume(&mut self, sums: Sums) {
        let Sums { horizon: _, served, sum, min, max } = sums;
        (self.served, self.sum) = (served, sum);
        (self.min, self.max) = (min, max);
    }

    /// Whether it is time to drain it, lest a bucket overflow.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.served >= 1 << 31
    }

    /// Adds its response times to a histogram of nanoseconds, and begins anew.
    pub fn drain_into(&mut self, histogram: &mut Histogram) {
        if self.min <= self.max {
            let (first, last) = (bucket_of(self.min), bucket_of(self.max));
            // Up to there a bucket of nanoseconds is narrower than a tick.
            for index in first..HALF.min(last + 1) {
                let count = std::mem::take(&mut self.counts[index]);
                histogram.record_n(index as u64 * TICK_NS, u64::from(count));
            }
            if last >= HALF {
                let row = first.max(HALF)..last + 1;
                let (from, least) = (lowest_of(row.start), self.min.max(lowest_of(row.start)));
                let counts = &mut self.counts[row];
                let [from, least, greatest] = [from, least, self.max].map(|ticks| ticks * TICK_NS);
                histogram.add_row(from, counts, least, greatest);
                counts.fill(0);
            }
        }
        (self.offered, self.served, self.sum) = (0, 0, 0);
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
            mut ticks in prop::collection::vec(0u64..1 << 40, 1..200),
            bits in 0u32..38,
        ) {
            ticks.iter_mut().for_each(|ticks| *ticks >>= bits);
            let (mut tally, mut drained, mut direct) =
                (Tally::default(), Histogram::new(), Histogram::new());
            for &t in &ticks {
                tally.serve(t);
                direct.record(t.min(GREATEST) * TICK_NS);
            }
            tally.drain_into(&mut drained);
            prop_assert_eq!((drained.min(), drained.max()), (direct.min(), direct.max()));
            let buckets = |of: &Histogram| -> Vec<(u64, u64)> {
                of.buckets().map(|bucket| (bucket.lowest, bucket.count)).collect()
            };
            prop_assert_eq!(buckets(&drained), buckets(&direct));
            prop_assert_eq!(tally.max, 0);
        }

        #[test]
        fn what_ends_later_is_counted_then(
            ends in prop::collection::vec((0u64..1000, 0u64..1000, any::<bool>()), 0..100),
            mut horizons in prop::collection::vec(0u64..2500, 1..10),
        ) {
            horizons.sort_unstable();
            let mut tally = Tally::default();
            tally.until(0);
            for &(due, response, is_served) in &ends {
                match is_served {
                    true => tally.serve_at(due, due + response),
                    false => tally.lose_at(Loss::ClientTimeout, due, due + response),
                }
            }
            for horizon in horizons {
                tally.until(horizon);
                let by = |is: bool| {
                    let ended = ends.iter().filter(|of| of.2 == is && of.0 + of.1 <= horizon);
                    ended.fold((0, 0), |(count, sum), of| (count + 1, sum + of.1))
                };
                prop_assert_eq!((tally.served, tally.sum), by(true));
                prop_assert_eq!(tally.lost[Loss::ClientTimeout as usize], by(false).0);
                let left = ends.len() as u64 - by(true).0 - by(false).0;
                prop_assert_eq!(tally.waiting().count() as u64, left);
            }
        }
    }
}
