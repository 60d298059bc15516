//! The entries of a registry and how they are found.

use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::table::Table;
use super::{Cache, Identity, Source, Spot};

/// What a registry keeps of one cache beside what readers see.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) cache: Arc<Cache>,
    /// Absent from copies: a uuid is never told.
    pub(super) uuid: Option<Box<str>>,
    pub(super) source: Source,
    /// Whether its source's cap counts it.
    pub(super) counted: bool,
    /// The agent's clock at the last heartbeat, seconds since 1970.
    pub(super) timestamp: f64,
    /// When it expires, by the monotonic clock.
    pub(super) end_ns: u64,
    pub(super) ttl_ns: u64,
}

impl Entry {
    pub(super) fn identity(&self) -> Identity {
        self.cache.identity()
    }
}

/// All entries, in slots that are used again.
#[derive(Debug)]
pub(super) struct Entries {
    /// Keyed with the registry's secret.
    names: Hmac<Sha256>,
    slots: Vec<Option<Entry>>,
    free: Vec<u32>,
    by_uuid: Table,
    by_identity: Table,
    by_id: Table,
    /// Where others reach them: many may be at one spot.
    by_spot: Table,
    by_source: indexmap::IndexMap<Source, usize>,
}

impl Entries {
    pub(super) fn new(secret: [u8; 32]) -> Self {
        // A key below the block's 64 bytes is filled up with zeros (RFC 2104, section 2).
        let mut key = [0; 64];
        key[..32].copy_from_slice(&secret);
        Self {
            names: Hmac::new(&key.into()),
            slots: Vec::new(),
            free: Vec::new(),
            by_uuid: Table::default(),
            by_identity: Table::default(),
            by_id: Table::default(),
            by_spot: Table::default(),
            by_source: indexmap::IndexMap::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The public name of a uuid: an HMAC-SHA-256 of it (RFC 2104), cut to 64 bits.
    pub(super) fn id_of(&self, uuid: &str) -> u64 {
        let mut mac = self.names.clone();
        mac.update(uuid.as_bytes());
        let digest = mac.finalize().into_bytes();
        digest.iter().take(8).fold(0, |id, byte| id << 8 | u64::from(*byte))
    }

    pub(super) fn get(&self, slot: u32) -> Option<&Entry> {
        self.slots.get(slot as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, slot: u32) -> Option<&mut Entry> {
        self.slots.get_mut(slot as usize)?.as_mut()
    }

    pub(super) fn by_uuid(&self, uuid: &str) -> Option<u32> {
        self.by_uuid.find(uuid, |slot| uuid_in(&self.slots, slot) == uuid)
    }

    pub(super) fn by_identity(&self, identity: &Identity) -> Option<u32> {
        let key = Some(*identity);
        self.by_identity.find(&key, |slot| identity_in(&self.slots, slot) == key)
    }

    pub(super) fn by_id(&self, id: u64) -> Option<u32> {
        let key = Some(id);
        self.by_id.find(&key, |slot| id_in(&self.slots, slot) == key)
    }

    /// All that others reach at a spot.
    pub(super) fn at_spot(&self, spot: Spot) -> impl Iterator<Item = u32> + '_ {
        let key = Some(spot);
        self.by_spot.all(key, move |slot| spot_in(&self.slots, slot) == key)
    }

    pub(super) fn cache(&self, slot: u32) -> Option<&Arc<Cache>> {
        self.get(slot).map(|entry| &entry.cache)
    }

    pub(super) fn of_source(&self, source: &Source) -> usize {
        self.by_source.get(source).copied().unwrap_or(0)
    }

    pub(super) fn insert(&mut self, entry: Entry) -> u32 {
        if entry.counted {
            *self.by_source.entry(entry.source.clone()).or_default() += 1;
        }
        let named = entry.uuid.is_some();
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.slots.push(None);
                u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
            }
        };
        self.slots[slot as usize] = Some(entry);
        let slots = &self.slots;
        if named {
            self.by_uuid.insert(slot, |slot| uuid_in(slots, slot));
        }
        self.by_identity.insert(slot, |slot| identity_in(slots, slot));
        self.by_id.insert(slot, |slot| id_in(slots, slot));
        self.by_spot.insert(slot, |slot| spot_in(slots, slot));
        slot
    }

    pub(super) fn remove(&mut self, slot: u32) -> Option<Entry> {
        let entry = self.slots.get_mut(slot as usize)?.take()?;
        self.free.push(slot);
        if let Some(uuid) = &entry.uuid {
            self.by_uuid.remove(slot, &**uuid);
        }
        self.by_identity.remove(slot, Some(entry.identity()));
        self.by_id.remove(slot, Some(entry.cache.id));
        self.by_spot.remove(slot, Some(entry.identity().spot()));
        if entry.counted
            && let Some(count) = self.by_source.get_mut(&entry.source)
        {
            *count -= 1;
            if *count == 0 {
                self.by_source.swap_remove(&entry.source);
            }
        }
        Some(entry)
    }
}

// Keys, read from the slots. Tables hold slots of entries only.

fn uuid_in(slots: &[Option<Entry>], slot: u32) -> &str {
    let entry = slots.get(slot as usize).and_then(Option::as_ref);
    entry.and_then(|entry| entry.uuid.as_deref()).unwrap_or_default()
}

fn identity_in(slots: &[Option<Entry>], slot: u32) -> Option<Identity> {
    slots.get(slot as usize)?.as_ref().map(Entry::identity)
}

fn spot_in(slots: &[Option<Entry>], slot: u32) -> Option<Spot> {
    identity_in(slots, slot).map(|identity| identity.spot())
}

fn id_in(slots: &[Option<Entry>], slot: u32) -> Option<u64> {
    slots.get(slot as usize)?.as_ref().map(|entry| entry.cache.id)
}
