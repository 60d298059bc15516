//! `[balancer]`: which instance takes a request, and what waits where none has a place.

use std::time::Duration;

use plimsoll_workload::pool::{Choice, Ties};

use crate::section::{Part, Section};
use crate::takes::{Count, TIME, Word, word};

section! {
    /// Which instance takes a request, and what waits where none has a place.
    ["balancer"; write]
    pub struct Balancer {
        /// Which instance takes a request.
        choice: Choice { part }
        /// The most requests that wait at the balancer where no instance has a place.
        queue: u32 { Count(0..=100_000_000_u32), or 0, "1000" }
        /// How long a request waits there.
        queue_timeout: Option<Duration> { TIME, "5s" }
    }
}

impl Balancer {
    pub(crate) fn read(section: &Section<'_>) -> Option<Self> {
        let balancer = Self::read_keys(section)?;
        if section.has("queue_timeout") && balancer.queue == 0 {
            section.missing_beside("queue", "queue_timeout", "1000");
        }
        Some(balancer)
    }
}

const CHOICE: Word<Choice> = word();
const TIES: Word<Ties> = word();

section! {
    [part]
    pub(crate) struct ChoiceKeys {
        /// Which instance takes a request: `fair` is the first of those with the fewest.
        choose: Choice { CHOICE, or Choice::Fair(Ties::First), "two-choices" }
        /// Which of several with the fewest requests.
        ties: Option<Ties> { TIES, said "first; least-connections: next", "random" }
    }
}

impl Part for Choice {
    type Keys = ChoiceKeys;

    fn of(keys: ChoiceKeys, section: &Section<'_>) -> Option<Self> {
        let ChoiceKeys { choose, ties } = keys;
        if section.has("ties") && choose.ties().is_none() {
            let hint = "set choose = \"least-connections\", or leave `ties` out";
            section.fault("ties", "`ties` goes with fair and least-connections", Some(hint));
        }
        Some(ties.map_or(choose, |ties| choose.with(ties)))
    }

    fn keys(&self) -> ChoiceKeys {
        ChoiceKeys { choose: self.rule(), ties: self.ties() }
    }
}
