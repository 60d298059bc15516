//! TLS within the protocols of databases: asked for, granted or refused, and what is slipped in
//! before it.

use super::wire::store;
use plimsoll_load::driver::{Driver, Fate};
use plimsoll_load::mysql::Mysql;
use plimsoll_load::postgres::Postgres;
use plimsoll_load::store::{Connection, Pipeline, Speech, Transport};
use plimsoll_workload::store::Wanted;

/// A connection that has begun.
struct Begun<S: Speech> {
    driver: Pipeline<S>,
    connection: Connection<S>,
    /// What it has sent and nobody has looked at.
    out: Vec<u8>,
}

impl<S: Speech> Begun<S> {
    fn new(speech: S) -> Self {
        let mut driver = Pipeline::new(speech, store(Wanted::Mixed).operations, 1, false);
        let mut out = Vec::new();
        let connection = driver.open(&mut out);
        Self { driver, connection, out }
    }

    fn receives(&mut self, bytes: &[u8]) -> Fate {
        let mut events = Vec::new();
        let Self { driver, connection, out } = self;
        let fate = driver.receive(connection, bytes, out, &mut events);
        assert!(events.is_empty() && !driver.is_ready(connection));
        fate
    }

    fn sent(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    fn wants_tls(&self) -> bool {
        self.driver.wants_tls(&self.connection)
    }

    /// What it sends once TLS is there.
    fn encrypted(&mut self) -> Vec<u8> {
        self.driver.encrypted(&mut self.connection, &mut self.out);
        self.sent()
    }
}

fn mysql(transport: Transport) -> Begun<Mysql> {
    Begun::new(Mysql::new(store(Wanted::Mixed).opening(), transport))
}

fn postgres(transport: Transport) -> Begun<Postgres> {
    Begun::new(Postgres::new(store(Wanted::Mixed).opening(), transport))
}

/// A MySQL's handshake, of a server that speaks TLS or does not.
fn handshake(has_tls: bool) -> Vec<u8> {
    let mut body = b"\x0a8.4.0\0\x05\0\0\0abcdefgh\0".to_vec();
    body.extend_from_slice(&[0xff, if has_tls { 0xff } else { 0xf7 }]);
    body.extend_from_slice(b"\xff\x02\0\xff\xdf\x15\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0");
    body.extend_from_slice(b"caching_sha2_password\0");
    let len = u8::try_from(body.len()).unwrap();
    [&[len, 0, 0, 0][..], &body].concat()
}

#[test]
fn mysql_sends_no_name_before_tls() {
    let mut begun = mysql(Transport::Tls);
    assert_eq!(begun.receives(&handshake(true)), Fate::Keep);
    let asked = begun.sent();
    assert_eq!(asked[..4], [32, 0, 0, 1], "a head, and the second packet of the login");
    assert_eq!(asked.len(), 36);
    assert_eq!(asked[5] & 0x08, 0x08, "CLIENT_SSL");
    assert!(begun.wants_tls());
    let answer = begun.encrypted();
    assert_eq!(answer[3], 2, "the third packet of the login");
    assert_eq!(answer[4..36], asked[4..], "the same head");
    assert!(answer[36..].starts_with(b"ann\0"), "{}", answer.escape_ascii());
    assert!(!begun.wants_tls());
    // Within TLS the password may be sent where it is asked for.
    assert_eq!(begun.receives(b"\x02\0\0\x03\x01\x04"), Fate::Keep);
    assert_eq!(begun.sent(), b"\x07\0\0\x04secret\0");
    // Without TLS it is not asked for, whatever the server speaks.
    let mut plain = mysql(Transport::Tcp);
    assert_eq!(plain.receives(&handshake(true)), Fate::Keep);
    let answer = plain.sent();
    assert!(!plain.wants_tls() && answer[5] & 0x08 == 0);
    assert!(answer[36..].starts_with(b"ann\0"), "{}", answer.escape_ascii());
}

#[test]
fn postgres_sends_no_name_before_tls() {
    let mut begun = postgres(Transport::Tls);
    assert_eq!(begun.sent(), [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);
    assert!(!begun.wants_tls());
    assert_eq!(begun.receives(b"S"), Fate::Keep);
    assert!(begun.wants_tls() && begun.sent().is_empty());
    let startup = begun.encrypted();
    assert_eq!(startup[4..8], [0, 3, 0, 0], "version 3.0");
    assert!(startup[8..].starts_with(b"user\0ann\0"), "{}", startup.escape_ascii());
    assert!(!begun.wants_tls());
    let startup_without = postgres(Transport::Tcp).sent();
    assert_eq!(startup, startup_without);
}

#[test]
fn a_server_without_tls_is_told_of_and_nobody_logs_in() {
    let mut begun = mysql(Transport::Tls);
    assert_eq!(begun.receives(&handshake(false)), Fate::Close);
    assert!(begun.sent().is_empty());
    let why = begun.driver.refusal(&begun.connection).unwrap();
    assert!(why.contains("speaks no TLS") && why.contains("write mysql://"), "{why}");

    let mut begun = postgres(Transport::Tls);
    begun.sent();
    assert_eq!(begun.receives(b"N"), Fate::Close);
    assert!(begun.sent().is_empty());
    let why = begun.driver.refusal(&begun.connection).unwrap();
    assert!(why.contains("speaks no TLS") && why.contains("write postgres://"), "{why}");

    // An error in the place of an answer is the server's word.
    let mut begun = postgres(Transport::Tls);
    let error = b"E\0\0\0\x2bSFATAL\0C53300\0Msorry, too many clients\0\0";
    assert_eq!(begun.receives(error), Fate::Close);
    let why = begun.driver.refusal(&begun.connection).unwrap();
    assert!(why.contains("sorry, too many clients"), "{why}");
}

#[test]
fn what_is_slipped_in_before_tls_is_refused() {
    for slipped in [&b"R"[..], b"R\0\0\0\x08\0\0\0\0", b"SS"] {
        let mut begun = postgres(Transport::Tls);
        assert_eq!(begun.receives(&[b"S", slipped].concat()), Fate::Close);
    }
    for slipped in [&b"\x07"[..], b"\x07\0\0\x02\0\0\0\x02\0\0\0"] {
        let mut begun = mysql(Transport::Tls);
        assert_eq!(begun.receives(&[&handshake(true), slipped].concat()), Fate::Close);
    }
    for wrong in [&b"H"[..], b"\x16\x03\x01", b"s"] {
        assert_eq!(postgres(Transport::Tls).receives(wrong), Fate::Keep, "not whole yet");
    }
    assert_eq!(postgres(Transport::Tls).receives(b"HTTP/1.1"), Fate::Close);
}
