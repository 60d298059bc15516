//! No encrypted connections in this program.

use std::path::Path;

use tokio::net::TcpStream;

use super::{CertificateError, Counts};

/// What cannot be had.
#[derive(Debug)]
pub enum Certificate {}

/// Plain: there is no other.
type Stream = TcpStream;

impl Certificate {
    /// Fails.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn open(_: &Path, _: &Path) -> Result<Self, CertificateError> {
        Err(CertificateError::LeftOut)
    }

    /// Nothing that could be at fault.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        match *self {}
    }

    /// Nothing to be read again.
    pub fn forget(&self) {
        match *self {}
    }

    /// Nothing to be read again.
    ///
    /// # Errors
    ///
    /// None.
    pub fn refresh(&self) -> Result<bool, CertificateError> {
        match *self {}
    }
}

pub(in crate::server) async fn shake_hands(
    certificate: &Certificate,
    _: TcpStream,
    _: &Counts,
) -> Option<Stream> {
    match *certificate {}
}
