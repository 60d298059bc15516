//! Squid's heap policies (5.7, src/repl/heap/store_heap_replacement.cc and store_repl_heap.cc,
//! lib/heap.c), with their keys; the least key leaves.
//!
//! - `heap LRU`: the second of the latest request.
//! - `heap LFUDA`: `age + references - tie`. The tie is 0 where the object was referenced in the
//!   second in which the key is made, and that is always so here.
//! - `heap GDSF`: `age + references / size - 1 / second`.
//!
//! As there: seconds are whole, references are counted in 16 bits and start again at zero, a key is
//! made when an object is added and again when a client lets go of it (here at once), with the age
//! of that moment, and never between. The age is 1 at first, grows by a hundred millionth with each
//! object added, and becomes the key of the last victim at the end of a purge. The heap is the
//! binary one of lib/heap.c, step for step, as it decides between equal keys, of which whole
//! seconds make many.
//!
//! Not modelled: objects that are locked while they are delivered, and purges once per second
//! between two water marks with at most `300 f + 20` objects. Here a purge runs at each insertion,
//! for as much as it needs. A trace counts seconds from its start; they are taken to be after
//! [`EPOCH`], which matters to the last term of `heap GDSF` only. A trace without times is one
//! second.

use std::marker::PhantomData;

use super::{Eviction, Gone, Input, Needs, Room, SettingError, Sizes};

/// Unix time of the first request: 14 November 2023.
const EPOCH: f64 = 1_700_000_000.0;

/// A key.
pub(super) trait Key: Sized {
    const NAME: &'static str;
    const ABOUT: &'static str;
    const SECONDS: bool;

    fn of(age: f64, references: u16, size: f64, second: f64) -> f64;
}

#[derive(Debug)]
pub(super) struct Lru;

impl Key for Lru {
    const NAME: &'static str = "squid-heap-lru";
    const ABOUT: &'static str = "Squid's heap LRU: by the second of the latest request";
    const SECONDS: bool = true;

    #[inline(always)]
    fn of(_: f64, _: u16, _: f64, second: f64) -> f64 {
        second
    }
}

#[derive(Debug)]
pub(super) struct Lfuda;

impl Key for Lfuda {
    const NAME: &'static str = "squid-heap-lfuda";
    const ABOUT: &'static str = "Squid's heap LFUDA: age + references";
    const SECONDS: bool = false;

    #[inline(always)]
    fn of(age: f64, references: u16, _: f64, _: f64) -> f64 {
        age + f64::from(references)
    }
}

#[derive(Debug)]
pub(super) struct Gdsf;

impl Key for Gdsf {
    const NAME: &'static str = "squid-heap-gdsf";
    const ABOUT: &'static str = "Squid's heap GDSF: age + references / size";
    const SECONDS: bool = true;

    #[inline(always)]
    fn of(age: f64, references: u16, size: f64, second: f64) -> f64 {
        age + f64::from(references) / size - 1.0 / second
    }
}

#[derive(Debug)]
pub(super) struct SquidHeap<K> {
    heap: Heap,
    /// Clients that asked for each object that is inside.
    references: Vec<u16>,
    age: f64,
    used: u64,
    capacity: u64,
    key: PhantomData<K>,
}

impl<K: Key> Eviction for SquidHeap<K> {
    const NAME: &'static str = K::NAME;
    const ABOUT: &'static str = K::ABOUT;
    const NEEDS: Needs = Needs { next: false, seconds: K::SECONDS };

    fn new(room: &Room<'_>) -> Result<Self, SettingError> {
        Ok(Self {
            heap: Heap { nodes: Vec::new(), places: vec![ABSENT; room.objects] },
            references: vec![0; room.objects],
            age: 1.0,
            used: 0,
            capacity: room.capacity,
            key: PhantomData,
        })
    }

