//! Users who open a WebSocket again that was lost: when they try, and which of their steps wait for
//! it.
//!
//! The handshake goes beside the steps of its user, one at a time, under his seat with
//! [`IN_BACKGROUND`] set.

use super::{Leaving, Users};
use crate::driver::IN_BACKGROUND;
use plimsoll_workload::scenario::{Came, Now, Received, Sending};
use std::cmp::Reverse;

/// A user who has several WebSockets opens them again one after the other: so long after he found
/// another one being opened he looks again.
const ONE_AFTER_THE_OTHER_NS: u64 = 5_000_000;

/// When a user opens a WebSocket again: the time, his seat, the number of the WebSocket and his
/// own, as the seat may be another's by then; and when he was to.
pub(super) type Return = (u64, u32, u16, u64, u64);

/// A handshake by which a user opens a WebSocket again.
pub(super) struct Back {
    pub(super) channel: u16,
    /// What is to be sent and has no connection yet.
    pub(super) sending: Option<Sending>,
    /// Whether it has opened the WebSocket.
    has_opened: bool,
}

/// A step that waits for a WebSocket to be opened again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    /// The step.
    pub(crate) sending: Sending,
    /// The number of the WebSocket.
    pub(crate) channel: u16,
    /// Whether it sends something, and whether it awaits something.
    pub(crate) does: (bool, bool),
    until_ns: u64,
}

impl Held {
    /// Whether it counts as a request.
    pub(crate) fn is_request(&self) -> bool {
        self.does == (true, true)
    }
}

impl Users {
    /// A WebSocket of a user is lost that was open for so long, or could not be opened again: he
    /// tries again in a while, unless he wanted it closed.
    pub(crate) fn tries_again(&mut self, seat: u32, channel: u16, online_ns: u64, at: u64) {
        let now = self.moment(at);
        let scenario = self.scenario.clone();
        let Some(of) = self.seat(seat) else { return };
        if let Some(due) = of.user.loses(&scenario, channel, online_ns, now) {
            let number = of.user.number();
            self.returns.push(Reverse((due, seat & !IN_BACKGROUND, channel, number, due)));
        }
    }

    /// The next user who opens a WebSocket again: his seat in the background, and what he sends.
    pub(crate) fn take_return(&mut self, at: u64) -> Option<(u32, Sending)> {
        let now = self.moment(at);
        let scenario = self.scenario.clone();
        while let Some(&Reverse((when, seat, channel, number, due))) = self.returns.peek() {
            if when > at || when >= self.end_ns {
                return None;
            }
            self.returns.pop();
            let Some(of) = self.seat(seat).filter(|of| of.user.number() == number) else {
                continue;
            };
            if of.back.is_some() {
                let later = at.saturating_add(ONE_AFTER_THE_OTHER_NS);
                self.returns.push(Reverse((later, seat, channel, number, due)));
                continue;
            }
            let Some(sending) = of.user.returns(&scenario, channel, due, now) else { continue };
            of.back = Some(Back { channel, sending: None, has_opened: false });
            return Some((seat | IN_BACKGROUND, sending));
        }
        None
    }

    /// When the next one opens a WebSocket again.
    pub(super) fn next_return(&self) -> Option<u64> {
        self.returns.peek().map(|Reverse((when, ..))| *when)
    }

