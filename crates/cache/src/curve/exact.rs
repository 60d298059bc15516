//! The exact miss-ratio curve of LRU over all capacities in objects, from one pass.

use crate::eviction::{Narrow, Sizes, Wide};
use crate::prefetch::fetch;
use crate::trace::{SizeTable, Trace};

use super::Misses;
use super::depth::depths;

/// Misses of LRU at every capacity in objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Curve {
    /// For each capacity from 0 up to the greatest depth: requests that hit.
    hits: Vec<u32>,
    /// Their bytes; empty where the trace has no sizes.
    hit_bytes: Vec<u64>,
    requested: Misses,
    first: u64,
}

/// The exact curve of LRU in objects.
///
/// *Shape*: equal, at every capacity, to what [`crate::replay::replay`] of `lru` counts there.
///
/// *Cost*: linear in requests; 8 bytes an object, 32 where it has a size.
///
/// *Source*: Mattson et al. 1970, see `depth.rs`.
///
/// # Example
/// ```
/// use plimsoll_cache::{curve, trace::{Names, Trace}};
/// let trace = Trace::new(vec![0, 1, 0, 2, 1], Names::Numbers(vec![7, 8, 9])).unwrap();
/// let curve = curve::exact(&trace);
/// assert_eq!(curve.at(1).misses, 5);
/// assert_eq!(curve.at(2).misses, 4);
/// assert_eq!(curve.at(3).misses, curve.first());
/// ```
#[must_use]
pub fn exact(trace: &Trace) -> Curve {
    match trace.sizes() {
        None => exact_in_requests(trace),
        Some(SizeTable::Narrow(sizes)) => weighed(trace, Narrow(sizes)),
        Some(SizeTable::Wide(sizes)) => weighed(trace, Wide(sizes)),
    }
}

/// As [`exact`], without bytes: what a trace without sizes would give.
#[must_use]
pub fn exact_in_requests(trace: &Trace) -> Curve {
    // The place of depth 0 takes the first requests.
    let mut hits = vec![0u32; trace.distinct() as usize + 1];
    depths(trace, |block| {
        for met in block {
            fetch(&hits, met.depth);
        }
        for met in block {
            hits[met.depth as usize] += 1;
        }
    });
    hits[0] = 0;
    for capacity in 1..hits.len() {
        hits[capacity] += hits[capacity - 1];
    }
    let requested = Misses { misses: trace.len() as u64, missed_bytes: None };
    Curve { hits, hit_bytes: Vec::new(), requested, first: u64::from(trace.distinct()) }
}

fn weighed(trace: &Trace, sizes: impl Sizes) -> Curve {
    // Side by side: both are written at the same depth.
    let mut hits = vec![(0u32, 0u64); trace.distinct() as usize + 1];
    depths(trace, |block| {
        for met in block {
            fetch(&hits, met.depth);
            sizes.prefetch(met.object);
        }
        for met in block {
            let here = &mut hits[met.depth as usize];
            *here = (here.0 + 1, here.1 + sizes.of(met.object));
        }
    });
    let first_bytes = std::mem::take(&mut hits[0]).1;
    let mut sum = (0, 0);
    let (hits, hit_bytes): (Vec<u32>, Vec<u64>) = hits
        .into_iter()
        .map(|(count, bytes)| {
            sum = (sum.0 + count, sum.1 + bytes);
            sum
        })
        .unzip();
    let bytes = Some(first_bytes + sum.1);
    let requested = Misses { misses: trace.len() as u64, missed_bytes: bytes };
    Curve { hits, hit_bytes, requested, first: u64::from(trace.distinct()) }
}

impl Curve {
    /// Misses of LRU that holds so many objects; all requests where it holds none.
    #[must_use]
    pub fn at(&self, capacity: u64) -> Misses {
        let last = self.hits.len() - 1;
        let place = usize::try_from(capacity).map_or(last, |capacity| capacity.min(last));
        let hit_bytes = self.hit_bytes.get(place).copied().unwrap_or(0);
        Misses {
            misses: self.requested.misses - u64::from(self.hits[place]),
            missed_bytes: self.requested.missed_bytes.map(|all| all - hit_bytes),
        }
    }

