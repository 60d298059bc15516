//! What users say and hear over WebSockets: each is a connection of the user's own, on which
//! messages come that no request has asked for.
//!
//! A step that sends a message and expects some counts as a request: offered when it is due, sent,
//! and completed by the last message that it expects. One that sends only, or waits only, has
//! figures by its name and counts as none.

use super::Worker;
use super::explain::Why;
use crate::connection::ClosedBy;
use crate::driver::{Driver, IN_BACKGROUND, Said, Slot};
use crate::in_flight::Sent;
use crate::recorder::{Ended, Under};
use crate::source::Source;
use crate::source::users::{Early, Known, Leaving, Over, kind_of};
use plimsoll_runs::names::NO_NAME;
use plimsoll_runs::{ClockOffset, ErrorKind, NamedEvent, NamedPart};
use plimsoll_workload::scenario::{Counted, End, Heard, Lane, Sending};

/// Said of a step that could not begin.
const NOT_OPEN: &str = "the WebSocket on which it was to go is closed, or was never open";
const IS_CLOSED: &str = "the WebSocket on which it was to go is closed";
/// The code of a message: it has none of its own.
const MESSAGE: u16 = 0;
/// Closed, as all is done; and as who was there goes away (RFC 6455, section 7.4.1).
const NORMAL: u16 = 1000;
const GOING_AWAY: u16 = 1001;
/// Closed, as the peer breaks a rule of ours.
const POLICY: u16 = 1008;
/// So much a peer that reads nothing may be owed beside steps: pongs, answers of rules, bytes.
const MOST_OWED: usize = 64 * 1024;
const READS_NOTHING: &str = "the server reads nothing of what it is sent";

/// A message that came.
struct Got<'a> {
    bytes: &'a [u8],
    /// How many bytes were received for it.
    received: u64,
    /// Whether it may have lain unread for long, as the thread stood still: it is not known when it
    /// came.
    is_unread: bool,
}

/// What may have lain unread for longer than this has no time of its receipt, nanoseconds.
const UNREAD_NS: u64 = 10_000_000;

/// A broadcast that came, until it is known how long it took.
pub(super) struct Came {
    under: Under,
    phase: plimsoll_runs::Phase,
    at: u64,
    /// When it was published, by the server's clock.
    published: Option<u64>,
    bytes: u64,
}

impl<D: Driver> Worker<D> {
    /// The WebSocket of a user that is open, and is not being closed.
    pub(super) fn online(&mut self, seat: u32, channel: u16) -> Option<u32> {
        let at = self.users()?.socket(seat, channel)?;
        let connection = self.connections.get(at as usize)?;
        let is_his = connection.owner == seat && connection.lane.channel == channel;
        (is_his && connection.online_since > 0 && connection.code == 0).then_some(at)
    }

    /// A step of a user sends a message, awaits some, or both.
    pub(super) fn say(&mut self, seat: u32, sending: &Sending, channel: u16, does: (bool, bool)) {
        if does == (true, true) {
            let phase = self.phase(sending.due_ns);
            self.recorder.offered(sending.due_ns, phase);
        }
        self.say_when_open(seat, sending, channel, does);
    }

    /// The same, once it is counted: now, or when the WebSocket is open again.
    pub(super) fn say_when_open(
        &mut self,
        seat: u32,
        sending: &Sending,
        channel: u16,
        does: (bool, bool),
    ) {
        match self.online(seat, channel) {
            Some(at) => self.say_on(at, (seat, channel), sending, does),
            None => match self.users() {
                Some(users) if users.keeps(seat, channel) => {
                    users.hold(seat, sending, channel, does);
                }
                users => {
                    let gone = users.and_then(|users| users.why_gone(seat, channel));
                    let why = gone.map(|why| format!("{IS_CLOSED}: {why}"));
                    let why = why.as_deref().unwrap_or(NOT_OPEN);
                    self.cannot_say(seat, sending, does == (true, true), why.as_bytes());
                }
            },
        }
    }

