//! MariaDB and MySQL: `SHOW GLOBAL STATUS`, for which a user needs no rights.
//!
//! The user has no password: one that can do nothing else needs none, and none is kept then. Names
//! are those of mysqld_exporter. The collector's connection and its queries are among those that
//! the server counts.
//!
//! Source: MySQL Client/Server Protocol, which MariaDB shares: "Connection Phase Packets",
//! `COM_QUERY` and its "Text Resultset".

use plimsoll_units::ParseError;

use super::ask::{Conversation, Talk, limits};
use crate::collector::{CollectError, Collector, Kind, Need};
use crate::read::number;
use crate::sample::{Group, Samples, Series, counter, gauge};

/// The collector `mariadb`.
pub(crate) const KIND: Kind = Kind {
    name: "mariadb",
    about: "MariaDB and MySQL: queries, connections, InnoDB's pages, from `SHOW GLOBAL STATUS`",
    needs: &[Need::Address],
    groups: &[&COMMANDS, &HANDLERS, &GROUP],
    make: |source| {
        let address = source.address.as_deref().unwrap_or_default();
        let (user, address) = address.rsplit_once('@').unwrap_or((USER, address));
        if user.contains(':') {
            let wanted = "USER@HOST:PORT, of a user without a password";
            return Err(ParseError::new(wanted, "USER:…@", 0, user.len()));
        }
        let conversation = Conversation::with(address, "mysql", 3306, limits(source.limit))?;
        let user = user.to_owned();
        let conversation = conversation.opened_by(move |talk| log_in(&user, talk));
        Ok(Box::new(MariaDb { conversation }))
    },
};

/// Who asks, where nobody is named.
const USER: &str = "monitor";

const fn command(key: &'static str) -> Series {
    counter(key, "mysql_global_status_commands_total", "", "statements by their kind")
        .by(&["command"])
}

const COMMANDS: Group = Group {
    source: "SHOW GLOBAL STATUS",
    series: &[
        command("Com_select"),
        command("Com_insert"),
        command("Com_update"),
        command("Com_delete"),
        command("Com_replace"),
        command("Com_begin"),
        command("Com_commit"),
        command("Com_rollback"),
    ],
};

const fn handler(key: &'static str) -> Series {
    counter(key, "mysql_global_status_handlers_total", "", "rows and more, by what was done")
        .by(&["handler"])
}

const HANDLERS: Group = Group {
    source: "SHOW GLOBAL STATUS",
    series: &[
        handler("Handler_read_key"),
        handler("Handler_read_next"),
        handler("Handler_read_rnd_next"),
        handler("Handler_write"),
        handler("Handler_update"),
        handler("Handler_delete"),
    ],
};

const GROUP: Group = Group {
    source: "SHOW GLOBAL STATUS",
    series: &[
        gauge("Uptime", "mysql_global_status_uptime", "s", "since its start"),
        gauge("Threads_connected", "mysql_global_status_threads_connected", "", "connections"),
        gauge("Threads_running", "mysql_global_status_threads_running", "", "threads that work"),
        counter("Connections", "mysql_global_status_connections", "", "connections tried"),
        gauge(
            "Max_used_connections",
            "mysql_global_status_max_used_connections",
            "",
            "the most connections at once since its start",
        ),
        counter(
            "Connection_errors_max_connections",
            "mysql_global_status_connection_errors_max_connections",
            "",
            "connections refused at the limit",
        ),
        counter(
            "Aborted_connects",
            "mysql_global_status_aborted_connects",
            "",
            "connections that did not come about",
        ),
        counter(
            "Aborted_clients",
            "mysql_global_status_aborted_clients",
            "",
            "connections that ended without a farewell",
        ),
        counter(
            "Queries",
            "mysql_global_status_queries",
            "",
            "statements, those within procedures too",
        ),
        counter("Questions", "mysql_global_status_questions", "", "statements of clients"),
        counter(
            "Slow_queries",
            "mysql_global_status_slow_queries",
            "",
            "statements beyond `long_query_time`",
        ),
        counter("Bytes_received", "mysql_global_status_bytes_received", "bytes", "received"),
        counter("Bytes_sent", "mysql_global_status_bytes_sent", "bytes", "sent"),
        counter(
            "Created_tmp_disk_tables",
            "mysql_global_status_created_tmp_disk_tables",
            "",
            "temporary tables on disk",
        ),
        counter("Qcache_hits", "mysql_global_status_qcache_hits", "", "answers of the query cache"),
        counter(
            "Innodb_buffer_pool_read_requests",
            "mysql_global_status_innodb_buffer_pool_read_requests",
            "",
            "pages that InnoDB looked for",
        ),
        counter(
            "Innodb_buffer_pool_reads",
            "mysql_global_status_innodb_buffer_pool_reads",
            "",
            "those of them that it had to read from disk",
        ),
        counter(
            "Innodb_data_read",
            "mysql_global_status_innodb_data_read",
            "bytes",
            "read from disk",
        ),
        counter(
            "Innodb_data_written",
            "mysql_global_status_innodb_data_written",
            "bytes",
            "written to disk",
        ),
        counter(
            "Innodb_row_lock_waits",
            "mysql_global_status_innodb_row_lock_waits",
            "",
            "times that a row's lock was waited for",
        ),
        counter(
            "Innodb_row_lock_time",
            "mysql_global_status_innodb_row_lock_time",
            "ms",
            "how long that took in all",
        ),
        counter("Innodb_deadlocks", "mysql_global_status_innodb_deadlocks", "", "deadlocks"),
    ],
};

