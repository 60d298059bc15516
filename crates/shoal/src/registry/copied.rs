//! Entries copied from another registry, so that one that has just started has answers.

use std::sync::Arc;

use super::entry::Entry;
use super::{Registry, Source, State};
use crate::Now;
use crate::geo::Locate;
use crate::heartbeat::Heartbeat;

/// An entry of another registry's list.
#[derive(Debug, Clone, PartialEq)]
pub struct Copied {
    /// Its public name there.
    pub id: u64,
    /// What it is. The uuid is empty: none is ever told.
    pub beat: Heartbeat,
    /// How long ago the other registry heard of it, nanoseconds.
    pub age_ns: u64,
    /// What the other registry found out about it.
    pub state: State,
}

impl Registry {
    /// Takes copies of entries that are not known here. A copy carries its age and never renews
    /// an entry; the cache's own heartbeat takes its place. Returns how many were taken.
    pub fn copy(&mut self, now: Now, list: &[Copied], locate: &dyn Locate) -> usize {
        let mut taken = 0;
        for copied in list {
            let identity = super::Identity::of(&copied.beat);
            let known = self.entries.by_identity(&identity).or(self.entries.by_id(copied.id));
            let Some(left_ns) = self.settings.ttl_ns.checked_sub(copied.age_ns) else { continue };
            if known.is_some() || self.len() >= self.settings.most_entries {
                continue;
            }
            let place = identity.address.and_then(|address| locate.place(address));
            let place = place.or_else(|| locate.announced(copied.beat.coordinates));
            let heard = Now { elapsed_ns: now.elapsed_ns.saturating_sub(copied.age_ns), ..now };
            let cache = self.membership.cache(copied.id, &copied.beat, place, heard);
            cache.set_state(copied.state);
            self.admit(Entry {
                cache: Arc::new(cache),
                uuid: None,
                source: Source::Copy,
                counted: false,
                timestamp: copied.beat.timestamp,
                end_ns: now.elapsed_ns + left_ns,
                ttl_ns: left_ns,
            });
            taken += 1;
        }
        taken
    }
}
