//! Cassandra: version 4 of CQL's native protocol, with prepared statements.
//!
//! A connection begins with `STARTUP` and a login where one is wanted, and prepares the statements
//! that its load will execute; only then it counts as open. Each request executes one of them.
//! Frames are numbered, and a server answers those of one connection in any order.
//!
//! A read is a `SELECT` by primary key. An update is an `UPDATE`, which writes the record whether
//! it was there or not, as every write in Cassandra does; an insertion is an `INSERT`.
//!
//! A server may forget a statement: when it has too many, or when the table has changed. It says so
//! in place of an answer (503), and the statement is prepared again for the requests that follow.
//!
//! Source: CQL binary protocol v4; section numbers in the files. A password goes by SASL PLAIN
//! (RFC 4616), as it is.

mod code;
mod frame;
mod scheme;

pub use scheme::SCHEME;

use crate::store::bytes::{Reader, push_value};
use crate::store::frames::Malformed;
use crate::store::packets::Packeted;
use crate::store::{NUMBERS, Opening, Reply, Speech, Spoken, Transport};
use frame::{BLOB, Framed, Outcome, VARCHAR, push, push_string};
use plimsoll_workload::store::{Consistency, Kind, Operation};

/// Flags of a query's parameters: values follow; rows without the description of their columns.
const VALUES: u8 = 0x01;
const SKIP_METADATA: u8 = 0x02;

/// The number of an own frame before requests are sent.
const FIRST: u16 = 0;

/// The numbers of levels of consistency (section 3, `[consistency]`).
fn number_of(level: Consistency) -> u16 {
    match level {
        Consistency::One => 0x01,
        Consistency::Two => 0x02,
        Consistency::Three => 0x03,
        Consistency::Quorum => 0x04,
        Consistency::All => 0x05,
        Consistency::LocalQuorum => 0x06,
        Consistency::LocalOne => 0x0a,
    }
}

/// The types of a statement's parameters, and of the columns of its rows.
fn types(kind: Kind) -> (&'static [u32], &'static [u32]) {
    match kind {
        Kind::Read => (&[VARCHAR], &[BLOB]),
        Kind::Update => (&[BLOB, VARCHAR], &[]),
        Kind::Insert => (&[VARCHAR, BLOB], &[]),
    }
}

/// How Cassandra speaks.
#[derive(Debug, Clone)]
pub struct Cassandra {
    opening: Opening,
    /// The keyspace's name, in its quotes.
    keyspace: String,
}

/// What a connection keeps.
pub type Connection = Packeted<Framed, Own>;

/// What of it is of this protocol.
pub struct Own {
    phase: Phase,
    /// The numbers of the statements of reads, updates and insertions.
    statements: [Vec<u8>; 3],
    /// Which of them are being prepared again.
    renewed: [bool; 3],
    consistency: u16,
}

/// What the next frame belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// What the server makes of our beginning.
    Startup,
    /// What it makes of user and password.
    Login,
    /// Whether there is a keyspace.
    Keyspace,
    /// The making of the keyspace.
    Making,
    /// The making of the table.
    Table,
    /// The preparation of so many statements.
    Statements(usize),
    /// An answer.
    Answer,
}

impl Cassandra {
    /// For connections that begin so.
    #[must_use]
    pub fn new(opening: Opening) -> Self {
        let keyspace = format!("\"{}\"", opening.login.database.replace('"', "\"\""));
        Self { opening, keyspace }
    }

    /// The statement of a kind of operation.
    fn statement(&self, kind: Kind) -> String {
        let keyspace = &self.keyspace;
        match kind {
            Kind::Read => format!("SELECT value FROM {keyspace}.plimsoll WHERE id = ?"),
            Kind::Update => format!("UPDATE {keyspace}.plimsoll SET value = ? WHERE id = ?"),
            Kind::Insert => format!("INSERT INTO {keyspace}.plimsoll (id, value) VALUES (?, ?)"),
        }
    }

    /// Sends a statement that is not prepared.
    fn query(text: &str, out: &mut Vec<u8>) {
        push(FIRST, frame::QUERY, out, |out| {
            push_value(text.as_bytes(), out);
            out.extend_from_slice(&number_of(Consistency::One).to_be_bytes());
            out.push(0);
        });
    }

    /// Sends what makes the statement of a kind.
    fn prepare(&self, number: u16, kind: Kind, out: &mut Vec<u8>) {
        let text = self.statement(kind);
        push(number, frame::PREPARE, out, |out| push_value(text.as_bytes(), out));
    }

    /// Sends what makes statements, all at once.
    fn prepare_all(&self, state: &mut Connection, out: &mut Vec<u8>) {
        for kind in &self.opening.prepares {
            self.prepare(*kind as u16, *kind, out);
        }
        state.own.phase = match self.opening.prepares.len() {
            0 => Phase::Answer,
            count => Phase::Statements(count),
        };
    }

