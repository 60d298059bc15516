//! How it stands with a message broker: for health, metrics and operators.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use super::shared::lock;

/// Why a broker does not serve, in a word each.
pub const REASONS: [&str; 10] = [
    "away",
    "blocked",
    "certificate",
    "credentials",
    "exchange",
    "permission",
    "protocol",
    "refused",
    "tls",
    "vhost",
];

/// How it stands with a broker.
#[derive(Debug)]
pub struct BrokerStatus {
    name: String,
    connected: AtomicBool,
    connections: AtomicU64,
    messages: AtomicU64,
    /// The monotonic clock at the last message, nanoseconds; 0 before any.
    message_ns: AtomicU64,
    troubles: Mutex<Troubles>,
}

#[derive(Debug, Default)]
struct Troubles {
    counts: BTreeMap<&'static str, u64>,
    last: Option<(&'static str, String)>,
}

impl BrokerStatus {
    /// Not connected yet.
    pub(super) fn new(name: String) -> Self {
        Self {
            name,
            connected: AtomicBool::new(false),
            connections: AtomicU64::new(0),
            messages: AtomicU64::new(0),
            message_ns: AtomicU64::new(0),
            troubles: Mutex::default(),
        }
    }

    /// Host and port.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it brings messages now.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.connected.load(Relaxed)
    }

    /// Connections that came to serve.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.connections.load(Relaxed)
    }

    /// Messages it brought.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.messages.load(Relaxed)
    }

    /// Ends of connections and failed attempts, by reason: each that there is, with how many.
    #[must_use]
    pub fn failures(&self) -> Vec<(&'static str, u64)> {
        let troubles = lock(&self.troubles);
        let count = |reason| troubles.counts.get(reason).copied().unwrap_or_default();
        REASONS.into_iter().map(|reason| (reason, count(reason))).collect()
    }

    /// Why it is not connected, where it is not: for operators.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        lock(&self.troubles).last.as_ref().map(|(_, text)| text.clone())
    }

    /// The word by which that is counted, which anybody may know.
    #[must_use]
    pub fn reason(&self) -> Option<&'static str> {
        lock(&self.troubles).last.as_ref().map(|(reason, _)| *reason)
    }

    /// It brings messages from now on.
    pub fn serves(&self) {
        lock(&self.troubles).last = None;
        self.connections.fetch_add(1, Relaxed);
        self.connected.store(true, Relaxed);
    }

    /// When it brought the last message, by the monotonic clock, nanoseconds.
    #[must_use]
    pub fn message_ns(&self) -> Option<u64> {
        Some(self.message_ns.load(Relaxed)).filter(|ns| *ns > 0)
    }

    /// It brought so many messages, the last of them at this time.
    pub fn brought(&self, messages: usize, now_ns: u64) {
        self.message_ns.store(now_ns.max(1), Relaxed);
        self.messages.fetch_add(messages as u64, Relaxed);
    }

    /// It does not any more, or not yet. Returns whether that is something new: another text than
    /// the last, so that a log says it once.
    pub fn fails(&self, reason: &'static str, text: String) -> bool {
        self.connected.store(false, Relaxed);
        let mut troubles = lock(&self.troubles);
        *troubles.counts.entry(reason).or_default() += 1;
        let now = Some((reason, text));
        let is_new = troubles.last != now;
        troubles.last = now;
        is_new
    }
}
