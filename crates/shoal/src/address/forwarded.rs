//! Whose a request is that came through proxies.
//!
//! `X-Forwarded-For` and `Forwarded` may be written by anyone, so they are believed only as far as
//! proxies of ours wrote them. A proxy that says nothing of its clients makes each of them look
//! like itself; that it is one of ours is then known by its address alone.
//!
//! Sources: RFC 7239 (`Forwarded`), RFC 9110 (section 7.6.3, `Via`).

mod node;

use std::net::IpAddr;

use ipnet::IpNet;

use super::normal;
use node::{Hop, elements, list};

/// The most proxies that a request is followed through.
pub const MAX_HOPS: usize = 10;

/// Who sent a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// The peer of the connection: nothing shows that it speaks for another.
    Peer,
    /// Whom proxies of ours name.
    Named(IpAddr),
    /// Somebody behind the peer, whom nothing names that can be believed.
    Stranger(Unnamed),
}

/// Why a sender is a stranger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unnamed {
    /// What a proxy of ours says is no address, is none of everybody's, or has too many hops.
    Malformed,
    /// A proxy of ours names nobody.
    Silent,
    /// The request came through a proxy that is not ours, by its headers.
    NotOurs,
}

impl Unnamed {
    /// All, in the order of their discriminants.
    pub const ALL: [Self; 3] = [Self::Malformed, Self::Silent, Self::NotOurs];

    /// As it stands in metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Silent => "silent",
            Self::NotOurs => "not_ours",
        }
    }
}

/// What the headers of a request say of its way here.
#[derive(Debug, Clone, Copy, Default)]
pub struct Trail<'a> {
    /// Values of `X-Forwarded-For`, in the order in which they came.
    pub forwarded_for: &'a [&'a str],
    /// Values of `Forwarded`.
    pub forwarded: &'a [&'a str],
    /// Whether there is any header that proxies add ([`tells_of_a_proxy`]), these two among them.
    pub any: bool,
}

/// Whether a header of that name, in lower case, is one that proxies add to what they pass on.
#[must_use]
pub fn tells_of_a_proxy(name: &str) -> bool {
    matches!(name, "forwarded" | "via" | "x-real-ip") || name.starts_with("x-forwarded-")
}

/// Who sent a request that came from `peer`; `ours` are the networks of our proxies.
///
/// Each proxy adds, at the right, whom it got the request from. So the list is walked from there
/// to the first that is not ours, which is the sender; if all are, the first of all is. Where both
/// headers are there they have to agree: a proxy that writes one of them passes the other on as a
/// client wrote it. A loopback address that is named is that of some other host, so it names
/// nobody. Named addresses are in their [`normal`] form.
#[must_use]
pub fn sender(peer: IpAddr, trail: Trail<'_>, ours: &[IpNet]) -> Sender {
    let is_ours = |address: IpAddr| ours.iter().any(|net| net.contains(&address));
    if !is_ours(normal(peer)) {
        return if trail.any { Sender::Stranger(Unnamed::NotOurs) } else { Sender::Peer };
    }
    let by_list = walk(list(trail.forwarded_for), is_ours);
    let by_elements = walk(elements(trail.forwarded), is_ours);
    match (by_list, by_elements) {
        (Walked::Nobody, Walked::Nobody) => Sender::Stranger(Unnamed::Silent),
        (Walked::To(address), Walked::Nobody) | (Walked::Nobody, Walked::To(address)) => {
            Sender::Named(address)
        }
        (Walked::To(one), Walked::To(other)) if one == other => Sender::Named(one),
        _ => Sender::Stranger(Unnamed::Malformed),
    }
}

/// Where a walk over the hops of a header led.
enum Walked {
    /// There is no such header.
    Nobody,
    To(IpAddr),
    Astray,
}

fn walk(hops: impl Iterator<Item = Hop>, is_ours: impl Fn(IpAddr) -> bool) -> Walked {
    let mut walked = Walked::Nobody;
    for (count, hop) in hops.enumerate() {
        let Some(address) = hop.map(normal).filter(|_| count < MAX_HOPS) else {
            return Walked::Astray;
        };
        if address.is_loopback() && !is_ours(address) || address.is_unspecified() {
            return Walked::Astray;
        }
        walked = Walked::To(address);
        if !is_ours(address) {
            return walked;
        }
    }
    match walked {
        Walked::To(address) if address.is_loopback() => Walked::Astray,
        walked => walked,
    }
}
