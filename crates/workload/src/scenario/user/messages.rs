//! What a user sends over a WebSocket, and what he makes of what comes.

use super::User;
use crate::scenario::Scenario;
use crate::scenario::check::Checks;
use crate::scenario::exchange::{self, Expect, Published, Say};
use crate::scenario::message::unfilled;
use crate::scenario::outcome::{Failure, FailureKind, Next, Now, Sending};
use crate::scenario::take::{Answer, Headers};

/// A step that has sent a message, or awaits some.
#[derive(Debug, Clone)]
pub(super) struct Exchange {
    /// The operation.
    pub(super) op: u32,
    /// From when on the time counts that messages may take.
    since_ns: u64,
    /// How many messages have met each of what is expected.
    met: Box<[u32]>,
    /// What was sent, where it is JSON.
    sent: Option<Box<str>>,
    /// To what it subscribes, where that was known when it was sent.
    key: Option<u64>,
}

/// A message that a rule is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// The number of the rule.
    pub rule: u16,
    /// The number of its name.
    pub name: u16,
    /// What a broadcast has said.
    pub published: Option<Published>,
}

/// What came of a message for its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// A step has expected it.
    Expected {
        /// The number of the name of what is expected, where that has one.
        name: Option<u16>,
        /// Whether it was the last: the step is done.
        is_last: bool,
        /// The rule that it counts for, too.
        rule: Option<Counted>,
    },
    /// A step has expected it, and has failed by it.
    Failed(Failure),
    /// A rule was for it.
    Ruled {
        /// The rule, and what a broadcast has said.
        of: Counted,
        /// Whether [`User::reply`] is to be sent in answer.
        has_reply: bool,
        /// The code by which the connection is to be closed.
        close: Option<u16>,
    },
    /// It answers a subscription that was sent again.
    Again,
    /// Nothing was for it.
    Unmatched,
}

/// Said of a step whose message is to be base64, and is none.
fn no_base64() -> Failure {
    let what = "expected base64 in `send`, as `binary` says, found other text".to_owned();
    Failure { kind: FailureKind::Variable, what }
}

impl User {
    /// The bytes of what he sends over a WebSocket, after [`Next::Say`].
    #[must_use]
    pub fn said(&self) -> &[u8] {
        &self.said
    }

    /// Whether that is a binary message.
    #[must_use]
    pub fn says_binary(&self) -> bool {
        self.says_binary
    }

    /// Whether what a rule answers is one.
    #[must_use]
    pub fn replies_binary(&self) -> bool {
        self.replies_binary
    }

    /// The bytes of what a rule answers for him, after [`Heard::Ruled`].
    #[must_use]
    pub fn reply(&self) -> &[u8] {
        &self.reply
    }

    /// Sends what a step says, and begins to await what it expects.
    pub(super) fn say(&mut self, op: u32, say: &Say, scenario: &Scenario, now: Now) -> Next {
        self.begins_step(&say.stepwise, scenario);
        let (due_ns, name) = (self.due_ns, say.name);
        let sending = Sending { due_ns, step: op, name, is_redirect: false, keep: 0 };
        if let Some(text) = &say.text {
            let mut said = std::mem::take(&mut self.said);
            said.clear();
            let written = text.render(&mut self.values(scenario, now), &mut said);
            let is_made = written.is_err() || say.form.make(&mut said);
            (self.said, self.says_binary) = (said, say.form.is_binary());
            self.counter += u32::from(say.counts);
            let failure = match written {
                Err(error) => Some(unfilled(&error)),
                Ok(()) => (!is_made).then(no_base64),
            };
            if let Some(failure) = failure {
                self.due_ns = self.due_ns.max(now.ns);
                self.has_failed(say.on_failure);
                return Next::Unsent { sending, failure };
            }
        }
        let sent = say.text.as_ref().and_then(|_| json_of(&self.said));
        if let Some(failure) = say.lacks(sent.as_deref()) {
            self.due_ns = self.due_ns.max(now.ns);
            self.has_failed(say.on_failure);
            return Next::Unsent { sending, failure };
        }
        let met = vec![0; say.expects.len()].into();
        // Broadcasts may come before the answer does.
        let key = self.key_of(say, scenario, now).map(|key| exchange::key(&key));
        self.subscribed.extend(key.map(|key| (say.channel, key)));
        self.exchange = Some(Box::new(Exchange { op, since_ns: due_ns, met, sent, key }));
        Next::Say {
            sending,
            channel: say.channel,
            sends: say.text.is_some(),
            awaits: !say.expects.is_empty(),
        }
    }

