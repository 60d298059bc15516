//! Key-value stores: requests in a pipeline, answers in their order.
//!
//! Redis and memcached are driven alike: a command a request, several on a connection at once if
//! wanted, and each answer belongs to the oldest command without one. So there is one [`Driver`],
//! [`Pipeline`], and a [`Dialect`] for each, which says what is sent and what a line means.
//!
//! # Codes
//!
//! An outcome's code is that of the HTTP status with the same meaning, so that `2xx` is success:
//! 200 done or found, 204 not found (a miss), 4xx and 5xx what the store answered by an error
//! (docs/stores.md). An answer that fits no command is [`ErrorKind::Protocol`], and ends the
//! connection: what follows could be anybody's answer.
//!
//! # Requests that are given up
//!
//! There is no way to take a command back. The answer to one that timed out is awaited and passed
//! over, so that those behind it keep theirs; a connection with nothing else on it is closed.

mod check;
pub mod frames;

pub use check::{CheckError, check};

use crate::driver::{Driver, Event, Fate, Slot};
use frames::{Frame, Frames, Malformed};
use plimsoll_runs::ErrorKind;
use plimsoll_workload::store::{Kind, Operation, Operations};
use std::collections::VecDeque;
use std::sync::Arc;

/// What a store is asked for, and who asks.
#[derive(Clone)]
pub struct Store {
    /// The operation of each request, by its number.
    pub operations: Arc<Operations>,
    /// How a connection begins.
    pub login: Login,
}

/// How a connection to a store begins. `Debug` shows no secret.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Login {
    /// User and password; a user may be empty.
    pub credentials: Option<(Vec<u8>, Vec<u8>)>,
    /// The number of the database.
    pub database: u32,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let credentials = self.credentials.as_ref().map(|_| "redacted");
        f.debug_struct("Login")
            .field("credentials", &credentials)
            .field("database", &self.database)
            .finish()
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
    /// An error; its code.
    Error(u16),
}

/// What follows a line or a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The answer is whole.
    Reply(Reply),
    /// A block of so many bytes.
    Block(u64),
    /// Another line of the same answer.
    Line,
}

/// How one store speaks.
pub trait Dialect: Send {
    /// What is kept between two lines of one answer.
    type State: Default + Send;

    /// Appends what a connection begins with; returns how many answers it gets, each of them
    /// [`Reply::Done`] where all is well.
    fn greet(&self, out: &mut Vec<u8>) -> u32;

    /// Appends the command of an operation, which writes `value`.
    fn command(operation: &Operation, value: &[u8], out: &mut Vec<u8>);

    /// What a line of an answer means.
    ///
    /// # Errors
    /// [`Malformed`] where no answer to our commands has such a line.
    fn line(state: &mut Self::State, text: &[u8]) -> Result<Next, Malformed>;

    /// What follows a block.
    fn block(state: &mut Self::State) -> Next;
}

/// The driver of a store.
pub struct Pipeline<D> {
    dialect: D,
    operations: Arc<Operations>,
    /// Commands at once on a connection.
    depth: u32,
    /// Whether a connection serves one request only.
    once: bool,
}

/// A connection's state.
pub struct Connection<S> {
    frames: Frames,
    state: S,
    /// What is unanswered, oldest first.
    awaited: VecDeque<Awaited>,
    /// How many of these are not requests.
    greetings: u32,
    /// Bytes of the present answer so far.
    bytes: u64,
    /// Whether the engine has been told of its first byte.
    announced: bool,
    used: bool,
    closed: bool,
}

/// A command without an answer.
#[derive(Debug, Clone, Copy)]
struct Awaited {
    /// Whose; `None` for a greeting, and for a request that was given up.
    slot: Option<Slot>,
    asked: Asked,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Greeting,
    Read,
    Write,
}

/// The code of an answer; `None` where it does not fit what was asked.
fn code(asked: Asked, reply: Reply) -> Option<u16> {
    match (asked, reply) {
        (Asked::Read, Reply::Found) | (Asked::Write | Asked::Greeting, Reply::Done) => Some(200),
        (Asked::Read, Reply::Missing) => Some(204),
        (Asked::Read | Asked::Write, Reply::Error(code)) => Some(code),
        // Refused at the door: nothing that follows is what was wanted.
        _ => None,
    }
}

/// Takes bytes until an answer is whole, or all of them.
///
/// # Errors
/// [`Malformed`] as soon as they cannot be an answer.
fn take<D: Dialect>(
    frames: &mut Frames,
    state: &mut D::State,
    bytes: &[u8],
) -> Result<(usize, Option<Reply>), Malformed> {
    let mut at = 0;
    while at < bytes.len() {
        let (n, frame) = frames.take(&bytes[at..])?;
        at += n;
        let next = match frame {
            None => break,
            Some(Frame::Line) => D::line(state, frames.line())?,
            Some(Frame::Block) => D::block(state),
        };
        match next {
            Next::Reply(reply) => return Ok((at, Some(reply))),
            Next::Block(len) => frames.begin_block(len)?,
            Next::Line => {}
        }
    }
    Ok((at, None))
}

