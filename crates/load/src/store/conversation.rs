//! A store asked by one connection of its own, one question after the other, while the caller
//! waits: before a load, and behind a data set. The engine has no part in it.

use super::frames::Malformed;
use super::{Heard, Opening, Reply, Speech, Spoken, shown};
use crate::clock::Clock;
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
pub(crate) type Ask =
    fn(Opening, bool, Box<dyn Socket>, Duration, Question<'_>) -> Result<(), Failed>;

/// A connection to a store that has let us in.
struct Conversation<'a, S: Speech> {
    speech: &'a S,
    socket: Box<dyn Socket>,
    state: S::State,
    out: Vec<u8>,
    buffer: Vec<u8>,
    /// Which bytes of the buffer have come and are not read yet.
    unread: std::ops::Range<usize>,
    patience: Duration,
    /// Why nothing can be written any more: what the store has said before may still be read.
    broken: Option<io::Error>,
}

/// The bytes of an answer in which a value came, and the value's length where that is known.
pub(crate) type Answered = (Vec<u8>, Option<u64>);

impl<'a, S: Speech> Conversation<'a, S> {
    /// Begins: logs in, and awaits the answers to all greetings.
    fn begin(speech: &'a S, socket: Box<dyn Socket>, patience: Duration) -> Result<Self, Failed> {
        let mut out = Vec::new();
        let (state, mut greetings) = speech.open(&mut out);
        let (buffer, unread) = (vec![0; 64 * 1024], 0..0);
        let mut talk = Self { speech, socket, state, out, buffer, unread, patience, broken: None };
        let (clock, mut raw) = (Clock::start(), Vec::new());
        while greetings > 0 || !S::is_ready(&talk.state) {
            match talk.step(&clock, &mut raw)? {
                None | Some(Reply::Aside) => {}
                Some(Reply::Error(_)) if greetings == 1 && S::lets_in(&talk.state) => greetings = 0,
                Some(Reply::Done | Reply::Greeted) if greetings > 0 => greetings -= 1,
                Some(reply) => return Err(talk.failed(reply)),
            }
        }
        Ok(talk)
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
        if u128::from(clock.now()) > self.patience.as_nanos() {
            return Err(Failed::Io(io::ErrorKind::TimedOut.into()));
        }
        if !self.out.is_empty() && self.broken.is_none() {
            self.broken = self.socket.write_all(&self.out).err();
            self.out.clear();
        }
        if self.unread.is_empty() {
            let read = self.socket.read(&mut self.buffer);
            self.unread = match (read, self.broken.take()) {
                (Ok(0) | Err(_), Some(error)) => return Err(Failed::Io(error)),
                (Ok(0), None) => return Err(Failed::Io(io::ErrorKind::UnexpectedEof.into())),
                // What a socket says whose patience has ended.
                (Err(error), None) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Err(Failed::Io(io::ErrorKind::TimedOut.into()));
                }
                (Err(error), None) => return Err(Failed::Io(error)),
                (Ok(n), broken) => {
                    self.broken = broken;
                    0..n
                }
            };
        }
        let bytes = &self.buffer[self.unread.clone()];
        let (n, reply) = self.speech.take(&mut self.state, bytes, &mut self.out)?;
        raw.extend_from_slice(&bytes[..n]);
        self.unread.start += n;
        Ok(reply)
    }
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
    is_private: bool,
    socket: Box<dyn Socket>,
    patience: Duration,
    question: Question<'_>,
) -> Result<(), Failed> {
    let speech = S::begun(opening, is_private);
    question(&mut Conversation::begin(&speech, socket, patience)?);
    Ok(())
}
