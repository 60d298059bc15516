//! HTTP/1.1 (RFC 9112): one request at a time on a connection, kept alive or not.
//!
//! Nothing is copied where nothing has to be: a request without templates is made once and sent as
//! it stands; an answer whose head and body arrive together is counted where it was received; the
//! rest of a long body need not be copied out of the kernel at all ([`Driver::disinterest`]). Only
//! a head that arrives in pieces is kept between two reads.
//!
//! What follows a whole answer on the same connection was not asked for: the answer counts, and the
//! connection is closed. Empty lines before a status line are passed over, as what an old server
//! wrote behind the answer before.

pub mod chunked;
pub mod encode;
pub mod head;

use crate::driver::{Driver, Event, Fate, Slot, Words, quoted};
use chunked::Chunked;
use encode::Encoder;
use head::Length;
use plimsoll_runs::ErrorKind;

/// The driver: what can be asked, and how it is asked.
pub struct Http1 {
    encoder: Encoder,
    /// Whether a connection serves one request only.
    once: bool,
    words: Words,
}

/// A connection's state.
pub struct Connection {
    state: State,
    /// The request that is being answered, and whether it was HEAD.
    slot: Slot,
    head_only: bool,
    status: u16,
    keep_alive: bool,
    /// Bytes of the answer so far, but for those in `partial`.
    bytes: u64,
    /// Whether the engine has been told of the answer's first byte.
    announced: bool,
    /// Bytes of a head that is not complete. Empty nearly always.
    partial: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    Head,
    Body { left: u64 },
    Chunks(Chunked),
    UntilClose,
    Closed,
}

impl Http1 {
    /// A driver for these requests. With `once`, each request gets a connection of its own.
    #[must_use]
    pub fn new(encoder: Encoder, once: bool) -> Self {
        Self { encoder, once, words: Words::default() }
    }
}

impl Connection {
    /// How many received bytes it keeps.
    #[must_use]
    pub fn held(&self) -> usize {
        self.partial.len()
    }

    /// The answer cannot be understood: `why` says what of it.
    #[cold]
    fn fail(&mut self, why: Vec<u8>, events: &mut Vec<Event>, words: &mut Words) -> Fate {
        words.say(self.slot, why);
        events.push(Event::Failed { slot: self.slot, kind: ErrorKind::Protocol });
        self.state = State::Closed;
        Fate::Close
    }

    fn done(&mut self, events: &mut Vec<Event>, once: bool) -> Fate {
        events.push(Event::Done { slot: self.slot, code: self.status, bytes: self.bytes });
        if self.keep_alive && !once {
            self.state = State::Idle;
            Fate::Keep
        } else {
            self.state = State::Closed;
            Fate::Close
        }
    }

    /// Reads heads from `bytes` until one is final. Interim answers (1xx) are passed over (RFC
    /// 9110, section 15.2), and bounded together with the final head: there may be no end to them.
    fn read_head<'a>(&mut self, mut bytes: &'a [u8]) -> Result<Found<'a>, head::Malformed> {
        loop {
            let before = usize::try_from(self.bytes).map_err(|_| head::Malformed)?;
            let most = head::MAX_HEAD.saturating_sub(before);
            let Some(head) = head::read_within(bytes, most)? else {
                return Ok(Found::Part(bytes));
            };
            self.bytes += head.len as u64;
            bytes = &bytes[head.len..];
            // 101 would hand the connection to another protocol, which was not asked for.
            if head.status == 101 {
                return Err(head::Malformed);
            }
            if head.status >= 200 {
                self.status = head.status;
                let length = if self.head_only { Length::Known(0) } else { head.length };
                self.keep_alive = head.keep_alive;
                self.state = match length {
                    Length::Known(left) => State::Body { left },
                    Length::Chunked => State::Chunks(Chunked::START),
                    Length::UntilClose => State::UntilClose,
                };
                return Ok(Found::Body(bytes));
            }
        }
    }

    /// Takes bytes of the body; `Ok(true)` when it is complete, and why it cannot be understood.
    fn read_body(&mut self, bytes: &[u8]) -> Result<bool, Vec<u8>> {
        let before = self.state;
        let taken = match &mut self.state {
            State::Body { left } => {
                let n = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                *left -= n as u64;
                n
            }
            State::Chunks(chunks) => chunks.take(bytes).map_err(|_| bad_chunk(before, bytes))?,
            State::UntilClose => bytes.len(),
            State::Idle | State::Head | State::Closed => 0,
        };
        self.bytes += taken as u64;
        // More than the answer: nothing was asked for that could be answered by it.
        self.keep_alive &= taken == bytes.len();
        Ok(matches!(self.state, State::Body { left: 0 } | State::Chunks(Chunked::End)))
    }

    fn receive(
        &mut self,
        bytes: &[u8],
        once: bool,
        events: &mut Vec<Event>,
        words: &mut Words,
    ) -> Fate {
        match self.state {
            // Nothing was asked for that could be answered by it.
            State::Idle | State::Closed => {
                self.state = State::Closed;
                Fate::Close
            }
            State::Head if self.partial.is_empty() => match self.read_head(self.answer_in(bytes)) {
                Ok(Found::Part([])) if self.bytes == 0 => Fate::Keep,
                Ok(Found::Body(body)) => self.receive_body(body, once, events, words),
                Ok(Found::Part(part)) => {
                    self.partial.extend_from_slice(part);
                    self.announce(events)
                }
                Err(head::Malformed) => self.fail(head::culprit(bytes), events, words),
            },
            State::Head => {
                let before = self.partial.len();
                self.partial.extend_from_slice(bytes);
                if self.is_part(before) {
                    return Fate::Keep;
                }
                let mut joined = std::mem::take(&mut self.partial);
                match self.read_head(&joined) {
                    Ok(Found::Body(body)) => self.receive_body(body, once, events, words),
                    Ok(Found::Part(part)) => {
                        let read = joined.len() - part.len();
                        joined.drain(..read);
                        self.partial = joined;
                        Fate::Keep
                    }
                    Err(head::Malformed) => self.fail(head::culprit(&joined), events, words),
                }
            }
            State::Body { .. } | State::Chunks(_) | State::UntilClose => {
                self.receive_body(bytes, once, events, words)
            }
        }
    }

    /// Where the answer begins: behind empty lines that were never asked for, unless a part of it
    /// has come already.
    fn answer_in<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let stray = |byte: &&u8| matches!(byte, b'\r' | b'\n') && self.bytes == 0;
        &bytes[bytes.iter().take_while(stray).count()..]
    }

    /// Whether what is kept of a head, of which so many bytes are known to be a part, can only be a
    /// part still: so that a head in many pieces is not read anew with each.
    fn is_part(&self, before: usize) -> bool {
        let most = head::MAX_HEAD as u64;
        before >= head::BEGIN.len()
            && self.bytes + self.partial.len() as u64 <= most
            && !head::has_empty_line(&self.partial[before.saturating_sub(2)..])
    }

    fn receive_body(
        &mut self,
        body: &[u8],
        once: bool,
        events: &mut Vec<Event>,
        words: &mut Words,
    ) -> Fate {
        match self.read_body(body) {
            Ok(true) => self.done(events, once),
            Ok(false) => self.announce(events),
            Err(why) => self.fail(why, events, words),
        }
    }

    /// Says that the answer has begun, once.
    fn announce(&mut self, events: &mut Vec<Event>) -> Fate {
        if !std::mem::replace(&mut self.announced, true) {
            events.push(Event::FirstByte(self.slot));
        }
        Fate::Keep
    }
}

