//! The driver of a store: requests in a pipeline, answers in their order or by their numbers.
//!
//! # Requests that are given up
//!
//! There is no way to take a command back. The answer to one that timed out is awaited and passed
//! over, so that those behind it keep theirs; a connection with nothing else on it is closed.

use super::{Heard, KeyCommand, NUMBERS, Reply, Speech, code, shown};
use crate::driver::{Driver, Event, Fate, Slot, Words, quoted};
use plimsoll_runs::ErrorKind;
use plimsoll_workload::store::{Kind, Operations};
use std::collections::VecDeque;
use std::sync::Arc;

/// The driver of a store.
pub struct Pipeline<S> {
    speech: S,
    operations: Arc<Operations>,
    /// Commands at once on a connection.
    depth: u32,
    /// Whether a connection serves one request only.
    once: bool,
    words: Words,
}

/// A connection's state.
pub struct Connection<S: Speech> {
    state: S::State,
    /// What is unanswered, oldest first.
    awaited: VecDeque<Awaited>,
    /// How many of these are not requests.
    greetings: u32,
    /// The number of the next request.
    next: u16,
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
    asked: KeyCommand,
    /// The number it was sent with.
    number: u16,
}

impl<S: Speech> Pipeline<S> {
    /// A driver with so many commands at once on a connection, at least one, and at most as many
    /// as there are numbers where answers go by them. With `once`, each
    /// request gets a connection of its own.
    #[must_use]
    pub fn new(speech: S, operations: Arc<Operations>, depth: u32, once: bool) -> Self {
        let most = if S::IN_ORDER { u32::MAX } else { u32::from(NUMBERS) };
        let depth = if once { 1 } else { depth.clamp(1, most) };
        Self { speech, operations, depth, once, words: Words::default() }
    }
}

impl<S: Speech> Connection<S> {
    /// How many received bytes it keeps.
    #[must_use]
    pub fn held(&self) -> usize {
        self.state.held()
    }

    /// What was received cannot be an answer: everything awaited fails. `bytes` begin with it.
    #[cold]
    fn fail(&mut self, bytes: &[u8], events: &mut Vec<Event>, words: &mut Words) -> Fate {
        let begun = if self.bytes > 0 { "in an answer, the peer sent " } else { "the peer sent " };
        let shown = quoted(bytes);
        let why = [begun.as_bytes(), &shown, b", which answers nothing that was asked"].concat();
        for slot in self.awaited.drain(..).filter_map(|awaited| awaited.slot) {
            words.say(slot, why.clone());
            events.push(Event::Failed { slot, kind: ErrorKind::Protocol });
        }
        self.closed = true;
        Fate::Close
    }

    /// Whose answer the present one is, by its place among those that are awaited.
    fn under_way(&self) -> Option<usize> {
        if S::IN_ORDER {
            return (!self.awaited.is_empty()).then_some(0);
        }
        let number = self.state.whose()?;
        self.awaited.iter().position(|awaited| awaited.number == number)
    }

    /// A number that no command has whose answer is awaited.
    fn number(&mut self) -> u16 {
        loop {
            let number = self.next;
            self.next = (number + 1) % NUMBERS;
            if S::IN_ORDER || self.awaited.iter().all(|awaited| awaited.number != number) {
                return number;
            }
        }
    }

    /// Deals with the answer to a greeting, or with what is said in its place.
    fn greeted(&mut self, reply: Reply) -> Fate {
        let is_last = self.awaited.len() == 1;
        let is_well = match reply {
            Reply::Done | Reply::Greeted => true,
            Reply::Error(_) => is_last && S::lets_in(&self.state),
            _ => false,
        };
        if !is_well || self.awaited.pop_front().is_none() {
            self.closed = true;
            return Fate::Close;
        }
        self.greetings -= 1;
        Fate::Keep
    }

    /// What was sent on it and has no answer was not looked at: it may go elsewhere.
    fn give_back(&mut self, events: &mut Vec<Event>) -> Fate {
        events
            .extend(self.awaited.drain(..).filter_map(|awaited| awaited.slot).map(Event::Refused));
        self.closed = true;
        Fate::Close
    }

    /// Deals with a whole answer.
    fn answered(
        &mut self,
        reply: Reply,
        once: bool,
        received: &[u8],
        events: &mut Vec<Event>,
        words: &mut Words,
    ) -> Fate {
        let bytes = std::mem::take(&mut self.bytes);
        self.announced = false;
        match reply {
            Reply::Aside => return Fate::Keep,
            Reply::Idle => return self.give_back(events),
            Reply::Final(_) if self.awaited.is_empty() => return self.give_back(events),
            _ => {}
        }
        let Some(place) = self.under_way() else { return self.fail(received, events, words) };
        let awaited = self.awaited[place];
        let Some(code) = code(awaited.asked, reply) else {
            return self.fail(received, events, words);
        };
        self.awaited.remove(place);
        self.greetings -= u32::from(awaited.asked == KeyCommand::Greeting);
        if let Some(slot) = awaited.slot {
            if let Reply::Error(_) | Reply::Final(_) = reply {
                words.say(slot, self.state.said());
            }
            events.push(Event::Done { slot, code, bytes });
        }
        if let Reply::Final(_) = reply {
            return self.give_back(events);
        }
        if once && awaited.asked != KeyCommand::Greeting {
            self.closed = true;
            return Fate::Close;
        }
        Fate::Keep
    }

