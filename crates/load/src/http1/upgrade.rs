//! A connection that becomes a WebSocket: its handshake, what is said on it, and what is heard.
//!
//! What comes was not asked for, so that it is no event of a request: it is put into an [`Inbox`],
//! which the engine empties behind each read. Pings are answered where they are read.

use super::{Connection as Asking, Http1, State};
use crate::driver::{Event, Fate, Inbox, Said};
use plimsoll_websocket::extension::Deflate;
use plimsoll_websocket::handshake::Opening;
use plimsoll_websocket::{CloseCode, Connection, Error, Head, Limits, Masks, Message};
use plimsoll_workload::scenario::{self, Compress, Upgrade};
use std::sync::Arc;

/// The longest message that is read, bytes.
const MOST_BYTES: usize = 16 << 20;

/// A handshake that is to be answered.
pub struct Handshake {
    upgrade: Arc<Upgrade>,
    protocols: Vec<String>,
    key: [u8; 16],
    seed: u64,
}

/// A connection that is a WebSocket.
pub(super) struct Socket {
    connection: Connection,
    /// Bytes that were received of what is not whole yet.
    of_next: u64,
}

/// What is offered of compression.
fn offered(upgrade: &Upgrade) -> Option<Deflate> {
    match upgrade.compress {
        Compress::Off => None,
        Compress::Each => Some(Deflate::ALONE),
        Compress::Context => Some(Deflate::KEPT),
    }
}

impl Handshake {
    /// The bytes of a user's handshake, in the place of what `out` held; `None` where a part of it
    /// may not stand in one.
    #[must_use]
    pub fn begin(
        upgrade: &Arc<Upgrade>,
        message: &scenario::Message,
        (host, user_agent): (&str, &str),
        masks: &mut Masks,
        out: &mut Vec<u8>,
    ) -> Option<Self> {
        out.clear();
        let head = String::from_utf8_lossy(&message.head);
        let own = head.lines().filter_map(|line| line.split_once(": "));
        let mut fields: Vec<(&str, &str)> = own.collect();
        if !fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("user-agent")) {
            fields.push(("User-Agent", user_agent));
        }
        let protocols: Vec<&str> = message.protocols.iter().map(String::as_str).collect();
        let key = masks.key();
        let opening = Opening {
            target: &message.target,
            host,
            fields: &fields,
            protocols: &protocols,
            deflate: offered(upgrade),
            key,
        };
        opening.write(out).ok()?;
        let [a, b, c, d] = masks.draw();
        let [e, f, g, h] = masks.draw();
        let seed = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        let protocols = message.protocols.clone();
        Some(Self { upgrade: Arc::clone(upgrade), protocols, key, seed })
    }

    /// The client's end of the WebSocket that an answer of status 101 makes.
    ///
    /// # Errors
    /// Why it makes none, in words.
    pub fn complete(&self, head: &Head) -> Result<Connection, String> {
        let protocols: Vec<&str> = self.protocols.iter().map(String::as_str).collect();
        let opening = Opening {
            target: "/",
            host: "",
            fields: &[],
            protocols: &protocols,
            deflate: offered(&self.upgrade),
            key: self.key,
        };
        let agreed = opening.check(head).map_err(|refusal| refusal.to_string())?;
        let limits = Limits { frame_bytes: MOST_BYTES as u64, message_bytes: MOST_BYTES };
        let masks = Masks::seeded(self.seed);
        Ok(Connection::client(agreed.deflate, limits, masks))
    }
}

impl Socket {
    pub(super) fn new(connection: Connection) -> Self {
        Self { connection, of_next: 0 }
    }

