//! One connection to a broker, blocking: frames, the greeting, calls, heartbeats.
//!
//! What is read lies in one buffer; a frame is a range of it. The broker's frames are limited to
//! [`FRAME_BYTES`], so that the buffer is bounded, however long a message is.

#![expect(clippy::disallowed_methods, reason = "time-outs of real connections")]

use std::io::{self, ErrorKind};
use std::ops::Range;
use std::time::{Duration, Instant};

use super::channel::Arriving;
use super::wire::Fields;
use super::{Broker, Error, method};
use crate::http::client::{Deadline, Dial, Peer, Wire};

/// The longest frame: a heartbeat of 8 KiB in one, and more of them in one read.
const FRAME_BYTES: u32 = 16 * 1024;
/// The longest part of a body that we send: what fits into a frame that every broker takes.
const BODY_BYTES: usize = 4096 - HEAD - 1;
/// What is read at once.
const READ_BYTES: usize = 64 * 1024;
/// Before each payload: type, channel, length; behind it one byte.
const HEAD: usize = 7;
const END: u8 = 0xce;
/// How long a write may take: the broker is to read.
const WRITE: Duration = Duration::from_secs(5);

/// A frame that holds a method.
pub(super) const METHOD: u8 = 1;
/// A frame with what comes before the body of a message.
pub(super) const HEADER: u8 = 2;
/// A frame with a part of the body of a message.
pub(super) const BODY: u8 = 3;
const HEARTBEAT: u8 = 8;
/// What a broker says that expects TLS.
const TLS_ALERT: u8 = 21;

/// The only channel.
const CHANNEL: u16 = 1;

/// A frame that was read, until the next is.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    /// [`METHOD`], [`HEADER`] or [`BODY`].
    pub(super) kind: u8,
    channel: u16,
    payload: Range<usize>,
}

/// A connection with one open channel.
pub struct Connection {
    wire: Box<dyn Wire>,
    /// The time-out that the socket has.
    limit: Duration,
    input: Vec<u8>,
    /// What of it is yet to be looked at.
    unread: Range<usize>,
    /// Between frames, at most; zero: for ever.
    heartbeat: Duration,
    heard: Instant,
    said: Instant,
    /// Why the broker takes no messages now, in its words.
    blocked: Option<String>,
    /// The message of which parts have come.
    pub(super) arriving: Arriving,
}

impl Connection {
    /// Connects, says who we are and opens the channel. `name` is what the broker shows of us.
    /// Each side is to hear the other once a `heartbeat`, or a connection is given up.
    ///
    /// # Errors
    /// [`Error`].
    pub fn open(
        dial: &dyn Dial,
        broker: &Broker,
        name: &str,
        heartbeat: Duration,
        deadline: &Deadline,
    ) -> Result<Self, Error> {
        let peer = Peer { secure: broker.secure, ..Peer::new(&broker.host, broker.port) };
        let wire = dial.dial(peer, deadline).map_err(Error::Connect)?;
        let now = Instant::now();
        let mut connection = Self {
            wire,
            limit: Duration::ZERO,
            input: Vec::new(),
            unread: 0..0,
            heartbeat: Duration::ZERO,
            heard: now,
            said: now,
            blocked: None,
            arriving: Arriving::default(),
        };
        connection.write(b"AMQP\0\0\x09\x01")?;
        connection.greet(broker, name, heartbeat, deadline)?;
        connection.send(CHANNEL, &method::channel_open())?;
        connection.answer(CHANNEL, method::CHANNEL_OPEN_OK, deadline)?;
        Ok(connection)
    }