    /// Says that the present answer has begun, once.
    fn announce(&mut self, events: &mut Vec<Event>) {
        let slot = self.under_way().and_then(|place| self.awaited[place].slot);
        if let Some(slot) = slot
            && !std::mem::replace(&mut self.announced, true)
        {
            events.push(Event::FirstByte(slot));
        }
    }
}

impl<S: Speech> Driver for Pipeline<S> {
    type Connection = Connection<S>;

    const GATHERS: bool = true;
    const BEGINS_PLAIN: bool = S::BEGINS_PLAIN;
    const READ: usize = 64 * 1024;

    fn open(&mut self, out: &mut Vec<u8>) -> Self::Connection {
        let (state, greetings) = self.speech.open(out);
        let greeting = Awaited { slot: None, asked: KeyCommand::Greeting, number: 0 };
        Connection {
            state,
            awaited: (0..greetings).map(|_| greeting).collect(),
            greetings,
            next: 0,
            bytes: 0,
            announced: false,
            used: false,
            closed: false,
        }
    }

    fn is_ready(&self, connection: &Self::Connection) -> bool {
        connection.greetings == 0 && S::is_ready(&connection.state)
    }

    fn wants_tls(&self, connection: &Self::Connection) -> bool {
        S::wants_tls(&connection.state)
    }

    fn encrypted(&mut self, connection: &mut Self::Connection, out: &mut Vec<u8>) {
        self.speech.encrypted(&mut connection.state, out);
    }

    fn refusal(&self, connection: &Self::Connection) -> Option<String> {
        if let Some(objection) = connection.state.objection() {
            return Some(objection.to_owned());
        }
        let said = connection.state.said();
        (!said.is_empty()).then(|| format!("it answers `{}`", shown(said)))
    }

    fn room(&self, connection: &Self::Connection) -> u32 {
        let is_used_up = self.once && connection.used;
        if connection.closed || is_used_up || !self.is_ready(connection) {
            return 0;
        }
        let all = u32::try_from(connection.awaited.len()).unwrap_or(u32::MAX);
        self.depth.saturating_sub(all)
    }

    fn request<'a>(
        &'a mut self,
        connection: &mut Self::Connection,
        slot: Slot,
        index: u32,
        out: &'a mut Vec<u8>,
    ) -> &'a [u8] {
        let operation = self.operations.at(u64::from(index));
        let asked = if operation.kind == Kind::Read { KeyCommand::Read } else { KeyCommand::Write };
        let number = connection.number();
        connection.awaited.push_back(Awaited { slot: Some(slot), asked, number });
        connection.used = true;
        let value = self.operations.value(&operation);
        S::command(&connection.state, number, &operation, value, out);
        out
    }

    /// A read is, a write is not: another's write may have come between.
    fn is_repeatable(&self, _: Slot, index: u32) -> bool {
        self.operations.at(u64::from(index)).kind == Kind::Read
    }

    fn receive(
        &mut self,
        connection: &mut Self::Connection,
        mut bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Fate {
        self.words.clear();
        while !bytes.is_empty() {
            let is_ready = connection.greetings == 0 && S::is_ready(&connection.state);
            // Nothing was asked for that could be answered by it.
            let unasked = is_ready && connection.awaited.is_empty() && !S::SPEAKS_UNASKED;
            if connection.closed || unasked {
                return connection.fail(bytes, events, &mut self.words);
            }
            let taken = self.speech.take(&mut connection.state, bytes, out);
            let Ok((n, reply)) = taken else {
                return connection.fail(bytes, events, &mut self.words);
            };
            let received = bytes;
            bytes = &bytes[n..];
            if !is_ready {
                if let Some(reply) = reply
                    && connection.greeted(reply) == Fate::Close
                {
                    return Fate::Close;
                }
                // What comes in the clear behind that is none of the server's.
                if !bytes.is_empty() && S::wants_tls(&connection.state) {
                    return connection.fail(bytes, events, &mut self.words);
                }
                continue;
            }
            connection.bytes += n as u64;
            let Some(reply) = reply else { continue };
            let words = &mut self.words;
            let fate = connection.answered(reply, self.once, received, events, words);
            if fate == Fate::Close {
                return Fate::Close;
            }
        }
        if connection.bytes > 0 {
            connection.announce(events);
        }
        Fate::Keep
    }

    fn disinterest(&self, connection: &Self::Connection) -> u64 {
        connection.state.certain()
    }

    fn discarded(
        &mut self,
        connection: &mut Self::Connection,
        n: u64,
        _events: &mut Vec<Event>,
    ) -> Fate {
        connection.bytes += n;
        connection.state.pass_over(n);
        Fate::Keep
    }

    fn words(&mut self, slot: Slot) -> Option<Vec<u8>> {
        self.words.take(slot)
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
