//! The certificate in force, read again when its files change; handshakes.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::{CertificateError, Counts, Outcome};
use crate::server::shared::lock;
use plimsoll_net::FileVersion;
use plimsoll_net::tls::{Chain, serving};

/// How long a handshake may take, from the connection's begin.
const TIME: Duration = Duration::from_secs(5);
/// The most handshakes at once; who comes then is turned away, so that those who are silent cost
/// little memory.
const MOST: usize = 2048;
/// The first byte of every handshake: RFC 8446, section 5.1.
const HANDSHAKE: u8 = 22;

/// What a request in plain HTTP is told.
const PLAIN: &str = "{\"type\":\"about:blank\",\"title\":\"Bad Request\",\"status\":400,\
    \"detail\":\"this port speaks TLS: ask https://\",\"reason\":\"tls\"}";

/// A certificate and its key, by which connections are encrypted.
#[derive(Debug)]
pub struct Certificate {
    chain: PathBuf,
    key: PathBuf,
    current: ArcSwap<ServerConfig>,
    seen: Mutex<Option<(FileVersion, FileVersion)>>,
    in_force: Mutex<Chain>,
    places: Semaphore,
}

type Stream = TlsStream<TcpStream>;

impl Certificate {
    /// Of a chain of certificates and a key, PEM both, that must be right now.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or they do not belong together.
    pub fn open(chain: &Path, key: &Path) -> Result<Self, CertificateError> {
        let config = serving(chain, key)?;
        let seen =
            stamps(chain, key).map_err(|(path, error)| plimsoll_net::tls::absent(path, error))?;
        Ok(Self {
            chain: chain.to_owned(),
            key: key.to_owned(),
            current: ArcSwap::from_pointee(config),
            seen: Mutex::new(Some(seen)),
            in_force: Mutex::new(Chain::read(chain)?),
            places: Semaphore::new(MOST),
        })
    }

    /// With so many handshakes at once at most, instead of 2048.
    #[must_use]
    pub fn with_most(self, handshakes: usize) -> Self {
        Self { places: Semaphore::new(handshakes), ..self }
    }

    /// Reads the files again if one is another than it was; true if they were read. Connections
    /// that are there go on with the certificate they began with.
    ///
    /// # Errors
    ///
    /// The files cannot be read or do not belong together, as when one of them is still to come:
    /// what was in force still is. Said once for each pair of files.
    pub fn refresh(&self) -> Result<bool, CertificateError> {
        let mut seen = lock(&self.seen);
        let now = stamps(&self.chain, &self.key).map_err(|(path, error)| {
            *seen = None;
            plimsoll_net::tls::absent(path, error)
        })?;
        if *seen == Some(now) {
            return Ok(false);
        }
        *seen = Some(now);
        let chain = Chain::read(&self.chain)?;
        let mut in_force = lock(&self.in_force);
        chain.may_replace(&in_force, unix_s())?;
        self.current.store(Arc::new(serving(&self.chain, &self.key)?));
        *in_force = chain;
        Ok(true)
    }

    /// What is wrong with the pair that is in force, if anything: it is served nevertheless.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        lock(&self.in_force).fault(unix_s()).map(|fault| fault.to_string())
    }

    /// The files are read with the next [`Self::refresh`], whatever they are.
    pub fn forget(&self) {
        *lock(&self.seen) = None;
    }
}

/// Of the wall clock, seconds since 1970.
fn unix_s() -> f64 {
    crate::server::Clock::start().now().unix_s
}

fn stamps<'a>(
    chain: &'a Path,
    key: &'a Path,
) -> Result<(FileVersion, FileVersion), (&'a Path, io::Error)> {
    let stamp = |path: &'a Path| FileVersion::of(path).map_err(|error| (path, error));
    Ok((stamp(chain)?, stamp(key)?))
}

/// The encrypted connection, if it comes to be one in time.
pub(in crate::server) async fn shake_hands(
    certificate: &Certificate,
    stream: TcpStream,
    counts: &Counts,
) -> Option<Stream> {
    let Ok(_place) = certificate.places.try_acquire() else {
        counts.count(Outcome::TooMany);
        return None;
    };
    let (outcome, stream) = match timeout(TIME, greet(certificate, stream)).await {
        Ok(Ok(Some(stream))) => (Outcome::Done, Some(stream)),
        Ok(Ok(None)) => (Outcome::Plain, None),
        Ok(Err(_)) => (Outcome::Failed, None),
        Err(_) => (Outcome::Late, None),
    };
    counts.count(outcome);
    stream
}

/// Shakes hands; `None` with whoever speaks plain HTTP, and is told so.
async fn greet(certificate: &Certificate, stream: TcpStream) -> io::Result<Option<Stream>> {
    let mut first = [0];
    if stream.peek(&mut first).await? == 0 {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    if first[0] == HANDSHAKE {
        let acceptor = TlsAcceptor::from(certificate.current.load_full());
        return acceptor.accept(stream).await.map(Some);
    }
    let answer = format!(
        "HTTP/1.1 400 Bad Request\r\nContent-Type: application/problem+json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{PLAIN}",
        PLAIN.len()
    );
    stream.writable().await?;
    // It fits into the empty buffer of a new connection.
    stream.try_write(answer.as_bytes())?;
    // What is left unread when a connection is closed would take the answer with it.
    let mut rest = [0; 4096];
    for _ in 0..16 {
        stream.readable().await?;
        match stream.try_read(&mut rest) {
            Ok(0) => break,
            Err(error) if error.kind() != ErrorKind::WouldBlock => break,
            _ => {}
        }
    }
    Ok(None)
}
