//! SIZE (Williams, Abrams, Standridge, Abdulla and Fox, "Removal policies in network caches for
//! World-Wide Web documents", SIGCOMM 1996, section 3): the largest object leaves first, of several
//! as large the one that came in first. Many small objects answer more requests than few large
//! ones, and far fewer bytes.

use crate::prefetch::fetch;
use crate::trace::MAX_OBJECT_BYTES;

use super::heap::{Entry, Heap};
use super::{Eviction, Gone, Input, Room, SettingError, Sizes, index};

#[derive(Debug)]
pub(super) struct Size {
    inside: Vec<bool>,
    heap: Heap,
    used: u64,
    capacity: u64,
}

impl Eviction for Size {
    const NAME: &'static str = "size";
    const ABOUT: &'static str = "the largest leaves first (Williams et al., SIGCOMM 1996)";

    fn new(room: &Room<'_>) -> Result<Self, SettingError> {
        let inside = vec![false; room.objects];
        Ok(Self { inside, heap: Heap::default(), used: 0, capacity: room.capacity })
    }

    #[inline(always)]
    fn hit<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize) -> bool {
        self.inside[input.requests[at] as usize]
    }

    #[inline(always)]
    fn insert<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize, gone: &mut impl Gone) {
        let object = input.requests[at];
        let size = input.size(object);
        if size > self.capacity {
            return;
        }
        while self.used > self.capacity - size {
            let Some(largest) = self.heap.top() else { break };
            self.heap.pop();
            self.inside[largest.object() as usize] = false;
            self.used -= input.size(largest.object());
            gone.gone(largest.object());
        }
        self.used += size;
        self.inside[object as usize] = true;
        // The heap gives the least first: what is missing to the largest size that there is.
        #[expect(clippy::cast_precision_loss, reason = "sizes are at most 2^48")]
        let below = MAX_OBJECT_BYTES.saturating_sub(size) as f64;
        self.heap.push(Entry::new(below, index(at), object));
    }

    fn contains(&self, object: u32) -> bool {
        self.inside[object as usize]
    }

    #[inline(always)]
    fn prefetch(&self, object: u32) {
        fetch(&self.inside, object);
    }

    fn memory_bytes(&self) -> usize {
        self.inside.capacity() + self.heap.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use crate::capacity::{Capacity, Unit};
    use crate::eviction::Kind;
    use crate::made;

    #[test]
    fn the_largest_leaves_first_and_the_oldest_of_several() {
        let capacity = Capacity { amount: 10, unit: Unit::Bytes };
        let misses = |asked: &[(u32, u64)]| {
            made::run(Kind::named("size").unwrap(), &made::sized(asked), capacity).misses
        };
        // 1 of 6 bytes leaves for 3, so 2 and 3 are inside.
        assert_eq!(misses(&[(1, 6), (2, 3), (3, 4), (2, 3), (3, 4)]), 3);
        assert_eq!(misses(&[(1, 6), (2, 3), (3, 4), (1, 6)]), 4);
        // Of two of 5 bytes the first leaves.
        assert_eq!(misses(&[(1, 5), (2, 5), (3, 2), (2, 5), (1, 5)]), 4);
    }
}
