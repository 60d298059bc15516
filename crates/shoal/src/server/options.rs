//! What a server is told at its start.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;

use super::{Certificate, Folder};
use crate::auth::Keys;
use crate::geo::Geography;
use crate::order::Sites;
use crate::registry::{Kept, Settings};

/// Whether announcements are signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auth {
    /// Signatures are not looked at.
    Off,
    /// A signature that is there must be right.
    Optional,
    /// There must be one.
    Required,
}

/// In which order caches are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// By band of distance and class of load, random within.
    Bands,
    /// By the original's cost.
    Shoal,
    /// By whole kilometres, then by load.
    Distance,
}

/// What a server is told at its start.
#[derive(Debug)]
pub struct Options {
    /// Where it listens; port 0: any.
    pub listen: SocketAddr,
    /// By which connections are encrypted; without one none is.
    pub tls: Option<Certificate>,
    /// Serving threads, at least 1.
    pub threads: usize,
    /// The registry's bounds.
    pub settings: Settings,
    /// Keys the public names of caches.
    pub secret: [u8; 32],
    /// What an operator decided before.
    pub kept: Kept,
    /// Where that is kept.
    pub folder: Option<Folder>,
    /// Where addresses are.
    pub geography: Arc<Geography>,
    /// Which caches belong to which networks.
    pub sites: Sites,
    /// The file of [`Self::sites`], read again when it changes.
    pub sites_file: Option<PathBuf>,
    /// A file that lists caches that run no agent ([`crate::fixed`]); read again when it changes.
    pub fixed: Option<PathBuf>,
    /// In which order caches are given.
    pub order: Order,
    /// Only verified caches are given.
    pub verified_only: bool,
    /// What is fetched through the caches, if anything.
    pub verify: Option<crate::verify::Settings>,
    /// Networks whose announcements are believed as they are, and that decide about caches.
    pub trust: Vec<IpNet>,
    /// Networks of proxies whose `X-Forwarded-For` and `Forwarded` are believed.
    pub trusted_proxies: Vec<IpNet>,
    /// A socket in the file system, for its owner only; whoever comes by it is trusted.
    pub operator_socket: Option<PathBuf>,
    /// Addresses by which others see this host, where no interface has them.
    pub external_ips: Vec<IpAddr>,
    /// Whether announcements are signed.
    pub auth: Auth,
    /// Who may sign them.
    pub keys: Keys,
    /// The file of [`Self::keys`], read again when it changes.
    pub keys_file: Option<PathBuf>,
    /// Announcements that one source may make, per second; bursts of ten times as many.
    pub rate: f64,
    /// Registries to copy the list from at the start: their base URLs.
    pub peers: Vec<String>,
    /// Whom to trust for `https` to them, PEM; else this host's list.
    pub peer_ca: Option<PathBuf>,
    /// Where each request is logged, a JSON object a line.
    pub access_log: Option<PathBuf>,
    /// After so long without a peer's list it is ready: every living cache was heard by then.
    pub settle: Duration,
    /// Tells operators what changed, a line each.
    pub say: fn(&str),
}
