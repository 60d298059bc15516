//! Under which addresses a cache can be reached.
//!
//! The addresses of the interfaces are read from `/proc/net/fib_trie` (IPv4: every `/32 host
//! LOCAL` is one of ours) and `/proc/net/if_inet6`. That needs no system call of its own, works
//! below a root that tests choose, and keeps `unsafe` out. What these files do not say is which of
//! several addresses the way out is: a bridge for containers is numerically often first. So the
//! source address that the kernel itself would use is asked by [`way_out`], which connects a
//! datagram socket and sends nothing, and stands before all others of its kind.
//!
//! Sources: RFC 1918, 6598, 4193 (private), 3927, 4291 (link-local); linux/if_addr.h (flags).

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::Path;

/// What a heartbeat says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Addresses {
    /// Of an interface.
    pub public: Option<IpAddr>,
    /// Of an interface.
    pub private: Option<IpAddr>,
    /// As others see the host; only where there is no public one.
    pub external: Option<IpAddr>,
}

impl Addresses {
    /// Nothing to announce: there is no network yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The one from which the registry must see the heartbeat come.
    #[must_use]
    pub fn announced(&self) -> Option<IpAddr> {
        self.public.or(self.external)
    }
}

/// The addresses of all interfaces but loopback and link-local ones, IPv4 first.
#[must_use]
pub fn of_interfaces(root: &Path) -> Vec<IpAddr> {
    let ipv4 = File::open(root.join("proc/net/fib_trie")).ok();
    let mut all = ipv4.map_or_else(Vec::new, |file| local_ipv4(BufReader::new(file)));
    if let Ok(text) = fs::read_to_string(root.join("proc/net/if_inet6")) {
        all.extend(local_ipv6(&text));
    }
    all
}

/// The local addresses of a `/proc/net/fib_trie`, each once; line by line, for a router's is long.
#[must_use]
pub fn local_ipv4(table: impl BufRead) -> Vec<IpAddr> {
    let mut found: Vec<IpAddr> = Vec::new();
    let mut leaf: Option<Ipv4Addr> = None;
    for line in table.lines().map_while(Result::ok) {
        let line = line.trim();
        if let Some(address) = line.strip_prefix("|-- ") {
            leaf = address.parse().ok();
        } else if line == "/32 host LOCAL"
            && let Some(address) = leaf
            && !address.is_loopback()
            && !address.is_link_local()
            && !found.contains(&IpAddr::V4(address))
        {
            found.push(IpAddr::V4(address));
        }
    }
    found
}

/// The usable addresses of a `/proc/net/if_inet6`: those with a lasting host part first.
#[must_use]
pub fn local_ipv6(text: &str) -> Vec<IpAddr> {
    const TEMPORARY: u32 = 0x01;
    const DUPLICATE: u32 = 0x08;
    const DEPRECATED: u32 = 0x20;
    const TENTATIVE: u32 = 0x40;
    const GLOBAL: u32 = 0x00;
    let mut found: Vec<(bool, IpAddr)> = Vec::new();
    for line in text.lines() {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let &[digits, _, _, scope, flags, _] = columns.as_slice() else { continue };
        let number = |text| u32::from_str_radix(text, 16).ok();
        let (Some(scope), Some(flags)) = (number(scope), number(flags)) else { continue };
        let Ok(bits) = u128::from_str_radix(digits, 16) else { continue };
        if scope == GLOBAL && flags & (DUPLICATE | DEPRECATED | TENTATIVE) == 0 {
            found.push((flags & TEMPORARY != 0, IpAddr::V6(Ipv6Addr::from_bits(bits))));
        }
    }
    found.sort_by_key(|&(is_temporary, _)| is_temporary);
    found.into_iter().map(|(_, address)| address).collect()
}

/// Not routable in the Internet.
#[must_use]
pub fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [first, second, ..] = address.octets();
            let is_shared = first == 100 && second & 0xc0 == 64;
            address.is_private() || address.is_loopback() || address.is_link_local() || is_shared
        }
        IpAddr::V6(address) => {
            let first = address.segments()[0];
            address.is_loopback() || first & 0xfe00 == 0xfc00 || first & 0xffc0 == 0xfe80
        }
    }
}

/// Chooses what is announced.
///
/// `ways_out` come first, then the addresses of the interfaces in their order; of each kind IPv4
/// before IPv6, because Shoal's own programs know no other. A public address of IPv6 stands behind
/// an external one of IPv4 for the same reason.
#[must_use]
pub fn choose(own: &[IpAddr], ways_out: &[IpAddr], external: Option<IpAddr>) -> Addresses {
    let known = ways_out.iter().filter(|address| own.contains(address));
    let ordered: Vec<IpAddr> = known.chain(own).copied().collect();
    let first = |private: bool, ipv4: bool| {
        let mut fitting = ordered.iter().copied().filter(|address| address.is_ipv4() == ipv4);
        fitting.find(|&address| is_private(address) == private)
    };
    let public_ipv6 = first(false, false).filter(|_| external.is_none_or(|ip| ip.is_ipv6()));
    let public = first(false, true).or(public_ipv6);
    let private = first(true, true).or_else(|| first(true, false));
    Addresses { public, private, external: external.filter(|_| public.is_none()) }
}

/// The source addresses of the way out, by IPv4 and IPv6. Nothing is sent: connecting a datagram
/// socket only looks up the route, here that of a documentation prefix (RFC 5737, RFC 3849), which
/// is the default one.
#[must_use]
pub fn way_out() -> Vec<IpAddr> {
    let peers: [(IpAddr, IpAddr); 2] = [
        (Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::new(198, 51, 100, 1).into()),
        (Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into()),
    ];
    let source = |(any, peer)| {
        let socket = UdpSocket::bind(SocketAddr::new(any, 0)).ok()?;
        socket.connect(SocketAddr::new(peer, 9)).ok()?;
        socket.local_addr().ok().map(|address| address.ip())
    };
    peers.into_iter().filter_map(source).collect()
}

/// The name under which a cache is announced: the one given, else the host's if it has a dot,
/// else the announced address if that may stand for a name, else the host's whatever it is.
///
/// A name without a dot means nothing outside its own site, and clients are told this name.
#[must_use]
pub fn host_name(given: Option<&str>, kernel: &str, addresses: &Addresses) -> String {
    let kernel = kernel.trim();
    if let Some(name) = given {
        return name.to_owned();
    }
    if kernel.contains('.') && plimsoll_net::url::is_host(kernel) {
        return kernel.to_owned();
    }
    match addresses.announced() {
        Some(IpAddr::V4(address)) => address.to_string(),
        _ if plimsoll_net::url::is_host(kernel) => kernel.to_owned(),
        _ => "localhost".to_owned(),
    }
}
