//! What users say and hear over WebSockets, as far as it hangs on no socket.

use super::{Held, Users};
use crate::in_flight::Sent;
use plimsoll_workload::scenario::{Failure, FailureKind, Heard, Lane};
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
    /// Whether it awaits no message, but that its own is written.
    writes: bool,
}

/// A message that came while the next step of its user was due and had not begun.
pub(crate) struct Early {
    /// The connection on which it came.
    pub(crate) at: u32,
    pub(crate) generation: u32,
    pub(crate) channel: u16,
    pub(crate) bytes: Box<[u8]>,
    /// How many bytes were received for it.
    pub(crate) received: u64,
    pub(crate) is_unread: bool,
    /// When it came.
    pub(crate) now: u64,
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

    /// What a step of a user has put into words, and whether that is binary.
    pub(crate) fn said(&self, seat: u32) -> (&[u8], bool) {
        self.seat_of(seat).map_or((&[], false), |of| (of.user.said(), of.user.says_binary()))
    }

    /// What a rule has answered for a user, and whether that is binary.
    pub(crate) fn reply(&self, seat: u32) -> (Vec<u8>, bool) {
        let user = self.seat_of(seat).map(|of| &of.user);
        user.map(|of| (of.reply().to_vec(), of.replies_binary())).unwrap_or_default()
    }

    /// Whether what comes for a user waits for a step of his to begin, which is due.
    pub(crate) fn is_to_wait(&self, seat: u32, channel: u16) -> bool {
        let is_held = |held: &Held| held.channel == channel;
        self.seat_of(seat).is_some_and(|of| of.has_turn || of.held.as_ref().is_some_and(is_held))
    }

    /// Keeps what waits for that.
    pub(crate) fn keep_early(&mut self, seat: u32, early: Early) {
        if let Some(of) = self.seat(seat) {
            of.early.push_back(early);
        }
    }

    /// The next of what has waited, where it waits no longer, or its user leaves.
    pub(crate) fn take_early(&mut self, seat: u32, leaves: bool) -> Option<Early> {
        let channel = self.seat_of(seat)?.early.front()?.channel;
        let waits = !leaves && self.is_to_wait(seat, channel);
        self.seat(seat).filter(|_| !waits)?.early.pop_front()
    }

    /// A step begins to send a message, and is done once that is written.
    pub(crate) fn writes(&mut self, seat: u32, sent: Sent, channel: u16) {
        let until = sent.sent.saturating_add(self.timeout_ns);
        let Some(of) = self.seat(seat) else { return };
        let (is_request, bytes, writes) = (false, 0, true);
        of.awaited = Some(Awaited { sent, is_request, channel, bytes, writes });
        self.awaiting += 1;
        self.deadlines.push(Reverse((until, seat)));
    }

    /// What a user had to write on a WebSocket is written. Returns what it was, where it was a step
    /// that is done by that: its user goes on.
    pub(crate) fn has_written(&mut self, seat: u32, channel: u16) -> Option<Sent> {
        let is_it = |awaited: &mut Awaited| awaited.writes && awaited.channel == channel;
        let sent = self.seat(seat)?.awaited.take_if(is_it)?.sent;
        self.awaiting -= 1;
        self.has_said(seat, sent, channel, false);
        Some(sent)
    }

    /// A step has begun: its message is on its way, or it awaits one that comes by itself. A step
    /// that awaits nothing is done, and its user goes on.
    pub(crate) fn has_said(&mut self, seat: u32, sent: Sent, channel: u16, is_request: bool) {
        let (now, timeout) = (self.moment(sent.sent), self.timeout_ns);
        let scenario = self.scenario.clone();
        let Some(of) = self.seat(seat) else { return };
        match of.user.has_said(&scenario, now, timeout) {
            None => self.gives_turn(seat),
            Some(until) => {
                let (bytes, writes) = (0, false);
                of.awaited = Some(Awaited { sent, is_request, channel, bytes, writes });
                self.awaiting += 1;
                self.awaiting_requests += u32::from(is_request);
                self.deadlines.push(Reverse((until, seat)));
            }
        }
        self.subscribes(seat);
    }

    /// How many steps await messages.
    pub(crate) fn awaiting(&self) -> u32 {
        self.awaiting
    }

    /// How many of them count as requests.
    pub(crate) fn awaiting_requests(&self) -> u32 {
        self.awaiting_requests
    }

    /// Takes a message that has come for a user, for which so many bytes were received.
    pub(crate) fn hear(
        &mut self,
        seat: u32,
        channel: u16,
        (bytes, received): (&[u8], u64),
        at: u64,
    ) -> Option<Heard> {
        let now = self.moment(at);
        let scenario = self.scenario.clone();
        let of = self.seat(seat)?;
        let heard = of.user.hear(&scenario, channel, bytes, now);
        if matches!(heard, Heard::Expected { .. } | Heard::Failed(_))
            && let Some(awaited) = &mut of.awaited
        {
            awaited.bytes += received;
        }
        if matches!(heard, Heard::Expected { is_last: true, .. } | Heard::Again) {
            self.subscribes(seat);
        }
        Some(heard)
    }

    /// Why a broadcast that a user has heard last says nothing that can be counted.
    pub(crate) fn take_unreadable(&mut self, seat: u32) -> Option<String> {
        self.seat(seat)?.user.take_unreadable()
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
        self.gives_turn(seat);
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
        self.gives_turn(seat);
    }

    /// A step that closes is done.
    pub(crate) fn has_closed(&mut self, seat: u32, at: u64) {
        let now = self.moment(at);
        if let Some(of) = self.seat(seat) {
            of.user.has_closed(now);
        }
        self.gives_turn(seat);
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
            if let Some(awaited) = of.awaited.as_ref().filter(|awaited| awaited.writes) {
                match awaited.sent.sent.saturating_add(timeout) {
                    later if later > at => self.deadlines.push(Reverse((later, seat))),
                    _ => return Some((seat, unread(timeout))),
                }
                continue;
            }
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

    /// A WebSocket of a user is closed, and why.
    pub(crate) fn is_gone(&mut self, seat: u32, channel: u16, why: &str) {
        if let Some(of) = self.seat(seat) {
            of.gone.retain(|(of, _)| *of != channel);
            of.gone.push((channel, why.into()));
        }
    }

    /// Why a WebSocket of a user was closed last.
    pub(crate) fn why_gone(&self, seat: u32, channel: u16) -> Option<&str> {
        let gone = &self.seat_of(seat)?.gone;
        gone.iter().find(|(of, _)| *of == channel).map(|(_, why)| &**why)
    }

    /// Forgets a WebSocket that is closed.
    pub(crate) fn loses(&mut self, seat: u32, lane: Lane, at: u32) {
        if let Some(of) = self.seat(seat) {
            of.connections.retain(|known| *known != (lane, at));
        }
        self.forgets_broadcasts(seat, |heard| heard.channel == lane.channel);
        if self.scenario.clock().is_some_and(|clock| clock.channel == lane.channel) {
            self.asks_no_more(seat);
        }
    }
}

/// Why a step has failed whose message was not read.
fn unread(within_ns: u64) -> Failure {
    let within = plimsoll_units::show_duration(within_ns);
    let what = format!("expected the server to read the message within {within}");
    Failure { kind: FailureKind::Unanswered, what }
}