    fn say_on(
        &mut self,
        at: u32,
        (seat, channel): (u32, u16),
        sending: &Sending,
        (sends, awaits): (bool, bool),
    ) {
        let (phase, is_request) = (self.phase(sending.due_ns), sends && awaits);
        let mut bytes = std::mem::take(&mut self.scratch);
        bytes.clear();
        let connection = &mut self.connections[at as usize];
        let (serial, usable) = (connection.serial, sending.due_ns.max(connection.online_since));
        let is_said = match (&mut connection.protocol, &self.source) {
            (Some(protocol), Source::Users(users)) if sends => {
                self.driver.say(protocol, users.said(seat), &mut bytes)
            }
            _ => !sends,
        };
        if !is_said {
            self.scratch = bytes;
            return self.cannot_say(seat, sending, is_request, NOT_OPEN.as_bytes());
        }
        let now = self.clock.now();
        self.now = now;
        let late = now.saturating_sub(usable);
        let sent = Sent { late, connection: serial, ..self.sent(seat, sending) };
        // Who only waits does so from when it was due.
        let sent = if sends { sent } else { Sent { sent: sending.due_ns, late: 0, ..sent } };
        if is_request {
            self.recorder.sent(now, phase, usable - sending.due_ns, late);
        }
        if let Some(users) = self.users() {
            match awaits {
                true => users.has_said(seat, sent, channel, is_request),
                false => users.writes(seat, sent, channel),
            }
        }
        if sends {
            self.recorder.at(now).websocket.sent += 1;
            self.recorder.bytes_out(now, phase, bytes.len() as u64);
            let connection = &mut self.connections[at as usize];
            let result = connection.send_gathered().and_then(|()| connection.send(&bytes));
            self.scratch = bytes;
            self.after_write(at, result);
        } else {
            self.scratch = bytes;
        }
    }

    /// What was to be sent on a WebSocket may have been taken by the kernel: then a step that only
    /// sends is done, and so is what is owed beside steps.
    pub(super) fn has_written(&mut self, at: u32) {
        let connection = &mut self.connections[at as usize];
        if connection.online_since == 0 || !connection.is_flushed() {
            return;
        }
        let (seat, channel, now) = (connection.owner, connection.lane.channel, self.now);
        if !connection.gathered.is_empty() && !std::mem::replace(&mut connection.dirty, true) {
            self.dirty.push(at);
        }
        if let Some(sent) = self.users().and_then(|users| users.has_written(seat, channel)) {
            let at = now.max(sent.sent);
            self.recorder.step(&sent, &Ended { at, code: Some(MESSAGE), bytes: 0, error: None });
        }
    }

    /// A step could not begin, as its WebSocket is not open.
    pub(super) fn cannot_say(
        &mut self,
        seat: u32,
        sending: &Sending,
        is_request: bool,
        why: &[u8],
    ) {
        let (now, phase, kind) = (self.now, self.phase(sending.due_ns), ErrorKind::Offline);
        if is_request {
            let under = self.under(seat, sending.name);
            self.recorder.never_sent((sending.due_ns, under), now, phase, kind);
        } else {
            let sent = self.sent(seat, sending);
            let ended = Ended { at: now, code: None, bytes: 0, error: Some(kind) };
            self.recorder.step_failed(&ended);
            self.recorder.step(&sent, &ended);
        }
        self.recorder.reason(phase, kind, None, now, why);
        if let Some(users) = self.users() {
            users.could_not_say(seat, now);
        }
    }

    /// A step of a user closes his WebSocket. One that is closed already is closed.
    pub(super) fn part(&mut self, seat: u32, channel: u16, code: u16) {
        self.forget_return(seat, channel);
        if let Some(at) = self.online(seat, channel) {
            self.begin_to_close(at, code);
        }
        let now = self.now;
        if let Some(users) = self.users() {
            users.has_closed(seat, now);
        }
    }

