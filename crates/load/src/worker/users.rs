//! Users who go through a scenario: each asks on connections of his own, one at a time to each
//! server, which are kept until he ends.
//!
//! What a user does next is asked for once he has had his answer, in the same turn. A request that
//! finds no connection of its user open waits for one, which is opened for it; where connecting
//! fails, it fails, and where no connection of anybody is open or being opened, so do all that
//! wait ([`super::connect`] says how often it is tried).

use super::Worker;
use super::explain::Why;
use crate::config::Config;
use crate::connection::{Connection, State};
use crate::driver::{Driver, IN_BACKGROUND, Slot};
use crate::in_flight::{NOBODY, Sent};
use crate::recorder::{Ended, Under, Unsent};
use crate::source::Source;
use crate::source::users::{Leaving, Users, kind_of};
use plimsoll_runs::labels::NO_LABEL;
use plimsoll_runs::names::{NO_NAME, OTHER};
use plimsoll_runs::{ErrorKind, Phase};
use plimsoll_workload::scenario::take::Headers;
use plimsoll_workload::scenario::{Came, End, Failure, Lane, Message, Next, Received, Sending};

/// So many steps of a user may fail unsent before others have their turn.
const MOST_UNSENT: u32 = 64;
/// Said of a WebSocket whose user opens another one in its place.
const REPLACED: &str = "the connection was closed by us, as its user opens another one";
/// Said of a connection whose user has ended.
const LEFT: &str = "the connection was closed by us, as its user has ended";

impl<D: Driver> Worker<D> {
    /// The users, where the load is of users.
    #[inline]
    pub(super) fn users(&mut self) -> Option<&mut Users> {
        match &mut self.source {
            Source::Users(users) => Some(users),
            Source::Open(_) | Source::Closed(_) => None,
        }
    }

    /// The number under which a name of the scenario has its figures.
    pub(super) fn named(&self, name: u16) -> u16 {
        let names = self.config.names.as_deref();
        names.map_or(NO_NAME, |names| names.get(usize::from(name)).copied().unwrap_or(OTHER))
    }

    /// The number of the label of the user in a seat.
    pub(super) fn label_of(&self, seat: u32) -> u16 {
        match &self.source {
            Source::Users(users) => users.label_of(seat),
            Source::Open(_) | Source::Closed(_) => NO_LABEL,
        }
    }

    /// Under what something has its figures that a user does.
    pub(super) fn under(&self, seat: u32, name: u16) -> Under {
        Under { name: self.named(name), label: self.label_of(seat) }
    }

    /// Goes on with those whose turn it is. Returns whether there were any.
    pub(super) fn start_users(&mut self) -> bool {
        let now = self.now;
        let offset = self.clock.wall_offset();
        let Some(users) = self.users() else { return false };
        users.wall_offset = offset;
        users.arrive(now);
        let turns = users.ready();
        let mut worked = turns > 0;
        self.start_refused_of_users();
        worked |= self.start_returns();
        self.ask_for_time();
        while let Some(at) = self.users().and_then(|users| users.usable.pop_front()) {
            self.start_on(at);
            worked = true;
        }
        for _ in 0..turns {
            let Some(seat) = self.users().and_then(Users::take_ready) else { break };
            self.go_on(seat);
            self.hear_early(seat, false);
        }
        self.open_for_users();
        self.send_gathered();
        self.record_users();
        worked
    }

    /// Lets a user do what comes next.
    fn go_on(&mut self, seat: u32) {
        let now = self.clock.now();
        self.now = now;
        for _ in 0..MOST_UNSENT {
            let Some(users) = self.users() else { return };
            match users.next(seat, now) {
                None => return self.leave(seat, Leaving::Cut),
                Some(Next::Ask(sending)) => return self.ask(seat, sending),
                Some(Next::Say { sending, channel, sends, awaits }) => {
                    return self.say(seat, &sending, channel, (sends, awaits));
                }
                Some(Next::Close { channel, code }) => return self.part(seat, channel, code),
                Some(Next::Think { until_ns }) => return users.think(seat, until_ns),
                Some(Next::Unsent { sending, failure }) => self.unsent(seat, &sending, &failure),
                Some(Next::Done(end)) => return self.leave(seat, Leaving::Ended(end)),
            }
        }
        if let Some(users) = self.users() {
            users.go_on_later(seat);
        }
    }

