//! A cache of any policy behind one dynamic interface: for clusters, whose nodes are few and whose
//! requests take several steps each. A single cache is replayed without it ([`crate::replay`]).

use crate::capacity::{Capacity, Unit};
use crate::trace::{SizeTable, Trace};

use super::{Eviction, Input, Narrow, One, Room, SettingError, Settings, Sizes, Wide, made};

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

    /// What the objects inside take, in the unit of the capacity. What has left because of hits
    /// counts until [`Node::settle`] or the next [`Node::insert`] tells of it.
    fn used(&self) -> u64;
}

/// A policy with what it is asked about.
struct Held<'a, P, S> {
    policy: P,
    input: Input<'a, S>,
    /// Summed here, from what comes and goes: a policy need not know it, and one that is replayed
    /// alone need not count it.
    used: u64,
}

impl<P: Eviction, S: Sizes> Held<'_, P, S> {
    fn free(&mut self, gone: &[u32]) {
        self.used -= gone.iter().map(|&object| self.input.size(object)).sum::<u64>();
    }
}

impl<P: Eviction, S: Sizes> Node for Held<'_, P, S> {
    fn hit(&mut self, at: usize) -> bool {
        self.policy.hit(&self.input, at)
    }

    fn insert(&mut self, at: usize, gone: &mut Vec<u32>) {
        let (object, before) = (self.input.requests[at], gone.len());
        self.policy.insert(&self.input, at, gone);
        let gone = &gone[before..];
        // It may have been refused, or have come and gone again.
        if self.policy.contains(object) || gone.contains(&object) {
            self.used += self.input.size(object);
        }
        self.free(gone);
    }

    fn settle(&mut self, gone: &mut Vec<u32>) {
        let before = gone.len();
        self.policy.settle(gone);
        self.free(&gone[before..]);
    }

    fn contains(&self, object: u32) -> bool {
        self.policy.contains(object)
    }

    fn used(&self) -> u64 {
        self.used
    }
}

/// Makes a node of one policy.
pub(super) fn node<'a, P: Eviction + 'static>(
    trace: &'a Trace,
    capacity: Capacity,
    settings: &Settings,
) -> Result<Box<dyn Node + 'a>, SettingError> {
    let room = Room { objects: trace.distinct() as usize, capacity: capacity.amount, settings };
    let policy = made::<P>(&room)?;
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
    Box::new(Held { policy, input, used: 0 })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::eviction::KINDS;
    use crate::made;

    proptest! {
        #[test]
        fn what_is_used_is_what_is_inside(
            asked in proptest::collection::vec((0u32..40, 0u64..90), 1..300),
            amount in 1u64..700,
        ) {
            let seconds = (0..).take(asked.len()).collect();
            let trace = made::sized(&asked).with_seconds(seconds).unwrap();
            let units = [(Unit::Bytes, amount), (Unit::Objects, amount / 20 + 1)];
            for kind in KINDS.iter().filter(|kind| !kind.needs.next) {
                for (unit, amount) in units {
                    let policy: crate::eviction::Policy = kind.name.parse().unwrap();
                    let mut node = policy.node(&trace, Capacity { amount, unit }).unwrap();
                    let mut gone = Vec::new();
                    for at in 0..trace.len() {
                        if node.hit(at) {
                            node.settle(&mut gone);
                        } else {
                            node.insert(at, &mut gone);
                        }
                        let takes = |object: u32| match unit {
                            Unit::Objects => 1,
                            Unit::Bytes => trace.sizes().unwrap().of(object),
                        };
                        let inside = (0..trace.distinct()).filter(|&object| node.contains(object));
                        let used: u64 = inside.map(takes).sum();
                        prop_assert_eq!(node.used(), used, "{}", kind.name);
                    }
                }
            }
        }
    }
}
