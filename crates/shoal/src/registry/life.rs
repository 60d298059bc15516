//! How an entry joins, lives and ends.

use std::borrow::Cow;
use std::sync::Arc;

use super::entry::Entry;
use super::wheel::Due;
use super::{By, Cache, Host, Identity, Origin, Registry, SECOND, Source, Spot, State};
use crate::Now;
use crate::geo::Locate;
use crate::heartbeat::{Heartbeat, Refusal};

/// What a heartbeat did.
#[derive(Debug, Clone)]
pub enum Heard {
    /// The cache was known and lives on.
    Renewed(Arc<Cache>),
    /// The cache joined.
    Joined(Arc<Cache>),
}

/// What a sweep did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Swept {
    /// Entries that expired.
    pub expired: usize,
    /// Whether others are due, which the next call will look at.
    pub more: bool,
}

/// The shortest time to live that an agent's own interval can give.
const SHORTEST_TTL_NS: u64 = 15 * SECOND;

impl Registry {
    /// Takes a heartbeat in.
    ///
    /// A known uuid is renewed, from its own source only. A new one joins: from a peer that is not
    /// trusted only under the peer's own address, in the place of an entry of the same identity.
    ///
    /// # Errors
    ///
    /// A [`Refusal`], which is counted.
    pub fn heard(
        &mut self,
        now: Now,
        origin: &Origin,
        beat: &Heartbeat,
        locate: &dyn Locate,
    ) -> Result<Heard, Refusal> {
        let heard = match self.entries.by_uuid(&beat.uuid) {
            Some(slot) => self.renew(now, origin, beat, slot),
            None => self.join(now, origin, beat, locate),
        };
        heard.map_err(|refusal| self.counts.refuse(refusal))
    }

    fn renew(
        &mut self,
        now: Now,
        origin: &Origin,
        beat: &Heartbeat,
        slot: u32,
    ) -> Result<Heard, Refusal> {
        let ttl_ns = self.ttl_ns(beat);
        let Some(entry) = self.entries.get_mut(slot) else { return Err(Refusal::Unknown) };
        if entry.source != origin.source {
            return Err(Refusal::OtherSource);
        }
        if let Some(ahead) = ahead_s(now, beat.timestamp) {
            return Err(Refusal::Ahead(ahead));
        }
        if beat.timestamp <= entry.timestamp {
            return Err(Refusal::Stale(age_s(now, beat)));
        }
        entry.timestamp = beat.timestamp;
        entry.ttl_ns = ttl_ns;
        entry.end_ns = now.elapsed_ns + ttl_ns;
        entry.cache.renew(beat, now);
        believe(&entry.cache, beat, origin);
        self.counts.renewed += 1;
        Ok(Heard::Renewed(Arc::clone(&entry.cache)))
    }

    fn join(
        &mut self,
        now: Now,
        origin: &Origin,
        beat: &Heartbeat,
        locate: &dyn Locate,
    ) -> Result<Heard, Refusal> {
        let ttl_ns = self.ttl_ns(beat);
        if (now.unix_s - beat.timestamp) * 1e9 >= self.settings.ttl_ns as f64 {
            return Err(Refusal::Stale(age_s(now, beat)));
        }
        if let Some(ahead) = ahead_s(now, beat.timestamp) {
            return Err(Refusal::Ahead(ahead));
        }
        let id = self.entries.id_of(&beat.uuid);
        if self.farewells.said(id).is_some_and(|said| beat.timestamp <= said) {
            return Err(Refusal::Stale(age_s(now, beat)));
        }
        let beat = &*addressed(origin, beat, &self.host)?;
        let identity = Identity::of(beat);
        let twin = self.twin(origin, &identity)?;
        let place = beat.address().and_then(|address| locate.place(address));
        let place = place.or_else(|| locate.announced(beat.coordinates));
        let cache = self.membership.cache(id, beat, place, now).announced_by(&origin.source);
        if let Some(twin) = twin {
            self.end(twin);
            self.counts.replaced += 1;
        }
        if origin.source.is_signed() {
            self.end_unsigned(identity.spot());
        }
        believe(&cache, beat, origin);
        let cache = self.admit(Entry {
            cache: Arc::new(cache),
            uuid: Some(beat.uuid.clone()),
            source: origin.source.clone(),
            counted: !origin.exempt(),
            timestamp: beat.timestamp,
            end_ns: now.elapsed_ns + ttl_ns,
            ttl_ns,
        });
        self.counts.joined += 1;
        Ok(Heard::Joined(cache))
    }

