//! Opening connections: all before the start, more when none is free, one more for a request that
//! was sent in vain on a stale one.
//!
//! # When the target cannot be connected to
//!
//! A failed attempt fails every request that waits, provided that no connection is open and none is
//! being opened: each of them would have been refused as well. While others are being opened, it
//! fails those that have waited for as long as an attempt may take: where a target takes no notice
//! of any attempt, there is always another one under way. Then nobody tries again for a moment
//! (10 ms, doubling to 100 ms), so that a dead target costs the generator nothing and each request
//! still learns of it soon; and until an attempt succeeds, one is made at a time. While any
//! connection is open, a failed attempt is only counted.
//!
//! Where it is this host that lets no connection be opened (no port, descriptor or memory is left),
//! requests fail as [`ErrorKind::Local`]; those that go on waiting for a connection do so by our
//! own doing from then on, which is lateness.

use super::Worker;
use super::explain::Why;
use super::start::turn_of;
use crate::config::Config;
use crate::connection::{Connection, State, begin, interest, local_cause};
use crate::driver::{Driver, Fate, Slot};
use crate::recorder::Unsent;
use crate::{errno, sys};
use plimsoll_runs::{ErrorKind, Phase, Tag};
use rustix::event::epoll::{self, EventFlags};
use rustix::net::sockopt;
use std::io;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Said of what would be on a connection that is renewed; nothing is.
const RENEWED: &str = "the connection was closed by us to be opened anew";
/// Said of a request that has to be sent again where there may be no more connections.
const NO_ROOM: &str = "closed as it was sent, and there is no room for another connection";
/// Events are waited for so long at most while connections are opened; other threads are looked at
/// so often.
const LONGEST_WAIT_NS: u64 = 10_000_000;
const SHORT_WAIT_NS: u64 = 200_000;
const FIRST_BACK_OFF_NS: u64 = 10_000_000;
const LAST_BACK_OFF_NS: u64 = 100_000_000;

impl<D: Driver> Worker<D> {
    /// Opens the connections that are open from the start; says why one could not be.
    ///
    /// The first one of each thread comes before the second of any: those are the ones that carry a
    /// light load, and a server of few workers may serve no others.
    pub(super) fn connect_all(&mut self) -> Option<(ErrorKind, io::Error)> {
        let all = self.connections.len();
        let pending = (Config::MAX_CONNECTING / self.line.share.of).max(1) as usize;
        if self.line.shared.free.len() > 1 {
            self.connect(0..all.min(1), 1);
            self.await_first();
            self.connect(all.min(1)..all, pending);
        } else {
            self.connect(0..all, pending);
        }
        self.first_failure.take()
    }

    /// Opens these connections, so many of them at a time.
    fn connect(&mut self, of: Range<usize>, pending: usize) {
        let mut next = of.start;
        let told = &self.line.shared.clone().commands[self.line.index as usize];
        // Told something so early, it can only be to end.
        while self.open as usize + self.failures < of.end && !told.load(Ordering::Acquire) {
            while next < of.end && self.opening.len() < pending {
                self.begin_to_open(u32::try_from(next).unwrap_or(u32::MAX));
                next += 1;
            }
            if self.opening.is_empty() && next >= of.end {
                break;
            }
            self.poll_connections(LONGEST_WAIT_NS);
        }
    }

    /// Waits until each thread has opened its first connection, or could not, for as long as an
    /// attempt may take.
    fn await_first(&mut self) {
        let shared = self.line.shared.clone();
        let told = &shared.commands[self.line.index as usize];
        let until = self.clock.now().saturating_add(self.config.timeout_ns);
        let of = u32::try_from(shared.free.len()).unwrap_or(u32::MAX);
        shared.first.fetch_add(1, Ordering::AcqRel);
        let is_alone = || shared.first.load(Ordering::Acquire) < of;
        while is_alone() && !told.load(Ordering::Acquire) && self.clock.now() < until {
            self.poll_connections(SHORT_WAIT_NS);
        }
    }

    /// Takes what happens on connections, for which it waits so long at most.
    fn poll_connections(&mut self, longest_ns: u64) {
        let events = self.wait_for_connections(longest_ns);
        self.take_events(events);
        self.send_gathered();
        self.expire_opening();
    }

