//! The manual's tables of codes (docs/stores.md, docs/databases.md), read and compared with what
//! the drivers make of each error that stands in them.

use plimsoll_load::driver::{Driver, Event, Fate, Slot};
use plimsoll_load::memcached::Memcached;
use plimsoll_load::mysql::Mysql;
use plimsoll_load::postgres::Postgres;
use plimsoll_load::redis::Redis;
use plimsoll_load::store::{Login, Pipeline, Replicas, Speech, Store, Transport};
use plimsoll_workload::size::Sizes;
use plimsoll_workload::store::{Named, Operations, Wanted, Workload};
use std::sync::Arc;

/// The rows of the first table of a page whose head begins so: the code, and its cells.
fn table(page: &str, head: &str) -> Vec<(u16, Vec<String>)> {
    let file = format!("{}/../../docs/{page}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(file).unwrap();
    let rows = text.lines().skip_while(|line| !line.starts_with(head)).skip(2);
    let rows: Vec<_> = rows
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let mut cells = line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned());
            let code = cells.next().unwrap();
            (code[..3].parse().unwrap(), cells.collect())
        })
        .collect();
    assert!(rows.len() > 8, "{page} has no table that begins with {head}");
    rows
}

/// What stands in backticks.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// What stands in parentheses, between commas.
fn numbers(cell: &str) -> Vec<&str> {
    let inside = cell.split('(').skip(1).filter_map(|rest| rest.split(')').next());
    inside.flat_map(|list| list.split(", ")).collect()
}

fn store() -> Store {
    let (mix, keys) = (Named::ReadOnly.mix(), Named::ReadOnly.keys());
    let workload = Workload { mix, keys, records: 10, value_size: Sizes::Fixed(8) };
    let operations = Arc::new(Operations::new(&workload, 5, Wanted::Mixed));
    Store { operations, login: Login::default(), replicas: Replicas::default() }
}

/// The code of a read on a connection that was let in by some bytes and is answered by others.
fn code<S: Speech>(speech: S, let_in: &[u8], answer: &[u8]) -> Option<u16> {
    let mut driver = Pipeline::new(speech, store().operations, 1, false);
    let (mut out, mut events) = (Vec::new(), Vec::new());
    let mut connection = driver.open(&mut out);
    assert_eq!(driver.receive(&mut connection, let_in, &mut out, &mut events), Fate::Keep);
    driver.request(&mut connection, Slot(0), 0, &mut Vec::new());
    driver.receive(&mut connection, answer, &mut out, &mut events);
    match events[..] {
        [Event::Done { code, .. }] => Some(code),
        _ => None,
    }
}

#[test]
fn key_value_stores_give_the_codes_of_the_manual() {
    let mut errors = 0;
    for (wanted, cells) in table("stores.md", "| code | Redis | memcached |") {
        for error in quoted(&cells[0]).iter().filter(|word| word.starts_with('-')) {
            let answer = format!("{error}\r\n");
            let found = code(Redis::new(Login::default()), b"+PONG\r\n", answer.as_bytes());
            assert_eq!(found, Some(wanted), "{error}");
            errors += 1;
        }
        for error in quoted(&cells[1]).iter().filter(|word| word.contains("ERROR")) {
            // A kind of errors stands for one of them.
            let more = if matches!(*error, "CLIENT_ERROR" | "SERVER_ERROR") { " odd" } else { "" };
            let answer = format!("{error}{more}\r\n");
            let found = code(Memcached, b"VERSION 1.6.18\r\n", answer.as_bytes());
            assert_eq!(found, Some(wanted), "{error}");
            errors += 1;
        }
    }
    assert!(errors > 20, "{errors} errors stand in the table");
}

fn packet(sequence: u8, body: &[u8]) -> Vec<u8> {
    let len = u32::try_from(body.len()).unwrap().to_le_bytes();
    [&len[..3], &[sequence], body].concat()
}

#[test]
fn mysql_gives_the_codes_of_the_manual() {
    let handshake = [
        &b"\x0a8.4.0\0\x05\0\0\0abcdefgh\0\xff\xff\xff\x02\0\xff\xdf\x15\0\0\0\0\0\0\0\0\0\0"[..],
        b"ijklmnopqrst\0mysql_native_password\0",
    ];
    let ok = [0, 0, 0, 2, 0, 0, 0];
    let column = b"\x03def\0\0\0\x01?\0\x0c\x3f\0\0\0\0\0\xfd\x80\0\0\0\0";
    let end = [0xfe, 0, 0, 2, 0];
    // Let in, its session set, and a statement of one parameter and one column prepared.
    let let_in = [
        packet(0, &handshake.concat()),
        packet(2, &ok),
        packet(1, &ok),
        packet(1, &[0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]),
        packet(2, column),
        packet(3, &end),
        packet(4, column),
        packet(5, &end),
    ];
    let mut errors = 0;
    for (wanted, cells) in table("databases.md", "| code | MySQL, MariaDB | PostgreSQL |") {
        for number in numbers(&cells[0]) {
            let number: u16 = number.parse().unwrap();
            let error = [b"\xff", &number.to_le_bytes()[..], b"#HY000words"].concat();
            let speech = Mysql::new(store().opening(), Transport::Tcp);
            let found = code(speech, &let_in.concat(), &packet(1, &error));
            assert_eq!(found, Some(wanted), "{number}");
            errors += 1;
        }
    }
    assert!(errors > 20, "{errors} errors stand in the table");
}

#[test]
fn postgresql_gives_the_codes_of_the_manual() {
    let message = |tag: u8, body: &[u8]| {
        let len = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
        [&[tag], &len[..], body].concat()
    };
    let ready = message(b'Z', b"I");
    let let_in =
        [message(b'R', &[0; 4]), ready.clone(), message(b'1', b""), ready.clone()].concat();
    let mut errors = 0;
    for (wanted, cells) in table("databases.md", "| code | MySQL, MariaDB | PostgreSQL |") {
        for state in numbers(&cells[1]) {
            // A class stands for its members.
            let state =
                state.strip_suffix('…').map_or(state.to_owned(), |class| format!("{class}000"));
            let error = message(b'E', format!("SERROR\0VERROR\0C{state}\0Mno\0\0").as_bytes());
            let speech = Postgres::new(store().opening(), Transport::Tcp);
            let found = code(speech, &let_in, &[error, ready.clone()].concat());
            assert_eq!(found, Some(wanted), "{state}");
            errors += 1;
        }
    }
    assert!(errors > 10, "{errors} errors stand in the table");
}
