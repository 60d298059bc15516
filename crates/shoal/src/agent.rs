//! The agent: speaks for one cache on its own host.
//!
//! It sends heartbeats with the load that its host really has, asks its cache every few seconds
//! whether it is alive, and takes leave when it is not: a dead cache beside a living agent is
//! served to nobody. What is to be done when is decided by [`pace`], which looks at no clock;
//! what is said is read by pure functions below a root that tests choose. Around them [`run`]
//! keeps a thread for each registry and one for the probe, so that none waits for another.
//!
//! No runtime, no pool: some kilobytes of state, and memory below 8 MB.

pub mod addresses;
pub mod announce;
pub mod body;
pub mod cache;
mod live;
pub mod load;
pub mod metadata;
pub mod outlook;
pub mod outside;
pub mod pace;
mod report;
pub mod squid;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub use announce::Announce;
pub use cache::{Cache, Probe};
pub use live::{random_seed, run, uuid};
pub use pace::Health;
pub use report::Reporter;

use crate::Now;
use crate::heartbeat::{Kind, Upstream};
use plimsoll_net::http::client::Dial;
use plimsoll_net::url::Url;

/// What an agent is told.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The cache's kind; looked for where nothing is said.
    pub kind: Option<Kind>,
    /// The cache's port; looked for where nothing is said.
    pub port: Option<u16>,
    /// Where the cache is asked; where it listens where nothing is said.
    pub cache_address: Option<IpAddr>,
    /// What the cache may be used for.
    pub upstream: Upstream,
    /// Between heartbeats, 1 s to 1 h, spread by a tenth.
    pub interval: Duration,
    /// Between probes of the cache.
    pub probe_interval: Duration,
    /// How the cache is probed.
    pub probe: Probe,
    /// As others see the host, where no interface has a public address.
    pub external_ip: Option<IpAddr>,
    /// A registry that is asked under which address it sees this host, where no interface has a
    /// public one and `external_ip` says nothing.
    pub outside: Option<Url>,
    /// The cache's name; see [`addresses::host_name`] where nothing is said.
    pub hostname: Option<String>,
    /// The cloud it runs in, `[A-Za-z0-9._-]{1,64}`.
    pub cloud: Option<String>,
    /// Whose sent bytes are the load; that of the default route where nothing is said.
    pub interface: Option<String>,
    /// KiB/s that the cache can send; by the interface's speed where nothing is said.
    pub max_load: Option<f64>,
    /// Latitude and longitude in degrees.
    pub coordinates: Option<(f64, f64)>,
    /// The metadata service of a cloud to be asked at the start, [`metadata::ADDRESS`].
    pub metadata: Option<Url>,
    /// Whether a Squid is asked for its own counters.
    pub counters: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            kind: None,
            port: None,
            cache_address: None,
            upstream: Upstream::Both,
            interval: Duration::from_secs(30),
            probe_interval: Duration::from_secs(5),
            probe: Probe { url: None, time: Duration::from_secs(2) },
            external_ip: None,
            outside: None,
            hostname: None,
            cloud: None,
            interface: None,
            max_load: None,
            coordinates: None,
            metadata: None,
            counters: true,
        }
    }
}

/// What an agent meets.
pub struct World<'a> {
    /// What `/proc` and `/sys` are below: `/`.
    pub root: PathBuf,
    /// Both clocks.
    pub now: &'a dyn Fn() -> Now,
    /// Set once the agent is to end.
    pub stop: &'a AtomicBool,
    /// Spreads the schedule.
    pub seed: u64,
    /// A new identity of 32 hexadecimal digits, as [`uuid`] draws it: one at the start, and
    /// another whenever the wall clock has been set back, because no registry listens to an
    /// identity that says something earlier than before.
    pub uuid: &'a mut dyn FnMut() -> String,
    /// The addresses the way out has, as [`addresses::way_out`] asks for them.
    pub way_out: &'a dyn Fn() -> Vec<IpAddr>,
    /// The registries, each of which gets every heartbeat.
    pub registries: Vec<Box<dyn Announce>>,
    /// Connects to the cache and to the metadata service.
    pub dial: Arc<dyn Dial>,
}

/// What happened, for a log. Identities are secrets and in none of them.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The cache it speaks for, at the start and whenever it is another.
    Cache(Cache),
    /// What the cloud told.
    Metadata(metadata::Metadata),
    /// The cache answers, or does not any more.
    Health(Health),
    /// A probe failed.
    Probe(String),
    /// The network is there with these addresses, or is not (none).
    Network(addresses::Addresses),
    /// The cache is announced at this address, and listens at its port on loopback only: told once.
    Hidden(std::net::IpAddr, Cache),
    /// A heartbeat was taken by the registry of this name.
    Announced(String),
    /// A goodbye was taken by the registry of this name.
    Left(String),
    /// A registry did not take something, and why.
    Failed(String, String),
}
