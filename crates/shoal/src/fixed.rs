//! The list of caches that run no agent: made of a site list by [`List::resolve`], kept in a file,
//! and read by the registry.
//!
//! Site lists name hosts, and whose address a name has only a resolver knows, which may take its
//! time or be away: so names are looked up when the list is made, not when it is read. The file is
//! `{"caches": [{"site", "host", "port", "address", "upstream", "networks"}]}`; nothing else may
//! stand in it, so that a word that is misspelt is not passed over.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Subnets, Ipv6Subnets};
use serde::{Deserialize, Serialize};

use crate::address::may_be_public;
use crate::agent::addresses::is_private;
use crate::client::import::{Range, StaticCache};
use crate::heartbeat::{Echo, Heartbeat, Kind, Number, Upstream, is_cloud_name};
use plimsoll_net::url::{bracketed, is_host};

/// The longest file that is read.
pub const MOST_BYTES: usize = 32 << 20;
/// The most caches of a list.
pub const MOST_CACHES: usize = 100_000;

/// A cache that runs no agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixed {
    /// The site whose it is.
    pub site: String,
    /// As clients are told: an address or `[A-Za-z0-9.-]{1,253}`.
    pub host: String,
    /// 1 to 65535.
    pub port: u16,
    /// What the host's name stood for when the list was made; a public one.
    pub address: IpAddr,
    /// What it may be used for.
    pub upstream: Upstream,
    /// Whose clients get it first, as by a table of sites.
    pub networks: Vec<IpNet>,
}

/// A list of them, each address and port once, in order of both.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct List {
    /// See [`Fixed`].
    pub caches: Vec<Fixed>,
}

/// Why a cache of a site list is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LeftOut {
    /// No resolver knows its name.
    #[error("its name has no address")]
    Unknown,
    /// Nobody outside of its site would find it.
    #[error("its address is private")]
    Private,
    /// It stands for no host: of "this network", of many hosts at once, of one link.
    #[error("its address is none that others reach")]
    Nobody,
    /// Neither for everything nor for CVMFS or Frontier.
    #[error("it is for neither CVMFS nor Frontier")]
    Purpose,
}

