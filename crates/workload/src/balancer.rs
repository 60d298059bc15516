//! The words of balancers: which program gives requests to the instances of a live pool, and by
//! which rule.

use plimsoll_units::Words;

use crate::pool::{Choice, Ties};

/// The program that gives requests to the instances of a live pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// Our own.
    #[default]
    BuiltIn,
    /// nginx, of any version since 1.15.
    Nginx,
    /// HAProxy, of any version since 2.6.
    Haproxy,
}

impl Kind {
    /// Whether it has a rule, with its answer to ties.
    #[must_use]
    pub fn has(self, rule: Rule) -> bool {
        match (self, rule) {
            (Self::BuiltIn, _) | (_, Rule::ByClient) => true,
            // Of several with the fewest both take the next.
            (_, Rule::Pool(Choice::LeastConnections(ties))) => ties == Ties::Next,
            // HAProxy's `first` fills one instance after the other, which is another rule.
            (_, Rule::Pool(Choice::Fair(_))) => false,
            (_, Rule::Pool(_)) => true,
        }
    }

    /// Whether requests can wait at it where no instance has a place.
    #[must_use]
    pub fn has_queue(self) -> bool {
        self != Self::Nginx
    }
}

impl Words for Kind {
    const WORDS: &'static [(&'static str, Self)] =
        &[("built-in", Self::BuiltIn), ("nginx", Self::Nginx), ("haproxy", Self::Haproxy)];
}

/// The rule by which an instance is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// A rule that the simulator knows too.
    Pool(Choice),
    /// The same instance for all requests of a client's address, as long as it is there.
    ByClient,
}

impl Rule {
    /// Which of several with the fewest requests, where the rule asks.
    #[must_use]
    pub fn ties(self) -> Option<Ties> {
        match self {
            Self::Pool(choice) => choice.ties(),
            Self::ByClient => None,
        }
    }

    /// The same rule with another answer to ties, where it asks.
    #[must_use]
    pub fn with(self, ties: Ties) -> Self {
        match self {
            Self::Pool(choice) => Self::Pool(choice.with(ties)),
            Self::ByClient => self,
        }
    }

    /// The rule without its answer to ties, as it is told by a word.
    #[must_use]
    pub fn plain(self) -> Self {
        match self {
            Self::Pool(choice) => Self::Pool(choice.rule()),
            Self::ByClient => self,
        }
    }

    /// Whether it gives heavier instances more.
    #[must_use]
    pub fn has_weights(self) -> bool {
        matches!(self, Self::ByClient | Self::Pool(Choice::Weighted))
    }

    /// What comes nearest to it where clients have no addresses: by chance, where it goes by them.
    #[must_use]
    pub fn without_clients(self) -> Choice {
        match self {
            Self::Pool(choice) => choice,
            Self::ByClient => Choice::Random,
        }
    }
}

impl Words for Rule {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("fair", Self::Pool(Choice::Fair(Ties::First))),
        ("least-connections", Self::Pool(Choice::LeastConnections(Ties::Next))),
        ("round-robin", Self::Pool(Choice::RoundRobin)),
        ("weighted", Self::Pool(Choice::Weighted)),
        ("random", Self::Pool(Choice::Random)),
        ("two-choices", Self::Pool(Choice::TwoChoices)),
        ("client-address", Self::ByClient),
    ];
}

/// How instances are weighed beside each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Weights {
    /// All alike.
    #[default]
    Equal,
    /// By what each finds out of itself when it starts.
    SelfTest,
}

impl Words for Weights {
    const WORDS: &'static [(&'static str, Self)] =
        &[("equal", Self::Equal), ("self-test", Self::SelfTest)];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_of_pools_keep_their_words() {
        for (word, choice) in Choice::WORDS {
            assert_eq!(Rule::of_word(word), Some(Rule::Pool(*choice)));
        }
        assert_eq!(Rule::WORDS.len(), Choice::WORDS.len() + 1);
    }

    #[test]
    fn every_balancer_has_the_rules_by_which_they_are_compared() {
        for (_, kind) in Kind::WORDS {
            for word in ["round-robin", "least-connections", "weighted", "client-address"] {
                assert!(kind.has(Rule::of_word(word).unwrap()), "{kind:?} {word}");
            }
        }
        let fair = Rule::of_word("fair").unwrap();
        assert!(Kind::BuiltIn.has(fair) && !Kind::Nginx.has(fair) && !Kind::Haproxy.has(fair));
    }
}
