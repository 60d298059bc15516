//! Goodbyes that were said lately: a heartbeat sent before its cache's goodbye and delivered after
//! it must not bring the cache back.

use std::collections::{BTreeMap, BTreeSet};

/// The most that are remembered; the oldest goes first. What is forgotten expires as any other.
const MOST: usize = 65_536;

/// Who said goodbye, by public name.
#[derive(Debug, Default)]
pub(super) struct Farewells {
    /// By name: the agent's clock when it was said, seconds since 1970, and until when it counts.
    said: BTreeMap<u64, (f64, u64)>,
    /// Names by the end of their goodbye.
    ends: BTreeSet<(u64, u64)>,
}

impl Farewells {
    pub(super) fn add(&mut self, id: u64, said_s: f64, end_ns: u64) {
        if let Some((_, end)) = self.said.insert(id, (said_s, end_ns)) {
            self.ends.remove(&(end, id));
        }
        self.ends.insert((end_ns, id));
        if self.said.len() > MOST {
            self.forget_first();
        }
    }

    /// When this one said goodbye, by its own clock.
    pub(super) fn said(&self, id: u64) -> Option<f64> {
        self.said.get(&id).map(|(said, _)| *said)
    }

    pub(super) fn forget_before(&mut self, now_ns: u64) {
        while self.ends.first().is_some_and(|(end, _)| *end <= now_ns) {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        if let Some((_, id)) = self.ends.pop_first() {
            self.said.remove(&id);
        }
    }
}
