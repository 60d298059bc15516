//! Key-value stores over real sockets: servers with a script, in both protocols.

mod mutate;
mod script;

use crate::drive::{Output, closed, drive, open, refused, to};
use crate::server::{Gate, Server};
use plimsoll_load::ask::{CheckError, check};
use plimsoll_load::driver::{Driver, Event, Fate, Slot};
use plimsoll_load::redis::Redis;
use plimsoll_load::store::{Before, Login, Pipeline, Replicas, Store};
use plimsoll_load::{Config, Expected, Pacing};
use plimsoll_runs::ErrorKind;
use plimsoll_workload::size::Sizes;
use plimsoll_workload::store::{Named, Operations, Wanted, Workload};
use script::{Answer, Speaks, Table, serve};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const BOTH: [Speaks; 2] = [Speaks::Redis, Speaks::Memcached];

fn workload(named: Named) -> Workload {
    let (mix, keys) = (named.mix(), named.keys());
    Workload { mix, keys, records: 200, value_size: Sizes::Fixed(3000) }
}

/// Settings for a store: two connections with four commands at once.
fn config(speaks: Speaks, address: SocketAddr, named: Named, wanted: Wanted) -> Config {
    let operations = Arc::new(Operations::new(&workload(named), 7, wanted));
    let mut config = to(address);
    config.protocol = speaks.protocol();
    config.streams_per_connection = 4;
    config.store =
        Some(Store { operations, login: Login::default(), replicas: Replicas::default() });
    config
}

/// A server with a table of its own, which answers as the table says.
fn server(speaks: Speaks, table: &Arc<Table>) -> Server {
    let table = table.clone();
    Server::tcp(move |peer| serve(speaks, peer, |command| table.answer(command)))
}

#[test]
fn a_data_set_is_written_and_found_again() {
    for speaks in BOTH {
        for (threads, once, pacing) in
            [(1, false, Pacing::Precise), (2, false, Pacing::Thrifty), (1, true, Pacing::Thrifty)]
        {
            let table = Arc::new(Table::default());
            let server = server(speaks, &table);
            let mut config = config(speaks, server.address(), Named::ReadOnly, Wanted::DataSet);
            (config.threads, config.connection_per_request) = (threads, once);
            (config.pacing, config.connections) = (pacing, (if once { 0 } else { 2 }, 2));
            let seen = drive(&config, &closed(8, 20_000, Some(200)));
            let counts = seen.counts();
            assert_eq!((counts.succeeded, &counts.status[..]), (200, &[(200, 200)][..]));
            assert_eq!(table.len(), 200, "every record once");
            assert!(table.all(|value| value.len() == 3000));
            let opened = seen.sum(|interval| interval.opened);
            assert_eq!(opened, if once { 200 } else { 2 });
            // The same, read: the values come whole, and none is missing.
            let store = config.store.as_mut().unwrap();
            let operations = Operations::new(&workload(Named::ReadOnly), 9, Wanted::Mixed);
            store.operations = Arc::new(operations);
            let counts = drive(&config, &open(500.0, 400)).counts();
            assert_eq!((counts.succeeded, &counts.status[..]), (200, &[(200, 200)][..]));
            assert!(counts.bytes_in > 200 * 3000, "{counts:?}");
        }
    }
}

#[test]
fn misses_have_a_code_of_their_own() {
    for speaks in BOTH {
        let table = Arc::new(Table::default());
        let server = server(speaks, &table);
        let mut config = config(speaks, server.address(), Named::ReadOnly, Wanted::Mixed);
        let counts = drive(&config, &closed(8, 20_000, Some(100))).counts();
        assert_eq!((counts.succeeded, &counts.status[..]), (100, &[(204, 100)][..]));
        config.expected = Expected::new(vec![(200, 200)]);
        let counts = drive(&config, &closed(8, 20_000, Some(100))).counts();
        assert_eq!((counts.succeeded, counts.errors_of(ErrorKind::Status)), (0, 100));
    }
}

