//! Addresses in the place of what the resolver says of names.

use std::net::IpAddr;

use plimsoll_units::ParseError;

/// An address in the place of what the resolver says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolve {
    /// The name, lower case.
    pub host: String,
    /// The port that is asked for.
    pub port: u16,
    /// Where to connect.
    pub address: IpAddr,
}

impl Resolve {
    /// Reads `host:port:address`; an IPv6 address with or without brackets.
    ///
    /// # Errors
    /// Which of the three is wrong, at its position.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let whole = || {
            ParseError::new(
                "host:port:address such as shop.test:443:127.0.0.1",
                text,
                0,
                text.len(),
            )
        };
        let (host, rest) = text.split_once(':').ok_or_else(whole)?;
        let (port, address) = rest.split_once(':').ok_or_else(whole)?;
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        if host.is_empty() || !host.chars().all(allowed) {
            return Err(ParseError::new("a host name", host, 0, host.len()));
        }
        let port_at = host.len() + 1;
        let number = port.parse::<u16>().ok().filter(|&number| number > 0);
        let Some(number) = number else {
            return Err(ParseError::new("a port from 1 to 65535", port, port_at, port.len()));
        };
        let bare = address.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let Ok(address) = bare.unwrap_or(address).parse::<IpAddr>() else {
            let at = port_at + port.len() + 1;
            return Err(ParseError::new("an IP address", address, at, address.len()));
        };
        Ok(Self { host: host.to_ascii_lowercase(), port: number, address })
    }
}

impl std::fmt::Display for Resolve {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.address {
            IpAddr::V4(address) => write!(f, "{}:{}:{address}", self.host, self.port),
            IpAddr::V6(address) => write!(f, "{}:{}:[{address}]", self.host, self.port),
        }
    }
}
