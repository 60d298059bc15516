//! Names: what figures are told by beside those of the whole run. A name is that of a line of a
//! request list, the pattern of the paths that a log asks for, or that of a step or a group of a
//! scenario.
//!
//! A run has at most [`MAX_NAMES`] of them, in the order in which they come; what is named beyond
//! counts under [`OTHER`]. On the hot path a name is its number, so that nothing is looked up.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_units::hash::fnv_1a;
use serde::{Deserialize, Serialize};

use crate::ErrorKind;

/// So many names have figures of their own.
pub const MAX_NAMES: usize = 1_000;

/// The number of what is named beyond [`MAX_NAMES`].
pub const OTHER: u16 = 1_000;

/// In the place of a number: the request has no name, and counts in no book.
pub const NO_NAME: u16 = u16::MAX;

/// What [`OTHER`] is called.
pub const OTHER_NAME: &str = "other";

/// The longest name that is kept, in characters; what is longer is cut.
pub const MAX_NAME_CHARS: usize = 200;

/// What a name is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NameKind {
    /// Requests, each by itself.
    Request,
    /// Steps of a scenario: the last request of each, where redirects are followed.
    Step,
    /// Groups of steps.
    Group,
    /// Steps that open a WebSocket.
    Handshake,
    /// Messages that are expected, or that a rule is for.
    Message,
    /// Messages that go to many.
    Broadcast,
}

impl NameKind {
    /// The name in files and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Step => "step",
            Self::Group => "group",
            Self::Handshake => "handshake",
            Self::Message => "message",
            Self::Broadcast => "broadcast",
        }
    }
}

/// A name and what it is of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Name {
    /// The name itself, printable.
    pub name: String,
    /// What it is of.
    pub kind: NameKind,
}

/// The names of a run, in their order. A run without names has none, and no figures by them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Names {
    list: Vec<Name>,
    /// How many names count under [`OTHER`].
    others: u64,
}

impl Names {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Those that have figures of their own, each at the place of its number.
    #[must_use]
    pub fn list(&self) -> &[Name] {
        &self.list
    }

    /// What a number stands for; `None` where that is no name.
    #[must_use]
    pub fn called(&self, number: u16) -> Option<&str> {
        let known = self.list.get(usize::from(number)).map(|known| known.name.as_str());
        known.or((number == OTHER).then_some(OTHER_NAME))
    }

    /// How many others there are, which share the figures of [`OTHER`].
    #[must_use]
    pub fn others(&self) -> u64 {
        self.others
    }

    /// The number of a name; that of [`OTHER_NAME`], where some are beyond and none is called so.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u16> {
        let at = self.list.iter().position(|known| known.name == name);
        match at {
            Some(at) => u16::try_from(at).ok(),
            None => (self.others > 0 && name == OTHER_NAME).then_some(OTHER),
        }
    }

    /// What is to be said of names that have no figures of their own.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        (self.others > 0).then(|| {
            format!(
                "figures by name are kept of the first {MAX_NAMES} names; {} more count under \
                 `{OTHER_NAME}`",
                plimsoll_units::show_count(self.others)
            )
        })
    }
}

/// Gives numbers to names as they come.
#[derive(Debug, Default)]
pub struct Naming {
    names: Names,
    known: BTreeMap<Name, u16>,
    /// Hashes of the names that came too late.
    beyond: BTreeSet<u64>,
}

impl Naming {
    /// The number of a name: a new one where it has not come before and there is room, else
    /// [`OTHER`]. Control characters are shown, and what is too long is cut.
    pub fn number(&mut self, name: &str, kind: NameKind) -> u16 {
        let name = Name { name: printable(name), kind };
        if let Some(&number) = self.known.get(&name) {
            return number;
        }
        match u16::try_from(self.names.list.len()) {
            Ok(number) if number < OTHER => {
                self.names.list.push(name.clone());
                self.known.insert(name, number);
                number
            }
            _ => {
                self.beyond.insert(fnv_1a(name.name.as_bytes()));
                OTHER
            }
        }
    }

