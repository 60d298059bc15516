//! Starting requests: the oldest due one first, on the connection that [`super::free`] chooses.

use super::Worker;
use super::explain::Why;
use crate::connection::State;
use crate::driver::{Driver, Slot};
use crate::in_flight::Sent;
use crate::pick::Pick;
use crate::source::{Due, Source};
use plimsoll_runs::labels::NO_LABEL;
use plimsoll_runs::names::{NO_NAME, OTHER};
use plimsoll_runs::{ErrorKind, Phase};
use std::sync::atomic::Ordering;

/// Said of a connection whose peer has refused its user's request.
const REFUSED: &str = "the connection was closed by us, as its peer refused a request";

/// The number of the name of a request.
#[inline]
fn name_of(names: Option<&[u16]>, request: u32) -> u16 {
    names.map_or(NO_NAME, |names| names.get(request as usize).copied().unwrap_or(OTHER))
}

/// The number of the name of a request that is never sent: where requests have names, it takes its
/// turn in their order.
pub(super) fn turn_of(names: Option<&[u16]>, pick: &mut Pick) -> u16 {
    let turn = names.and_then(|_| pick.next());
    turn.map_or(NO_NAME, |request| name_of(names, request))
}

impl<D: Driver> Worker<D> {
    /// Starts what is due while connections are free, opens connections for the rest. Returns
    /// whether anything was started.
    pub(super) fn start_due(&mut self) -> bool {
        if matches!(self.source, Source::Users(_)) {
            return self.start_users();
        }
        let mut started = self.start_refused();
        while self.source.waiting() > 0 {
            let Some(at) = self.next_free() else { break };
            let Some(due) = self.source.take() else { break };
            let Some(request) = self.pick.next() else {
                self.end_of_list(at, due);
                break;
            };
            self.start(at, due, request);
            started = true;
        }
        if self.source.waiting() > 0 || !self.again.is_empty() {
            self.open_more();
            self.note_free_elsewhere();
        } else {
            self.free_elsewhere_since = None;
            self.short_since = None;
        }
        self.send_gathered();
        started
    }

    /// Sends again what was refused, before anything younger.
    fn start_refused(&mut self) -> bool {
        let mut started = false;
        while let Some(&slot) = self.again.front() {
            if self.in_flight.awaits_retry(slot) {
                let Some(at) = self.next_free() else { break };
                self.start_again(at, slot);
                started = true;
            }
            self.again.pop_front();
        }
        started
    }

    /// Sends again what the peers of users have refused, each on a connection that is opened for it
    /// in the place of the one before.
    pub(super) fn start_refused_of_users(&mut self) {
        while let Some(slot) = self.again.pop_front() {
            if !self.in_flight.awaits_retry(slot) {
                continue;
            }
            let Some((sent, _)) = self.in_flight.get_mut(slot) else { continue };
            let seat = sent.request;
            let before = self.users().and_then(|users| {
                let lane = users.message(seat)?.lane();
                users.connection(seat, lane)
            });
            if let Some(at) = before.filter(|at| self.connections[*at as usize].owner == seat) {
                self.close(at, ErrorKind::Reset, Why::Words(REFUSED), None);
            }
            self.open_again_for(slot);
        }
    }

    /// The list has been gone through: there is nothing more to ask for, and the load ends.
    fn end_of_list(&mut self, at: u32, due: Due) {
        let phase = self.phase(due.at);
        self.recorder.never_sent((due.at, NO_NAME), self.now, phase, ErrorKind::Cut);
        self.source.stop();
        self.discard_waiting();
        self.stopping = true;
        self.end_at = self.end_at.min(self.now);
        self.offer_room(at);
    }

    fn start(&mut self, at: u32, due: Due, request: u32) {
        let phase = self.phase(due.at);
        let connection = &mut self.connections[at as usize];
        let now = self.clock.now();
        self.now = now;
        let ours = self.free_elsewhere_since.into_iter().chain(self.short_since);
        let usable = due.at.max(ours.fold(connection.free_since, u64::min));
        let late = now.saturating_sub(usable);
        self.recorder.sent(now, phase, usable - due.at, late);
        connection.in_use += 1;
        let sent = Sent {
            due: due.at,
            sent: now,
            first_byte: 0,
            late,
            request,
            name: name_of(self.config.names.as_deref(), request),
            label: NO_LABEL,
            connection: connection.serial,
            phase,
        };
        let slot = self.in_flight.add(sent, at, due.user);
        self.send_request(at, slot, request, phase, now);
    }

    /// Sends a request once more, on the connection that was opened for it.
    pub(super) fn start_again(&mut self, at: u32, slot: Slot) {
        let connection = &mut self.connections[at as usize];
        let Some((sent, _)) = self.in_flight.get_mut(slot) else { return };
        let (request, phase) = (sent.request, sent.phase);
        connection.in_use += 1;
        let serial = connection.serial;
        let now = self.clock.now();
        self.in_flight.resend(slot, now, serial, at);
        self.send_request(at, slot, request, phase, now);
    }

    /// Gives a request to its connection, which sends it now, or with others at the turn's end.
    pub(super) fn send_request(
        &mut self,
        at: u32,
        slot: Slot,
        request: u32,
        phase: Phase,
        now: u64,
    ) {
        let connection = &mut self.connections[at as usize];
        if self.sleeps && !connection.stamped {
            connection.stamp_arrivals();
        }
        let Some(protocol) = &mut connection.protocol else { return };
        self.scratch.clear();
        let bytes = self.driver.request(protocol, slot, request, &mut self.scratch);
        self.recorder.bytes_out(now, phase, bytes.len() as u64);
        let result = if D::GATHERS {
            connection.gathered.extend_from_slice(bytes);
            if !std::mem::replace(&mut connection.dirty, true) {
                self.dirty.push(at);
            }
            Ok(())
        } else {
            connection.send(bytes)
        };
        if self.config.traceparents.is_some() {
            self.note_trace(slot, request);
        }
        self.after_write(at, result);
    }

    /// Sends what has gathered on each connection in this turn.
    pub(super) fn send_gathered(&mut self) {
        while let Some(at) = self.dirty.pop() {
            let connection = &mut self.connections[at as usize];
            connection.dirty = false;
            if matches!(connection.state, State::Open | State::LoggingIn) {
                let result = connection.send_gathered();
                self.after_write(at, result);
            }
        }
    }

    /// With several threads: while requests wait here, whether another has a free connection. Then
    /// their waiting is our own lateness, for one pool shared by all would have had one.
    fn note_free_elsewhere(&mut self) {
        let shared = &self.line.shared.free;
        if shared.len() < 2 {
            return;
        }
        let own = self.line.index as usize;
        let elsewhere = shared
            .iter()
            .enumerate()
            .any(|(index, free)| index != own && free.load(Ordering::Relaxed) > 0);
        if !elsewhere {
            self.free_elsewhere_since = None;
        } else if self.free_elsewhere_since.is_none() {
            self.free_elsewhere_since = Some(self.now);
        }
    }
}