/// Six commands by one user, each answered so.
fn told(speaks: Speaks, answer: &'static [u8]) -> Output {
    let server = Server::tcp(move |peer| serve(speaks, peer, |_| Answer::Bytes(answer.to_vec())));
    let config = config(speaks, server.address(), Named::ReadOnly, Wanted::Mixed);
    drive(&config, &closed(1, 20_000, Some(6)))
}

#[test]
fn errors_are_failures_within_completed() {
    let (redis, memcached) = (Speaks::Redis, Speaks::Memcached);
    for (speaks, answer, code) in [
        (redis, &b"-ERR unknown command\r\n"[..], 500),
        (redis, b"-OOM command not allowed\r\n", 507),
        (memcached, b"SERVER_ERROR out of memory reading request\r\n", 507),
        (memcached, b"ERROR\r\n", 400),
    ] {
        let counts = told(speaks, answer).counts();
        assert_eq!((counts.completed, &counts.status[..]), (6, &[(code, 6)][..]));
        assert_eq!(counts.errors_of(ErrorKind::Status), 6);
    }
    // What is no answer ends the connection.
    for (speaks, answer) in [
        (redis, &b"+QUEUED\r\n"[..]),
        (redis, b"*2\r\n$1\r\na\r\n$1\r\nb\r\n"),
        (redis, b"+OK\r\n"),
        (redis, b"HTTP/1.1 400 Bad Request\r\n\r\n"),
        (redis, b"$99999999999\r\n"),
        (memcached, b"STORED\r\n"),
        (memcached, b"VALUE k 0 1\r\na\r\nSTORED\r\n"),
        (memcached, b"\r\n"),
    ] {
        let seen = told(speaks, answer);
        assert_eq!(seen.errors(ErrorKind::Protocol), 6, "{:?}", answer.escape_ascii());
        assert!(seen.sum(|interval| interval.opened) >= 6, "a new connection for each");
    }
}

#[test]
fn what_is_given_up_harms_nobody_else() {
    for speaks in BOTH {
        let gate = Gate::new();
        let (held, table) = (gate.clone(), Arc::new(Table::default()));
        let (answers, commands) = (table.clone(), AtomicUsize::new(0));
        let server = Server::tcp(move |peer| {
            serve(speaks, peer, |command| {
                if commands.fetch_add(1, Ordering::SeqCst) == 2 {
                    held.wait_for(Duration::from_secs(20));
                }
                answers.answer(command)
            });
        });
        let mut config = config(speaks, server.address(), Named::Balanced, Wanted::Mixed);
        config.connections = (1, 1);
        config.timeout_ns = 400_000_000;
        // Four are on the connection when the third is not answered; it is closed behind the last
        // of them, and all others go on the next.
        let seen = drive(&config, &open(200.0, 1000));
        gate.open();
        let counts = seen.counts();
        assert_eq!(seen.errors(ErrorKind::Timeout), 4, "{counts:?}");
        assert_eq!(counts.succeeded, 196, "{counts:?}");
        assert_eq!(seen.sum(|interval| interval.opened), 2);
    }
}

#[test]
fn the_answer_to_what_was_given_up_is_passed_over() {
    let operations = Operations::new(&workload(Named::ReadOnly), 7, Wanted::Mixed);
    let redis = Redis::new(Login::default());
    let mut driver = Pipeline::new(redis, Arc::new(operations), 3, false);
    let (mut out, mut events) = (Vec::new(), Vec::new());
    let mut connection = driver.open(&mut out);
    assert_eq!(driver.room(&connection), 0, "it has not been greeted");
    driver.receive(&mut connection, b"+PONG\r\n", &mut out, &mut events);
    for index in 0..3 {
        driver.request(&mut connection, Slot(index), index, &mut out);
    }
    assert_eq!(driver.abandon(&mut connection, Slot(1), &mut out), Fate::Keep);
    assert_eq!(driver.room(&connection), 0, "its answer is still to come");
    let bytes = b"$-1\r\n-ERR late\r\n$1\r\na\r\n";
    assert_eq!(driver.receive(&mut connection, bytes, &mut out, &mut events), Fate::Keep);
    let done = |slot, code, bytes| Event::Done { slot: Slot(slot), code, bytes };
    assert_eq!(events, [done(0, 204, 5), done(2, 200, 7)]);
    assert_eq!(driver.room(&connection), 3);
    // Where all have been given up, nothing is lost by closing.
    driver.request(&mut connection, Slot(7), 7, &mut out);
    assert_eq!(driver.abandon(&mut connection, Slot(7), &mut out), Fate::Close);
}

