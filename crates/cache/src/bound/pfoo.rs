//! PFOO-L: a lower bound of misses that also holds where sizes differ.
//!
//! To hit a request, a cache must hold its object since the request before it: over all gaps from
//! one request of the trace to the next that lie between the two. Size times gaps is what the hit
//! takes of a resource, of which there is capacity times all gaps. The cheapest hits are taken
//! until it is spent. No policy has more, whatever it knows of the future and whatever it refuses:
//! at each gap it holds no more than its capacity, so its own hits fit into the resource too. That
//! the capacity holds at each single gap is given up, which is what makes this a bound and quick.
//!
//! Missed bytes alike: a hit is worth its size, those that are worth most for what they take are
//! taken first, and of the last one a part: the optimum of a knapsack that may cut its pieces.
//!
//! *Source*: Berger, Beckmann and Harchol-Balter, *Practical bounds on optimal caching with
//! variable object sizes*, Proc. ACM Meas. Anal. Comput. Syst. 2(2), SIGMETRICS 2018, PFOO-L. Two
//! things make ours tighter: gaps are counted, one fewer than requests, and what is larger than
//! the cache is left out.

use std::cmp::Ordering;

use crate::capacity::{Capacity, Unit};
use crate::trace::{NEVER, Trace};

use super::{Bound, BoundKind, NoSizes};

/// Lower bounds of the misses of any policy, by PFOO-L. First requests are always among them.
///
/// *Shape*: one for each capacity, in their order; falling with the capacity.
///
/// *Errors*: a capacity in bytes where the trace has no sizes.
///
/// *Cost*: for each unit that capacities have two sorts of the requests that are not first ones,
/// 24 bytes each, and a pass over them for each capacity.
pub fn pfoo_lower(trace: &Trace, capacities: &[Capacity]) -> Result<Vec<Bound>, NoSizes> {
    let in_bytes = capacities.iter().any(|capacity| capacity.unit == Unit::Bytes);
    if in_bytes && trace.sizes().is_none() {
        return Err(NoSizes);
    }
    let (misses, missed_bytes) = (trace.len() as u64, requested_bytes(trace));
    let all = capacities.iter().map(|&capacity| Bound {
        capacity,
        misses,
        kind: BoundKind::PfooLower,
        missed_bytes,
        missed_bytes_kind: BoundKind::PfooLower,
    });
    let mut bounds: Vec<Bound> = all.collect();
    // A trace of n requests has n - 1 gaps.
    let gaps = (trace.len() as u128).saturating_sub(1);
    for unit in [Unit::Objects, Unit::Bytes] {
        let mut of_unit: Vec<&mut Bound> =
            bounds.iter_mut().filter(|bound| bound.capacity.unit == unit).collect();
        if of_unit.is_empty() {
            continue;
        }
        let mut holds = holds(trace, unit);
        holds.sort_unstable_by_key(|hold| hold.cost);
        for bound in &mut of_unit {
            bound.misses -= most_hits(&holds, bound.capacity, gaps);
        }
        if missed_bytes.is_some() {
            holds.sort_unstable_by(Hold::dearer_by_worth);
            for bound in &mut of_unit {
                let most = most_hit_bytes(&holds, bound.capacity, gaps);
                bound.missed_bytes = bound.missed_bytes.map(|all| all - most);
            }
        }
    }
    Ok(bounds)
}

/// Holding an object from one request to its next: what it takes, and what it is worth.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hold {
    /// What the object takes of a capacity, times gaps. At most 2^64 - 1: what would be more costs
    /// less by that, which leaves the bound a bound.
    pub(super) cost: u64,
    /// What the object takes of a capacity.
    pub(super) takes: u64,
    /// Bytes of the object.
    pub(super) worth: u64,
}

impl Hold {
    /// By cost for a byte, as fractions: a/b before c/d where ad < cb. What has no bytes comes
    /// last: as a fraction it would be equal to everything.
    pub(super) fn dearer_by_worth(&self, other: &Self) -> Ordering {
        let this = u128::from(self.cost) * u128::from(other.worth);
        let that = u128::from(other.cost) * u128::from(self.worth);
        (self.worth == 0).cmp(&(other.worth == 0)).then(this.cmp(&that))
    }
}

fn holds(trace: &Trace, unit: Unit) -> Vec<Hold> {
    let mut holds = Vec::with_capacity(trace.len() - trace.distinct() as usize);
    for (at, (&object, &next)) in trace.requests().iter().zip(&trace.next_uses()).enumerate() {
        if next == NEVER {
            continue;
        }
        let worth = trace.sizes().map_or(1, |sizes| sizes.of(object));
        let takes = if unit == Unit::Bytes { worth } else { 1 };
        let cost = takes.saturating_mul(u64::from(next) - at as u64);
        holds.push(Hold { cost, takes, worth });
    }
    holds
}

/// How many of the cheapest fit into the resource, cheapest first.
fn most_hits(holds: &[Hold], capacity: Capacity, gaps: u128) -> u64 {
    let mut left = u128::from(capacity.amount) * gaps;
    let mut hits = 0;
    for hold in holds.iter().filter(|hold| hold.takes <= capacity.amount) {
        if u128::from(hold.cost) > left {
            break;
        }
        left -= u128::from(hold.cost);
        hits += 1;
    }
    hits
}

/// How many bytes of those fit that are worth most for their cost, the last one in part.
fn most_hit_bytes(holds: &[Hold], capacity: Capacity, gaps: u128) -> u64 {
    let mut left = u128::from(capacity.amount) * gaps;
    let mut bytes = 0;
    let useful = |hold: &&Hold| hold.takes <= capacity.amount && hold.worth > 0;
    for hold in holds.iter().filter(useful) {
        let cost = u128::from(hold.cost);
        if cost > left {
            let part = u128::from(hold.worth) * left / cost;
            return bytes + u64::try_from(part).unwrap_or(hold.worth);
        }
        left -= cost;
        bytes += hold.worth;
    }
    bytes
}

fn requested_bytes(trace: &Trace) -> Option<u64> {
    let sizes = trace.sizes()?;
    Some(trace.requests().iter().map(|&object| sizes.of(object)).sum())
}
