//! What an agent says of its cache, read from untrusted bytes.
//!
//! The fields and their types are those of Shoal's agents, released and current, and ours: the
//! port is `cache_port` or `squid_port`; ports and `max_load` may be numbers or strings and are
//! echoed as they came. [`parse`] believes nothing that is not within the bounds of `limits`.

mod fields;
mod goodbye;
mod limits;
mod number;
mod parse;
mod quote;
mod refusal;
mod write;

use std::fmt;
use std::net::IpAddr;

pub use goodbye::Goodbye;
pub use limits::MAX_BYTES;
pub use number::{Echo, Number, python_float};
pub use parse::{is_cloud_name, parse, parse_goodbye};
pub use quote::python_string;
pub use refusal::Refusal;
pub use write::{complaint_body, goodbye_body};

/// A heartbeat whose every field is within its bounds.
#[derive(Clone, PartialEq)]
pub struct Heartbeat {
    /// The key of the registry, a bearer secret: never in an answer, a page or a log.
    pub uuid: Box<str>,
    /// `[A-Za-z0-9.-]{1,253}`.
    pub hostname: Box<str>,
    /// 1 to 65535.
    pub port: Echo<u16>,
    /// What kind of program the cache is; `squid` where nothing is said.
    pub kind: Kind,
    /// What it may be used for; `both` where nothing is said.
    pub upstream: Upstream,
    /// Of an interface of the cache's host.
    pub public_ip: Option<IpAddr>,
    /// Of an interface of the cache's host, not routable.
    pub private_ip: Option<IpAddr>,
    /// As others see the host, where no interface has a public address.
    pub external_ip: Option<IpAddr>,
    /// Of the agent's wall clock, seconds since 1970.
    pub timestamp: f64,
    /// KiB/s sent, 0 to 10⁹.
    pub load: Number,
    /// KiB/s that it can send; 0 is as good as absent.
    pub max_load: Option<Echo<f64>>,
    /// Believed from trusted sources only.
    pub verified: bool,
    /// Seconds between this agent's heartbeats, where it says so.
    pub interval_s: Option<f64>,
    /// The cloud it runs in, `[A-Za-z0-9._-]{1,64}`.
    pub cloud: Option<Box<str>>,
    /// The agent's version, printable, at most 64 bytes.
    pub version: Option<Box<str>>,
    /// Latitude and longitude in degrees, as the agent was told them.
    pub coordinates: Option<(f64, f64)>,
}

impl Heartbeat {
    /// The address by which others know the cache: its public one, else its external one.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        self.public_ip.or(self.external_ip)
    }
}

/// Without the uuid, which is a secret.
impl fmt::Debug for Heartbeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Heartbeat")
            .field("hostname", &self.hostname)
            .field("port", &self.port)
            .field("kind", &self.kind)
            .field("upstream", &self.upstream)
            .field("public_ip", &self.public_ip)
            .field("private_ip", &self.private_ip)
            .field("external_ip", &self.external_ip)
            .field("timestamp", &self.timestamp)
            .field("load", &self.load)
            .field("max_load", &self.max_load)
            .field("verified", &self.verified)
            .field("interval_s", &self.interval_s)
            .field("cloud", &self.cloud)
            .field("version", &self.version)
            .field("coordinates", &self.coordinates)
            .finish_non_exhaustive()
    }
}

/// What kind of program a cache is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A forward proxy.
    Squid,
    /// A reverse proxy.
    Varnish,
}

impl Kind {
    /// As it stands in heartbeats and answers.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Squid => "squid",
            Self::Varnish => "varnish",
        }
    }
}

/// What a cache may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Upstream {
    /// CVMFS and Frontier.
    Both,
    /// File systems of CVMFS only.
    Cvmfs,
    /// Conditions data of Frontier only.
    Frontier,
}

impl Upstream {
    /// As it stands in heartbeats and answers.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Both => "both",
            Self::Cvmfs => "cvmfs",
            Self::Frontier => "frontier",
        }
    }
}
