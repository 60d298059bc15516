//! TLS: the handshake and its failures, records in pieces, and how a connection ends.

use crate::drive::{MS, closed, drive, open, refused, to};
use crate::server::{OK, Peer, Server};
use plimsoll_load::{Config, SessionError, Tls};
use plimsoll_runs::ErrorKind;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;

/// A self-signed certificate for `localhost`, for both sides.
pub(crate) struct Identity {
    pub(crate) server: Arc<ServerConfig>,
    pub(crate) roots: Arc<RootCertStore>,
}

impl Identity {
    pub(crate) fn new() -> Self {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
        let certificate: CertificateDer<'static> = made.cert.der().clone();
        let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        Self { server: Arc::new(server), roots: Arc::new(roots) }
    }

    /// Settings for a client that trusts it.
    pub(crate) fn config(&self, address: SocketAddr, name: &str) -> Config {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(self.roots.clone())
            .with_no_client_auth();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        Config { tls: Some(Tls { config: Arc::new(client), name }), ..to(address) }
    }

    /// The server's side of a connection.
    pub(crate) fn accept(&self, peer: Peer) -> Peer {
        let connection = ServerConnection::new(self.server.clone()).unwrap();
        let stream = StreamOwned::new(connection, peer.stream);
        Peer::new(peer.index, Box::new(stream), peer.tcp)
    }

    /// The same with every byte sent on its own.
    fn accept_bytewise(&self, peer: Peer) -> Peer {
        let stream = Box::new(Bytewise(peer.stream));
        self.accept(Peer::new(peer.index, stream, peer.tcp))
    }
}

/// Passes on one byte at a time.
struct Bytewise(Box<dyn crate::server::Stream>);

impl Read for Bytewise {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Bytewise {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let n = self.0.write(&bytes[..bytes.len().min(1)]);
        std::thread::yield_now();
        n
    }
    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// A TLS server whose connections are played after the handshake.
fn server(script: impl Fn(Peer) + Send + Sync + 'static) -> (Identity, Server) {
    let identity = Identity::new();
    let own = Identity { server: identity.server.clone(), roots: identity.roots.clone() };
    let server = Server::tcp(move |peer| script(own.accept(peer)));
    (identity, server)
}

fn sends_close_notify(peer: Peer, identity: &Identity, then: &[u8]) {
    let mut tcp = peer.tcp.unwrap();
    let mut connection = ServerConnection::new(identity.server.clone()).unwrap();
    let mut stream = rustls::Stream::new(&mut connection, &mut tcp);
    let mut request = [0; 4096];
    if stream.read(&mut request).is_err() {
        return;
    }
    let _ = stream.write_all(OK);
    connection.send_close_notify();
    let mut last = Vec::new();
    while connection.wants_write() {
        connection.write_tls(&mut last).unwrap();
    }
    last.extend_from_slice(then);
    let _ = tcp.write_all(&last);
    // The connection stays until the client closes it.
    while matches!(tcp.read(&mut request), Ok(1..)) {}
}

#[test]
fn requests_go_through_tls_and_connecting_is_no_part_of_service() {
    let (identity, server) = server(|mut peer| peer.serve(OK, usize::MAX));
    let mut config = identity.config(server.address(), "localhost");
    let seen = drive(&config, &open(100.0, 300));
    assert_eq!(seen.counts().succeeded, 30);
    assert_eq!(server.accepted(), 2);
    config.connection_per_request = true;
    let seen = drive(&config, &closed(2, 20_000, Some(10)));
    assert_eq!(seen.counts().succeeded, 10);
    assert_eq!(seen.sum(|interval| interval.opened), 10, "one connection a request");
}

#[test]
fn a_name_that_does_not_match_stops_the_run_before_it_starts() {
    let (identity, server) = server(|mut peer| peer.serve(OK, usize::MAX));
    let error = refused(&identity.config(server.address(), "elsewhere.example"));
    let SessionError::Unreachable { kind, source, .. } = error else { panic!("{error:?}") };
    assert_eq!(kind, ErrorKind::Tls);
    assert!(source.to_string().contains("elsewhere.example"), "{source}");
}

#[test]
fn a_server_without_tls_stops_the_run_before_it_starts() {
    let identity = Identity::new();
    for silent in [false, true] {
        let server = Server::tcp(move |mut peer| {
            if !silent {
                peer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n");
            }
        });
        let error = refused(&identity.config(server.address(), "localhost"));
        let SessionError::Unreachable { kind, .. } = error else { panic!("{error:?}") };
        assert_eq!(kind, ErrorKind::Tls);
    }
}

#[test]
fn records_arrive_in_any_pieces() {
    let identity = Identity::new();
    let own = Identity { server: identity.server.clone(), roots: identity.roots.clone() };
    let server = Server::tcp(move |peer| own.accept_bytewise(peer).serve(OK, usize::MAX));
    let config = identity.config(server.address(), "localhost");
    let seen = drive(&config, &closed(2, 20_000, Some(20)));
    assert_eq!(seen.counts().succeeded, 20, "{:?}", seen.counts());
}

#[test]
fn long_bodies_come_through_whole() {
    let body = 300_000;
    let (identity, server) = server(move |mut peer| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {body}\r\n\r\n");
        let answer = [head.into_bytes(), vec![b'x'; body]].concat();
        peer.serve(&answer, usize::MAX);
    });
    let config = identity.config(server.address(), "localhost");
    let seen = drive(&config, &closed(2, 20_000, Some(10)));
    assert_eq!(seen.counts().succeeded, 10, "{:?}", seen.counts());
    assert!(seen.samples.iter().all(|sample| sample.bytes == body as u64 + 43), "every byte");
}

