//! WebSockets that a user opens again where they are lost: when he tries, what he asks then, and
//! what he says once he is back.
//!
//! The handshake is that of the step which opened the connection, word for word but for cookies
//! and the id under which it is traced, so that coming back draws nothing and counts nothing of
//! what his steps send. The waits come from a stream of their own.

use super::User;
use super::messages::json_of;
use crate::scenario::Scenario;
use crate::scenario::exchange::{self, Reconnect};
use crate::scenario::message::Message;
use crate::scenario::outcome::{Came, Now, Received, Sending};
use crate::scenario::take::Answer;

/// The most subscriptions of a user that are sent again; beyond, the oldest is forgotten.
const MOST_SUBSCRIPTIONS: usize = 100;

/// A WebSocket that is opened again where it is lost.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    /// The operation that has opened it.
    op: u32,
    channel: u16,
    reconnect: Reconnect,
    /// The handshake that has opened it.
    message: Message,
    /// How many attempts there were in a row.
    attempts: u32,
    /// The bound of the last wait; 0 before the first.
    bound_ns: u64,
    /// When he tries next; `None` while it is open, or being opened.
    due_ns: Option<u64>,
}

/// Something to which a user has subscribed on a WebSocket that is opened again.
#[derive(Debug, Clone)]
pub(super) struct Subscription {
    /// The operation that has said it.
    op: u32,
    channel: u16,
    /// The key of its broadcasts; empty where none is told.
    key: Box<[u8]>,
    /// What was said, and whether it was a binary message.
    said: Box<[u8]>,
    is_binary: bool,
    /// How many messages have answered each of what is expected, once it was sent again and until
    /// that is answered.
    met: Option<Box<[u32]>>,
}

impl User {
    /// Whether he opens that WebSocket again where it is lost.
    #[must_use]
    pub fn keeps(&self, channel: u16) -> bool {
        self.kept(channel).is_some()
    }

    fn kept(&self, channel: u16) -> Option<&Kept> {
        self.kept.iter().find(|kept| kept.channel == channel)
    }

    fn kept_mut(&mut self, channel: u16) -> Option<&mut Kept> {
        self.kept.iter_mut().find(|kept| kept.channel == channel)
    }

    /// His message has opened a WebSocket by that operation.
    pub(super) fn keep(&mut self, op: u32) {
        let Some(upgrade) = &self.message.upgrade else { return };
        let Some(reconnect) = upgrade.reconnect else { return };
        self.kept.push(Kept {
            op,
            channel: upgrade.channel,
            reconnect,
            message: self.message.clone(),
            attempts: 0,
            bound_ns: 0,
            due_ns: None,
        });
    }

    /// He wants a WebSocket no more, or another one in its place: it does not come back, nor does
    /// what he has subscribed to on it.
    pub(super) fn lets_go(&mut self, channel: u16) {
        self.kept.retain(|kept| kept.channel != channel);
        self.subscriptions.retain(|of| of.channel != channel);
    }

    /// His step has subscribed to a key by what it has said.
    pub(super) fn remember(&mut self, op: u32, channel: u16, key: &[u8]) {
        if !self.keeps(channel) {
            return;
        }
        let said = self.said.as_slice();
        let is_known = |of: &Subscription| {
            let has_key = !key.is_empty() && *of.key == *key;
            of.channel == channel && (has_key || *of.said == *said)
        };
        self.subscriptions.retain(|of| !is_known(of));
        if self.subscriptions.len() >= MOST_SUBSCRIPTIONS {
            self.subscriptions.remove(0);
        }
        let (key, said, is_binary) = (key.into(), said.into(), self.says_binary);
        self.subscriptions.push(Subscription { op, channel, key, said, is_binary, met: None });
    }

