//! The registry of protocols: the schemes of URLs that are spoken, and the driver of each.

use crate::STORES;
use crate::config::Config;
use crate::recorder::Recorder;
use crate::session::start_store;
use crate::source::Source;
use crate::store::{Ask, Opening, Speech, ask};
use crate::worker::Line;
use plimsoll_workload::request::{OF_HTTP, Scheme};
use std::fmt;
use std::io;
use std::thread::JoinHandle;

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

/// The speech of a store, as the registry has it.
pub trait Spoken: Speech + Sized + 'static {
    /// What is spoken, in words.
    const NAME: &'static str;

    /// That of connections which begin like this; `is_private` says whether nobody else can hear
    /// what is said.
    fn begun(opening: Opening, is_private: bool) -> Self;

    /// What to do about an error before a load that means something else than its code says.
    fn hint(_code: u16, _said: &str) -> Option<&'static str> {
        None
    }
}

/// A store's protocol.
pub struct StoreProtocol {
    /// Its scheme.
    pub scheme: &'static Scheme,
    /// What is spoken, in words.
    pub(crate) name: &'static str,
    pub(crate) hint: fn(u16, &str) -> Option<&'static str>,
    /// The driver, or the feature that would bring it, where it was left out of the program.
    driver: Result<Driver, &'static str>,
}

/// What there is to be done with a store.
#[derive(Clone, Copy)]
pub(crate) struct Driver {
    /// Starts a thread of a session.
    pub(crate) start: fn(Config, Line, Source, Recorder) -> io::Result<JoinHandle<()>>,
    /// Asks it before a load.
    pub(crate) ask: Ask,
}

impl StoreProtocol {
    /// That of a speech.
    pub(crate) const fn of<S: Spoken>(scheme: &'static Scheme) -> Self {
        let driver = Driver { start: start_store::<S>, ask: ask::<S> };
        Self { scheme, name: S::NAME, hint: S::hint, driver: Ok(driver) }
    }

    /// One whose driver was left out of the program, as a feature brings it.
    #[cfg_attr(
        all(feature = "mysql", feature = "postgres", feature = "cassandra"),
        expect(dead_code, reason = "nothing is left out")
    )]
    pub(crate) const fn left_out(scheme: &'static Scheme, feature: &'static str) -> Self {
        Self { scheme, name: scheme.name, hint: |_, _| None, driver: Err(feature) }
    }

    /// Its driver.
    ///
    /// # Errors
    /// The feature that would bring it.
    pub(crate) fn driver(&self) -> Result<Driver, &'static str> {
        self.driver
    }
}

impl Protocol {
    /// The protocol of a store's scheme; `None` where the scheme is that of no store.
    #[must_use]
    pub fn of(scheme: &Scheme) -> Option<Self> {
        STORES.iter().copied().find(|store| store.scheme == scheme).map(Self::Store)
    }

    /// The feature that would bring its driver, where it was left out of the program.
    #[must_use]
    pub fn left_out(self) -> Option<&'static str> {
        match self {
            Self::Http1 | Self::Http2 => None,
            Self::Store(store) => store.driver().err(),
        }
    }
}

/// The schemes of all URLs that can be asked.
pub fn schemes() -> impl Iterator<Item = &'static Scheme> {
    OF_HTTP.into_iter().chain(STORES.iter().map(|store| store.scheme))
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
