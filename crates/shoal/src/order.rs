//! Which caches a client is given, in which order.

use std::net::IpAddr;
use std::sync::Arc;

use plimsoll_workload::random::Stream;

use crate::geo::Spot;
use crate::heartbeat::{Kind, Upstream};
use crate::registry::{Cache, Snapshot};

/// Which kinds a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Menu {
    /// `/nearest`: Squids, whatever their upstream.
    Squid,
    /// `/nearestcvmfs`: Squids and Varnishes whose upstream is `cvmfs` or `both`.
    Cvmfs,
    /// `/nearestconditions`: Squids and Varnishes whose upstream is `frontier` or `both`.
    Conditions,
    /// Everything.
    All,
    /// Varnishes, whatever their upstream (`?type=varnish`).
    Varnish,
}

impl Menu {
    /// Whether a cache is of these kinds.
    #[must_use]
    pub fn has(self, kind: Kind, upstream: Upstream) -> bool {
        match self {
            Self::Squid => kind == Kind::Squid,
            Self::Varnish => kind == Kind::Varnish,
            Self::Cvmfs => upstream != Upstream::Frontier,
            Self::Conditions => upstream != Upstream::Cvmfs,
            Self::All => true,
        }
    }
}

/// What a client asks.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The client's own address: what is announced from it is local to it.
    pub client: IpAddr,
    /// Where it is, or asked to be; `None` if it cannot be located.
    pub spot: Option<Spot>,
    /// The most caches wanted.
    pub count: usize,
    /// The kinds wanted.
    pub menu: Menu,
    /// Only caches of this cloud.
    pub cloud: Option<&'a str>,
    /// Verified caches only.
    pub verified_only: bool,
}

/// One cache of an answer.
#[derive(Debug, Clone)]
pub struct Pick {
    /// The cache.
    pub cache: Arc<Cache>,
    /// From the client, where both are located.
    pub distance_km: Option<f64>,
    /// It is at the client's own site.
    pub local: bool,
}

/// The caches for a client, best first.
///
/// Ascending (distance band, load class), random within a class; caches of the client's own site
/// come before the nearest band, those that cannot be located are in the last.
pub fn nearest(
    snapshot: &Snapshot,
    question: &Question<'_>,
    random: &mut Stream,
    picks: &mut Vec<Pick>,
) {
    let _ = (snapshot, question, random, picks);
    todo!()
}
