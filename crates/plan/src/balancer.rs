//! `[balancer]`: which instance takes a request, and what waits where none has a place.

use std::time::Duration;

use crate::key::{SectionKeys, key};
use crate::section::Section;
use crate::write::Writer;

/// The keys of `[balancer]`.
pub(crate) static BALANCER: SectionKeys = SectionKeys::plain(
    "balancer",
    &[
        key(
            "choose",
            "fair, least-connections, round-robin, weighted, random or two-choices",
            "fair",
            r#""two-choices""#,
            "Which instance takes a request: `fair` is the first of those with the fewest.",
        ),
        key(
            "ties",
            "first, next or random",
            "first; least-connections: next",
            r#""random""#,
            "Which of several with the fewest requests.",
        ),
        key(
            "queue",
            "count",
            "0",
            "1000",
            "The most requests that wait at the balancer where no instance has a place.",
        ),
        key("queue_timeout", "duration", "–", r#""5s""#, "How long a request waits there."),
    ],
);

/// Which instance takes a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Balancer {
    /// The rule.
    pub choose: Choose,
    /// Which of several with the fewest requests; only with the first two rules.
    pub ties: Ties,
    /// The most requests that wait.
    pub queue: u32,
    /// How long a request waits; as long as it takes without it.
    pub queue_timeout: Option<Duration>,
}

/// The rules by which an instance is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choose {
    /// The fewest requests, the first in the list of several.
    Fair,
    /// The fewest requests.
    LeastConnections,
    /// In turn.
    RoundRobin,
    /// In turn, the more often the faster.
    Weighted,
    /// By chance.
    Random,
    /// The one with fewer requests of two drawn by chance.
    TwoChoices,
}

/// Which of several with the fewest requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ties {
    /// The first in the list.
    First,
    /// The next after the one taken last.
    Next,
    /// Any, by chance.
    Random,
}

/// The words of `choose`.
const CHOICES: [(&str, Choose); 6] = [
    ("fair", Choose::Fair),
    ("least-connections", Choose::LeastConnections),
    ("round-robin", Choose::RoundRobin),
    ("weighted", Choose::Weighted),
    ("random", Choose::Random),
    ("two-choices", Choose::TwoChoices),
];
/// The words of `ties`.
const TIES: [(&str, Ties); 3] =
    [("first", Ties::First), ("next", Ties::Next), ("random", Ties::Random)];

impl Balancer {
    pub(crate) fn read(section: &Section<'_>) -> Self {
        let choose = section.word("choose", &CHOICES).unwrap_or(Choose::Fair);
        let ties = section.word("ties", &TIES);
        if section.has("ties") && !choose.has_ties() {
            let hint = "set choose = \"least-connections\", or leave `ties` out";
            section.fault("ties", "`ties` goes with fair and least-connections", Some(hint));
        }
        let usual = if choose == Choose::LeastConnections { Ties::Next } else { Ties::First };
        let queue = section.small("queue", 0..=100_000_000).unwrap_or(0);
        if section.has("queue_timeout") && queue == 0 {
            section.missing_beside("queue", "queue_timeout", "1000");
        }
        let queue_timeout = section.positive_duration("queue_timeout");
        Self { choose, ties: ties.unwrap_or(usual), queue, queue_timeout }
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        out.section(BALANCER.path);
        for (word, _) in CHOICES.iter().filter(|(_, choose)| *choose == self.choose) {
            out.text("choose", word);
        }
        if self.choose.has_ties() {
            for (word, _) in TIES.iter().filter(|(_, ties)| *ties == self.ties) {
                out.text("ties", word);
            }
        }
        out.whole("queue", u64::from(self.queue));
        if let Some(timeout) = self.queue_timeout {
            out.duration("queue_timeout", timeout);
        }
    }
}

impl Choose {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        CHOICES.iter().find(|(_, choose)| *choose == self).map_or("fair", |(word, _)| word)
    }

    /// Whether several instances can be as good.
    fn has_ties(self) -> bool {
        matches!(self, Self::Fair | Self::LeastConnections)
    }
}