    fn wait_for_connections(&mut self, longest_ns: u64) -> usize {
        self.epoll_events.clear();
        let spare = rustix::buffer::spare_capacity(&mut self.epoll_events);
        let wait = crate::clock::timespec(longest_ns);
        let events = epoll::wait(&self.epoll, spare, Some(&wait)).unwrap_or(0);
        self.now = self.clock.now();
        events
    }

    /// Opens connections for waiting requests, as far as there may be more of them.
    pub(super) fn open_more(&mut self) {
        if self.now < self.back_off_until {
            return;
        }
        // While attempts fail, one at a time is enough to learn when they no longer do.
        let pending = match self.back_off_ns {
            0 => (Config::MAX_CONNECTING / self.line.share.of).max(1) as usize,
            _ => 1,
        };
        let waiting = usize::try_from(self.source.waiting()).unwrap_or(usize::MAX);
        let waiting = waiting.saturating_add(self.again.len());
        while self.opening.len().saturating_sub(self.reserved) < waiting.min(pending) {
            let Some(at) = self.vacant() else { return };
            self.begin_to_open(at);
            if self.now < self.back_off_until {
                return;
            }
        }
    }

    /// Closes a free connection and opens another in its place, so that the round trip of the
    /// network is measured anew by a handshake.
    pub(super) fn renew(&mut self) {
        let Some(every) = self.config.renew_ns.filter(|_| self.now >= self.renew_at) else {
            return;
        };
        self.renew_at = self.now + every;
        if self.source.waiting() > 0 {
            return;
        }
        let Some(at) = self.next_free() else { return };
        if self.connections[at as usize].in_use > 0 {
            self.offer_room(at);
            return;
        }
        self.close(at, ErrorKind::Reset, Why::Words(RENEWED), None);
        self.begin_to_open(at);
    }

    /// Opens a connection for one request that has to be sent again.
    pub(super) fn open_for(&mut self, slot: Slot) {
        match self.vacant() {
            Some(at) => {
                self.connections[at as usize].reserved = Some(slot);
                self.reserved += 1;
                self.begin_to_open(at);
            }
            None => self.fail(slot, ErrorKind::Reset, Why::Words(NO_ROOM)),
        }
    }

    /// An entry without a connection; a new one while there may be more.
    fn vacant(&mut self) -> Option<u32> {
        let all = u32::try_from(self.connections.len()).unwrap_or(u32::MAX);
        let used = self.open + u32::try_from(self.opening.len()).unwrap_or(u32::MAX);
        if used < all {
            // Closed entries are rare: searching for one from where the last was found is short.
            for _ in 0..all {
                self.vacant_from = (self.vacant_from + 1) % all;
                if self.connections[self.vacant_from as usize].state == State::Closed {
                    return Some(self.vacant_from);
                }
            }
        }
        (all < self.most).then(|| {
            self.connections.push(Connection::closed());
            all
        })
    }

    pub(super) fn begin_to_open(&mut self, at: u32) {
        let began = self.clock.now();
        let serial = self.line.shared.serial.fetch_add(1, Ordering::Relaxed);
        let (way, origin) = (&self.config.way, self.connections[at as usize].lane.origin);
        let place = self.config.place_of(origin).0;
        let to = if origin == 0 { way.to(place, serial) } else { place.clone() };
        match begin(&to, way.from(&to, serial)) {
            Ok(socket) => {
                let connection = &mut self.connections[at as usize];
                let data = u64::from(connection.generation) << 32 | u64::from(at);
                let data = epoll::EventData::new_u64(data);
                let result = epoll::add(&self.epoll, &socket, data, EventFlags::OUT);
                connection.socket = Some(socket);
                connection.stamped = false;
                connection.state = State::Connecting;
                connection.began = began;
                connection.serial = serial;
                self.opening.push_back((began, at, connection.generation));
                if let Err(error) = result {
                    self.not_opened(at, ErrorKind::Connect, error.into());
                }
            }
            Err(error) => self.not_opened(at, ErrorKind::Connect, error),
        }
    }

