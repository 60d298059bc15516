//! What a step costs in time: a round trip, and the bytes over a rate.

use serde::{Deserialize, Serialize};

/// A way over which objects come.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Leg {
    /// From asking to the first byte, nanoseconds.
    pub first_ns: u64,
    /// Bytes a second after that; above zero.
    pub bytes_per_s: f64,
}

impl Leg {
    /// The time for an object of so many bytes, nanoseconds.
    #[must_use]
    #[expect(clippy::cast_precision_loss, clippy::cast_sign_loss, reason = "a time of a model")]
    #[expect(clippy::cast_possible_truncation, reason = "saturates")]
    pub fn ns(&self, bytes: u64) -> u64 {
        self.first_ns.saturating_add((bytes as f64 / self.bytes_per_s * 1e9) as u64)
    }
}

/// What each place costs that an object may come from. A response time is the sum of the steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// What is in a node's memory.
    pub memory: Leg,
    /// What is on a node's disk.
    pub disk: Leg,
    /// A sibling, beside its own memory or disk; a query to it costs the first byte's time.
    pub sibling: Leg,
    /// A parent, likewise.
    pub parent: Leg,
    /// The origin.
    pub origin: Leg,
}

impl Default for Latency {
    /// A rack with solid-state disks, parents in the region, an origin across a continent:
    /// 20 µs and 10 GB/s, 200 µs and 500 MB/s, 0.5 ms and 1 GB/s, 5 ms and 125 MB/s, 80 ms and
    /// 12.5 MB/s.
    fn default() -> Self {
        let leg = |first_ns, bytes_per_s| Leg { first_ns, bytes_per_s };
        Self {
            memory: leg(20_000, 1e10),
            disk: leg(200_000, 5e8),
            sibling: leg(500_000, 1e9),
            parent: leg(5_000_000, 1.25e8),
            origin: leg(80_000_000, 1.25e7),
        }
    }
}
