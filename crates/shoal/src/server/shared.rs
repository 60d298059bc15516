//! What the threads of a server share.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use ipnet::IpNet;
use tokio::sync::watch;

use super::broker::BrokerStatus;
use super::complaints::{Complaint, Complaints};
use super::files::Files;
use super::geo_api::Names;
use super::limit::Limits;
use super::metrics::Metrics;
use super::page::Desk;
use super::verifier::ObjectState;
use super::{Auth, Certificate, Clock, Folder, Options, Order, StartError, log};
use crate::Now;
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
    pub(super) keys: ArcSwap<Keys>,
    pub(super) last_seen: Mutex<LastSeen>,
    pub(super) limits: Mutex<Limits>,
    pub(super) metrics: Metrics,
    pub(super) folder: Option<Folder>,
    pub(super) names: Names,
    pub(super) desk: Desk,
    pub(super) log: Option<log::File>,
    pub(super) files: Files,
    /// Files are to be read, changed or not.
    reread: AtomicBool,
    say: fn(&str),
    /// See [`Options::settle`].
    pub(super) settle_ns: u64,
    /// What is suspected of the object of verification.
    pub(super) object: ObjectState,
    /// The monotonic clock when the last announcement was heard, nanoseconds; 0 before any.
    heard_ns: AtomicU64,
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
                let opened = log::File::open(path.clone());
                Some(opened.map_err(|error| StartError::Log(path, error))?)
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
            keys: ArcSwap::from_pointee(options.keys),
            last_seen: Mutex::new(LastSeen::new(REMEMBERED)),
            limits: Mutex::new(Limits::new(options.rate)),
            metrics: Metrics::default(),
            folder: options.folder,
            names: Names::default(),
            desk: Desk::default(),
            log,
            files: Files::default(),
            reread: AtomicBool::new(false),
            say: options.say,
            settle_ns: u64::try_from(options.settle.as_nanos()).unwrap_or(u64::MAX),
            object: ObjectState::default(),
            heard_ns: AtomicU64::new(0),
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

    /// Tells operators.
    pub(super) fn say(&self, text: &str) {
        (self.say)(text);
    }

    /// Takes note of a look at a file that is read again, and says what is new.
    pub(super) fn looked_at<E: std::error::Error>(
        &self,
        option: &'static str,
        looked: &Result<bool, E>,
    ) {
        if let Some(text) = self.files.note(option, looked) {
            self.say(&text);
        }
    }

    /// Opens the access log again, and has all files read again that are read when they change.
    pub fn reread(&self) {
        if let Some(log) = &self.log {
            self.looked_at("access-log", &log.reopen().map(|()| true));
        }
        self.reread.store(true, Relaxed);
    }

    /// Whether they are to be read now; once.
    pub(super) fn rereads(&self) -> bool {
        self.reread.swap(false, Relaxed)
    }

    /// An announcement was heard, by whatever way.
    pub(super) fn heard(&self, now: Now) {
        self.heard_ns.store(now.elapsed_ns.max(1), Relaxed);
    }

    /// Seconds since the last announcement, if there was one.
    pub(super) fn heard_ago_s(&self) -> Option<f64> {
        let heard_ns = self.heard_ns.load(Relaxed);
        (heard_ns > 0).then(|| self.ago_s(heard_ns))
    }

    /// Seconds since a moment of the monotonic clock.
    pub(super) fn ago_s(&self, ns: u64) -> f64 {
        let ago_ns = self.clock.now().elapsed_ns.saturating_sub(ns);
        Duration::from_nanos(ago_ns).as_secs_f64()
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
