//! A server of WebSockets whose behaviour is known: it sends back what it is sent, and passes on
//! broadcasts to all who are connected.
//!
//! Its messages are those of the public WebSocket benchmarks: `{"type":"echo","payload":…}` comes
//! back as it is; `{"type":"broadcast","payload":…}` goes to every client, with a number (`seq`)
//! and the time at which it was published (`at`, nanoseconds since 1970 as decimal text), and then
//! its sender is told `{"type":"broadcastResult","listenerCount":…}`. `{"type":"time"}` is answered
//! with the time, `{"type":"time","at":…}`. Any other message comes back as it is. A request
//! that asks for no WebSocket is answered 400 or 426.
//!
//! It is one thread. A broadcast is encoded once; a client that does not read what it is sent is
//! hung up on when [`MOST_UNSENT`] bytes wait for it.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use plimsoll_websocket::encode::Encoder;
use plimsoll_websocket::handshake::{Policy, accept};
use plimsoll_websocket::{CloseCode, Connection, Head, Limits, Message};
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketFlags, accept_with, recv, send};
use serde_json::value::RawValue;

use crate::clock;
use crate::error::TargetError;
use crate::listen::{Listener, descriptor_limit, raise_descriptor_limit};
use crate::options::Address;
use crate::slab::{Key, Slab};

/// The most that waits to be sent to one client, bytes.
pub const MOST_UNSENT: usize = 4 << 20;
/// epoll's name for the listening socket.
const LISTENER: u64 = u64::MAX;
const EVENTS: usize = 256;
const BUFFER: usize = 64 * 1024;
/// Longest wait, so that being told to stop is noticed.
const WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// What the server has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Handshakes that made a WebSocket.
    pub connected: u64,
    /// Requests that asked for none.
    pub refused: u64,
    /// Messages that were received.
    pub received: u64,
    /// Messages that were sent, each time to one client.
    pub sent: u64,
    /// Broadcasts, however many they went to.
    pub broadcasts: u64,
    /// Clients that were hung up on, as they did not read.
    pub slow: u64,
}

/// A server that listens but does not answer yet.
#[derive(Debug)]
pub struct WebSocketServer {
    listener: Listener,
    clock_ahead_ns: u64,
}

impl WebSocketServer {
    /// Opens the listening socket; clients may connect from now on.
    ///
    /// # Errors
    /// Where the address cannot be listened on.
    pub fn bind(address: &Address) -> Result<Self, TargetError> {
        raise_descriptor_limit();
        Ok(Self { listener: Listener::bind(address)?, clock_ahead_ns: 0 })
    }

    /// The same, whose clock is ahead of this host's by so many nanoseconds.
    #[must_use]
    pub fn with_clock_ahead(self, ns: u64) -> Self {
        Self { clock_ahead_ns: ns, ..self }
    }

    /// Where it listens: the port is the one the system chose where 0 was asked for.
    #[must_use]
    pub fn local_addr(&self) -> &Address {
        &self.listener.address
    }

    /// Serves until `stop` is set; then clients are told that it goes away.
    ///
    /// # Errors
    /// Where descriptors run out, or the system refuses to go on.
    #[expect(clippy::needless_pass_by_value, reason = "run is handed to a thread of its own")]
    pub fn run(self, stop: Arc<AtomicBool>) -> Result<Tally, TargetError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(TargetError::system("make an epoll descriptor"))?;
        let data = epoll::EventData::new_u64(LISTENER);
        epoll::add(&epoll, &self.listener.fd, data, epoll::EventFlags::IN)
            .map_err(TargetError::system("watch the listening socket"))?;
        let mut serving = Serving {
            listener: self.listener,
            epoll,
            peers: Slab::new(),
            blocked: BTreeSet::new(),
            tally: Tally::default(),
            sequence: 0,
            clock_ahead_ns: self.clock_ahead_ns,
            buffer: vec![0; BUFFER],
        };
        let mut events = Vec::with_capacity(EVENTS);
        while !stop.load(Ordering::Relaxed) {
            serving.turn(&mut events)?;
        }
        serving.say_goodbye();
        Ok(serving.tally)
    }
}

/// A client.
struct Peer {
    fd: OwnedFd,
    state: State,
    /// What is still to be sent.
    out: Vec<u8>,
}

