//! Squid's heap policies against the steps of lib/heap.c, written as swaps of whole nodes.

use proptest::prelude::*;

use super::{Case, Model, agrees, cases, see};

#[derive(Debug, Clone, Copy)]
struct Entry {
    object: u32,
    key: f64,
    references: u16,
}

/// A heap in which everything is searched for, and moved by swaps.
struct Heap {
    nodes: Vec<Entry>,
    age: f64,
    key: fn(f64, u16, f64, f64) -> f64,
}

impl Heap {
    fn new(key: fn(f64, u16, f64, f64) -> f64) -> Self {
        Self { nodes: Vec::new(), age: 1.0, key }
    }

    fn up(&mut self, mut at: usize) {
        while at > 0 && self.nodes[(at - 1) / 2].key > self.nodes[at].key {
            self.nodes.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    fn down(&mut self, mut at: usize) {
        while 2 * at + 1 < self.nodes.len() {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            let is_right = right < self.nodes.len() && self.nodes[right].key < self.nodes[left].key;
            let least = if is_right { right } else { left };
            if self.nodes[at].key <= self.nodes[least].key {
                return;
            }
            self.nodes.swap(at, least);
            at = least;
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    fn rekey(&mut self, case: &Case, at: usize, node: usize) {
        let Entry { object, key: before, references } = self.nodes[node];
        let second = 1.7e9 + f64::from(case.seconds[at]);
        let key = (self.key)(self.age, references, case.size(object).max(1) as f64, second);
        self.nodes[node].key = key;
        if key < before {
            self.up(node);
        } else {
            self.down(node);
        }
    }

    fn place(&self, object: u32) -> Option<usize> {
        self.nodes.iter().position(|node| node.object == object)
    }
}

impl Model for Heap {
    fn hit(&mut self, case: &Case, at: usize, object: u32) -> bool {
        let Some(place) = self.place(object) else { return false };
        self.nodes[place].references = self.nodes[place].references.wrapping_add(1);
        self.rekey(case, at, place);
        true
    }

    fn insert(&mut self, case: &Case, at: usize, object: u32) {
        if case.size(object) > case.capacity {
            return;
        }
        let mut last = 0.0;
        while case.total(&self.inside()) + case.size(object) > case.capacity {
            last = self.nodes.swap_remove(0).key;
            self.down(0);
        }
        if last > 0.0 {
            self.age = last;
        }
        // Added at the end with a key that is not less than any, then keyed: it rises.
        self.nodes.push(Entry { object, key: f64::INFINITY, references: 1 });
        self.rekey(case, at, self.nodes.len() - 1);
        self.age += self.age / 100_000_000.0;
        let place = self.place(object).unwrap();
        self.rekey(case, at, place);
    }

    fn inside(&self) -> Vec<u32> {
        self.nodes.iter().map(|node| node.object).collect()
    }
}

proptest! {
    #[test]
    fn heaps(case in cases()) {
        agrees("squid-heap-lru", &case, Heap::new(|_, _, _, second| second))?;
        agrees("squid-heap-lfuda", &case, Heap::new(|age, count, _, _| age + f64::from(count)))?;
        let gdsf = |age, count, size, second: f64| age + f64::from(count) / size - 1.0 / second;
        agrees("squid-heap-gdsf", &case, Heap::new(gdsf))?;
    }
}

/// 65,536 requests later an object counts as never asked for.
#[test]
fn references_are_counted_in_sixteen_bits() {
    let mut requests = vec![0; 65_536];
    requests.extend([1, 1, 2]);
    let case = Case::new(&requests, &[1, 1, 1], 2);
    let seen = see("squid-heap-lfuda", &case);
    assert_eq!(seen.last().unwrap().gone, [0]);
    let seen = see("lfuda", &case);
    assert_eq!(seen.last().unwrap().gone, [1]);
}
