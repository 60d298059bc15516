//! Whole runs: what the server has seen, what the engine has counted.

use super::served::{Options, Served};
use crate::drive::{MS, Output, drive, open, refused, to};
use crate::server::Server;
use plimsoll_load::{Config, Endpoint, Protocol, SessionError, Tls};
use plimsoll_runs::ErrorKind;
use plimsoll_workload::check::Check;
use plimsoll_workload::request::{Request, Requests, Template, Url};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::sync::Arc;

fn get(path: &str) -> Request {
    Request::new(Url::parse(&format!("http://test.example{path}")).unwrap())
}

fn config(server: &Served, list: Vec<Request>) -> Config {
    let mut requests = Requests::one(get("/"));
    requests.list = list;
    Config {
        protocol: Protocol::Http2,
        requests: Arc::new(requests),
        streams_per_connection: 16,
        ..to(server.address)
    }
}

/// Both sides of TLS, the server offering these protocols.
fn identity(protocols: &[&str]) -> (Arc<ServerConfig>, Tls) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    let certificate: CertificateDer<'static> = made.cert.der().clone();
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut server = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    server.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    let client = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    (Arc::new(server), Tls { config: Arc::new(client), name })
}

/// Whether so many were sent and answered, all of them by status 200, each once.
fn all_answered(seen: &Output, server: &Served, count: u64) {
    let counts = seen.counts();
    assert_eq!((counts.sent, counts.completed), (count, count), "{counts:?}");
    assert_eq!(counts.status, [(200, count)]);
    assert_eq!(server.requests(), count);
}

#[test]
fn in_the_clear() {
    let server = Served::new(Options::default());
    let seen = drive(&config(&server, vec![get("/")]), &open(8000.0, 250));
    all_answered(&seen, &server, 2000);
    assert_eq!(server.connections(), 2);
    let first = server.counts.first.lock().unwrap().clone().unwrap();
    assert_eq!(first, "GET http://test.example/\nuser-agent: plimsoll\naccept: */*");
    // HEADERS and DATA of `hello`.
    assert!(seen.samples.iter().all(|sample| (9 + 9 + 5..200).contains(&sample.bytes)));
}

#[test]
fn over_tls() {
    let (tls, client) = identity(&["h2", "http/1.1"]);
    let server = Served::new(Options { tls: Some(tls), ..Options::default() });
    let list = vec![get("/"), get("/large")];
    let config = Config { tls: Some(client), ..config(&server, list) };
    let seen = drive(&config, &open(2400.0, 250));
    all_answered(&seen, &server, 600);
    assert_eq!(server.connections(), 2);
    assert_eq!(seen.samples.iter().filter(|sample| sample.bytes > 200_000).count(), 300);
}

#[test]
fn over_tls_without_alpn_there_is_none() {
    for protocols in [&[][..], &["http/1.1"]] {
        let (tls, client) = identity(protocols);
        let server = Served::new(Options { tls: Some(tls), ..Options::default() });
        let config = Config { tls: Some(client), ..config(&server, vec![get("/")]) };
        let SessionError::Unreachable { kind, source, .. } = refused(&config) else {
            panic!("it cannot be reached by HTTP/2")
        };
        assert_eq!(kind, ErrorKind::Tls);
        if protocols.is_empty() {
            assert!(source.to_string().contains("`h2` (ALPN), found none"), "{source}");
        }
        assert_eq!(server.requests(), 0);
    }
}

