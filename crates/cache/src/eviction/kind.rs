//! A policy as an entry of the list: its name, and its replay compiled for it. And as users write
//! one: `lru`, `lru-k:k=3`.

use std::str::FromStr;

use plimsoll_units::parameter::Parameter;
use plimsoll_units::{ParseError, nearest};

use crate::capacity::Capacity;
use crate::replay::{Counts, Job, run};
use crate::trace::Trace;

use super::node::{Node, node};
use super::{Eviction, KINDS, Needs, Room, SettingError, Settings, made};

/// Makes a node of a policy for a trace, of a capacity.
type MakeNode =
    for<'a> fn(&'a Trace, Capacity, &Settings) -> Result<Box<dyn Node + 'a>, SettingError>;

/// One policy of [`super::KINDS`].
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// What users write.
    pub name: &'static str,
    /// One line for users.
    pub about: &'static str,
    /// What can be set of it.
    pub parameters: &'static [Parameter],
    /// What a replay must be given.
    pub needs: Needs,
    pub(crate) run: fn(&Job<'_>) -> Result<Counts, SettingError>,
    check: fn(&Settings) -> Result<(), SettingError>,
    node: MakeNode,
    /// A replay that looks at the policy after each request.
    #[cfg(test)]
    pub(super) watched: super::tests::Watched,
}

impl Kind {
    /// The entry of a policy.
    #[must_use]
    pub(super) const fn of<P: Eviction + 'static>() -> Self {
        Self {
            name: P::NAME,
            about: P::ABOUT,
            parameters: P::PARAMETERS,
            needs: P::NEEDS,
            run: run::<P>,
            node: node::<P>,
            check: |settings| made::<P>(&Room { objects: 1, capacity: 1, settings }).map(|_| ()),
            #[cfg(test)]
            watched: super::tests::watched::<P>,
        }
    }

    /// The policy of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.name == name)
    }
}

impl Kind {
    /// What bounds the misses of policies that take in all they miss.
    pub(crate) const BELADY: Self = Self::of::<super::belady::Belady>();
    /// What bounds those of policies that may refuse. Not among [`super::KINDS`], whose rule is
    /// that a missed object comes in where it fits.
    pub(crate) const BELADY_BYPASS: Self = Self::of::<super::belady::Belady<true>>();
}

/// LRU, which clusters use for what is in memory.
static LRU: Kind = Kind::of::<super::lru::Lru>();

/// A policy with its settings, as users write it.
#[derive(Debug, Clone)]
pub struct Policy {
    /// As it was written.
    pub text: String,
    /// Which it is.
    pub kind: &'static Kind,
    /// What was set of it; checked.
    pub settings: Settings,
}

impl Policy {
    /// LRU without settings.
    #[must_use]
    pub fn lru() -> Self {
        Self { text: "lru".to_owned(), kind: &LRU, settings: Settings::default() }
    }

    /// A cache of this policy for a trace.
    ///
    /// *Errors*: a setting that the policy cannot take.
    pub fn node<'a>(
        &self,
        trace: &'a Trace,
        capacity: Capacity,
    ) -> Result<Box<dyn Node + 'a>, SettingError> {
        (self.kind.node)(trace, capacity, &self.settings)
    }
}

impl FromStr for Policy {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let text = text.trim();
        let (name, set) = text.split_once(':').unwrap_or((text, ""));
        let Some(kind) = Kind::named(name) else {
            let error = ParseError::new("an eviction policy", name, 0, name.len());
            return Err(match nearest(name, KINDS.iter().map(|kind| kind.name)) {
                Some(near) => error.hint(format!("did you mean {near}?")),
                None => error.hint("--list-policies shows what there is"),
            });
        };
        let wrong = |error: SettingError| {
            ParseError::new(format!("settings of {name}"), set, name.len() + 1, set.len())
                .hint(error.to_string())
        };
        let settings = Settings::parse(set).map_err(wrong)?;
        (kind.check)(&settings).map_err(wrong)?;
        Ok(Self { text: text.to_owned(), kind, settings })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_known_by_their_names() {
        let policy: Policy = "sieve".parse().unwrap();
        assert_eq!((policy.kind.name, policy.text.as_str()), ("sieve", "sieve"));
        let names: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
        let mut distinct = names.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), names.len());
    }

    #[test]
    fn what_is_none_is_said_with_its_place() {
        let error = "seive".parse::<Policy>().unwrap_err();
        assert_eq!(error.hint.as_deref(), Some("did you mean sieve?"));
        let error = "lru:k=2".parse::<Policy>().unwrap_err();
        assert_eq!((error.at, error.len), (4, 3));
        assert_eq!(error.hint.as_deref(), Some("expected no setting, found \"k\""));
        for wrong in ["", ":", "lru:k", "lru:=", "lru:a=1:a=2"] {
            assert!(wrong.parse::<Policy>().is_err(), "{wrong}");
        }
    }
}
