//! What operators decided about caches, kept over restarts.
//!
//! A decision is about a [`Spot`], the address under which others reach a cache and its port, not
//! about a uuid: an agent that starts again has a new one. Nor is it about anything else that an
//! announcer chooses.
//!
//! What a peer's operator decided holds here, too, until an operator of this registry decides about
//! the same spot, be it that nothing is decided.

use std::collections::BTreeMap;

use super::{Spot, State};

/// Decisions of operators: `drained` or `banned` caches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    /// Of this registry's operators. That nothing is decided stands here only where a peer says
    /// otherwise.
    own: BTreeMap<Spot, State>,
    /// Of its peers'.
    peers: BTreeMap<Spot, State>,
}

/// Whose decision it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// An operator's of this registry.
    Operator,
    /// That of a peer, as far as it is known.
    Peer,
}

impl Kept {
    /// The decision about a cache, if there is one.
    #[must_use]
    pub fn get(&self, spot: &Spot) -> Option<State> {
        let decided = self.own.get(spot).or_else(|| self.peers.get(spot)).copied();
        decided.filter(|state| state.is_operators())
    }

    /// Decides, or withdraws what was decided. Other states than drained and banned withdraw.
    pub fn set(&mut self, by: By, spot: Spot, state: State) {
        let withdrawn = !state.is_operators();
        let (states, other) = match by {
            By::Operator => (&mut self.own, Some(&self.peers)),
            By::Peer => (&mut self.peers, None),
        };
        if withdrawn && !other.is_some_and(|peers| peers.contains_key(&spot)) {
            states.remove(&spot);
        } else {
            states.insert(spot, if withdrawn { State::Unverified } else { state });
        }
    }

    /// All decisions, by whose they are and in the order of their addresses.
    pub fn iter(&self) -> impl Iterator<Item = (By, &Spot, State)> {
        let own = self.own.iter().map(|(spot, state)| (By::Operator, spot, *state));
        own.chain(self.peers.iter().map(|(spot, state)| (By::Peer, spot, *state)))
    }
}