struct MariaDb {
    conversation: Conversation,
}

impl Collector for MariaDb {
    fn collect(&mut self, out: &mut Samples) -> Result<(), CollectError> {
        let query = packet(0, b"\x03SHOW GLOBAL STATUS");
        let answer = self.conversation.ask(&query, is_whole)?;
        let result = parse(&answer, out);
        if result.is_err() {
            self.conversation.hang_up();
        }
        result
    }
}

/// What a client can do (`CLIENT_…`): long passwords, 4.1's protocol and authentication, methods by
/// their names.
const CAPABILITIES: u32 = 1 | 1 << 9 | 1 << 15 | 1 << 19;
/// The method whose answer for an empty password is empty, as that of all others is.
const METHOD: &[u8] = b"mysql_native_password\0";
/// The longest packet of ours, as the server is told.
const LONGEST: u32 = 1 << 16;

/// A packet: three bytes of length, its number in the exchange, the body.
fn packet(number: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap_or(LONGEST).to_le_bytes();
    [&length[..3], &[number], body].concat()
}

/// The bodies of whole packets, one after the other.
fn packets(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (head, rest) = bytes.split_first_chunk::<4>()?;
        let length = usize::from(head[0]) | usize::from(head[1]) << 8 | usize::from(head[2]) << 16;
        let (body, rest) = rest.split_at_checked(length)?;
        bytes = rest;
        Some(body)
    })
}

/// How the body of an error begins, and one that ends a list, or asks for another method.
const ERROR: u8 = 0xff;
const END: u8 = 0xfe;
/// The longest body that ends a list: one of a row may begin alike.
const LONGEST_END: usize = 8;

/// Tells the server who asks.
fn log_in(user: &str, talk: &mut Talk<'_>) -> Result<(), CollectError> {
    let one = |answer: &[u8]| packets(answer).next().is_some();
    let greeting = talk(b"", &one)?;
    // Of version 10, or an error, as of a host that is not let in.
    if packets(&greeting).next().and_then(<[u8]>::first) != Some(&10) {
        return Err(refused(&greeting));
    }
    let mut body = [CAPABILITIES.to_le_bytes(), LONGEST.to_le_bytes()].concat();
    body.push(45); // utf8mb4_general_ci
    body.extend_from_slice(&[0; 23]);
    body.extend_from_slice(user.as_bytes());
    body.extend_from_slice(b"\0\0");
    body.extend_from_slice(METHOD);
    let mut answer = talk(&packet(1, &body), &one)?;
    if packets(&answer).next().and_then(<[u8]>::first) == Some(&END) {
        answer = talk(&packet(3, b""), &one)?;
    }
    match packets(&answer).next().and_then(<[u8]>::first) {
        Some(0) => Ok(()),
        _ => Err(refused(&answer)),
    }
}

fn refused(answer: &[u8]) -> CollectError {
    // An error is its mark, two bytes of a number, six of a state, and a text.
    let body = packets(answer).next().unwrap_or_default();
    let text = String::from_utf8_lossy(body.get(9..).unwrap_or_default()).into_owned();
    CollectError::garbage("a login without a password", &text)
}

/// Whether an answer has come whole: its columns end, and then its rows; or it is an error.
pub(crate) fn is_whole(answer: &[u8]) -> bool {
    let first = packets(answer).next().and_then(<[u8]>::first);
    first.is_some_and(|first| matches!(*first, 0 | ERROR))
        || packets(answer).filter(|body| ends(body)).count() == 2
}

fn ends(body: &[u8]) -> bool {
    body.first() == Some(&END) && body.len() <= LONGEST_END
}

