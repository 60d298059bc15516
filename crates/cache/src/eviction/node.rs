//! A cache of any policy behind one dynamic interface: for clusters, whose nodes are few and whose
//! requests take several steps each. A single cache is replayed without it ([`crate::replay`]).

use crate::capacity::{Capacity, Unit};
use crate::trace::{SizeTable, Trace};

use super::{Eviction, Input, Narrow, One, Room, SettingError, Settings, Sizes, Wide};

/// One cache of a cluster.
pub trait Node {
    /// As [`Eviction::hit`].
    fn hit(&mut self, at: usize) -> bool;

    /// As [`Eviction::insert`]; what leaves is added to `gone`.
    fn insert(&mut self, at: usize, gone: &mut Vec<u32>);

    /// As [`Eviction::settle`].
    fn settle(&mut self, gone: &mut Vec<u32>);

    /// As [`Eviction::contains`].
    fn contains(&self, object: u32) -> bool;
}

/// A policy with what it is asked about.
struct Held<'a, P, S> {
    policy: P,
    input: Input<'a, S>,
}

impl<P: Eviction, S: Sizes> Node for Held<'_, P, S> {
    fn hit(&mut self, at: usize) -> bool {
        self.policy.hit(&self.input, at)
    }

    fn insert(&mut self, at: usize, gone: &mut Vec<u32>) {
        self.policy.insert(&self.input, at, gone);
    }

    fn settle(&mut self, gone: &mut Vec<u32>) {
        self.policy.settle(gone);
    }

    fn contains(&self, object: u32) -> bool {
        self.policy.contains(object)
    }
}

/// Makes a node of one policy.
pub(super) fn node<'a, P: Eviction + 'static>(
    trace: &'a Trace,
    capacity: Capacity,
    settings: &Settings,
) -> Result<Box<dyn Node + 'a>, SettingError> {
    let room = Room { objects: trace.distinct() as usize, capacity: capacity.amount, settings };
    let policy = P::new(&room)?;
    Ok(match (capacity.unit, trace.sizes()) {
        (Unit::Bytes, Some(SizeTable::Narrow(sizes))) => held(policy, trace, Narrow(sizes)),
        (Unit::Bytes, Some(SizeTable::Wide(sizes))) => held(policy, trace, Wide(sizes)),
        // Bytes of a trace without sizes cannot be made: see `Size::of`.
        (Unit::Objects, _) | (Unit::Bytes, None) => held(policy, trace, One),
    })
}

fn held<'a, P: Eviction + 'static, S: Sizes + 'a>(
    policy: P,
    trace: &'a Trace,
    sizes: S,
) -> Box<dyn Node + 'a> {
    let seconds = trace.seconds().unwrap_or(&[]);
    let input = Input { requests: trace.requests(), sizes, next: &[], seconds };
    Box::new(Held { policy, input })
}
