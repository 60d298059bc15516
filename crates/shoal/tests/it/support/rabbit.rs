//! Brokers for tests: a virtual host of the RabbitMQ that they share, or one that speaks TLS.

use plimsoll_shoal::amqp::{Broker, Tls};
use plimsoll_testing::servers::{Certificates, RabbitMq, VirtualHost};

use super::certificates::certificates;

/// A virtual host of a test's own; `None`, said by name, where RabbitMQ is not installed.
pub(crate) fn virtual_host(test: &str) -> Option<VirtualHost> {
    RabbitMq::shared(test).map(RabbitMq::virtual_host)
}

/// How to reach what has this URL.
pub(crate) fn broker(url: &str) -> Broker {
    Broker::parse(url).unwrap()
}

/// A broker that speaks TLS, and wants a certificate of its authority.
pub(crate) struct Encrypted {
    server: RabbitMq,
    files: Certificates,
    _folder: tempfile::TempDir,
}

impl Encrypted {
    /// One of a test's own; `None`, said by name, where RabbitMQ is not installed.
    pub(crate) fn own(test: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        certificates(folder.path());
        let [authority, certificate, key] =
            ["ca.pem", "cert.pem", "key.pem"].map(|name| folder.path().join(name));
        let files = Certificates { authority, certificate, key };
        let server = RabbitMq::own_with_tls(test, &files)?;
        Some(Self { server, files, _folder: folder })
    }

    /// How to reach it by TLS.
    pub(crate) fn broker(&self) -> Broker {
        broker(&format!("amqps://localhost:{}", self.server.tls_port()))
    }

    /// Trusts its certificate, with or without one of ours.
    pub(crate) fn tls(&self, with_identity: bool) -> Tls {
        let Certificates { authority, certificate, key } = &self.files;
        Tls::new(Some(authority), with_identity.then_some((certificate, key))).unwrap()
    }
}
