//! Who is a member, as readers see it: published at most every 100 ms, with a base that is built
//! off the serving threads.

use std::sync::Arc;

use arc_swap::ArcSwap;

use super::glance::{Glances, Seats};
use super::snapshot::{Base, Snapshot};
use super::{Cache, Registry};
use crate::Now;
use crate::geo::Place;
use crate::heartbeat::Heartbeat;

/// Where the latest snapshot stands. Loading it takes no lock.
pub type Shelf = ArcSwap<Snapshot>;

/// The shortest time between two snapshots, nanoseconds.
const PUBLISH_NS: u64 = 100_000_000;

/// A base is built anew when more joined since: they have an index of their own, which is built
/// with each snapshot.
const MOST_JOINED: usize = 512;

#[derive(Debug)]
pub(super) struct Membership {
    shelf: Arc<Shelf>,
    base: Arc<Base>,
    /// Joined since the base was begun, in that order.
    joined: Vec<Arc<Cache>>,
    next_number: u64,
    glances: Arc<Glances>,
    seats: Seats,
    /// Members that left since the base was begun: at most so many of it are gone.
    left: usize,
    changed: bool,
    published_ns: u64,
    rebuilding: bool,
}

/// Seats are not free as soon as members leave: so many are there for each that may be listed, and
/// besides. Where none is free, a cache does without.
const SEATS: usize = 2;
const MORE_SEATS: usize = 4096;
const MOST_SEATS: u32 = 1 << 24;

impl Membership {
    /// Without members, of which there may be so many.
    pub(super) fn new(most: usize) -> Self {
        let seats = most.saturating_mul(SEATS).saturating_add(MORE_SEATS);
        let seats = u32::try_from(seats).map_or(MOST_SEATS, |seats| seats.min(MOST_SEATS));
        Self {
            shelf: Arc::default(),
            base: Arc::default(),
            joined: Vec::new(),
            next_number: 0,
            glances: Arc::new(Glances::new(seats as usize)),
            seats: Seats::new(seats),
            left: 0,
            changed: false,
            published_ns: 0,
            rebuilding: false,
        }
    }

    /// A cache that is about to join, with its number and its seat.
    pub(super) fn cache(
        &mut self,
        id: u64,
        beat: &Heartbeat,
        place: Option<Arc<Place>>,
        now: Now,
    ) -> Cache {
        let cache = Cache::new(self.next_number, id, beat, place, now);
        self.next_number += 1;
        cache.seated(&self.glances, self.seats.take())
    }

    pub(super) fn shelf(&self) -> Arc<Shelf> {
        Arc::clone(&self.shelf)
    }

    pub(super) fn joined(&mut self, cache: Arc<Cache>) {
        self.joined.push(cache);
        self.changed = true;
    }

    pub(super) fn left(&mut self, cache: &Cache) {
        self.seats.leave(cache.seat());
        self.left += 1;
        self.changed = true;
    }

    fn publish(&mut self, now_ns: u64) {
        self.joined.retain(|cache| cache.alive());
        // When more come at once, the rest is there with the next base, which is due then.
        let joined = self.joined.iter().take(4 * MOST_JOINED).cloned().collect();
        let generation = self.shelf.load().generation + 1;
        let (base, glances) = (Arc::clone(&self.base), Arc::clone(&self.glances));
        self.shelf.store(Arc::new(Snapshot::new(generation, base, joined, glances)));
        self.changed = false;
        self.published_ns = now_ns;
    }
}

/// A base to be built: taken with [`Registry::rebuild`], built with [`Rebuild::build`] away from
/// the registry, handed in with [`Registry::adopt`].
#[derive(Debug)]
pub struct Rebuild {
    base: Arc<Base>,
    joined: Vec<Arc<Cache>>,
}

/// A base that was built.
#[derive(Debug)]
pub struct Rebuilt {
    base: Arc<Base>,
    /// The number of the last that had joined when it was begun.
    upto: Option<u64>,
}

impl Rebuild {
    /// Builds the base: some tens of milliseconds for 100,000 members.
    #[must_use]
    pub fn build(self) -> Rebuilt {
        let members = self.base.caches.iter().chain(&self.joined);
        let caches: Vec<_> = members.filter(|cache| cache.alive()).cloned().collect();
        let upto = self.joined.last().or(self.base.caches.last()).map(|last| last.number);
        Rebuilt { base: Arc::new(Base::new(caches)), upto }
    }
}

impl Registry {
    /// Publishes what changed, unless that was done less than 100 ms ago. Returns whether it did.
    pub fn publish(&mut self, now: Now) -> bool {
        let membership = &mut self.membership;
        let due = now.elapsed_ns >= membership.published_ns + PUBLISH_NS;
        let publish = membership.changed && (due || membership.published_ns == 0);
        if publish {
            membership.publish(now.elapsed_ns);
        }
        publish
    }

    /// A base to be built, where many joined or left since the last and none is being built.
    pub fn rebuild(&mut self) -> Option<Rebuild> {
        let membership = &mut self.membership;
        let many_left = membership.left > MOST_JOINED.max(membership.base.caches.len() / 4);
        if membership.rebuilding || !(many_left || membership.joined.len() > MOST_JOINED) {
            return None;
        }
        membership.rebuilding = true;
        membership.left = 0;
        membership.seats.base_begun();
        Some(Rebuild { base: Arc::clone(&membership.base), joined: membership.joined.clone() })
    }

    /// Takes a base that was built and publishes it. Returns the one before, to be freed without
    /// the lock.
    pub fn adopt(&mut self, now: Now, rebuilt: Rebuilt) -> Arc<Base> {
        let membership = &mut self.membership;
        membership.rebuilding = false;
        let upto = rebuilt.upto;
        membership.joined.retain(|cache| upto.is_none_or(|upto| cache.number > upto));
        let before = std::mem::replace(&mut membership.base, rebuilt.base);
        membership.publish(now.elapsed_ns);
        membership.seats.base_in_force();
        before
    }
}
