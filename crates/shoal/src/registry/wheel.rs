//! Which entries are to be looked at when: a bucket for each quarter of a second.
//!
//! An entry stands in one bucket. A heartbeat moves its end, not its place here: when the bucket's
//! time has come the entry is looked at, and stands in a later one if it still lives. So each entry
//! is touched once a time to live, however often it is heard (lazy timers, as in G. Varghese and
//! T. Lauck, "Hashed and hierarchical timing wheels", SOSP 1987, scheme 4 without its hierarchy).

use std::collections::BTreeMap;

/// The width of a bucket, nanoseconds.
const WIDTH: u64 = 250_000_000;

/// Slots of entries, by the bucket at whose start they are looked at.
#[derive(Debug, Default)]
pub(super) struct Wheel {
    buckets: BTreeMap<u64, Vec<Due>>,
}

/// An entry to be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) slot: u32,
    /// Which of the entries that had this slot in turn.
    pub(super) number: u64,
}

impl Wheel {
    /// Has an entry looked at in the first bucket that starts at `end_ns` or after it.
    pub(super) fn add(&mut self, end_ns: u64, due: Due) {
        self.buckets.entry(end_ns.div_ceil(WIDTH)).or_default().push(due);
    }

    /// Takes one entry whose bucket has started.
    pub(super) fn next(&mut self, now_ns: u64) -> Option<Due> {
        loop {
            let mut first = self.buckets.first_entry()?;
            if first.key().saturating_mul(WIDTH) > now_ns {
                return None;
            }
            if let Some(due) = first.get_mut().pop() {
                return Some(due);
            }
            first.remove();
        }
    }
}
