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
pub mod upgrade;

use crate::driver::{Driver, Event, Fate, Follow, IN_BACKGROUND, Inbox, Slot, Words, quoted};
use crate::redirects::Redirects;
use chunked::Chunked;
use encode::{Encoder, is_repeatable};
use head::Length;
use plimsoll_runs::ErrorKind;
use plimsoll_websocket::Masks;
use plimsoll_workload::check::Answer;
use plimsoll_workload::request::is_redirect;
use plimsoll_workload::scenario::Message;
use plimsoll_workload::traceparent::Traceparent;
use upgrade::{Handshake, Socket};

/// What a user sends.
#[derive(Default)]
struct Made {
    bytes: Vec<u8>,
    is_head: bool,
    is_repeatable: bool,
    /// How much of the answer's body is kept, bytes.
    keep: usize,
    /// What is to make a WebSocket of the connection.
    handshake: Option<Handshake>,
}

/// The driver: what can be asked, and how it is asked.
pub struct Http1 {
    encoder: Encoder,
    /// Whether a connection serves one request only.
    once: bool,
    /// Whether answers are kept.
    keeps: bool,
    /// What users send, by their seats, and what they send in their background, where there is a
    /// scenario in place of a list.
    made: Option<[Vec<Made>; 2]>,
    words: Words,
    redirects: Redirects,
    /// Where keys of handshakes and masks come from.
    masks: Masks,
    inbox: Inbox,
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
    /// Whether redirects are followed, and where the answer leads.
    follows: bool,
    location: Option<Vec<u8>>,
    /// The answer, where it is kept.
    answer: Option<Box<Answer>>,
    /// The handshake that is being answered.
    handshake: Option<Handshake>,
    /// What it has become.
    socket: Option<Box<Socket>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    Head,
    Body {
        left: u64,
    },
    Chunks(Chunked),
    UntilClose,
    /// It is a WebSocket.
    Socket,
    Closed,
}

impl Http1 {
    /// A driver for these requests. With `once`, each request gets a connection of its own.
    #[must_use]
    pub fn new(encoder: Encoder, once: bool) -> Self {
        let (words, redirects) = (Words::default(), Redirects::default());
        let (masks, inbox) = (Masks::secure(), Inbox::default());
        Self { encoder, once, keeps: false, made: None, words, redirects, masks, inbox }
    }

    /// The same for users, whose requests are given one by one.
    #[must_use]
    pub fn of_users(self) -> Self {
        Self { keeps: true, made: Some(Default::default()), ..self }
    }

    /// What the user in a seat sends, where there are users.
    fn made(&self, seat: u32) -> Option<&Made> {
        let (list, at) = place_of(seat);
        self.made.as_ref()?[list].get(at)
    }

    /// The same, which follows up to so many redirects a request.
    #[must_use]
    pub fn following(self, most: u32) -> Self {
        let redirects = Redirects::new(most, self.encoder.host().map(str::to_owned));
        Self { redirects, ..self }
    }

    /// Passes on where the answer leads whose head was read.
    #[inline]
    fn hear(&mut self, connection: &mut Connection) {
        if let Some(location) = connection.location.take() {
            self.redirects.hear(connection.slot, location);
        }
    }

