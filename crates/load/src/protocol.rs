//! The registry of protocols: the schemes of URLs that are spoken, and the driver of each.

use crate::STORES;
use crate::store::Spoken;
use plimsoll_workload::request::{OF_HTTP, Scheme};
use std::fmt;

/// Which driver speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2, by ALPN over TLS and by prior knowledge without.
    Http2,
    /// That of a store.
    Store(&'static StoreProtocol),
}

/// A store's protocol.
pub struct StoreProtocol {
    /// Its scheme, without TLS.
    pub scheme: &'static Scheme,
    /// What is spoken, in words.
    pub(crate) name: &'static str,
    /// What to do about an error that means something else than its code says.
    pub(crate) hint: fn(u16, &str) -> Option<&'static str>,
    /// The feature that would bring its driver, where it was left out of the program.
    left_out: Option<&'static str>,
}

impl StoreProtocol {
    /// That of a speech.
    pub(crate) const fn of<S: Spoken>(scheme: &'static Scheme) -> Self {
        Self { scheme, name: S::NAME, hint: S::hint, left_out: None }
    }

    /// One whose driver was left out of the program, as a feature brings it.
    #[cfg_attr(
        all(feature = "mysql", feature = "postgres", feature = "cassandra"),
        expect(dead_code, reason = "nothing is left out")
    )]
    pub(crate) const fn left_out(scheme: &'static Scheme, feature: &'static str) -> Self {
        Self { scheme, name: scheme.name, hint: |_, _| None, left_out: Some(feature) }
    }
}

impl Protocol {
    /// The protocol of a store's scheme, over TLS or not; `None` where the scheme is that of no
    /// store.
    #[must_use]
    pub fn of(scheme: &Scheme) -> Option<Self> {
        let speaks = |store: &&&StoreProtocol| {
            store.scheme == scheme || store.scheme.over_tls.is_some_and(|over| over == scheme)
        };
        STORES.iter().find(speaks).map(|store| Self::Store(store))
    }

    /// The feature that would bring its driver, where it was left out of the program.
    #[must_use]
    pub fn left_out(self) -> Option<&'static str> {
        match self {
            Self::Http1 | Self::Http2 => None,
            Self::Store(store) => store.left_out,
        }
    }
}

/// The schemes of all URLs that can be asked.
pub fn schemes() -> impl Iterator<Item = &'static Scheme> {
    let of_stores = STORES.iter().map(|store| store.scheme);
    OF_HTTP.into_iter().chain(of_stores.flat_map(|plain| [plain].into_iter().chain(plain.over_tls)))
}

impl PartialEq for StoreProtocol {
    fn eq(&self, other: &Self) -> bool {
        self.scheme == other.scheme
    }
}

impl Eq for StoreProtocol {}

impl fmt::Debug for StoreProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.scheme.name)
    }
}