    /// Begins the closing handshake of a WebSocket.
    fn begin_to_close(&mut self, at: u32, code: u16) {
        let connection = &mut self.connections[at as usize];
        let Some(protocol) = &mut connection.protocol else { return };
        let mut bytes = Vec::new();
        self.driver.part(protocol, code, &mut bytes);
        if !bytes.is_empty() {
            connection.code = code;
            let result = connection.send_gathered().and_then(|()| connection.send(&bytes));
            self.after_write(at, result);
        }
    }

    /// Tells the peer of a WebSocket that its user leaves.
    pub(super) fn say_goodbye(&mut self, at: u32, how: Leaving) {
        if self.connections[at as usize].online_since == 0 {
            return;
        }
        let is_done = how == Leaving::Ended(End::Finished);
        self.begin_to_close(at, if is_done { NORMAL } else { GOING_AWAY });
    }

    /// A handshake has made a WebSocket of its connection.
    pub(super) fn is_online(&mut self, slot: Slot) {
        let Some((sent, holder)) = self.in_flight.get_mut(slot) else { return };
        let is_return = sent.request & IN_BACKGROUND != 0;
        let Some(connection) = self.connections.get_mut(holder as usize) else { return };
        connection.online_since = self.now.max(1);
        // Messages come when nobody waits for them: what counts is when they arrived.
        if !connection.stamped {
            connection.stamp_arrivals();
        }
        let counts = &mut self.recorder.at(self.now).websocket;
        counts.connected += 1;
        counts.reconnected += u64::from(is_return);
        let (seat, channel, now) = (connection.owner, connection.lane.channel, self.now);
        if let Some(users) = self.users() {
            users.may_ask(seat, channel, now);
        }
    }

    /// Takes what a peer has said on a connection to its user.
    pub(super) fn take_said(&mut self, at: u32) {
        let Some(inbox) = self.driver.inbox().filter(|inbox| !inbox.is_empty()) else { return };
        let mut inbox = std::mem::take(inbox);
        let generation = self.connections[at as usize].generation;
        let (now, phase) = (self.now, self.phase(self.now));
        self.recorder.bytes_in(now, phase, inbox.take_received());
        let mut left = inbox.messages();
        let may_be_older = now.saturating_sub(self.unread_since) > UNREAD_NS;
        for (said, bytes, received) in inbox.iter() {
            let connection = &mut self.connections[at as usize];
            if connection.generation != generation {
                break;
            }
            let words = || String::from_utf8_lossy(bytes).into_owned();
            match said {
                Said::Closed(code) if connection.code == 0 => {
                    (connection.code, connection.closed_by) = (code, ClosedBy::Peer(words()));
                }
                // It answers ours.
                Said::Closed(_) => {}
                Said::Broken(code) => {
                    (connection.code, connection.closed_by) = (code, ClosedBy::Broken(words()));
                }
                Said::Message => {
                    left -= 1;
                    // The kernel's stamp is that of the last that was read.
                    let is_unread = left > 0 && may_be_older;
                    self.take_message(at, &Got { bytes, received, is_unread });
                }
            }
        }
        inbox.clear();
        if let Some(room) = self.driver.inbox() {
            *room = inbox;
        }
    }

    /// Takes a message to its user. What comes while his next step is due and has not begun waits
    /// for that: it may be what the step expects.
    fn take_message(&mut self, at: u32, got: &Got<'_>) {
        let connection = &self.connections[at as usize];
        let (seat, channel, now) = (connection.owner, connection.lane.channel, self.now);
        let generation = connection.generation;
        self.recorder.at(now).websocket.received += 1;
        let Some(users) = self.users() else { return };
        if let Some(known) = users.take_time(seat, channel, got.bytes, now) {
            self.recorder.at(now).websocket.broadcast.clock = Some(known);
            return;
        }
        if users.is_to_wait(seat, channel) {
            let Got { bytes, received, is_unread } = *got;
            let bytes = bytes.into();
            let early = Early { at, generation, channel, bytes, received, is_unread, now };
            return users.keep_early(seat, early);
        }
        self.hear(Some(at), (seat, channel), got);
    }