    /// The entry in whose place a new one would come, if it makes way and there is room.
    fn twin(&self, origin: &Origin, identity: &Identity) -> Result<Option<u32>, Refusal> {
        let twin = self.entries.by_identity(identity);
        let known = twin.and_then(|slot| self.entries.get(slot));
        if known.is_some_and(|entry| !entry.source.makes_way_for(&origin.source)) {
            return Err(Refusal::OtherSource);
        }
        if !origin.source.is_signed() && self.is_signed(identity.spot()) {
            return Err(Refusal::OtherSource);
        }
        if known.is_none() && self.len() >= self.settings.most_entries {
            return Err(Refusal::Full);
        }
        let own = known.is_some_and(|entry| entry.counted && entry.source == origin.source);
        let of_source = self.entries.of_source(&origin.source);
        if !origin.exempt() && !own && of_source >= self.settings.most_per_source {
            return Err(Refusal::SourceFull(of_source));
        }
        Ok(twin)
    }

    /// Whether a key speaks for a spot. What is not signed does not come beside it, whatever
    /// private address it says it has.
    pub(super) fn is_signed(&self, spot: Spot) -> bool {
        let mut entries = self.entries.at_spot(spot).filter_map(|slot| self.entries.get(slot));
        entries.any(|entry| entry.source.is_signed())
    }

    /// Ends what is at a spot for which a key speaks from now on.
    fn end_unsigned(&mut self, spot: Spot) {
        let unsigned =
            |slot: &u32| self.entries.get(*slot).is_some_and(|entry| !entry.source.is_signed());
        let slots: Vec<u32> = self.entries.at_spot(spot).filter(unsigned).collect();
        for slot in slots {
            self.end(slot);
            self.counts.replaced += 1;
        }
    }

    /// Adds an entry, which is new, and gives it what an operator decided about it.
    pub(super) fn admit(&mut self, entry: Entry) -> Arc<Cache> {
        let cache = Arc::clone(&entry.cache);
        if let Some(state) = self.kept.get(&entry.identity().spot()) {
            cache.set_state(state);
        }
        let end_ns = entry.end_ns;
        let slot = self.entries.insert(entry);
        self.wheel.add(end_ns, Due { slot, number: cache.number });
        self.membership.joined(Arc::clone(&cache));
        cache
    }

    /// Ends an entry at its agent's own word.
    ///
    /// # Errors
    ///
    /// A [`Refusal`], which is counted: the uuid is not known, or belongs to another source, or
    /// was heard after the goodbye was said.
    pub fn goodbye(
        &mut self,
        now: Now,
        source: &Source,
        uuid: &str,
        said_s: f64,
    ) -> Result<(), Refusal> {
        if let Some(ahead) = ahead_s(now, said_s) {
            return Err(self.counts.refuse(Refusal::Ahead(ahead)));
        }
        let known = self.entries.by_uuid(uuid);
        let slot = match known.and_then(|slot| Some((slot, self.entries.get(slot)?))) {
            None => Err(Refusal::Unknown),
            Some((_, entry)) if entry.source != *source => Err(Refusal::OtherSource),
            Some((_, entry)) if said_s < entry.timestamp => Err(Refusal::Stale(0)),
            Some((slot, _)) => Ok(slot),
        };
        let slot = slot.map_err(|refusal| self.counts.refuse(refusal))?;
        if let Some(entry) = self.entries.get(slot) {
            let end_ns = now.elapsed_ns + self.settings.ttl_ns;
            self.farewells.add(entry.cache.id, said_s, end_ns);
        }
        self.end(slot);
        self.counts.goodbyes += 1;
        Ok(())
    }

    /// Ends entries whose time has come, at most `most` of them looked at. To be called at least
    /// each second.
    pub fn sweep(&mut self, now: Now, most: usize) -> Swept {
        self.farewells.forget_before(now.elapsed_ns);
        let mut expired = 0;
        for _ in 0..most {
            let Some(due) = self.wheel.next(now.elapsed_ns) else {
                return Swept { expired, more: false };
            };
            let Some(entry) = self.entries.get(due.slot) else { continue };
            if entry.cache.number != due.number {
                continue;
            }
            if entry.end_ns > now.elapsed_ns {
                self.wheel.add(entry.end_ns, due);
                continue;
            }
            self.end(due.slot);
            self.counts.expired += 1;
            expired += 1;
        }
        Swept { expired, more: true }
    }