    fn greet(
        &mut self,
        broker: &Broker,
        name: &str,
        heartbeat: Duration,
        deadline: &Deadline,
    ) -> Result<(), Error> {
        let start = self.answer(0, method::CONNECTION_START, deadline)?;
        let mut fields = Fields(&self.input[start]);
        let version = (fields.octet()?, fields.octet()?);
        if version != (0, 9) {
            return Err(Error::Malformed("another version"));
        }
        fields.long_string()?;
        let mechanisms = fields.long_string()?;
        if !mechanisms.split(|byte| *byte == b' ').any(|mechanism| mechanism == b"PLAIN") {
            return Err(Error::Malformed("it does not take a user and a password"));
        }
        self.send(0, &method::start_ok(name, &broker.user, &broker.password))?;
        // Where it is not taken, an old broker only hangs up.
        let tune = match self.answer(0, method::CONNECTION_TUNE, deadline) {
            Err(Error::Ended) => return Err(Error::Login("it hung up when told them".to_owned())),
            Err(Error::Refused { code: 403, text }) => return Err(Error::Login(text)),
            answer => answer?,
        };
        let mut fields = Fields(&self.input[tune]);
        fields.short()?;
        // Zero: as long as we like.
        let frame_max = match fields.long()? {
            0 => FRAME_BYTES,
            theirs => theirs.min(FRAME_BYTES),
        };
        let heartbeat_s = u16::try_from(heartbeat.as_secs()).unwrap_or(u16::MAX);
        self.send(0, &method::tune_ok(CHANNEL, frame_max, heartbeat_s))?;
        self.heartbeat = Duration::from_secs(heartbeat_s.into());
        self.send(0, &method::connection_open(&broker.vhost))?;
        self.answer(0, method::CONNECTION_OPEN_OK, deadline)?;
        Ok(())
    }

    /// Calls a method of the channel and waits for its answer, in which there is nothing to know.
    pub(super) fn call(
        &mut self,
        payload: &[u8],
        answer: method::Method,
        deadline: &Deadline,
    ) -> Result<(), Error> {
        self.send(CHANNEL, payload)?;
        self.answer(CHANNEL, answer, deadline).map(|_| ())
    }

    /// Sends a method of the channel.
    pub(super) fn tell(&mut self, payload: &[u8]) -> Result<(), Error> {
        self.send(CHANNEL, payload)
    }

    /// Sends a message.
    pub(super) fn send_message(
        &mut self,
        method: &[u8],
        header: &[u8],
        body: &[u8],
    ) -> Result<(), Error> {
        let mut out = Vec::with_capacity(method.len() + header.len() + body.len() + 64);
        push_frame(&mut out, METHOD, CHANNEL, method);
        push_frame(&mut out, HEADER, CHANNEL, header);
        for part in body.chunks(BODY_BYTES) {
            push_frame(&mut out, BODY, CHANNEL, part);
        }
        self.write(&out)
    }

    /// Opens the channel again, which the broker closed.
    ///
    /// # Errors
    /// [`Error`].
    pub fn reopen(&mut self, deadline: &Deadline) -> Result<(), Error> {
        self.call(&method::channel_open(), method::CHANNEL_OPEN_OK, deadline)
    }

    /// Says goodbye to the broker, and does not wait for long.
    pub fn close(mut self) {
        let deadline = Deadline::after(Duration::from_secs(1));
        if self.send(0, &method::connection_close()).is_ok() {
            // It is closed whatever the broker says.
            let _ = self.answer(0, method::CONNECTION_CLOSE_OK, &deadline);
        }
    }

    /// The arguments of the next method, which must be this one.
    fn answer(
        &mut self,
        channel: u16,
        wanted: method::Method,
        deadline: &Deadline,
    ) -> Result<Range<usize>, Error> {
        loop {
            let Some(frame) = self.next_frame()? else {
                let left = deadline.left().map_err(|_| Error::Late(WRITE))?;
                self.read(left)?;
                continue;
            };
            if frame.kind != METHOD {
                continue;
            }
            let (method, _) = method::split(&self.input[frame.payload.clone()])?;
            if method == wanted && frame.channel == channel {
                return Ok(frame.payload.start + 4..frame.payload.end);
            }
        }
    }

    /// The next frame of what has been read, if it is there as a whole. The broker's closings are
    /// answered, and are errors.
    pub(super) fn next_frame(&mut self) -> Result<Option<Frame>, Error> {
        while let Some(frame) = self.parse()? {
            match frame.kind {
                HEARTBEAT => {}
                METHOD => {
                    self.refused(&frame)?;
                    return Ok(Some(frame));
                }
                HEADER | BODY => return Ok(Some(frame)),
                _ => return Err(Error::Malformed("a frame of an unknown type")),
            }
        }
        Ok(None)
    }

