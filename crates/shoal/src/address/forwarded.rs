//! Whose a request is that came through proxies: X-Forwarded-For, which anyone may write, believed
//! only as far as proxies of ours wrote it.

use std::net::IpAddr;

use ipnet::IpNet;

use super::normal;

/// The most proxies that a request is followed through.
pub const MAX_HOPS: usize = 10;

/// The address of the client behind a connection.
///
/// `peer` is the other end of the connection, `forwarded_for` the values of the request's
/// X-Forwarded-For headers in the order in which they came, `trusted` our proxies. The header
/// counts only if the peer is trusted. Each proxy adds, at the right, whom it got the request
/// from; so it is walked from there to the first that is not trusted, which is the client; if all
/// are, the first of all is. The peer itself is the answer if anything walked over is no address,
/// or if [`MAX_HOPS`] do not get there. Everything is in its [`normal`] form.
#[must_use]
pub fn client_of(peer: IpAddr, forwarded_for: &[&str], trusted: &[IpNet]) -> IpAddr {
    let peer = normal(peer);
    let is_trusted = |address: IpAddr| trusted.iter().any(|net| net.contains(&address));
    if !is_trusted(peer) {
        return peer;
    }
    let mut client = peer;
    let hops = forwarded_for.iter().rev().flat_map(|value| value.rsplit(','));
    for (walked, hop) in hops.enumerate() {
        let Ok(address) = hop.trim_matches([' ', '\t']).parse() else { return peer };
        if walked == MAX_HOPS {
            return peer;
        }
        client = normal(address);
        if !is_trusted(client) {
            return client;
        }
    }
    client
}
