//! What a protocol has to do to be driven: bytes in, bytes out, nothing else.
//!
//! The engine owns sockets, TLS, pacing, time-outs, retries and recording. A driver turns a request
//! into bytes and received bytes into [`Event`]s; it has no clock, no socket and no retry, so each
//! is tested on plain byte strings. The trait assumes neither an HTTP status nor one request at a
//! time on a connection: an outcome is a code and a number of bytes.
//!
//! Adding a protocol: one file that implements [`Driver`], one line in `session::spawn`
//! (docs/extending.md).

use plimsoll_runs::ErrorKind;
use plimsoll_workload::check::Answer;
use plimsoll_workload::scenario::Message;
use plimsoll_workload::traceparent::Traceparent;
use std::collections::VecDeque;

/// A request on its way, by its place in the engine's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot(pub u32);

/// Set in the seat of a user where a request is none of his steps': a handshake by which he opens a
/// WebSocket again, while a request of a step may be on its way.
pub const IN_BACKGROUND: u32 = 1 << 31;

/// What received bytes meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The first byte of this request's answer is here, its last is not.
    FirstByte(Slot),
    /// The whole answer is here.
    Done {
        /// Whose answer.
        slot: Slot,
        /// Its code: the HTTP status, or what the protocol has instead.
        code: u16,
        /// Bytes of the answer, head and body.
        bytes: u64,
    },
    /// There will be no answer on this connection.
    Failed {
        /// Whose answer.
        slot: Slot,
        /// Why.
        kind: ErrorKind,
    },
    /// The peer has not begun to work on it and will not: it may be sent on another connection.
    Refused(Slot),
}

/// What becomes of a request whose whole answer is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follow {
    /// It has ended.
    Answer,
    /// It was led elsewhere and is to be sent again, on any connection.
    Again,
    /// It was led where nobody is asked; the driver's words say where.
    Astray,
}

/// What becomes of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It can be used on.
    Keep,
    /// It is to be closed; what is unanswered on it has failed.
    Close,
}

/// What a driver has to say of the failures among the events that it made last: words of the peer,
/// or which of its bytes were not understood. Empty while nothing fails.
#[derive(Debug, Default)]
pub struct Words(VecDeque<(Slot, Vec<u8>)>);

/// The most bytes that are kept of what is said of one failure.
const MAX_WORDS: usize = 1024;

impl Words {
    /// Forgets what was said before: called when bytes are received.
    #[inline]
    pub fn clear(&mut self) {
        if !self.0.is_empty() {
            self.0.clear();
        }
    }

    /// Says why a request has failed.
    #[cold]
    pub fn say(&mut self, slot: Slot, words: impl Into<Vec<u8>>) {
        let mut words = words.into();
        words.truncate(MAX_WORDS);
        self.0.push_back((slot, words));
    }

    /// What was said of a request, once.
    #[cold]
    pub fn take(&mut self, slot: Slot) -> Option<Vec<u8>> {
        // Failures are asked about in the order in which they were told.
        let at = self.0.iter().position(|(of, _)| *of == slot)?;
        self.0.remove(at).map(|(_, words)| words)
    }
}

/// What a peer has said on a connection without having been asked by a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// A message.
    Message,
    /// That it closes, by this code; the words with it are its own, often none.
    Closed(u16),
    /// What is no message of the protocol: it is closed by this code, and the words say what.
    Broken(u16),
}

/// What peers have said since it was emptied, in order.
#[derive(Debug, Default)]
pub struct Inbox {
    bytes: Vec<u8>,
    /// Where the bytes of each end, and how many were received for it.
    said: Vec<(Said, usize, u64)>,
    received: u64,
}

impl Inbox {
    /// Puts something in, for which so many bytes were received.
    pub fn push(&mut self, said: Said, bytes: &[u8], received: u64) {
        self.bytes.extend_from_slice(bytes);
        self.said.push((said, self.bytes.len(), received));
    }

    /// Bytes were received: of messages, of frames that are no message, of parts of either.
    pub fn has_received(&mut self, bytes: u64) {
        self.received += bytes;
    }

    /// How many bytes were received since this was last asked.
    pub fn take_received(&mut self) -> u64 {
        std::mem::take(&mut self.received)
    }

    /// Whether there is nothing.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.said.is_empty() && self.received == 0
    }

    /// What there is, with its bytes, and how many were received for it.
    pub fn iter(&self) -> impl Iterator<Item = (Said, &[u8], u64)> {
        let begins = std::iter::once(0).chain(self.said.iter().map(|(_, end, _)| *end));
        let said = self.said.iter().zip(begins);
        said.map(|((said, end, received), begin)| (*said, &self.bytes[begin..*end], *received))
    }

    /// How many messages there are.
    #[must_use]
    pub fn messages(&self) -> usize {
        self.said.iter().filter(|(said, ..)| *said == Said::Message).count()
    }

    /// Forgets what there is; a large room is given back.
    pub fn clear(&mut self) {
        const KEPT_BYTES: usize = 256 * 1024;
        self.said.clear();
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES);
    }
}

/// Bytes of a peer within a sentence: at most 80 of them, in quotation marks.
#[must_use]
pub fn quoted(bytes: &[u8]) -> Vec<u8> {
    const MOST: usize = 80;
    let (shown, end) = match bytes.get(..MOST) {
        Some(start) if bytes.len() > MOST => (start, "\"…"),
        _ => (bytes, "\""),
    };
    [b"\"", shown, end.as_bytes()].concat()
}

