//! How few misses any policy could have.
//!
//! Where all objects have one size, Belady's policy has the fewest misses of all that take in what
//! they miss (Belady, "A study of replacement algorithms for a virtual-storage computer", IBM
//! Systems Journal 5(2), 1966; proven by Mattson, Gecsei, Slutz and Traiger, "Evaluation techniques
//! for storage hierarchies", IBM Systems Journal 9(2), 1970). It is a policy itself, so that bound
//! is exact.
//!
//! A cache behind an admission filter takes in less, and may have fewer misses for it. The fewest
//! of all that may refuse has Belady's policy with bypass: what is next used later than everything
//! inside stays outside. To refuse is to have one place more, out of which something leaves at
//! once, so the same proof holds.
//!
//! Where sizes differ neither is a bound, and the best is NP-hard to find; so what is told is
//! [`pfoo_lower`]. Missed bytes are a different aim than misses: where objects are counted, but
//! have different bytes, Belady's policy bounds the one and PFOO-L the other.

mod pfoo;
#[cfg(test)]
mod tests;

pub use pfoo::pfoo_lower;

use serde::{Deserialize, Serialize};

use crate::capacity::{Capacity, Unit};
use crate::eviction::{Kind, Settings};
use crate::replay::{Job, replay};
use crate::trace::{SizeTable, Trace};

/// The fewest misses that any policy could have at a capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// How large the cache is.
    pub capacity: Capacity,
    /// No policy has fewer misses, of those that the kind speaks of.
    pub misses: u64,
    /// How that was found.
    pub kind: BoundKind,
    /// No policy misses fewer bytes; `None` where the trace has no sizes. Both bounds need not be
    /// near to one and the same policy.
    pub missed_bytes: Option<u64>,
    /// How that was found.
    pub missed_bytes_kind: BoundKind,
}

/// How a bound was found, and so for whom it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoundKind {
    /// Belady's policy: exact for objects of one size and policies that take in all they miss.
    Belady,
    /// The same with bypass: exact for objects of one size and policies that may refuse.
    BeladyBypass,
    /// PFOO-L, for any sizes and policies; no policy need come near it.
    PfooLower,
}

impl BoundKind {
    /// In one word, for machines.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Belady => "belady",
            Self::BeladyBypass => "belady-bypass",
            Self::PfooLower => "pfoo-l",
        }
    }

    /// For whom it holds and by what, after "no policy misses less than so much".
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Belady => "of those that take in all they miss (Belady)",
            Self::BeladyBypass => "whatever it refuses (Belady with bypass)",
            Self::PfooLower => "whatever it refuses (PFOO-L, as sizes differ)",
        }
    }
}

/// Capacities in bytes of a trace that does not know them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected capacities in objects, found bytes: this trace has no sizes")]
pub struct NoSizes;

/// The tightest bounds that there are: exact ones by Belady's policy where all objects take the
/// same, else [`pfoo_lower`]. `refuses` says whether an object that is missed may stay outside, as
/// behind an admission filter. Policies that refuse by size alone refuse all objects of one size
/// or none, and so need no such allowance.
///
/// *Shape*: one for each capacity, in their order.
///
/// *Errors*: a capacity in bytes where the trace has no sizes.
///
/// *Cost*: a replay for each capacity in which objects take the same; what [`pfoo_lower`] costs
/// where sizes differ.
pub fn bounds(
    trace: &Trace,
    capacities: &[Capacity],
    refuses: bool,
) -> Result<Vec<Bound>, NoSizes> {
    let Some(each) = size_of_all(trace) else {
        let mut bounds = pfoo_lower(trace, capacities)?;
        let is_counted = |bound: &&mut Bound| bound.capacity.unit == Unit::Objects;
        let mut counted = bounds.iter_mut().filter(is_counted).peekable();
        if counted.peek().is_some() {
            let belady = Exact::new(trace, refuses);
            for bound in counted {
                bound.misses = belady.misses(bound.capacity);
                bound.kind = belady.bound_kind;
            }
        }
        return Ok(bounds);
    };
    let in_bytes = |capacity: &Capacity| capacity.unit == Unit::Bytes;
    if trace.sizes().is_none() && capacities.iter().any(in_bytes) {
        return Err(NoSizes);
    }
    let belady = Exact::new(trace, refuses);
    let bound = |&capacity: &Capacity| {
        let (misses, kind) = (belady.misses(capacity), belady.bound_kind);
        let missed_bytes = trace.sizes().map(|_| misses * each);
        Bound { capacity, misses, kind, missed_bytes, missed_bytes_kind: kind }
    };
    Ok(capacities.iter().map(bound).collect())
}

/// The size that all objects of a trace have: 1 where it has no sizes, `None` where they differ.
#[must_use]
pub fn size_of_all(trace: &Trace) -> Option<u64> {
    fn one<T: Copy + PartialEq>(sizes: &[T]) -> Option<T> {
        let first = *sizes.first()?;
        sizes.iter().all(|&size| size == first).then_some(first)
    }
    match trace.sizes() {
        None => Some(1),
        Some(_) if trace.distinct() == 0 => Some(1),
        Some(SizeTable::Narrow(sizes)) => one(sizes).map(u64::from),
        Some(SizeTable::Wide(sizes)) => one(sizes),
    }
}

/// Replays of Belady's policy.
struct Exact<'a> {
    trace: &'a Trace,
    next: Vec<u32>,
    policy: &'static Kind,
    bound_kind: BoundKind,
}

impl<'a> Exact<'a> {
    fn new(trace: &'a Trace, refuses: bool) -> Self {
        let (policy, bound_kind) = match refuses {
            false => (&Kind::BELADY, BoundKind::Belady),
            true => (&Kind::BELADY_BYPASS, BoundKind::BeladyBypass),
        };
        Self { trace, next: trace.next_uses(), policy, bound_kind }
    }

    fn misses(&self, capacity: Capacity) -> u64 {
        let job = Job {
            trace: self.trace,
            next: &self.next,
            capacity,
            settings: &Settings::default(),
            admission: None,
            size_classes: None,
            marks: &[],
        };
        match replay(self.policy, &job) {
            Ok(counts) => counts.stretches.iter().map(|stretch| stretch.misses).sum(),
            Err(error) => unreachable!("Belady's policy without settings: {error}"),
        }
    }
}