    /// A step has failed before it was sent.
    pub(super) fn unsent(&mut self, seat: u32, sending: &Sending, failure: &Failure) {
        let (due, phase, kind) = (sending.due_ns, self.phase(sending.due_ns), kind_of(failure));
        self.recorder.offered(due, phase);
        let under = self.under(seat, sending.name);
        self.recorder.never_sent((due, under), self.now, phase, kind);
        self.recorder.reason(phase, kind, None, self.now, failure.what.as_bytes());
    }

    /// A user asks for something.
    fn ask(&mut self, seat: u32, sending: Sending) {
        // What follows a redirect was offered, and sent, with what led there.
        if !sending.is_redirect {
            let phase = self.phase(sending.due_ns);
            self.recorder.offered(sending.due_ns, phase);
        }
        match self.wants(seat, sending) {
            Some(at) => self.start_on(at),
            None => self.users().iter_mut().for_each(|users| users.wanting.push_back(seat)),
        }
    }

    /// A user wants to send something. Returns his connection for it, if he has one.
    pub(super) fn wants(&mut self, seat: u32, sending: Sending) -> Option<u32> {
        let lane = self.users()?.message(seat)?.lane();
        let owner = seat & !IN_BACKGROUND;
        if seat == owner && lane.channel != 0 {
            self.forget_return(seat, lane.channel);
        }
        let mut at = self.users()?.connection(owner, lane).filter(|at| {
            self.connections
                .get(*at as usize)
                .is_some_and(|connection| connection.owner == owner && connection.lane == lane)
        });
        if lane.channel != 0 {
            // A handshake is made on a connection of its own: the one before is done with.
            if let Some(at) = at.take() {
                self.hang_up(at, Leaving::Ended(End::Finished), REPLACED);
            }
        }
        let Source::Users(users) = &mut self.source else { return None };
        let scenario = users.scenario.clone();
        let host = scenario.authority(lane.origin);
        self.driver.prepare(seat, users.message(seat)?, host, sending.keep);
        users.wants(seat, sending);
        at
    }

    /// Sends what the owner of a connection waits to send on it, where it has room.
    fn start_on(&mut self, at: u32) {
        if self.connections[at as usize].owner != NOBODY && self.may_have_ended(at) {
            // Where it has, it is nobody's from then on, and another one is opened.
            self.readable(at);
        }
        let connection = &self.connections[at as usize];
        let (seat, lane) = (connection.owner, connection.lane);
        if seat == NOBODY {
            return;
        }
        if self.room(at) == 0 {
            // It is being opened, or its last answer is not over: it is heard of again.
            return;
        }
        let Some(users) = self.users() else { return };
        let Some(seat) = users.awaits(seat, lane) else { return };
        let Some(sending) = users.take_sending(seat) else { return };
        self.send_of(seat, at, &sending);
    }

    fn send_of(&mut self, seat: u32, at: u32, sending: &Sending) {
        let now = self.clock.now();
        self.now = now;
        let short = self.short_since;
        let connection = &mut self.connections[at as usize];
        let usable = sending.due_ns.max(short.into_iter().fold(connection.free_since, u64::min));
        let late = now.saturating_sub(usable);
        connection.in_use += 1;
        connection.is_idle = false;
        let serial = connection.serial;
        let sent = Sent { late, connection: serial, ..self.sent(seat, sending) };
        let phase = sent.phase;
        if !sending.is_redirect {
            self.recorder.sent(now, phase, usable.saturating_sub(sending.due_ns), late);
        }
        let slot = self.in_flight.add(sent, at, seat);
        self.send_request(at, slot, seat, phase, now);
    }

    /// A request of a user that is sent now.
    pub(super) fn sent(&self, seat: u32, sending: &Sending) -> Sent {
        Sent {
            due: sending.due_ns,
            sent: self.now,
            first_byte: 0,
            late: 0,
            request: seat,
            name: self.named(sending.name),
            label: self.label_of(seat),
            connection: 0,
            phase: self.phase(sending.due_ns),
        }
    }

