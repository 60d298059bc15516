//! A user's WebSockets, one step at a time: what he sends, and what comes while he awaits it.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use plimsoll_load::http1::upgrade::{Handshake, is_switch};
use plimsoll_net::http::client::{Answer, Deadline, Error, Peer, Wire, decode};
use plimsoll_units::failure::chain;
use plimsoll_websocket::{CloseCode, Connection, Head, Masks, Message as Frame};
use plimsoll_workload::request::Url;
use plimsoll_workload::scenario::{Failure, FailureKind, Heard, Message, Now, User};

use super::{NO_SOCKET, Walk};

/// So many messages are shown of one step at most.
const MOST_SHOWN: usize = 100;
/// The longest head of an answer to a handshake, bytes.
const MOST_HEAD: usize = 64 * 1024;

/// A WebSocket that is open.
pub(super) struct Talk {
    wire: Box<dyn Wire>,
    connection: Connection,
    /// What was received and not looked at.
    received: Vec<u8>,
}

/// A message that came, and what was made of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Came {
    /// What it says.
    pub text: String,
    /// What it was for: the step, a rule by its name, or nothing.
    pub what: String,
}

/// A step that sent a message, awaited some, or both.
#[derive(Debug)]
pub struct Said {
    /// The step's name.
    pub name: String,
    /// What was sent.
    pub sent: Option<String>,
    /// What came while it was awaited, at most a hundred messages.
    pub came: Vec<Came>,
    /// What was taken: names and values.
    pub taken: Vec<(String, String)>,
    /// Why the step has failed, where it has.
    pub failure: Option<Failure>,
}

impl Talk {
    /// Sends a frame.
    fn send(&mut self, frame: Frame<'_>) -> io::Result<()> {
        let mut out = Vec::new();
        self.connection.send(frame, &mut out).map_err(io::Error::other)?;
        self.wire.write_all(&out)
    }

    /// Says that it is closed.
    pub(super) fn close(mut self, code: u16) {
        let mut out = Vec::new();
        if let Some(code) = CloseCode::new(code) {
            self.connection.close(code, "", &mut out);
        }
        // Nobody waits for the answer.
        let _ = self.wire.write_all(&out);
    }

