//! MySQL and MariaDB: their client/server protocol, with prepared statements in its binary form.
//!
//! A connection begins with a login, sets what its session has to be like, and prepares the
//! statements that its load will execute; only then it counts as open. Each request executes one
//! statement in a transaction of its own (autocommit), and is answered by a row, by none, by the
//! number of matched rows, or by an error.
//!
//! - A read is a `SELECT` by primary key.
//! - An update is an `UPDATE` by primary key, as in YCSB's binding for JDBC, and not an upsert, by
//!   which InnoDB takes next-key locks, so that concurrent ones deadlock. Where no row matches, the
//!   record is missing.
//! - An insertion is an `INSERT … ON DUPLICATE KEY UPDATE`, so that a data set can be written
//!   twice, and a run be repeated.
//!
//! Source: MySQL Client/Server Protocol, "Command Phase" (`COM_STMT_PREPARE`, `COM_STMT_EXECUTE`,
//! "Binary Protocol Resultset"), which MariaDB shares.

mod code;
mod entry;
mod login;
mod packet;
mod scheme;

pub use scheme::SCHEME;

use crate::store::bytes::Reader;
use crate::store::frames::Malformed;
use crate::store::packets::Packeted;
use crate::store::{Opening, Reply, Speech, Spoken, Transport};
use login::{Method, NONCE};
use packet::{Numbered, push, push_string, whole_of_any_length};
use plimsoll_workload::store::{Kind, Operation};

/// The table, where there is none.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS plimsoll (\
                     id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY, \
                     value LONGBLOB NOT NULL)";

/// The statement of a kind of operation.
fn statement(kind: Kind) -> &'static str {
    match kind {
        Kind::Read => "SELECT value FROM plimsoll WHERE id = ?",
        Kind::Update => "UPDATE plimsoll SET value = ? WHERE id = ?",
        Kind::Insert => {
            "INSERT INTO plimsoll (id, value) VALUES (?, ?) \
             ON DUPLICATE KEY UPDATE value = VALUES(value)"
        }
    }
}

/// How many parameters it has, and how many columns its rows.
fn shape(kind: Kind) -> (u16, u16) {
    if kind == Kind::Read { (1, 1) } else { (2, 0) }
}

/// What a session has to be like, whatever the server's settings are: each statement is a
/// transaction of its own, and a value that does not fit its column is an error, not cut.
const SESSION: &str = "SET SESSION autocommit = 1, sql_mode = 'STRICT_ALL_TABLES'";
/// `SERVER_STATUS_AUTOCOMMIT`: of a session, as each answer tells it.
const AUTOCOMMIT: u64 = 1 << 1;

const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
/// Types of parameters, with the byte for signed.
const VAR_STRING: [u8; 2] = [0xfd, 0];
const LONG_BLOB: [u8; 2] = [0xfb, 0];
/// What to do where a user is not let in: the server does not say whether it is for want of TLS.
const DENIED: &str = "check the password, and the user, in the URL; one who has to come by TLS is \
                      let in by mysqls:// only, and it may be with a certificate (--cert)";
/// First bytes of packets.
const OK: u8 = 0x00;
const MORE: u8 = 0x01;
const END: u8 = 0xfe;
const ERROR: u8 = 0xff;

/// How MySQL and MariaDB speak.
#[derive(Debug, Clone)]
pub struct Mysql {
    opening: Opening,
    transport: Transport,
}

/// What a connection keeps.
pub type Connection = Packeted<Numbered, Own>;

/// What of it is of this protocol.
pub struct Own {
    /// The sequence number of the next packet.
    sequence: u8,
    phase: Phase,
    method: Method,
    nonce: [u8; NONCE],
    /// The numbers of the statements of reads, updates and insertions.
    statements: [u32; 3],
    /// Why the table could not be made.
    denied: Vec<u8>,
}

/// What the next packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The server's handshake.
    Handshake,
    /// TLS, for which we have asked: nothing of this protocol before it is there.
    Encryption,
    /// What it makes of our answer.
    Login,
    /// Whether the session is as we need it.
    Session,
    /// Whether there is a table.
    Table,
    /// The number of a statement, by its place among those that are prepared.
    Statement(usize),
    /// So many packets that describe it.
    Described(usize, u16),
    /// The first of an answer.
    Answer,
    /// What describes the columns of an answer's rows, and its end.
    Column,
    ColumnsEnd,
    /// A row, or the end of the rows; whether there was one.
    Row(bool),
}

impl Mysql {
    /// For connections that begin so, on such a transport.
    #[must_use]
    pub fn new(opening: Opening, transport: Transport) -> Self {
        Self { opening, transport }
    }

    /// Sends what follows the login.
    fn begin(state: &mut Connection, out: &mut Vec<u8>) {
        command(COM_QUERY, SESSION.as_bytes(), out);
        state.answered(Phase::Session);
    }

