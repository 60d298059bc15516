//! Members by the address from which others see them.
//!
//! A hash table of the distinct addresses, open with linear probing and at most half full, so that
//! the question that is asked most, whether a cache lives at a client's own address, costs one
//! look at memory when none does. Members of one address stand side by side behind its slot.

use std::net::IpAddr;
use std::sync::Arc;

use plimsoll_units::hash::{GOLDEN, mix};

use crate::prefetch::fetch;
use crate::registry::Cache;

/// The last member of an address bears this mark.
const LAST: u32 = 1 << 31;

/// Positions of members by public and external address.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    /// The upper half of an address's hash, and one more than where its members begin; 0 if empty.
    slots: Box<[(u32, u32)]>,
    members: Box<[u32]>,
}

impl Addresses {
    pub(crate) fn new(caches: &[Arc<Cache>]) -> Self {
        let mut hashes: Vec<(u64, u32)> = Vec::with_capacity(caches.len());
        for (member, cache) in (0_u32..).zip(caches) {
            let known = [cache.public_ip, cache.external_ip];
            let mut known = known.map(|ip| ip.map(|ip| hash(ip.to_canonical())));
            if known[0] == known[1] {
                known[1] = None;
            }
            hashes.extend(known.into_iter().flatten().map(|hash| (hash, member)));
        }
        hashes.sort_unstable();
        let distinct = hashes.chunk_by(|a, b| a.0 == b.0).count();
        let mut slots = match distinct {
            0 => Box::default(),
            _ => vec![(0, 0); (2 * distinct).next_power_of_two()].into_boxed_slice(),
        };
        let mut members = Vec::with_capacity(hashes.len());
        for same in hashes.chunk_by(|a, b| a.0 == b.0) {
            let (tag, mut slot) = place(same[0].0, slots.len());
            while slots[slot].1 != 0 {
                slot = (slot + 1) % slots.len();
            }
            let begin = u32::try_from(members.len()).unwrap_or(u32::MAX);
            slots[slot] = (tag, begin.saturating_add(1));
            members.extend(same.iter().map(|&(_, member)| member));
            if let Some(last) = members.last_mut() {
                *last |= LAST;
            }
        }
        Self { slots, members: members.into() }
    }

    /// Has the slot of an address fetched, which must be in its canonical form.
    pub(crate) fn fetch(&self, address: IpAddr) {
        if !self.slots.is_empty() {
            let (_, slot) = place(hash(address), self.slots.len());
            fetch(&self.slots[slot]);
        }
    }

    /// Calls for each member of an address, which must be in its canonical form.
    pub(crate) fn each(&self, caches: &[Arc<Cache>], address: IpAddr, mut each: impl FnMut(usize)) {
        if self.slots.is_empty() {
            return;
        }
        let (tag, mut slot) = place(hash(address), self.slots.len());
        while let (known, begin @ 1..) = self.slots[slot] {
            if known == tag {
                for &marked in &self.members[begin as usize - 1..] {
                    let member = (marked & !LAST) as usize;
                    if is_at(&caches[member], address) {
                        each(member);
                    }
                    if marked & LAST != 0 {
                        break;
                    }
                }
            }
            slot = (slot + 1) % self.slots.len();
        }
    }
}

/// Whether others see a cache at an address, which must be in its canonical form.
fn is_at(cache: &Cache, address: IpAddr) -> bool {
    [cache.public_ip, cache.external_ip].iter().flatten().any(|ip| ip.to_canonical() == address)
}

#[expect(clippy::cast_possible_truncation, reason = "halves of a hash")]
fn place(hash: u64, slots: usize) -> (u32, usize) {
    ((hash >> 32) as u32, hash as usize & (slots - 1))
}

/// Both halves of an address, mixed.
fn hash(address: IpAddr) -> u64 {
    let bits = match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()) | 0xffff << 32,
        IpAddr::V6(v6) => v6.to_bits(),
    };
    #[expect(clippy::cast_possible_truncation, reason = "halves of an address")]
    let (high, low) = ((bits >> 64) as u64, bits as u64);
    mix(low ^ mix(high.wrapping_add(GOLDEN)))
}