/// Says which byte of a chunked body was not understood, and what stands there.
#[cold]
fn bad_chunk(before: State, bytes: &[u8]) -> Vec<u8> {
    let State::Chunks(mut chunks) = before else { return Vec::new() };
    let mut at = 0;
    while let Some(byte) = bytes.get(at..=at)
        && chunks.take(byte).is_ok()
    {
        at += 1;
    }
    let line = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let place = format!("not the size of a chunk, or its end, at byte {} of ", at - line + 1);
    [place.as_bytes(), &quoted(&bytes[line..])].concat()
}

/// What reading heads has come to.
enum Found<'a> {
    /// The final head is complete; this follows it.
    Body(&'a [u8]),
    /// It is not; this is what there is of it.
    Part(&'a [u8]),
}

impl Driver for Http1 {
    type Connection = Connection;

    fn open(&mut self, _out: &mut Vec<u8>) -> Connection {
        Connection {
            state: State::Idle,
            slot: Slot(0),
            head_only: false,
            status: 0,
            keep_alive: true,
            bytes: 0,
            announced: false,
            partial: Vec::new(),
        }
    }

    fn room(&self, connection: &Connection) -> u32 {
        u32::from(connection.state == State::Idle)
    }

    fn request<'a>(
        &'a mut self,
        connection: &mut Connection,
        slot: Slot,
        index: u32,
        out: &'a mut Vec<u8>,
    ) -> &'a [u8] {
        connection.state = State::Head;
        connection.slot = slot;
        connection.bytes = 0;
        connection.announced = false;
        connection.head_only = self.encoder.is_head(index);
        self.encoder.encode(index, out)
    }

    fn is_repeatable(&self, index: u32) -> bool {
        self.encoder.is_repeatable(index)
    }

    fn receive(
        &mut self,
        connection: &mut Connection,
        bytes: &[u8],
        _out: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Fate {
        self.words.clear();
        connection.receive(bytes, self.once, events, &mut self.words)
    }

    fn words(&mut self, slot: Slot) -> Option<Vec<u8>> {
        self.words.take(slot)
    }

    fn disinterest(&self, connection: &Connection) -> u64 {
        match connection.state {
            State::Body { left } => left,
            State::Chunks(chunks) => chunks.data_left(),
            State::UntilClose => u64::MAX,
            State::Idle | State::Head | State::Closed => 0,
        }
    }

    fn discarded(&mut self, connection: &mut Connection, n: u64, events: &mut Vec<Event>) -> Fate {
        connection.bytes += n;
        match &mut connection.state {
            State::Body { left } => *left = left.saturating_sub(n),
            State::Chunks(chunks) => chunks.skip(n),
            State::UntilClose | State::Idle | State::Head | State::Closed => {}
        }
        if connection.state == (State::Body { left: 0 }) {
            return connection.done(events, self.once);
        }
        Fate::Keep
    }

    fn end(&mut self, connection: &mut Connection, events: &mut Vec<Event>) {
        match connection.state {
            State::UntilClose => drop(connection.done(events, true)),
            // A head that breaks the rules before its end.
            State::Head if head::read(&connection.partial).is_err() => {
                let why = head::culprit(&connection.partial);
                connection.fail(why, events, &mut self.words);
            }
            _ => {}
        }
        connection.state = State::Closed;
    }

    fn abandon(&mut self, connection: &mut Connection, _: Slot, _: &mut Vec<u8>) -> Fate {
        connection.state = State::Closed;
        Fate::Close
    }
}