    /// Requests, and requested bytes where the trace has sizes.
    #[must_use]
    pub fn requested(&self) -> Misses {
        self.requested
    }

    /// First requests to objects: what misses at any capacity.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The depth, in objects, that this share of the requests that are not first ones does not
    /// exceed: the least capacity at which LRU hits them. `None` where all are first ones.
    ///
    /// *Units*: `share` from 0 to 1; the smallest depth for 0.
    #[must_use]
    pub fn depth_at(&self, share: f64) -> Option<u32> {
        let again = self.requested.misses - self.first;
        if again == 0 {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 2^32")]
        #[expect(clippy::cast_precision_loss, reason = "below 2^32")]
        let wanted = (libm::ceil(share.clamp(0.0, 1.0) * again as f64) as u64).max(1);
        let depth = self.hits.partition_point(|&hits| u64::from(hits) < wanted);
        u32::try_from(depth).ok()
    }

    /// The least capacity at which nothing but first requests misses.
    #[must_use]
    pub fn enough(&self) -> u32 {
        self.depth_at(1.0).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::capacity::{Capacity, Unit};
    use crate::made;

    proptest! {
        #[test]
        fn a_curve_is_single_runs(
            asked in proptest::collection::vec((0u32..80, 0u64..1000), 1..1500),
        ) {
            let trace = made::sized(&asked);
            let curve = exact(&trace);
            for amount in 1..=trace.distinct() + 2 {
                let capacity = Capacity { amount: amount.into(), unit: Unit::Objects };
                let run = made::lru(&trace, capacity);
                prop_assert_eq!(curve.at(amount.into()).misses, run.misses);
                prop_assert_eq!(curve.at(amount.into()).missed_bytes, Some(run.missed_bytes));
            }
            prop_assert_eq!(curve.at(0), curve.requested());
            prop_assert_eq!(curve.at(u64::MAX).misses, curve.first());
            let plain = exact_in_requests(&trace);
            prop_assert_eq!(plain.at(7).misses, curve.at(7).misses);
            prop_assert_eq!(plain.at(7).missed_bytes, None);
        }
    }

    #[test]
    fn a_curve_of_the_reference_shape_is_single_runs() {
        let trace = made::reference(100_000, 1_000_000);
        let curve = exact(&trace);
        for amount in [1, 96, 962, 9_620, 50_000, 100_000] {
            let run = made::lru(&trace, Capacity { amount, unit: Unit::Objects });
            assert_eq!(curve.at(amount).misses, run.misses, "at {amount}");
            assert_eq!(curve.at(amount).missed_bytes, Some(run.missed_bytes), "at {amount}");
        }
    }

    #[test]
    fn depths_by_share() {
        // Depths: 1 for the second 0; 2 for the third; 3 for the second 1.
        let trace = made::trace(&[0, 0, 1, 0, 2, 1]);
        let curve = exact(&trace);
        assert_eq!(curve.depth_at(0.0), Some(1));
        assert_eq!(curve.depth_at(0.5), Some(2));
        assert_eq!(curve.depth_at(1.0), Some(3));
        assert_eq!(curve.enough(), 3);
        assert_eq!(exact(&made::trace(&[0, 1, 2])).depth_at(0.5), None);
        assert_eq!(exact(&made::trace(&[])).at(1).misses, 0);
    }

    /// Counts of libcachesim 0.3.5 on the reference trace.
    #[test]
    #[ignore = "ten million requests: seconds, with --release"]
    fn the_reference_trace_has_the_reference_misses() {
        let trace = made::reference(1_000_000, 10_000_000);
        let curve = exact(&trace);
        assert_eq!(curve.first(), 962_056);
        assert_eq!(curve.at(962).misses, 9_014_638);
        assert_eq!(curve.at(9_620).misses, 7_710_473);
        assert_eq!(curve.at(96_205).misses, 5_202_123);
    }
}
