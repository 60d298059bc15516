//! How large objects are, each counted once, and as often as it is asked for.

use crate::trace::SizeTable;

use super::{nearest_rank, share};

/// Sizes of objects.
#[derive(Debug, Clone, PartialEq)]
pub struct Sizes {
    /// All objects together, bytes.
    pub footprint_bytes: u64,
    /// All requests together, bytes.
    pub requested_bytes: u64,
    /// Share of requested bytes that are of first requests: missed by any cache.
    pub compulsory_byte_miss_ratio: f64,
    /// Over objects.
    pub of_objects: SizeSpread,
    /// Over requests.
    pub of_requests: SizeSpread,
    /// By powers of ten, from the smallest that has objects to the largest.
    pub classes: Vec<SizeClass>,
}

/// A distribution of sizes, bytes. Percentiles are of the nearest rank: sizes that there are.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SizeSpread {
    /// The smallest.
    pub min: u64,
    /// The arithmetic mean.
    pub mean: f64,
    /// Half are not larger.
    pub median: u64,
    /// Nine tenths are not larger.
    pub p90: u64,
    /// Ninety-nine in a hundred are not larger.
    pub p99: u64,
    /// The largest.
    pub max: u64,
}

/// Objects of about one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeClass {
    /// Their sizes are at least this, bytes: a power of ten, or 0.
    pub from: u64,
    /// And below this: the next power.
    pub below: u64,
    /// How many there are.
    pub objects: u64,
    /// Their sizes, summed.
    pub footprint_bytes: u64,
    /// Requests to them.
    pub requests: u64,
    /// Bytes of those.
    pub requested_bytes: u64,
}

impl Sizes {
    /// From sizes of objects and the number of requests to each.
    pub(super) fn of(sizes: &SizeTable, asked: &[u32]) -> Self {
        let rising = rising(sizes, asked);
        let sum = |times: fn(&(u64, u32)) -> u64| -> u64 {
            rising.iter().map(|one| one.0 * times(one)).sum()
        };
        let footprint_bytes = sum(|_| 1);
        let requested_bytes = sum(|&(_, requests)| u64::from(requests));
        Self {
            footprint_bytes,
            requested_bytes,
            compulsory_byte_miss_ratio: share(footprint_bytes, requested_bytes),
            of_objects: SizeSpread::of(&rising, |_| 1),
            of_requests: SizeSpread::of(&rising, u64::from),
            classes: classes(&rising),
        }
    }
}

/// Size and requests of each object, smallest first.
fn rising(sizes: &SizeTable, asked: &[u32]) -> Vec<(u64, u32)> {
    let mut rising: Vec<(u64, u32)> =
        (0u32..).zip(asked).map(|(object, &requests)| (sizes.of(object), requests)).collect();
    rising.sort_unstable();
    rising
}

impl SizeSpread {
    fn of(rising: &[(u64, u32)], times: impl Fn(u32) -> u64) -> Self {
        let (Some(first), Some(last)) = (rising.first(), rising.last()) else {
            return Self::default();
        };
        let count: u64 = rising.iter().map(|&(_, requests)| times(requests)).sum();
        let bytes: u64 = rising.iter().map(|&(size, requests)| size * times(requests)).sum();
        let at = |part| {
            let (wanted, mut passed) = (nearest_rank(part, count), 0);
            let found = rising.iter().find(|&&(_, requests)| {
                passed += times(requests);
                passed >= wanted
            });
            found.map_or(last.0, |&(size, _)| size)
        };
        Self {
            min: first.0,
            mean: share(bytes, count),
            median: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            max: last.0,
        }
    }
}

/// Objects by powers of ten: those of no bytes, below 1, 10, 100 and so on, from the first class
/// that has any to the last.
fn classes(rising: &[(u64, u32)]) -> Vec<SizeClass> {
    let mut classes: Vec<SizeClass> = Vec::new();
    for &(size, requests) in rising {
        let mut class = classes.pop().unwrap_or_else(|| SizeClass::bounds(0, 1));
        while size >= class.below {
            let next = SizeClass::bounds(class.below, class.below.saturating_mul(10));
            // What is empty before the first object is no class of the trace.
            if class.objects > 0 || !classes.is_empty() {
                classes.push(class);
            }
            class = next;
        }
        class.objects += 1;
        class.footprint_bytes += size;
        class.requests += u64::from(requests);
        class.requested_bytes += size * u64::from(requests);
        classes.push(class);
    }
    classes
}

impl SizeClass {
    fn bounds(from: u64, below: u64) -> Self {
        Self { from, below, objects: 0, footprint_bytes: 0, requests: 0, requested_bytes: 0 }
    }
}