#[test]
fn answers_of_every_kind() {
    let server = Served::new(Options { window: Some(10_000), ..Options::default() });
    let post =
        |path: &str, body: Vec<u8>| get(path).method("POST").unwrap().body(Template::literal(body));
    let list = vec![
        get("/large"),
        get("/404"),
        get("/trailers"),
        get("/").method("HEAD").unwrap(),
        post("/echo", vec![7; 100_000]),
        post("/echo", Vec::new()),
        post("/echo", vec![7; 9000]),
        get("/x").header("x-n: {{counter}}").unwrap(),
    ];
    let seen = drive(&config(&server, list), &open(3200.0, 250));
    let counts = seen.counts();
    assert_eq!((counts.completed, counts.succeeded), (800, 700), "{counts:?}");
    assert_eq!(seen.errors(ErrorKind::Status), 100);
    assert_eq!(server.requests(), 800);
    assert_eq!(server.counts.body_bytes.load(std::sync::atomic::Ordering::Acquire), 10_900_000);
    assert_eq!(seen.samples.iter().filter(|sample| sample.bytes > 100_000).count(), 200);
}

#[test]
fn a_reset_and_a_silence_fail_alone() {
    let server = Served::new(Options::default());
    let mut config = config(&server, vec![get("/"), get("/reset"), get("/"), get("/never")]);
    config.timeout_ns = 300 * MS;
    let seen = drive(&config, &open(200.0, 1000));
    let counts = seen.counts();
    assert_eq!((counts.sent, counts.completed), (200, 100), "{counts:?}");
    assert_eq!((seen.errors(ErrorKind::Reset), seen.errors(ErrorKind::Timeout)), (50, 50));
    assert_eq!((server.requests(), server.connections()), (200, 2), "no connection is lost by it");
}

#[test]
fn a_connection_a_request() {
    let server = Served::new(Options::default());
    let mut config = config(&server, vec![get("/")]);
    config.connection_per_request = true;
    let seen = drive(&config, &open(200.0, 250));
    all_answered(&seen, &server, 50);
    assert!((50..=52).contains(&server.connections()), "{}", server.connections());
}

#[test]
fn a_server_says_goodbye() {
    let server = Served::new(Options { goodbye_after: Some(40), ..Options::default() });
    let seen = drive(&config(&server, vec![get("/")]), &open(1600.0, 250));
    let counts = seen.counts();
    assert_eq!(counts.sent, 400, "{counts:?}");
    assert_eq!(counts.completed + seen.errors(ErrorKind::Reset), 400, "{counts:?}");
    assert!(counts.completed <= server.requests());
    assert!(server.connections() > 4, "{}", server.connections());
}

#[test]
fn no_more_streams_than_the_server_allows() {
    let server = Served::new(Options { streams: Some(3), ..Options::default() });
    let seen = drive(&config(&server, vec![get("/large")]), &open(1200.0, 250));
    all_answered(&seen, &server, 300);
}

#[test]
fn a_server_of_http1_is_no_server() {
    let server = Server::plain();
    let config = Config {
        protocol: Protocol::Http2,
        endpoint: Endpoint::Tcp(server.address()),
        ..to(server.address())
    };
    let seen = drive(&config, &open(40.0, 250));
    let counts = seen.counts();
    assert_eq!((counts.sent, counts.completed), (10, 0), "{counts:?}");
    assert_eq!(seen.errors(ErrorKind::Protocol) + seen.errors(ErrorKind::Reset), 10);
}

/// Of several answers at once on a connection each is held against the checks by itself.
#[test]
fn answers_are_checked() {
    let server = Served::new(Options::default());
    let list = ["/", "/large", "/trailers"].map(get).to_vec();
    let checks = [Check::body("hello").unwrap()];
    let config = Config { checks: checks.into(), ..config(&server, list) };
    let seen = drive(&config, &open(600.0, 500));
    let counts = seen.counts();
    assert_eq!((counts.completed, counts.succeeded), (300, 200), "{counts:?}");
    assert_eq!(counts.errors_of(ErrorKind::Check), 100);
    assert!(seen.samples.iter().all(|sample| (sample.request == 1) == sample.error.is_some()));
    let fields = ["server=h2", "x-none="].map(|check| Check::header(check).unwrap());
    let seen = drive(&Config { checks: fields.into(), ..config }, &open(100.0, 500));
    assert_eq!(seen.counts().errors_of(ErrorKind::Check), 50);
}
