//! PostgreSQL: what a server sends, and what we make of it.

use super::exchange::{play, read, record, written};
use super::mutate::{Wire, below, case};
use super::operations;
use crate::drive::{refused, to};
use crate::server::Server;
use plimsoll_load::driver::{Driver, Event, Fate, Slot};
use plimsoll_load::postgres::Postgres;
use plimsoll_load::store::{Before, CheckError, Login, Pipeline, Store, check};
use plimsoll_load::{Config, Protocol};
use plimsoll_runs::ErrorKind;
use plimsoll_workload::random::Stream;
use plimsoll_workload::store::{Kind, Wanted};
use std::time::Duration;

const RECORDED: &str = include_str!("../../fixtures/postgres-15.txt");

fn store(wanted: Wanted) -> Store {
    let credentials = Some((b"ann".to_vec(), b"secret".to_vec()));
    let login = Login { credentials, database: "test".to_owned() };
    Store { operations: operations(wanted), login }
}

/// A message.
fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let len = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
    [&[tag], &len[..], body].concat()
}

fn ready() -> Vec<u8> {
    message(b'Z', b"I")
}

fn trouble(severity: &str, state: &str, text: &str) -> Vec<u8> {
    let fields = format!("S{severity}\0V{severity}\0C{state}\0M{text}\0Fpostgres.c\0\0");
    message(b'E', fields.as_bytes())
}

/// An error that ends its transaction, and no more.
fn error(state: &str) -> Vec<u8> {
    [trouble("ERROR", state, "no"), ready()].concat()
}

/// What follows a proof that was taken.
fn let_in() -> Vec<u8> {
    let parameter = message(b'S', b"server_version\x0015.18\0");
    let key = message(b'K', b"\0\0\x12\x34secr");
    [message(b'R', &[0; 4]), parameter, key, ready()].concat()
}

fn all_prepared() -> Vec<u8> {
    [message(b'1', b""), message(b'1', b""), message(b'1', b""), ready()].concat()
}

/// The answer to a read.
fn rows(values: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = message(b'2', b"");
    for value in values {
        let len = u32::try_from(value.len()).unwrap().to_be_bytes();
        bytes.extend(message(b'D', &[&[0, 1], &len[..], value].concat()));
    }
    bytes.extend(message(b'C', format!("SELECT {}\0", values.len()).as_bytes()));
    bytes.extend(ready());
    bytes
}

/// The answer to an update or an insertion.
fn complete(words: &str) -> Vec<u8> {
    let words = format!("{words}\0");
    [message(b'2', b""), message(b'C', words.as_bytes()), ready()].concat()
}

struct Wired;

impl Wire for Wired {
    type Speech = Postgres;

    fn speech(store: &Store) -> Postgres {
        Postgres::new(store)
    }

    fn login(random: &mut Stream) -> (Vec<u8>, bool) {
        let md5 = message(b'R', b"\0\0\0\x05salt");
        match below(random, 5) {
            0 => ([let_in(), all_prepared()].concat(), true),
            1 => ([md5, let_in(), all_prepared()].concat(), true),
            2 => {
                ([md5, trouble("FATAL", "28P01", "password authentication failed")].concat(), false)
            }
            3 => (message(b'R', b"\0\0\0\x0aOTHER\0\0"), false),
            _ => (message(b'R', &[0, 0, 0, 3]), false),
        }
    }

    fn answer(random: &mut Stream, kind: Kind) -> (Vec<u8>, u16) {
        let value = vec![0; [0, 1, 250, 1018, 1019, 5000][below(random, 6)]];
        let (bytes, code) = match (below(random, 8), kind) {
            (0, _) => (error("40001"), 409),
            (1, Kind::Read) => (rows(&[]), 204),
            (_, Kind::Read) => (rows(&[value]), 200),
            (1, Kind::Update) => (complete("UPDATE 0"), 204),
            (_, Kind::Update) => (complete("UPDATE 1"), 200),
            (_, Kind::Insert) => (complete("INSERT 0 1"), 200),
        };
        let notice = message(b'N', b"SNOTICE\0Mlook out\0\0");
        (if below(random, 4) == 0 { [notice, bytes].concat() } else { bytes }, code)
    }

