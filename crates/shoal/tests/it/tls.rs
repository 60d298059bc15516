//! HTTPS: whom clients believe, who is told what, and who holds nobody up.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_net::http::client::{Answer, Ask, Error, Limits, Plain};
use plimsoll_net::tls::Tls;
use plimsoll_net::url::Url;
use plimsoll_shoal::agent::announce::{Announce as _, Http, Message};
use plimsoll_shoal::server::{Certificate, Options};
use serde_json::json;

use crate::serve::{Server, ok};
use crate::support::certificates::certificates;
use crate::support::live::{Live, PATIENCE, options, said, text, trusting as trusted, until};

/// A server with a certificate of its own, and the folder of it.
struct Secure {
    live: Live,
    folder: tempfile::TempDir,
}

fn open(folder: &Path) -> Certificate {
    Certificate::open(&folder.join("cert.pem"), &folder.join("key.pem")).unwrap()
}

fn trusting(folder: &Path) -> Tls {
    Tls::new(Some(&folder.join("ca.pem")), None).unwrap()
}

impl Secure {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        certificates(folder.path());
        let live = Live::start(Options {
            tls: Some(open(folder.path())),
            settle: Duration::ZERO,
            ..trusted()
        });
        Self { live, folder }
    }

    fn url(&self, host: &str) -> Url {
        Url::parse(&format!("https://{host}:{}", self.live.at.port())).unwrap()
    }

    /// Asks, with a new connection.
    fn get(&self, tls: &Tls, path: &str) -> Result<Answer, Error> {
        Ask::get(&self.url("localhost").join(path)).send(tls, Limits::within(PATIENCE))
    }

    fn metric(&self, name: &str) -> u64 {
        let metrics = text(&self.get(&trusting(self.folder.path()), "/metrics").unwrap());
        let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name}: {metrics}")).parse().unwrap()
    }

    fn handshakes(&self, outcome: &str) -> u64 {
        self.metric(&format!("shoal_tls_handshakes_total{{outcome=\"{outcome}\"}}"))
    }
}

/// An error with what it comes from.
fn whole(error: &dyn std::error::Error) -> String {
    let cause = error.source().map(whole).unwrap_or_default();
    format!("{error}: {cause}")
}

#[test]
fn who_trusts_its_authority_is_answered_and_may_announce() {
    let server = Secure::start();
    let tls = trusting(server.folder.path());
    for host in ["localhost", "127.0.0.1"] {
        let url = server.url(host).join("/v1/health");
        assert_eq!(Ask::get(&url).send(&tls, Limits::within(PATIENCE)).unwrap().status, 200);
    }
    let mut agent = Http::new(&server.url("localhost"), Arc::new(tls.clone()), None);
    let body = said("one", "one.example", "192.0.2.1").to_string();
    let message = Message { body: body.as_bytes(), address: None, unix_ms: 0 };
    agent.announce(&message).unwrap();
    let listed = until("the cache", || {
        let answer = server.get(&tls, "/nearest").unwrap();
        text(&answer).contains("one.example").then_some(answer)
    });
    assert_eq!(listed.header("content-type"), Some("application/json"));
    assert!(server.handshakes("done") >= 4);
    // Its list is copied from it by others.
    let peers = vec![server.url("localhost").to_string()];
    let peer_ca = Some(server.folder.path().join("ca.pem"));
    let other = Live::start(Options { peers, peer_ca, ..options() });
    assert_eq!(other.listed("one.example")["public_ip"], "192.0.2.1");
}

#[test]
fn nobody_else_s_certificate_is_believed() {
    let server = Secure::start();
    let other = tempfile::tempdir().unwrap();
    certificates(other.path());
    let error = server.get(&trusting(other.path()), "/nearest").unwrap_err();
    assert!(matches!(error, Error::Handshake { .. }), "{}", whole(&error));
    assert!(whole(&error).contains("certificate"), "{}", whole(&error));
    // Nor for a name that is not in it.
    let url = server.url("127.0.0.2").join("/nearest");
    let tls = trusting(server.folder.path());
    let error = Ask::get(&url).send(&tls, Limits::within(PATIENCE)).unwrap_err();
    // Where 127.0.0.2 is not listened at, there is no connection in the first place.
    assert!(matches!(error, Error::Handshake { .. } | Error::Connect { .. }), "{error:?}");
    assert_eq!(server.get(&tls, "/nearest").unwrap().status, 200);
    until("the failure is counted", || (server.handshakes("failed") >= 1).then_some(()));
}

