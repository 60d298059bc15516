//! A queue of object numbers in one piece of memory: what policies of the FIFO family are made of.

use crate::prefetch::fetch;

/// First in, first out. Its memory is a power of two of places, and grows with what is in it.
#[derive(Debug, Clone)]
pub(super) struct Ring {
    places: Vec<u32>,
    /// Ever taken and ever put, modulo 2^32; their difference is the length.
    taken: u32,
    put: u32,
}

/// How far before its turn an object at the front of a queue is asked from memory.
const AHEAD: u32 = 12;

impl Ring {
    /// An empty queue with room for some at first.
    pub(super) fn new() -> Self {
        Self { places: vec![0; 64], taken: 0, put: 0 }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.put.wrapping_sub(self.taken) as usize
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.put == self.taken
    }

    /// How many were ever taken: the number of the entry at the front, modulo 2^32.
    #[inline(always)]
    pub(super) fn front_number(&self) -> u32 {
        self.taken
    }

    #[inline(always)]
    fn place(&self, number: u32) -> usize {
        number as usize & (self.places.len() - 1)
    }

    /// Puts an object at the back; the number of its entry is what it returns, modulo 2^32.
    #[inline(always)]
    pub(super) fn push(&mut self, object: u32) -> u32 {
        if self.len() == self.places.len() {
            self.grow();
        }
        let (number, place) = (self.put, self.place(self.put));
        self.places[place] = object;
        self.put = self.put.wrapping_add(1);
        number
    }

    /// Takes the object at the front.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<u32> {
        if self.is_empty() {
            return None;
        }
        let object = self.places[self.place(self.taken)];
        self.taken = self.taken.wrapping_add(1);
        Some(object)
    }

    /// Has memory fetch the state of the object whose turn comes soon.
    #[inline(always)]
    pub(super) fn prefetch<T>(&self, state: &[T]) {
        fetch(state, self.places[self.place(self.taken.wrapping_add(AHEAD))]);
    }

    /// What is in the queue, front first.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.put.wrapping_sub(self.taken))
            .map(|ahead| self.places[self.place(self.taken.wrapping_add(ahead))])
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.places.capacity() * size_of::<u32>()
    }

    #[cold]
    fn grow(&mut self) {
        let mut places = vec![0; self.places.len() * 2];
        let mask = places.len() - 1;
        for (ahead, object) in self.iter().enumerate() {
            places[(self.taken as usize).wrapping_add(ahead) & mask] = object;
        }
        self.places = places;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_ring_is_a_queue(steps in proptest::collection::vec(any::<Option<u32>>(), 0..600)) {
            let (mut ring, mut queue) = (Ring::new(), VecDeque::new());
            // Numbers pass their greatest on the way.
            (ring.taken, ring.put) = (u32::MAX - 100, u32::MAX - 100);
            for step in steps {
                match step {
                    Some(object) => {
                        ring.push(object);
                        queue.push_back(object);
                    }
                    None => prop_assert_eq!(ring.pop(), queue.pop_front()),
                }
                prop_assert_eq!(ring.len(), queue.len());
            }
            prop_assert!(ring.iter().eq(queue));
        }
    }
}
