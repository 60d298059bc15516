//! What TLS is spoken with a server.

use std::sync::Arc;

/// TLS on every connection.
#[derive(Clone)]
pub struct Tls {
    /// Roots, verification and the application protocols that are offered.
    pub config: Arc<rustls::ClientConfig>,
    /// The server's name, for SNI and verification.
    pub name: rustls::pki_types::ServerName<'static>,
}

impl Tls {
    /// Offers one application protocol and no other (ALPN, RFC 7301).
    pub(crate) fn offer_only(&mut self, protocol: &[u8]) {
        let mut config = (*self.config).clone();
        config.alpn_protocols = vec![protocol.to_vec()];
        self.config = Arc::new(config);
    }
}