    /// The same, which keeps answers.
    #[must_use]
    pub fn keeping(self) -> Self {
        Self { keeps: true, ..self }
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
    fn read_head<'a>(&mut self, mut bytes: &'a [u8]) -> Result<HeadRead<'a>, head::Malformed> {
        loop {
            let before = usize::try_from(self.bytes).map_err(|_| head::Malformed)?;
            let most = head::MAX_HEAD.saturating_sub(before);
            let Some(head) = head::read_within(bytes, most)? else {
                return Ok(HeadRead::Part(bytes));
            };
            self.bytes += head.len as u64;
            let text = &bytes[..head.len];
            if self.follows && is_redirect(head.status) {
                self.location = head::location(text);
            }
            bytes = &bytes[head.len..];
            // 101 would hand the connection to another protocol, which was not asked for.
            if head.status == 101 {
                return Err(head::Malformed);
            }
            if head.status >= 200 {
                self.status = head.status;
                self.answer.iter_mut().for_each(|answer| answer.fields = head::fields(text));
                let length = if self.head_only { Length::Known(0) } else { head.length };
                self.keep_alive = head.keep_alive;
                self.state = match length {
                    Length::Known(left) => State::Body { left },
                    Length::Chunked => State::Chunks(Chunked::START),
                    Length::UntilClose => State::UntilClose,
                };
                return Ok(HeadRead::Body(bytes));
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
                self.answer.iter_mut().for_each(|answer| answer.keep(&bytes[..n]));
                n
            }
            State::Chunks(chunks) => {
                let taken = match &mut self.answer {
                    Some(answer) => chunks.take_to(bytes, |data| answer.keep(data)),
                    None => chunks.take(bytes),
                };
                taken.map_err(|_| bad_chunk(before, bytes))?
            }
            State::UntilClose => {
                self.answer.iter_mut().for_each(|answer| answer.keep(bytes));
                bytes.len()
            }
            State::Idle | State::Head | State::Socket | State::Closed => 0,
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
            State::Idle | State::Socket | State::Closed => {
                self.state = State::Closed;
                Fate::Close
            }
            State::Head if self.partial.is_empty() => match self.read_head(self.answer_in(bytes)) {
                Ok(HeadRead::Part([])) if self.bytes == 0 => Fate::Keep,
                Ok(HeadRead::Body(body)) => self.receive_body(body, once, events, words),
                Ok(HeadRead::Part(part)) => {
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
                    Ok(HeadRead::Body(body)) => self.receive_body(body, once, events, words),
                    Ok(HeadRead::Part(part)) => {
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

/// Where that stands which is sent for a seat: in which list, and at which place.
#[inline]
fn place_of(seat: u32) -> (usize, usize) {
    (usize::from(seat & IN_BACKGROUND != 0), (seat & !IN_BACKGROUND) as usize)
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
enum HeadRead<'a> {
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
            follows: self.redirects.is_on(),
            location: None,
            answer: None,
            handshake: None,
            socket: None,
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
        connection.answer = self.keeps.then(Box::default);
        connection.location = None;
        let (list, at) = place_of(index);
        if let Some(made) = self.made.as_mut().and_then(|all| all[list].get_mut(at)) {
            connection.answer.iter_mut().for_each(|answer| answer.most = Some(made.keep));
            connection.head_only = made.is_head;
            connection.handshake = made.handshake.take();
            return &made.bytes;
        }
        if self.redirects.is_on() {
            if self.redirects.request(slot).is_none() && !self.encoder.request(index).is_static() {
                self.redirects.begin(slot, self.encoder.rendered(index));
            }
            if let Some(request) = self.redirects.request(slot) {
                connection.head_only = request.method == "HEAD";
                self.encoder.encode_other(request, out);
                return out;
            }
        }
        connection.head_only = self.encoder.is_head(index);
        self.encoder.encode(index, out)
    }

    fn take_traceparent(&mut self) -> Option<Traceparent> {
        self.encoder.take_traceparent()
    }

    fn prepare(&mut self, seat: u32, message: &Message, host: &str, keep: u64) {
        let Some(all) = &mut self.made else { return };
        let (list, at) = place_of(seat);
        let all = &mut all[list];
        if at >= all.len() {
            all.resize_with(at + 1, Made::default);
        }
        let made = &mut all[at];
        made.handshake = None;
        if let Some(upgrade) = &message.upgrade {
            let host = self.encoder.host().filter(|_| message.origin == 0).unwrap_or(host);
            let head = (host, self.encoder.user_agent());
            let (masks, out) = (&mut self.masks, &mut made.bytes);
            made.handshake = Handshake::begin(upgrade, message, head, masks, out);
            // Asked twice it makes two of them, and the first is closed.
            (made.is_head, made.is_repeatable, made.keep) = (false, true, 0);
            return;
        }
        self.encoder.encode_message(message, host, &mut made.bytes);
        made.is_head = message.method == "HEAD";
        made.is_repeatable = encode::is_repeatable_method(&message.method);
        made.keep = usize::try_from(keep).unwrap_or(usize::MAX);
    }

    fn is_repeatable(&self, slot: Slot, index: u32) -> bool {
        if let Some(made) = self.made(index) {
            return made.is_repeatable;
        }
        is_repeatable(self.redirects.request(slot).unwrap_or(self.encoder.request(index)))
    }

    fn follow(&mut self, slot: Slot, index: u32, code: u16) -> Follow {
        match self.redirects.follow(slot, self.encoder.request(index), code) {
            Ok(follow) => follow,
            Err(why) => {
                self.words.say(slot, why);
                Follow::Astray
            }
        }
    }

    fn forget(&mut self, slot: Slot) {
        self.redirects.end(slot);
    }

    fn receive(
        &mut self,
        connection: &mut Connection,
        bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Fate {
        self.words.clear();
        if connection.handshake.is_some() {
            return self.shake_hands(connection, bytes, out, events);
        }
        if let Some(socket) = &mut connection.socket {
            return socket.receive(bytes, out, &mut self.inbox);
        }
        let fate = connection.receive(bytes, self.once, events, &mut self.words);
        self.hear(connection);
        fate
    }

    fn words(&mut self, slot: Slot) -> Option<Vec<u8>> {
        self.words.take(slot)
    }

    fn answer(&mut self, connection: &mut Connection, _: Slot) -> Option<Answer> {
        connection.answer.take().map(|answer| *answer)
    }

    fn disinterest(&self, connection: &Connection) -> u64 {
        if connection.answer.as_ref().is_some_and(|answer| !answer.is_cut) {
            return 0;
        }
        match connection.state {
            State::Body { left } => left,
            State::Chunks(chunks) => chunks.data_left(),
            State::UntilClose => u64::MAX,
            State::Idle | State::Head | State::Socket | State::Closed => 0,
        }
    }

    fn inbox(&mut self) -> Option<&mut Inbox> {
        self.made.is_some().then_some(&mut self.inbox)
    }

    fn say(
        &mut self,
        connection: &mut Connection,
        message: (&[u8], bool),
        out: &mut Vec<u8>,
    ) -> bool {
        connection.socket.as_mut().is_some_and(|socket| socket.say(message, out))
    }

    fn part(&mut self, connection: &mut Connection, code: u16, out: &mut Vec<u8>) {
        if let Some(socket) = &mut connection.socket {
            socket.part(code, out);
        }
    }

    fn discarded(&mut self, connection: &mut Connection, n: u64, events: &mut Vec<Event>) -> Fate {
        connection.bytes += n;
        match &mut connection.state {
            State::Body { left } => *left = left.saturating_sub(n),
            State::Chunks(chunks) => chunks.skip(n),
            State::UntilClose | State::Idle | State::Head | State::Socket | State::Closed => {}
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
