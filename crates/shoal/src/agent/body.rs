//! What an agent adds to a heartbeat: the counters of host and cache, behind `load`, where Shoal's
//! server passes over what it does not know.

use super::squid::Counters;
use crate::heartbeat::Heartbeat;

/// What the host and the cache count besides the load; all of it optional.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Measured {
    /// Share of the processors' time, 0 to 1.
    pub cpu: Option<f64>,
    /// Connections of the cache's port.
    pub connections: Option<u64>,
    /// Of the cache itself.
    pub counters: Option<Counters>,
}

/// A heartbeat's body.
#[must_use]
pub fn heartbeat(beat: &Heartbeat, measured: &Measured) -> String {
    let mut out = beat.written();
    out.float("cpu", measured.cpu);
    out.integer("connections", measured.connections);
    if let Some(counters) = measured.counters {
        out.float("hit_ratio", counters.hit_ratio.filter(|ratio| ratio.is_finite()));
        out.integer("clients", counters.clients);
        out.integer("disk_used_kib", counters.disk_used_kib);
    }
    out.end()
}
