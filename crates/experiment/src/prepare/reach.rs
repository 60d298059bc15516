//! Where loads may go: anywhere, or to networks and ports that somebody has named.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::str::FromStr;

use ipnet::IpNet;
use plimsoll_units::ParseError;

use super::division::is_never_asked;
use crate::error::ExperimentError;

/// Where loads may go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// Wherever the plan says: it is the user's own.
    Anywhere,
    /// To these alone: the plan is somebody else's.
    Networks(Vec<Network>),
}

/// A network, and ports in it: `10.0.0.0/8:80,443`, `[fd00::]/8:443`, `192.0.2.7`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    net: IpNet,
    /// Any where there are none.
    ports: Vec<u16>,
}

impl Reach {
    /// Where a plan of the user's own may go.
    pub const ANYWHERE: &'static Self = &Self::Anywhere;

    fn has(&self, address: &SocketAddr) -> bool {
        let Self::Networks(networks) = self else { return true };
        networks.iter().any(|network| network.has(address))
    }

    /// Refuses addresses of which one is beyond it.
    ///
    /// # Errors
    /// The first one that is.
    pub(crate) fn are(&self, addresses: &[SocketAddr]) -> Result<(), ExperimentError> {
        match addresses.iter().find(|address| !self.has(address)) {
            None => Ok(()),
            Some(address) => Err(ExperimentError::Beyond(address.to_string())),
        }
    }

    /// Refuses a socket of this host where not anything may be asked.
    ///
    /// # Errors
    /// That it is beyond.
    pub(crate) fn is_socket(&self, path: &Path) -> Result<(), ExperimentError> {
        match self {
            Self::Anywhere => Ok(()),
            Self::Networks(_) => Err(ExperimentError::Beyond(path.display().to_string())),
        }
    }
}

impl Network {
    fn has(&self, address: &SocketAddr) -> bool {
        let ip = address.ip().to_canonical();
        // Those that tell secrets have to be named one by one.
        let is_named = self.net.prefix_len() == self.net.max_prefix_len();
        self.net.contains(&ip)
            && (self.ports.is_empty() || self.ports.contains(&address.port()))
            && (is_named || !is_never_asked(&ip))
    }

    /// Its ports; none where it is any.
    #[must_use]
    pub fn ports(&self) -> &[u16] {
        &self.ports
    }
}

impl FromStr for Network {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = || {
            let wanted = "a network and ports such as 10.0.0.0/8:80,443 or [fd00::]/8:443";
            ParseError::new(wanted, text, 0, text.len())
        };
        let (net, ports) = match text.strip_prefix('[') {
            Some(rest) => {
                let (address, rest) = rest.split_once(']').ok_or_else(wrong)?;
                let (length, ports) = match rest.split_once(':') {
                    Some((length, ports)) => (length, Some(ports)),
                    None => (rest, None),
                };
                (format!("{address}{length}"), ports)
            }
            None => match text.split_once(':') {
                Some((net, ports)) => (net.to_owned(), Some(ports)),
                None => (text.to_owned(), None),
            },
        };
        let alone = || net.parse::<IpAddr>().ok().map(IpNet::from);
        let net = net.parse().ok().or_else(alone).ok_or_else(wrong)?;
        let port = |text: &str| text.parse::<u16>().ok().filter(|&port| port > 0);
        let ports = ports.map(|of| of.split(',').map(port).collect::<Option<_>>());
        Ok(Self { net, ports: ports.unwrap_or(Some(Vec::new())).ok_or_else(wrong)? })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.net {
            IpNet::V4(net) => write!(f, "{net}")?,
            IpNet::V6(net) => write!(f, "[{}]/{}", net.addr(), net.prefix_len())?,
        }
        for (number, port) in self.ports.iter().enumerate() {
            write!(f, "{}{port}", if number == 0 { ':' } else { ',' })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_read_written_and_hold_what_they_say() {
        for text in ["10.0.0.0/8:80,443", "192.0.2.7/32", "[fd00::]/8:443", "[::1]/128:80"] {
            assert_eq!(text.parse::<Network>().unwrap().to_string(), text);
        }
        assert_eq!("192.0.2.7".parse::<Network>().unwrap().to_string(), "192.0.2.7/32");
        for text in ["", "10.0.0.0/33", "10.0.0.0/8:", "10.0.0.0/8:0", "10.0.0.0/8:80,x", "[fd00::"]
        {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
        let reach = Reach::Networks(vec![
            "10.0.0.0/8:80,443".parse().unwrap(),
            "0.0.0.0/0:99".parse().unwrap(),
            "169.254.0.7".parse().unwrap(),
        ]);
        let has = |text: &str| reach.has(&text.parse().unwrap());
        for inside in ["10.1.2.3:80", "10.0.0.0:443", "192.0.2.1:99", "169.254.0.7:1"] {
            assert!(has(inside), "{inside}");
        }
        assert!(has("[::ffff:10.1.2.3]:80"), "an address of IPv4 in one of IPv6");
        for outside in ["10.1.2.3:81", "11.0.0.1:80", "169.254.169.254:99", "[fd00::1]:80"] {
            assert!(!has(outside), "{outside}");
        }
        assert!(
            reach.are(&["10.1.2.3:80".parse().unwrap(), "1.1.1.1:1".parse().unwrap()]).is_err()
        );
        assert!(reach.is_socket(Path::new("/run/x")).is_err());
        assert!(Reach::Anywhere.is_socket(Path::new("/run/x")).is_ok());
    }
}
