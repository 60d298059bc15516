//! Which caches are a network's own, by a file of the operator's.
//!
//! A line is `NETWORK[,NETWORK…] CACHE[,CACHE…]`; what follows `#` is a comment. A network is an
//! address with a prefix length (`192.0.2.0/24`, `2001:db8::/32`) or an address. A cache is its
//! public or external address or, where several share that one, `PUBLIC/PRIVATE`. A private
//! address alone would be worth nothing: every site has a 10.0.0.1, and any agent may claim one.
//!
//! Of the networks that have a client, the one with the longest prefix counts, whatever the order
//! of the lines; a network that stands in several lines has the caches of all.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;

use crate::registry::Cache;

/// Networks and their own caches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sites {
    /// By prefix length, longest last, then by network.
    networks: BTreeMap<u8, BTreeMap<IpNet, Vec<Pinned>>>,
}

/// A cache by its addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pinned {
    /// As others see it, in canonical form.
    pub(super) address: IpAddr,
    private: Option<IpAddr>,
}

impl Pinned {
    /// Whether a cache at [`Pinned::address`] is the one.
    pub(super) fn is(self, cache: &Cache) -> bool {
        let private = cache.private_ip.map(|address| address.to_canonical());
        self.private.is_none() || self.private == private
    }
}

/// What is wrong with a table of sites.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the sites: {fault}")]
pub struct SitesError {
    /// From 1.
    pub line: usize,
    /// What is at fault there.
    pub fault: SitesFault,
}

/// What is wrong with a line of a table of sites.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SitesFault {
    /// Not two words.
    #[error("not `NETWORK[,NETWORK…] CACHE[,CACHE…]`")]
    Words,
    /// Neither an address nor one with a prefix length.
    #[error("`{0}` is no network")]
    Network(String),
    /// Neither an address nor two.
    #[error("`{0}` is no cache's `ADDRESS` or `PUBLIC/PRIVATE`")]
    Cache(String),
}

impl Sites {
    /// Reads a table.
    ///
    /// # Errors
    ///
    /// The first line that is at fault.
    pub fn parse(text: &str) -> Result<Self, SitesError> {
        let mut sites = Self::default();
        for (line, row) in (1..).zip(text.lines()) {
            sites.add(row).map_err(|fault| SitesError { line, fault })?;
        }
        Ok(sites)
    }

    fn add(&mut self, row: &str) -> Result<(), SitesFault> {
        let row = row.split('#').next().unwrap_or_default();
        let mut words = row.split_whitespace();
        let (networks, caches) = match (words.next(), words.next(), words.next()) {
            (None, ..) => return Ok(()),
            (Some(networks), Some(caches), None) => (networks, caches),
            _ => return Err(SitesFault::Words),
        };
        let caches = caches.split(',').map(pinned).collect::<Result<Vec<_>, _>>()?;
        for word in networks.split(',') {
            let network = network(word)?;
            let same_length = self.networks.entry(network.prefix_len()).or_default();
            let own = same_length.entry(network).or_default();
            own.extend(
                caches.iter().filter(|cache| !own.contains(cache)).copied().collect::<Vec<_>>(),
            );
        }
        Ok(())
    }

    /// Adds a cache, by its public or external address, to a network's own.
    pub fn pin(&mut self, network: IpNet, cache: IpAddr) {
        let pinned = Pinned { address: cache.to_canonical(), private: None };
        let same_length = self.networks.entry(network.prefix_len()).or_default();
        let own = same_length.entry(network.trunc()).or_default();
        if !own.contains(&pinned) {
            own.push(pinned);
        }
    }

    /// Whether a cache is a client's own: announced from its address, or pinned to its network.
    #[must_use]
    pub fn has(&self, client: IpAddr, cache: &Cache) -> bool {
        let client = client.to_canonical();
        let known = [cache.public_ip, cache.external_ip].into_iter().flatten();
        known.map(|address| address.to_canonical()).any(|address| {
            let pinned = self.own(client).iter();
            address == client
                || pinned.into_iter().any(|pin| pin.address == address && pin.is(cache))
        })
    }

    /// The caches of the smallest network that has this address; none if no network has.
    pub(super) fn own(&self, client: IpAddr) -> &[Pinned] {
        let client = client.to_canonical();
        for (&length, networks) in self.networks.iter().rev() {
            let Ok(network) = IpNet::new(client, length) else { continue };
            if let Some(own) = networks.get(&network.trunc()) {
                return own;
            }
        }
        &[]
    }
}

fn network(word: &str) -> Result<IpNet, SitesFault> {
    let parsed = match word.parse::<IpAddr>() {
        Ok(address) => Ok(IpNet::from(address.to_canonical())),
        Err(_) => word.parse::<IpNet>().map(|network| network.trunc()),
    };
    parsed.map_err(|_| SitesFault::Network(word.to_owned()))
}

fn pinned(word: &str) -> Result<Pinned, SitesFault> {
    let address = |text: &str| {
        let parsed = text.parse::<IpAddr>().map(|address| address.to_canonical());
        parsed.map_err(|_| SitesFault::Cache(word.to_owned()))
    };
    Ok(match word.split_once('/') {
        None => Pinned { address: address(word)?, private: None },
        Some((public, private)) => {
            Pinned { address: address(public)?, private: Some(address(private)?) }
        }
    })
}