    /// Why no answer came in this time: the broker is late, or said that it takes no messages.
    #[must_use]
    pub fn late(&self, time: Duration) -> Error {
        match &self.blocked {
            Some(why) => Error::Blocked(why.clone()),
            None => Error::Late(time),
        }
    }

    /// Whether the broker has said that it takes no messages now.
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        self.blocked.is_some()
    }

    /// What a frame holds.
    pub(super) fn payload(&self, frame: &Frame) -> &[u8] {
        &self.input[frame.payload.clone()]
    }

    fn refused(&mut self, frame: &Frame) -> Result<(), Error> {
        let (called, mut fields) = method::split(&self.input[frame.payload.clone()])?;
        let ok = match called {
            method::CONNECTION_CLOSE => method::CONNECTION_CLOSE_OK,
            method::CHANNEL_CLOSE => method::CHANNEL_CLOSE_OK,
            method::BASIC_CANCEL => return Err(Error::Cancelled),
            method::CONNECTION_BLOCKED => {
                self.blocked = Some(printable(fields.short_string()?));
                return Ok(());
            }
            method::CONNECTION_UNBLOCKED => {
                self.blocked = None;
                return Ok(());
            }
            _ => return Ok(()),
        };
        let code = fields.short()?;
        let text = printable(fields.short_string()?);
        // It closes, whether it hears that or not.
        let _ = self.send(frame.channel, &method::method(ok, |_| ()));
        Err(Error::Refused { code, text })
    }

    fn parse(&mut self) -> Result<Option<Frame>, Error> {
        let unread = &self.input[self.unread.clone()];
        let Some((head, rest)) = unread.split_first_chunk::<HEAD>() else { return Ok(None) };
        let [kind, c0, c1, length @ ..] = *head;
        // An alert, in the place of a frame whose channel would be 0x03..: RFC 8446, section 5.1.
        if kind == TLS_ALERT && c0 == 3 {
            return Err(Error::Encrypted);
        }
        let length = u32::from_be_bytes(length);
        if length > FRAME_BYTES {
            // A broker of another version says `AMQP` and its own, and hangs up.
            return Err(Error::Malformed("a frame is too long"));
        }
        let length = length as usize;
        match rest.get(length) {
            None => return Ok(None),
            Some(&END) => {}
            Some(_) => return Err(Error::Malformed("a frame does not end where it should")),
        }
        let start = self.unread.start + HEAD;
        self.unread.start = start + length + 1;
        let channel = u16::from_be_bytes([c0, c1]);
        Ok(Some(Frame { kind, channel, payload: start..start + length }))
    }

    /// Waits for more, at most so long. Frames that were read before are gone. Says that we live
    /// where that is due, and notices a broker that does not.
    ///
    /// # Errors
    /// [`Error`]: the connection is over.
    pub fn read(&mut self, wait: Duration) -> Result<(), Error> {
        self.input.copy_within(self.unread.clone(), 0);
        self.unread = 0..self.unread.len();
        let room = self.unread.end + READ_BYTES;
        if self.input.len() < room {
            self.input.resize(room, 0);
        }
        self.limit(wait)?;
        match self.wire.read(&mut self.input[self.unread.end..]) {
            Ok(0) => return Err(Error::Ended),
            Ok(count) => {
                self.unread.end += count;
                self.heard = Instant::now();
            }
            Err(error) if is_wait(&error) => {}
            Err(error) => return Err(Error::Io(error)),
        }
        self.keep_alive()
    }

    fn keep_alive(&mut self) -> Result<(), Error> {
        if self.heartbeat.is_zero() {
            return Ok(());
        }
        let now = Instant::now();
        if now.duration_since(self.heard) > 2 * self.heartbeat {
            return Err(Error::Late(2 * self.heartbeat));
        }
        if now.duration_since(self.said) >= self.heartbeat / 2 {
            let mut out = Vec::new();
            push_frame(&mut out, HEARTBEAT, 0, &[]);
            self.write(&out)?;
        }
        Ok(())
    }

    fn send(&mut self, channel: u16, payload: &[u8]) -> Result<(), Error> {
        let mut out = Vec::with_capacity(payload.len() + HEAD + 1);
        push_frame(&mut out, METHOD, channel, payload);
        self.write(&out)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.limit(WRITE)?;
        self.wire.write_all(bytes).and_then(|()| self.wire.flush()).map_err(Error::Io)?;
        self.said = Instant::now();
        Ok(())
    }

    fn limit(&mut self, time: Duration) -> Result<(), Error> {
        if self.limit != time {
            self.wire.limit(time).map_err(Error::Io)?;
            self.limit = time;
        }
        Ok(())
    }
}