    /// Lets a user hear what has waited for his step to begin; all of it where he leaves, or the
    /// WebSocket is gone.
    pub(super) fn hear_early(&mut self, seat: u32, leaves: bool) {
        let mut has_heard = false;
        while let Some(early) = self.users().and_then(|users| users.take_early(seat, leaves)) {
            let connection = &self.connections[early.at as usize];
            let is_there = connection.generation == early.generation && connection.owner == seat;
            (self.now, has_heard) = (early.now, true);
            let Early { at, channel, received, is_unread, .. } = early;
            let got = Got { bytes: &early.bytes, received, is_unread };
            self.hear(is_there.then_some(at), (seat, channel), &got);
        }
        if has_heard {
            self.now = self.clock.now();
        }
    }

    /// A user hears a message; answers go on the WebSocket, where that is still there.
    fn hear(&mut self, at: Option<u32>, (seat, channel): (u32, u16), got: &Got<'_>) {
        let now = self.now;
        let Some(users) = self.users() else { return };
        let awaited = users.awaited(seat);
        let received = got.received;
        let heard = users.hear(seat, channel, (got.bytes, received), now);
        if let Some(why) = users.take_unreadable(seat) {
            self.recorder.at(now).websocket.broadcast.add_unreadable(&why, 1);
        }
        match heard {
            Some(Heard::Expected { name, is_last, rule }) => {
                if let (Some(name), Some(sent)) = (name, awaited) {
                    let sent = Sent { name: self.named(name), ..sent };
                    let at = now.max(sent.sent);
                    let ended = Ended { at, code: Some(MESSAGE), bytes: received, error: None };
                    self.recorder.step(&sent, &ended);
                }
                if let Some(of) = &rule {
                    self.ruled(seat, channel, of, got);
                }
                if is_last && let Some(over) = self.users().and_then(|of| of.is_over(seat)) {
                    self.end_step(&over, Some(MESSAGE), None);
                }
            }
            Some(Heard::Failed(failure)) => {
                let Some(over) = self.users().and_then(|of| of.is_over(seat)) else { return };
                let kind = kind_of(&failure);
                self.recorder.reason(over.sent.phase, kind, None, now, failure.what.as_bytes());
                self.end_step(&over, Some(MESSAGE), Some(kind));
            }
            Some(Heard::Ruled { of, has_reply, close }) => {
                self.ruled(seat, channel, &of, got);
                if let Some(at) = at.filter(|_| has_reply) {
                    let reply = self.users().map(|users| users.reply(seat));
                    let (bytes, is_binary) = reply.unwrap_or_default();
                    self.tell(at, (&bytes, is_binary));
                }
                if let Some((at, code)) = at.zip(close) {
                    self.begin_to_close(at, code);
                }
            }
            Some(Heard::Again) => {}
            Some(Heard::Unmatched) | None => self.recorder.at(now).websocket.unmatched += 1,
        }
    }

    /// Lets those ask for the server's time whose turn it is.
    pub(super) fn ask_for_time(&mut self) {
        let now = self.now;
        if !self.unbooked.is_empty() {
            self.book_all(false);
        }
        while let Some((seat, channel)) = self.users().and_then(|of| of.take_question(now)) {
            let question = self.users().and_then(|users| users.question());
            let at = self.online(seat, channel);
            let asked = self.clock.now();
            let Some(users) = self.users() else { return };
            match at.zip(question) {
                None => users.asks_no_more(seat),
                Some((at, question)) => {
                    users.has_asked(seat, asked);
                    self.tell(at, (&question, false));
                }
            }
        }
    }

    /// Records a message that a rule was for.
    fn ruled(&mut self, seat: u32, channel: u16, of: &Counted, got: &Got<'_>) {
        let bytes = got.received;
        let (now, phase, under) = (self.now, self.phase(self.now), self.under(seat, of.name));
        let (Some(published), Source::Users(users)) = (of.published, &mut self.source) else {
            // By label only times of broadcasts are told.
            return self.recorder.message(under.name.into(), phase, now, 0, bytes);
        };
        let counts = &mut self.recorder.at(now).websocket.broadcast;
        users.take_broadcast(seat, (channel, of), now, counts);
        counts.unread += u64::from(got.is_unread && published.at_unix_ns.is_some());
        let is_asked = users.is_asked_on(channel);
        let at_unix_ns = published.at_unix_ns.filter(|_| !got.is_unread);
        let came = Came { under, phase, at: now, published: at_unix_ns, bytes };
        match came.published {
            Some(_) if is_asked => self.unbooked.push_back(came),
            _ => self.book(&came, Some(ClockOffset { offset_ns: 0, error_ns: 0 })),
        }
    }

