//! Users who open a WebSocket again that was lost: the handshake, what is said again behind it, and
//! the step that has waited for it.

use super::Worker;
use crate::driver::{Driver, IN_BACKGROUND, Slot};
use crate::source::users::{Held, Leaving};
use plimsoll_runs::ErrorKind;
use plimsoll_workload::scenario::End;

/// Said of a WebSocket that was being opened again.
const FORGOTTEN: &str = "the connection was closed by us, as its user wants it no more";

impl<D: Driver> Worker<D> {
    /// Lets those try again whose time it is, and those go on who have opened a WebSocket again.
    /// Returns whether there were any.
    pub(super) fn start_returns(&mut self) -> bool {
        let (now, mut worked) = (self.now, false);
        while let Some((seat, sending)) = self.users().and_then(|users| users.take_return(now)) {
            worked = true;
            let phase = self.phase(sending.due_ns);
            self.recorder.offered(sending.due_ns, phase);
            self.wants(seat, sending);
            if let Some(users) = self.users() {
                users.wanting.push_back(seat);
            }
        }
        while let Some((seat, channel)) = self.users().and_then(|users| users.returned.pop_front())
        {
            worked = true;
            self.is_back(seat, channel);
        }
        self.let_leave() || worked
    }

    /// Lets those leave whose last handshake has been answered. Returns whether there were any.
    pub(super) fn let_leave(&mut self) -> bool {
        let mut worked = false;
        while let Some((seat, how)) = self.users().and_then(|users| users.leavers.pop_front()) {
            worked = true;
            self.leave(seat, how);
        }
        worked
    }

    /// A user has opened a WebSocket again: what he has subscribed to is said again, and the step
    /// goes on that has waited.
    fn is_back(&mut self, seat: u32, channel: u16) {
        let Some(at) = self.online(seat, channel) else { return };
        let said = self.users().map(|users| users.subscriptions(seat, channel));
        for (bytes, is_binary) in said.unwrap_or_default() {
            self.tell(at, (&bytes, is_binary));
            if self.online(seat, channel) != Some(at) {
                return;
            }
        }
        let held = self.users().and_then(|users| users.take_held(seat, Some(channel)));
        if let Some(held) = held {
            self.say_when_open(seat, &held.sending, channel, held.does);
            self.hear_early(seat, false);
        }
    }

    /// A user wants a WebSocket no more that he may be opening again, or another in its place.
    pub(super) fn forget_return(&mut self, seat: u32, channel: u16) {
        if !self.users().is_some_and(|users| users.is_returning(seat, channel)) {
            return;
        }
        self.cut_sending(seat | IN_BACKGROUND);
        let at = self.users().and_then(|users| users.socket(seat, channel));
        let at = at.filter(|at| {
            let connection = &self.connections[*at as usize];
            connection.owner == seat && connection.lane.channel == channel
        });
        if let Some(at) = at {
            self.hang_up(at, Leaving::Ended(End::Finished), FORGOTTEN);
        }
        if let Some(users) = self.users() {
            users.ends_return(seat);
        }
    }

    /// Ends steps that have waited in vain for their WebSockets to be opened again.
    pub(super) fn expire_held(&mut self) {
        let now = self.now;
        while let Some((seat, held)) = self.users().and_then(|users| users.take_overdue(Some(now)))
        {
            let why = b"the WebSocket on which it was to go was lost, and not opened again in time";
            self.cannot_say(seat, &held.sending, held.is_request(), why);
        }
    }

    /// A step that waits for its WebSocket to be opened again is not sent any more.
    pub(super) fn cut_held(&mut self, seat: u32, held: &Held) {
        if held.is_request() {
            let (due, phase) = (held.sending.due_ns, self.phase(held.sending.due_ns));
            let under = self.under(seat, held.sending.name);
            self.recorder.never_sent((due, under), self.now, phase, ErrorKind::Cut);
        }
    }

    /// What a user who leaves waits to send is not sent any more.
    pub(super) fn cut_waiting_of(&mut self, seat: u32) {
        self.cut_sending(seat);
        self.cut_sending(seat | IN_BACKGROUND);
        if let Some(held) = self.users().and_then(|users| users.take_held(seat, None)) {
            self.cut_held(seat, &held);
        }
    }

    /// A handshake that is on its way on a connection is not waited for any more.
    pub(super) fn cut_handshake(&mut self, at: u32) {
        if self.connections[at as usize].in_use == 0 {
            return;
        }
        let slots: Vec<Slot> = self.in_flight.on(at).collect();
        for slot in slots {
            self.end_request(slot, None, 0, Some(ErrorKind::InFlightAtEnd));
        }
    }
}
