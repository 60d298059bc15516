//! Certificates and keys in files, PEM, and whom to trust.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use rustls::RootCertStore;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::TlsError;

/// The longest file that is read, bytes.
const MOST: u64 = 16 << 20;

/// The authorities that are trusted to name servers.
#[derive(Debug, Clone)]
pub struct Roots {
    /// For rustls.
    pub store: RootCertStore,
    /// The same as they stand in the file that was named, or in the system's store: they may be
    /// servers' own.
    pub named: Vec<CertificateDer<'static>>,
}

impl Roots {
    /// Those in the file `ca`, else the system's, as long as some of these can be read.
    ///
    /// # Errors
    /// The file cannot be read, has none, or one that is none; or the system has none.
    pub fn read(ca: Option<&Path>) -> Result<Self, TlsError> {
        let mut store = RootCertStore::empty();
        let named = match ca {
            Some(path) => {
                let named = certificates(path)?;
                for root in &named {
                    store.add(root.clone()).map_err(TlsError::Certificates)?;
                }
                named
            }
            None => {
                let all = rustls_native_certs::load_native_certs().certs;
                store.add_parsable_certificates(all.iter().cloned());
                all
            }
        };
        if store.is_empty() { Err(TlsError::NoRoots) } else { Ok(Self { store, named }) }
    }
}

/// The key of a PEM file. What stands there instead is told.
pub(super) fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let text = read(path).map_err(|error| absent(path, error))?;
    let has = |words: &[u8]| text.windows(words.len()).any(|part| part == words);
    if has(b"ENCRYPTED PRIVATE KEY") || has(b"Proc-Type: 4,ENCRYPTED") {
        return Err(TlsError::Encrypted(path.to_owned()));
    }
    match PrivateKeyDer::from_pem_slice(&text) {
        Err(pem::Error::NoItemsFound) if has(b"BEGIN CERTIFICATE") => {
            Err(TlsError::CertificateForKey(path.to_owned()))
        }
        read => read.map_err(|error| TlsError::File(path.to_owned(), error)),
    }
}

pub(super) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let file = |error| TlsError::File(path.to_owned(), error);
    let text = read(path).map_err(|error| absent(path, error))?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match all.map_err(file)? {
        none if none.is_empty() && holds_key(&text) => {
            Err(TlsError::KeyForCertificate(path.to_owned()))
        }
        none if none.is_empty() => Err(TlsError::NoCertificate(path.to_owned())),
        some => Ok(some),
    }
}

fn holds_key(text: &[u8]) -> bool {
    let words = b"PRIVATE KEY-----";
    text.windows(words.len()).any(|part| part == words)
}

/// What a file holds, if that is not too much.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(MOST + 1).read_to_end(&mut text)?;
    match text.len() as u64 > MOST {
        true => Err(io::Error::new(io::ErrorKind::FileTooLarge, "it has more than 16 MiB")),
        false => Ok(text),
    }
}

/// The error of a file that is not there.
#[must_use]
pub fn absent(path: &Path, error: io::Error) -> TlsError {
    TlsError::File(path.to_owned(), pem::Error::Io(error))
}