/// Reads rows of two texts, a name and a value.
pub(crate) fn parse(answer: &[u8], out: &mut Samples) -> Result<(), CollectError> {
    let garbage = |found: &[u8]| {
        let found = String::from_utf8_lossy(found);
        CollectError::garbage("the rows of SHOW GLOBAL STATUS", &found)
    };
    let mut bodies = packets(answer);
    let first = bodies.next().unwrap_or_default();
    if first.len() != 1 {
        return Err(garbage(first.get(9..).unwrap_or(first)));
    }
    let before = (out.len(), out.left_out());
    let rows = bodies.skip_while(|body| !ends(body)).skip(1).take_while(|body| !ends(body));
    for row in rows {
        let (name, value) = texts(row).ok_or_else(|| garbage(row))?;
        read(name, value, out);
    }
    if before == (out.len(), out.left_out()) {
        return Err(garbage(first));
    }
    Ok(())
}

fn read(name: &str, word: &str, out: &mut Samples) {
    let labels = [name.split_once('_').map_or("", |(_, what)| what)];
    let labelled = COMMANDS.find(name).or_else(|| HANDLERS.find(name));
    let labels = if labelled.is_some() { &labels[..] } else { &[] };
    let Some(series) = labelled.or_else(|| GROUP.find(name)) else { return };
    match number(word).filter(|value| *value >= 0.0) {
        Some(value) => out.push(series, labels, value),
        None => out.leave_out(1, format!("{name} in {}", GROUP.source)),
    }
}

/// The two texts of a row, each of which says its length in a byte, as those below 251 bytes do.
fn texts(row: &[u8]) -> Option<(&str, &str)> {
    let one = |row: &'_ [u8]| -> Option<usize> {
        let (length, _) = row.split_first()?;
        (*length < 251).then_some(usize::from(*length) + 1)
    };
    let (name, rest) = row.split_at_checked(one(row)?)?;
    let (value, rest) = match one(rest) {
        Some(length) => rest.split_at_checked(length)?,
        // A long one, as the text of a certificate, or none.
        None => (&rest[..0], &rest[..0]),
    };
    let text = |bytes| std::str::from_utf8(bytes).ok();
    let is_whole = rest.is_empty();
    Some((text(&name[1..])?, text(value.get(1..).unwrap_or_default())?)).filter(|_| is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An answer of these rows, as MariaDB sends it.
    fn answer(rows: &[(&str, &str)]) -> Vec<u8> {
        let text = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
        let mut all = [packet(1, b"\x02"), packet(2, b"\x03def"), packet(3, b"\x03def")].concat();
        all.extend(packet(4, b"\xfe\0\0\x02\0"));
        for (name, value) in rows {
            all.extend(packet(5, &[text(name), text(value)].concat()));
        }
        all.extend(packet(6, b"\xfe\0\0\x02\0"));
        all
    }

    #[test]
    fn rows_are_read_and_what_is_not_understood_is_counted() {
        let rows = [
            ("Com_select", "7"),
            ("Handler_read_key", "90"),
            ("Threads_running", "2"),
            ("Rpl_status", "AUTH_MASTER"),
            ("Uptime", "long"),
        ];
        let whole = answer(&rows);
        assert!(is_whole(&whole));
        assert!((0..whole.len()).all(|length| !is_whole(&whole[..length])));
        let mut out = Samples::of(None);
        parse(&whole, &mut out).unwrap();
        assert_eq!((out.len(), out.left_out()), (3, 1));
        let keys = [("handler", "read_key")];
        assert_eq!(out.value("mysql_global_status_handlers_total", &keys), Some(90.0));
        let selects = [("command", "select")];
        assert_eq!(out.value("mysql_global_status_commands_total", &selects), Some(7.0));
        assert_eq!(out.value("mysql_global_status_threads_running", &[]), Some(2.0));
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            at in 0..60_usize,
        ) {
            let mut damaged = answer(&[("Uptime", "7")]);
            let at = at % damaged.len();
            damaged.splice(at.., bytes.iter().copied());
            is_whole(&damaged);
            let _ = parse(&damaged, &mut Samples::of(None));
            let _ = parse(&bytes, &mut Samples::of(None));
        }
    }

    #[test]
    fn an_error_is_told_in_the_servers_words() {
        let error = packet(1, b"\xff\x48\x04#HY000no such thing");
        assert!(is_whole(&error));
        let told = parse(&error, &mut Samples::of(None)).unwrap_err().to_string();
        assert!(told.ends_with("found \"no such thing\""), "{told}");
    }
}
