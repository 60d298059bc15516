//! Encrypted connections, by rustls: to peers as a client, and what a server needs for them.

use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{
    ClientConfig, ClientConnection, InvalidMessage, RootCertStore, ServerConfig, StreamOwned,
};

use crate::http1::{Deadline, Dial, Error, Peer, Plain, Wire};

/// Encrypted connections to peers that ask for them, plain ones to others.
#[derive(Debug, Clone)]
pub struct Tls {
    config: Arc<ClientConfig>,
}

/// Why there can be no encrypted connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// Not PEM, or not there.
    #[error("read {0}")]
    File(PathBuf, #[source] pem::Error),
    /// The host's list of roots is empty.
    #[error("no root certificates on this host: name a file of them")]
    NoRoots,
    /// Certificates that are none, or do not belong to the key.
    #[error("use these certificates")]
    Certificates(#[source] rustls::Error),
    /// A file without a certificate.
    #[error("no certificate in {0}")]
    NoCertificate(PathBuf),
    /// A server's certificate and key that are none, or do not belong together.
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
        let mut roots = RootCertStore::empty();
        match ca {
            Some(path) => {
                for root in certificates(path)? {
                    roots.add(root).map_err(TlsError::Certificates)?;
                }
            }
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
        }
        if roots.is_empty() {
            return Err(TlsError::NoRoots);
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Certificates)?
            .with_root_certificates(roots);
        let config = match identity {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => {
                let file = |error| TlsError::File(key.to_owned(), error);
                let private = PrivateKeyDer::from_pem_file(key).map_err(file)?;
                builder
                    .with_client_auth_cert(certificates(chain)?, private)
                    .map_err(TlsError::Certificates)?
            }
        };
        Ok(Self { config: Arc::new(config) })
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let file = |error| TlsError::File(path.to_owned(), error);
    let all: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).map_err(file)?.collect();
    match all.map_err(file)? {
        none if none.is_empty() => Err(TlsError::NoCertificate(path.to_owned())),
        some => Ok(some),
    }
}

/// A file that is not there.
pub(crate) fn absent(path: &Path, error: io::Error) -> TlsError {
    TlsError::File(path.to_owned(), pem::Error::Io(error))
}

/// What a server needs to serve with a chain of certificates and its key, PEM both.
///
/// # Errors
///
/// A file cannot be read, or they do not belong together.
pub(crate) fn serving(chain: &Path, key: &Path) -> Result<ServerConfig, TlsError> {
    let file = |error| TlsError::File(key.to_owned(), error);
    let pair = |error| TlsError::Pair(chain.to_owned(), key.to_owned(), error);
    let certificates = certificates(chain)?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(file)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
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
        let mut plain = Plain.dial(Peer { secure: false, ..peer }, deadline)?;
        if !peer.secure {
            return Ok(plain);
        }
        let failed = |error: rustls::Error| Error::Exchange(io::Error::other(error));
        let name = ServerName::try_from(peer.host.to_owned())
            .map_err(|_| Error::Encryption(peer.host.to_owned()))?;
        let mut connection =
            ClientConnection::new(Arc::clone(&self.config), name).map_err(failed)?;
        while connection.is_handshaking() {
            plain.limit(deadline.left()?).map_err(Error::Exchange)?;
            step(&mut connection, &mut plain).map_err(|error| match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut => deadline.named(error),
                _ => Error::Handshake { host: peer.host.to_owned(), source: error },
            })?;
        }
        Ok(Box::new(Encrypted(StreamOwned::new(connection, plain))))
    }
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
            io::Error::other("it does not speak TLS: is it http://?")
        }
        other => io::Error::other(other),
    })
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
}
