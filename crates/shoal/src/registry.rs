//! The living caches: who joined, who still lives, who has gone.
//!
//! One [`Registry`] is written by whoever receives heartbeats, under one lock, for well below a
//! microsecond each. Look-ups read its latest [`Snapshot`] without a lock: what a cache *is* stands
//! in the snapshot, how it *fares* (load, state, whether it lives) in atomics of the [`Cache`]. So
//! a heartbeat of a known cache publishes nothing, and one that left is gone from every answer at
//! once.
//!
//! # Life
//!
//! An entry lives for its *time to live* from the receipt of its last heartbeat, by the monotonic
//! clock: min(ttl, max(15 s, 4 i)) where the agent says its interval i, else ttl.
//! [`Registry::sweep`] looks at an entry once a time to live, not once a second: it stands in the
//! quarter of a second at which it was due when last looked at (`wheel`).
//!
//! # Membership
//!
//! A snapshot is a *base*, with an index, and the few that joined since. The base is built anew,
//! off the serving threads and without the lock, when many joined or left ([`Registry::rebuild`]).

mod cache;
mod copied;
mod counts;
mod entry;
mod farewell;
mod fixed;
pub(crate) mod glance;
mod host;
mod keep;
mod life;
mod membership;
mod snapshot;
mod source;
mod state;
mod table;
mod wheel;

pub use cache::{Cache, DEFAULT_MAX_LOAD, Identity, Spot};
pub use copied::Copied;
pub use counts::Counts;
pub use glance::{Glances, Seat};
pub use host::Host;
pub use keep::{By, Kept};
pub use life::{Heard, Swept};
pub use membership::{Rebuild, Rebuilt, Shelf};
pub use snapshot::{Base, Snapshot};
pub use source::{Origin, Source};
pub use state::State;

use std::sync::Arc;

use crate::heartbeat::Refusal;
use entry::Entries;
use farewell::Farewells;
use membership::Membership;
use wheel::Wheel;

/// The bounds of a registry.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How long an entry lives after its last heartbeat, nanoseconds.
    pub ttl_ns: u64,
    /// The most entries; a full registry refuses the new and evicts none.
    pub most_entries: usize,
    /// The most entries of one source or key.
    pub most_per_source: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { ttl_ns: 180 * SECOND, most_entries: 200_000, most_per_source: 64 }
    }
}

const SECOND: u64 = 1_000_000_000;

/// The living caches. See the [module](self).
#[derive(Debug)]
pub struct Registry {
    settings: Settings,
    entries: Entries,
    wheel: Wheel,
    membership: Membership,
    farewells: Farewells,
    kept: Kept,
    counts: Counts,
    host: Host,
}

impl Registry {
    /// A registry without entries. `secret` keys the public names of caches: with the same secret
    /// a uuid has the same name.
    #[must_use]
    pub fn new(settings: Settings, secret: [u8; 32], kept: Kept) -> Self {
        Self {
            membership: Membership::new(settings.most_entries),
            settings,
            entries: Entries::new(secret),
            wheel: Wheel::default(),
            farewells: Farewells::default(),
            kept,
            counts: Counts::default(),
            host: Host::default(),
        }
    }

    /// Where readers find the latest snapshot.
    #[must_use]
    pub fn shelf(&self) -> Arc<Shelf> {
        self.membership.shelf()
    }

    /// Where its own host is, from now on.
    pub fn set_host(&mut self, host: Host) {
        self.host = host;
    }

    /// What happened so far.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Counts what was not believed before it came here, and hands it on.
    pub fn refuse(&mut self, refusal: Refusal) -> Refusal {
        self.counts.refuse(refusal)
    }

    /// Entries, living ones.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The cache of a public name.
    #[must_use]
    pub fn find(&self, id: u64) -> Option<&Arc<Cache>> {
        self.entries.by_id(id).and_then(|slot| self.entries.cache(slot))
    }
}
