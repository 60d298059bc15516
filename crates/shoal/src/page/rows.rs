//! A cache as a row of the table: its place in the registry, and how it fares, read once.
//!
//! Heartbeats change loads and ages while a page is written. An order whose keys change under it
//! is none, and sorting by it may panic; so each row holds what was read.

use std::cmp::Ordering;
use std::net::IpAddr;

use super::query::{Column, NONE, Query};
use crate::registry::{Cache, DEFAULT_MAX_LOAD, State};

/// A cache and how it fared when it was looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a> {
    pub(super) cache: &'a Cache,
    /// KiB/s sent.
    pub(super) load: f64,
    /// Of what it can send, 0 to 1.
    pub(super) share: f64,
    /// The same in percent, as it is shown and filtered by.
    pub(super) percent: u8,
    pub(super) state: State,
    /// The monotonic clock at its last heartbeat, nanoseconds.
    pub(super) heard_ns: u64,
}

impl<'a> Row<'a> {
    pub(super) fn of(cache: &'a Cache) -> Self {
        let most = cache.max_load.unwrap_or(0.0);
        let most = if most > 0.0 { most } else { DEFAULT_MAX_LOAD };
        let load = cache.load().value();
        Self {
            cache,
            load,
            share: (load / most).min(1.0),
            percent: percent(load, most),
            state: cache.state(),
            heard_ns: cache.heard_ns(),
        }
    }

    pub(super) fn address(&self) -> Option<IpAddr> {
        self.cache.public_ip.or(self.cache.external_ip)
    }

    pub(super) fn cloud(&self) -> Option<&'a str> {
        self.cache.cloud.as_deref()
    }

    pub(super) fn version(&self) -> Option<&'a str> {
        self.cache.version.as_deref()
    }

    pub(super) fn country(&self) -> Option<&'a str> {
        self.cache.country_code()
    }

    /// Whether the query wants it.
    pub(super) fn is_wanted(&self, query: &Query) -> bool {
        query.state.is_none_or(|state| state == self.state)
            && (query.load_min..=query.load_max).contains(&self.percent)
            && is(&query.cloud, self.cloud())
            && is(&query.version, self.version())
            && is(&query.country, self.country())
            && self.is_named(&query.host)
    }

    /// Whether its host's name or one of its addresses contains that.
    fn is_named(&self, part: &str) -> bool {
        let contains = |ip: Option<IpAddr>| ip.is_some_and(|ip| ip.to_string().contains(part));
        part.is_empty()
            || has(self.cache.hostname(), part)
            || contains(self.address())
            || contains(self.cache.private_ip)
    }

    /// Which of two comes first: by a column, then by which joined first. What has no value comes
    /// last either way.
    pub(super) fn before(&self, other: &Self, column: Column, falling: bool) -> Ordering {
        let turn = |order: Ordering| if falling { order.reverse() } else { order };
        let (one, two) = (self.cache, other.cache);
        let order = match column {
            Column::Host => turn(one.hostname().cmp(two.hostname())),
            Column::Address => last(self.address(), other.address(), falling),
            Column::Cloud => last(self.cloud(), other.cloud(), falling),
            Column::Country => last(self.country(), other.country(), falling),
            Column::Version => last(self.version(), other.version(), falling),
            Column::State => turn(self.state.cmp(&other.state)),
            Column::Load => turn(self.share.total_cmp(&other.share)),
            // The older, the earlier it was heard.
            Column::Heartbeat => turn(other.heard_ns.cmp(&self.heard_ns)),
        };
        order.then(one.number.cmp(&two.number))
    }
}

/// Percent of what it can send, halves rounded up. The quotient is rounded once: a hundred times
/// the share is not, and makes 28 of 285 in 1,000.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 100")]
fn percent(load: f64, most: f64) -> u8 {
    (load * 100.0 / most).min(100.0).round() as u8
}

/// Whether a filter wants a value; what is absent is wanted as [`NONE`].
fn is(wanted: &str, value: Option<&str>) -> bool {
    wanted.is_empty() || wanted.eq_ignore_ascii_case(value.unwrap_or(NONE))
}

/// Whether a name contains a part that is in lower case, whatever the name's own case.
fn has(name: &str, part: &str) -> bool {
    let mut windows = name.as_bytes().windows(part.len());
    windows.any(|window| window.eq_ignore_ascii_case(part.as_bytes()))
}

fn last<T: Ord>(one: Option<T>, two: Option<T>, falling: bool) -> Ordering {
    match (one, two) {
        (Some(one), Some(two)) if falling => two.cmp(&one),
        (Some(one), Some(two)) => one.cmp(&two),
        (one, two) => one.is_none().cmp(&two.is_none()),
    }
}
