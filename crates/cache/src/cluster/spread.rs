//! Which node a client's request goes to.

use crate::mix::hash;
use crate::trace::Trace;

use super::{ClusterError, Spread};

/// A spread over nodes of a trace.
pub(super) struct Spreading<'a> {
    spread: Spread,
    nodes: usize,
    clients: &'a [u32],
}

impl<'a> Spreading<'a> {
    pub(super) fn new(
        spread: Spread,
        nodes: usize,
        trace: &'a Trace,
    ) -> Result<Self, ClusterError> {
        let clients = match (spread, trace.clients()) {
            (Spread::Sticky, None) => return Err(ClusterError::NoClients),
            (_, clients) => clients.unwrap_or(&[]),
        };
        Ok(Self { spread, nodes, clients })
    }

    /// The node of request `at` for an object.
    pub(super) fn node(&self, at: usize, object: u32) -> usize {
        match self.spread {
            Spread::RoundRobin => at % self.nodes,
            Spread::Hash => by_hash(object, self.nodes),
            Spread::Sticky => by_hash(self.clients[at], self.nodes),
        }
    }
}

/// A node by the hash of a number.
#[expect(clippy::cast_possible_truncation, reason = "below the number of nodes")]
pub(super) fn by_hash(number: u32, nodes: usize) -> usize {
    (hash(u64::from(number) + 1) % nodes as u64) as usize
}
