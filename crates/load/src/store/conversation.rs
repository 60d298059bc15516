//! A store asked by one connection of its own, one question after the other, while the caller
//! waits: before a load, and behind a data set. The engine has no part in it.

use super::encryption::encrypt;
use super::frames::Malformed;
use super::{Heard, Opening, Reply, Speech, Spoken, Transport, shown};
use crate::clock::Clock;
use crate::tls::Tls;
use plimsoll_workload::store::Operation;
use std::io::{self, Read, Write};
use std::time::Duration;

/// What both kinds of sockets are.
pub(crate) trait Socket: Read + Write {}
impl<T: Read + Write> Socket for T {}

/// Why a question has no answer.
pub(crate) enum Failed {
    /// The socket has failed, or the store is silent.
    Io(io::Error),
    /// The store has ended a connection without TLS, and has not said a word.
    Unheard(io::Error),
    /// TLS could not be agreed on, or one side has refused the other's certificate.
    Tls(io::Error),
    /// The store speaks TLS, and we do not.
    WantsTls,
    /// The store answers by an error: its code, and its words.
    Said(u16, String),
    /// We cannot log in, for this reason.
    Objection(String),
    /// It is no answer of such a store.
    Malformed,
}

impl From<Malformed> for Failed {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

/// What can be asked of a store that has let us in.
pub(crate) trait Talk {
    /// Reads a record; `None` where there is no such record.
    fn read(&mut self, record: u64) -> Result<Option<Answered>, Failed>;
}

/// What is asked.
type Question<'a> = &'a mut dyn FnMut(&mut dyn Talk);

/// Begins a conversation with a store, in which a question is asked.
pub(crate) type Ask = fn(Opening, Link, Question<'_>) -> Result<(), Failed>;

/// What a conversation goes over.
pub(crate) struct Link {
    /// A socket that is connected.
    pub(crate) socket: Box<dyn Socket>,
    pub(crate) transport: Transport,
    /// TLS, where that is spoken.
    pub(crate) tls: Option<Tls>,
    /// How long each answer may take.
    pub(crate) patience: Duration,
}

/// A connection to a store that has let us in.
struct Conversation<'a, S: Speech> {
    speech: &'a S,
    link: Link,
    state: S::State,
    out: Vec<u8>,
    buffer: Vec<u8>,
    /// Which bytes of the buffer have come and are not read yet.
    unread: std::ops::Range<usize>,
    /// Whether anything has come.
    has_heard: bool,
    /// Why nothing can be written any more: what the store has said before may still be read.
    broken: Option<io::Error>,
}

/// The bytes of an answer in which a value came, and the value's length where that is known.
pub(crate) type Answered = (Vec<u8>, Option<u64>);

impl<'a, S: Speech> Conversation<'a, S> {
    /// Begins: logs in, and awaits the answers to all greetings.
    fn begin(speech: &'a S, link: Link) -> Result<Self, Failed> {
        let clock = Clock::start();
        let link = if S::BEGINS_PLAIN { link } else { link.encrypted(&clock)? };
        let (mut out, mut raw) = (Vec::new(), Vec::new());
        let (state, mut greetings) = speech.open(&mut out);
        let (buffer, unread) = (vec![0; 64 * 1024], 0..0);
        let (has_heard, broken) = (false, None);
        let mut talk = Self { speech, link, state, out, buffer, unread, has_heard, broken };
        while greetings > 0 || !S::is_ready(&talk.state) {
            if S::wants_tls(&talk.state) {
                talk = talk.encrypted(&clock)?;
                continue;
            }
            match talk.step(&clock, &mut raw)? {
                None | Some(Reply::Aside) => {}
                Some(Reply::Error(_)) if greetings == 1 && S::lets_in(&talk.state) => greetings = 0,
                Some(Reply::Done | Reply::Greeted) if greetings > 0 => greetings -= 1,
                Some(reply) => return Err(talk.failed(reply)),
            }
        }
        Ok(talk)
    }

    /// Begins TLS, as the protocol has it.
    fn encrypted(mut self, clock: &Clock) -> Result<Self, Failed> {
        // What comes in the clear behind that is none of the server's.
        if !self.unread.is_empty() {
            return Err(Failed::Malformed);
        }
        let asked = std::mem::take(&mut self.out);
        self.link.socket.write_all(&asked).map_err(Failed::Io)?;
        self.link = self.link.encrypted(clock)?;
        self.speech.encrypted(&mut self.state, &mut self.out);
        Ok(self)
    }

