//! What a database sends, and what is tried with each of them.

use super::exchange::{play, read, record, written};
use crate::drive::{refused, to};
use crate::server::{Peer, Server};
use plimsoll_load::ask::{CheckError, check};
use plimsoll_load::driver::{Driver, Event, Fate, Slot};
use plimsoll_load::store::{Before, Login, Opening, Pipeline, Replicas, Speech, Store};
use plimsoll_load::{Config, Protocol};
use plimsoll_workload::random::Stream;
use plimsoll_workload::request::Scheme;
use plimsoll_workload::size::Sizes;
use plimsoll_workload::store::{Keys, Kind, Mix, Operations, Wanted, Workload};
use std::sync::Arc;
use std::time::Duration;

/// What a server sends.
pub(super) trait Wire {
    type Speech: Speech + Send;
    const SCHEME: &'static Scheme;
    /// Whether answers need not come in the order of their requests.
    const IN_ANY_ORDER: bool = false;
    fn speech(opening: Opening) -> Self::Speech;
    /// What lets us in, and prepares all statements.
    fn let_in() -> Vec<u8>;
    /// Everything until we are let in; whether we are.
    fn login(random: &mut Stream) -> (Vec<u8>, bool);
    /// A right answer to an operation of this number, with its code.
    fn answer(random: &mut Stream, kind: Kind, number: u16) -> (Vec<u8>, u16);
    /// A few bytes that mean something.
    fn word(random: &mut Stream) -> Vec<u8>;
}

/// Reads, updates and insertions of small values, of which few are there, or some records; and a
/// user with a password.
pub(super) fn store(wanted: Wanted) -> Store {
    let mix = Mix::of_percent(40, 30, 30).unwrap();
    let workload = Workload { mix, keys: Keys::Uniform, records: 4, value_size: Sizes::Fixed(8) };
    let operations = Arc::new(Operations::new(&workload, 5, wanted));
    let credentials = Some((b"ann".to_vec(), b"secret".to_vec()));
    let login = Login { credentials, database: "test".to_owned() };
    Store { operations, login, replicas: Replicas::default() }
}

/// Plays what was recorded, in pieces of any size.
pub(super) fn understood<W: Wire>(recorded: &str) {
    let steps = read(recorded);
    let most = 1 + recorded.len() / 2;
    for size in (1..40).chain([most]) {
        let store = store(Wanted::Mixed);
        play(W::speech(store.opening()), store.operations, &steps, size);
    }
    assert_eq!(read(&written(&steps)), steps);
    let ends = recorded.lines().filter(|line| line.starts_with('='));
    let codes: Vec<&str> = ends.map(|line| &line[2..5]).collect();
    assert!(codes.contains(&"200") && codes.contains(&"204"), "{codes:?}");
}

/// Records an exchange with the server at `PLIMSOLL_RECORD`, of this name, as this file.
#[expect(clippy::disallowed_methods, reason = "it is told where the server is")]
pub(super) fn record_anew<W: Wire>(name: &str, file: &str) {
    let address = std::env::var("PLIMSOLL_RECORD").unwrap();
    let connect = || std::net::TcpStream::connect(&address).unwrap();
    let mut config = to(address.parse().unwrap());
    config.protocol = Protocol::of(W::SCHEME).unwrap();
    let set = store(Wanted::DataSet);
    check(&config, &set, Before::DataSet, Duration::from_secs(5)).unwrap();
    record(W::speech(set.opening()), set.operations, 2, connect());
    let mixed = store(Wanted::Mixed);
    let steps = record(W::speech(mixed.opening()), mixed.operations, 20, connect());
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
    std::fs::write(format!("{folder}/{file}"), format!("# {name}\n{}", written(&steps))).unwrap();
}

/// What became of a connection that has received these bytes and is not let in: its fate, why, and
/// what it has sent.
pub(super) fn after<S: Speech>(speech: S, bytes: &[u8]) -> (Fate, Option<String>, Vec<u8>) {
    let mut driver = Pipeline::new(speech, store(Wanted::Mixed).operations, 1, false);
    let (mut out, mut events) = (Vec::new(), Vec::new());
    let mut connection = driver.open(&mut out);
    let fate = driver.receive(&mut connection, bytes, &mut out, &mut events);
    assert!(events.is_empty() && driver.room(&connection) == 0, "it is not let in");
    (fate, driver.refusal(&connection), out)
}

/// A connection with one operation of a kind on it, and what it makes of what is told `unasked`
/// before it and of an answer.
pub(super) fn answered<W: Wire>(kind: Kind, unasked: &[u8], answer: &[u8]) -> (Fate, Vec<Event>) {
    let store = store(Wanted::Mixed);
    let index = (0..).find(|n| store.operations.at(u64::from(*n)).kind == kind).unwrap();
    let mut driver = Pipeline::new(W::speech(store.opening()), store.operations, 1, false);
    let (mut out, mut events) = (Vec::new(), Vec::new());
    let mut connection = driver.open(&mut out);
    for told in [&W::let_in()[..], unasked] {
        assert_eq!(driver.receive(&mut connection, told, &mut out, &mut events), Fate::Keep);
    }
    assert_eq!((driver.room(&connection), events.len()), (1, 0));
    driver.request(&mut connection, Slot(0), index, &mut Vec::new());
    let fate = driver.receive(&mut connection, answer, &mut out, &mut events);
    (fate, events)
}

/// A server that refuses our login by these words is no connection, and says so in them.
pub(super) fn is_no_connection<W: Wire>(
    serve: impl Fn(&mut Peer) + Send + Sync + 'static,
    said: &str,
) {
    let (checked, why) = why_refused::<W>(serve);
    assert!(matches!(checked, CheckError::Refused { .. }), "{checked:?}");
    assert_eq!(why, format!("it answers `{said}`"));
}

/// Why there is no connection to a server that serves so, to a check and to a load.
pub(super) fn why_refused<W: Wire>(
    serve: impl Fn(&mut Peer) + Send + Sync + 'static,
) -> (CheckError, String) {
    let server = Server::tcp(move |mut peer| serve(&mut peer));
    let store = store(Wanted::Mixed);
    let config = Config {
        protocol: Protocol::of(W::SCHEME).unwrap(),
        store: Some(store.clone()),
        ..to(server.address())
    };
    let checked = check(&config, &store, Before::Load, Duration::from_secs(20)).unwrap_err();
    (checked, std::error::Error::source(&refused(&config)).unwrap().to_string())
}