#[test]
fn a_close_notify_ends_the_connection_whatever_follows_it() {
    // Bytes behind the end, alone or as a whole record, must neither stop nor confuse a thread.
    for then in [&b""[..], b"x", b"\x17\x03\x03\x00\x01x", &[0x17; 20_000]] {
        let identity = Identity::new();
        let own = Identity { server: identity.server.clone(), roots: identity.roots.clone() };
        let server = Server::tcp(move |peer| sends_close_notify(peer, &own, then));
        let config = identity.config(server.address(), "localhost");
        let seen = drive(&config, &closed(2, 20_000, Some(10)));
        assert_eq!(seen.counts().succeeded, 10, "{:?}", seen.counts());
    }
}

#[test]
fn a_record_that_cannot_be_is_no_failure_to_connect() {
    let identity = Identity::new();
    let own = Identity { server: identity.server.clone(), roots: identity.roots.clone() };
    let server = Server::tcp(move |peer| {
        let mut tcp = peer.tcp.as_ref().unwrap().try_clone().unwrap();
        let mut peer = own.accept(peer);
        while peer.request().is_some() {
            let _ = tcp.write_all(b"\x17\x03\x03\x00\x20this was never encrypted by anyone");
        }
    });
    let mut config = identity.config(server.address(), "localhost");
    config.timeout_ns = 20_000 * MS;
    let seen = drive(&config, &closed(1, 20_000, Some(5)));
    assert_eq!(seen.errors(ErrorKind::Protocol), 5, "{:?}", seen.counts());
}

#[test]
fn a_body_until_the_end_needs_the_end_to_be_told() {
    for told in [true, false] {
        let identity = Identity::new();
        let own = Identity { server: identity.server.clone(), roots: identity.roots.clone() };
        let server = Server::tcp(move |peer| {
            let mut tcp = peer.tcp.unwrap();
            let mut connection = ServerConnection::new(own.server.clone()).unwrap();
            let mut stream = rustls::Stream::new(&mut connection, &mut tcp);
            let mut request = [0; 4096];
            if !matches!(stream.read(&mut request), Ok(1..)) {
                return;
            }
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nuntil the end");
            if told {
                stream.conn.send_close_notify();
                let _ = stream.flush();
            }
        });
        let config = identity.config(server.address(), "localhost");
        let seen = drive(&config, &closed(1, 20_000, Some(5)));
        let counts = (seen.counts().succeeded, seen.errors(ErrorKind::Reset));
        assert_eq!(counts, if told { (5, 0) } else { (0, 5) });
    }
}