    /// Takes a whole answer to its user, and ends its request.
    pub(super) fn answer_user(&mut self, slot: Slot, code: u16, bytes: u64) {
        match self.heard(slot, code) {
            Some(Came::Redirected) => self.hop(slot, bytes),
            Some(Came::Failed(failure)) => {
                let kind = kind_of(&failure);
                self.explain(slot, kind, Some(code), Why::Words(&failure.what));
                self.end_request(slot, Some(code), bytes, Some(kind));
            }
            Some(Came::Passed) | None => {
                if code == 101 {
                    self.is_online(slot);
                }
                self.end_request(slot, Some(code), bytes, None);
            }
        }
    }

    /// A request has led elsewhere, and its step goes on there.
    fn hop(&mut self, slot: Slot, bytes: u64) {
        let Some((sent, holder, seat)) = self.in_flight.remove(slot) else { return };
        self.in_flight.traces.take(slot);
        let at = self.now.max(sent.sent);
        self.recorder.redirected(at, sent.phase, (&sent).into(), bytes);
        if let Some(connection) = self.connections.get_mut(holder as usize) {
            connection.in_use = connection.in_use.saturating_sub(1);
            connection.answered += 1;
        }
        self.source.finished(seat, at);
    }

    /// What came of an answer for its user.
    fn heard(&mut self, slot: Slot, code: u16) -> Option<Came> {
        let (sent, holder) = self.in_flight.get_mut(slot)?;
        let seat = sent.request;
        let at = self.now.max(sent.sent).max(sent.first_byte);
        let response_ns = at.saturating_sub(sent.due);
        let protocol = self.connections.get_mut(holder as usize)?.protocol.as_mut()?;
        let answer = self.driver.answer(protocol, slot)?;
        let headers: Vec<(&[u8], &[u8])> =
            answer.fields.iter().map(|(name, value)| (name.as_bytes(), &**value)).collect();
        let received = Received {
            status: code,
            headers: Headers(&headers),
            body: &answer.body,
            is_whole: !answer.is_cut,
        };
        self.users()?.answered(seat, &received, response_ns, at)
    }

    /// A connection of a user's own has become free, or is open now.
    pub(super) fn offer_to_owner(&mut self, at: u32) {
        if self.room(at) == 0 {
            return;
        }
        let now = self.now;
        let connection = &mut self.connections[at as usize];
        if connection.in_use == 0 && !std::mem::replace(&mut connection.is_idle, true) {
            connection.free_since = now;
        }
        let (owner, lane) = (connection.owner, connection.lane);
        if let Some(users) = self.users()
            && users.awaits(owner, lane).is_some()
        {
            users.usable.push_back(at);
        }
    }

    /// Opens connections for those who have none, as far as so many may be opened at once.
    fn open_for_users(&mut self) {
        let pending = match self.back_off_ns {
            0 => (Config::MAX_CONNECTING / self.line.share.of).max(1) as usize,
            _ => 1,
        };
        while self.now >= self.back_off_until && self.opening.len() < pending {
            let Some(users) = self.users() else { return };
            let Some(seat) = users.wanting.pop_front() else { break };
            let Some(lane) = users.wanted(seat) else { continue };
            if self.is_opening_for(seat, lane) {
                continue;
            }
            let at = self.entry_for_user();
            self.give(seat, lane, at);
            self.begin_to_open(at);
        }
        if self.source.waiting() == 0 {
            self.short_since = None;
        }
    }

    /// Whether that connection of a user is open, or being opened, already.
    fn is_opening_for(&mut self, seat: u32, lane: Lane) -> bool {
        let owner = seat & !IN_BACKGROUND;
        let at = self.users().and_then(|users| users.connection(owner, lane));
        at.and_then(|at| self.connections.get(at as usize)).is_some_and(|connection| {
            let is_his = connection.owner == owner && connection.lane == lane;
            is_his && connection.state != State::Closed
        })
    }