/// Why a file is no such list.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListError {
    /// More than is read.
    #[error("the list is longer than {MOST_BYTES} bytes")]
    Long,
    /// More than is taken.
    #[error("the list has more than {MOST_CACHES} caches")]
    Many,
    /// Not JSON, or of another shape; says line and column.
    #[error("not a list as `plimsoll shoal import` makes it")]
    Json(#[source] serde_json::Error),
    /// A value that cannot be, in the entry of this number, from 1.
    #[error("cache {0} of the list: `{1}` is not {2}")]
    Value(usize, String, &'static str),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    caches: Vec<Row>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    site: String,
    host: String,
    port: u16,
    address: String,
    upstream: String,
    networks: Vec<String>,
}

impl List {
    /// Makes a list of a site list's caches; `look_up` says which address a name has. What is left
    /// out is told beside it.
    #[must_use]
    pub fn resolve(
        found: &[StaticCache],
        look_up: impl Fn(&str) -> Option<IpAddr>,
    ) -> (Self, Vec<(StaticCache, LeftOut)>) {
        let mut caches: BTreeMap<(IpAddr, u16), Fixed> = BTreeMap::new();
        let mut left_out = Vec::new();
        for cache in found {
            let taken = purpose(&cache.destination).ok_or(LeftOut::Purpose).and_then(|upstream| {
                let address = look_up(&cache.host).ok_or(LeftOut::Unknown)?;
                match address {
                    _ if is_private(address) => Err(LeftOut::Private),
                    _ if !may_be_public(address) => Err(LeftOut::Nobody),
                    _ => Ok((upstream, address)),
                }
            });
            let (upstream, address) = match taken {
                Ok(taken) => taken,
                Err(why) => {
                    left_out.push((cache.clone(), why));
                    continue;
                }
            };
            let known = caches.entry((address, cache.port)).or_insert_with(|| Fixed {
                site: cache.site.chars().filter(|c| !c.is_control()).take(100).collect(),
                host: cache.host.clone(),
                port: cache.port,
                address,
                upstream,
                networks: Vec::new(),
            });
            if known.upstream != upstream {
                known.upstream = Upstream::Both;
            }
            known.networks.extend(cache.networks.iter().flat_map(networks_of));
        }
        let mut caches: Vec<Fixed> = caches.into_values().collect();
        for cache in &mut caches {
            cache.networks = IpNet::aggregate(&cache.networks);
        }
        (Self { caches }, left_out)
    }

    /// Reads a file that [`List::to_json`] wrote. Caches with a value that cannot be are left out,
    /// and told beside it: one that is odd takes no other off the list.
    ///
    /// # Errors
    ///
    /// See [`ListError`]; a value only where no cache is without a fault.
    pub fn parse(text: &[u8]) -> Result<(Self, Vec<ListError>), ListError> {
        if text.len() > MOST_BYTES {
            return Err(ListError::Long);
        }
        let file: File = serde_json::from_slice(text).map_err(ListError::Json)?;
        if file.caches.len() > MOST_CACHES {
            return Err(ListError::Many);
        }
        let (mut caches, mut left_out) = (Vec::new(), Vec::new());
        for (number, row) in (1..).zip(file.caches) {
            match fixed_of(row) {
                Ok(cache) => caches.push(cache),
                Err((value, wanted)) => left_out.push(ListError::Value(number, value, wanted)),
            }
        }
        match left_out.is_empty() || !caches.is_empty() {
            true => Ok((Self { caches }, left_out)),
            false => Err(left_out.swap_remove(0)),
        }
    }

    /// The list as a file.
    #[must_use]
    pub fn to_json(&self) -> String {
        let rows = self.caches.iter().map(|cache| Row {
            site: cache.site.clone(),
            host: cache.host.clone(),
            port: cache.port,
            address: cache.address.to_string(),
            upstream: cache.upstream.name().to_owned(),
            networks: cache.networks.iter().map(IpNet::to_string).collect(),
        });
        let file = File { caches: rows.collect() };
        // Texts and numbers only: there is nothing in it that JSON has not.
        serde_json::to_string_pretty(&file).unwrap_or_default() + "\n"
    }
}

impl Fixed {
    /// What a heartbeat of it would say, without a uuid and without a load.
    #[must_use]
    pub fn beat(&self, unix_s: f64) -> Heartbeat {
        Heartbeat {
            uuid: "".into(),
            // As it stands in URLs, which is what everybody makes of it.
            hostname: bracketed(&self.host).into(),
            port: Echo { value: self.port, text: self.port.to_string().into() },
            kind: Kind::Squid,
            upstream: self.upstream,
            public_ip: Some(self.address),
            private_ip: None,
            external_ip: None,
            timestamp: unix_s,
            load: Number::Int(0),
            max_load: None,
            verified: false,
            interval_s: None,
            cloud: is_cloud_name(&self.site).then(|| self.site.as_str().into()),
            version: None,
            coordinates: None,
        }
    }
}

/// What caches of a destination are for; names of destinations are the sites' own.
fn purpose(destination: &str) -> Option<Upstream> {
    let name = destination.to_ascii_lowercase();
    match () {
        () if name == "default" => Some(Upstream::Both),
        () if name.contains("cvmfs") => Some(Upstream::Cvmfs),
        () if name.contains("frontier") => Some(Upstream::Frontier),
        () => None,
    }
}

/// The networks that hold exactly these addresses.
fn networks_of(range: &Range) -> Vec<IpNet> {
    match (range.first, range.last) {
        (IpAddr::V4(first), IpAddr::V4(last)) => {
            Ipv4Subnets::new(first, last, 0).map(IpNet::from).collect()
        }
        (IpAddr::V6(first), IpAddr::V6(last)) => {
            Ipv6Subnets::new(first, last, 0).map(IpNet::from).collect()
        }
        _ => Vec::new(),
    }
}

fn fixed_of(row: Row) -> Result<Fixed, (String, &'static str)> {
    let shown = |text: &str| text.chars().take(60).collect::<String>();
    let address = row.address.parse().ok().filter(|address| may_be_public(*address));
    let address = address.ok_or((shown(&row.address), "an address that others reach"))?;
    let upstream = [Upstream::Both, Upstream::Cvmfs, Upstream::Frontier];
    let upstream = upstream.into_iter().find(|upstream| upstream.name() == row.upstream);
    let upstream = upstream.ok_or((shown(&row.upstream), "both, cvmfs or frontier"))?;
    let network = |text: &String| {
        text.parse::<IpNet>().map(|net| net.trunc()).map_err(|_| (shown(text), "a network"))
    };
    if !is_host(&row.host) {
        return Err((shown(&row.host), "a host's name or address"));
    }
    if row.port == 0 {
        return Err(("0".to_owned(), "a port"));
    }
    let networks = row.networks.iter().map(network).collect::<Result<_, _>>()?;
    let (site, host, port) = (row.site, row.host, row.port);
    Ok(Fixed { site, host, port, address, upstream, networks })
}
