//! Queues between which objects move: what policies of several lists are made of.
//!
//! Nothing is linked. Each object knows its queue and the number of its entry there. When it
//! moves, its old entry stays where it is, and is void, as the object no longer knows it. So a
//! move writes one record of eight bytes and one place in sequence, where a linked list would
//! change two neighbours somewhere in memory. Void entries are passed over at the front, and
//! dropped when they are more than the others.

use crate::prefetch::fetch;

use super::ring::Ring;

/// `N` queues; an object is in one of them, or in none.
#[derive(Debug)]
pub(super) struct Queues<const N: usize> {
    places: Vec<Place>,
    queues: [Queue; N],
}

/// Where an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    /// Which queue: [`NONE`], or one more than its index.
    queue: u32,
    /// The number of the entry that is not void.
    entry: u32,
}

const NOWHERE: Place = Place { queue: 0, entry: 0 };

#[derive(Debug)]
struct Queue {
    ring: Ring,
    /// Entries that are not void.
    live: usize,
    /// What those objects take together.
    used: u64,
}

/// So many void entries are always tolerated.
const VOID: usize = 1024;

impl<const N: usize> Queues<N> {
    /// Empty queues for objects with numbers below `objects`.
    pub(super) fn new(objects: usize) -> Self {
        let queues = std::array::from_fn(|_| Queue { ring: Ring::new(), live: 0, used: 0 });
        Self { places: vec![NOWHERE; objects], queues }
    }

    /// The queue of an object.
    #[inline(always)]
    pub(super) fn queue_of(&self, object: u32) -> Option<usize> {
        (self.places[object as usize].queue as usize).checked_sub(1)
    }

    /// What the objects of a queue take together.
    #[inline(always)]
    pub(super) fn used(&self, queue: usize) -> u64 {
        self.queues[queue].used
    }

    /// How many objects are in a queue.
    #[inline(always)]
    pub(super) fn len(&self, queue: usize) -> usize {
        self.queues[queue].live
    }

    /// Puts an object that is in no queue to the back of one.
    #[inline(always)]
    pub(super) fn push(&mut self, to: usize, object: u32, size: u64) {
        let queue = &mut self.queues[to];
        if queue.ring.len() > 2 * queue.live + VOID {
            drop_void(to, queue, &mut self.places);
        }
        queue.live += 1;
        queue.used += size;
        let entry = queue.ring.push(object);
        self.places[object as usize] = Place { queue: stored(to), entry };
    }

    /// Takes an object out of its queue; nothing happens where it is in none.
    #[inline(always)]
    pub(super) fn take(&mut self, object: u32, size: u64) {
        if let Some(from) = self.queue_of(object) {
            self.queues[from].live -= 1;
            self.queues[from].used -= size;
            self.places[object as usize] = NOWHERE;
        }
    }

    /// Puts an object of any queue to the back of one.
    #[inline(always)]
    pub(super) fn shift(&mut self, to: usize, object: u32, size: u64) {
        self.take(object, size);
        self.push(to, object, size);
    }

    /// The object at the front of a queue.
    #[inline(always)]
    pub(super) fn front(&mut self, of: usize) -> Option<u32> {
        let ring = &mut self.queues[of].ring;
        loop {
            let object = ring.iter().next()?;
            let place = Place { queue: stored(of), entry: ring.front_number() };
            if self.places[object as usize] == place {
                return Some(object);
            }
            ring.pop();
            ring.prefetch(&self.places);
        }
    }

    /// Has memory fetch where an object is.
    #[inline(always)]
    pub(super) fn prefetch(&self, object: u32) {
        fetch(&self.places, object);
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let rings: usize = self.queues.iter().map(|queue| queue.ring.memory_bytes()).sum();
        self.places.capacity() * size_of::<Place>() + rings
    }
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "there are a few queues")]
fn stored(queue: usize) -> u32 {
    queue as u32 + 1
}

/// Keeps the entries that are not void. As the others are more, each of them pays for less than
/// two entries looked at.
#[cold]
#[inline(never)]
fn drop_void(of: usize, queue: &mut Queue, places: &mut [Place]) {
    let mut number = queue.ring.front_number();
    let mut kept = Ring::new();
    for object in queue.ring.iter() {
        let place = &mut places[object as usize];
        if *place == (Place { queue: stored(of), entry: number }) {
            place.entry = kept.push(object);
        }
        number = number.wrapping_add(1);
    }
    queue.ring = kept;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone, Copy)]
    enum Step {
        Shift { to: usize, object: u32 },
        Take { object: u32 },
        Leave { from: usize },
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            8 => (0..3usize, 0..40u32).prop_map(|(to, object)| Step::Shift { to, object }),
            1 => (0..40u32).prop_map(|object| Step::Take { object }),
            1 => (0..3usize).prop_map(|from| Step::Leave { from }),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn queues_are_lists(steps in proptest::collection::vec(step(), 0..6000)) {
            let mut queues = Queues::<3>::new(40);
            let mut lists: [Vec<u32>; 3] = Default::default();
            for step in steps {
                match step {
                    Step::Shift { to, object } => {
                        lists.iter_mut().for_each(|list| list.retain(|&other| other != object));
                        lists[to].push(object);
                        queues.shift(to, object, u64::from(object));
                    }
                    Step::Take { object } => {
                        lists.iter_mut().for_each(|list| list.retain(|&other| other != object));
                        queues.take(object, u64::from(object));
                    }
                    Step::Leave { from } => {
                        prop_assert_eq!(queues.front(from), lists[from].first().copied());
                        if let Some(front) = queues.front(from) {
                            queues.take(front, u64::from(front));
                            lists[from].remove(0);
                        }
                    }
                }
                for (queue, list) in lists.iter().enumerate() {
                    prop_assert_eq!(queues.len(queue), list.len());
                    let used: u32 = list.iter().sum();
                    prop_assert_eq!(queues.used(queue), u64::from(used));
                    prop_assert!(list.iter().all(|&one| queues.queue_of(one) == Some(queue)));
                }
            }
        }
    }
}
