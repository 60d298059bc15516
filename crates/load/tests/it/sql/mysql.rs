//! MySQL and MariaDB: what a server sends, and what we make of it.

use super::mutate::case;
use super::wire::{Wire, after, answered, is_no_connection, record_anew, store, understood};
use crate::mutation::below;
use crate::server::Peer;
use plimsoll_load::driver::{Event, Fate, Slot};
use plimsoll_load::mysql::Mysql;
use plimsoll_load::store::{Opening, Transport};
use plimsoll_runs::ErrorKind;
use plimsoll_workload::random::Stream;
use plimsoll_workload::request::Scheme;
use plimsoll_workload::store::{Kind, Wanted};

const RECORDED: &str = include_str!("../../fixtures/mariadb-10.11.txt");

/// A packet.
fn packet(sequence: u8, body: &[u8]) -> Vec<u8> {
    let len = u32::try_from(body.len()).unwrap().to_le_bytes();
    [&len[..3], &[sequence], body].concat()
}

fn handshake(method: &str) -> Vec<u8> {
    let mut body = b"\x0a8.4.0\0\x05\0\0\0abcdefgh\0".to_vec();
    body.extend_from_slice(b"\xff\xff\xff\x02\0\xff\xdf\x15\0\0\0\0\0\0\0\0\0\0");
    body.extend_from_slice(b"ijklmnopqrst\0");
    packet(0, &[&body, method.as_bytes(), b"\0"].concat())
}

fn ok(sequence: u8, matched: u8) -> Vec<u8> {
    packet(sequence, &[0, matched, 0, 2, 0, 0, 0])
}

fn error(sequence: u8, number: u16, text: &str) -> Vec<u8> {
    packet(sequence, &[b"\xff", &number.to_le_bytes()[..], b"#HY000", text.as_bytes()].concat())
}

const END: [u8; 5] = [0xfe, 0, 0, 2, 0];

/// What describes a column or a parameter.
fn described(sequence: u8) -> Vec<u8> {
    packet(sequence, b"\x03def\0\0\0\x01?\0\x0c\x3f\0\0\0\0\0\xfd\x80\0\0\0\0")
}

/// The answer to the preparation of a statement.
fn prepared(number: u8, columns: u8, parameters: u8) -> Vec<u8> {
    let mut bytes = packet(1, &[0, number, 0, 0, 0, columns, 0, parameters, 0, 0, 0, 0]);
    let mut sequence = 2;
    for count in [parameters, columns].into_iter().filter(|count| *count > 0) {
        for _ in 0..count {
            bytes.extend(described(sequence));
            sequence += 1;
        }
        bytes.extend(packet(sequence, &END));
        sequence += 1;
    }
    bytes
}

fn all_prepared() -> Vec<u8> {
    [prepared(1, 1, 1), prepared(2, 0, 2), prepared(3, 0, 2)].concat()
}

/// The answer to a read.
fn rows(values: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = [packet(1, &[1]), described(2), packet(3, &END)].concat();
    let mut sequence = 4;
    for value in values {
        let mut row = vec![0, 0];
        match u16::try_from(value.len()).unwrap() {
            small @ 0..251 => row.extend_from_slice(&small.to_le_bytes()[..1]),
            large => row.extend_from_slice(&[&[0xfc], &large.to_le_bytes()[..]].concat()),
        }
        row.extend_from_slice(value);
        bytes.extend(packet(sequence, &row));
        sequence += 1;
    }
    bytes.extend(packet(sequence, &END));
    bytes
}

struct Wired;

impl Wire for Wired {
    type Speech = Mysql;
    const SCHEME: &'static Scheme = &plimsoll_load::mysql::SCHEME;

    fn speech(opening: Opening) -> Mysql {
        Mysql::new(opening, Transport::Unix)
    }

    fn let_in() -> Vec<u8> {
        [handshake("mysql_native_password"), ok(2, 0), ok(1, 0), all_prepared()].concat()
    }

