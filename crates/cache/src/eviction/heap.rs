//! A heap of objects by priority: the smallest is the first to leave.
//!
//! Lazy: where a priority rises, as it does in GDSF and its kin, nothing is done in the heap. What
//! comes to the top with a priority that has risen since goes back with the one it has. So hits
//! touch one record, and several hits between two evictions cost one move.

/// What stands in the heap for an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    /// Bits of a priority that is zero or more, then the index of a request, then the object: one
    /// number, in whose order objects leave. Among equal priorities the oldest request leaves.
    packed: u128,
}

impl Entry {
    #[inline(always)]
    pub(super) fn new(priority: f64, request: u32, object: u32) -> Self {
        debug_assert!(priority.is_sign_positive() && !priority.is_nan());
        let low = u64::from(request) << 32 | u64::from(object);
        Self { packed: u128::from(priority.to_bits()) << 64 | u128::from(low) }
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the low half")]
    pub(super) fn object(self) -> u32 {
        self.packed as u32
    }

    /// Whether it leaves before another.
    #[inline(always)]
    pub(super) fn is_before(self, other: Self) -> bool {
        self.packed < other.packed
    }

    #[inline(always)]
    pub(super) fn priority(self) -> f64 {
        f64::from_bits((self.packed >> 64) as u64)
    }
}

/// Children of an entry: four fill one line of memory.
const CHILDREN: usize = 4;

#[derive(Debug, Default)]
pub(super) struct Heap {
    entries: Vec<Entry>,
}

impl Heap {
    #[inline(always)]
    pub(super) fn top(&self) -> Option<Entry> {
        self.entries.first().copied()
    }

    /// Adds an entry.
    #[inline(always)]
    pub(super) fn push(&mut self, entry: Entry) {
        self.entries.push(entry);
        let mut at = self.entries.len() - 1;
        while at > 0 {
            let parent = (at - 1) / CHILDREN;
            if self.entries[parent].packed <= entry.packed {
                break;
            }
            self.entries[at] = self.entries[parent];
            at = parent;
        }
        self.entries[at] = entry;
    }

    /// Takes the top away.
    #[inline(always)]
    pub(super) fn pop(&mut self) {
        if let Some(last) = self.entries.pop()
            && !self.entries.is_empty()
        {
            self.replace_top(last);
        }
    }

    /// Puts another entry in the place of the top; there must be one.
    #[inline(always)]
    pub(super) fn replace_top(&mut self, entry: Entry) {
        let entries = self.entries.as_mut_slice();
        let mut at = 0;
        loop {
            let first = at * CHILDREN + 1;
            let (least, child) = match entries.get(first..first + CHILDREN) {
                Some(all) => least_of(first, all),
                None => match entries.get(first..) {
                    Some(some) if !some.is_empty() => least_of(first, some),
                    _ => break,
                },
            };
            if child.packed >= entry.packed {
                break;
            }
            entries[at] = child;
            at = least;
        }
        entries[at] = entry;
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>()
    }
}

#[inline(always)]
fn least_of(first: usize, children: &[Entry]) -> (usize, Entry) {
    let mut least = (first, children[0]);
    for (after, &child) in children.iter().enumerate().skip(1) {
        if child.packed < least.1.packed {
            least = (first + after, child);
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_top_is_the_least(
            steps in proptest::collection::vec((any::<bool>(), 0u32..50, any::<u32>()), 0..400)
        ) {
            let (mut heap, mut set) = (Heap::default(), BTreeSet::new());
            for (object, (push, priority, request)) in (0u32..).zip(steps) {
                if push || set.is_empty() {
                    let entry = Entry::new(f64::from(priority), request, object);
                    heap.push(entry);
                    set.insert(entry.packed);
                } else {
                    let least = set.pop_first().unwrap();
                    prop_assert_eq!(heap.top().unwrap().packed, least);
                    heap.pop();
                }
                prop_assert_eq!(heap.entries.len(), set.len());
            }
        }
    }

    #[test]
    fn ties_leave_by_their_requests() {
        let mut heap = Heap::default();
        for (request, object) in [(7, 1), (3, 2), (5, 0)] {
            heap.push(Entry::new(1.5, request, object));
        }
        let mut order = Vec::new();
        while let Some(top) = heap.top() {
            assert!(top.priority().to_bits() == 1.5f64.to_bits());
            order.push(top.object());
            heap.pop();
        }
        assert_eq!(order, [2, 0, 1]);
    }
}
