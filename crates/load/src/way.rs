//! How connections get to the target: to which of its addresses, from which of ours, and through
//! which proxies.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

/// Where connections go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// TCP.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}

/// The way of all connections of a session.
#[derive(Clone, Default)]
pub struct Way {
    /// Addresses beside the endpoint, over which connections are spread in turn.
    pub others: Arc<[SocketAddr]>,
    /// Addresses of this host that connections come from, in turn; empty: the system chooses.
    pub from: Arc<[IpAddr]>,
    /// The proxies that stand at the endpoint and at the others, where these are not the target's.
    pub proxies: Option<Proxies>,
}

/// Forward proxies, one at each address.
#[derive(Clone)]
pub struct Proxies {
    /// Host and port of the target, as they are asked for.
    pub target: String,
    /// What each is told to prove who asks: the value of `Proxy-Authorization`.
    pub authorization: Option<String>,
    /// Whether a tunnel to the target is asked for, through which TLS is spoken. Without it the
    /// proxy is asked for each URL.
    pub tunnels: bool,
    /// How we call ourselves.
    pub user_agent: String,
}

impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxies").field("target", &self.target).finish_non_exhaustive()
    }
}

impl Way {
    /// The address that a connection goes to, by its number in the run.
    pub(crate) fn to(&self, endpoint: &Endpoint, serial: u32) -> Endpoint {
        let place = serial as usize % (self.others.len() + 1);
        match place.checked_sub(1).and_then(|at| self.others.get(at)) {
            Some(other) => Endpoint::Tcp(*other),
            None => endpoint.clone(),
        }
    }

    /// The address of ours that a connection comes from: of the family of where it goes.
    pub(crate) fn from(&self, to: &Endpoint, serial: u32) -> Option<IpAddr> {
        let Endpoint::Tcp(to) = to else { return None };
        let fits = |from: &&IpAddr| from.is_ipv4() == to.is_ipv4();
        let count = self.from.iter().filter(fits).count();
        // Each of ours meets each of theirs.
        let turn = serial as usize / (self.others.len() + 1);
        self.from.iter().filter(fits).nth(turn.checked_rem(count)?).copied()
    }

    /// What a connection's proxy is asked first, where it is asked for a tunnel.
    pub(crate) fn opening(&self) -> Option<Vec<u8>> {
        self.proxies.as_ref().filter(|proxies| proxies.tunnels).map(Proxies::connect)
    }
}

impl Proxies {
    /// The request for a tunnel (RFC 9110, section 9.3.6).
    #[must_use]
    pub fn connect(&self) -> Vec<u8> {
        let Self { target, authorization, user_agent, .. } = self;
        let mut out =
            format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\nUser-Agent: {user_agent}\r\n");
        if let Some(value) = authorization {
            out.push_str(&format!("Proxy-Authorization: {value}\r\n"));
        }
        out.push_str("\r\n");
        out.into_bytes()
    }

    /// What of it nobody may be shown.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
        self.authorization.iter().flat_map(|value| {
            let code = value.split_once(' ').map_or(value.as_str(), |(_, code)| code);
            [value.as_bytes().to_vec(), code.as_bytes().to_vec()]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_go_round_all_addresses_and_each_of_ours_meets_each_of_theirs() {
        let address = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let own = |last| IpAddr::from([127, 0, 0, last]);
        let from = [own(2), "::1".parse().unwrap(), own(3)];
        let way = Way { others: [address(2)].into(), from: from.into(), proxies: None };
        let first = Endpoint::Tcp(address(1));
        let pairs: Vec<_> = (0..5)
            .map(|serial| {
                let to = way.to(&first, serial);
                (to.to_string(), way.from(&to, serial).unwrap())
            })
            .collect();
        let (one, two) = ("127.0.0.1:1".to_owned(), "127.0.0.1:2".to_owned());
        let expected =
            [(&one, own(2)), (&two, own(2)), (&one, own(3)), (&two, own(3)), (&one, own(2))];
        assert!(pairs.iter().map(|(to, from)| (to, *from)).eq(expected), "{pairs:?}");
        assert_eq!(way.from(&Endpoint::Unix("/x".into()), 0), None);
        assert_eq!(Way::default().from(&first, 7), None);
    }
}
