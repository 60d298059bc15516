//! What users say and hear over WebSockets, as far as it hangs on no socket.

use super::Users;
use crate::in_flight::Sent;
use plimsoll_workload::scenario::{Failure, Heard, Lane};
use std::cmp::Reverse;

/// A step that awaits messages.
pub(super) struct Awaited {
    /// What was sent, or when waiting began.
    pub(super) sent: Sent,
    /// Whether it counts as a request: one does that sent something.
    pub(super) is_request: bool,
    /// The number of the WebSocket.
    channel: u16,
    /// Bytes that have come for it.
    bytes: u64,
}

/// A step that has awaited messages and is over.
pub(crate) struct Over {
    /// What was sent.
    pub(crate) sent: Sent,
    /// Whether it counts as a request.
    pub(crate) is_request: bool,
    /// Bytes that came for it.
    pub(crate) bytes: u64,
}

impl Users {
    /// The number of the connection on which a user's messages go, if he has one.
    pub(crate) fn socket(&self, seat: u32, channel: u16) -> Option<u32> {
        let of = self.seat_of(seat)?;
        of.connections.iter().find(|(lane, _)| lane.channel == channel).map(|(_, at)| *at)
    }

    /// What a step of a user has put into words.
    pub(crate) fn said(&self, seat: u32) -> &[u8] {
        self.seat_of(seat).map_or(&[], |of| of.user.said())
    }

    /// What a rule has answered for a user.
    pub(crate) fn reply(&self, seat: u32) -> &[u8] {
        self.seat_of(seat).map_or(&[], |of| of.user.reply())
    }

    /// A step has begun: its message is on its way, or it awaits one that comes by itself. A step
    /// that awaits nothing is done, and its user goes on.
    pub(crate) fn has_said(&mut self, seat: u32, sent: Sent, channel: u16, is_request: bool) {
        let (now, timeout) = (self.moment(sent.sent), self.timeout_ns);
        let scenario = self.scenario.clone();
        let Some(of) = self.seat(seat) else { return };
        match of.user.has_said(&scenario, now, timeout) {
            None => self.ready.push_back(seat),
            Some(until) => {
                of.awaited = Some(Awaited { sent, is_request, channel, bytes: 0 });
                self.awaiting += 1;
                self.awaiting_requests += u32::from(is_request);
                self.deadlines.push(Reverse((until, seat)));
            }
        }
    }

    /// How many steps await messages.
    pub(crate) fn awaiting(&self) -> u32 {
        self.awaiting
    }

    /// How many of them count as requests.
    pub(crate) fn awaiting_requests(&self) -> u32 {
        self.awaiting_requests
    }

    /// Takes a message that has come for a user.
    pub(crate) fn hear(&mut self, seat: u32, channel: u16, bytes: &[u8], at: u64) -> Option<Heard> {
        let now = self.moment(at);
        let scenario = self.scenario.clone();
        let of = self.seat(seat)?;
        let heard = of.user.hear(&scenario, channel, bytes, now);
        if matches!(heard, Heard::Expected { .. } | Heard::Failed(_))
            && let Some(awaited) = &mut of.awaited
        {
            awaited.bytes += bytes.len() as u64;
        }
        if matches!(heard, Heard::Expected { is_last: true, .. } | Heard::Again) {
            self.subscribes(seat);
        }
        Some(heard)
    }

    /// What the step of a user awaits that is heard now.
    pub(crate) fn awaited(&mut self, seat: u32) -> Option<Sent> {
        self.seat(seat)?.awaited.as_ref().map(|awaited| awaited.sent)
    }

    /// The step of a user awaits nothing more: it is his turn again.
    pub(crate) fn is_over(&mut self, seat: u32) -> Option<Over> {
        let awaited = self.seat(seat)?.awaited.take()?;
        self.awaiting -= 1;
        self.awaiting_requests -= u32::from(awaited.is_request);
        self.ready.push_back(seat);
        let Awaited { sent, is_request, bytes, .. } = awaited;
        Some(Over { sent, is_request, bytes })
    }

    /// What a user awaits on a WebSocket that is closed now, or on any, is not awaited any more.
    pub(crate) fn breaks(&mut self, seat: u32, channel: Option<u16>, at: u64) -> Option<Over> {
        let now = self.moment(at);
        let scenario = self.scenario.clone();
        let of = self.seat(seat)?;
        let awaited = of.awaited.as_ref()?;
        if channel.is_some_and(|channel| channel != awaited.channel) {
            return None;
        }
        of.user.broke(&scenario, now);
        self.is_over(seat)
    }

    /// A step could not begin, as there is no such WebSocket: its user is told.
    pub(crate) fn could_not_say(&mut self, seat: u32, at: u64) {
        let now = self.moment(at);
        let scenario = self.scenario.clone();
        let Some(of) = self.seat(seat) else { return };
        of.user.broke(&scenario, now);
        self.ready.push_back(seat);
    }

    /// A step that closes is done.
    pub(crate) fn has_closed(&mut self, seat: u32, at: u64) {
        let now = self.moment(at);
        if let Some(of) = self.seat(seat) {
            of.user.has_closed(now);
        }
        self.ready.push_back(seat);
    }

    /// The next user whose messages have not come in time, and what is said of that.
    pub(crate) fn take_unanswered(&mut self, at: u64) -> Option<(u32, Failure)> {
        let (now, timeout) = (self.moment(at), self.timeout_ns);
        let scenario = self.scenario.clone();
        while let Some(&Reverse((until, seat))) = self.deadlines.peek() {
            if until > at {
                return None;
            }
            self.deadlines.pop();
            let Some(of) = self.seat(seat).filter(|of| of.awaited.is_some()) else { continue };
            // The entry may be that of a step before.
            match of.user.deadline(&scenario, timeout) {
                Some(later) if later > at => self.deadlines.push(Reverse((later, seat))),
                _ => {
                    let failure = of.user.unanswered(&scenario, now, timeout);
                    if let Some(failure) = failure {
                        return Some((seat, failure));
                    }
                }
            }
        }
        None
    }

    /// When the next of what is awaited has to have come.
    pub(crate) fn next_deadline(&self) -> Option<u64> {
        self.deadlines.peek().map(|Reverse((until, _))| *until)
    }

    /// Forgets a WebSocket that is closed.
    pub(crate) fn loses(&mut self, seat: u32, lane: Lane, at: u32) {
        if let Some(of) = self.seat(seat) {
            of.connections.retain(|known| *known != (lane, at));
        }
        self.forgets_broadcasts(seat, lane.channel);
        if self.scenario.clock().is_some_and(|clock| clock.channel == lane.channel) {
            self.asks_no_more(seat);
        }
    }
}