    /// His WebSocket is lost, which was open for so long; or, after no time, he has tried in vain
    /// to open it again. Returns when he tries next; `None` where he does not.
    ///
    /// The bound of the wait begins anew behind a connection that has lasted for longer than the
    /// last wait could.
    pub fn loses(
        &mut self,
        scenario: &Scenario,
        channel: u16,
        online_ns: u64,
        now: Now,
    ) -> Option<u64> {
        let kept = self.kept_mut(channel)?;
        if online_ns > kept.bound_ns {
            kept.attempts = 0;
        }
        let (bound_ns, place) = (kept.reconnect.bound_ns(kept.attempts), kept.reconnect.place);
        kept.attempts = kept.attempts.saturating_add(1);
        kept.bound_ns = bound_ns;
        let share = self.draws(scenario).stream(place).uniform();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a share of a wait"
        )]
        let wait_ns = (bound_ns as f64 * share) as u64;
        let due_ns = now.ns.saturating_add(wait_ns);
        self.kept_mut(channel)?.due_ns = Some(due_ns);
        Some(due_ns)
    }

    /// He opens a WebSocket again, as he was to at that time: [`User::returning`] is what he sends.
    /// `None` where he does not any more.
    pub fn returns(
        &mut self,
        scenario: &Scenario,
        channel: u16,
        due_ns: u64,
        now: Now,
    ) -> Option<Sending> {
        let kept = self.kept.iter_mut().find(|kept| kept.channel == channel)?;
        kept.due_ns.take_if(|due| *due == due_ns)?;
        let origin = scenario.origins.get(usize::from(kept.message.origin))?;
        kept.message.add_cookies(&self.jar, origin, now);
        kept.message.trace_anew(scenario);
        let name = scenario.ask(kept.op)?.name;
        Some(Sending { due_ns, step: kept.op, name, is_redirect: false, keep: 0 })
    }

    /// The handshake by which he opens a WebSocket again.
    #[must_use]
    pub fn returning(&self, channel: u16) -> Option<&Message> {
        self.kept(channel).map(|kept| &kept.message)
    }

    /// Takes the answer to such a handshake. Where it has opened the WebSocket, he says
    /// [`User::subscriptions`] next.
    pub fn returned(
        &mut self,
        scenario: &Scenario,
        channel: u16,
        (received, response_ns): (&Received<'_>, u64),
        now: Now,
        room: &mut Vec<u8>,
    ) -> Came {
        let Some(at) = self.kept.iter().position(|kept| kept.channel == channel) else {
            return Came::Passed;
        };
        let (ask, origin) = (
            scenario.ask(self.kept[at].op),
            scenario.origins.get(usize::from(self.kept[at].message.origin)),
        );
        let (Some(ask), Some(origin)) = (ask, origin) else { return Came::Passed };
        std::mem::swap(&mut self.message, &mut self.kept[at].message);
        self.keep_cookies(received, origin, now);
        let came = self.looked_at(scenario, ask, received, response_ns, (now, room));
        std::mem::swap(&mut self.message, &mut self.kept[at].message);
        if let Err(failure) = came {
            return Came::Failed(failure);
        }
        for of in self.subscriptions.iter_mut().filter(|of| of.channel == channel) {
            let expects = scenario.say(of.op).map_or(0, |say| say.expects.len());
            of.met = Some(vec![0; expects].into());
        }
        Came::Passed
    }

    /// What he has subscribed by on a WebSocket, in the order in which he did, and whether it was a
    /// binary message.
    pub fn subscriptions(&self, channel: u16) -> impl Iterator<Item = (&[u8], bool)> {
        let of_it = self.subscriptions.iter().filter(move |of| of.channel == channel);
        of_it.map(|of| (&*of.said, of.is_binary))
    }

    /// Whether a message answers a subscription that was sent again: what the step takes from its
    /// answer is taken anew, as far as it is there.
    pub(super) fn answers_again(
        &mut self,
        scenario: &Scenario,
        channel: u16,
        answer: &Answer<'_>,
        now: Now,
    ) -> bool {
        for at in 0..self.subscriptions.len() {
            let of = &mut self.subscriptions[at];
            if of.channel != channel {
                continue;
            }
            let (Some(say), Some(mut met)) = (scenario.say(of.op), of.met.take()) else { continue };
            let sent = json_of(&of.said);
            let mut entries = say.expects.iter().zip(met.iter_mut());
            let found = entries.find(|(expect, met)| {
                **met < expect.count
                    && self.is(&expect.when, answer, sent.as_deref(), scenario, now)
            });
            let is_answer = found.is_some();
            if let Some((expect, met)) = found {
                *met += 1;
                // Where there is nothing to take, what he has stays.
                let _ = self.take(scenario, &expect.takes, answer, None);
            }
            let is_whole = say.expects.iter().zip(&met).all(|(of, met)| *met >= of.count);
            let of = &mut self.subscriptions[at];
            if !is_whole {
                of.met = Some(met);
            } else if is_answer {
                self.subscribed.push((channel, exchange::key(&of.key)));
            }
            if is_answer {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_double_up_to_the_longest() {
        let of = Reconnect { first_ns: 500, most_ns: 30_000, place: 0 };
        let bounds: Vec<u64> = (0..8).map(|attempts| of.bound_ns(attempts)).collect();
        assert_eq!(bounds, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
        assert_eq!(
            (of.bound_ns(63), of.bound_ns(64), of.bound_ns(u32::MAX)),
            (30_000, 30_000, 30_000)
        );
    }
}
