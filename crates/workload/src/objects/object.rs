//! One object: its size, its versions over time, and its bytes.
//!
//! # Life
//!
//! An object that changes has a period P and an age at time zero, a, uniform in 0..P: its cycles
//! begin at c · P − a for every whole c, before time zero too. Cycle c holds one change, at
//! P / 2 + v · P · (u − 1/2) from its beginning, where v is the class's variance and u, from 0 to
//! 1, is a hash of the object and the cycle. The version at a time is the number of changes since
//! the beginning of cycle 0: 0 or 1 at time zero. This is the life cycle of Web Polygraph.
//!
//! # Bytes
//!
//! Word i of a version is word i + 1 of SplitMix64 from a hash of object and version, lowest byte
//! first; so any range is made by itself, and no compression shortens it.

use super::class::Fresh;
use crate::random::unit;
use plimsoll_units::hash::{GOLDEN, mix};

/// An object of a [`Catalogue`](super::Catalogue).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Object {
    /// Its number.
    pub number: u64,
    /// The number of its class, in the order of the workload's.
    pub class: u16,
    /// Its size, bytes; the same in every version.
    pub size: u64,
    /// Whether a cache may keep it.
    pub is_cachable: bool,
    /// How long copies are fresh.
    pub fresh: Fresh,
    pub(super) life: Life,
    /// Where its bytes come from.
    pub(super) key: u64,
}

/// When an object changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Life {
    /// Zero for one that never changes; at most 2^62.
    pub period_ns: u64,
    /// The age of its cycle at time zero, below the period.
    pub age_ns: u64,
    pub variance: f64,
    pub key: u64,
}

impl Life {
    /// The change of a cycle, from its beginning. Cycles before time zero are numbers near 2^64.
    fn change(&self, cycle: u64) -> u64 {
        let middle = self.period_ns / 2;
        if self.variance <= 0.0 {
            return middle;
        }
        let stray = unit(mix(self.key ^ mix(cycle.wrapping_mul(GOLDEN)))) - 0.5;
        #[expect(clippy::cast_possible_truncation, reason = "at most half of a period")]
        let stray = (self.variance * stray * self.period_ns as f64) as i64;
        middle.saturating_add_signed(stray).min(self.period_ns - 1)
    }

    /// The cycle at a time, and how long ago it began.
    fn cycle(&self, at_ns: u64) -> (u64, u64) {
        let since = at_ns.saturating_add(self.age_ns);
        (since / self.period_ns, since % self.period_ns)
    }
}

impl Object {
    /// The period at which it changes, nanoseconds; `None` where it never does.
    #[must_use]
    pub fn period_ns(&self) -> Option<u64> {
        (self.life.period_ns > 0).then_some(self.life.period_ns)
    }

    /// The number of its version at a time, nanoseconds since the start. Never falls.
    #[must_use]
    pub fn version(&self, at_ns: u64) -> u64 {
        if self.life.period_ns == 0 {
            return 0;
        }
        let (cycle, within) = self.life.cycle(at_ns);
        cycle + u64::from(within >= self.life.change(cycle))
    }

    /// When a version began, nanoseconds since the start, below zero before it; `None` for an
    /// object that never changes.
    #[must_use]
    pub fn changed_ns(&self, version: u64) -> Option<i64> {
        let period = i128::from(self.period_ns()?);
        let begins = (i128::from(version) - 1) * period - i128::from(self.life.age_ns);
        let at = begins + i128::from(self.life.change(version.wrapping_sub(1)));
        Some(i64::try_from(at).unwrap_or(i64::MAX))
    }

    /// When its version at a time ends, nanoseconds since the start; `None` where it never does.
    #[must_use]
    pub fn next_change_ns(&self, at_ns: u64) -> Option<u64> {
        let period = self.period_ns()?;
        let (cycle, within) = self.life.cycle(at_ns);
        let change = self.life.change(cycle);
        Some(if within < change {
            at_ns.saturating_add(change - within)
        } else {
            let next = self.life.change(cycle.wrapping_add(1));
            at_ns.saturating_add(period - within).saturating_add(next)
        })
    }

    /// How long a copy that leaves the origin at a time is fresh, nanoseconds; `u64::MAX` where it
    /// is for ever.
    #[must_use]
    pub fn fresh_ns(&self, at_ns: u64) -> u64 {
        match self.fresh {
            Fresh::For { ns } => ns,
            Fresh::UntilChange => self.next_change_ns(at_ns).map_or(u64::MAX, |next| next - at_ns),
        }
    }

    /// Writes the bytes of a version from `offset` on; gives how many there were, which is less
    /// than `out` holds where the object ends before.
    ///
    /// *Cost*: about a nanosecond for eight bytes.
    pub fn fill(&self, version: u64, offset: u64, out: &mut [u8]) -> usize {
        let left = self.size.saturating_sub(offset);
        let len = usize::try_from(left).map_or(out.len(), |left| left.min(out.len()));
        let out = &mut out[..len];
        let start = mix(self.key ^ mix(version.wrapping_mul(GOLDEN)));
        let mut index = offset / 8;
        let mut word = || {
            index = index.wrapping_add(1);
            mix(start.wrapping_add(index.wrapping_mul(GOLDEN))).to_le_bytes()
        };
        let skipped = (offset % 8) as usize;
        let ahead = if skipped == 0 { 0 } else { (8 - skipped).min(len) };
        let (first, rest) = out.split_at_mut(ahead);
        if ahead > 0 {
            first.copy_from_slice(&word()[skipped..skipped + ahead]);
        }
        let mut words = rest.chunks_exact_mut(8);
        for chunk in &mut words {
            chunk.copy_from_slice(&word());
        }
        let last = words.into_remainder();
        if !last.is_empty() {
            let len = last.len();
            last.copy_from_slice(&word()[..len]);
        }
        len
    }
}