#[test]
fn who_takes_one_for_the_other_is_told() {
    // Plain HTTP to a port that speaks TLS.
    let server = Secure::start();
    let plain = Url { secure: false, ..server.url("localhost") };
    let answer = Ask::get(&plain.join("/nearest")).send(&Plain, Limits::within(PATIENCE)).unwrap();
    assert_eq!(answer.status, 400);
    assert!(text(&answer).contains("https://"), "{}", text(&answer));
    let mut agent = Http::new(&plain, Arc::new(Plain), None);
    let body = json!({ "long": "x".repeat(20_000) }).to_string();
    let message = Message { body: body.as_bytes(), address: None, unix_ms: 0 };
    let refused = agent.announce(&message).unwrap_err();
    assert!(refused.to_string().contains("this port speaks TLS"), "{refused}");
    assert_eq!(server.handshakes("plain"), 2);
    // TLS to a port that speaks plain HTTP.
    let other = Server::start(|_| ok("{}"));
    let url = Url { secure: true, ..Url::parse(&other.url()).unwrap() };
    let tls = trusting(server.folder.path());
    // One that only waits for the end of a head is late; one that answers nonsense is told of.
    let told = Ask::get(&url).send(&tls, Limits::within(Duration::from_millis(300))).unwrap_err();
    assert!(matches!(told, Error::Late(_)), "{told:?}");
    let live = Live::start(options());
    let url = Url { port: live.at.port(), ..server.url("localhost") };
    let told = Ask::get(&url).send(&tls, Limits::within(PATIENCE)).unwrap_err();
    assert!(whole(&told).contains("does not speak TLS"), "{}", whole(&told));
    // And where there is no way of encryption.
    let told = Ask::get(&url).send(&Plain, Limits::within(PATIENCE)).unwrap_err();
    assert!(matches!(told, Error::Encryption(_)), "{told:?}");
}

#[test]
fn who_connects_and_says_nothing_holds_nobody_up_and_is_let_go() {
    let server = Secure::start();
    let tls = trusting(server.folder.path());
    let mut silent: Vec<_> = (0..300).map(|_| server.live.connect()).collect();
    // Half a handshake, and what only begins like one.
    let mut half: Vec<_> = (0..20).map(|_| server.live.connect()).collect();
    for stream in &mut half {
        stream.write_all(&[22, 3, 1, 2, 0, 1]).unwrap();
    }
    let mut nonsense = server.live.connect();
    nonsense.write_all(&[22; 600]).unwrap();
    for _ in 0..20 {
        assert_eq!(server.get(&tls, "/nearest").unwrap().status, 200);
    }
    // All of them come to their end without a word of theirs.
    for stream in silent.iter_mut().chain(&mut half).chain([&mut nonsense]) {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(rest.len() < 64, "{rest:?}");
    }
    // Each is counted a moment after its connection has ended.
    until("all that were late", || (server.handshakes("late") == 320).then_some(()));
    assert!(server.handshakes("failed") >= 1);
}

#[test]
fn more_handshakes_than_there_may_be_are_turned_away() {
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let tls = Some(open(folder.path()).with_most(4));
    let server = Secure { live: Live::start(Options { tls, ..options() }), folder };
    let tls = trusting(server.folder.path());
    // Whoever comes too late is told so at once by the end of the connection.
    let silent: Vec<_> = (0..12).map(|_| server.live.connect()).collect();
    drop(until("one is turned away", || server.get(&tls, "/nearest").err()));
    drop(silent);
    until("there is room again", || server.get(&tls, "/nearest").ok());
    assert!(server.handshakes("too_many") >= 8);
}

#[test]
fn a_renewed_certificate_is_served_and_a_broken_one_is_not() {
    let server = Secure::start();
    let (before, at) = (trusting(server.folder.path()), server.folder.path());
    assert_eq!(server.get(&before, "/nearest").unwrap().status, 200);
    let new = tempfile::tempdir().unwrap();
    certificates(new.path());
    // First the certificate comes, whose key is another's: the old pair is served on.
    let place = |name: &str| {
        let beside = at.join("beside");
        fs::copy(new.path().join(name), &beside).unwrap();
        fs::rename(beside, at.join(name)).unwrap();
    };
    place("cert.pem");
    until("the half pair is looked at", || {
        (server.metric("shoal_tls_failures_total") >= 1).then_some(())
    });
    assert_eq!(server.get(&before, "/nearest").unwrap().status, 200);
    assert_eq!(server.metric("shoal_tls_loads_total"), 0);
    place("key.pem");
    let after = trusting(new.path());
    until("the new pair", || server.get(&after, "/nearest").ok());
    assert!(matches!(server.get(&before, "/nearest"), Err(Error::Handshake { .. })));
}

#[test]
fn bad_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let (cert, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    let other = tempfile::tempdir().unwrap();
    certificates(other.path());
    let empty = folder.path().join("empty.pem");
    fs::write(&empty, "no certificate").unwrap();
    let nowhere = folder.path().join("nowhere.pem");
    for (chain, secret, names) in [
        (&nowhere, &key, vec!["nowhere.pem", "No such file"]),
        (&cert, &nowhere, vec!["nowhere.pem", "No such file"]),
        (&empty, &key, vec!["no certificate in", "empty.pem"]),
        (&cert, &empty, vec!["read", "empty.pem"]),
        (&cert, &cert, vec!["holds a certificate and no key", "cert.pem"]),
        (&cert, &other.path().join("key.pem"), vec!["cert.pem", "key.pem"]),
    ] {
        let error = whole(&Certificate::open(chain, secret).unwrap_err());
        assert!(names.iter().all(|name| error.contains(name)), "{names:?}: {error}");
    }
}

