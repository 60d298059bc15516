//! What an operator decided about caches, kept over restarts.
//!
//! A decision is about an address, private address and port, not about a uuid: an agent that
//! starts again has a new one.

use std::collections::BTreeMap;

use super::{Identity, State};

/// Decisions of an operator: `drained` or `banned` caches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    states: BTreeMap<Identity, State>,
}

impl Kept {
    /// The decision about a cache, if there is one.
    #[must_use]
    pub fn get(&self, identity: &Identity) -> Option<State> {
        self.states.get(identity).copied()
    }

    /// Decides, or withdraws what was decided. Other states than drained and banned withdraw.
    pub fn set(&mut self, identity: Identity, state: State) {
        if state.is_operators() {
            self.states.insert(identity, state);
        } else {
            self.states.remove(&identity);
        }
    }

    /// All decisions, in the order of their addresses.
    pub fn iter(&self) -> impl Iterator<Item = (&Identity, State)> {
        self.states.iter().map(|(identity, state)| (identity, *state))
    }
}
