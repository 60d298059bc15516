//! LRU in bytes at many capacities, from one pass: the stack of `depth.rs`, with sizes.
//!
//! The depth of a request in bytes is the size of its object and of all others asked for since its
//! last request. LRU that takes in everything hits exactly where that is not above the capacity:
//! an object leaves when what is above it and itself no longer fit, and that sum only grows until
//! the object is asked for again. LRU refuses what is larger than the whole cache, though, and the
//! stack does not: below the size of the largest object it counts more misses than there are.
//!
//! *Source*: Mattson et al. 1970, for sizes that differ.

use crate::eviction::{Narrow, Sizes, Wide};
use crate::prefetch::fetch;
use crate::trace::{SizeTable, Trace};

use super::sums::Sums;
use super::{CurveError, Misses};

/// How long the line of places is, in objects of the trace; each place takes 8 bytes.
const LINE: u64 = 3;

/// How many requests ahead memory is asked for the place of an object, and for the sums there.
const AHEAD: usize = 32;
const AHEAD_OF_SUMS: usize = 16;

/// Misses of LRU at capacities in bytes.
///
/// *Shape*: one for each capacity, in their order. Equal to single runs at capacities that hold
/// the largest object, and no less below; see [`super::largest_difference`].
///
/// *Errors*: a trace without sizes.
///
/// *Cost*: linear in requests, times the logarithm of the number of capacities; 32 bytes an object.
pub fn in_bytes(trace: &Trace, capacities: &[u64]) -> Result<Vec<Misses>, CurveError> {
    scaled(trace, capacities, 1.0)
}

/// As [`in_bytes`], where the others on the stack stand for `1 / rate` as much.
pub(super) fn scaled(
    trace: &Trace,
    capacities: &[u64],
    rate: f64,
) -> Result<Vec<Misses>, CurveError> {
    let sizes = trace.sizes().ok_or(CurveError::NoSizes)?;
    let mut rising = capacities.to_vec();
    rising.sort_unstable();
    rising.dedup();
    // Hits by the first capacity that has them; the last place is for those that none has.
    let mut hits = vec![(0u64, 0u64); rising.len() + 1];
    let mut all = (0, 0);
    let mut count = |own: u64, others: Option<u64>| {
        all = (all.0 + 1, all.1 + own);
        if let Some(others) = others {
            let depth = grown(others, rate).saturating_add(own);
            let here = &mut hits[rising.partition_point(|&capacity| capacity < depth)];
            *here = (here.0 + 1, here.1 + own);
        }
    };
    match sizes {
        SizeTable::Narrow(sizes) => depths(trace, Narrow(sizes), &mut count),
        SizeTable::Wide(sizes) => depths(trace, Wide(sizes), &mut count),
    }
    for place in 1..hits.len() {
        hits[place] = (hits[place].0 + hits[place - 1].0, hits[place].1 + hits[place - 1].1);
    }
    let misses_at = |capacity: &u64| {
        let hits = hits[rising.partition_point(|other| other < capacity)];
        Misses { misses: all.0 - hits.0, missed_bytes: Some(all.1 - hits.1) }
    };
    Ok(capacities.iter().map(misses_at).collect())
}

/// What a sum over a sample stands for; itself where everything is sampled, exactly.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn grown(sum: u64, rate: f64) -> u64 {
    if rate < 1.0 { (sum as f64 / rate) as u64 } else { sum }
}

/// Objects by their latest places, see `depth.rs`.
struct Stack {
    latest: Vec<Latest>,
    /// For each place that became a hole, the size of its object.
    holes: Sums<u64>,
    /// The next place.
    now: u32,
    /// Sizes of all places so far, holes among them.
    total: u64,
    line: u32,
}

/// The latest request to an object.
#[derive(Debug, Clone, Copy, Default)]
struct Latest {
    place: u32,
    /// Sizes of all places up to this one and with it.
    total: u64,
}

/// Gives each request's size to `each`, and the sizes of the others asked for since the last
/// request to its object; `None` for a first one.
fn depths(trace: &Trace, sizes: impl Sizes, each: impl FnMut(u64, Option<u64>)) {
    let requests = u64::try_from(trace.len()).unwrap_or(u64::MAX);
    let longest = (u64::from(trace.distinct()) * LINE).max(64).min(requests);
    walk(trace, sizes, u32::try_from(longest + 1).unwrap_or(u32::MAX), each);
}