fn printable(text: &[u8]) -> String {
    String::from_utf8_lossy(text).chars().filter(|c| !c.is_control()).collect()
}

fn is_wait(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn push_frame(out: &mut Vec<u8>, kind: u8, channel: u16, payload: &[u8]) {
    use super::wire::Push as _;

    out.push(kind);
    out.extend_from_slice(&channel.to_be_bytes());
    out.long_string(payload);
    out.push(END);
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read, Write};
    use std::time::Duration;

    use super::{BODY, Connection, HEADER, METHOD, push_frame};
    use crate::amqp::wire::Push as _;
    use crate::amqp::{Broker, method};
    use crate::http::client::{Deadline, Dial, Error, Peer, Wire};

    /// What a broker says, whatever it hears, in pieces of so many bytes.
    #[derive(Clone)]
    struct Says {
        bytes: Vec<u8>,
        piece: usize,
    }

    impl Read for Says {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.piece.min(self.bytes.len()).min(buffer.len());
            buffer[..count].copy_from_slice(&self.bytes[..count]);
            self.bytes.drain(..count);
            Ok(count)
        }
    }

    impl Write for Says {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Wire for Says {
        fn limit(&mut self, _: Duration) -> io::Result<()> {
            Ok(())
        }
    }

    impl Dial for Says {
        fn dial(&self, _: Peer<'_>, _: &Deadline) -> Result<Box<dyn Wire>, Error> {
            Ok(Box::new(self.clone()))
        }
    }

    /// A greeting, and a message of three bytes.
    fn session() -> Vec<u8> {
        let start = method::method(method::CONNECTION_START, |out| {
            out.extend_from_slice(&[0, 9]);
            out.long_string(b"");
            out.long_string(b"AMQPLAIN PLAIN");
            out.long_string(b"en_US");
        });
        let tune = method::method(method::CONNECTION_TUNE, |out| {
            out.extend_from_slice(&[0x07, 0xff, 0, 2, 0, 0, 0, 60]);
        });
        let deliver = method::method(method::BASIC_DELIVER, |out| {
            out.short_string("tag");
            out.extend_from_slice(&[0; 9]);
            out.short_string("shoal");
            out.short_string("info");
        });
        let mut out = Vec::new();
        for (channel, payload) in [
            (0, start),
            (0, tune),
            (0, method::method(method::CONNECTION_OPEN_OK, |out| out.push(0))),
            (1, method::method(method::CHANNEL_OPEN_OK, |out| out.extend_from_slice(&[0; 4]))),
            (1, deliver),
        ] {
            push_frame(&mut out, METHOD, channel, &payload);
        }
        push_frame(
            &mut out,
            HEADER,
            1,
            &method::content_header(3, "text/plain", &[("a", "b".to_owned())]),
        );
        push_frame(&mut out, super::HEARTBEAT, 0, &[]);
        push_frame(&mut out, BODY, 1, b"{ }");
        out
    }

    /// The frames that come after the greeting, until the broker hangs up or is not understood.
    fn frames(says: &Says) -> Vec<(u8, Vec<u8>)> {
        let broker = Broker::parse("amqp://b").unwrap();
        let (time, mut frames) = (Duration::from_secs(5), Vec::new());
        let opened = Connection::open(says, &broker, "test", time, &Deadline::after(time));
        let Ok(mut connection) = opened else { return frames };
        loop {
            while let Ok(Some(frame)) = connection.next_frame() {
                frames.push((frame.kind, connection.payload(&frame).to_vec()));
            }
            if connection.read(time).is_err() {
                return frames;
            }
        }
    }

    #[test]
    fn frames_are_whole_however_they_come() {
        for piece in [1, 2, 7, 100, 65_536] {
            let frames = frames(&Says { bytes: session(), piece });
            let kinds: Vec<_> = frames.iter().map(|(kind, _)| *kind).collect();
            assert_eq!(kinds, [METHOD, HEADER, BODY], "in pieces of {piece}");
            assert_eq!(frames[2].1, b"{ }");
        }
    }

    /// The frames of a session up to that many methods, then other words.
    fn cut_short(methods: usize, then: &[u8]) -> Says {
        let (whole, mut end) = (session(), 0);
        for _ in 0..methods {
            let length = u32::from_be_bytes(whole[end + 3..end + 7].try_into().unwrap());
            end += usize::try_from(length).unwrap() + 8;
        }
        Says { bytes: [&whole[..end], then].concat(), piece: 7 }
    }

    fn closes(channel: u16, called: method::Method, code: u16, text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        let payload = method::method(called, |out| {
            out.extend_from_slice(&code.to_be_bytes());
            out.short_string(text);
            out.extend_from_slice(&[0; 4]);
        });
        push_frame(&mut out, METHOD, channel, &payload);
        out
    }

    #[test]
    fn why_a_broker_does_not_serve_is_told_apart() {
        let alert = [21, 3, 3, 0, 2, 2, 70];
        let login = closes(0, method::CONNECTION_CLOSE, 403, "ACCESS_REFUSED - Login was refused");
        let vhost = closes(0, method::CONNECTION_CLOSE, 530, "NOT_ALLOWED - vhost x not found");
        let channel = closes(1, method::CHANNEL_CLOSE, 403, "ACCESS_REFUSED - access to exchange");
        let (broker, time) = (Broker::parse("amqp://b").unwrap(), Duration::from_secs(5));
        for (methods, then, reason, words) in [
            (0, &alert[..], "tls", "amqps://"),
            (1, &login, "credentials", "password"),
            (1, &[], "credentials", "password"),
            (2, &vhost, "vhost", "/%2f"),
            (3, &channel, "permission", "set_permissions"),
            (0, &[], "away", ""),
        ] {
            let says = cut_short(methods, then);
            let deadline = Deadline::after(time);
            let opened = Connection::open(&says, &broker, "test", time, &deadline);
            let error = opened.err().unwrap();
            assert_eq!(error.reason(), reason, "{error}");
            assert!(error.hint().unwrap_or_default().contains(words), "{error}");
        }
    }

    #[test]
    fn a_blocked_broker_is_named() {
        let mut blocked = Vec::new();
        let payload = method::method(method::CONNECTION_BLOCKED, |out| {
            out.short_string("low on memory");
        });
        push_frame(&mut blocked, METHOD, 0, &payload);
        let (broker, time) = (Broker::parse("amqp://b").unwrap(), Duration::from_secs(5));
        let says = cut_short(4, &blocked);
        let deadline = Deadline::after(time);
        let mut connection = Connection::open(&says, &broker, "test", time, &deadline).unwrap();
        assert_eq!(connection.late(time).reason(), "away");
        while connection.read(time).is_ok() {
            while connection.next_frame().unwrap().is_some() {}
        }
        let late = connection.late(time);
        assert_eq!((late.reason(), late.to_string().contains("low on memory")), ("blocked", true));
    }

    /// Bytes changed, cut out and put in: whatever a broker says, it ends in an error.
    #[test]
    fn what_is_not_understood_ends_the_connection_and_nothing_else() {
        let whole = session();
        // Any sequence will do: Knuth's linear congruences.
        let mut state = 1_u64;
        let mut below = |most: usize| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            usize::try_from(state >> 33).unwrap() % most
        };
        for _ in 0..20_000 {
            let mut bytes = whole.clone();
            for _ in 0..=below(4) {
                let at = below(bytes.len());
                match below(3) {
                    0 => bytes[at] = u8::try_from(below(256)).unwrap(),
                    1 => bytes.truncate(at + 1),
                    _ => bytes.insert(at, u8::try_from(below(256)).unwrap()),
                }
            }
            let piece = [3, 64, 65_536][below(3)];
            for (kind, payload) in frames(&Says { bytes, piece }) {
                match kind {
                    METHOD => drop(method::split(&payload).map(|(called, _)| called)),
                    HEADER => drop(method::read_content_header(&payload).map(|(length, _)| length)),
                    _ => {}
                }
            }
        }
    }
}
