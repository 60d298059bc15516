//! Stores: key-value stores, and databases with one table.
//!
//! All are driven alike: a command a request, several on a connection at once if wanted, and each
//! answer belongs to the oldest command without one, or says to which. So there is one
//! [`Driver`](crate::driver), [`Pipeline`], and a [`Speech`] for each, which says what is sent and
//! what is answered. Those that speak in lines have a [`Dialect`] of it.
//!
//! # Codes
//!
//! An outcome's code is that of the HTTP status with the same meaning, so that `2xx` is success:
//! 200 done or found, 204 not found (a miss), 4xx and 5xx what the store answered by an error
//! (docs/stores.md). An answer that fits no command is
//! [`ErrorKind::Protocol`](plimsoll_runs::ErrorKind::Protocol), and ends the connection: what
//! follows could be anybody's answer.

pub mod bytes;
mod conversation;
mod encryption;
pub mod frames;
pub mod lines;
mod opening;
pub mod packets;
mod pipeline;

pub(crate) use conversation::{Ask, Failed, Link, Socket, Talk, ask};
pub use lines::{Dialect, Next};
pub use opening::{Before, Login, Opening, Transport};
pub use pipeline::{Connection, Pipeline};

use frames::Malformed;
use plimsoll_workload::store::{Consistency, Operation, Operations};
use std::sync::Arc;

/// Commands have numbers below this; those from here on are the speech's own.
pub const NUMBERS: u16 = 0x7f00;

/// What a store is asked for, and who asks.
#[derive(Clone)]
pub struct Store {
    /// The operation of each request, by its number.
    pub operations: Arc<Operations>,
    /// How a connection begins.
    pub login: Login,
    /// How its nodes share the records.
    pub replicas: Replicas,
}

/// How the nodes of a store share its records; of no effect where it has one node only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replicas {
    /// How many of a record's replicas take part in each operation.
    pub consistency: Consistency,
    /// How many replicas a record has, where the data set makes the keyspace.
    pub replication: u32,
}

impl Default for Replicas {
    fn default() -> Self {
        Self { consistency: Consistency::One, replication: 1 }
    }
}

/// What an answer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// The value that was asked for.
    Found,
    /// There is no such record.
    Missing,
    /// It is written, or whatever else was wanted.
    Done,
    /// There is no such record that could be updated.
    Unmatched,
    /// It belongs to no command.
    Aside,
    /// An error; its code.
    Error(u16),
    /// An error behind which the store ends the connection; its code. Commands sent behind the one
    /// that it answers were not looked at.
    Final(u16),
    /// The store ends the connection, as it was idle for too long. Whatever was sent on it
    /// meanwhile was not looked at.
    Idle,
    /// The store is there: an answer to a greeting only.
    Greeted,
}

/// How a store speaks.
pub trait Speech: Send {
    /// What a connection keeps: where in an answer the next byte lies, what its login has told.
    type State: Heard;

    /// Whether answers come in the order of their commands; otherwise by their numbers
    /// ([`Heard::whose`]).
    const IN_ORDER: bool = true;
    /// Whether it may say something that is no answer.
    const SPEAKS_UNASKED: bool = false;
    /// Whether TLS, where it is spoken, begins when the protocol says so, by [`Speech::wants_tls`];
    /// otherwise before its first byte.
    const BEGINS_PLAIN: bool = false;

    /// The state of a new connection; appends what it begins with, and says how many answers that
    /// gets before the first command's, each of them [`Reply::Done`] where all is well.
    fn open(&self, out: &mut Vec<u8>) -> (Self::State, u32);

    /// Whether commands may be sent; until then it is being logged in, and what it answers is dealt
    /// with by [`Speech::take`], whose only reply before it is an error: we are not let in.
    fn is_ready(_: &Self::State) -> bool {
        true
    }

    /// Whether TLS begins now, behind all that was taken and sent.
    fn wants_tls(_: &Self::State) -> bool {
        false
    }

    /// TLS is there that was wanted; appends what is sent next.
    fn encrypted(&self, _: &mut Self::State, _: &mut Vec<u8>) {}

    /// Whether the connection can be used all the same, the last of whose greetings was answered by
    /// the error that came last.
    fn lets_in(_: &Self::State) -> bool {
        false
    }

    /// Appends the command of an operation, which writes `value`. No other command whose answer is
    /// awaited has its `number`, which is below [`NUMBERS`].
    fn command(
        state: &Self::State,
        number: u16,
        operation: &Operation,
        value: &[u8],
        out: &mut Vec<u8>,
    );

    /// Takes bytes up to the end of an answer, or less; at least one. Appends what has to be sent.
    ///
    /// # Errors
    /// [`Malformed`] as soon as they cannot be an answer.
    fn take(
        &self,
        state: &mut Self::State,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(usize, Option<Reply>), Malformed>;
}

/// The speech of a store, as the registry has it.
pub trait Spoken: Speech + Sized + 'static {
    /// What is spoken, in words.
    const NAME: &'static str;

    /// That of connections which begin like this, on such a transport.
    fn begun(opening: Opening, transport: Transport) -> Self;

    /// What to do about an error before a load that means something else than its code says.
    fn hint(_code: u16, _said: &str) -> Option<&'static str> {
        None
    }
}

/// What a connection keeps of what it has heard.
pub trait Heard: Send {
    /// The words of the last error.
    fn said(&self) -> &[u8];

    /// Why we cannot log in, where the store would go on; with what to do.
    fn objection(&self) -> Option<&str> {
        None
    }

    /// The length of the value that was read last, where it is known.
    fn value_len(&self) -> Option<u64>;

    /// Bytes of a value that are certain to follow next.
    fn certain(&self) -> u64;

    /// `n` bytes of a value passed by unseen; `n` is at most [`Heard::certain`].
    fn pass_over(&mut self, n: u64);

    /// How many received bytes are kept.
    fn held(&self) -> usize;

    /// The number of the command whose answer the present one is, as soon as it is known.
    fn whose(&self) -> Option<u16> {
        None
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyCommand {
    Greeting,
    Read,
    Write,
}

/// The code of an answer; `None` where it does not fit what was asked.
fn code(asked: KeyCommand, reply: Reply) -> Option<u16> {
    match (asked, reply) {
        (KeyCommand::Greeting, Reply::Greeted) => Some(200),
        (KeyCommand::Read, Reply::Found)
        | (KeyCommand::Write | KeyCommand::Greeting, Reply::Done) => Some(200),
        (KeyCommand::Read, Reply::Missing) | (KeyCommand::Write, Reply::Unmatched) => Some(204),
        (KeyCommand::Read | KeyCommand::Write, Reply::Error(code) | Reply::Final(code)) => {
            Some(code)
        }
        // Refused at the door: nothing that follows is what was wanted.
        _ => None,
    }
}

/// What was said, as text of one line of at most 200 characters.
pub(crate) fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let escaped =
        |c: char| if c.is_control() { c.escape_default().collect() } else { c.to_string() };
    text.chars().take(200).map(escaped).collect()
}
