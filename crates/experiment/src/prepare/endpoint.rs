//! Where connections go: the plan's own addresses first, then the system's resolver, once. Of
//! several addresses of a name it is the first that lets itself be connected to.

use super::{Contact, Reach};
use crate::error::ExperimentError;
use plimsoll_load::Endpoint;
use plimsoll_plan::{Addresses, Target};
use plimsoll_workload::request::Url;
use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// How long one address of several may take to be connected to.
const PATIENCE: Duration = Duration::from_secs(2);

/// The endpoint of a URL, and further addresses over which connections are spread: those of its
/// name, or of the proxies on the way.
pub(super) fn resolve(
    target: &Target,
    url: &Url,
    to: (&Reach, Contact),
    notes: &mut Vec<String>,
) -> Result<(Endpoint, Vec<SocketAddr>), ExperimentError> {
    if let Some(path) = &url.unix {
        to.0.is_socket(path)?;
        return Ok((Endpoint::Unix(path.clone()), Vec::new()));
    }
    let mut all = Vec::new();
    for proxy in &target.through {
        let url = Url { host: proxy.host.clone(), port: proxy.port, ..url.clone() };
        all.extend(addresses(target, &url, to, notes)?);
    }
    if target.through.is_empty() {
        all = addresses(target, url, to, notes)?;
    }
    if all.len() > 1 {
        let listed: Vec<String> = all.iter().map(SocketAddr::to_string).collect();
        notes.push(format!("connections are spread over {}", listed.join(", ")));
    }
    let first = all.remove(0);
    Ok((Endpoint::Tcp(first), all))
}

/// The addresses of a host, at least one; one alone unless they are to be spread over. Where the
/// target may be asked, of several one that answers; `notes` hears of those that did not. Where not
/// even names may be looked up, the address of one that is not this host's own is unspecified.
fn addresses(
    target: &Target,
    url: &Url,
    (reach, contact): (&Reach, Contact),
    notes: &mut Vec<String>,
) -> Result<Vec<SocketAddr>, ExperimentError> {
    let spreads = target.addresses == Addresses::Spread;
    let named = |one: &&plimsoll_plan::Resolve| one.host == url.host && one.port == url.port;
    let given = target.resolve.iter().filter(named);
    let given = given.take(if spreads { usize::MAX } else { 1 });
    let given: Vec<_> = given.map(|one| SocketAddr::new(one.address, url.port)).collect();
    if !given.is_empty() {
        reach.are(&given)?;
        return Ok(given);
    }
    if let Ok(address) = url.host.parse::<IpAddr>() {
        let address = SocketAddr::new(address, url.port);
        reach.are(&[address])?;
        return Ok(vec![address]);
    }
    if contact == Contact::Nothing {
        let unknown = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), url.port);
        return Ok(vec![loopback(url).next().unwrap_or(unknown)]);
    }
    let error = |source| ExperimentError::Name { host: url.host.clone(), source };
    let looked_up = plimsoll_net::resolve::resolve(&url.host, url.port);
    let mut found: Vec<SocketAddr> = match looked_up {
        Ok(found) => found.into_iter().chain(loopback(url)).collect(),
        Err(_) if loopback(url).next().is_some() => loopback(url).collect(),
        Err(source) => return Err(error(source)),
    };
    // Where it is one address for all connections, a run has one target: IPv4 first, as `localhost`
    // servers listen there more often than on both.
    found.sort_by_key(SocketAddr::is_ipv6);
    let mut seen = BTreeSet::new();
    found.retain(|address| seen.insert(*address));
    let first = found.first().copied().ok_or_else(|| error(io::ErrorKind::NotFound.into()))?;
    reach.are(&found)?;
    if spreads {
        return Ok(found);
    }
    let asks = contact == Contact::Target;
    let chosen = if asks { answering(&url.host, &found, notes) } else { None };
    Ok(vec![chosen.unwrap_or(first)])
}

/// Addresses of this host that connections are to come from: each has to be one, and of a family
/// that the target has.
pub(super) fn sources(
    from: &[IpAddr],
    endpoint: &Endpoint,
    others: &[SocketAddr],
    ask: bool,
) -> Result<Vec<IpAddr>, ExperimentError> {
    let first = match endpoint {
        Endpoint::Tcp(first) => Some(*first),
        Endpoint::Unix(_) => None,
    };
    // The address of a name that is not looked up is of any family.
    let is_known = first.is_none_or(|first| !first.ip().is_unspecified());
    for own in from {
        let mut theirs = first.iter().chain(others);
        if is_known && !theirs.any(|address| address.is_ipv4() == own.is_ipv4()) {
            return Err(ExperimentError::Conflict(format!(
                "connect from {own}: {endpoint} is of another family of addresses"
            )));
        }
        if let (true, Err(error)) = (ask, TcpListener::bind(SocketAddr::new(*own, 0))) {
            return Err(ExperimentError::Conflict(format!(
                "connect from {own}: {error}; name addresses that this host has (`ip address`)"
            )));
        }
    }
    Ok(from.to_vec())
}

/// Both loopback addresses for `localhost`, whatever a resolver knows of it (RFC 6761, section
/// 6.3).
fn loopback(url: &Url) -> impl Iterator<Item = SocketAddr> {
    let is_this_host = url.host == "localhost" || url.host.ends_with(".localhost");
    let addresses = [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)];
    let port = url.port;
    addresses.into_iter().filter(move |_| is_this_host).map(move |ip| SocketAddr::new(ip, port))
}

/// The first of several addresses that can be connected to; `None` where it does not matter, or
/// none can be.
fn answering(host: &str, found: &[SocketAddr], notes: &mut Vec<String>) -> Option<SocketAddr> {
    if found.len() < 2 {
        return None;
    }
    let mut silent = Vec::new();
    for address in found {
        match TcpStream::connect_timeout(address, PATIENCE) {
            Ok(_) if silent.is_empty() => return Some(*address),
            Ok(_) => {
                let silent = silent.join(", ");
                notes.push(format!(
                    "{host}: the load goes to {address}, as {silent} did not answer"
                ));
                return Some(*address);
            }
            Err(error) => silent.push(format!("{address} ({error})")),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_addresses_one_that_answers_is_taken_and_told() {
        let (dead, living) = (TcpListener::bind("127.0.0.1:0"), TcpListener::bind("127.0.0.1:0"));
        let living = living.as_ref().ok().and_then(|one| one.local_addr().ok()).expect("a port");
        // Nobody listens there any more.
        let dead = dead.ok().and_then(|one| one.local_addr().ok()).expect("a port");
        let mut notes = Vec::new();
        assert_eq!(answering("h", &[living, dead], &mut notes), Some(living));
        assert!(notes.is_empty(), "{notes:?}");
        assert_eq!(answering("h", &[dead, living], &mut notes), Some(living));
        let told = format!("h: the load goes to {living}, as {dead} (");
        assert!(notes[0].starts_with(&told), "{notes:?}");
        assert_eq!(answering("h", &[dead, dead], &mut notes), None);
        assert_eq!(answering("h", &[dead], &mut notes), None, "the engine's affair");
    }
}