    /// Looks whether the session is as it was told to be, and goes on.
    fn settle(
        &self,
        state: &mut Connection,
        out: &mut Vec<u8>,
    ) -> Result<Option<Reply>, Malformed> {
        let mut reader = Reader(state.packets.body());
        if reader.little_endian(1)? != u64::from(OK) {
            return Err(Malformed);
        }
        // Rows that were changed, and a number of one.
        whole_of_any_length(&mut reader)?;
        whole_of_any_length(&mut reader)?;
        if reader.little_endian(2)? & AUTOCOMMIT == 0 {
            return Ok(Some(state.object(
                "it was told to commit each statement by itself (autocommit = 1) and does not; \
                 have it keep what a session sets"
                    .to_owned(),
            )));
        }
        self.make(state, out);
        Ok(None)
    }

    /// Sends what makes the table, or the statements where that is not wanted.
    fn make(&self, state: &mut Connection, out: &mut Vec<u8>) {
        if self.opening.makes_table {
            command(COM_QUERY, TABLE.as_bytes(), out);
            state.answered(Phase::Table);
        } else {
            self.prepare(state, out);
        }
    }

    /// Sends what makes statements, all at once.
    fn prepare(&self, state: &mut Connection, out: &mut Vec<u8>) {
        for kind in &self.opening.prepares {
            command(COM_STMT_PREPARE, statement(*kind).as_bytes(), out);
        }
        state.answered(self.prepared(0));
    }

    /// What is awaited when so many statements are there.
    fn prepared(&self, count: usize) -> Phase {
        if count < self.opening.prepares.len() { Phase::Statement(count) } else { Phase::Answer }
    }

    /// Deals with a statement's number.
    fn number(&self, state: &mut Connection, nth: usize) -> Result<(), Malformed> {
        let mut reader = Reader(state.packets.body());
        if reader.little_endian(1)? != u64::from(OK) {
            return Err(Malformed);
        }
        let number = reader.little_endian(4)?;
        let columns = reader.little_endian(2)?;
        let parameters = reader.little_endian(2)?;
        let kind = *self.opening.prepares.get(nth).ok_or(Malformed)?;
        if (parameters, columns) != (u64::from(shape(kind).0), u64::from(shape(kind).1)) {
            return Err(Malformed);
        }
        state.own.statements[kind as usize] = u32::try_from(number).map_err(|_| Malformed)?;
        // Each list of descriptions has an end.
        let list = |count: u16| if count > 0 { count + 1 } else { 0 };
        state.own.phase = Phase::Described(nth, list(shape(kind).0) + list(shape(kind).1));
        Ok(())
    }

    /// Deals with a whole packet.
    fn packet(
        &self,
        state: &mut Connection,
        out: &mut Vec<u8>,
    ) -> Result<Option<Reply>, Malformed> {
        let first = *state.packets.body().first().ok_or(Malformed)?;
        // An error may come at any time: of a server that has too many connections, or shuts down.
        if first == ERROR {
            let phase = state.own.phase;
            let reply = state.error()?;
            match (phase, reply) {
                // Who may not make the table may use the one that is there.
                (Phase::Table, Reply::Error(403)) => {
                    state.own.denied.clone_from(&state.said);
                    self.prepare(state, out);
                    return Ok(None);
                }
                (Phase::Statement(_), Reply::Error(404)) if !state.own.denied.is_empty() => {
                    state.said = std::mem::take(&mut state.own.denied);
                    return Ok(Some(Reply::Error(403)));
                }
                _ => return Ok(Some(reply)),
            }
        }
        if state.packets.head()[3] != state.own.sequence {
            return Err(Malformed);
        }
        state.own.sequence = state.own.sequence.wrapping_add(1);
        match state.own.phase {
            Phase::Handshake => return self.shake(state, out),
            Phase::Encryption => return Err(Malformed),
            Phase::Login => return self.login(state, out),
            Phase::Session => return self.settle(state, out),
            Phase::Table if first == OK => self.prepare(state, out),
            Phase::Table => return Err(Malformed),
            Phase::Statement(nth) => self.number(state, nth)?,
            Phase::Described(nth, 1) => state.answered(self.prepared(nth + 1)),
            Phase::Described(nth, left) => state.own.phase = Phase::Described(nth, left - 1),
            Phase::Answer | Phase::Column | Phase::ColumnsEnd | Phase::Row(_) => {
                return state.answer(first);
            }
        }
        Ok(None)
    }
}

impl Connection {
    /// What was sent counts in the sequence.
    fn go_on(&mut self, phase: Phase) {
        self.own.sequence = self.own.sequence.wrapping_add(1);
        self.own.phase = phase;
    }

    /// The answer to a command is whole: the next one's begins.
    fn answered(&mut self, phase: Phase) {
        (self.own.sequence, self.own.phase) = (1, phase);
    }

    fn object(&mut self, why: String) -> Reply {
        self.objection = Some(why);
        Reply::Error(401)
    }

