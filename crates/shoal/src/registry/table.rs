//! From a key that an entry holds to its slot, without a second copy of the key.
//!
//! A table of slots only (hashbrown's `HashTable`): five bytes an entry beside what it has anyway.
//! Keys come from strangers, so the hash is keyed (SipHash, by the standard library).

use std::hash::{BuildHasher, Hash, RandomState};

use hashbrown::HashTable;

/// Slots by a key that can be read from the slot.
#[derive(Debug, Default)]
pub(super) struct Table {
    slots: HashTable<u32>,
    state: RandomState,
}

impl Table {
    /// The slot whose key satisfies `same`.
    pub(super) fn find<K: Hash + ?Sized>(
        &self,
        key: &K,
        same: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        self.slots.find(self.state.hash_one(key), |slot| same(*slot)).copied()
    }

    /// All slots whose key satisfies `same`, where a key may be there many times.
    pub(super) fn all<K: Hash>(
        &self,
        key: K,
        same: impl Fn(u32) -> bool,
    ) -> impl Iterator<Item = u32> {
        let hash = self.state.hash_one(&key);
        self.slots.iter_hash(hash).copied().filter(move |slot| same(*slot))
    }

    /// Adds a slot. Its key is not in the table, or may be there many times.
    pub(super) fn insert<K: Hash>(&mut self, slot: u32, key_of: impl Fn(u32) -> K) {
        let hash = self.state.hash_one(key_of(slot));
        let state = &self.state;
        self.slots.insert_unique(hash, slot, |other| state.hash_one(key_of(*other)));
    }

    /// Removes a slot, if it is there.
    pub(super) fn remove<K: Hash>(&mut self, slot: u32, key: K) {
        if let Ok(found) = self.slots.find_entry(self.state.hash_one(key), |other| *other == slot) {
            found.remove();
        }
    }
}