    #[inline(always)]
    fn hit<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize) -> bool {
        let object = input.requests[at];
        let inside = self.contains(object);
        if inside {
            let references = &mut self.references[object as usize];
            *references = references.wrapping_add(1);
            self.heap.update(object, self.key(input, at));
        }
        inside
    }

    #[inline(always)]
    fn insert<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize, gone: &mut impl Gone) {
        let object = input.requests[at];
        let size = input.size(object);
        if size > self.capacity {
            return;
        }
        let mut last = None;
        while self.used > self.capacity - size {
            let Some(victim) = self.heap.pop() else { break };
            self.used -= input.size(victim.object);
            last = Some(victim.key);
            gone.gone(victim.object);
        }
        if let Some(key) = last.filter(|&key| key > 0.0) {
            self.age = key;
        }
        self.used += size;
        self.references[object as usize] = 1;
        self.heap.push(Node { key: self.key(input, at), object });
        self.age += self.age / 1e8;
        self.heap.update(object, self.key(input, at));
    }

    #[inline(always)]
    fn contains(&self, object: u32) -> bool {
        self.heap.places[object as usize] != ABSENT
    }

    #[inline(always)]
    fn prefetch(&self, object: u32) {
        crate::prefetch::fetch(&self.heap.places, object);
        crate::prefetch::fetch(&self.references, object);
    }

    fn memory_bytes(&self) -> usize {
        let references = self.references.capacity() * size_of::<u16>();
        let places = self.heap.places.capacity() * size_of::<u32>();
        self.heap.nodes.capacity() * size_of::<Node>() + places + references
    }
}

impl<K: Key> SquidHeap<K> {
    #[inline(always)]
    #[expect(clippy::cast_precision_loss, reason = "sizes are at most 2^48")]
    fn key<S: Sizes>(&self, input: &Input<'_, S>, at: usize) -> f64 {
        let object = input.requests[at];
        let size = input.size(object).max(1) as f64;
        let second = f64::from(input.seconds.get(at).copied().unwrap_or(0));
        K::of(self.age, self.references[object as usize], size, EPOCH + second)
    }
}

/// No place in the heap.
const ABSENT: u32 = u32::MAX;

/// A binary heap that knows where everything is.
#[derive(Debug)]
struct Heap {
    nodes: Vec<Node>,
    /// The place of each object.
    places: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    key: f64,
    object: u32,
}

impl Heap {
    #[inline(always)]
    fn push(&mut self, node: Node) {
        self.nodes.push(node);
        self.rise(self.nodes.len() - 1, node);
    }

    #[inline(always)]
    fn update(&mut self, object: u32, key: f64) {
        let at = self.places[object as usize] as usize;
        let before = std::mem::replace(&mut self.nodes[at].key, key);
        let node = self.nodes[at];
        if key < before {
            self.rise(at, node);
        } else {
            self.sink(at, node);
        }
    }

    /// Takes the top: the last node takes its place, and sinks.
    #[inline(always)]
    fn pop(&mut self) -> Option<Node> {
        let top = *self.nodes.first()?;
        self.places[top.object as usize] = ABSENT;
        if let Some(last) = self.nodes.pop()
            && !self.nodes.is_empty()
        {
            self.sink(0, last);
        }
        Some(top)
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "there are fewer than 2^32 objects")]
    fn put(&mut self, at: usize, node: Node) {
        self.nodes[at] = node;
        self.places[node.object as usize] = at as u32;
    }

    /// Up, past parents whose keys are greater.
    #[inline(always)]
    fn rise(&mut self, mut at: usize, node: Node) {
        while at > 0 {
            let parent = self.nodes[(at - 1) / 2];
            if parent.key <= node.key {
                break;
            }
            self.put(at, parent);
            at = (at - 1) / 2;
        }
        self.put(at, node);
    }

    /// Down, past children whose keys are less: the right one only where it is the lesser.
    #[inline(always)]
    fn sink(&mut self, mut at: usize, node: Node) {
        loop {
            let left = 2 * at + 1;
            let Some(&(mut child)) = self.nodes.get(left) else { break };
            let mut to = left;
            if let Some(&right) = self.nodes.get(left + 1).filter(|right| right.key < child.key) {
                (child, to) = (right, left + 1);
            }
            if node.key <= child.key {
                break;
            }
            self.put(at, child);
            at = to;
        }
        self.put(at, node);
    }
}
