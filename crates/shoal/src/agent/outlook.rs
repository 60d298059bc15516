//! Whether the host has a network, and when to look again.
//!
//! While an interface without address or a host without default route may get one at any moment,
//! it is looked at each 5 ms, so that the first heartbeat leaves within 10 ms of it. After a
//! minute that is taken for the way things are, and as with a settled network a look each second
//! is enough.

use std::net::IpAddr;

const UNSETTLED_NS: u64 = 5_000_000;
const SETTLED_NS: u64 = 1_000_000_000;
const PATIENCE_NS: u64 = 60_000_000_000;

/// The network as it was last seen.
#[derive(Debug, Clone, Default)]
pub struct Outlook {
    seen: Option<(Vec<IpAddr>, Option<String>)>,
    since_ns: u64,
    next_ns: u64,
}

impl Outlook {
    /// When to look again.
    #[must_use]
    pub fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Takes what was seen: the addresses of the interfaces and the interface of the default
    /// route. Answers whether that is something else than before.
    pub fn look(&mut self, now_ns: u64, own: &[IpAddr], interface: Option<&str>) -> bool {
        let is_same = self.seen.as_ref().is_some_and(|(addresses, before)| {
            addresses.as_slice() == own && before.as_deref() == interface
        });
        if !is_same {
            self.seen = Some((own.to_vec(), interface.map(str::to_owned)));
            self.since_ns = now_ns;
        }
        let is_settled = !own.is_empty() && interface.is_some();
        let is_urgent = !is_settled && now_ns - self.since_ns < PATIENCE_NS;
        self.next_ns = now_ns + if is_urgent { UNSETTLED_NS } else { SETTLED_NS };
        !is_same
    }
}