/// A protocol, seen from the client.
pub trait Driver: Send {
    /// A connection's state. Kept small: there may be 18,000 of them.
    type Connection: Send;

    /// Whether several requests go out on one connection together, so that it pays to gather the
    /// bytes of a turn and send them at once.
    const GATHERS: bool = false;
    /// Whether TLS, where it is spoken, begins within the protocol: then a new connection speaks
    /// plainly until [`Driver::wants_tls`]. Otherwise TLS comes before its first byte.
    const BEGINS_PLAIN: bool = false;
    /// How many bytes are read at once.
    const READ: usize = 16 * 1024;

    /// The state of a new connection; appends what has to be sent before the first request.
    fn open(&mut self, out: &mut Vec<u8>) -> Self::Connection;

    /// Whether a new connection can be used. One that has to be logged in first is not, until what
    /// it received has let it in; then it counts as opened, and [`Fate::Close`] before that is a
    /// failure to connect.
    fn is_ready(&self, _connection: &Self::Connection) -> bool {
        true
    }

    /// Whether TLS begins now, behind all that was received and sent. Asked of a connection that is
    /// not ready.
    fn wants_tls(&self, _connection: &Self::Connection) -> bool {
        false
    }

    /// TLS is there that was wanted; appends what is sent next.
    fn encrypted(&mut self, _connection: &mut Self::Connection, _out: &mut Vec<u8>) {}

    /// Why it was not let in, where the peer has said so.
    fn refusal(&self, _connection: &Self::Connection) -> Option<String> {
        None
    }

    /// How many more requests may be sent on it now.
    fn room(&self, connection: &Self::Connection) -> u32;

    /// Begins request `index` of the list as `slot`; appends its bytes to `out`, which is empty, or
    /// returns bytes that were made before.
    fn request<'a>(
        &'a mut self,
        connection: &mut Self::Connection,
        slot: Slot,
        index: u32,
        out: &'a mut Vec<u8>,
    ) -> &'a [u8];

    /// Under which id the request of the list is traced that was begun last, once; `None` where it
    /// does not say so, or says it as it was sent before.
    #[inline]
    fn take_traceparent(&mut self) -> Option<Traceparent> {
        None
    }

    /// Takes what the user in that seat sends next, of whose answer so many bytes are kept; `host`
    /// is the server's. The requests of users are begun by their seats in the place of an index,
    /// with [`IN_BACKGROUND`] set where they are none of his steps'.
    fn prepare(&mut self, _seat: u32, _message: &Message, _host: &str, _keep: u64) {}

    /// Whether request `index` of the list, on its way as `slot`, may be sent a second time where
    /// it is not known whether it has been worked on: doing it twice must do no more than doing it
    /// once (RFC 9110, section 9.2.2).
    fn is_repeatable(&self, slot: Slot, index: u32) -> bool;

    /// Whether request `index` of the list goes on behind an answer of a code that may lead
    /// elsewhere. Asked once for each such answer, before bytes are received again.
    fn follow(&mut self, _slot: Slot, _index: u32, _code: u16) -> Follow {
        Follow::Answer
    }

    /// A request has ended: what was kept of it is forgotten.
    fn forget(&mut self, _slot: Slot) {}

    /// Takes received bytes, all of them; appends what has to be sent in answer.
    fn receive(
        &mut self,
        connection: &mut Self::Connection,
        bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Fate;

    /// How many of the next bytes are of no interest but for their number. The engine may then take
    /// up to so many off the socket without copying them, and say so by [`Driver::discarded`].
    fn disinterest(&self, _connection: &Self::Connection) -> u64 {
        0
    }

    /// `n` bytes were taken off unseen.
    fn discarded(
        &mut self,
        _connection: &mut Self::Connection,
        _n: u64,
        _events: &mut Vec<Event>,
    ) -> Fate {
        Fate::Close
    }

    /// What can be said of a request that has failed, or was answered by an error, by one of the
    /// events made last. Asked once for each, before bytes are received again.
    fn words(&mut self, _slot: Slot) -> Option<Vec<u8>> {
        None
    }

    /// The answer that an event made last says is whole, where answers are kept: its head, and its
    /// body up to a bound. Once.
    fn answer(&mut self, _connection: &mut Self::Connection, _slot: Slot) -> Option<Answer> {
        None
    }

    /// What peers have said without having been asked, where the protocol has that: emptied behind
    /// each read.
    #[inline]
    fn inbox(&mut self) -> Option<&mut Inbox> {
        None
    }

    /// Appends a message, a binary one where that is said, to what is sent; `false` where the
    /// connection is none for messages, or is being closed.
    fn say(
        &mut self,
        _connection: &mut Self::Connection,
        _message: (&[u8], bool),
        _out: &mut Vec<u8>,
    ) -> bool {
        false
    }

    /// Begins to close a connection for messages, by this code.
    fn part(&mut self, _connection: &mut Self::Connection, _code: u16, _out: &mut Vec<u8>) {}

    /// The peer has closed. Answers that end with the connection become events; the engine fails
    /// whatever is still unanswered.
    fn end(&mut self, connection: &mut Self::Connection, events: &mut Vec<Event>);

    /// The engine has given up on a request (time-out).
    fn abandon(&mut self, connection: &mut Self::Connection, slot: Slot, out: &mut Vec<u8>)
    -> Fate;
}