    fn login(random: &mut Stream) -> (Vec<u8>, bool) {
        let switch = b"\xfecaching_sha2_password\0abcdefghijklmnopqrst\0";
        let way = below(random, 5);
        let told = match way {
            0 => ok(2, 0),
            1 => [packet(2, switch), packet(4, &[1, 3]), ok(5, 0)].concat(),
            2 => [packet(2, switch), packet(4, &[1, 4]), ok(6, 0)].concat(),
            3 => error(2, 1045, "Access denied for user 'ann'"),
            _ => packet(2, b"\xfeauth_gssapi_client\0principal"),
        };
        let method = ["mysql_native_password", "client_ed25519"][below(random, 2)];
        ([handshake(method), told, ok(1, 0), all_prepared()].concat(), way < 3)
    }

    fn answer(random: &mut Stream, kind: Kind, _: u16) -> (Vec<u8>, u16) {
        let value = vec![0; [0, 1, 250, 251, 1023, 5000][below(random, 6)]];
        match (below(random, 8), kind) {
            (0, _) => (error(1, 1205, "Lock wait timeout exceeded"), 503),
            (1, Kind::Read) => (rows(&[]), 204),
            (_, Kind::Read) => (rows(&[value]), 200),
            (1, Kind::Update) => (ok(1, 0), 204),
            (_, Kind::Update | Kind::Insert) => (ok(1, 1), 200),
        }
    }

    fn word(random: &mut Stream) -> Vec<u8> {
        match below(random, 6) {
            0 => ok(1, 1),
            1 => error(1, 1053, "Server shutdown in progress"),
            2 => rows(&[]),
            3 => packet(1, &[0xfb]),
            4 => vec![0xff; 4],
            _ => packet(2, &END),
        }
    }
}

#[test]
fn what_mariadb_said_is_understood_in_any_pieces() {
    understood::<Wired>(RECORDED);
}

#[test]
#[ignore = "records anew, with a server at PLIMSOLL_RECORD"]
fn record_an_exchange_with_mariadb() {
    record_anew::<Wired>("MariaDB 10.11.19 of Debian 12", "mariadb-10.11.txt");
}

#[test]
fn mutated_bytes_end_once_whatever_their_pieces() {
    for seed in 0..3_000 {
        case::<Wired>(seed);
    }
}

/// A driver whose connections are on such a transport.
fn driver(transport: Transport) -> Mysql {
    Mysql::new(store(Wanted::Mixed).opening(), transport)
}

#[test]
fn the_password_itself_goes_where_nobody_can_hear_it() {
    let begin = [handshake("caching_sha2_password"), packet(2, &[1, 4])].concat();
    let (fate, why, out) = after(driver(Transport::Tcp), &begin);
    let why = why.unwrap();
    assert!(fate == Fate::Close && why.contains("over TLS or a Unix socket only"), "{why}");
    assert!(!out.windows(6).any(|part| part == b"secret"));
    let (fate, _, out) = after(driver(Transport::Unix), &begin);
    assert_eq!(fate, Fate::Keep);
    assert!(out.ends_with(b"\x07\0\0\x03secret\0"), "{}", out.escape_ascii());
    // A server that asks for it by another name does not get it.
    for name in ["mysql_clear_password\0", "dialog\0"] {
        let switch = [b"\xfe", name.as_bytes(), b"abcdefghijklmnopqrst\0"].concat();
        let begin = [handshake("mysql_native_password"), packet(2, &switch)].concat();
        let (fate, why, out) = after(driver(Transport::Unix), &begin);
        assert!(fate == Fate::Close && why.unwrap().contains("which is not spoken here"));
        assert!(!out.windows(6).any(|part| part == b"secret"));
    }
}

#[test]
fn who_is_not_let_in_learns_why() {
    let denied = error(2, 1045, "Access denied for user 'ann'");
    let begin = [handshake("mysql_native_password"), denied].concat();
    let (fate, why, _) = after(driver(Transport::Tcp), &begin);
    assert_eq!(
        (fate, why.as_deref()),
        (Fate::Close, Some("it answers `Access denied for user 'ann'`"))
    );
    // Before the handshake there is no SQLSTATE.
    let full = packet(0, b"\xff\x10\x04Too many connections");
    let (fate, why, _) = after(driver(Transport::Tcp), &full);
    assert_eq!((fate, why.as_deref()), (Fate::Close, Some("it answers `Too many connections`")));
    assert_eq!(after(driver(Transport::Tcp), b"HTTP/1.1 400 Bad Request\r\n\r\n").0, Fate::Close);
    assert_eq!(after(driver(Transport::Tcp), &packet(0, b"\x09old")).0, Fate::Close);
}