    fn word(random: &mut Stream) -> Vec<u8> {
        match below(random, 6) {
            0 => trouble("FATAL", "57P01", "terminating connection"),
            1 => error("53100"),
            2 => message(b'S', b"TimeZone\0UTC\0"),
            3 => message(b'D', b"\0\x01\xff\xff\xff\xff"),
            4 => vec![b'D', 0xff, 0xff, 0xff, 0xff],
            _ => ready(),
        }
    }
}

#[test]
fn what_postgres_said_is_understood_in_any_pieces() {
    let steps = read(RECORDED);
    let most = 1 + RECORDED.len() / 2;
    for size in (1..40).chain([most]) {
        let store = store(Wanted::Mixed);
        play(Postgres::new(&store), store.operations, &steps, size);
    }
    assert_eq!(read(&written(&steps)), steps);
    let ends = RECORDED.lines().filter(|line| line.starts_with('='));
    let codes: Vec<&str> = ends.map(|line| &line[2..5]).collect();
    assert!(codes.contains(&"200") && codes.contains(&"204"), "{codes:?}");
}

#[test]
#[ignore = "records anew, with a server at PLIMSOLL_RECORD that asks for md5"]
#[expect(clippy::disallowed_methods, reason = "it is told where the server is")]
fn record_an_exchange_with_postgres() {
    let address = std::env::var("PLIMSOLL_RECORD").unwrap();
    let connect = || std::net::TcpStream::connect(&address).unwrap();
    let mut config = to(address.parse().unwrap());
    config.protocol = Protocol::Postgres;
    let set = store(Wanted::DataSet);
    check(&config, &set, Before::DataSet, Duration::from_secs(5)).unwrap();
    record(Postgres::new(&set), set.operations, 2, connect());
    let mixed = store(Wanted::Mixed);
    let steps = record(Postgres::new(&mixed), mixed.operations, 20, connect());
    let text = format!("# PostgreSQL 15 of Debian 12\n{}", written(&steps));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/postgres-15.txt");
    std::fs::write(path, text).unwrap();
}

#[test]
fn mutated_bytes_end_once_whatever_their_pieces() {
    for seed in 0..3_000 {
        case::<Wired>(seed);
    }
}

#[test]
fn who_is_not_let_in_learns_why() {
    let after = |bytes: &[u8]| {
        let store = store(Wanted::Mixed);
        let mut driver = Pipeline::new(Postgres::new(&store), store.operations, 1, false);
        let (mut out, mut events) = (Vec::new(), Vec::new());
        let mut connection = driver.open(&mut out);
        assert!(out.windows(8).any(|part| part == b"user\0ann"));
        let fate = driver.receive(&mut connection, bytes, &mut out, &mut events);
        assert!(events.is_empty() && driver.room(&connection) == 0, "it is not let in");
        assert!(!out.windows(6).any(|part| part == b"secret"), "it never goes in clear");
        assert_eq!(fate, Fate::Close, "{}", bytes.escape_ascii());
        driver.refusal(&connection)
    };
    let denied = trouble("FATAL", "28P01", "password authentication failed for user \"ann\"");
    let why = after(&denied).unwrap();
    assert_eq!(why, "it answers `password authentication failed for user \"ann\"`");
    let why = after(&message(b'R', &[0, 0, 0, 3])).unwrap();
    assert!(why.contains("the password itself, which is not sent without TLS"), "{why}");
    assert_eq!(after(b"HTTP/1.1 400 Bad Request\r\n\r\n"), None);
    assert_eq!(after(&ready()), None, "nobody was asked who we are");
    assert_eq!(after(&[let_in(), message(b'1', b""), ready()].concat()), None);
}