    /// His message is on its way. Returns until when what he expects has to have come, where he
    /// does not expect it for ever; a step that expects nothing is done.
    pub fn has_said(&mut self, scenario: &Scenario, now: Now, timeout_ns: u64) -> Option<u64> {
        let mut exchange = self.exchange.take()?;
        let say = scenario.say(exchange.op)?;
        if say.expects.is_empty() {
            self.is_done(now);
            return None;
        }
        if say.text.is_some() {
            exchange.since_ns = now.ns;
        }
        self.exchange = Some(exchange);
        self.deadline(scenario, timeout_ns)
    }

    /// Until when the next of what he expects has to have come; `None` where he expects nothing.
    #[must_use]
    pub fn deadline(&self, scenario: &Scenario, timeout_ns: u64) -> Option<u64> {
        let exchange = self.exchange.as_ref()?;
        let say = scenario.say(exchange.op)?;
        let unmet = exchange.unmet(&say.expects);
        let limits = unmet.map(|expect| expect.within_ns.unwrap_or(timeout_ns));
        Some(exchange.since_ns.saturating_add(limits.min()?))
    }

    /// Why the step has failed whose time is over; he is told of it by [`User::broke`].
    #[must_use]
    pub fn unanswered(&self, scenario: &Scenario, now: Now, timeout_ns: u64) -> Option<Failure> {
        let exchange = self.exchange.as_ref()?;
        let say = scenario.say(exchange.op)?;
        let limit = |expect: &Expect| expect.within_ns.unwrap_or(timeout_ns);
        let is_late = |expect: &&Expect| exchange.since_ns.saturating_add(limit(expect)) <= now.ns;
        let late = exchange.unmet(&say.expects).find(is_late)?;
        let within = plimsoll_units::show_duration(limit(late));
        let name = late.name.and_then(|name| scenario.names().get(usize::from(name)));
        let what = match name {
            Some(name) => {
                format!("expected the message `{}` within {within}, found none", name.name)
            }
            None => format!("expected a message within {within}, found none"),
        };
        Some(Failure { kind: FailureKind::Unanswered, what })
    }

    /// The connection on which a step of his awaits messages.
    #[must_use]
    pub fn awaits_on(&self, scenario: &Scenario) -> Option<u16> {
        let exchange = self.exchange.as_ref()?;
        let say = scenario.say(exchange.op)?;
        (!say.expects.is_empty()).then_some(say.channel)
    }

    /// Takes a message that came on a connection of his.
    pub fn hear(&mut self, scenario: &Scenario, channel: u16, bytes: &[u8], now: Now) -> Heard {
        let answer = Answer::new(0, Headers(&[]), bytes, "");
        if self.answers_again(scenario, channel, &answer, now) {
            return Heard::Again;
        }
        if let Some(mut exchange) = self.exchange.take() {
            let say = scenario.say(exchange.op).filter(|say| say.channel == channel);
            let heard =
                say.and_then(|say| self.expected(say, &mut exchange, scenario, &answer, now));
            match heard {
                Some(heard @ (Heard::Expected { is_last: true, .. } | Heard::Failed(_))) => {
                    return heard;
                }
                heard => {
                    self.exchange = Some(exchange);
                    if let Some(heard) = heard {
                        return heard;
                    }
                }
            }
        }
        self.ruled(scenario, channel, &answer, now)
    }

    /// Why a broadcast that was heard last says nothing that can be counted, where that is so.
    pub fn take_unreadable(&mut self) -> Option<String> {
        self.unreadable.take()
    }

    /// The first rule that is for a message.
    fn rule_of(
        &mut self,
        scenario: &Scenario,
        channel: u16,
        answer: &Answer<'_>,
        now: Now,
    ) -> Option<Counted> {
        let mut rules = (0..).zip(scenario.rules.iter());
        let (number, rule) = rules.find(|(_, rule)| {
            rule.channel.is_none_or(|of| of == channel)
                && self.is(&rule.when, answer, None, scenario, now)
        })?;
        let published = match &rule.broadcast {
            None => None,
            Some(broadcast) => match broadcast.read(answer.json()) {
                Ok(published) => Some(published),
                Err(why) => {
                    let name = scenario.names().get(usize::from(rule.name));
                    let name = name.map_or("", |name| &name.name);
                    self.unreadable = Some(format!("`{name}`: {why}"));
                    return None;
                }
            },
        };
        Some(Counted { rule: number, name: rule.name, published })
    }