    /// Sends user and password, where these are wanted by a method that we know.
    fn authenticate(&self, state: &mut Connection, out: &mut Vec<u8>) -> Result<(), Malformed> {
        let (_, mut reader) = frame::last(&state.packets)?;
        let class = frame::string(&mut reader)?;
        let (user, password) = self.opening.login.user();
        if !class.ends_with(b"PasswordAuthenticator") {
            let class = crate::store::shown(class);
            state.objection = Some(format!(
                "it asks for the authenticator `{class}`, which is not spoken here; have it ask \
                 for PasswordAuthenticator or AllowAllAuthenticator (cassandra.yaml)"
            ));
        } else if user.is_empty() {
            let text = "it asks for a user and a password; write cassandra://USER:PASSWORD@…, or \
                        name a variable that holds both by --basic-env";
            state.objection = Some(text.to_owned());
        } else {
            push(FIRST, frame::AUTH_RESPONSE, out, |out| {
                // A zero within one of them would be read as its end.
                let parts = [user, password].map(|part| part.split(|byte| *byte == 0).next());
                let [user, password] = parts.map(Option::unwrap_or_default);
                push_value(&[b"\0", user, b"\0", password].concat(), out);
            });
            state.own.phase = Phase::Login;
        }
        Ok(())
    }

    /// Sends what follows the login.
    fn begin(&self, state: &mut Connection, out: &mut Vec<u8>) {
        if !self.opening.makes_table {
            self.prepare_all(state, out);
            return;
        }
        let name = self.opening.login.database.replace('\'', "''");
        let asked = "SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name =";
        Self::query(&format!("{asked} '{name}'"), out);
        state.own.phase = Phase::Keyspace;
    }

    /// Sends what makes the keyspace, or the table where there is one.
    fn make(&self, state: &mut Connection, has_keyspace: bool, out: &mut Vec<u8>) {
        let keyspace = &self.keyspace;
        if has_keyspace {
            let columns = "(id text PRIMARY KEY, value blob)";
            Self::query(&format!("CREATE TABLE IF NOT EXISTS {keyspace}.plimsoll {columns}"), out);
            state.own.phase = Phase::Table;
        } else {
            let factor = self.opening.replicas.replication;
            let replication =
                format!("{{'class': 'SimpleStrategy', 'replication_factor': {factor}}}");
            let text = format!(
                "CREATE KEYSPACE IF NOT EXISTS {keyspace} WITH replication = {replication}"
            );
            Self::query(&text, out);
            state.own.phase = Phase::Making;
        }
    }

    /// Deals with a whole frame.
    fn frame(&self, state: &mut Connection, out: &mut Vec<u8>) -> Result<Option<Reply>, Malformed> {
        let (what, reader) = frame::last(&state.packets)?;
        let number = state.packets.whose().ok_or(Malformed)?;
        match (state.own.phase, what) {
            (_, frame::ERROR) => return self.error(state, number, out).map(Some),
            (Phase::Startup, frame::READY) | (Phase::Login, frame::AUTH_SUCCESS) => {
                self.begin(state, out);
            }
            (Phase::Startup, frame::AUTHENTICATE) => self.authenticate(state, out)?,
            (Phase::Login, frame::AUTH_CHALLENGE) => {
                let text = "it asks for more than user and password, which is not spoken here; \
                            have it ask for PasswordAuthenticator (cassandra.yaml)";
                state.objection = Some(text.to_owned());
            }
            (Phase::Keyspace, frame::RESULT) => {
                let outcome = frame::outcome(reader, &state.packets, &[], &[VARCHAR])?;
                let Outcome::Row(is_there) = outcome else { return Err(Malformed) };
                self.make(state, is_there, out);
            }
            (Phase::Making | Phase::Table, frame::RESULT) => {
                // Void where another one has made it in between.
                let outcome = frame::outcome(reader, &state.packets, &[], &[])?;
                if !matches!(outcome, Outcome::Changed | Outcome::Void) {
                    return Err(Malformed);
                }
                match state.own.phase {
                    Phase::Making => self.make(state, true, out),
                    _ => self.prepare_all(state, out),
                }
            }
            (Phase::Statements(left), frame::RESULT) => {
                state.keep_statement(number)?;
                state.own.phase =
                    if left > 1 { Phase::Statements(left - 1) } else { Phase::Answer };
            }
            (Phase::Answer, frame::RESULT) if number >= NUMBERS => {
                state.is_renewed(number)?;
                state.keep_statement(number - NUMBERS)?;
                // A table that has got other columns answers nothing of ours any more.
                let fits = state.objection.is_none();
                return if fits { Ok(Some(Reply::Aside)) } else { Err(Malformed) };
            }
            (Phase::Answer, frame::RESULT) => {
                return match frame::outcome(reader, &state.packets, &[], &[BLOB])? {
                    Outcome::Void => Ok(Some(Reply::Done)),
                    Outcome::Row(true) => Ok(Some(Reply::Found)),
                    Outcome::Row(false) => Ok(Some(Reply::Missing)),
                    _ => Err(Malformed),
                };
            }
            _ => return Err(Malformed),
        }
        Ok(state.objection.is_some().then_some(Reply::Error(401)))
    }