impl<D> Pipeline<D> {
    /// A driver with so many commands at once on a connection, at least one. With `once`, each
    /// request gets a connection of its own.
    #[must_use]
    pub fn new(dialect: D, operations: Arc<Operations>, depth: u32, once: bool) -> Self {
        Self { dialect, operations, depth: if once { 1 } else { depth.max(1) }, once }
    }
}

impl<S> Connection<S> {
    /// How many received bytes it keeps.
    #[must_use]
    pub fn held(&self) -> usize {
        self.frames.held()
    }

    fn fail(&mut self, events: &mut Vec<Event>) -> Fate {
        let slots = self.awaited.drain(..).filter_map(|awaited| awaited.slot);
        events.extend(slots.map(|slot| Event::Failed { slot, kind: ErrorKind::Protocol }));
        self.closed = true;
        Fate::Close
    }

    /// Deals with a whole answer to the oldest command.
    fn answered(&mut self, reply: Reply, once: bool, events: &mut Vec<Event>) -> Fate {
        let bytes = std::mem::take(&mut self.bytes);
        self.announced = false;
        let Some(awaited) = self.awaited.front().copied() else { return self.fail(events) };
        let Some(code) = code(awaited.asked, reply) else { return self.fail(events) };
        self.awaited.pop_front();
        self.greetings -= u32::from(awaited.asked == Asked::Greeting);
        if let Some(slot) = awaited.slot {
            events.push(Event::Done { slot, code, bytes });
        }
        if once && awaited.asked != Asked::Greeting {
            self.closed = true;
            return Fate::Close;
        }
        Fate::Keep
    }

    /// Says that the oldest command's answer has begun, once.
    fn announce(&mut self, events: &mut Vec<Event>) {
        if let Some(Awaited { slot: Some(slot), .. }) = self.awaited.front()
            && !std::mem::replace(&mut self.announced, true)
        {
            events.push(Event::FirstByte(*slot));
        }
    }
}

impl<D: Dialect> Driver for Pipeline<D> {
    type Connection = Connection<D::State>;

    const GATHERS: bool = true;
    const READ: usize = 64 * 1024;

    fn open(&mut self, out: &mut Vec<u8>) -> Self::Connection {
        let greetings = self.dialect.greet(out);
        let greeting = Awaited { slot: None, asked: Asked::Greeting };
        Connection {
            frames: Frames::default(),
            state: D::State::default(),
            awaited: (0..greetings).map(|_| greeting).collect(),
            greetings,
            bytes: 0,
            announced: false,
            used: false,
            closed: false,
        }
    }

    fn room(&self, connection: &Self::Connection) -> u32 {
        if connection.closed || (self.once && connection.used) {
            return 0;
        }
        let all = u32::try_from(connection.awaited.len()).unwrap_or(u32::MAX);
        self.depth.saturating_sub(all - connection.greetings)
    }

    fn request<'a>(
        &'a mut self,
        connection: &mut Self::Connection,
        slot: Slot,
        index: u32,
        out: &'a mut Vec<u8>,
    ) -> &'a [u8] {
        let operation = self.operations.at(u64::from(index));
        let asked = if operation.kind == Kind::Read { Asked::Read } else { Asked::Write };
        connection.awaited.push_back(Awaited { slot: Some(slot), asked });
        connection.used = true;
        D::command(&operation, self.operations.value(&operation), out);
        out
    }

    fn receive(
        &mut self,
        connection: &mut Self::Connection,
        mut bytes: &[u8],
        _out: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Fate {
        while !bytes.is_empty() {
            // Nothing was asked for that could be answered by it.
            if connection.closed || connection.awaited.is_empty() {
                return connection.fail(events);
            }
            let taken = take::<D>(&mut connection.frames, &mut connection.state, bytes);
            let Ok((n, reply)) = taken else { return connection.fail(events) };
            connection.bytes += n as u64;
            bytes = &bytes[n..];
            let Some(reply) = reply else { break };
            if connection.answered(reply, self.once, events) == Fate::Close {
                return Fate::Close;
            }
        }
        if connection.bytes > 0 {
            connection.announce(events);
        }
        Fate::Keep
    }

    fn disinterest(&self, connection: &Self::Connection) -> u64 {
        connection.frames.block_left()
    }

    fn discarded(
        &mut self,
        connection: &mut Self::Connection,
        n: u64,
        _events: &mut Vec<Event>,
    ) -> Fate {
        connection.bytes += n;
        connection.frames.pass_over(n);
        Fate::Keep
    }

    fn end(&mut self, connection: &mut Self::Connection, _events: &mut Vec<Event>) {
        connection.closed = true;
    }

    fn abandon(
        &mut self,
        connection: &mut Self::Connection,
        slot: Slot,
        _out: &mut Vec<u8>,
    ) -> Fate {
        let given_up = connection.awaited.iter_mut().find(|awaited| awaited.slot == Some(slot));
        if let Some(awaited) = given_up {
            awaited.slot = None;
        }
        if connection.awaited.iter().any(|awaited| awaited.slot.is_some()) {
            return Fate::Keep;
        }
        connection.closed = true;
        Fate::Close
    }
}
