//! What the threads of a server share.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use ipnet::IpNet;
use tokio::sync::watch;

use super::broker::BrokerStatus;
use super::complaints::{Complaint, Complaints};
use super::geo_api::Names;
use super::limit::Limits;
use super::metrics::Metrics;
use super::page::Desk;
use super::{Auth, Certificate, Clock, Folder, Options, Order, StartError, log};
use crate::auth::{Keys, LastSeen};
use crate::geo::Geography;
use crate::order::Sites;
use crate::registry::{Host, Registry, Shelf};

/// What the threads of a server share.
#[derive(Debug)]
pub struct Shared {
    pub(super) clock: Clock,
    pub(super) tls: Option<Certificate>,
    registry: Mutex<Registry>,
    pub(super) shelf: Arc<Shelf>,
    pub(super) geography: Arc<Geography>,
    pub(super) sites: ArcSwap<Sites>,
    pub(super) order: Order,
    pub(super) verified_only: bool,
    pub(super) verify: Option<crate::verify::Settings>,
    trust: Vec<IpNet>,
    external_ips: Vec<IpAddr>,
    pub(super) trusted_proxies: Vec<IpNet>,
    pub(super) auth: Auth,
    pub(super) keys: Keys,
    pub(super) last_seen: Mutex<LastSeen>,
    pub(super) limits: Mutex<Limits>,
    pub(super) metrics: Metrics,
    pub(super) folder: Option<Folder>,
    pub(super) names: Names,
    pub(super) desk: Desk,
    pub(super) log: Option<log::File>,
    pub(super) peers: Vec<String>,
    #[cfg_attr(not(feature = "tls"), expect(dead_code, reason = "for encrypted connections"))]
    pub(super) peer_ca: Option<std::path::PathBuf>,
    /// What agents complained of.
    pub(super) complaints: Complaints,
    /// How it stands with each broker.
    pub(super) brokers: Mutex<Vec<Arc<BrokerStatus>>>,
    /// Set once there is something to answer with, or an interval has passed.
    ready: AtomicBool,
    stop: watch::Sender<bool>,
}

/// (key, uuid) pairs whose last signature's time is remembered: the registry's most entries.
const REMEMBERED: usize = 200_000;

impl Shared {
    pub(super) fn new(options: Options) -> Result<Self, StartError> {
        let registry = Registry::new(options.settings, options.secret, options.kept);
        let log = match options.access_log {
            Some(path) => {
                Some(log::File::open(&path).map_err(|error| StartError::Log(path, error))?)
            }
            None => None,
        };
        let shared = Self {
            clock: Clock::start(),
            tls: options.tls,
            shelf: registry.shelf(),
            registry: Mutex::new(registry),
            geography: options.geography,
            sites: ArcSwap::from_pointee(options.sites),
            order: options.order,
            verified_only: options.verified_only || options.order == Order::Shoal,
            verify: options.verify,
            trust: options.trust,
            external_ips: options.external_ips,
            trusted_proxies: options.trusted_proxies,
            auth: options.auth,
            keys: options.keys,
            last_seen: Mutex::new(LastSeen::new(REMEMBERED)),
            limits: Mutex::new(Limits::new(options.rate)),
            metrics: Metrics::default(),
            folder: options.folder,
            names: Names::default(),
            desk: Desk::default(),
            log,
            peers: options.peers,
            peer_ca: options.peer_ca,
            complaints: Complaints::default(),
            brokers: Mutex::new(Vec::new()),
            ready: AtomicBool::new(false),
            stop: watch::Sender::new(false),
        };
        shared.look_around();
        Ok(shared)
    }

    /// Looks under which addresses this host is now.
    pub(super) fn look_around(&self) {
        let interfaces = crate::agent::addresses::of_interfaces(std::path::Path::new("/"));
        let external = self.external_ips.clone();
        self.registry().set_host(Host { interfaces, external });
    }

    /// The registry, for as long as the guard lives: hold it for microseconds.
    pub fn registry(&self) -> MutexGuard<'_, Registry> {
        lock(&self.registry)
    }

    /// Whether this address may announce what it likes.
    pub(super) fn trusts(&self, address: IpAddr) -> bool {
        self.trust.iter().any(|net| net.contains(&address))
    }

    /// Whether a proxy of ours is at this address.
    pub(super) fn is_proxy(&self, address: IpAddr) -> bool {
        self.trusted_proxies.iter().any(|net| net.contains(&address))
    }

    pub(super) fn ready(&self) -> bool {
        self.ready.load(Relaxed)
    }

    pub(super) fn set_ready(&self) {
        self.ready.store(true, Relaxed);
    }

    /// What agents complained of, latest last.
    #[must_use]
    pub fn complaints(&self) -> Vec<Complaint> {
        self.complaints.list()
    }

    /// How it stands with a broker, which is told from now on, under its name.
    pub fn add_broker(&self, name: String) -> Arc<BrokerStatus> {
        let status = Arc::new(BrokerStatus::new(name));
        lock(&self.brokers).push(Arc::clone(&status));
        status
    }

    /// How it stands with each broker.
    #[must_use]
    pub fn brokers(&self) -> Vec<Arc<BrokerStatus>> {
        lock(&self.brokers).clone()
    }

    /// The clocks.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Tells every thread to end.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Whether every thread is to end.
    #[must_use]
    pub fn stopped(&self) -> bool {
        *self.stop.borrow()
    }

    pub(super) fn stops(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }
}

/// Locks; what a panicking thread left behind is used as it is, as each change is whole.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
