//! PostgreSQL: version 3 of its frontend/backend protocol, with prepared statements in the extended
//! query protocol and its binary format.
//!
//! A connection begins with a login, and prepares the statements that its load will execute; only
//! then it counts as open. Each request binds and executes one statement, and ends by `Sync`: it is
//! a transaction of its own. Its answer ends with `ReadyForQuery`.
//!
//! A read is a `SELECT`, an update an `UPDATE` by primary key, as in YCSB's binding for JDBC: where
//! no row matches, the record is missing. An insertion is an `INSERT … ON CONFLICT … DO UPDATE`, so
//! that a data set can be written twice, and a run be repeated.
//!
//! Source: PostgreSQL documentation, "Frontend/Backend Protocol", "Extended Query".

mod code;
mod login;
mod message;
mod scheme;
mod scram;

pub use scheme::SCHEME;

use crate::store::bytes::{Reader, push_text, push_value};
use crate::store::frames::Malformed;
use crate::store::packets::Packeted;
use crate::store::{Opening, Reply, Speech, Spoken, Transport};
use login::{Halt, Proof};
use message::{Tagged, Trouble, push};
use plimsoll_workload::store::{Kind, Operation};

/// The table, where there is none. Keys are compared byte by byte.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS plimsoll (\
                     id text COLLATE \"C\" PRIMARY KEY, value bytea NOT NULL)";

/// What a server says that is ready for a statement and in no transaction.
const IDLE: &[u8] = b"I";

/// The types of the parameters, by their numbers in the catalogue: `text` and `bytea`.
const TEXT: u32 = 25;
const BYTEA: u32 = 17;

/// The name and the text of the statement of a kind of operation.
fn statement(kind: Kind) -> (&'static [u8], &'static str) {
    match kind {
        Kind::Read => (b"read", "SELECT value FROM plimsoll WHERE id = $1"),
        Kind::Update => (b"update", "UPDATE plimsoll SET value = $2 WHERE id = $1"),
        Kind::Insert => (
            b"insert",
            "INSERT INTO plimsoll (id, value) VALUES ($1, $2) \
             ON CONFLICT (id) DO UPDATE SET value = EXCLUDED.value",
        ),
    }
}

/// How PostgreSQL speaks.
#[derive(Debug, Clone)]
pub struct Postgres {
    opening: Opening,
    transport: Transport,
}

/// What a connection keeps.
pub type Connection = Packeted<Tagged, Own>;

/// What of it is of this protocol.
pub struct Own {
    phase: Phase,
    proof: Proof,
    /// Why the table could not be made.
    denied: Vec<u8>,
}

/// What the next message belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The byte that says whether the server speaks TLS, for which we have asked.
    Encryption,
    /// TLS: nothing of this protocol before it is there.
    Encrypting,
    /// The login.
    Login,
    /// The making of the table.
    Table,
    /// The preparation of so many statements.
    Statements(usize),
    /// An answer.
    Answer(Answer),
}

/// How far an answer has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// Nothing of it is here.
    Awaited,
    /// The parameters are bound; whether a row has come.
    Bound(bool),
    /// It says this, once its transaction has ended.
    Told(Reply),
}

impl Postgres {
    /// For connections that begin so, on such a transport.
    #[must_use]
    pub fn new(opening: Opening, transport: Transport) -> Self {
        Self { opening, transport }
    }