    /// The kernel has finished connecting, well or not.
    pub(super) fn connected(&mut self, at: u32) {
        self.now = self.clock.now();
        let connection = &mut self.connections[at as usize];
        let result = connection
            .socket()
            .and_then(|socket| sockopt::socket_error(socket)?.map_err(io::Error::from));
        if let Err(error) = result {
            return self.not_opened(at, ErrorKind::Connect, error);
        }
        let data = u64::from(connection.generation) << 32 | u64::from(at);
        let data = epoll::EventData::new_u64(data);
        if let Ok(socket) = connection.socket() {
            let _ = epoll::modify(&self.epoll, socket, data, interest(false));
            // Of a connection that is new, what the kernel has smoothed is one round trip.
            let trip = sys::round_trip(socket).filter(|trip| trip.smoothed_ns > 0);
            if let Some(trip) = trip {
                self.handshakes.0 += trip.smoothed_ns;
                self.handshakes.1 += 1;
                self.recorder.at(self.now).handshakes.push(trip.smoothed_ns);
            }
        }
        match self.config.way.opening() {
            Some(question) => self.ask_for_tunnel(at, &question),
            None => self.encrypt(at),
        }
    }

    /// There are bytes to and from the peer: TLS begins where it is spoken, unless the protocol has
    /// to begin it; else the protocol.
    pub(super) fn encrypt(&mut self, at: u32) {
        let origin = self.connections[at as usize].lane.origin;
        match self.config.place_of(origin).1 {
            Some(_) if !D::BEGINS_PLAIN => self.begin_tls(at),
            _ => self.greet(at),
        }
    }

    /// TLS begins, behind what was sent before.
    fn begin_tls(&mut self, at: u32) {
        let connection = &mut self.connections[at as usize];
        let begun = match self.config.place_of(connection.lane.origin).1 {
            Some(tls) => connection.send_gathered().and_then(|()| {
                connection.begin_tls(tls).map_err(io::Error::other)?;
                connection.flush()
            }),
            None => Err(io::Error::other("the protocol asks for TLS, and none is set up")),
        };
        match begun {
            Ok(()) => self.after_write(at, Ok(())),
            Err(error) => self.not_opened(at, ErrorKind::Tls, error),
        }
    }

    /// TLS is there: a protocol that has asked for it goes on, any other begins.
    pub(super) fn encrypted(&mut self, at: u32) {
        let connection = &mut self.connections[at as usize];
        let Some(protocol) = &mut connection.protocol else { return self.greet(at) };
        let mut out = Vec::new();
        self.driver.encrypted(protocol, &mut out);
        connection.state = State::LoggingIn;
        let result = connection.send(&out);
        self.after_write(at, result);
    }

    /// There is a connection to the peer: the protocol begins, and may have to log in first.
    fn greet(&mut self, at: u32) {
        let mut greeting = Vec::new();
        let protocol = self.driver.open(&mut greeting);
        let is_ready = self.driver.is_ready(&protocol);
        let connection = &mut self.connections[at as usize];
        connection.protocol = Some(protocol);
        if is_ready {
            return self.opened(at, &greeting);
        }
        connection.state = State::LoggingIn;
        let result = if greeting.is_empty() { Ok(()) } else { connection.send(&greeting) };
        self.after_write(at, result);
    }

    /// A login goes on, or has ended.
    pub(super) fn logged_in(&mut self, at: u32, fate: Fate) {
        let Some(protocol) = &self.connections[at as usize].protocol else { return };
        if fate == Fate::Close {
            let why = self.driver.refusal(protocol);
            let why = why.unwrap_or_else(|| "it does not speak this protocol".to_owned());
            self.not_opened(at, ErrorKind::Connect, io::Error::other(why));
        } else if self.driver.wants_tls(protocol) {
            self.begin_tls(at);
        } else if self.driver.is_ready(protocol) {
            self.opened(at, &[]);
        }
    }

