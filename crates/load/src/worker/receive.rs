//! What epoll reports: answers, ends, room to write. And the end of every request that was sent.
//!
//! # Answers in parts
//!
//! Where a server sends head and body by two calls, reading the head at once costs a second read,
//! and slows the server down, whose second call meets ours on the socket's lock. A connection on
//! which an answer has come in parts is therefore read one turn after it has become readable, some
//! microseconds later, when the rest is there as well: 1.16 times the rate against nginx without
//! `tcp_nopush` (benches/load/RESULTS.md).
//!
//! # Arrival times
//!
//! A thrifty thread reads late by choice: up to a tick after an answer has arrived; a precise one
//! that slept meanwhile reads as late as it was woken. Both let the kernel stamp what arrives
//! (`SO_TIMESTAMPNS`, socket(7)) and count from that. Where users hear broadcasts, a precise thread
//! that did not sleep does so too: one broadcast comes on thousands of connections at once, and is
//! read from one after the other.

use super::explain::Why;
use super::race::Close;
use super::{WAKE, Worker};
use crate::connection::{State, interest};
use crate::driver::{Driver, Event, Fate, Slot};
use crate::recorder::Ended;
use crate::sys;
use crate::way::Endpoint;
use plimsoll_runs::ErrorKind;
use plimsoll_workload::check::hold;
use rustix::event::epoll::{self, EventFlags};
use rustix::net::{RecvFlags, recv};
use std::io;
use std::sync::atomic::Ordering;

/// From so many uninteresting bytes on, they are not copied out of the kernel.
const DISCARD_FROM: u64 = 2048;
/// The most that is taken off at once.
const DISCARD_MOST: u64 = 1 << 20;
/// The oldest stamp that is believed.
const STAMP_AGE_NS: u64 = 1_000_000_000;

/// When received bytes arrived: as the kernel has stamped them, or now.
#[inline]
fn arrival(now: u64, stamps: Option<i64>, stamp: Option<i64>) -> u64 {
    match (stamps, stamp) {
        // A wall clock that was set back or forth meanwhile must not bend the run: never in the
        // future, never further back than a tick could explain.
        (Some(offset), Some(stamp)) => {
            let at = u64::try_from(stamp.saturating_sub(offset)).unwrap_or(0);
            if at <= now && now - at <= STAMP_AGE_NS { at } else { now }
        }
        _ => now,
    }
}

/// How a peer has ended a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It said that no more would come.
    Fin,
    /// By a reset, or otherwise.
    Error,
}

/// What one read gave.
enum Read {
    /// The connection has nothing more for now.
    Blocked,
    /// There may be more.
    More,
    /// It is closed on our side.
    Closed,
}

impl<D: Driver> Worker<D> {
    pub(super) fn take_events(&mut self, count: usize) {
        for index in 0..count {
            let event = self.epoll_events[index];
            let data = event.data.u64();
            if data == WAKE {
                let mut count = [0; 8];
                let _ = rustix::io::read(&*self.line.wake, &mut count);
                continue;
            }
            #[expect(clippy::cast_possible_truncation, reason = "two halves of one number")]
            let (at, generation) = (data as u32, (data >> 32) as u32);
            let connection = &self.connections[at as usize];
            if connection.generation != generation {
                continue;
            }
            let flags = event.flags;
            let ends = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
            if connection.in_parts && !connection.seen && !flags.intersects(ends) {
                self.connections[at as usize].seen = true;
                continue;
            }
            self.connections[at as usize].seen = false;
            let connection = &self.connections[at as usize];
            match connection.state {
                State::Closed => {}
                State::Connecting => self.connected(at),
                State::Tunnelling | State::Handshaking | State::LoggingIn | State::Open => {
                    if flags.contains(EventFlags::OUT) {
                        let result = self.connections[at as usize].flush();
                        self.after_write(at, result);
                    }
                    let read = EventFlags::IN | EventFlags::RDHUP | EventFlags::HUP;
                    if flags.intersects(read | EventFlags::ERR) {
                        self.readable(at);
                    }
                }
            }
        }
    }