/// A connection with one operation of a kind on it, and what it makes of an answer.
fn answered(kind: Kind, answer: &[u8]) -> (Fate, Vec<Event>) {
    let store = store(Wanted::Mixed);
    let index = (0..).find(|n| store.operations.at(u64::from(*n)).kind == kind).unwrap();
    let mut driver = Pipeline::new(Postgres::new(&store), store.operations, 1, false);
    let (mut out, mut events) = (Vec::new(), Vec::new());
    let mut connection = driver.open(&mut out);
    let login = [let_in(), all_prepared()].concat();
    assert_eq!(driver.receive(&mut connection, &login, &mut out, &mut events), Fate::Keep);
    // Told unasked: it belongs to nobody.
    let told = message(b'S', b"TimeZone\0UTC\0");
    assert_eq!(driver.receive(&mut connection, &told, &mut out, &mut events), Fate::Keep);
    assert_eq!((driver.room(&connection), events.len()), (1, 0));
    driver.request(&mut connection, Slot(0), index, &mut Vec::new());
    let fate = driver.receive(&mut connection, answer, &mut out, &mut events);
    (fate, events)
}

#[test]
fn answers_are_what_they_say() {
    let code_of = |events: &[Event]| match events {
        [Event::Done { code, .. }] => Some(*code),
        _ => None,
    };
    for (kind, answer, code) in [
        (Kind::Read, rows(&[]), 204),
        (Kind::Read, rows(&[vec![]]), 200),
        (Kind::Read, rows(&[vec![7; 3000]]), 200),
        (Kind::Update, complete("UPDATE 0"), 204),
        (Kind::Update, complete("UPDATE 1"), 200),
        (Kind::Insert, complete("INSERT 0 1"), 200),
        (Kind::Read, error("42P01"), 404),
        (Kind::Read, error("42501"), 403),
        (Kind::Update, error("40P01"), 409),
        (Kind::Update, error("25006"), 403),
        (Kind::Insert, error("53100"), 507),
        (Kind::Read, trouble("FATAL", "57P01", "terminating connection"), 503),
        (Kind::Read, error("42601"), 500),
        // A transaction that fails at its end.
        (
            Kind::Insert,
            [message(b'2', b""), message(b'C', b"INSERT 0 1\0"), error("53100")].concat(),
            507,
        ),
    ] {
        let (fate, events) = answered(kind, &answer);
        assert_eq!((fate, code_of(&events)), (Fate::Keep, Some(code)), "{}", answer.escape_ascii());
    }
    let failed = Event::Failed { slot: Slot(0), kind: ErrorKind::Protocol };
    for answer in [
        complete("UPDATE 1"),
        complete("SELECT 1"),
        complete("DELETE 1"),
        rows(&[vec![1], vec![2]]),
        ready(),
        [message(b'2', b""), message(b'D', b"\0\x01\xff\xff\xff\xff")].concat(),
        [message(b'2', b""), message(b'D', b"\0\x01\0\0\0\x05abc")].concat(),
        [message(b'2', b""), message(b'D', b"\0\x02\0\0\0\0\0\0\0\0")].concat(),
        message(b'T', b"\0\0"),
        b"Z\0\0\0\x03I".to_vec(),
    ] {
        let (fate, events) = answered(Kind::Read, &answer);
        assert_eq!((fate, events), (Fate::Close, vec![failed]), "{}", answer.escape_ascii());
    }
}

#[test]
fn a_refused_login_is_no_connection() {
    let server = Server::tcp(|mut peer| {
        let mut some = [0; 256];
        let _ = peer.stream.read(&mut some);
        peer.write(&trouble("FATAL", "53300", "sorry, too many clients already"));
    });
    let config = Config {
        protocol: Protocol::Postgres,
        store: Some(store(Wanted::Mixed)),
        ..to(server.address())
    };
    let checked =
        check(&config, &store(Wanted::Mixed), Before::Load, Duration::from_secs(20)).unwrap_err();
    assert!(matches!(checked, CheckError::Refused { .. }), "{checked:?}");
    let error = refused(&config);
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(cause, "it answers `sorry, too many clients already`");
}
