//! By how much the curve of LRU in bytes misses single runs.

use crate::capacity::{Capacity, Unit};
use crate::eviction::{Kind, Settings};
use crate::trace::Trace;

use super::miniature::misses;
use super::{CurveError, in_bytes};

/// The largest differences between a curve and single runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// Between object miss ratios, without sign.
    pub miss_ratio: f64,
    /// The capacity in bytes at which it is: the first in the order given.
    pub miss_ratio_at: u64,
    /// Between byte miss ratios, without sign.
    pub byte_miss_ratio: f64,
    /// The capacity in bytes at which it is.
    pub byte_miss_ratio_at: u64,
}

/// Compares [`in_bytes`] with a replay of `lru` at each of these capacities; `None` without any.
///
/// *Errors*: a trace without sizes.
///
/// *Cost*: a replay for each capacity.
pub fn largest_difference(
    trace: &Trace,
    capacities: &[u64],
) -> Result<Option<Difference>, CurveError> {
    let curve = in_bytes(trace, capacities)?;
    let Some(lru) = Kind::named("lru") else { unreachable!("the list of policies without lru") };
    let settings = Settings::default();
    let mut largest: Option<Difference> = None;
    for (&amount, found) in capacities.iter().zip(curve) {
        let capacity = Capacity { amount, unit: Unit::Bytes };
        let run = misses((lru, &settings), trace, &[], capacity)?;
        let found_bytes = found.missed_bytes.unwrap_or(0);
        let miss_ratio = ratio(found.misses.abs_diff(run.misses), trace.len() as u64);
        let byte_miss_ratio =
            ratio(found_bytes.abs_diff(run.missed_bytes.unwrap_or(0)), requested_bytes(trace));
        let most = largest.get_or_insert(Difference {
            miss_ratio,
            miss_ratio_at: amount,
            byte_miss_ratio,
            byte_miss_ratio_at: amount,
        });
        if miss_ratio > most.miss_ratio {
            (most.miss_ratio, most.miss_ratio_at) = (miss_ratio, amount);
        }
        if byte_miss_ratio > most.byte_miss_ratio {
            (most.byte_miss_ratio, most.byte_miss_ratio_at) = (byte_miss_ratio, amount);
        }
    }
    Ok(largest)
}

/// Sizes of the objects of all requests, summed; 0 where the trace has no sizes.
pub(super) fn requested_bytes(trace: &Trace) -> u64 {
    let sizes = trace.sizes();
    sizes.map_or(0, |sizes| trace.requests().iter().map(|&object| sizes.of(object)).sum())
}

/// A share; 0 of nothing.
#[expect(clippy::cast_precision_loss, reason = "a share")]
pub(super) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made;

    #[test]
    fn the_difference_is_none_where_the_largest_object_fits() {
        let trace = made::reference(10_000, 50_000);
        let found = largest_difference(&trace, &[8 << 20, 16 << 20, 64 << 20]).unwrap().unwrap();
        assert_eq!((found.miss_ratio, found.miss_ratio_at), (0.0, 8 << 20));
        assert_eq!((found.byte_miss_ratio, found.byte_miss_ratio_at), (0.0, 8 << 20));
        assert_eq!(largest_difference(&trace, &[]), Ok(None));
    }

    #[test]
    fn an_object_that_lru_refuses_makes_a_difference() {
        // 0 is hit by LRU of 10 bytes, which refuses 1; the stack thinks that 1 pushed it out.
        let trace = made::sized(&[(0, 4), (1, 20), (0, 4), (0, 4)]);
        let found = largest_difference(&trace, &[30, 10]).unwrap().unwrap();
        assert_eq!((found.miss_ratio, found.miss_ratio_at), (0.25, 10));
        assert_eq!((found.byte_miss_ratio, found.byte_miss_ratio_at), (4.0 / 32.0, 10));
    }
}