    /// Deals with a message before we are ready.
    fn enter(
        &self,
        state: &mut Connection,
        tag: u8,
        out: &mut Vec<u8>,
    ) -> Result<Option<Reply>, Malformed> {
        match (state.own.phase, tag) {
            // What the server tells of itself, and how a request could be cancelled.
            (_, b'S' | b'N' | b'K' | b'v') => {}
            (Phase::Login, b'R') => {
                let (login, is_private) = (&self.opening.login, self.transport.is_private());
                match state.own.proof.go_on(login, is_private, state.packets.body(), out) {
                    Ok(()) => {}
                    Err(Halt::Malformed) => return Err(Malformed),
                    Err(Halt::Objection(why)) => {
                        state.objection = Some(why);
                        return Ok(Some(Reply::Error(401)));
                    }
                }
            }
            (_, b'Z') if state.packets.body() != IDLE => {
                let text = "it begins in a transaction that is not ours, so that nothing would be \
                            committed; use a pooler that clears a session's state";
                state.objection = Some(text.to_owned());
                return Ok(Some(Reply::Error(500)));
            }
            (Phase::Login, b'Z') if state.own.proof.is_granted() => {
                if self.opening.makes_table {
                    push(Some(b'Q'), out, |out| push_text(TABLE.as_bytes(), out));
                    state.own.phase = Phase::Table;
                } else {
                    self.prepare(state, out);
                }
            }
            (Phase::Table, b'C') => {}
            (Phase::Table, b'Z') => self.prepare(state, out),
            (Phase::Statements(left @ 1..), b'1') => state.own.phase = Phase::Statements(left - 1),
            (Phase::Statements(0), b'Z') => state.own.phase = Phase::Answer(Answer::Awaited),
            _ => return Err(Malformed),
        }
        Ok(None)
    }

    /// Sends what makes statements, all at once.
    fn prepare(&self, state: &mut Connection, out: &mut Vec<u8>) {
        for kind in &self.opening.prepares {
            let (name, text) = statement(*kind);
            push(Some(b'P'), out, |out| {
                push_text(name, out);
                push_text(text.as_bytes(), out);
                let types = if *kind == Kind::Read { &[TEXT][..] } else { &[TEXT, BYTEA] };
                out.extend_from_slice(&[0, types.len().to_le_bytes()[0]]);
                types.iter().for_each(|number| out.extend_from_slice(&number.to_be_bytes()));
            });
        }
        push(Some(b'S'), out, |_| {});
        state.own.phase = Phase::Statements(self.opening.prepares.len());
    }
}

impl Connection {
    fn is_ready(&self) -> bool {
        matches!(self.own.phase, Phase::Answer(_))
    }

    /// Deals with an error, at any time.
    fn error(&mut self) -> Option<Reply> {
        let trouble = Trouble::read(self.packets.body());
        let code = code::of(trouble.state);
        let reply = match (trouble.is_fatal, trouble.state) {
            (true, code::IDLE) => Reply::Idle,
            (true, _) => Reply::Final(code),
            (false, _) => Reply::Error(code),
        };
        let is_missing = trouble.state == code::NO_TABLE;
        self.said.clear();
        self.said.extend_from_slice(trouble.text);
        match self.own.phase {
            // Who may not make the table may use the one that is there.
            Phase::Table if reply == Reply::Error(403) => {
                self.own.denied.clone_from(&self.said);
                return None;
            }
            Phase::Statements(_) if is_missing && !self.own.denied.is_empty() => {
                self.said = std::mem::take(&mut self.own.denied);
                return Some(Reply::Error(403));
            }
            _ => {}
        }
        // Nothing follows what is fatal; and who is not let in does not wait for more.
        if reply != Reply::Error(code) || !self.is_ready() {
            if self.is_ready() {
                self.own.phase = Phase::Answer(Answer::Awaited);
            }
            return Some(reply);
        }
        self.own.phase = Phase::Answer(Answer::Told(reply));
        None
    }

    /// Deals with a message of an answer.
    fn answer(&mut self, answer: Answer, tag: u8) -> Result<Option<Reply>, Malformed> {
        let next = match (answer, tag) {
            // What is told unasked: a notice, a parameter that has changed, a notification.
            (_, b'N' | b'S' | b'A') => answer,
            (Answer::Awaited, b'2') => Answer::Bound(false),
            (Answer::Bound(false), b'D') => {
                self.row()?;
                Answer::Bound(true)
            }
            (Answer::Bound(found), b'C') => Answer::Told(told(found, self.packets.body())?),
            (Answer::Told(reply), b'Z') if self.packets.body() == IDLE => {
                self.own.phase = Phase::Answer(Answer::Awaited);
                return Ok(Some(reply));
            }
            _ => return Err(Malformed),
        };
        self.own.phase = Phase::Answer(next);
        Ok(None)
    }

