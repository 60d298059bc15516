//! Tags: under which name a histogram stands in `latency.hlog`.
//!
//! The engine's own are a closed list, so that its hot path finds a histogram by an index. A run
//! may have others, whose names come with what it does: `step.checkout`.

use std::sync::Arc;

use plimsoll_stats::Histogram;
use plimsoll_units::ParseError;

use crate::hlog;

/// The longest name of a tag, in bytes.
pub const MAX_TAG: usize = 100;

/// The tags that every load has: each is one histogram of a [`crate::PhaseSlice`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Tag {
    /// Due to last byte, over completed and timed-out requests.
    Response = 0,
    /// Sent to last byte, over the same requests.
    Service = 1,
    /// Sent to first byte of the answer.
    Ttfb = 2,
    /// Connection attempts: start to usable, TLS included. By the phase in which they ended.
    Connect = 3,
    /// Due to a usable connection (the target's doing).
    ConnectionWait = 4,
    /// Usable connection (or due, if later) to sent (our doing).
    Lateness = 5,
    /// The part of `Response` that did not succeed.
    FailedResponse = 6,
    /// The part of `Service` that did not succeed.
    FailedService = 7,
    /// The part of `Response` that succeeded and was noticeably late by our own doing: by more than
    /// 1/128 of it.
    Late = 8,
    /// The same requests as `Late`, without what they were late.
    Punctual = 9,
}

impl Tag {
    /// Every tag, in the order of its discriminant.
    pub const ALL: [Self; 10] = [
        Self::Response,
        Self::Service,
        Self::Ttfb,
        Self::Connect,
        Self::ConnectionWait,
        Self::Lateness,
        Self::FailedResponse,
        Self::FailedService,
        Self::Late,
        Self::Punctual,
    ];

    /// The name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Response => "response",
            Self::Service => "service",
            Self::Ttfb => "ttfb",
            Self::Connect => "connect",
            Self::ConnectionWait => "connection_wait",
            Self::Lateness => "lateness",
            Self::FailedResponse => "failed_response",
            Self::FailedService => "failed_service",
            Self::Late => "late_response",
            Self::Punctual => "punctual_response",
        }
    }
}

impl AsRef<str> for Tag {
    fn as_ref(&self) -> &str {
        self.name()
    }
}

/// The name of a tag that is a run's own. It has no commas, spaces or control characters, by which
/// the log separates; and it is none of those that mean something already.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(into = "String", try_from = "String")]
pub struct TagName(Arc<str>);

impl std::str::FromStr for TagName {
    type Err = ParseError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let refuse = |wanted: &str| Err(ParseError::new(wanted, name, 0, name.len()));
        let separates = |c: char| c == ',' || c.is_whitespace() || c.is_control();
        if name.is_empty() || name.len() > MAX_TAG || name.contains(separates) {
            return refuse("the name of a histogram: at most 100 bytes, without commas and spaces");
        }
        let mut own = Tag::ALL.map(Tag::name).into_iter().chain([hlog::TURN, hlog::TIMER_LATE]);
        if own.any(|own| own == name) || name.starts_with(hlog::WARM_UP) {
            return refuse("the name of a histogram that is not one of every run's");
        }
        Ok(Self(name.into()))
    }
}

impl From<TagName> for String {
    fn from(of: TagName) -> Self {
        of.to_string()
    }
}

impl TryFrom<String> for TagName {
    type Error = ParseError;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        name.parse()
    }
}

impl AsRef<str> for TagName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for TagName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a histogram can be stored under: a tag of every run, or one of the run's own.
pub trait Tagged: AsRef<str> {}

impl Tagged for Tag {}
impl Tagged for &TagName {}

/// Histograms under tags of a run's own, in nanoseconds. Empty it holds no memory.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub struct Named(Vec<(TagName, Histogram)>);

impl Named {
    /// The histogram of a tag, made where it is not there yet. A run has a handful of tags, so
    /// they are looked through.
    pub fn of(&mut self, tag: &TagName) -> &mut Histogram {
        let at = self.0.iter().position(|(known, _)| known == tag).unwrap_or_else(|| {
            self.0.push((tag.clone(), Histogram::new()));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }

    /// Every tag and its histogram, in the order of first appearance.
    pub fn iter(&self) -> impl Iterator<Item = (&TagName, &Histogram)> {
        self.0.iter().map(|(tag, histogram)| (tag, histogram))
    }

    /// Adds all of `other`.
    pub fn add(&mut self, other: &Self) {
        for (tag, histogram) in other.iter() {
            self.of(tag).add(histogram);
        }
    }

    /// Forgets every value, keeping allocations.
    pub fn clear(&mut self) {
        self.0.iter_mut().for_each(|(_, histogram)| histogram.clear());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_that_would_break_the_log_or_mean_something_else_are_refused() {
        for name in ["step.checkout", "Zur-Kasse", "step.9/ä"] {
            assert_eq!(name.parse::<TagName>().unwrap().as_ref(), name);
        }
        for name in ["", "a b", "a,b", "a\nb", "turn", "timer_late", "warm-up.x", "response"] {
            assert!(name.parse::<TagName>().is_err(), "{name:?}");
        }
        assert!("x".repeat(MAX_TAG + 1).parse::<TagName>().is_err());
    }

    proptest! {
        #[test]
        fn adding_is_as_recording_all_in_one(
            values in prop::collection::vec((0..4_usize, 0..3_usize, 1..1_000_000_u64), 0..50),
        ) {
            let tags = ["a", "b", "c"].map(|name| name.parse::<TagName>().unwrap());
            let mut parts: [Named; 4] = Default::default();
            let mut whole = Named::default();
            for (part, tag, value) in values {
                parts[part].of(&tags[tag]).record(value);
                whole.of(&tags[tag]).record(value);
            }
            let mut sum = Named::default();
            parts.iter().for_each(|part| sum.add(part));
            for tag in &tags {
                prop_assert_eq!(sum.of(tag).exact(), whole.of(tag).exact());
                prop_assert!(sum.of(tag).buckets().eq(whole.of(tag).buckets()));
            }
            sum.clear();
            prop_assert!(sum.iter().all(|(_, histogram)| histogram.count() == 0));
        }
    }
}
