//! Addresses: which are one, which are reachable from everywhere, and whose a request is.
//!
//! Sources: the IANA special-purpose address registries for IPv4 and IPv6 (RFC 6890 and its
//! updates), the IANA IPv6 address space registry (global unicast is `2000::/3`, RFC 4291).

mod forwarded;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

pub use forwarded::{MAX_HOPS, Sender, Trail, Unnamed, sender, tells_of_a_proxy};

/// The one form of an address: IPv4 where IPv6 only carries it (mapped, `::ffff:192.0.2.1`, or the
/// deprecated compatible form `::192.0.2.1`; RFC 4291, section 2.5.5).
#[must_use]
pub fn normal(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    match v6.to_ipv4() {
        // `::`, `::1` and their neighbours only look compatible.
        Some(v4) if v6.to_ipv4_mapped().is_some() || v4.octets()[0] != 0 => IpAddr::V4(v4),
        _ => address,
    }
}

/// Whether it is one of a private network: RFC 1918, or RFC 4193 (`fc00::/7`).
#[must_use]
pub fn is_private(address: IpAddr) -> bool {
    match normal(address) {
        IpAddr::V4(v4) => v4.is_private(),
        IpAddr::V6(v6) => v6.is_unique_local(),
    }
}

/// Whether an address may stand for a host that others reach: not one of "this network", of
/// loopback, of one link, of many hosts at once.
#[must_use]
pub fn may_be_public(address: IpAddr) -> bool {
    match normal(address) {
        IpAddr::V4(v4) => {
            let first = v4.octets()[0];
            // Multicast, reserved and broadcast addresses are the uppermost.
            !(first == 0 || first == 127 || first >= 224 || v4.is_link_local())
        }
        IpAddr::V6(v6) => {
            let local = v6.is_loopback() || v6.is_unspecified() || v6.is_unicast_link_local();
            !(local || v6.is_multicast())
        }
    }
}

/// Whether a connection to it may be asked for by a stranger: it is a unicast address that
/// everybody can reach and that means one host wherever one is.
///
/// Forms that carry another address (mapped, NAT64, 6to4, Teredo) are not: they would be a way
/// around this very question.
#[must_use]
pub fn globally_routable(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => !SPECIAL_V4.iter().any(|&(net, bits)| in_v4(v4, net, bits)),
        // What is outside 2000::/3: loopback, unspecified, mapped, NAT64, discard-only, unique
        // local (fd00:ec2::254, a cloud's metadata, among them), link-local, multicast.
        IpAddr::V6(v6) => {
            v6.segments()[0] >> 13 == 1
                && !SPECIAL_V6.iter().any(|&(net, bits)| in_v6(v6, net, bits))
        }
    }
}

const SPECIAL_V4: [(Ipv4Addr, u32); 15] = [
    // "This network".
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    // Private: RFC 1918.
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    // Shared by a provider's customers: RFC 6598.
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    // Link-local: RFC 3927; clouds answer with secrets at 169.254.169.254.
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    // Protocol assignments: RFC 6890.
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    // Documentation: RFC 5737.
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // 6to4 relays, deprecated: RFC 7526.
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    // Benchmarking: RFC 2544.
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    // Multicast.
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    // Reserved, and broadcast: RFC 1112, RFC 919.
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// Of 2000::/3.
const SPECIAL_V6: [(Ipv6Addr, u32); 4] = [
    // Protocol assignments: Teredo, benchmarking, ORCHID and others (RFC 2928).
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    // Documentation: RFC 3849, RFC 9637.
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
    // 6to4: RFC 3056.
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
];

fn in_v4(address: Ipv4Addr, net: Ipv4Addr, bits: u32) -> bool {
    (address.to_bits() ^ net.to_bits()) >> (32 - bits) == 0
}

fn in_v6(address: Ipv6Addr, net: Ipv6Addr, bits: u32) -> bool {
    (address.to_bits() ^ net.to_bits()) >> (128 - bits) == 0
}

/// The network whose addresses one site or customer commands, for limits: IPv4 /24, IPv6 /56.
#[must_use]
pub fn network24(address: IpAddr) -> IpNet {
    match normal(address) {
        IpAddr::V4(v4) => IpNet::V4(Ipv4Net::new_assert(v4, 24).trunc()),
        IpAddr::V6(v6) => IpNet::V6(Ipv6Net::new_assert(v6, 56).trunc()),
    }
}
