//! Labels of users: a region, say, by which figures are told beside those of the whole run.
//!
//! A run has at most [`MAX_LABELS`] of them, in the order in which they come; users whose labels
//! come later count under [`OTHER`].

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_units::hash::fnv_1a;

use crate::names::{NamedEvent, printable};

/// So many labels have figures of their own.
pub const MAX_LABELS: usize = 100;

/// The number of what comes beyond [`MAX_LABELS`].
pub const OTHER: u16 = 100;

/// In the place of a number: users have no labels.
pub const NO_LABEL: u16 = u16::MAX;

/// What a user counts under whose label is empty.
const EMPTY: &str = "(none)";

/// Gives numbers to labels as they come.
#[derive(Debug, Default)]
pub struct Labelling {
    known: BTreeMap<String, u16>,
    /// Hashes of the labels that came too late.
    beyond: BTreeSet<u64>,
}

impl Labelling {
    /// The number of a label, and the label as it is told where it is a new one: that of [`OTHER`]
    /// has none.
    pub fn number(&mut self, label: &str) -> (u16, Option<String>) {
        let label = printable(if label.is_empty() { EMPTY } else { label });
        if let Some(&number) = self.known.get(&label) {
            return (number, None);
        }
        match u16::try_from(self.known.len()) {
            Ok(number) if number < OTHER => {
                self.known.insert(label.clone(), number);
                (number, Some(label))
            }
            _ => {
                self.beyond.insert(fnv_1a(label.as_bytes()));
                (OTHER, None)
            }
        }
    }

    /// How many labels came beyond those that have figures of their own.
    #[must_use]
    pub fn others(&self) -> u64 {
        self.beyond.len() as u64
    }
}

/// What came of labels in a stretch of a run.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub struct Labelled {
    /// Those that came in it first, with their numbers.
    pub labels: Vec<(u16, String)>,
    /// How many had come by its end that count under [`OTHER`].
    pub others: u64,
    /// Users that arrived in it, by the numbers of their labels.
    pub arrived: BTreeMap<u16, u64>,
    /// Requests of the measured phase that ended in it, and broadcasts that came, each behind the
    /// number of its label. Some have no name ([`crate::names::NO_NAME`]).
    pub events: Vec<(u16, NamedEvent)>,
}

impl Labelled {
    /// Adds those of another thread, or of a later stretch.
    pub fn add(&mut self, other: &Self) {
        self.labels.extend_from_slice(&other.labels);
        self.others = self.others.max(other.others);
        for (label, users) in &other.arrived {
            *self.arrived.entry(*label).or_default() += users;
        }
        self.events.extend_from_slice(&other.events);
    }

    /// Forgets everything, keeping allocations.
    pub fn clear(&mut self) {
        self.labels.clear();
        self.others = 0;
        self.arrived.clear();
        self.events.clear();
    }

    /// Whether nothing came.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.arrived.is_empty() && self.events.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_hundred_have_numbers_and_those_beyond_share_one() {
        let mut labelling = Labelling::default();
        for n in 0..OTHER {
            let (number, new) = labelling.number(&format!("region {n}"));
            assert_eq!((number, new), (n, Some(format!("region {n}"))));
        }
        assert_eq!(labelling.number("region 7"), (7, None));
        assert_eq!(labelling.number("region 200"), (OTHER, None));
        assert_eq!(labelling.number("region 200"), (OTHER, None));
        assert_eq!(labelling.others(), 1);
        assert_eq!(usize::from(OTHER), MAX_LABELS);
        assert_eq!(Labelling::default().number(""), (0, Some(EMPTY.to_owned())));
    }
}
