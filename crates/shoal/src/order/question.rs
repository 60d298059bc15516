//! What a client asks, and what it is told.

use std::net::IpAddr;

use super::Sites;
use crate::geo::Spot;
use crate::heartbeat::{Kind, Upstream};
use crate::registry::{Cache, State};

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
    /// Which caches are a network's own.
    pub sites: Option<&'a Sites>,
}

impl Question<'_> {
    /// Whether a cache may be served to this client: it lives and is in order, as far as is known,
    /// and is of the kinds and the cloud asked for.
    #[must_use]
    pub fn admits(&self, cache: &Cache) -> bool {
        self.menu.has(cache.kind, cache.upstream)
            && self.cloud.is_none_or(|cloud| cache.cloud.as_deref() == Some(cloud))
            && self.serves(cache)
    }

    /// [`Question::admits`], of a cache that is of the kinds and the cloud.
    #[inline]
    pub(super) fn serves(&self, cache: &Cache) -> bool {
        cache.alive() && self.serves_in(cache.state())
    }

    /// [`Question::serves`], of a living cache in this state.
    #[inline]
    pub(super) fn serves_in(&self, state: State) -> bool {
        match state {
            State::Verified => true,
            State::Unverified => !self.verified_only,
            State::Failing | State::Drained | State::Banned => false,
        }
    }
}

/// One cache of an answer.
#[derive(Debug, Clone, Copy)]
pub struct Pick<'a> {
    /// The cache.
    pub cache: &'a Cache,
    /// From the client, where both are located.
    pub distance_km: Option<f64>,
    /// It is at the client's own site.
    pub local: bool,
}
