//! Miss-ratio curves: what a cache misses at each of many capacities, without a run for each.
//!
//! - LRU in objects: exact for all capacities, from one pass ([`exact`]).
//! - LRU in bytes: the same stack with sizes ([`in_bytes`]). It equals single runs at every
//!   capacity that holds the largest object; [`largest_difference`] tells by how much it misses
//!   them at the ones below. So [`lru`] replays those.
//! - LRU of a sample of the objects ([`sampled`]): SHARDS, for long traces.
//! - Any other policy: a cache in miniature, on a sample ([`miniature()`]).
//!
//! All give [`Point`]s, with both miss ratios, and mark those that a sample is too small for.

mod bytes;
mod depth;
mod difference;
mod exact;
mod holes;
mod miniature;
mod sample;
mod sums;

pub use bytes::in_bytes;
pub use difference::{Difference, largest_difference};
pub use exact::{Curve, exact, exact_in_requests};
pub use miniature::miniature;
pub use sample::{RELIABLE_OBJECTS, lru, sampled};

use crate::capacity::Capacity;
use crate::eviction::SettingError;

/// Requests that were not served from the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Misses {
    /// How many.
    pub misses: u64,
    /// Sizes of their objects, summed; `None` where the trace has no sizes, or none are counted.
    pub missed_bytes: Option<u64>,
}

/// One capacity of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// How large the cache is.
    pub capacity: Capacity,
    /// Share of requests that miss, 0 to 1; `None` where nothing was sampled.
    pub miss_ratio: Option<f64>,
    /// Share of requested bytes that miss; `None` where the trace has no sizes, or nothing was
    /// sampled.
    pub byte_miss_ratio: Option<f64>,
    /// Whether the sample says enough of this capacity; always so without a sample.
    pub reliable: bool,
}

impl Point {
    /// Of a sample that has no object: nothing is known.
    fn unknown(capacity: Capacity) -> Self {
        Self { capacity, miss_ratio: None, byte_miss_ratio: None, reliable: false }
    }
}

/// A curve that cannot be.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CurveError {
    /// Bytes of a trace that does not know them.
    #[error("expected capacities in objects, found bytes: this trace has no sizes")]
    NoSizes,
    /// What the policy cannot take.
    #[error(transparent)]
    Setting(#[from] SettingError),
}

/// Capacities from one to another, both included, evenly spaced by ratio and rounded; fewer
/// than `count` where rounding gives the same ones.
///
/// *Shape*: rising, none twice; `from` alone where `to` is not above it or `count` below 2.
#[must_use]
pub fn spaced(from: u64, to: u64, count: usize) -> Vec<u64> {
    if to <= from || count < 2 {
        return vec![from];
    }
    #[expect(clippy::cast_precision_loss, reason = "places of a chart")]
    let (first, last, steps) = (from.max(1) as f64, to as f64, (count - 1) as f64);
    let mut capacities = vec![from];
    for step in 1..count - 1 {
        #[expect(clippy::cast_precision_loss, reason = "places of a chart")]
        let part = step as f64 / steps;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below `to`")]
        let capacity = libm::round(first * libm::pow(last / first, part)) as u64;
        capacities.push(capacity.clamp(from, to));
    }
    capacities.push(to);
    capacities.dedup();
    capacities
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaced_capacities_rise_by_a_ratio() {
        assert_eq!(spaced(1, 1000, 4), [1, 10, 100, 1000]);
        assert_eq!(spaced(1, 4, 50), [1, 2, 3, 4]);
        assert_eq!(spaced(5, 5, 9), [5]);
        assert_eq!(spaced(7, 100, 1), [7]);
        let far = spaced(0, u64::MAX, 100);
        assert_eq!((far[0], far[far.len() - 1]), (0, u64::MAX));
        assert!(far.windows(2).all(|two| two[0] < two[1]));
    }
}
