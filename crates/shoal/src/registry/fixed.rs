//! Caches that run no agent: listed by this registry's own configuration until it lists them no
//! more.
//!
//! No heartbeat renews such an entry, so it has no time to live. An agent that speaks for the same
//! cache under its own address or a key of its own knows better: it takes the entry over, and the
//! cache then lives and ends by the agent's word until the configuration is read again. Through a
//! broker anybody may announce any address, so what comes by one takes nothing over.

use std::sync::Arc;

use super::entry::Entry;
use super::{Identity, Registry, Source};
use crate::Now;
use crate::geo::Locate;
use crate::heartbeat::Heartbeat;

impl Registry {
    /// Lists caches, each by what a heartbeat of it would say, without a uuid. One that is listed
    /// already stays as it is. Returns how many are listed now by the configuration's word; the
    /// others have an agent, or found no room.
    pub fn fix(&mut self, now: Now, list: &[Heartbeat], locate: &dyn Locate) -> usize {
        let mut listed = 0;
        for beat in list {
            let identity = Identity::of(beat);
            let known = self.entries.by_identity(&identity);
            match known.and_then(|slot| Some((slot, self.entries.get(slot)?))) {
                Some((_, entry)) if entry.source == Source::Static => listed += 1,
                Some((_, entry)) if !entry.source.makes_way_for(&Source::Static) => {}
                None if self.len() >= self.settings.most_entries => {}
                other => {
                    if let Some(slot) = other.map(|(slot, _)| slot) {
                        self.end(slot);
                        self.counts.replaced += 1;
                    }
                    self.list(now, beat, &identity, locate);
                    listed += 1;
                }
            }
        }
        listed
    }

    /// Lists no more what the configuration listed and does not list now; what has an agent by now
    /// is the agent's.
    pub fn unfix(&mut self, list: &[Identity]) {
        for identity in list {
            let slot = self.entries.by_identity(identity);
            let entry = slot.and_then(|slot| self.entries.get(slot));
            if entry.is_some_and(|entry| entry.source == Source::Static)
                && let Some(slot) = slot
            {
                self.end(slot);
            }
        }
    }

    fn list(&mut self, now: Now, beat: &Heartbeat, identity: &Identity, locate: &dyn Locate) {
        let place = identity.address.and_then(|address| locate.place(address));
        let place = place.or_else(|| locate.announced(beat.coordinates));
        // Of what no uuid can be, and the same after a restart.
        let address = identity.address.map_or_else(String::new, |address| address.to_string());
        let id = self.entries.id_of(&format!("static {address} {}", identity.port));
        let cache = self.membership.cache(id, beat, place, now);
        self.admit(Entry {
            cache: Arc::new(cache),
            uuid: None,
            source: Source::Static,
            counted: false,
            timestamp: beat.timestamp,
            end_ns: u64::MAX,
            ttl_ns: u64::MAX,
        });
        self.counts.joined += 1;
    }
}
