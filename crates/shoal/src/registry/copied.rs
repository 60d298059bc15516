//! Entries copied from another registry, so that one that has just started has answers.

use std::sync::Arc;

use super::entry::Entry;
use super::{By, Registry, Source, State};
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
    /// What the other registry found out about it, or its operator decided.
    pub state: State,
    /// Whether a key announced it there.
    pub signed: bool,
}

impl Registry {
    /// Takes copies of entries that are not known here. A copy carries its age and never renews
    /// an entry; the cache's own heartbeat takes its place, a signed one that of a signed copy.
    /// What the peer's operators decided holds for entries that are known, too. Returns how many
    /// were taken.
    pub fn copy(&mut self, now: Now, list: &[Copied], locate: &dyn Locate) -> usize {
        let mut taken = 0;
        for copied in list {
            let identity = super::Identity::of(&copied.beat);
            let known = self.entries.by_identity(&identity).or(self.entries.by_id(copied.id));
            self.decide_at(By::Peer, identity.spot(), copied.state);
            let source = if copied.signed { Source::SignedCopy } else { Source::Copy };
            let Some(left_ns) = self.settings.ttl_ns.checked_sub(copied.age_ns) else { continue };
            let is_beside = !copied.signed && self.is_signed(identity.spot());
            if known.is_some() || is_beside || self.len() >= self.settings.most_entries {
                continue;
            }
            let place = identity.address.and_then(|address| locate.place(address));
            let place = place.or_else(|| locate.announced(copied.beat.coordinates));
            let heard = Now { elapsed_ns: now.elapsed_ns.saturating_sub(copied.age_ns), ..now };
            let cache = self.membership.cache(copied.id, &copied.beat, place, heard);
            let cache = cache.announced_by(&source);
            // What was decided is known by now, and stands above what was found.
            if !copied.state.is_operators() {
                cache.set_state(copied.state);
            }
            self.admit(Entry {
                cache: Arc::new(cache),
                uuid: None,
                source,
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