    /// Deals with an error.
    fn error(&mut self) -> Result<Reply, Malformed> {
        let mut reader = Reader(&self.packets.body()[1..]);
        let number = reader.little_endian(2)?;
        // Behind a `#` stands the SQLSTATE; before the login there may be none.
        let text = match reader.0 {
            [b'#', rest @ ..] => rest.get(5..).unwrap_or_default(),
            text => text,
        };
        self.said.clear();
        self.said.extend_from_slice(text);
        let number = u16::try_from(number).map_err(|_| Malformed)?;
        if self.is_ready() {
            self.answered(Phase::Answer);
        }
        Ok(match number {
            code::IDLE => Reply::Idle,
            _ if code::ends_connection(number) => Reply::Final(code::of(number)),
            _ => Reply::Error(code::of(number)),
        })
    }

    fn is_ready(&self) -> bool {
        matches!(self.own.phase, Phase::Answer | Phase::Column | Phase::ColumnsEnd | Phase::Row(_))
    }

    /// Deals with a packet of an answer.
    fn answer(&mut self, first: u8) -> Result<Option<Reply>, Malformed> {
        let len = self.packets.body_len();
        let is_end = first == END && len < 9;
        match self.own.phase {
            Phase::Answer if first == OK => {
                let mut reader = Reader(&self.packets.body()[1..]);
                let matched = whole_of_any_length(&mut reader)?;
                self.answered(Phase::Answer);
                return Ok(Some(if matched > 0 { Reply::Done } else { Reply::Unmatched }));
            }
            // The number of columns.
            Phase::Answer if (first, len) == (1, 1) => self.own.phase = Phase::Column,
            Phase::Column if !is_end => self.own.phase = Phase::ColumnsEnd,
            Phase::ColumnsEnd if is_end => self.own.phase = Phase::Row(false),
            Phase::Row(false) if first == OK => {
                self.row()?;
                self.own.phase = Phase::Row(true);
            }
            Phase::Row(found) if is_end => {
                self.answered(Phase::Answer);
                return Ok(Some(if found { Reply::Found } else { Reply::Missing }));
            }
            _ => return Err(Malformed),
        }
        Ok(None)
    }

    /// Looks whether a row is one value that is there, as long as it says.
    fn row(&mut self) -> Result<(), Malformed> {
        let mut reader = Reader(&self.packets.body()[1..]);
        let nulls = reader.little_endian(1)?;
        let value = whole_of_any_length(&mut reader)?;
        let before = self.packets.body().len() - reader.0.len();
        if nulls != 0 || value != (self.packets.body_len() - before) as u64 {
            return Err(Malformed);
        }
        self.value_len = Some(value);
        Ok(())
    }
}

/// Appends a command, which begins a sequence.
fn command(command: u8, text: &[u8], out: &mut Vec<u8>) {
    push(0, out, |out| {
        out.push(command);
        out.extend_from_slice(text);
    });
}

impl Spoken for Mysql {
    const NAME: &'static str = "MySQL's protocol";

    fn begun(opening: Opening, transport: Transport) -> Self {
        Self::new(opening, transport)
    }

    fn hint(code: u16, said: &str) -> Option<&'static str> {
        let is_denied = code == 401 && said.starts_with("Access denied");
        is_denied.then_some(DENIED)
    }
}

impl Speech for Mysql {
    type State = Connection;

    const BEGINS_PLAIN: bool = true;

    fn open(&self, _: &mut Vec<u8>) -> (Connection, u32) {
        let own = Own {
            sequence: 0,
            phase: Phase::Handshake,
            method: Method::Native,
            nonce: [0; NONCE],
            statements: [0; 3],
            denied: Vec::new(),
        };
        (Packeted::new(own), 0)
    }

    fn is_ready(state: &Connection) -> bool {
        state.is_ready()
    }

    fn wants_tls(state: &Connection) -> bool {
        state.own.phase == Phase::Encryption
    }

    fn encrypted(&self, state: &mut Connection, out: &mut Vec<u8>) {
        self.log_in(state, out);
    }

    fn command(state: &Connection, _: u16, operation: &Operation, value: &[u8], out: &mut Vec<u8>) {
        let key = operation.key();
        push(0, out, |out| {
            out.push(COM_STMT_EXECUTE);
            out.extend_from_slice(&state.own.statements[operation.kind as usize].to_le_bytes());
            // No cursor, once; no parameter is NULL, and their types follow.
            out.extend_from_slice(&[0, 1, 0, 0, 0, 0, 1]);
            match operation.kind {
                Kind::Read => {
                    out.extend_from_slice(&VAR_STRING);
                    push_string(&key, out);
                }
                Kind::Update => {
                    out.extend_from_slice(&LONG_BLOB);
                    out.extend_from_slice(&VAR_STRING);
                    push_string(value, out);
                    push_string(&key, out);
                }
                Kind::Insert => {
                    out.extend_from_slice(&VAR_STRING);
                    out.extend_from_slice(&LONG_BLOB);
                    push_string(&key, out);
                    push_string(value, out);
                }
            }
        });
    }

    fn take(
        &self,
        state: &mut Connection,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(usize, Option<Reply>), Malformed> {
        let (n, is_whole) = state.packets.take(bytes)?;
        // Only values are long: whoever speaks so at the door speaks something else.
        if !state.is_ready() && state.packets.is_long() {
            return Err(Malformed);
        }
        let reply = if is_whole { self.packet(state, out)? } else { None };
        Ok((n, reply))
    }
}