    /// The names, when all have come.
    #[must_use]
    pub fn finish(self) -> Names {
        Names { others: self.beyond.len() as u64, ..self.names }
    }
}

/// A name without what a terminal would obey, cut where it is too long.
pub(crate) fn printable(name: &str) -> String {
    let shown = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let mut chars = name.chars();
    let mut kept: String = chars.by_ref().take(MAX_NAME_CHARS).map(shown).collect();
    if chars.next().is_some() {
        kept.pop();
        kept.push('…');
    }
    kept
}

/// What a [`NamedEvent`] is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum NamedPart {
    /// All of it.
    #[default]
    Whole,
    /// An answer that led its request elsewhere, which goes on there: it counts as a redirect, and
    /// by its bytes.
    Hop,
    /// A group of steps: it is not sent as one, and has no code.
    Group,
    /// A message that nobody asked for: its times are from when it was published, 0 where that is
    /// not told.
    Message,
}

/// A request with a name that ended, due in the measured phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "EventFields", from = "EventFields")]
pub struct NamedEvent {
    /// What it is of.
    pub part: NamedPart,
    /// The number of its name ([`crate::Names`]).
    pub name: u16,
    /// The answer's code, where there was a whole answer.
    pub code: Option<u16>,
    /// Why it did not succeed.
    pub error: Option<ErrorKind>,
    /// Whether it was sent.
    pub is_sent: bool,
    /// Due to its end; of a group, the sum over its steps.
    pub response_ns: u64,
    /// Sent to its end; of a group, from the first due to the last done.
    pub service_ns: u64,
    /// How late it was sent by our own doing, where that is noticeable and it succeeded; else 0.
    pub late_ns: u64,
    /// Bytes of the answer.
    pub bytes: u64,
}

/// A [`NamedEvent`] as others are told of it: its fields in their order, as there are very many.
type EventFields = (NamedPart, u16, Option<u16>, Option<ErrorKind>, bool, u64, u64, u64, u64);

impl From<NamedEvent> for EventFields {
    fn from(of: NamedEvent) -> Self {
        let NamedEvent { part, name, code, error, is_sent, .. } = of;
        let NamedEvent { response_ns, service_ns, late_ns, bytes, .. } = of;
        (part, name, code, error, is_sent, response_ns, service_ns, late_ns, bytes)
    }
}

impl From<EventFields> for NamedEvent {
    fn from(of: EventFields) -> Self {
        let (part, name, code, error, is_sent, response_ns, service_ns, late_ns, bytes) = of;
        Self { part, name, code, error, is_sent, response_ns, service_ns, late_ns, bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_numbers_in_their_order_and_those_beyond_share_one() {
        let mut naming = Naming::default();
        let count = u16::try_from(MAX_NAMES).unwrap();
        assert_eq!(count, OTHER);
        for n in 0..count + 5 {
            let number = naming.number(&format!("/{n}"), NameKind::Request);
            assert_eq!(number, n.min(OTHER));
        }
        assert_eq!(naming.number("/7", NameKind::Request), 7);
        assert_eq!(naming.number("/1002", NameKind::Request), OTHER);
        let names = naming.finish();
        assert_eq!((names.list().len(), names.others()), (MAX_NAMES, 5));
        assert_eq!((names.number("/7"), names.number("other")), (Some(7), Some(OTHER)));
        assert_eq!(names.number("/1002"), None, "it has no figures of its own");
        assert!(names.note().unwrap().contains("5 more"));
        assert_eq!(Naming::default().finish().number("other"), None);
    }

    #[test]
    fn what_a_terminal_would_obey_is_no_part_of_a_name() {
        let mut naming = Naming::default();
        naming.number("a\u{1b}[2Jb", NameKind::Request);
        naming.number(&"x".repeat(MAX_NAME_CHARS + 1), NameKind::Request);
        let names = naming.finish();
        assert_eq!(names.list()[0].name, "a\u{fffd}[2Jb");
        assert_eq!(names.list()[1].name.chars().count(), MAX_NAME_CHARS);
        assert!(names.list()[1].name.ends_with('…'));
    }
}
