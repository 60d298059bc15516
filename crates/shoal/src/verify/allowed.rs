//! Which addresses and ports a registry connects to because somebody announced them.
//!
//! Globally routable addresses ([`globally_routable`]: by the IANA special-purpose registries), and
//! of private networks those that the operator names. Where clouds answer with secrets is never
//! asked, whatever is named.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::address::globally_routable;

/// The ports of caches: HTTP's own, Squid's, Varnish's, and two that both are put at.
pub const PORTS: [u16; 5] = [80, 3128, 6081, 8000, 8080];

/// Networks that an operator may name: private (RFC 1918, RFC 4193), shared by a provider's
/// customers (RFC 6598), and this host.
const PRIVATE: [IpNet; 7] = [
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(10, 0, 0, 0), 8)),
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(172, 16, 0, 0), 12)),
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(192, 168, 0, 0), 16)),
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(100, 64, 0, 0), 10)),
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(127, 0, 0, 0), 8)),
    IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128)),
    IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7)),
];

/// Where a cloud tells its machines who they are, as far as such addresses lie in networks that
/// could be allowed. 169.254.169.254, the usual one, lies in none.
const METADATA: [IpAddr; 4] = [
    // Azure's, a public address.
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    // Alibaba's, of the shared ones.
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    // Amazon's and Google's by IPv6, unique local ones.
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
];

/// Which addresses and ports may be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed {
    private: Vec<IpNet>,
    ports: Vec<u16>,
}

/// What cannot be allowed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum AllowedError {
    /// Not within a private network.
    #[error("{0} is not within a private network: public addresses need no leave, others get none")]
    NotPrivate(IpNet),
    /// No port is 0.
    #[error("there is no port 0")]
    Port,
    /// No port at all.
    #[error("no ports")]
    NoPorts,
}

/// Why a cache is not asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotAllowed {
    /// It is at an address that not everybody reaches, or at none.
    Address,
    /// It listens where no cache is expected.
    Port,
}

impl NotAllowed {
    /// As it stands in metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::Port => "port",
        }
    }
}

impl Allowed {
    /// Globally routable addresses and those of `private`, at `ports`.
    ///
    /// # Errors
    ///
    /// See [`AllowedError`].
    pub fn new(private: Vec<IpNet>, mut ports: Vec<u16>) -> Result<Self, AllowedError> {
        let is_private = |net: &&IpNet| PRIVATE.iter().any(|private| private.contains(*net));
        if let Some(net) = private.iter().find(|net| !is_private(net)) {
            return Err(AllowedError::NotPrivate(*net));
        }
        if ports.is_empty() {
            return Err(AllowedError::NoPorts);
        }
        if ports.contains(&0) {
            return Err(AllowedError::Port);
        }
        ports.sort_unstable();
        Ok(Self { private, ports })
    }

    /// Whether an address and port may be asked.
    ///
    /// # Errors
    ///
    /// See [`NotAllowed`].
    pub fn check(&self, address: IpAddr, port: u16) -> Result<(), NotAllowed> {
        let named = || self.private.iter().any(|net| net.contains(&address));
        if METADATA.contains(&address) || !(globally_routable(address) || named()) {
            return Err(NotAllowed::Address);
        }
        match self.ports.binary_search(&port) {
            Ok(_) => Ok(()),
            Err(_) => Err(NotAllowed::Port),
        }
    }
}
