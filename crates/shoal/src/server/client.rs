//! Whose a request is, and what that lets it do.
//!
//! That a connection comes from loopback says nothing: a proxy on this host makes every stranger
//! look so, and a plain one adds no header to tell them by. So trust is what an operator gave:
//! `--trust`, a signature, or the operator's socket, which the system's own rights keep.

use std::net::{IpAddr, Ipv4Addr};

use hyper::HeaderMap;

use super::Shared;
use crate::address::{Sender, Trail, sender, tells_of_a_proxy};

/// The other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Peer {
    /// By TCP, from this address.
    At(IpAddr),
    /// By the operator's socket.
    Operator,
}

/// Whose a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Client {
    /// Where it is, as far as that is known: for look-ups, limits and the log.
    pub(super) address: IpAddr,
    pub(super) standing: Standing,
}

/// What a client may do without a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Announce what it likes, and decide about caches.
    Trusted,
    /// Announce its own addresses.
    Own,
    /// Announce nothing: its address is that of a proxy.
    Stranger,
}

impl Client {
    /// Whose a request with these headers is.
    pub(super) fn of(shared: &Shared, peer: Peer, headers: &HeaderMap) -> Self {
        let any = headers.keys().any(|name| tells_of_a_proxy(name.as_str()));
        match peer {
            // Somebody put a proxy before the socket: those behind it are no operators.
            Peer::Operator if any => Self::new(THIS_HOST, Standing::Stranger),
            Peer::Operator => Self::new(THIS_HOST, Standing::Trusted),
            Peer::At(address) if any || !shared.trusted_proxies.is_empty() => {
                Self::behind(shared, address, headers, any)
            }
            Peer::At(address) => Self::known(shared, address),
        }
    }

    fn new(address: IpAddr, standing: Standing) -> Self {
        Self { address, standing }
    }

    fn known(shared: &Shared, address: IpAddr) -> Self {
        let trusted = shared.trusts(address);
        Self::new(address, if trusted { Standing::Trusted } else { Standing::Own })
    }

    /// A request that came through a proxy, or may have.
    fn behind(shared: &Shared, peer: IpAddr, headers: &HeaderMap, any: bool) -> Self {
        // A value that is no text is none that is understood.
        let values = |name| headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("?"));
        let forwarded_for: Vec<_> = values("x-forwarded-for").collect();
        let forwarded: Vec<_> = values("forwarded").collect();
        let trail = Trail { forwarded_for: &forwarded_for, forwarded: &forwarded, any };
        match sender(peer, trail, &shared.trusted_proxies) {
            Sender::Peer => Self::known(shared, peer),
            // A proxy of ours is trusted to name others, not to be one of them.
            Sender::Named(address) if shared.is_proxy(address) => Self::new(address, Standing::Own),
            Sender::Named(address) => Self::known(shared, address),
            Sender::Stranger(why) => {
                shared.metrics.stranger(why);
                Self::new(peer, Standing::Stranger)
            }
        }
    }

    pub(super) fn is_trusted(self) -> bool {
        self.standing == Standing::Trusted
    }
}

/// Whoever has the socket is on this host.
const THIS_HOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