    /// An entry of the table for a connection of a user's.
    fn entry_for_user(&mut self) -> u32 {
        self.vacant_entries.pop().unwrap_or_else(|| {
            self.connections.push(Connection::closed());
            u32::try_from(self.connections.len() - 1).unwrap_or(u32::MAX)
        })
    }

    /// A connection is a user's own from now on.
    fn give(&mut self, seat: u32, lane: Lane, at: u32) {
        let seat = seat & !IN_BACKGROUND;
        let connection = &mut self.connections[at as usize];
        (connection.owner, connection.lane, connection.is_idle) = (seat, lane, false);
        if let Some(users) = self.users() {
            users.owns(seat, lane, at);
        }
    }

    /// Opens a connection for one request of a user that has to be sent again.
    pub(super) fn open_again_for(&mut self, slot: Slot) {
        let Some((sent, _)) = self.in_flight.get_mut(slot) else { return };
        let seat = sent.request;
        let Some(lane) = self.users().and_then(|users| users.message(seat)).map(Message::lane)
        else {
            return;
        };
        let at = self.entry_for_user();
        self.give(seat, lane, at);
        self.connections[at as usize].reserved = Some(slot);
        self.reserved += 1;
        self.begin_to_open(at);
    }

    /// An entry's connection is closed: it is nobody's, and another one may take its place.
    pub(super) fn disown(&mut self, at: u32) {
        let connection = &mut self.connections[at as usize];
        let (owner, lane) = (connection.owner, connection.lane);
        if owner == NOBODY {
            return;
        }
        connection.owner = NOBODY;
        let since = std::mem::take(&mut connection.online_since);
        let code = std::mem::take(&mut connection.code);
        let by = std::mem::take(&mut connection.closed_by);
        self.vacant_entries.push(at);
        if since > 0 {
            return self.hung_up(at, (owner, lane), since, (code, by));
        }
        if let Some(users) = self.users()
            && let Some(seat) = users.awaits(owner, lane)
        {
            users.wanting.push_back(seat);
        }
    }

    /// A connection could not be opened for its owner: what he waits to send on it fails.
    pub(super) fn fail_owner(&mut self, seat: u32, lane: Lane, why: Unsent, words: &str) {
        let Some(users) = self.users() else { return };
        if let Some(seat) = users.awaits(seat, lane)
            && let Some(sending) = users.take_sending(seat)
        {
            self.fail_sending(seat, &sending, why, words);
        }
    }

    fn fail_sending(&mut self, seat: u32, sending: &Sending, why: Unsent, words: &str) {
        let phase: Phase = self.phase(sending.due_ns);
        if sending.is_redirect {
            self.never_followed(seat, sending, ErrorKind::Reset);
            self.recorder.reason(phase, ErrorKind::Reset, None, self.now, words.as_bytes());
        } else {
            let under = self.under(seat, sending.name);
            self.recorder.never_sent((sending.due_ns, under), self.now, phase, why);
            self.recorder.reason(phase, why.kind(), None, self.now, words.as_bytes());
        }
        self.source.finished(seat, self.now);
    }

    /// What was to follow a redirect has not been sent: its step was, and has no answer.
    fn never_followed(&mut self, seat: u32, sending: &Sending, kind: ErrorKind) {
        let sent = self.sent(seat, sending);
        let ended = Ended { at: self.now, code: None, bytes: 0, error: Some(kind) };
        self.recorder.ended(&sent, &ended, None);
    }

    /// Fails what users have waited to send since then or for longer.
    pub(super) fn fail_waiting_users(&mut self, why: Unsent, since: u64, words: &str) {
        loop {
            let Some(users) = self.users() else { return };
            if users.oldest_waiting().is_none_or(|due| due > since) {
                return;
            }
            let Some(seat) = users.longest_waiting() else { return };
            let Some(sending) = users.take_sending(seat) else { return };
            self.fail_sending(seat, &sending, why, words);
        }
    }