enum State {
    /// Its request is not whole: what there is of it.
    Asking(Vec<u8>),
    Open(Box<Connection>),
}

struct Serving {
    listener: Listener,
    epoll: OwnedFd,
    peers: Slab<Peer>,
    /// Those whose sockets take nothing more for now.
    blocked: BTreeSet<Key>,
    tally: Tally,
    sequence: u64,
    clock_ahead_ns: u64,
    buffer: Vec<u8>,
}

/// What a message asks for.
#[derive(serde::Deserialize)]
struct Envelope<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

impl Serving {
    fn turn(&mut self, events: &mut Vec<epoll::Event>) -> Result<(), TargetError> {
        events.clear();
        let spare = rustix::buffer::spare_capacity(events);
        match epoll::wait(&self.epoll, spare, Some(&WAIT)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(TargetError::system("wait for events")(errno)),
        }
        for event in events.iter() {
            match event.data.u64() {
                LISTENER => self.accept()?,
                bits => self.serve(Key::from_bits(bits), event.flags),
            }
        }
        Ok(())
    }

    fn accept(&mut self) -> Result<(), TargetError> {
        loop {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let fd = match accept_with(&self.listener.fd, flags) {
                Ok(fd) => fd,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR | Errno::CONNABORTED | Errno::PROTO) => continue,
                Err(errno @ (Errno::MFILE | Errno::NFILE)) => {
                    return Err(TargetError::Descriptors {
                        open: self.peers.len(),
                        limit: descriptor_limit(),
                        source: errno.into(),
                    });
                }
                Err(errno) => return Err(TargetError::system("accept a connection")(errno)),
            };
            let peer = Peer { fd, state: State::Asking(Vec::new()), out: Vec::new() };
            let key = self.peers.insert(peer);
            let Some(peer) = self.peers.get_mut(key) else { continue };
            let data = epoll::EventData::new_u64(key.to_bits());
            epoll::add(&self.epoll, &peer.fd, data, epoll::EventFlags::IN)
                .map_err(TargetError::system("watch a connection"))?;
        }
    }

    fn serve(&mut self, key: Key, flags: epoll::EventFlags) {
        if flags.intersects(epoll::EventFlags::ERR | epoll::EventFlags::HUP) {
            return self.remove(key);
        }
        if flags.contains(epoll::EventFlags::OUT) {
            self.flush(key);
        }
        if flags.contains(epoll::EventFlags::IN) {
            self.read(key);
        }
    }

    fn read(&mut self, key: Key) {
        let Some(peer) = self.peers.get_mut(key) else { return };
        let n = match recv(&peer.fd, &mut self.buffer[..], RecvFlags::empty()) {
            Ok((0, _)) => return self.remove(key),
            Ok((n, _)) => n,
            Err(Errno::AGAIN | Errno::INTR) => return,
            Err(_) => return self.remove(key),
        };
        let buffer = std::mem::take(&mut self.buffer);
        let goes_on = self.take(key, &buffer[..n]);
        self.buffer = buffer;
        self.flush(key);
        if !goes_on {
            self.remove(key);
        }
    }

    /// Takes received bytes; `false` where the connection is over.
    fn take(&mut self, key: Key, bytes: &[u8]) -> bool {
        let Some(peer) = self.peers.get_mut(key) else { return true };
        let State::Asking(head) = &mut peer.state else { return self.messages(key, bytes) };
        head.extend_from_slice(bytes);
        let refusal = match Head::read(head) {
            Ok(None) => return true,
            Ok(Some((read, length))) => match accept(&read, Policy::default(), &mut peer.out) {
                Ok(agreed) => {
                    let rest = head.split_off(length);
                    let connection = Connection::server(agreed.deflate, Limits::default());
                    peer.state = State::Open(Box::new(connection));
                    self.tally.connected += 1;
                    return self.messages(key, &rest);
                }
                Err(refusal) => refusal,
            },
            Err(refusal) => refusal,
        };
        self.tally.refused += 1;
        peer.out.extend(refusal.answer());
        false
    }

    /// Takes bytes of messages; `false` where the connection is over.
    fn messages(&mut self, key: Key, mut bytes: &[u8]) -> bool {
        loop {
            let Some(peer) = self.peers.get_mut(key) else { return true };
            let State::Open(connection) = &mut peer.state else { return true };
            let text = match connection.receive(&mut bytes, &mut peer.out) {
                Ok(Some(Message::Text(text))) => text.to_owned(),
                Ok(Some(Message::Binary(binary))) => {
                    let binary = binary.to_owned();
                    self.tally.received += 1;
                    self.tally.sent += 1;
                    let _is_closing = connection.send(Message::Binary(&binary), &mut peer.out);
                    continue;
                }
                Ok(Some(_)) => continue,
                Ok(None) => return !connection.is_over(),
                Err(_) => return false,
            };
            self.tally.received += 1;
            match serde_json::from_str::<Envelope<'_>>(&text) {
                Ok(asked) if asked.kind == "broadcast" => self.broadcast(key, asked.payload),
                Ok(asked) if asked.kind == "time" => {
                    let now = self.unix_ns();
                    self.say(key, &format!("{{\"type\":\"time\",\"at\":\"{now}\"}}"));
                }
                _ => self.say(key, &text),
            }
        }
    }

    /// The time of day by its clock, nanoseconds since 1970.
    fn unix_ns(&self) -> u64 {
        clock::unix_ns() + self.clock_ahead_ns
    }

    /// Sends a message to one client.
    fn say(&mut self, key: Key, text: &str) {
        let Some(peer) = self.peers.get_mut(key) else { return };
        if let State::Open(connection) = &mut peer.state
            && connection.send(Message::Text(text), &mut peer.out).is_ok()
        {
            self.tally.sent += 1;
        }
    }

    /// Sends a message to all, and tells its sender how many they are.
    fn broadcast(&mut self, sender: Key, payload: Option<&RawValue>) {
        self.sequence += 1;
        self.tally.broadcasts += 1;
        let payload = payload.map_or("null", RawValue::get);
        let now = self.unix_ns();
        let (sequence, mut frame) = (self.sequence, Vec::new());
        let text = format!(
            "{{\"type\":\"broadcast\",\"seq\":{sequence},\"at\":\"{now}\",\"payload\":{payload}}}"
        );
        Encoder::new(None).message(Message::Text(&text), None, &mut frame);
        let mut listeners = 0_u64;
        for key in self.peers.keys() {
            let Some(peer) = self.peers.get_mut(key) else { continue };
            let State::Open(connection) = &peer.state else { continue };
            if connection.is_closing() {
                continue;
            }
            if peer.out.len() + frame.len() > MOST_UNSENT {
                self.tally.slow += 1;
                self.remove(key);
                continue;
            }
            listeners += 1;
            self.tally.sent += 1;
            peer.out.extend_from_slice(&frame);
            if key != sender {
                self.flush(key);
            }
        }
        self.say(
            sender,
            &format!(
                "{{\"type\":\"broadcastResult\",\"payload\":{payload},\
                 \"listenerCount\":{listeners}}}"
            ),
        );
    }

    /// Sends what there is to send, as far as the socket takes it.
    fn flush(&mut self, key: Key) {
        let Some(peer) = self.peers.get_mut(key) else { return };
        let mut sent = 0;
        while sent < peer.out.len() {
            match send(&peer.fd, &peer.out[sent..], SendFlags::NOSIGNAL) {
                Ok(n) => sent += n,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => return self.remove(key),
            }
        }
        peer.out.drain(..sent);
        let is_blocked = !peer.out.is_empty();
        let changes = match is_blocked {
            true => self.blocked.insert(key),
            false => self.blocked.remove(&key),
        };
        if changes {
            let reads = epoll::EventFlags::IN;
            let flags = if is_blocked { reads | epoll::EventFlags::OUT } else { reads };
            let data = epoll::EventData::new_u64(key.to_bits());
            // Where it cannot be watched any more, its end is not heard of either.
            if epoll::modify(&self.epoll, &peer.fd, data, flags).is_err() {
                self.remove(key);
            }
        }
    }

    fn remove(&mut self, key: Key) {
        self.blocked.remove(&key);
        self.peers.remove(key);
    }

    fn say_goodbye(&mut self) {
        for key in self.peers.keys() {
            let Some(peer) = self.peers.get_mut(key) else { continue };
            if let (State::Open(connection), Some(code)) = (&mut peer.state, CloseCode::new(1001)) {
                connection.close(code, "", &mut peer.out);
            }
            self.flush(key);
        }
    }
}
