//! What the networks of caches say of the object itself.
//!
//! Where caches of several networks answer alike, and nobody delivers, it is not they that are at
//! fault but what they were asked for: a wrong origin must take no cache off the list.

use indexmap::IndexMap;
use ipnet::IpNet;

use super::{Outcome, Weight};

/// So many networks that answer alike speak against the object.
const SEVERAL: usize = 2;

/// The last answer of each network since the object was last delivered.
#[derive(Debug, Default)]
pub(super) struct Opinions {
    of_networks: IndexMap<IpNet, Outcome>,
    /// Networks by their answer.
    counts: [usize; Outcome::ALL.len()],
}

impl Opinions {
    /// Takes in what a cache of a network answered.
    pub(super) fn note(&mut self, network: IpNet, outcome: Outcome) {
        match outcome.weight() {
            Weight::Good => *self = Self::default(),
            Weight::Either => {
                let before = self.of_networks.insert(network, outcome);
                self.counts[outcome as usize] += 1;
                self.forgotten(before);
            }
            Weight::Bad | Weight::Doubtful => self.forget(network),
        }
    }

    /// Nobody of that network is asked any more, or it has no answer of the kind.
    pub(super) fn forget(&mut self, network: IpNet) {
        let before = self.of_networks.swap_remove(&network);
        self.forgotten(before);
    }

    fn forgotten(&mut self, before: Option<Outcome>) {
        if let Some(before) = before {
            self.counts[before as usize] -= 1;
        }
    }

    /// Whether several networks answer so.
    pub(super) fn are_alike(&self, outcome: Outcome) -> bool {
        self.counts[outcome as usize] >= SEVERAL
    }

    /// What several networks answer alike, and how many do, if any.
    pub(super) fn suspicion(&self) -> Option<(Outcome, usize)> {
        let counts = Outcome::ALL.into_iter().zip(self.counts);
        counts.filter(|(_, count)| *count >= SEVERAL).max_by_key(|(_, count)| *count)
    }
}
