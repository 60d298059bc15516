//! Encrypted connections, by rustls: to peers as a client, and what a server needs for them.

mod certificate;
mod chain;
mod pem;
mod verify;

use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustls::client::WantsClientCert;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::ServerName;
use rustls::{
    ClientConfig, ClientConnection, ConfigBuilder, InvalidMessage, ServerConfig, StreamOwned,
};

pub use chain::ChainFault;

pub use chain::Chain;
pub use pem::{Roots, absent};
pub use verify::{CertificateEnd, Verifier};

use crate::FileVersion;
use pem::{certificates, private_key};

use crate::http::client::{Deadline, Dial, Error, Peer, Plain, Wire};

/// Encrypted connections to peers that ask for them, plain ones to others.
///
/// The files are looked at with each connection and read again when they change; where they cannot
/// be read, what was read before stays in force.
#[derive(Debug, Clone)]
pub struct Tls {
    files: Arc<Files>,
    current: Arc<Mutex<Current>>,
    say: fn(&str),
    /// The protocols that are offered, by their names in ALPN; none says nothing of one.
    offered: &'static [&'static [u8]],
}

#[derive(Debug)]
struct Files {
    ca: Option<PathBuf>,
    identity: Option<(PathBuf, PathBuf)>,
}

#[derive(Debug)]
struct Current {
    config: Arc<ClientConfig>,
    seen: Vec<Option<FileVersion>>,
    trouble: Option<String>,
}

/// Why there can be no encrypted connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// Not PEM, or not there.
    #[error("read {0}")]
    File(PathBuf, #[source] rustls::pki_types::pem::Error),
    /// The host's list of roots is empty.
    #[error("no root certificates on this host: name a file of them")]
    NoRoots,
    /// Certificates that are none, or do not belong to the key.
    #[error("use these certificates")]
    Certificates(#[source] rustls::Error),
    /// A file without a certificate.
    #[error("no certificate in {0}")]
    NoCertificate(PathBuf),
    /// A key that only a password opens.
    #[error("the key in {0} is encrypted: write it out with `openssl pkey`, for its owner only")]
    Encrypted(PathBuf),
    /// A key where certificates should be.
    #[error("{0} holds a key and no certificate: are the two files the other way round?")]
    KeyForCertificate(PathBuf),
    /// Certificates where a key should be.
    #[error("{0} holds a certificate and no key: are the two files the other way round?")]
    CertificateForKey(PathBuf),
    /// A chain of certificates that is not to be served.
    #[error("the chain in {0}")]
    Chain(PathBuf, #[source] ChainFault),
    /// A certificate and a key that are none, or do not belong together.
    #[error("use the certificate {0} with the key {1}")]
    Pair(PathBuf, PathBuf, #[source] rustls::Error),
}

impl Tls {
    /// Trusts the roots in the file `ca`, else the host's. `identity` is a chain of certificates
    /// and its key, PEM both, for brokers that want one.
    ///
    /// # Errors
    ///
    /// See [`TlsError`].
    pub fn new(ca: Option<&Path>, identity: Option<(&Path, &Path)>) -> Result<Self, TlsError> {
        let owned = |(chain, key): (&Path, &Path)| (chain.to_owned(), key.to_owned());
        let files = Files { ca: ca.map(Path::to_owned), identity: identity.map(owned) };
        let seen = files.stamps();
        let current = Current { config: Arc::new(files.read()?), seen, trouble: None };
        Ok(Self {
            files: Arc::new(files),
            current: Arc::new(Mutex::new(current)),
            say: |_| (),
            offered: &[],
        })
    }

    /// Has it tell, in a line, when a file cannot be read again, and when it can.
    #[must_use]
    pub fn saying(self, say: fn(&str)) -> Self {
        Self { say, ..self }
    }

    /// Offers these protocols (ALPN, RFC 7301), the first of them rather than others.
    #[must_use]
    pub fn offering(self, offered: &'static [&'static [u8]]) -> Self {
        Self { offered, ..self }
    }

    /// What is in force now.
    fn config(&self) -> Arc<ClientConfig> {
        let mut current: MutexGuard<'_, Current> =
            self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = self.files.stamps();
        if seen != current.seen {
            current.seen = seen;
            let trouble = match self.files.read() {
                Ok(config) => {
                    current.config = Arc::new(config);
                    None
                }
                Err(error) => Some(plimsoll_units::failure::chain(&error)),
            };
            if trouble != current.trouble {
                (self.say)(&match &trouble {
                    Some(why) => format!("certificates: those read before stay in force: {why}"),
                    None => "certificates: read again, and in force".to_owned(),
                });
            }
            current.trouble = trouble;
        }
        Arc::clone(&current.config)
    }
}

impl Files {
    fn stamps(&self) -> Vec<Option<FileVersion>> {
        let identity = self.identity.iter().flat_map(|(chain, key)| [chain, key]);
        self.ca.iter().chain(identity).map(|path| FileVersion::of(path).ok()).collect()
    }

    fn read(&self) -> Result<ClientConfig, TlsError> {
        // A certificate that is in the file itself is trusted, as well as what it has signed.
        let roots = Roots::read(self.ca.as_deref())?;
        let verifier = Verifier::of_roots(roots, provider(), CertificateEnd::default())
            .map_err(|error| TlsError::Certificates(rustls::Error::General(error.to_string())))?;
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Certificates)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let identity = self.identity.as_ref();
        identified(builder, identity.map(|(chain, key)| (&**chain, &**key)))
    }
}

/// Completes the settings of a client. `identity` is a chain of certificates and its key, PEM both,
/// for servers that want to know who connects.
///
/// # Errors
///
/// A file cannot be read, or they do not belong together.
pub fn identified(
    builder: ConfigBuilder<ClientConfig, WantsClientCert>,
    identity: Option<(&Path, &Path)>,
) -> Result<ClientConfig, TlsError> {
    let Some((chain, key)) = identity else { return Ok(builder.with_no_client_auth()) };
    let (certificates, private) = (certificates(chain)?, private_key(key)?);
    if let Some(fault @ ChainFault::Reversed) = Chain::read(chain)?.order() {
        return Err(TlsError::Chain(chain.to_owned(), fault));
    }
    let pair = |error| TlsError::Pair(chain.to_owned(), key.to_owned(), error);
    builder.with_client_auth_cert(certificates, private).map_err(pair)
}

/// The algorithms that are spoken.
#[must_use]
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// What a server needs to serve with a chain of certificates and its key, PEM both.
///
/// # Errors
///
/// A file cannot be read, or they do not belong together.
pub fn serving(chain: &Path, key: &Path) -> Result<ServerConfig, TlsError> {
    let pair = |error| TlsError::Pair(chain.to_owned(), key.to_owned(), error);
    let certificates = certificates(chain)?;
    let private = private_key(key)?;
    if let Some(fault @ ChainFault::Reversed) = Chain::read(chain)?.order() {
        return Err(TlsError::Chain(chain.to_owned(), fault));
    }
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(pair)?
        .with_no_client_auth()
        .with_single_cert(certificates, private)
        .map_err(pair)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // Agents come back each half minute: what they bring saves both a signature.
    config.ticketer = rustls::crypto::ring::Ticketer::new().map_err(pair)?;
    Ok(config)
}

impl Dial for Tls {
    fn dial(&self, peer: Peer<'_>, deadline: &Deadline) -> Result<Box<dyn Wire>, Error> {
        let mut config = self.config();
        if !self.offered.is_empty() {
            let offered = self.offered.iter().map(|protocol| protocol.to_vec()).collect();
            Arc::make_mut(&mut config).alpn_protocols = offered;
        }
        encrypted(peer, (config, peer.host), deadline)
    }
}

/// Encrypted connections by settings that were made elsewhere, to peers that ask for them; plain
/// ones to others.
#[derive(Debug, Clone)]
pub struct Settled {
    /// The settings.
    pub config: Arc<ClientConfig>,
    /// The name that is asked for; `None` is the peer's.
    pub name: Option<String>,
}

impl Dial for Settled {
    fn dial(&self, peer: Peer<'_>, deadline: &Deadline) -> Result<Box<dyn Wire>, Error> {
        let name = self.name.as_deref().unwrap_or(peer.host);
        encrypted(peer, (Arc::clone(&self.config), name), deadline)
    }
}

/// A connection to a peer, encrypted where he asks for it.
fn encrypted(
    peer: Peer<'_>,
    (config, name): (Arc<ClientConfig>, &str),
    deadline: &Deadline,
) -> Result<Box<dyn Wire>, Error> {
    let mut plain = Plain.dial(Peer { secure: false, ..peer }, deadline)?;
    if !peer.secure {
        return Ok(plain);
    }
    let failed = |error: rustls::Error| Error::Exchange(io::Error::other(error));
    let asked = ServerName::try_from(name.to_owned());
    let asked = asked.map_err(|_| Error::Encryption(name.to_owned()))?;
    let mut connection = ClientConnection::new(config, asked).map_err(failed)?;
    while connection.is_handshaking() {
        plain.limit(deadline.left()?).map_err(Error::Exchange)?;
        step(&mut connection, &mut plain).map_err(|error| match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => deadline.named(error),
            _ => Error::Handshake { host: peer.host.to_owned(), source: error },
        })?;
    }
    Ok(Box::new(Encrypted(StreamOwned::new(connection, plain))))
}

