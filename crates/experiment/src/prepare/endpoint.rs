//! Where connections go: the plan's own addresses first, then the system's resolver, once.

use crate::error::ExperimentError;
use plimsoll_load::Endpoint;
use plimsoll_plan::Target;
use plimsoll_workload::request::Url;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

/// The endpoint of a URL.
pub(super) fn resolve(target: &Target, url: &Url) -> Result<Endpoint, ExperimentError> {
    if let Some(path) = &url.unix {
        return Ok(Endpoint::Unix(path.clone()));
    }
    let named = |one: &&plimsoll_plan::Resolve| one.host == url.host && one.port == url.port;
    if let Some(given) = target.resolve.iter().find(named) {
        return Ok(Endpoint::Tcp(SocketAddr::new(given.address, url.port)));
    }
    if let Ok(address) = url.host.parse::<IpAddr>() {
        return Ok(Endpoint::Tcp(SocketAddr::new(address, url.port)));
    }
    let error = |source| ExperimentError::Name { host: url.host.clone(), source };
    let mut found: Vec<SocketAddr> =
        (url.host.as_str(), url.port).to_socket_addrs().map_err(error)?.collect();
    // One address for all connections, so that a run has one target: IPv4 first, as `localhost`
    // servers listen there more often than on both.
    found.sort_by_key(SocketAddr::is_ipv6);
    let first = found.first().copied();
    first.map(Endpoint::Tcp).ok_or_else(|| error(io::ErrorKind::NotFound.into()))
}
