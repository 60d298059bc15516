//! `[balancer]`: what gives requests to instances, which one takes a request, and what waits where
//! none has a place.

use std::time::Duration;

use plimsoll_units::Words;
use plimsoll_workload::balancer::{Kind, Rule, Weights};
use plimsoll_workload::pool::{Choice, Ties};

use crate::section::{Part, Section};
use crate::takes::{Count, TIME, Word, word};

const KIND: Word<Kind> = word();
const WEIGHTS: Word<Weights> = word();

section! {
    /// What gives requests to instances, and what waits where none has a place.
    ["balancer"; write]
    pub struct Balancer {
        /// The program that gives requests to the instances of a live pool.
        kind: Kind { KIND, or Kind::BuiltIn, "haproxy" }
        /// Which instance takes a request.
        rule: Rule { part }
        /// How live instances are weighed: alike, or by a test of each when it starts.
        weights: Weights { WEIGHTS, or Weights::Equal, "equal" }
        /// How many balancers a live pool has: one gives the requests, a second stands by.
        count: u32 { Count(1..=2_u32), or 1, "2" }
        /// The most requests that wait at the balancer where no instance has a place.
        queue: u32 { Count(0..=100_000_000_u32), or 0, "1000" }
        /// How long a request waits there.
        queue_timeout: Option<Duration> { TIME, "5s" }
    }
}

impl Balancer {
    pub(crate) fn read(section: &Section<'_>) -> Option<Self> {
        let mut balancer = Self::read_keys(section)?;
        if !section.has("choose") && !balancer.kind.has(balancer.rule.plain()) {
            let ties = balancer.rule.ties().filter(|_| section.has("ties")).unwrap_or(Ties::Next);
            balancer.rule = Rule::Pool(Choice::LeastConnections(ties));
        }
        if section.has("queue_timeout") && balancer.queue == 0 {
            section.missing_beside("queue", "queue_timeout", "1000");
        }
        if balancer.weights == Weights::SelfTest && !balancer.rule.has_weights() {
            let hint = "set choose = \"weighted\" or \"client-address\"";
            let message = format!("`{}` weighs no instance", balancer.rule.plain().word());
            section.fault("weights", message, Some(hint));
        }
        balancer.check_kind(section);
        Some(balancer)
    }

    /// Refuses what its program does not have.
    fn check_kind(&self, section: &Section<'_>) {
        let kind = self.kind.word();
        if !self.kind.has(self.rule) {
            let key = if self.kind.has(self.rule.plain()) { "ties" } else { "choose" };
            let rules: Vec<&str> = Rule::WORDS
                .iter()
                .filter_map(|(word, rule)| self.kind.has(*rule).then_some(*word))
                .collect();
            let (hint, message) = match key {
                "ties" => (
                    "leave `ties` out".to_owned(),
                    format!("{kind} takes the next of those with the fewest requests"),
                ),
                _ => (
                    format!("set choose = \"least-connections\"; {kind} has {}", rules.join(", ")),
                    format!("{kind} has no rule `{}`", self.rule.plain().word()),
                ),
            };
            let key = if section.has(key) { key } else { "kind" };
            section.fault(key, message, Some(&hint));
        }
        if self.queue > 0 && !self.kind.has_queue() {
            let hint = "leave `queue` out, or set kind = \"haproxy\"";
            section.fault("queue", format!("no request waits at {kind}"), Some(hint));
        }
    }
}

const RULE: Word<Rule> = word();
const TIES: Word<Ties> = word();

section! {
    [part]
    pub(crate) struct RuleKeys {
        /// Which instance takes a request: `fair` is the first of those with the fewest.
        choose: Rule {
            RULE, or Rule::Pool(Choice::Fair(Ties::First)),
            said "fair; nginx, haproxy: least-connections", "two-choices"
        }
        /// Which of several with the fewest requests.
        ties: Option<Ties> { TIES, said "first; least-connections: next", "random" }
    }
}

impl Part for Rule {
    type Keys = RuleKeys;

    fn of(keys: RuleKeys, section: &Section<'_>) -> Option<Self> {
        let RuleKeys { choose, ties } = keys;
        if section.has("ties") && choose.ties().is_none() {
            let hint = "set choose = \"least-connections\", or leave `ties` out";
            section.fault("ties", "`ties` goes with fair and least-connections", Some(hint));
        }
        Some(ties.map_or(choose, |ties| choose.with(ties)))
    }

    fn keys(&self) -> RuleKeys {
        RuleKeys { choose: self.plain(), ties: self.ties() }
    }
}