    pub(super) fn end(&mut self, slot: u32) {
        if let Some(entry) = self.entries.remove(slot) {
            entry.cache.end();
            self.membership.left(&entry.cache);
        }
    }

    /// What a verification found. What an operator decided stays.
    pub fn verified(&mut self, id: u64, good: bool) {
        if let Some(cache) = self.find(id)
            && !cache.state().is_operators()
        {
            cache.set_state(if good { State::Verified } else { State::Failing });
        }
    }

    /// Drains or bans a cache, and whatever else is announced at its address and port; any other
    /// state withdraws what was decided, and the cache is to be verified again. Returns whether it
    /// is known; the decision is among [`Registry::kept`].
    pub fn decide(&mut self, id: u64, state: State) -> bool {
        let Some(cache) = self.find(id) else { return false };
        self.decide_at(By::Operator, cache.identity().spot(), state);
        true
    }

    /// Takes a decision about a spot down, and has the caches there follow what then holds.
    pub(super) fn decide_at(&mut self, by: By, spot: Spot, state: State) {
        let before = self.kept.get(&spot);
        self.kept.set(by, spot, state);
        let decided = self.kept.get(&spot);
        if decided == before && by == By::Peer {
            return;
        }
        let state = decided.unwrap_or(State::Unverified);
        for cache in self.entries.at_spot(spot).filter_map(|slot| self.entries.cache(slot)) {
            cache.set_state(state);
        }
    }

    /// All that an operator decided, to be kept over a restart.
    #[must_use]
    pub fn kept(&self) -> &super::Kept {
        &self.kept
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 3600 s")]
    fn ttl_ns(&self, beat: &Heartbeat) -> u64 {
        let own = beat.interval_s.map(|interval| (4e9 * interval) as u64);
        own.map_or(u64::MAX, |own| own.max(SHORTEST_TTL_NS)).min(self.settings.ttl_ns)
    }
}

/// The heartbeat with the address under which its cache is listed.
///
/// A peer announces its own address, one on this host any of the host's. One that knows none of its
/// own (it is behind a translating router) is given the one it is seen by; a private address that
/// is its own will do, too. From elsewhere an address that others can reach is needed, as the
/// original needs it.
fn addressed<'a>(
    origin: &Origin,
    beat: &'a Heartbeat,
    host: &Host,
) -> Result<Cow<'a, Heartbeat>, Refusal> {
    let Source::Peer(peer) = origin.source else {
        return match beat.address() {
            Some(_) => Ok(Cow::Borrowed(beat)),
            None => Err(Refusal::Missing("public_ip")),
        };
    };
    match beat.address().or(beat.private_ip) {
        Some(address) if origin.trusted || host.is_of(peer, address) => Ok(Cow::Borrowed(beat)),
        None if origin.trusted => Err(Refusal::Missing("public_ip")),
        _ if beat.address().is_some() => Err(Refusal::AddressMismatch),
        _ => {
            let external_ip = Some(host.seen_as(peer).ok_or(Refusal::Missing("public_ip"))?);
            Ok(Cow::Owned(Heartbeat { external_ip, ..beat.clone() }))
        }
    }
}

/// A heartbeat's own `verified` is believed from trusted sources.
fn believe(cache: &Cache, beat: &Heartbeat, origin: &Origin) {
    if origin.trusted && beat.verified && cache.state() == State::Unverified {
        cache.set_state(State::Verified);
    }
}

/// Seconds by which an agent's clock may be ahead of ours. Whatever is stamped later would be taken
/// for the last word until our clock is there.
const AHEAD_S: f64 = 120.0;

/// By how many seconds a stamp is too far ahead, if it is.
#[expect(clippy::cast_possible_truncation, reason = "seconds since 1970, saturating")]
fn ahead_s(now: Now, stamp_s: f64) -> Option<i64> {
    let ahead_s = stamp_s - now.unix_s;
    (ahead_s > AHEAD_S).then_some(ahead_s as i64)
}

#[expect(clippy::cast_possible_truncation, reason = "seconds since 1970, saturating")]
fn age_s(now: Now, beat: &Heartbeat) -> i64 {
    (now.unix_s - beat.timestamp) as i64
}