    /// What users wait to send is not sent any more: they are cut.
    pub(super) fn cut_waiting_users(&mut self) {
        while let Some(seat) = self.users().and_then(|users| users.longest_waiting()) {
            if !self.cut_sending(seat) {
                return;
            }
            // A handshake goes beside the steps of its user, which are another matter.
            if seat & IN_BACKGROUND == 0 {
                self.leave(seat, Leaving::Cut);
            }
        }
        while let Some((seat, held)) = self.users().and_then(|users| users.take_overdue(None)) {
            self.cut_held(seat, &held);
            self.leave(seat, Leaving::Cut);
        }
    }

    /// What a user waits to send is not sent any more. Returns whether there was something.
    pub(super) fn cut_sending(&mut self, seat: u32) -> bool {
        let sending = self.users().and_then(|users| users.take_sending(seat));
        let Some(sending) = sending else { return false };
        if seat & IN_BACKGROUND != 0
            && let Some(users) = self.users()
        {
            users.ends_return(seat);
        }
        if sending.is_redirect {
            self.never_followed(seat, &sending, ErrorKind::InFlightAtEnd);
        } else {
            let (due, phase) = (sending.due_ns, self.phase(sending.due_ns));
            let under = self.under(seat, sending.name);
            self.recorder.never_sent((due, under), self.now, phase, ErrorKind::Cut);
        }
        true
    }

    /// Those who are there when all is over are cut.
    pub(super) fn cut_users(&mut self) {
        self.let_leave();
        let seats = self.users().map(|users| users.seated()).unwrap_or_default();
        for seat in seats {
            self.leave(seat, Leaving::Cut);
        }
        self.book_all(true);
        self.record_users();
    }

    /// A user leaves, and his connections are closed. Who has a handshake on its way, beside his
    /// steps, does so when it is answered: it is not the server's doing that he has enough.
    pub(super) fn leave(&mut self, seat: u32, how: Leaving) {
        let now = self.now;
        self.cut_waiting_of(seat);
        let Some(users) = self.users() else { return };
        if how != Leaving::Ended(End::EndRun) && users.lingers(seat, how) {
            return;
        }
        self.hear_early(seat, true);
        let Some(users) = self.users() else { return };
        let connections = users.leave(seat, how, now);
        for (lane, at) in connections {
            let connection = &self.connections[at as usize];
            if connection.owner == seat && connection.lane == lane {
                self.hang_up(at, how, LEFT);
            }
        }
        if how == Leaving::Ended(End::EndRun) {
            self.source.stop();
            self.cut_waiting_users();
            self.stopping = true;
            self.end_at = self.end_at.min(self.now);
        }
    }

    /// Closes a connection of a user, however far it has come.
    pub(super) fn hang_up(&mut self, at: u32, how: Leaving, why: &str) {
        match self.connections[at as usize].state {
            State::Closed => {}
            State::Open => {
                self.cut_handshake(at);
                self.say_goodbye(at, how);
                self.close(at, ErrorKind::Reset, Why::Words(why), None);
            }
            State::Connecting | State::Tunnelling | State::Handshaking | State::LoggingIn => {
                self.forget_opening(at);
                self.connections[at as usize].close();
                self.disown(at);
            }
        }
    }

    /// Records what became of users, and of their groups.
    fn record_users(&mut self) {
        let Source::Users(users) = &mut self.source else { return };
        let counts = &mut self.recorder.at(self.now).websocket;
        counts.refused += std::mem::take(&mut users.refused);
        counts.broadcast.lost += std::mem::take(&mut users.lost);
        users.settle_waves(self.now, self.config.measured_from_ns, &mut counts.broadcast);
        if !users.counts.is_empty() {
            let counts = std::mem::take(&mut users.counts);
            self.recorder.at(self.now).users.add(&counts);
        }
        if !users.labelled.is_empty() {
            self.recorder.at(self.now).labelled.add(&users.labelled);
            users.labelled.clear();
        }
        let groups = std::mem::take(&mut users.groups);
        for group in &groups {
            let (name, phase) = (self.named(group.name), self.phase(group.first_due_ns));
            if name != NO_NAME && phase == Phase::Measured {
                self.recorder.group(name, group);
            }
        }
        if let Source::Users(users) = &mut self.source {
            users.groups = groups;
            users.groups.clear();
        }
    }
}
