//! What an agent says at a moment: everything of a heartbeat, read below a root.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use super::addresses::{Addresses, choose, host_name, of_interfaces};
use super::body::{self, Measured};
use super::load::{Meter, Processors, capacity, default_interface, sent_bytes};
use super::squid::Counters;
use super::{Cache, Options};
use crate::Now;
use crate::heartbeat::{Echo, Heartbeat, Number, complaint_body, goodbye_body};
use plimsoll_units::truncate;

/// Bytes: as many as registries keep.
const MOST_OF_A_COMPLAINT: usize = 400;

/// Writes the bodies of an agent's messages.
#[derive(Debug)]
pub struct Reporter {
    options: Options,
    root: PathBuf,
    uuid: String,
    last_unix_s: f64,
    meter: Meter,
    processors: Processors,
    own: Vec<IpAddr>,
    interface: Option<String>,
    addresses: Addresses,
    /// As a registry sees the host, where that was asked.
    pub seen_as: Option<IpAddr>,
    /// Connections of the cache's port as last counted: with long tables that takes some
    /// milliseconds, for which no heartbeat waits.
    pub connections: Option<u64>,
    /// The cache's own counters as last told.
    pub counters: Option<Counters>,
}

impl Reporter {
    /// Of a host below `root`, under an identity.
    #[must_use]
    pub fn new(options: Options, root: &Path, uuid: String) -> Self {
        Self {
            options,
            root: root.to_owned(),
            uuid,
            last_unix_s: f64::NEG_INFINITY,
            meter: Meter::default(),
            processors: Processors::default(),
            own: Vec::new(),
            interface: None,
            addresses: Addresses::default(),
            seen_as: None,
            connections: None,
            counters: None,
        }
    }

    /// Looks at interfaces and routes. Answers what of it a change is seen by.
    pub fn look(&mut self, way_out: &dyn Fn() -> Vec<IpAddr>) -> (&[IpAddr], Option<&str>) {
        self.own = of_interfaces(&self.root);
        let ways_out = if self.own.is_empty() { Vec::new() } else { way_out() };
        let external = self.options.external_ip.or(self.seen_as);
        self.addresses = choose(&self.own, &ways_out, external);
        self.interface = default_interface(&self.root);
        (&self.own, self.interface.as_deref())
    }

    /// What is announced since the last look.
    #[must_use]
    pub fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// Counts the load from here on.
    pub fn measure(&mut self, now: Now) -> (f64, Option<f64>) {
        let interface = self.options.interface.as_deref().or(self.interface.as_deref());
        let sent = interface.and_then(|name| Some((name, sent_bytes(&self.root, name)?)));
        let load = sent.map_or(0.0, |(name, bytes)| self.meter.sample(now.elapsed_ns, name, bytes));
        let stat = fs::read_to_string(self.root.join("proc/stat")).unwrap_or_default();
        (load, self.processors.sample(&stat))
    }

    /// Whether the identity must be another: the wall clock shows an earlier time than when it last
    /// spoke, and no registry would listen.
    #[must_use]
    pub fn is_turned_back(&self, now: Now) -> bool {
        now.unix_s < self.last_unix_s
    }

    /// Speaks under another identity from now on.
    pub fn rename(&mut self, uuid: String) {
        self.uuid = uuid;
        self.last_unix_s = f64::NEG_INFINITY;
    }

    /// A heartbeat of a moment.
    pub fn heartbeat(&mut self, now: Now, cache: &Cache) -> String {
        let (load, cpu) = self.measure(now);
        self.last_unix_s = now.unix_s;
        let (options, addresses) = (&self.options, self.addresses);
        let beat = Heartbeat {
            uuid: self.uuid.as_str().into(),
            hostname: self.hostname().into(),
            port: Echo { value: cache.port, text: cache.port.to_string().into() },
            kind: cache.kind,
            upstream: options.upstream,
            public_ip: addresses.public,
            private_ip: addresses.private,
            external_ip: addresses.external,
            timestamp: now.unix_s,
            load: Number::Float(load.min(1e9)),
            max_load: self.max_load(),
            verified: false,
            interval_s: Some(options.interval.as_secs_f64()),
            cloud: options.cloud.as_deref().map(Into::into),
            version: Some(env!("CARGO_PKG_VERSION").into()),
            coordinates: options.coordinates,
        };
        let (connections, counters) = (self.connections, self.counters);
        body::heartbeat(&beat, &Measured { cpu, connections, counters })
    }

    /// A goodbye of a moment.
    pub fn goodbye(&mut self, now: Now) -> String {
        self.last_unix_s = now.unix_s;
        goodbye_body(&self.uuid, now.unix_s)
    }

    /// Why the cache is announced no more, for operators, of a moment.
    #[must_use]
    pub fn complaint(&self, now: Now, why: &str) -> String {
        complaint_body(&self.hostname(), now.unix_s, truncate(why, MOST_OF_A_COMPLAINT))
    }

    fn hostname(&self) -> String {
        let kernel = self.root.join("proc/sys/kernel/hostname");
        let kernel = fs::read_to_string(kernel).unwrap_or_default();
        host_name(self.options.hostname.as_deref(), &kernel, &self.addresses)
    }

    fn max_load(&self) -> Option<Echo<f64>> {
        if let Some(value) = self.options.max_load {
            return Some(Echo { value, text: zmij::Buffer::new().format(value).into() });
        }
        let interface = self.options.interface.as_deref().or(self.interface.as_deref())?;
        let most = capacity(&self.root, interface)?;
        let value = u32::try_from(most).map(f64::from).ok()?;
        Some(Echo { value, text: most.to_string().into() })
    }
}