    /// What came of a message for the step that awaits some; `None` where it is none of them.
    fn expected(
        &mut self,
        say: &Say,
        exchange: &mut Exchange,
        scenario: &Scenario,
        answer: &Answer<'_>,
        now: Now,
    ) -> Option<Heard> {
        for (at, expect) in say.expects.iter().enumerate() {
            if exchange.met[at] >= expect.count {
                continue;
            }
            if !self.is(&expect.when, answer, exchange.sent.as_deref(), scenario, now) {
                continue;
            }
            exchange.met[at] += 1;
            if let Err(failure) = self.take(scenario, &expect.takes, answer, None) {
                self.is_done(now);
                self.has_failed(say.on_failure);
                return Some(Heard::Failed(failure));
            }
            let is_last = exchange.unmet(&say.expects).next().is_none();
            if is_last {
                self.subscribe((exchange.op, say), exchange.key, scenario, now);
                self.is_done(now);
            }
            let rule = self.rule_of(scenario, say.channel, answer, now);
            return Some(Heard::Expected { name: expect.name, is_last, rule });
        }
        None
    }

    /// Whether a message is such a one.
    pub(in crate::scenario) fn is(
        &mut self,
        when: &Checks,
        answer: &Answer<'_>,
        sent: Option<&str>,
        scenario: &Scenario,
        now: Now,
    ) -> bool {
        let mut values = self.values(scenario, now);
        values.sent = sent;
        when.are_met(answer, &mut values)
    }

    /// The step that is done has made him a subscriber, where it says so: from when it was sent
    /// where its key was known by then, else from now on.
    fn subscribe(
        &mut self,
        (op, say): (u32, &Say),
        sent: Option<u64>,
        scenario: &Scenario,
        now: Now,
    ) {
        let Some(key) = self.key_of(say, scenario, now) else { return };
        if sent != Some(exchange::key(&key)) {
            self.subscribed.push((say.channel, exchange::key(&key)));
        }
        self.remember(op, say.channel, &key);
    }

    /// The key to which a step subscribes, where that is known.
    fn key_of(&mut self, say: &Say, scenario: &Scenario, now: Now) -> Option<Vec<u8>> {
        let mut key = Vec::new();
        say.subscribes.as_ref()?.render(&mut self.values(scenario, now), &mut key).ok()?;
        Some(key)
    }

    /// What he has subscribed to since this was last asked: connections and keys.
    pub fn take_subscribed(&mut self) -> Vec<(u16, u64)> {
        std::mem::take(&mut self.subscribed)
    }

    /// What the rules make of a message.
    fn ruled(&mut self, scenario: &Scenario, channel: u16, answer: &Answer<'_>, now: Now) -> Heard {
        let of = self.rule_of(scenario, channel, answer, now);
        let rule = of.and_then(|of| Some((of, scenario.rules.get(usize::from(of.rule))?)));
        if let Some((of, rule)) = rule {
            if self.take(scenario, &rule.takes, answer, None).is_err() {
                return Heard::Unmatched;
            }
            if let Some(reply) = &rule.reply {
                for &data in &rule.stepwise {
                    self.next_row(scenario, usize::from(data));
                }
                let mut said = std::mem::take(&mut self.reply);
                said.clear();
                let written = reply.render(&mut self.values(scenario, now), &mut said);
                let is_made = written.is_ok() && rule.form.make(&mut said);
                (self.reply, self.replies_binary) = (said, rule.form.is_binary());
                self.counter += u32::from(rule.counts);
                if !is_made {
                    return Heard::Unmatched;
                }
            }
            if rule.close.is_some() {
                self.lets_go(channel);
            }
            return Heard::Ruled { of, has_reply: rule.reply.is_some(), close: rule.close };
        }
        Heard::Unmatched
    }

    /// A connection of his is to be closed, or was: that step is done.
    pub fn has_closed(&mut self, now: Now) {
        self.due_ns = now.ns;
    }

    /// The present step is done.
    fn is_done(&mut self, now: Now) {
        self.has_taken(now.ns.saturating_sub(self.due_ns));
        self.due_ns = now.ns;
    }
}

impl Say {
    /// Why no message can be what is expected: it is to have something of what is sent, which is
    /// not there.
    fn lacks(&self, sent: Option<&str>) -> Option<Failure> {
        let lacks = self.expects.iter().find_map(|expect| expect.when.lack_sent(sent))?;
        let why = match sent {
            None => "what is sent is no JSON",
            Some(_) => "what is sent has nothing there",
        };
        let what = format!("expected a value of `{lacks}`, found none: {why}");
        Some(Failure { kind: FailureKind::Variable, what })
    }
}

/// What was said, where it is JSON.
pub(super) fn json_of(said: &[u8]) -> Option<Box<str>> {
    serde_json::from_slice::<serde_json::Value>(said).ok()?;
    Some(std::str::from_utf8(said).ok()?.into())
}

impl Exchange {
    /// What has not been met.
    fn unmet<'e>(&'e self, expects: &'e [Expect]) -> impl Iterator<Item = &'e Expect> {
        expects.iter().zip(&self.met).filter(|(of, met)| **met < of.count).map(|(of, _)| of)
    }
}