    /// Records a broadcast that came, and how long it took by what is known of the server's clock.
    fn book(&mut self, came: &Came, clock: Option<ClockOffset>) {
        let Came { under, phase, at, published, bytes } = *came;
        let mut latency_ns = 0;
        if let (Some(published), Source::Users(users)) = (published, &mut self.source) {
            let counts = &mut self.recorder.at(self.now).websocket.broadcast;
            match clock {
                None => counts.unknown += 1,
                Some(clock) => {
                    let taken = users.latency(published, clock, (at, phase), counts);
                    latency_ns = taken.unwrap_or(0);
                }
            }
        }
        self.recorder.message(under, phase, self.now, latency_ns, bytes);
    }

    /// Records the broadcasts of which the server's clock is known by now; all, where it is over.
    pub(super) fn book_all(&mut self, is_over: bool) {
        while let Some(came) = self.unbooked.pop_front() {
            let known = match &self.source {
                Source::Users(users) => users.known_at(came.at, self.now, is_over),
                Source::Open(_) | Source::Closed(_) => Known::Nothing,
            };
            match known {
                Known::Later => return self.unbooked.push_front(came),
                Known::Nothing => self.book(&came, None),
                Known::Offset(clock) => self.book(&came, Some(clock)),
            }
        }
    }

    /// Sends a message that is none of a step.
    pub(super) fn tell(&mut self, at: u32, message: (&[u8], bool)) {
        let connection = &mut self.connections[at as usize];
        let mut bytes = Vec::new();
        if let Some(protocol) = &mut connection.protocol {
            self.driver.say(protocol, message, &mut bytes);
        }
        if bytes.is_empty() {
            return;
        }
        let (now, phase) = (self.now, self.phase(self.now));
        self.recorder.at(now).websocket.sent += 1;
        self.recorder.bytes_out(now, phase, bytes.len() as u64);
        self.owe(at, &bytes);
    }

    /// Sends what no step says, behind what the peer has not read yet. A peer that reads nothing is
    /// owed so much and no more: its connection is closed then.
    fn owe(&mut self, at: u32, bytes: &[u8]) {
        let connection = &mut self.connections[at as usize];
        connection.gathered.extend_from_slice(bytes);
        if connection.is_flushed() {
            let result = connection.send_gathered();
            self.after_write(at, result);
        }
        self.bound_owed(at);
    }

    /// Closes a WebSocket whose peer reads nothing and is owed too much. Returns whether it is one.
    pub(super) fn bound_owed(&mut self, at: u32) -> bool {
        let connection = &mut self.connections[at as usize];
        let reads_nothing = connection.online_since > 0
            && !connection.is_flushed()
            && connection.gathered.len() > MOST_OWED;
        if reads_nothing {
            (connection.code, connection.closed_by) =
                (POLICY, ClosedBy::Broken(READS_NOTHING.to_owned()));
            self.close(at, ErrorKind::Reset, Why::Words(READS_NOTHING), None);
        }
        reads_nothing
    }

    /// Records a step that has awaited messages.
    fn end_step(&mut self, over: &Over, code: Option<u16>, error: Option<ErrorKind>) {
        let ended = Ended { at: self.now.max(over.sent.sent), code, bytes: over.bytes, error };
        if over.is_request {
            self.recorder.ended_by_messages(&over.sent, &ended);
        } else {
            self.recorder.step_failed(&ended);
            self.recorder.step(&over.sent, &ended);
        }
    }

