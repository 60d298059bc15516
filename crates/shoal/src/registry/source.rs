//! Who speaks for an entry.

use std::net::IpAddr;
use std::sync::Arc;

/// Who announced an entry. Updates and goodbyes are taken from there only.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// A copy of another registry's list.
    Copy,
    /// A copy of what a key announced there.
    SignedCopy,
    /// A broker: whoever it lets publish.
    Broker,
    /// A client of the HTTP interface, by its address.
    Peer(IpAddr),
    /// Whoever has a key, by the key's name.
    Key(Arc<str>),
    /// This registry's own configuration.
    Static,
}

impl Source {
    /// How well it shows that it may speak for an address: an entry is replaced only by a source
    /// that shows it as well as the one before. A peer announces its own address, a broker any; the
    /// registry's own list gives way to whoever runs an agent there (`fixed`).
    fn standing(&self) -> u8 {
        match self {
            Self::Copy => 0,
            Self::Broker => 1,
            Self::Static => 2,
            Self::Peer(_) => 3,
            Self::Key(_) | Self::SignedCopy => 4,
        }
    }

    /// Whether a key speaks for it, here or at a peer.
    #[must_use]
    pub fn is_signed(&self) -> bool {
        matches!(self, Self::Key(_) | Self::SignedCopy)
    }

    /// Whether an entry of `self` makes way for one of the same address, private address and port
    /// that `other` announces under a new uuid.
    #[must_use]
    pub fn makes_way_for(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Key(own), Self::Key(others)) => own == others,
            _ => other.standing() >= self.standing(),
        }
    }
}

/// Where a message came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Origin {
    /// Who speaks.
    pub source: Source,
    /// Whether it may announce other addresses than its own, any number of caches, and caches
    /// that it verified itself (`--trust`, and the operator's socket).
    pub trusted: bool,
}

impl Origin {
    /// Whether the cap of entries a source does not count for it.
    pub(super) fn exempt(&self) -> bool {
        let source = &self.source;
        self.trusted
            || matches!(source, Source::Broker | Source::Copy | Source::SignedCopy | Source::Static)
    }
}