    /// A connection can be used.
    fn opened(&mut self, at: u32, greeting: &[u8]) {
        self.now = self.clock.now();
        self.forget_opening(at);
        let phase = self.phase(self.now);
        let connection = &mut self.connections[at as usize];
        connection.state = State::Open;
        connection.answered = 0;
        let took = self.now.saturating_sub(connection.began);
        self.open += 1;
        let open = self.line.shared.open.fetch_add(1, Ordering::Relaxed) + 1;
        self.free.note_opened(connection.entries());
        self.back_off_ns = 0;
        self.back_off_until = 0;
        self.short_since = None;
        let interval = self.recorder.at(self.now);
        interval.opened += 1;
        interval.connections = interval.connections.max(u64::from(open));
        interval.phases[phase as usize].histograms[Tag::Connect as usize].record(took);
        let reserved = connection.reserved.take();
        self.reserved -= usize::from(reserved.is_some());
        let result = if greeting.is_empty() { Ok(()) } else { connection.send(greeting) };
        self.after_write(at, result);
        match reserved {
            Some(slot) if self.in_flight.awaits_retry(slot) => self.start_again(at, slot),
            _ => self.offer_room(at),
        }
    }

    /// A connection could not be opened: `kind` says at which step, unless the error is one of this
    /// host's own.
    pub(super) fn not_opened(&mut self, at: u32, kind: ErrorKind, error: io::Error) {
        let why = local_cause(&error).map_or(Unsent::Kind(kind), Unsent::Local);
        self.now = self.clock.now();
        self.forget_opening(at);
        let connection = &mut self.connections[at as usize];
        let reserved = connection.reserved.take();
        self.reserved -= usize::from(reserved.is_some());
        let (owner, lane) = (connection.owner, connection.lane);
        connection.close();
        self.failures += 1;
        let words = errno::describe(&error);
        self.recorder.refused(why.kind(), self.now, words.as_bytes());
        if let Some(slot) = reserved.filter(|slot| self.in_flight.awaits_retry(*slot)) {
            self.fail(slot, ErrorKind::Reset, Why::Error(&error));
        }
        // Whose request fails wants no other connection for it.
        self.fail_owner(owner, lane, why, &words);
        self.disown(at);
        self.back_off_ns = (self.back_off_ns * 2).clamp(FIRST_BACK_OFF_NS, LAST_BACK_OFF_NS);
        self.back_off_until = self.now + self.back_off_ns;
        if self.first_failure.is_none() {
            self.first_failure = Some((why.kind(), error));
        }
        if matches!(why, Unsent::Local(_)) && self.source.waiting() > 0 {
            self.short_since.get_or_insert(self.now);
        }
        if self.open == 0 && self.opening.is_empty() {
            self.fail_waiting(why, u64::MAX, &words);
        } else if self.open == 0
            && let Some(before) = self.now.checked_sub(self.config.timeout_ns)
        {
            self.fail_waiting(why, before, &words);
        }
    }

    /// Fails what has been waiting since then or for longer.
    fn fail_waiting(&mut self, why: Unsent, since: u64, words: &str) {
        self.fail_waiting_users(why, since, words);
        while self.source.oldest_waiting().is_some_and(|due| due <= since) {
            let Some(due) = self.source.take() else { return };
            let phase: Phase = self.phase(due.at);
            let name = turn_of(self.config.names.as_deref(), &mut self.pick);
            self.recorder.never_sent((due.at, name), self.now, phase, why);
            self.recorder.reason(phase, why.kind(), None, self.now, words.as_bytes());
            self.source.finished(due.user, self.now);
        }
    }

    /// Gives up on connections that take too long.
    pub(super) fn expire_opening(&mut self) {
        while let Some(&(began, at, generation)) = self.opening.front() {
            if self.connections[at as usize].generation != generation {
                self.opening.pop_front();
            } else if self.now >= began.saturating_add(self.config.timeout_ns) {
                self.not_opened(at, ErrorKind::Connect, self.too_slow());
            } else {
                break;
            }
        }
    }

    /// What is said of a connection that took too long.
    fn too_slow(&self) -> io::Error {
        let limit = plimsoll_units::show_duration(self.config.timeout_ns);
        io::Error::new(io::ErrorKind::TimedOut, format!("no connection within {limit}"))
    }

    pub(super) fn forget_opening(&mut self, at: u32) {
        self.opening.retain(|&(_, other, _)| other != at);
    }
}