    /// Takes received bytes; what is sent in answer is appended to `out`.
    pub(super) fn receive(
        &mut self,
        mut bytes: &[u8],
        out: &mut Vec<u8>,
        inbox: &mut Inbox,
    ) -> Fate {
        inbox.has_received(bytes.len() as u64);
        loop {
            let left = bytes.len();
            let received = self.connection.receive(&mut bytes, out);
            self.of_next += (left - bytes.len()) as u64;
            let mut push = |said, bytes: &[u8]| {
                inbox.push(said, bytes, std::mem::take(&mut self.of_next));
            };
            match received {
                Ok(None) => break,
                Ok(Some(Message::Text(text))) => push(Said::Message, text.as_bytes()),
                Ok(Some(Message::Binary(bytes))) => push(Said::Message, bytes),
                Ok(Some(Message::Close(close))) => {
                    let code = close.code.map_or(NO_CODE, CloseCode::get);
                    push(Said::Closed(code), close.reason.as_bytes());
                }
                // A ping is answered already; a pong answers nobody.
                Ok(Some(Message::Ping(_) | Message::Pong(_))) => self.of_next = 0,
                Err(error) => {
                    push(Said::Broken(error.code().get()), broken(&error).as_bytes());
                    break;
                }
            }
        }
        if self.connection.is_over() { Fate::Close } else { Fate::Keep }
    }

    /// Appends a message: text where it is UTF-8 and not said to be binary. `false` where nothing
    /// may be sent any more.
    pub(super) fn say(&mut self, (bytes, is_binary): (&[u8], bool), out: &mut Vec<u8>) -> bool {
        let message = match std::str::from_utf8(bytes) {
            Ok(text) if !is_binary => Message::Text(text),
            _ => Message::Binary(bytes),
        };
        self.connection.send(message, out).is_ok()
    }

    /// Begins the closing handshake, unless it has begun.
    pub(super) fn part(&mut self, code: u16, out: &mut Vec<u8>) {
        if let Some(code) = CloseCode::new(code) {
            self.connection.close(code, "", out);
        }
    }
}

impl Http1 {
    /// Reads the answer to a handshake: one of status 101 makes a WebSocket of the connection, any
    /// other is an answer as to every request.
    pub(super) fn shake_hands(
        &mut self,
        connection: &mut Asking,
        bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Fate {
        connection.partial.extend_from_slice(bytes);
        let read = Head::read_answer(&connection.partial);
        if matches!(read, Ok(None)) {
            return connection.announce(events);
        }
        let handshake = connection.handshake.take();
        let received = std::mem::take(&mut connection.partial);
        let wrong = read.as_ref().err().filter(|_| is_switch(&received)).map(ToString::to_string);
        if let Some(why) = wrong {
            let why = format!("its answer to the handshake cannot be read: {why}");
            return connection.fail(why.into_bytes(), events, &mut self.words);
        }
        let upgraded = read.ok().flatten().filter(|(head, _)| head.status() == Some(101));
        let (Some((head, len)), Some(handshake)) = (upgraded, handshake) else {
            return connection.receive(&received, self.once, events, &mut self.words);
        };
        match handshake.complete(&head) {
            Err(why) => connection.fail(why.into_bytes(), events, &mut self.words),
            Ok(opened) => {
                let fields = head.fields().iter();
                let fields = fields.map(|(name, value)| (name.clone(), value.clone().into_bytes()));
                connection
                    .answer
                    .iter_mut()
                    .for_each(|answer| answer.fields = fields.clone().collect());
                (connection.status, connection.bytes) = (101, len as u64);
                events.push(Event::Done { slot: connection.slot, code: 101, bytes: len as u64 });
                connection.state = State::Socket;
                let socket = connection.socket.insert(Box::new(Socket::new(opened)));
                socket.receive(&received[len..], out, &mut self.inbox)
            }
        }
    }
}

/// Whether an answer, behind informational ones, says that it switches protocols.
#[must_use]
pub fn is_switch(bytes: &[u8]) -> bool {
    let last = memchr::memmem::rfind(bytes, b"\r\n\r\nHTTP/1.1 ").map_or(0, |at| at + 4);
    bytes[last..].starts_with(b"HTTP/1.1 101")
}

/// The peer closed without a code (RFC 6455, section 7.1.5).
const NO_CODE: u16 = 1005;

fn broken(error: &Error) -> String {
    format!("what the server sent is no WebSocket: {error}")
}