    /// Looks whether a row is one value that is there, as long as it says.
    fn row(&mut self) -> Result<(), Malformed> {
        let mut reader = Reader(self.packets.body());
        let (columns, len) = (reader.big_endian(2)?, reader.big_endian(4)?);
        let is_whole = usize::try_from(len).is_ok_and(|len| len + 6 == self.packets.body_len());
        if columns != 1 || !is_whole {
            return Err(Malformed);
        }
        self.value_len = Some(u64::from(len));
        Ok(())
    }
}

/// What a command says when it is complete: `SELECT 1`, `UPDATE 1`, `INSERT 0 1`.
fn told(found: bool, body: &[u8]) -> Result<Reply, Malformed> {
    let words = body.strip_suffix(&[0]).unwrap_or(body);
    match (words, found) {
        (b"SELECT 1", true) => Ok(Reply::Found),
        (b"SELECT 0", false) => Ok(Reply::Missing),
        (b"UPDATE 1" | b"INSERT 0 1", false) => Ok(Reply::Done),
        (b"UPDATE 0", false) => Ok(Reply::Unmatched),
        _ => Err(Malformed),
    }
}

impl Spoken for Postgres {
    const NAME: &'static str = "PostgreSQL's protocol";

    fn begun(opening: Opening, transport: Transport) -> Self {
        Self::new(opening, transport)
    }
}

impl Speech for Postgres {
    type State = Connection;

    const SPEAKS_UNASKED: bool = true;
    const BEGINS_PLAIN: bool = true;

    fn open(&self, out: &mut Vec<u8>) -> (Connection, u32) {
        let phase = if self.transport == Transport::Tls {
            login::ask_for_tls(out);
            Phase::Encryption
        } else {
            login::begin(&self.opening.login, out);
            Phase::Login
        };
        let own = Own { phase, proof: Proof::default(), denied: Vec::new() };
        (Packeted::new(own), 0)
    }

    fn is_ready(state: &Connection) -> bool {
        state.is_ready()
    }

    fn wants_tls(state: &Connection) -> bool {
        state.own.phase == Phase::Encrypting
    }

    fn encrypted(&self, state: &mut Connection, out: &mut Vec<u8>) {
        login::begin(&self.opening.login, out);
        state.own.phase = Phase::Login;
    }

    fn command(_: &Connection, _: u16, operation: &Operation, value: &[u8], out: &mut Vec<u8>) {
        let values = [&operation.key()[..], value];
        let values = if operation.kind == Kind::Read { &values[..1] } else { &values[..] };
        push(Some(b'B'), out, |out| {
            push_text(b"", out); // the portal without a name
            push_text(statement(operation.kind).0, out);
            // One format for all parameters: binary.
            out.extend_from_slice(&[0, 1, 0, 1, 0, values.len().to_le_bytes()[0]]);
            values.iter().for_each(|value| push_value(value, out));
            // And for all columns.
            out.extend_from_slice(&[0, 1, 0, 1]);
        });
        push(Some(b'E'), out, |out| out.extend_from_slice(&[0; 5])); // it, and all its rows
        push(Some(b'S'), out, |_| {});
    }

    fn take(
        &self,
        state: &mut Connection,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(usize, Option<Reply>), Malformed> {
        match (state.own.phase, bytes) {
            (Phase::Encryption, [b'S', ..]) => {
                state.own.phase = Phase::Encrypting;
                return Ok((1, None));
            }
            (Phase::Encryption, [b'N', ..]) => {
                let text = "it speaks no TLS; turn it on there (ssl = on, with ssl_cert_file and \
                            ssl_key_file), or write postgres:// to go without";
                state.objection = Some(text.to_owned());
                return Ok((1, Some(Reply::Error(401))));
            }
            (Phase::Encrypting, _) => return Err(Malformed),
            _ => {}
        }
        let (n, is_whole) = state.packets.take(bytes)?;
        if !is_whole {
            return Ok((n, None));
        }
        let reply = match (state.own.phase, state.packets.head()[0]) {
            (_, b'E') => state.error(),
            (Phase::Answer(answer), tag) => state.answer(answer, tag)?,
            (_, tag) => self.enter(state, tag, out)?,
        };
        Ok((n, reply))
    }
}
