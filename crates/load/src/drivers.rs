//! Threads of a session, each with a driver; and which driver a store has.

use crate::DRIVERS;
use crate::config::Config;
use crate::driver::Driver;
use crate::protocol::StoreProtocol;
use crate::recorder::Recorder;
use crate::source::Source;
use crate::store::{Ask, Pipeline, Spoken, ask};
use crate::worker::{Connected, Line, Worker};
use plimsoll_workload::request::Scheme;
use std::io;
use std::thread::JoinHandle;

/// What is done with a store.
pub(crate) struct StoreDriver {
    scheme: &'static Scheme,
    /// Starts a thread of a session.
    pub(crate) start: fn(Config, Line, Source, Recorder) -> io::Result<JoinHandle<()>>,
    /// Asks it before a load.
    pub(crate) ask: Ask,
}

impl StoreDriver {
    /// That of a speech.
    pub(crate) const fn speaking<S: Spoken>(scheme: &'static Scheme) -> Self {
        Self { scheme, start: start_store::<S>, ask: ask::<S> }
    }

    /// That of a protocol; `None` where it was left out of the program.
    pub(crate) fn of(protocol: &StoreProtocol) -> Option<&'static Self> {
        DRIVERS.iter().find(|driver| driver.scheme == protocol.scheme)
    }
}

/// Starts a thread that asks a store.
fn start_store<S: Spoken>(
    config: Config,
    line: Line,
    source: Source,
    recorder: Recorder,
) -> io::Result<JoinHandle<()>> {
    let none = || io::Error::other("ask a store: the configuration has no operations for it");
    let store = config.store.as_ref().ok_or_else(none)?;
    let (depth, once) = (config.streams_per_connection, config.connection_per_request);
    let speech = S::begun(store.opening(), config.transport());
    let driver = Pipeline::new(speech, store.operations.clone(), depth, once);
    start(config, line, driver, source, recorder)
}

/// Starts a thread of a session with a driver.
pub(crate) fn start<D: Driver + 'static>(
    config: Config,
    line: Line,
    driver: D,
    source: Source,
    recorder: Recorder,
) -> io::Result<JoinHandle<()>> {
    let connected = line.connected.clone();
    std::thread::Builder::new().name(format!("load-{}", line.index)).spawn(move || {
        match Worker::new(config, line, driver, source, recorder) {
            Ok(worker) => worker.run(),
            // The session hears of it in place of the connections.
            Err(error) => {
                let _ = connected.send(Connected { open: 0, failed: None, fault: Some(error) });
            }
        }
    })
}