    fn failed(&self, reply: Reply) -> Failed {
        match (self.state.objection(), reply) {
            (Some(objection), _) => Failed::Objection(objection.to_owned()),
            (None, Reply::Error(code) | Reply::Final(code)) => {
                Failed::Said(code, shown(self.state.said()))
            }
            (None, Reply::Idle) => Failed::Said(503, shown(self.state.said())),
            (None, _) => Failed::Malformed,
        }
    }

    /// Sends what is to be sent, and takes some of what comes; `raw` gets that as well. A server
    /// that sends a byte now and then does not hold us up.
    fn step(&mut self, clock: &Clock, raw: &mut Vec<u8>) -> Result<Option<Reply>, Failed> {
        if u128::from(clock.now()) > self.link.patience.as_nanos() {
            return Err(Failed::Io(io::ErrorKind::TimedOut.into()));
        }
        if !self.out.is_empty() && self.broken.is_none() {
            self.broken = self.link.socket.write_all(&self.out).err();
            self.out.clear();
        }
        if self.unread.is_empty() {
            let read = self.link.socket.read(&mut self.buffer);
            self.unread = match (read, self.broken.take()) {
                (Ok(0) | Err(_), Some(error)) => return Err(self.ended(error)),
                (Ok(0), None) => return Err(self.ended(io::ErrorKind::UnexpectedEof.into())),
                (Err(error), None) => return Err(self.ended(error)),
                (Ok(n), broken) => {
                    self.broken = broken;
                    0..n
                }
            };
        }
        let bytes = &self.buffer[self.unread.clone()];
        let is_first = !std::mem::replace(&mut self.has_heard, true);
        if is_first && self.link.is_plain() && is_alert(bytes) {
            return Err(Failed::WantsTls);
        }
        let (n, reply) = self.speech.take(&mut self.state, bytes, &mut self.out)?;
        raw.extend_from_slice(&bytes[..n]);
        self.unread.start += n;
        Ok(reply)
    }

    /// What it means that nothing more comes.
    fn ended(&self, error: io::Error) -> Failed {
        let is_silent = error.kind() == io::ErrorKind::WouldBlock;
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        let of_tls = inner.is_some();
        match error {
            // What a socket says whose patience has ended.
            _ if is_silent => Failed::Io(io::ErrorKind::TimedOut.into()),
            error if of_tls => Failed::Tls(error),
            error if !self.has_heard && self.link.is_plain() => Failed::Unheard(error),
            error => Failed::Io(error),
        }
    }
}

impl Link {
    /// Whether others on the way can read it.
    fn is_plain(&self) -> bool {
        self.transport == Transport::Tcp
    }

    /// Agrees on TLS where that is spoken.
    fn encrypted(self, clock: &Clock) -> Result<Self, Failed> {
        let Some(tls) = &self.tls else { return Ok(self) };
        let socket = encrypt(self.socket, tls, clock, self.patience).map_err(Failed::Tls)?;
        Ok(Self { socket, ..self })
    }
}

/// Whether bytes begin like an alert of TLS, by which a server refuses what is none.
fn is_alert(bytes: &[u8]) -> bool {
    matches!(bytes, [0x15, 0x03, ..])
}

impl<S: Speech> Talk for Conversation<'_, S> {
    fn read(&mut self, record: u64) -> Result<Option<Answered>, Failed> {
        S::command(&self.state, 0, &Operation::read(record), &[], &mut self.out);
        let (clock, mut raw) = (Clock::start(), Vec::new());
        loop {
            match self.step(&clock, &mut raw)? {
                None | Some(Reply::Aside) => {}
                Some(Reply::Found) => return Ok(Some((raw, self.state.value_len()))),
                Some(Reply::Missing) => return Ok(None),
                Some(reply) => return Err(self.failed(reply)),
            }
        }
    }
}

/// Asks a store that speaks like this.
pub(crate) fn ask<S: Spoken>(
    opening: Opening,
    link: Link,
    question: Question<'_>,
) -> Result<(), Failed> {
    let speech = S::begun(opening, link.transport);
    question(&mut Conversation::begin(&speech, link)?);
    Ok(())
}