    /// Tells a user of the answer to such a handshake.
    pub(super) fn has_answered_return(
        &mut self,
        seat: u32,
        answer: (&Received<'_>, u64),
        now: Now,
    ) -> Option<Came> {
        let scenario = self.scenario.clone();
        let mut room = std::mem::take(&mut self.room);
        let of = self.seat(seat)?;
        let back = of.back.as_mut()?;
        let came = of.user.returned(&scenario, back.channel, answer, now, &mut room);
        back.has_opened = came == Came::Passed;
        self.room = room;
        Some(came)
    }

    /// Such a handshake has ended: the WebSocket is open, or he tries again.
    pub(super) fn has_tried_again(&mut self, seat: u32, at: u64) {
        let Some(of) = self.seat(seat) else { return };
        let Some(back) = of.back.take() else { return };
        let leaving = of.leaving.take();
        self.refused += u64::from(!back.has_opened);
        let seat = seat & !IN_BACKGROUND;
        match leaving {
            Some(how) => self.leavers.push_back((seat, how)),
            None if back.has_opened => self.returned.push_back((seat, back.channel)),
            None => self.tries_again(seat, back.channel, 0, at),
        }
    }

    /// Whether a user who is to leave stays until his handshake is answered, which is on its way.
    pub(crate) fn lingers(&mut self, seat: u32, how: Leaving) -> bool {
        let Some(of) = self.seat(seat) else { return false };
        let lingers = of.back.as_ref().is_some_and(|back| back.sending.is_none());
        if lingers {
            of.leaving = Some(how);
        }
        lingers
    }

    /// Whether a user is opening that WebSocket again.
    pub(crate) fn is_returning(&self, seat: u32, channel: u16) -> bool {
        let back = self.seat_of(seat).and_then(|of| of.back.as_ref());
        back.is_some_and(|back| back.channel == channel)
    }

    /// He is not, any more.
    pub(crate) fn ends_return(&mut self, seat: u32) {
        if let Some(of) = self.seat(seat) {
            of.back = None;
        }
    }

    /// What a user has subscribed to on a WebSocket, as he has said it.
    pub(crate) fn subscriptions(&self, seat: u32, channel: u16) -> Vec<(Vec<u8>, bool)> {
        let of = self.seat_of(seat);
        let owned = |(bytes, is_binary): (&[u8], bool)| (bytes.to_vec(), is_binary);
        of.map(|of| of.user.subscriptions(channel).map(owned).collect()).unwrap_or_default()
    }

    /// Whether a user opens a WebSocket again that is lost.
    pub(crate) fn keeps(&self, seat: u32, channel: u16) -> bool {
        self.seat_of(seat).is_some_and(|of| of.user.keeps(channel))
    }

    /// A step waits for its WebSocket to be opened again, for as long as what it expects may take.
    pub(crate) fn hold(&mut self, seat: u32, sending: &Sending, channel: u16, does: (bool, bool)) {
        let (scenario, timeout) = (self.scenario.clone(), self.timeout_ns);
        let Some(of) = self.seat(seat) else { return };
        let limit = of.user.deadline(&scenario, timeout);
        let until_ns = limit.unwrap_or(sending.due_ns.saturating_add(timeout));
        let held = Held { sending: *sending, channel, does, until_ns };
        of.held = Some(held);
        self.held.insert((until_ns, seat));
        self.held_requests += u64::from(held.is_request());
    }

    /// The step of a user that waits for that WebSocket, or for any: it does not any more.
    pub(crate) fn take_held(&mut self, seat: u32, channel: Option<u16>) -> Option<Held> {
        let is_it = |held: &mut Held| channel.is_none_or(|channel| channel == held.channel);
        let held = self.seat(seat)?.held.take_if(is_it)?;
        self.held.remove(&(held.until_ns, seat));
        self.held_requests -= u64::from(held.is_request());
        Some(held)
    }

    /// The next user whose step has waited for too long by then, or whose does at all where no time
    /// is given.
    pub(crate) fn take_overdue(&mut self, at: Option<u64>) -> Option<(u32, Held)> {
        let &(until, seat) = self.held.first()?;
        if at.is_some_and(|at| until > at) {
            return None;
        }
        self.take_held(seat, None).map(|held| (seat, held))
    }

    /// When the next step has waited for too long.
    pub(super) fn next_overdue(&self) -> Option<u64> {
        self.held.first().map(|(until, _)| *until)
    }

    /// Since when the oldest request is due that waits for a connection, of whichever kind.
    pub(crate) fn oldest_due(&self) -> Option<u64> {
        let held = self.held.iter().filter_map(|(_, seat)| self.seat_of(*seat)?.held);
        let held = held.filter(Held::is_request).map(|held| held.sending.due_ns).min();
        self.oldest_waiting().into_iter().chain(held).min()
    }
}
