//! The words of pools of servers, which plans, the simulator and what runs live share.

use plimsoll_units::Words;

/// Which instance takes a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The fewest requests; of several the first, where nothing else is said.
    Fair(Ties),
    /// The fewest requests; of several the next one, where nothing else is said.
    LeastConnections(Ties),
    /// In turn.
    RoundRobin,
    /// In turn, the more often the faster.
    Weighted,
    /// By chance.
    Random,
    /// The one with fewer requests of two drawn by chance.
    TwoChoices,
}

impl Choice {
    /// Which of several with the fewest requests, where the rule asks.
    #[must_use]
    pub fn ties(self) -> Option<Ties> {
        match self {
            Self::Fair(ties) | Self::LeastConnections(ties) => Some(ties),
            Self::RoundRobin | Self::Weighted | Self::Random | Self::TwoChoices => None,
        }
    }

    /// The same rule with another answer to ties, where it asks.
    #[must_use]
    pub fn with(self, ties: Ties) -> Self {
        match self {
            Self::Fair(_) => Self::Fair(ties),
            Self::LeastConnections(_) => Self::LeastConnections(ties),
            other => other,
        }
    }

    /// The rule without its answer to ties, as it is told by a word.
    #[must_use]
    pub fn rule(self) -> Self {
        match self {
            Self::Fair(_) => Self::Fair(Ties::First),
            Self::LeastConnections(_) => Self::LeastConnections(Ties::Next),
            other => other,
        }
    }
}

impl Words for Choice {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("fair", Self::Fair(Ties::First)),
        ("least-connections", Self::LeastConnections(Ties::Next)),
        ("round-robin", Self::RoundRobin),
        ("weighted", Self::Weighted),
        ("random", Self::Random),
        ("two-choices", Self::TwoChoices),
    ];
}

/// Which of several instances with the fewest requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ties {
    /// The first in the list.
    #[default]
    First,
    /// The next after the one that was taken last.
    Next,
    /// Any, by chance.
    Random,
}

impl Words for Ties {
    const WORDS: &'static [(&'static str, Self)] =
        &[("first", Self::First), ("next", Self::Next), ("random", Self::Random)];
}

/// The unit of time that is charged: every started one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BillingUnit {
    /// 3600 seconds.
    #[default]
    Hour,
    /// 60 seconds.
    Minute,
    /// One second.
    Second,
}

/// Nanoseconds of a second.
const SECOND_NS: u64 = 1_000_000_000;

impl BillingUnit {
    /// Its length, nanoseconds.
    #[must_use]
    pub fn length_ns(self) -> u64 {
        match self {
            Self::Hour => 3600 * SECOND_NS,
            Self::Minute => 60 * SECOND_NS,
            Self::Second => SECOND_NS,
        }
    }

    /// The time that is charged for a time that was used, where so much is the least, in hours.
    #[must_use]
    pub fn charged_hours(self, used_ns: u64, least_ns: u64) -> f64 {
        let length = self.length_ns();
        // What was begun is paid, and who was there at all pays for one.
        let units = used_ns.max(least_ns).div_ceil(length).max(1);
        units as f64 * length as f64 / (3600.0 * SECOND_NS as f64)
    }

    /// How long until another unit is charged, for an instance charged since then, where so much is
    /// the least, nanoseconds.
    #[must_use]
    pub fn left_ns(self, charged_from_ns: u64, now_ns: u64, least_ns: u64) -> u64 {
        let length = self.length_ns();
        let least = least_ns.div_ceil(length).max(1).saturating_mul(length);
        let used = now_ns.saturating_sub(charged_from_ns);
        if used < least { least - used } else { length - used % length }
    }
}

impl Words for BillingUnit {
    const WORDS: &'static [(&'static str, Self)] =
        &[("hour", Self::Hour), ("minute", Self::Minute), ("second", Self::Second)];
}

/// From when an instance is charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChargeFrom {
    /// When it is ready: booting is free.
    #[default]
    Running,
    /// When it was launched.
    Launch,
}

impl Words for ChargeFrom {
    const WORDS: &'static [(&'static str, Self)] =
        &[("running", Self::Running), ("launch", Self::Launch)];
}

/// Which instance goes where one is too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Termination {
    /// The one whose next unit of billing begins soonest: least of what is paid is lost.
    #[default]
    ClosestToUnit,
    /// The one that has been there longest.
    Oldest,
    /// The one that came last.
    Newest,
    /// Any, by chance.
    Random,
}

impl Words for Termination {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("closest-to-unit", Self::ClosestToUnit),
        ("oldest", Self::Oldest),
        ("newest", Self::Newest),
        ("random", Self::Random),
    ];
}

/// In which order an instance serves the requests that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Discipline {
    /// First come first served.
    #[default]
    Fcfs,
    /// All at once: they share the cores.
    Sharing,
}

impl Words for Discipline {
    const WORDS: &'static [(&'static str, Self)] =
        &[("fcfs", Self::Fcfs), ("sharing", Self::Sharing)];
}

/// How service slows down with the number of requests at an instance.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Slowdown {
    /// Not at all.
    #[default]
    None,
    /// By this share for each request beyond the cores.
    Each(f64),
    /// By these factors for 1, 2, … requests, the last for all above.
    Factors(Vec<f64>),
}

/// A slowdown of a share is written out so far.
const MOST_FACTORS: u32 = 1000;

impl Slowdown {
    /// The factors for 1, 2, … requests, the last for all above; none where there is no slowdown.
    /// `limit` is the most requests that an instance has.
    #[must_use]
    pub fn factors(&self, cores: u32, limit: Option<u32>) -> Vec<f64> {
        match self {
            Self::None => Vec::new(),
            Self::Factors(factors) => factors.clone(),
            Self::Each(share) => {
                let most = limit.unwrap_or(MOST_FACTORS).clamp(1, MOST_FACTORS);
                let of = |n: u32| 1.0 + share * f64::from(n.saturating_sub(cores));
                (1..=most).map(of).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_has_one_word_whatever_it_does_with_ties() {
        for (word, rule) in Choice::WORDS {
            for ties in [Ties::First, Ties::Next, Ties::Random] {
                assert_eq!(rule.with(ties).rule().word(), *word);
                assert_eq!(rule.with(ties).ties().is_some(), rule.ties().is_some());
            }
        }
    }

    #[test]
    fn a_share_slows_down_beyond_the_cores() {
        assert_eq!(Slowdown::Each(0.5).factors(2, Some(4)), [1.0, 1.0, 1.5, 2.0]);
        assert_eq!(Slowdown::Each(0.5).factors(1, None).len(), 1000);
        assert!(Slowdown::None.factors(1, Some(9)).is_empty());
    }
}