#[test]
fn a_session_that_commits_nothing_is_refused() {
    let told = packet(1, &[0, 0, 0, 0, 0, 0, 0]);
    let begin = [handshake("mysql_native_password"), ok(2, 0), told].concat();
    let (fate, why, out) = after(driver(Transport::Tcp), &begin);
    assert!(fate == Fate::Close && why.unwrap().contains("autocommit"));
    assert!(out.windows(14).any(|part| part == b"autocommit = 1"));
}

#[test]
fn who_may_not_make_the_table_uses_the_one_that_is_there() {
    let opening = || store(Wanted::DataSet).first_opening(plimsoll_load::store::Before::DataSet);
    let denied = error(1, 1142, "CREATE command denied to user 'ann'");
    let begin = [handshake("mysql_native_password"), ok(2, 0), ok(1, 0), denied].concat();
    let whole = [&begin[..], &prepared(1, 1, 1)].concat();
    let mut driver = plimsoll_load::store::Pipeline::new(
        Mysql::new(opening(), Transport::Tcp),
        store(Wanted::DataSet).operations,
        1,
        false,
    );
    use plimsoll_load::driver::Driver as _;
    let (mut out, mut events) = (Vec::new(), Vec::new());
    let mut connection = driver.open(&mut out);
    assert_eq!(driver.receive(&mut connection, &whole, &mut out, &mut events), Fate::Keep);
    assert!(driver.is_ready(&connection));
    // Where there is none, it is the denial that keeps us from going on.
    let gone = error(1, 1146, "Table 'shop.plimsoll' doesn't exist");
    let (fate, why, _) =
        after(Mysql::new(opening(), Transport::Tcp), &[&begin[..], &gone].concat());
    assert!(fate == Fate::Close && why.unwrap().contains("CREATE command denied"));
}

#[test]
fn answers_are_what_they_say() {
    let done = |code, bytes: &[u8]| Event::Done { slot: Slot(0), code, bytes: bytes.len() as u64 };
    for (answer, code) in [
        (rows(&[]), 204),
        (rows(&[vec![]]), 200),
        (rows(&[vec![7; 3000]]), 200),
        (error(1, 1146, "no such table"), 404),
        (error(1, 1142, "SELECT command denied"), 403),
        (error(1, 1213, "Deadlock found"), 409),
        (error(1, 1114, "The table is full"), 507),
        (error(1, 1064, "You have an error"), 500),
    ] {
        assert_eq!(
            answered::<Wired>(Kind::Read, b"", &answer),
            (Fate::Keep, vec![done(code, &answer)])
        );
    }
    // Behind this one the server closes.
    let answer = error(1, 1053, "Server shutdown in progress");
    let ended = (Fate::Close, vec![done(503, &answer)]);
    assert_eq!(answered::<Wired>(Kind::Read, b"", &answer), ended);
    // And this one it had sent before it saw the request, which goes elsewhere.
    let idle = error(0, 4031, "The client was disconnected by the server because of inactivity");
    let given_back = (Fate::Close, vec![Event::Refused(Slot(0))]);
    assert_eq!(answered::<Wired>(Kind::Update, b"", &idle), given_back);
    let mut null = rows(&[vec![]]);
    let row = null.len() - 9 - 2;
    null[row] = 4;
    let failed = Event::Failed { slot: Slot(0), kind: ErrorKind::Protocol };
    for answer in [
        ok(1, 1),
        rows(&[vec![1], vec![2]]),
        null,
        packet(1, &[2]),
        packet(1, &[0xfb]),
        packet(2, &[1]),
        packet(1, &[]),
        [packet(1, &[1]), described(2), packet(3, &END), packet(4, &[0, 0, 9, 1])].concat(),
        vec![0xff, 0xff, 0xff, 1],
    ] {
        let (fate, events) = answered::<Wired>(Kind::Read, b"", &answer);
        assert_eq!((fate, events), (Fate::Close, vec![failed]), "{}", answer.escape_ascii());
    }
}

#[test]
fn a_refused_login_is_no_connection() {
    let said = "Access denied for user 'ann'";
    let serve = move |peer: &mut Peer| {
        peer.write(&handshake("mysql_native_password"));
        let _ = peer.stream.read(&mut [0; 256]);
        peer.write(&error(2, 1045, said));
    };
    is_no_connection::<Wired>(serve, said);
}
