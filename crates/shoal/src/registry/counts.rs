//! What happened to a registry, counted.

use std::collections::BTreeMap;

use crate::heartbeat::Refusal;

/// Counters since the start. None ever falls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Heartbeats of caches that were known.
    pub renewed: u64,
    /// Caches that joined.
    pub joined: u64,
    /// Of those, in the place of an entry of the same address, private address and port.
    pub replaced: u64,
    /// Caches whose heartbeats stopped.
    pub expired: u64,
    /// Caches that said goodbye.
    pub goodbyes: u64,
    /// Messages that were not believed, by [`Refusal::reason`].
    pub refused: BTreeMap<&'static str, u64>,
}

impl Counts {
    /// Counts a refusal and hands it on.
    pub(super) fn refuse(&mut self, refusal: Refusal) -> Refusal {
        *self.refused.entry(refusal.reason()).or_default() += 1;
        refusal
    }
}
