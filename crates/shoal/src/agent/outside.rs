//! The address under which a registry sees this host: behind a translation of addresses nobody
//! else on the host knows it.
//!
//! Source: our own `GET /v1/nearest`, whose answer begins with the client it is for.

use std::net::IpAddr;
use std::time::Duration;

use super::addresses::is_private;
use plimsoll_net::http::client::{Ask, Dial, Limits};
use plimsoll_net::url::Url;

/// The longest the question may take.
pub const TIME: Duration = Duration::from_secs(3);
/// After which a known address is asked for again; an unknown one is after an interval.
const KNOWN_NS: u64 = 600_000_000_000;

/// Asks a registry; `None` where it does not say, or says an address that is not public.
#[must_use]
pub fn ask(dial: &dyn Dial, server: &Url) -> Option<IpAddr> {
    let url = server.join("v1/nearest?n=1");
    let answer = Ask::get(&url).send(dial, Limits::within(TIME)).ok()?;
    let json: serde_json::Value = serde_json::from_slice(&answer.body).ok()?;
    let address: IpAddr = json.get("client")?.get("ip")?.as_str()?.parse().ok()?;
    (answer.status == 200 && !is_private(address)).then_some(address)
}

/// When to ask.
#[derive(Debug, Clone, Copy, Default)]
pub struct Turn {
    next_ns: u64,
    busy: bool,
}

impl Turn {
    /// Whether to ask now; once yes, it is no until the outcome is told.
    pub fn is_due(&mut self, now_ns: u64) -> bool {
        let is_due = !self.busy && now_ns >= self.next_ns;
        self.busy |= is_due;
        is_due
    }

    /// What came of it, and the interval after which what is unknown is asked again.
    pub fn told(&mut self, now_ns: u64, known: bool, interval_ns: u64) {
        self.busy = false;
        self.next_ns = now_ns + if known { KNOWN_NS } else { interval_ns };
    }

    /// Ask at once: the network is another.
    pub fn again(&mut self) {
        self.next_ns = 0;
    }
}