    /// Reads while the socket gives whole buffers.
    pub(super) fn readable(&mut self, at: u32) {
        let connection = &self.connections[at as usize];
        if connection.state == State::Tunnelling {
            return self.read_tunnel(at);
        }
        let generation = connection.generation;
        for _ in 0..16 {
            let read = match self.discard_some(at) {
                Some(read) => read,
                None => self.read_some(at),
            };
            let same = self.connections[at as usize].generation == generation;
            if !same || !matches!(read, Read::More) {
                return;
            }
        }
    }

    /// Takes bytes off unseen where the driver has no interest in them.
    fn discard_some(&mut self, at: u32) -> Option<Read> {
        let connection = &mut self.connections[at as usize];
        let plain = connection.is_plain() && matches!(self.config.endpoint, Endpoint::Tcp(_));
        let protocol = connection.protocol.as_mut()?;
        let disinterest = self.driver.disinterest(protocol);
        if disinterest < DISCARD_FROM || !plain {
            return None;
        }
        let most = usize::try_from(disinterest.min(DISCARD_MOST)).unwrap_or(usize::MAX);
        let result = connection.socket.as_ref().map(std::os::fd::AsFd::as_fd);
        let result = result.map(|socket| sys::discard(socket, most, self.stamps.is_some()))?;
        Some(match result {
            Ok((0, _)) => self.ended(at, None),
            Ok((n, stamp)) => {
                self.now = arrival(self.clock.now(), self.stamps, stamp);
                let fate = self.driver.discarded(protocol, n as u64, &mut self.events);
                self.settle(at, fate)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Read::Blocked,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Read::More,
            Err(error) => self.ended(at, Some(error)),
        })
    }

    fn read_some(&mut self, at: u32) -> Read {
        let connection = &mut self.connections[at as usize];
        let Ok(socket) = connection.socket() else { return Read::Closed };
        let received = if self.stamps.is_some() {
            sys::receive_stamped(socket, &mut self.buffer)
        } else {
            recv(socket, &mut self.buffer[..], RecvFlags::empty())
                .map(|(n, _)| (n, None))
                .map_err(io::Error::from)
        };
        let n = match received {
            // TLS says when no more will come; an end without that may have cut the answer off.
            Ok((0, _)) => {
                let error = (!connection.is_plain()).then(|| io::ErrorKind::UnexpectedEof.into());
                return self.ended(at, error);
            }
            Ok((n, stamp)) => {
                self.now = arrival(self.clock.now(), self.stamps, stamp);
                n
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Read::Blocked,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Read::More,
            Err(error) => return self.ended(at, Some(error)),
        };
        let full = n == self.buffer.len();
        let read = if connection.is_plain() {
            let Some(protocol) = &mut connection.protocol else { return Read::Closed };
            let bytes = &self.buffer[..n];
            let out = &mut connection.gathered;
            let fate = self.driver.receive(protocol, bytes, out, &mut self.events);
            self.settle(at, fate)
        } else {
            match self.decrypt(at, n) {
                Ok(read) => read,
                Err(error) => self.ended(at, Some(error)),
            }
        };
        match read {
            Read::More if !full => Read::Blocked,
            read => read,
        }
    }

    /// Passes received bytes through TLS, and what comes out of it to the driver.
    fn decrypt(&mut self, at: u32, n: usize) -> io::Result<Read> {
        let connection = &mut self.connections[at as usize];
        let generation = connection.generation;
        self.plain.clear();
        let decrypted = connection.decrypt(&self.buffer[..n], &mut self.plain)?;
        if decrypted.completed {
            let resumed = connection.is_resumed();
            self.recorder.at(self.now).tls.count(resumed);
            self.encrypted(at);
        }
        let connection = &mut self.connections[at as usize];
        let fate = match &mut connection.protocol {
            Some(protocol) if !self.plain.is_empty() => {
                let out = &mut connection.gathered;
                self.driver.receive(protocol, &self.plain, out, &mut self.events)
            }
            _ => Fate::Keep,
        };
        let read = self.settle(at, fate);
        let connection = &self.connections[at as usize];
        if connection.generation != generation {
            return Ok(Read::Closed);
        }
        if decrypted.ended {
            return Ok(self.ended(at, None));
        }
        if !connection.is_flushed() {
            self.after_write(at, Ok(()));
        }
        Ok(read)
    }

    /// Deals with what a driver made of received bytes.
    fn settle(&mut self, at: u32, fate: Fate) -> Read {
        let generation = self.connections[at as usize].generation;
        self.take_driver_events();
        self.take_said(at);
        let connection = &mut self.connections[at as usize];
        if connection.generation != generation {
            return Read::Closed;
        }
        // What a WebSocket owes waits until the peer has read what was sent before.
        let is_behind = connection.online_since > 0 && !connection.is_flushed();
        if !connection.gathered.is_empty() && !connection.dirty && !is_behind {
            connection.dirty = true;
            self.dirty.push(at);
        }
        if is_behind && fate == Fate::Keep && self.bound_owed(at) {
            return Read::Closed;
        }
        let connection = &mut self.connections[at as usize];
        if connection.state == State::LoggingIn {
            self.logged_in(at, fate);
            let is_closed = self.connections[at as usize].state == State::Closed;
            return if is_closed { Read::Closed } else { Read::More };
        }
        // Answered before it was asked to the end: nobody wants the rest.
        let is_request = !D::GATHERS && connection.online_since == 0;
        let is_early = is_request && connection.in_use == 0 && !connection.is_flushed();
        if fate == Fate::Close && connection.online_since > 0 {
            self.linger(at);
        }
        if fate == Fate::Close || is_early {
            let why = "the connection was closed behind another answer";
            self.close(at, ErrorKind::Reset, Why::Words(why), None);
            return Read::Closed;
        }
        self.offer_room(at);
        Read::More
    }

    pub(super) fn take_driver_events(&mut self) {
        let mut events = std::mem::take(&mut self.events);
        for event in events.drain(..) {
            match event {
                Event::FirstByte(slot) => {
                    let now = self.now;
                    if let Some((sent, holder)) = self.in_flight.get_mut(slot)
                        && sent.first_byte == 0
                    {
                        sent.first_byte = now.max(sent.sent);
                        self.connections[holder as usize].in_parts = true;
                    }
                }
                Event::Done { slot, code, bytes } if self.users().is_some() => {
                    self.answer_user(slot, code, bytes);
                }
                Event::Done { slot, code, bytes } if self.is_followed(slot, code, bytes) => {}
                Event::Done { slot, code, bytes } => {
                    let expected = self.config.expected.contains(code);
                    let mut error = (!expected).then_some(ErrorKind::Status);
                    if let Some(kind) = error {
                        self.explain(slot, kind, Some(code), Why::Driver);
                    } else if !self.config.checks.is_empty() {
                        error = self.check(slot, code);
                    }
                    self.end_request(slot, Some(code), bytes, error);
                }
                Event::Failed { slot, kind } => self.fail(slot, kind, Why::Driver),
                Event::Refused(slot) => self.refused(slot),
            }
        }
        self.events = events;
    }

    /// Holds the checks against an answer that is whole. One that was not kept fails none.
    fn check(&mut self, slot: Slot, code: u16) -> Option<ErrorKind> {
        let (_, holder) = self.in_flight.get_mut(slot)?;
        let protocol = self.connections.get_mut(holder as usize)?.protocol.as_mut()?;
        let answer = self.driver.answer(protocol, slot)?;
        let why = hold(&self.config.checks, &answer).err()?;
        self.explain(slot, ErrorKind::Check, Some(code), Why::Words(&why));
        Some(ErrorKind::Check)
    }

    /// A request that was sent has ended now.
    pub(super) fn end_request(
        &mut self,
        slot: Slot,
        code: Option<u16>,
        bytes: u64,
        error: Option<ErrorKind>,
    ) {
        let Some((sent, holder, user)) = self.in_flight.remove(slot) else { return };
        self.driver.forget(slot);
        // The kernel's stamps and our clock may differ by less than they take to read.
        let at = self.now.max(sent.sent).max(sent.first_byte);
        let trace = self.in_flight.traces.take(slot);
        self.recorder.ended(&sent, &Ended { at, code, bytes, error }, trace);
        if let Some(connection) = self.connections.get_mut(holder as usize)
            && connection.serial == sent.connection
        {
            connection.in_use = connection.in_use.saturating_sub(1);
            connection.answered += u32::from(code.is_some());
        }
        self.source.finished(user, at);
    }

    /// The peer has closed, or the socket has failed.
    fn ended(&mut self, at: u32, error: Option<io::Error>) -> Read {
        self.now = self.clock.now();
        let connection = &mut self.connections[at as usize];
        let opening = [State::Tunnelling, State::Handshaking, State::LoggingIn];
        if opening.contains(&connection.state) {
            // What TLS refuses behind its handshake is bad data: a certificate of ours, say.
            let is_bad = error.as_ref().is_some_and(|of| of.kind() == io::ErrorKind::InvalidData);
            let is_tls = connection.state == State::Handshaking || is_bad;
            let kind = if is_tls { ErrorKind::Tls } else { ErrorKind::Connect };
            let error = error.unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into());
            self.not_opened(at, kind, error);
            return Read::Closed;
        }
        // What was sent can no longer fail to be connected: bad records are bad answers.
        let kind = match error.as_ref().map(io::Error::kind) {
            Some(io::ErrorKind::InvalidData) => ErrorKind::Protocol,
            _ => ErrorKind::Reset,
        };
        if error.is_none()
            && let Some(protocol) = &mut connection.protocol
        {
            self.driver.end(protocol, &mut self.events);
            self.take_driver_events();
        }
        let is_fin = |error: &io::Error| error.kind() == io::ErrorKind::UnexpectedEof;
        let end = if error.as_ref().is_none_or(is_fin) { End::Fin } else { End::Error };
        let close = self.evidence(at, end).filter(|_| kind == ErrorKind::Reset);
        self.close(at, kind, error.as_ref().map_or(Why::Closed, Why::Error), close);
        Read::Closed
    }

    /// Looks after what a write left: an error ends the connection, bytes left over wait for room.
    pub(super) fn after_write(&mut self, at: u32, result: io::Result<()>) {
        if let Err(error) = result {
            // A server may answer before it has read all, and close: what it has said counts.
            let generation = self.connections[at as usize].generation;
            if self.connections[at as usize].state == State::Open {
                self.readable(at);
            }
            if self.connections[at as usize].generation == generation {
                let _ = self.ended(at, Some(error));
            }
            return;
        }
        let connection = &mut self.connections[at as usize];
        let write = !connection.is_flushed();
        if !write && connection.online_since > 0 {
            self.has_written(at);
        }
        let connection = &mut self.connections[at as usize];
        if write || connection.watches_write {
            connection.wrote = self.clock.now();
        }
        if write != connection.watches_write
            && let Ok(socket) = connection.socket()
        {
            let data = u64::from(connection.generation) << 32 | u64::from(at);
            let data = epoll::EventData::new_u64(data);
            if epoll::modify(&self.epoll, socket, data, interest(write)).is_ok() {
                connection.watches_write = write;
            }
        }
    }

    /// Closes a connection. What is unanswered on it fails for this reason, but for what crossed
    /// the peer's `close`.
    pub(super) fn close(&mut self, at: u32, kind: ErrorKind, why: Why<'_>, close: Option<Close>) {
        let connection = &mut self.connections[at as usize];
        if connection.state == State::Closed {
            return;
        }
        let in_use = connection.in_use;
        if connection.state == State::Open {
            self.open -= 1;
            self.line.shared.open.fetch_sub(1, Ordering::Relaxed);
        }
        if connection.is_silent() {
            self.recorder.at(self.now).silent += 1;
        }
        self.free.note_closed(connection.entries());
        connection.close();
        self.disown(at);
        if in_use == 0 {
            return;
        }
        let slots: Vec<Slot> = self.in_flight.on(at).collect();
        for slot in slots {
            match close {
                Some(close) => self.lost(slot, why, close),
                None => self.fail(slot, kind, why),
            }
        }
    }

    /// The peer will not work on a request and says so: it is sent again where there is room. It
    /// keeps its one retry, as nothing of it was done.
    fn refused(&mut self, slot: Slot) {
        let Some(holder) = self.in_flight.take_back(slot) else {
            let why = "the peer refused it again and again";
            return self.fail(slot, ErrorKind::Reset, Why::Words(why));
        };
        if let Some(connection) = self.connections.get_mut(holder as usize) {
            connection.in_use = connection.in_use.saturating_sub(1);
        }
        self.again.push_back(slot);
    }

    /// Gives up on requests and connections that have taken too long.
    pub(super) fn expire(&mut self) {
        let timeout = self.config.timeout_ns;
        while let Some((slot, sent, holder)) = self.in_flight.oldest() {
            if self.now < sent.sent.saturating_add(timeout) {
                break;
            }
            let Some(connection) = self.connections.get_mut(holder as usize) else {
                // It waits to be sent again.
                self.fail(slot, ErrorKind::Timeout, Why::TimedOut);
                continue;
            };
            connection.timed_out = true;
            let fate = match &mut connection.protocol {
                Some(protocol) if connection.state == State::Open => {
                    self.driver.abandon(protocol, slot, &mut connection.gathered)
                }
                _ => Fate::Keep,
            };
            self.fail(slot, ErrorKind::Timeout, Why::TimedOut);
            let _ = self.settle(holder, fate);
        }
        self.expire_lingering();
        self.expire_opening();
        self.expire_messages();
        self.expire_held();
        self.send_gathered();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The wall clock is this much before ours.
    const OFFSET: i64 = 1_800_000_000_000_000_000;
    const NOW: u64 = 5_000_000_000;
    const MS: i64 = 1_000_000;

    #[test]
    fn an_arrival_is_when_the_kernel_stamped_it_and_never_in_the_future() {
        let stamped = |at: i64| arrival(NOW, Some(OFFSET), Some(OFFSET + at));
        for (at, is) in [
            (5000 * MS, 5000 * MS),
            (4999 * MS, 4999 * MS),
            (4000 * MS, 4000 * MS),
            // No tick explains more than a second.
            (4000 * MS - 1, 5000 * MS),
            (-7 * MS, 5000 * MS),
            (5000 * MS + 1, 5000 * MS),
        ] {
            assert_eq!(stamped(at), is.cast_unsigned(), "{at}");
        }
        assert_eq!(arrival(NOW, None, Some(OFFSET)), NOW);
        assert_eq!(arrival(NOW, Some(OFFSET), None), NOW);
    }

    /// A wall clock that is set back or forth between the offset that was read and the stamp, by
    /// anything: an arrival moves by a second at most, and to no moment that has not come.
    #[test]
    fn a_wall_clock_that_is_set_bends_no_arrival() {
        let hour = 3_600_000 * MS;
        let jumps = [i64::MIN, -OFFSET, -24 * hour, -hour, -999 * MS, -1, 0, 1, hour, i64::MAX];
        for (jump, stamp) in jumps.into_iter().flat_map(|jump| [(jump, OFFSET), (0, jump)]) {
            for offset in [OFFSET.saturating_add(jump), jump] {
                let at = arrival(NOW, Some(offset), Some(stamp.saturating_add(jump)));
                assert!(at <= NOW && NOW - at <= STAMP_AGE_NS, "{at} by {jump}, {stamp}");
            }
        }
    }
}