    /// The next message, where one comes in time; `Ok(None)` where none does.
    fn next(&mut self, within: Duration) -> io::Result<Option<String>> {
        let deadline = Deadline::after(within);
        let mut chunk = [0; 4096];
        loop {
            let mut out = Vec::new();
            let mut bytes = &self.received[..];
            let message = self.connection.receive(&mut bytes, &mut out);
            let message = match message.map_err(io::Error::other)? {
                Some(Frame::Text(text)) => Some(text.to_owned()),
                Some(Frame::Binary(bytes)) => Some(format!("({} bytes)", bytes.len())),
                Some(Frame::Close(close)) => {
                    let code = close.code.map_or(1005, CloseCode::get);
                    return Err(io::Error::other(format!("closed with code {code}")));
                }
                Some(Frame::Ping(_) | Frame::Pong(_)) | None => None,
            };
            let left = bytes.len();
            let is_all = left == 0;
            self.received.drain(..self.received.len() - left);
            self.wire.write_all(&out)?;
            if message.is_some() {
                return Ok(message);
            }
            if !is_all {
                continue;
            }
            let Ok(time) = deadline.left() else { return Ok(None) };
            self.wire.limit(time)?;
            match self.wire.read(&mut chunk) {
                Ok(0) => return Err(io::Error::other("closed without a word")),
                Ok(n) => self.received.extend_from_slice(&chunk[..n]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error)
                    if [io::ErrorKind::WouldBlock, io::ErrorKind::TimedOut]
                        .contains(&error.kind()) =>
                {
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl Walk<'_> {
    /// Opens a WebSocket. The answer is told as that of any request.
    pub(super) fn open(&self, message: &Message) -> (String, Result<Answer, String>, Option<Talk>) {
        let (Some(upgrade), Some(origin)) =
            (&message.upgrade, self.scenario.origins().get(usize::from(message.origin)))
        else {
            return (message.target.clone(), Err("there is no such server".to_owned()), None);
        };
        let url = Url { target: message.target.clone(), ..origin.clone() };
        let (shown, host) = (url.to_string(), url.authority());
        if url.unix.is_some() {
            return (shown, Err(NO_SOCKET.to_owned()), None);
        }
        let (mut masks, mut bytes) = (Masks::secure(), Vec::new());
        let head = (host.as_str(), "plimsoll");
        let begun = Handshake::begin(upgrade, message, head, &mut masks, &mut bytes);
        let Some(handshake) = begun else {
            return (shown, Err("a part of it may not stand in a handshake".to_owned()), None);
        };
        match self.shake_hands(&handshake, &url, &bytes) {
            Ok((answer, talk)) => (shown, Ok(answer), talk),
            Err(why) => (shown, Err(why), None),
        }
    }

    fn shake_hands(
        &self,
        handshake: &Handshake,
        url: &Url,
        bytes: &[u8],
    ) -> Result<(Answer, Option<Talk>), String> {
        let told = |error: Error| chain(&error);
        let deadline = Deadline::after(self.timeout);
        let peer = Peer { secure: url.scheme.is_secure, ..Peer::new(&url.host, url.port) };
        let mut wire = self.dial.dial(peer, &deadline).map_err(told)?;
        let failed = |error: io::Error| chain(&deadline.named(error));
        wire.limit(deadline.left().map_err(told)?).map_err(failed)?;
        wire.write_all(bytes).map_err(failed)?;
        let (mut read, mut chunk) = (Vec::new(), [0; 4096]);
        loop {
            wire.limit(deadline.left().map_err(told)?).map_err(failed)?;
            let n = match wire.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read.map_err(failed)?,
            };
            read.extend_from_slice(&chunk[..n]);
            let upgraded = match Head::read_answer(&read) {
                Err(why) if is_switch(&read) => {
                    return Err(format!("its answer to the handshake cannot be read: {why}"));
                }
                upgraded => upgraded.ok().flatten(),
            };
            if let Some((head, length)) = upgraded.filter(|(head, _)| head.status() == Some(101)) {
                let connection = handshake.complete(&head)?;
                let received = read.split_off(length);
                let headers = head.fields().to_vec();
                let answer = Answer { status: 101, headers, body: Vec::new() };
                return Ok((answer, Some(Talk { wire, connection, received })));
            }
            if !is_switch(&read)
                && let Some(answer) = decode(&read, n == 0).map_err(told)?
            {
                return Ok((answer, None));
            }
            if n == 0 || read.len() > MOST_HEAD {
                return Err("there was no whole answer".to_owned());
            }
        }
    }

    /// Sends what a step says, and awaits what it expects.
    pub(super) fn say(
        &self,
        user: &mut User,
        talks: &mut BTreeMap<u16, Talk>,
        (name, step, channel, sends): (String, u32, u16, bool),
        now: impl Fn() -> Now,
    ) -> Said {
        let sent = sends.then(|| String::from_utf8_lossy(user.said()).into_owned());
        let mut said = Said { name, sent, came: Vec::new(), taken: Vec::new(), failure: None };
        let Some(talk) = talks.get_mut(&channel) else {
            return self.fails(user, said, "the WebSocket is closed, or was never open", now());
        };
        if sends && let Err(error) = send(talk, user.said(), user.says_binary()) {
            talks.remove(&channel);
            return self.fails(user, said, &error.to_string(), now());
        }
        let timeout_ns = u64::try_from(self.timeout.as_nanos()).unwrap_or(u64::MAX);
        let mut until = user.has_said(self.scenario, now(), timeout_ns);
        while let Some(at) = until {
            let left = Duration::from_nanos(at.saturating_sub(now().ns));
            match talk.next(left) {
                Err(error) => {
                    talks.remove(&channel);
                    return self.fails(user, said, &error.to_string(), now());
                }
                Ok(None) => {
                    said.failure = user.unanswered(self.scenario, now(), timeout_ns);
                    if said.failure.is_some() {
                        user.broke(self.scenario, now());
                        return said;
                    }
                }
                Ok(Some(text)) => {
                    let heard = user.hear(self.scenario, channel, text.as_bytes(), now());
                    let what = self.what(&heard, user.take_unreadable());
                    if said.came.len() < MOST_SHOWN {
                        said.came.push(Came { text, what });
                    }
                    match heard {
                        Heard::Failed(failure) => {
                            said.failure = Some(failure);
                            return said;
                        }
                        Heard::Ruled { has_reply: true, .. } => {
                            if let Err(error) = send(talk, user.reply(), user.replies_binary()) {
                                talks.remove(&channel);
                                return self.fails(user, said, &error.to_string(), now());
                            }
                        }
                        _ => {}
                    }
                }
            }
            until = user.deadline(self.scenario, timeout_ns);
        }
        let taken = self.scenario.taken_by(step);
        said.taken = taken.map(|number| self.held(user, number)).collect();
        said
    }

    fn fails(&self, user: &mut User, said: Said, why: &str, at: Now) -> Said {
        user.broke(self.scenario, at);
        Said { failure: Some(Failure { kind: FailureKind::Closed, what: why.to_owned() }), ..said }
    }

    /// What a message was for, in words.
    fn what(&self, heard: &Heard, unreadable: Option<String>) -> String {
        let name = |number: u16| {
            let name = self.scenario.names().get(usize::from(number));
            name.map_or("a rule", |name| &name.name).to_owned()
        };
        match heard {
            Heard::Expected { name: Some(number), .. } => name(*number),
            Heard::Expected { .. } | Heard::Failed(_) | Heard::Again => "expected".to_owned(),
            Heard::Ruled { of, .. } => name(of.name),
            Heard::Unmatched => match unreadable {
                Some(why) => format!("unmatched, a broadcast of {why}"),
                None => "unmatched".to_owned(),
            },
        }
    }
}

/// Sends what a user has put into words: text where it is UTF-8.
fn send(talk: &mut Talk, said: &[u8], is_binary: bool) -> io::Result<()> {
    match std::str::from_utf8(said) {
        Ok(text) if !is_binary => talk.send(Frame::Text(text)),
        _ => talk.send(Frame::Binary(said)),
    }
}
