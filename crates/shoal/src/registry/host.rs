//! The registry's own host, whose agents come from loopback.

use std::net::IpAddr;

/// Where the registry's own host is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Host {
    /// The addresses of its interfaces.
    pub interfaces: Vec<IpAddr>,
    /// Those by which others see it, where no interface has them.
    pub external: Vec<IpAddr>,
}

impl Host {
    /// Whether an address is that of whoever sends from `peer`: the same, or for loopback any of
    /// this host's.
    pub(super) fn is_of(&self, peer: IpAddr, address: IpAddr) -> bool {
        let own = || self.interfaces.contains(&address) || self.external.contains(&address);
        address == peer || peer.is_loopback() && (address.is_loopback() || own())
    }

    /// By which address others see whoever sends from `peer`, if that is known.
    pub(super) fn seen_as(&self, peer: IpAddr) -> Option<IpAddr> {
        if peer.is_loopback() { self.external.first().copied() } else { Some(peer) }
    }
}