fn walk(trace: &Trace, sizes: impl Sizes, line: u32, mut each: impl FnMut(u64, Option<u64>)) {
    let mut stack = Stack {
        latest: vec![Latest::default(); trace.distinct() as usize],
        holes: Sums::new(line as usize),
        now: 0,
        total: 0,
        line,
    };
    let requests = trace.requests();
    let mut unseen = 0;
    for (at, &object) in requests.iter().enumerate() {
        if let Some(&coming) = requests.get(at + AHEAD) {
            fetch(&stack.latest, coming);
            sizes.prefetch(coming);
        }
        if let Some(&coming) = requests.get(at + AHEAD_OF_SUMS) {
            stack.holes.prefetch(stack.latest[coming as usize].place);
        }
        if stack.now == stack.line {
            stack.close_ranks(unseen, sizes);
        }
        let own = sizes.of(object);
        let others = (object < unseen).then(|| stack.leave(object, own));
        unseen += u32::from(others.is_none());
        stack.top(object, own);
        each(own, others);
    }
}

impl Stack {
    /// The sizes of all above an object; its place becomes a hole.
    #[inline(always)]
    fn leave(&mut self, object: u32, own: u64) -> u64 {
        let latest = self.latest[object as usize];
        self.total - latest.total - self.holes.add(latest.place as usize, own)
    }

    #[inline(always)]
    fn top(&mut self, object: u32, own: u64) {
        self.total += own;
        self.latest[object as usize] = Latest { place: self.now, total: self.total };
        self.now += 1;
    }

    /// Numbers the places of the objects below `seen` anew, without holes.
    #[cold]
    fn close_ranks(&mut self, seen: u32, sizes: impl Sizes) {
        let mut order = vec![seen; self.line as usize];
        for (object, latest) in (0..seen).zip(&self.latest) {
            order[latest.place as usize] = object;
        }
        self.holes.clear();
        (self.now, self.total) = (0, 0);
        for object in order.into_iter().filter(|&object| object < seen) {
            self.top(object, sizes.of(object));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::capacity::{Capacity, Unit};
    use crate::made;

    /// A list with the latest object first.
    fn by_list(trace: &Trace) -> Vec<Option<u64>> {
        let sizes = trace.sizes().unwrap();
        let mut list: Vec<u32> = Vec::new();
        let others_of = |&object: &u32| {
            let found = list.iter().position(|&other| other == object);
            let others = found.map(|at| {
                list.remove(at);
                list[..at].iter().map(|&other| sizes.of(other)).sum()
            });
            list.insert(0, object);
            others
        };
        trace.requests().iter().map(others_of).collect()
    }

    proptest! {
        #[test]
        fn depths_are_those_of_a_list(
            asked in proptest::collection::vec((0u32..40, 0u64..1 << 47), 0..800),
            spare in 1u32..200,
        ) {
            let trace = made::sized(&asked);
            let mut found = Vec::new();
            let line = trace.distinct() + spare;
            let sizes: Vec<u64> =
                (0..trace.distinct()).map(|object| trace.sizes().unwrap().of(object)).collect();
            walk(&trace, Wide(&sizes), line, |_, others| found.push(others));
            prop_assert_eq!(&found, &by_list(&trace));
            found.clear();
            depths(&trace, Wide(&sizes), |_, others| found.push(others));
            prop_assert_eq!(&found, &by_list(&trace));
        }

        #[test]
        fn misses_are_those_of_single_runs_where_everything_fits(
            asked in proptest::collection::vec((0u32..50, 0u64..100), 1..800),
            capacities in proptest::collection::vec(1u64..3000, 1..20),
        ) {
            let trace = made::sized(&asked);
            let sizes = trace.sizes().unwrap();
            let largest = (0..trace.distinct()).map(|object| sizes.of(object)).max().unwrap();
            let curve = in_bytes(&trace, &capacities).unwrap();
            for (&amount, found) in capacities.iter().zip(curve) {
                let run = made::lru(&trace, Capacity { amount, unit: Unit::Bytes });
                if amount >= largest {
                    prop_assert_eq!(found.misses, run.misses);
                    prop_assert_eq!(found.missed_bytes, Some(run.missed_bytes));
                } else {
                    prop_assert!(found.misses >= run.misses);
                }
            }
        }
    }

    #[test]
    fn a_trace_without_sizes_has_no_bytes() {
        assert_eq!(in_bytes(&made::trace(&[1, 2]), &[10]), Err(CurveError::NoSizes));
    }

    /// Counts of libcachesim 0.3.5 on the reference trace.
    #[test]
    #[ignore = "ten million requests: seconds, with --release"]
    fn the_reference_trace_has_the_reference_misses() {
        let trace = made::reference(1_000_000, 10_000_000);
        let found = in_bytes(&trace, &[10_519_339, 105_193_399, 1_051_933_995]).unwrap();
        let misses = |misses, bytes| Misses { misses, missed_bytes: Some(bytes) };
        assert_eq!(found[0], misses(8_992_838, 96_277_186_017));
        assert_eq!(found[1], misses(7_701_257, 83_995_758_123));
        assert_eq!(found[2], misses(5_202_463, 56_914_367_396));
    }
}