    /// Ends steps whose messages have not come in time.
    pub(super) fn expire_messages(&mut self) {
        let now = self.now;
        while let Some((seat, failure)) = self.users().and_then(|of| of.take_unanswered(now)) {
            let kind = kind_of(&failure);
            let Some(over) = self.users().and_then(|of| of.breaks(seat, None, now)) else {
                continue;
            };
            self.recorder.reason(over.sent.phase, kind, None, now, failure.what.as_bytes());
            self.end_step(&over, None, Some(kind));
        }
    }

    /// A WebSocket is closed: what its user awaits on it will not come.
    pub(super) fn hung_up(
        &mut self,
        at: u32,
        (seat, lane): (u32, Lane),
        since: u64,
        (code, by): (u16, ClosedBy),
    ) {
        // What came before the close was heard before it.
        self.hear_early(seat, true);
        let now = self.now;
        let counts = &mut self.recorder.at(now).websocket;
        match by {
            _ if code == 0 => counts.let_go(code),
            ClosedBy::Peer(_) => counts.let_go(code),
            ClosedBy::User | ClosedBy::Broken(_) => counts.closed(code),
        }
        counts.online_ns += now.saturating_sub(since);
        let Some(users) = self.users() else { return };
        users.loses(seat, lane, at);
        users.tries_again(seat, lane.channel, now.saturating_sub(since), now);
        let why = match (code, by) {
            (0, _) => "the server closed the connection without a word".to_owned(),
            (code, ClosedBy::Peer(words)) if words.is_empty() => {
                format!("the server closed the WebSocket with code {code}")
            }
            (code, ClosedBy::Peer(words)) => {
                format!("the server closed the WebSocket with code {code}: {words}")
            }
            (_, ClosedBy::Broken(words)) => words,
            (code, ClosedBy::User) => format!("the WebSocket was closed by us with code {code}"),
        };
        users.is_gone(seat, lane.channel, &why);
        let Some(over) = users.breaks(seat, Some(lane.channel), now) else { return };
        self.recorder.reason(over.sent.phase, ErrorKind::Closed, None, now, why.as_bytes());
        self.end_step(&over, None, Some(ErrorKind::Closed));
    }

    /// What is awaited when all is over did not come.
    pub(super) fn cut_messages(&mut self) {
        let now = self.now;
        let seats = self.users().map(|users| users.seated()).unwrap_or_default();
        for seat in seats {
            if let Some(over) = self.users().and_then(|of| of.breaks(seat, None, now)) {
                self.end_step(&over, None, Some(ErrorKind::InFlightAtEnd));
            }
        }
    }
}

impl crate::recorder::Recorder {
    /// Counts a step that counts as no request, where it has failed; what the end cuts has not.
    fn step_failed(&mut self, ended: &Ended) {
        let has_failed = ended.error.is_some_and(|error| error != ErrorKind::InFlightAtEnd);
        self.at(ended.at).websocket.failed_steps += u64::from(has_failed);
    }

    /// A step has ended that counts as no request: it has figures by its name.
    fn step(&mut self, sent: &Sent, ended: &Ended) {
        let event = NamedEvent {
            part: NamedPart::Whole,
            name: NO_NAME,
            code: ended.code,
            error: ended.error,
            is_sent: true,
            response_ns: ended.at.saturating_sub(sent.due),
            service_ns: ended.at.saturating_sub(sent.sent),
            late_ns: 0,
            bytes: ended.bytes,
        };
        Under::from(sent.name).note(self.at(ended.at), sent.phase, event);
    }

    /// A message came that nobody had asked for, so long after it was published.
    fn message(
        &mut self,
        under: Under,
        phase: plimsoll_runs::Phase,
        at: u64,
        latency_ns: u64,
        bytes: u64,
    ) {
        let interval = self.at(at);
        let event = NamedEvent {
            part: NamedPart::Message,
            name: NO_NAME,
            code: None,
            error: None,
            is_sent: false,
            response_ns: latency_ns,
            service_ns: latency_ns,
            late_ns: 0,
            bytes,
        };
        under.note(interval, phase, event);
    }
}