#[test]
fn a_connection_begins_with_its_login() {
    for (answer, succeeded) in [("+OK\r\n", 6), ("-WRONGPASS invalid\r\n", 0)] {
        let table = Arc::new(Table::default());
        let served = table.clone();
        let server = Server::tcp(move |peer| {
            let mut commands = 0;
            serve(Speaks::Redis, peer, |command| {
                commands += 1;
                match commands {
                    3.. if answer.starts_with('-') => {
                        Answer::Bytes(b"-NOAUTH Authentication required.\r\n".to_vec())
                    }
                    1 => {
                        assert_eq!(command.words, ["AUTH", "ann", "secret"].map(str::as_bytes));
                        Answer::Bytes(answer.as_bytes().to_vec())
                    }
                    2 => {
                        assert_eq!(command.words, ["SELECT", "3"].map(str::as_bytes));
                        Answer::Bytes(b"+OK\r\n".to_vec())
                    }
                    _ => served.answer(command),
                }
            });
        });
        let mut config = config(Speaks::Redis, server.address(), Named::WriteOnly, Wanted::DataSet);
        let credentials = Some((b"ann".to_vec(), b"secret".to_vec()));
        config.store.as_mut().unwrap().login = Login { credentials, database: "3".into() };
        let store = config.store.clone().unwrap();
        let checked = check(&config, &store, Before::Load, Duration::from_secs(20));
        match checked {
            Ok(is_there) => assert!(!is_there && succeeded == 6),
            Err(CheckError::Refused { said, .. }) => {
                assert_eq!((said.as_str(), succeeded), ("-WRONGPASS invalid", 0));
            }
            Err(error) => panic!("{error:?}"),
        }
        if succeeded == 0 {
            let cause = std::error::Error::source(&refused(&config)).unwrap().to_string();
            assert_eq!(cause, "it answers `-WRONGPASS invalid`");
            continue;
        }
        let seen = drive(&config, &closed(1, 20_000, Some(6)));
        assert_eq!(seen.counts().succeeded, succeeded, "{:?}", seen.counts());
        assert_eq!(table.len() as u64, succeeded);
    }
}

#[test]
fn a_store_is_asked_for_its_last_record_before_a_load() {
    for speaks in BOTH {
        let table = Arc::new(Table::default());
        let server = server(speaks, &table);
        let config = config(speaks, server.address(), Named::ReadOnly, Wanted::DataSet);
        let store = config.store.clone().unwrap();
        let ask = |config: &Config| check(config, &store, Before::Load, Duration::from_secs(20));
        assert!(!ask(&config).unwrap());
        drive(&config, &closed(4, 20_000, Some(200)));
        assert!(ask(&config).unwrap());
        // Each is none of the other.
        let mut other = config.clone();
        let another = BOTH.into_iter().find(|other| *other != speaks).unwrap();
        other.protocol = another.protocol();
        let stranger = Server::tcp(|mut peer| {
            let mut some = [0; 16];
            let _ = peer.stream.read(&mut some);
            peer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        });
        other.endpoint = plimsoll_load::Endpoint::Tcp(stranger.address());
        let error = ask(&other).unwrap_err();
        assert!(matches!(error, CheckError::Protocol { .. }), "{error:?}");
    }
}

#[test]
fn mutated_answers_end_once_whatever_their_pieces() {
    for seed in 0..3_000 {
        mutate::case(seed);
        mutate::round(seed);
    }
}
