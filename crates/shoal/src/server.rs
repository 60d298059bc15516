//! The server: the registry behind HTTP.
//!
//! Each serving thread has an event loop of its own; all accept from one socket. A look-up takes
//! no lock: it reads the registry's latest snapshot. A heartbeat takes the registry's lock for well
//! below a microsecond. Expiry, snapshots, the index and the geographic database are looked after
//! by one more thread (`upkeep`).

mod accept;
mod announce;
mod broker;
mod client;
mod clock;
mod complaints;
mod decide;
mod files;
mod fixed;
mod folder;
mod geo_api;
mod handle;
mod letter;
mod limit;
mod log;
mod look;
mod metrics;
mod options;
mod page;
mod peers;
mod reply;
mod secure;
mod shared;
mod tables;
mod upkeep;
mod verifier;
mod watched;

use plimsoll_net::door::Door;
use plimsoll_units::failure::{Failure, Kind};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;

pub use broker::{BrokerStatus, REASONS as BROKER_REASONS};
pub use clock::Clock;
pub use complaints::Complaint;
pub use fixed::FixedError;
pub use folder::{Folder, FolderError, random_key};
pub use letter::Letter;
pub use options::{Auth, Options, Order};
pub use secure::{Certificate, CertificateError};
pub use shared::Shared;

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The address cannot be listened on.
    #[error("cannot listen on {0}")]
    Listen(SocketAddr, #[source] std::io::Error),
    /// A thread or an event loop cannot be had.
    #[error("cannot start a thread")]
    Thread(#[source] std::io::Error),
    /// The operator's socket cannot be opened.
    #[error("cannot open the operator's socket {0}")]
    Socket(std::path::PathBuf, #[source] std::io::Error),
    /// The access log cannot be written.
    #[error("cannot write the access log {0}")]
    Log(std::path::PathBuf, #[source] std::io::Error),
    /// The list of caches that run no agent is none.
    #[error("cannot list the caches that run no agent")]
    Fixed(#[source] FixedError),
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    local: SocketAddr,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// Closed when the server is dropped.
    _door: Option<Door>,
}

impl Server {
    /// Starts it: when this returns, it answers.
    ///
    /// # Errors
    ///
    /// See [`StartError`].
    pub fn start(mut options: Options) -> Result<Self, StartError> {
        let listener = TcpListener::bind(options.listen)
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .map_err(|error| StartError::Listen(options.listen, error))?;
        let local = listener.local_addr().map_err(StartError::Thread)?;
        let (door, mut knocks) = match options.operator_socket.take() {
            Some(path) => {
                let opened = Door::open(&path).map_err(|error| StartError::Socket(path, error))?;
                (Some(opened.0), Some(opened.1))
            }
            None => (None, None),
        };
        let count = options.threads;
        let mut list = fixed::Watch::new(options.fixed.take(), options.sites.clone());
        let tables = upkeep::Tables {
            keys: options.keys_file.take().map(tables::watched),
            sites: options.sites_file.take().map(tables::watched),
        };
        let shared = Arc::new(Shared::new(options)?);
        list.refresh(&shared).map_err(StartError::Fixed)?;
        let mut threads = Vec::with_capacity(count + 1);
        for number in 0..count {
            let listener = listener.try_clone().map_err(StartError::Thread)?;
            let ways = accept::Ways { listener, operator: knocks.take() };
            threads.push(accept::spawn(number, ways, Arc::clone(&shared))?);
        }
        threads.push(upkeep::spawn(Arc::clone(&shared), list, tables)?);
        threads.extend(verifier::spawn(&shared)?);
        peers::spawn(Arc::clone(&shared))?;
        Ok(Self { local, shared, threads, _door: door })
    }

    /// Where it listens.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// What its threads share: the registry, for other ways in.
    #[must_use]
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Ends it: what was begun is answered, for at most two seconds.
    pub fn stop(self) {
        self.shared.stop();
        for thread in self.threads {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
    }
}

impl Failure for StartError {
    fn kind(&self) -> Kind {
        Kind::Incomplete
    }
}