#[test]
fn a_peer_that_never_shakes_hands_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    let limits = Limits::within(Duration::from_millis(300));
    let told = Ask::get(&Url::parse(&url).unwrap()).send(&trusting(folder.path()), limits);
    assert!(matches!(told, Err(Error::Late(_))), "{told:?}");
}

/// Certificates of an authority of its own, with an end and in the order that is asked for.
mod made {
    use std::fs;
    use std::path::Path;

    use rcgen::{
        BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, Issuer, KeyPair,
        date_time_ymd,
    };

    fn authority(name: &str) -> CertificateParams {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        params
    }

    /// Writes `cert.pem` of the server's own certificate and the one between it and the root, and
    /// `key.pem`; gives both certificates.
    pub(super) fn chain(folder: &Path, until_year: i32) -> [String; 2] {
        let root = CertifiedIssuer::self_signed(authority("root"), KeyPair::generate().unwrap());
        let root = root.unwrap();
        let between_key = KeyPair::generate().unwrap();
        let between = authority("between");
        let middle = between.signed_by(&between_key, &root).unwrap();
        let issuer = Issuer::new(between, between_key);
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, "localhost");
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(until_year, 1, 1);
        let own = params.signed_by(&key, &issuer).unwrap();
        fs::write(folder.join("ca.pem"), root.pem()).unwrap();
        fs::write(folder.join("cert.pem"), own.pem() + &middle.pem()).unwrap();
        fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
        [own.pem(), middle.pem()]
    }
}

#[test]
fn a_good_pair_is_not_replaced_by_a_bad_one() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let [own, middle] = made::chain(folder.path(), 2100);
    let certificate = Certificate::open(&at("cert.pem"), &at("key.pem")).unwrap();
    assert_eq!(certificate.fault(), None);
    let refused = |text: &str| {
        fs::write(at("cert.pem"), text).unwrap();
        let error = certificate.refresh().unwrap_err();
        assert_eq!(certificate.fault(), None, "the one before is in force");
        whole(&error)
    };
    let reversed = refused(&(middle.clone() + &own));
    assert!(reversed.contains("reverse order"), "{reversed}");
    let less = refused(&own);
    assert!(less.contains("1 certificates where there were 2"), "{less}");
    let cut = refused(&format!("{own}{}", &middle[..middle.len() / 2]));
    assert!(cut.contains("cert.pem"), "{cut}");
    let other = tempfile::tempdir().unwrap();
    let [_, stranger] = made::chain(other.path(), 2100);
    let broken = refused(&(own.clone() + &own));
    assert!(broken.contains("not issued by the next"), "{broken}");
    // An authority of the same name is not told from it by its name alone.
    let _ = stranger;
    made::chain(folder.path(), 2021);
    let error = certificate.refresh().unwrap_err();
    assert!(whole(&error).contains("certificate 1 of it expired"), "{}", whole(&error));
    // At a start there is nothing better: it is served, and said.
    let late = Certificate::open(&at("cert.pem"), &at("key.pem")).unwrap();
    assert!(late.fault().unwrap().contains("expired"), "{:?}", late.fault());
    made::chain(folder.path(), 2100);
    assert!(certificate.refresh().unwrap());
}

#[test]
fn what_stands_in_a_file_instead_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    made::chain(folder.path(), 2100);
    let opened =
        |chain: &str, key: &str| whole(&Certificate::open(&at(chain), &at(key)).unwrap_err());
    let swapped = opened("key.pem", "cert.pem");
    assert!(swapped.contains("other way round"), "{swapped}");
    let twice = opened("cert.pem", "cert.pem");
    assert!(twice.contains("holds a certificate and no key"), "{twice}");
    for head in [
        "-----BEGIN ENCRYPTED PRIVATE KEY-----",
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED",
    ] {
        let text = format!("{head}\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n");
        fs::write(at("locked.pem"), text).unwrap();
        let locked = opened("cert.pem", "locked.pem");
        assert!(locked.contains("is encrypted"), "{locked}");
    }
}

#[test]
fn a_client_reads_its_authorities_again() {
    let server = Secure::start();
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    let other = tempfile::tempdir().unwrap();
    certificates(other.path());
    fs::copy(other.path().join("ca.pem"), &ca).unwrap();
    let tls = Tls::new(Some(&ca), None).unwrap();
    assert!(server.get(&tls, "/nearest").is_err());
    let place = |text: &[u8]| {
        fs::write(folder.path().join("beside"), text).unwrap();
        fs::rename(folder.path().join("beside"), &ca).unwrap();
    };
    let right = fs::read(server.folder.path().join("ca.pem")).unwrap();
    place(&right);
    assert_eq!(server.get(&tls, "/nearest").unwrap().status, 200);
    // What is no list of authorities changes nothing.
    place(b"nonsense");
    assert_eq!(server.get(&tls, "/nearest").unwrap().status, 200);
}