    /// Deals with an error, at any time.
    fn error(
        &self,
        state: &mut Connection,
        number: u16,
        out: &mut Vec<u8>,
    ) -> Result<Reply, Malformed> {
        let (_, mut reader) = frame::last(&state.packets)?;
        let kind = reader.big_endian(4)?;
        // What is long is cut.
        let len = usize::try_from(reader.big_endian(2)?).map_err(|_| Malformed)?;
        let said = reader.bytes(len.min(reader.0.len()))?.to_vec();
        let forgotten = if kind == code::UNPREPARED { state.forgotten(reader) } else { None };
        let code = code::of(kind, &said);
        state.said = said;
        if state.own.phase != Phase::Answer {
            return Ok(Reply::Error(code));
        }
        if let Some(kind) = forgotten
            && !std::mem::replace(&mut state.own.renewed[kind as usize], true)
        {
            self.prepare(NUMBERS + kind as u16, kind, out);
        }
        if number < NUMBERS {
            return Ok(Reply::Error(code));
        }
        // A statement that could not be prepared again: the next request is told so.
        state.is_renewed(number)?;
        Ok(Reply::Aside)
    }
}

impl Connection {
    /// Keeps the number of the statement that was prepared by the frame of this number.
    fn keep_statement(&mut self, number: u16) -> Result<(), Malformed> {
        let kind = *Kind::ALL.get(usize::from(number)).ok_or(Malformed)?;
        let (parameters, columns) = types(kind);
        let (_, reader) = frame::last(&self.packets)?;
        match frame::outcome(reader, &self.packets, parameters, columns)? {
            Outcome::Prepared(statement) => {
                self.own.statements[kind as usize] = statement.to_vec();
            }
            Outcome::Unfit => {
                let text = "its table `plimsoll` has other columns than ours, `id text PRIMARY \
                            KEY` and `value blob`; drop it, or choose another keyspace";
                self.objection = Some(text.to_owned());
            }
            _ => return Err(Malformed),
        }
        Ok(())
    }

    /// A statement that was prepared again, by a frame of this number, is answered.
    fn is_renewed(&mut self, number: u16) -> Result<(), Malformed> {
        let place = usize::from(number - NUMBERS);
        let is_awaited = self.own.renewed.get_mut(place).ok_or(Malformed)?;
        if std::mem::take(is_awaited) { Ok(()) } else { Err(Malformed) }
    }

    /// Which statement the server does not know any more, by what stands behind the words.
    fn forgotten(&self, mut reader: Reader<'_>) -> Option<Kind> {
        let statement = frame::string(&mut reader).ok().filter(|number| !number.is_empty())?;
        Kind::ALL.into_iter().find(|kind| self.own.statements[*kind as usize] == statement)
    }
}

impl Spoken for Cassandra {
    const NAME: &'static str = "version 4 of CQL's native protocol";

    fn begun(opening: Opening, _: Transport) -> Self {
        Self::new(opening)
    }
}

impl Speech for Cassandra {
    type State = Connection;

    const IN_ORDER: bool = false;
    const SPEAKS_UNASKED: bool = true;

    fn open(&self, out: &mut Vec<u8>) -> (Connection, u32) {
        push(FIRST, frame::STARTUP, out, |out| {
            let options = [("CQL_VERSION", "3.0.0"), ("DRIVER_NAME", "plimsoll")];
            out.extend_from_slice(&[0, options.len().to_le_bytes()[0]]);
            for (name, value) in options {
                push_string(name.as_bytes(), out);
                push_string(value.as_bytes(), out);
            }
        });
        let own = Own {
            phase: Phase::Startup,
            statements: Default::default(),
            renewed: [false; 3],
            consistency: number_of(self.opening.replicas.consistency),
        };
        (Packeted::new(own), 0)
    }

    fn is_ready(state: &Connection) -> bool {
        state.own.phase == Phase::Answer && state.objection.is_none()
    }

    fn command(
        state: &Connection,
        number: u16,
        operation: &Operation,
        value: &[u8],
        out: &mut Vec<u8>,
    ) {
        let key = &operation.key()[..];
        let values = match operation.kind {
            Kind::Read => &[key][..],
            Kind::Update => &[value, key],
            Kind::Insert => &[key, value],
        };
        push(number, frame::EXECUTE, out, |out| {
            push_string(&state.own.statements[operation.kind as usize], out);
            out.extend_from_slice(&state.own.consistency.to_be_bytes());
            out.extend_from_slice(&[VALUES | SKIP_METADATA, 0, values.len().to_le_bytes()[0]]);
            values.iter().for_each(|value| push_value(value, out));
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
        if !Self::is_ready(state) && state.packets.is_long() {
            return Err(Malformed);
        }
        let reply = if is_whole { self.frame(state, out)? } else { None };
        Ok((n, reply))
    }
}