/// One read or write of a handshake: the deadline is looked at between them.
fn step(connection: &mut ClientConnection, plain: &mut Box<dyn Wire>) -> io::Result<()> {
    if connection.wants_write() {
        connection.write_tls(plain)?;
        return plain.flush();
    }
    if connection.read_tls(plain)? == 0 {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    let Err(failed) = connection.process_new_packets() else { return Ok(()) };
    // It is told why; that it may not hear it changes nothing.
    let _ = connection.write_tls(plain);
    Err(match failed {
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            io::Error::other("it does not speak TLS: is the URL's scheme right?")
        }
        other => io::Error::other(other),
    })
}

/// Whether a handshake failed by a certificate, theirs or ours.
pub fn is_certificate(error: &io::Error) -> bool {
    use rustls::{AlertDescription as Alert, Error as Failed};

    let failed = error.get_ref().and_then(|error| error.downcast_ref::<Failed>());
    match failed {
        Some(Failed::InvalidCertificate(_) | Failed::NoCertificatesPresented) => true,
        Some(Failed::AlertReceived(alert)) => matches!(
            alert,
            Alert::BadCertificate
                | Alert::UnsupportedCertificate
                | Alert::CertificateRevoked
                | Alert::CertificateExpired
                | Alert::CertificateUnknown
                | Alert::CertificateRequired
                | Alert::UnknownCA
        ),
        _ => false,
    }
}

struct Encrypted(StreamOwned<ClientConnection, Box<dyn Wire>>);

impl Read for Encrypted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Encrypted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Wire for Encrypted {
    fn limit(&mut self, time: Duration) -> io::Result<()> {
        self.0.sock.limit(time)
    }

    fn agreed(&self) -> Option<&[u8]> {
        self.0.conn.alpn_protocol()
    }
}
