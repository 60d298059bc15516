//! Constraints between factors: which of their combinations there are.
//!
//! `FACTOR = LEVEL needs FACTOR = LEVEL`, or `excludes`; on each side one of several levels, with
//! commas: `protocol = carp needs architecture = hierarchy, tree`.

use std::fmt;

use plimsoll_units::{ParseError, nearest};

use crate::sections::experiment::FactorPlan;

const WANTED: &str = "a constraint such as protocol = carp needs architecture = hierarchy";

/// A factor at one of some levels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// The factor.
    pub factor: String,
    /// The levels; at least one.
    pub levels: Vec<String>,
}

/// What a combination of levels must be, or must not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constraint {
    /// Which combinations it is about.
    pub of: Condition,
    /// What holds of them, or must not.
    pub other: Condition,
    /// Whether the other must hold; else it must not.
    pub needs: bool,
}

impl Condition {
    fn parse(text: &str, at: usize) -> Result<Self, ParseError> {
        let fault = || {
            ParseError::new("a factor and a level such as protocol = carp", text, at, text.len())
        };
        let bare = text.trim().trim_matches('"');
        let (factor, levels) = bare.split_once('=').ok_or_else(fault)?;
        let levels: Vec<String> =
            levels.split(',').map(|level| level.trim().trim_matches('"').to_owned()).collect();
        let factor = factor.trim().trim_matches('"').to_owned();
        if factor.is_empty() || levels.iter().any(String::is_empty) {
            return Err(fault());
        }
        Ok(Self { factor, levels })
    }

    /// Whether it holds where each factor has this level.
    fn holds<'a>(&self, level: impl Fn(&str) -> Option<&'a str>) -> bool {
        level(&self.factor).is_some_and(|level| self.levels.iter().any(|of| of == level))
    }

    /// What of it the factors do not have, and what may be meant.
    fn unknown(&self, factors: &[FactorPlan]) -> Option<(String, Option<String>)> {
        let near = |name: &str, of: Vec<&str>| {
            nearest(name, of).map(|near| format!("did you mean `{near}`?"))
        };
        let Some(factor) = factors.iter().find(|of| of.key == self.factor) else {
            let names = factors.iter().map(|of| of.key.as_str()).collect();
            let hint = near(&self.factor, names);
            return Some((format!("a factor of the plan, found `{}`", self.factor), hint));
        };
        let missing = self.levels.iter().find(|level| !factor.levels.contains(level))?;
        let hint = near(missing, factor.levels.iter().map(String::as_str).collect());
        Some((format!("a level of `{}`, found `{missing}`", self.factor), hint))
    }
}

impl Constraint {
    /// Reads a constraint.
    ///
    /// # Errors
    /// Points at the part that cannot be read.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        for (word, needs) in [(" needs ", true), (" excludes ", false)] {
            if let Some(at) = text.find(word) {
                let behind = at + word.len();
                let of = Condition::parse(&text[..at], 0)?;
                let other = Condition::parse(&text[behind..], behind)?;
                return Ok(Self { of, other, needs });
            }
        }
        let hint = "say what a level needs, or what it excludes";
        Err(ParseError::new(WANTED, text, 0, text.len()).hint(hint))
    }

    /// Whether it allows a combination, of which `level` tells the level of each factor.
    pub fn allows<'a>(&self, level: impl Fn(&str) -> Option<&'a str> + Copy) -> bool {
        !self.of.holds(level) || self.other.holds(level) == self.needs
    }

    /// Leaves out other levels of a factor than these, where it says something without them too.
    /// Returns whether it says nothing any more.
    pub(crate) fn leave_out(&mut self, factor: &str, levels: &[String]) -> bool {
        let left = |of: &Condition| -> Vec<String> {
            let is_left = |level: &&String| of.factor != factor || levels.contains(level);
            of.levels.iter().filter(is_left).cloned().collect()
        };
        let (of, other) = (left(&self.of), left(&self.other));
        if of.is_empty() || other.is_empty() && !self.needs {
            return true;
        }
        self.of.levels = of;
        if !other.is_empty() {
            self.other.levels = other;
        }
        false
    }

    /// What of it the factors do not have, and a hint.
    pub(crate) fn unknown(&self, factors: &[FactorPlan]) -> Option<(String, Option<String>)> {
        self.of.unknown(factors).or_else(|| self.other.unknown(factors))
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.factor, self.levels.join(", "))
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.needs { "needs" } else { "excludes" };
        write!(f, "{} {word} {}", self.of, self.other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(constraint: &str, levels: [&str; 2]) -> bool {
        let level = |factor: &str| match factor {
            "protocol" => Some(levels[0]),
            "architecture" => Some(levels[1]),
            _ => None,
        };
        Constraint::parse(constraint).unwrap().allows(level)
    }

    #[test]
    fn combinations_are_allowed_by_what_is_needed_and_excluded() {
        for needs in [
            "protocol = carp needs architecture = hierarchy",
            r#""protocol = carp" needs "architecture = hierarchy""#,
            "architecture = mesh, ring excludes protocol = carp",
        ] {
            assert!(allows(needs, ["carp", "hierarchy"]), "{needs}");
            assert!(!allows(needs, ["carp", "mesh"]), "{needs}");
            assert!(allows(needs, ["icp", "mesh"]), "{needs}");
        }
        let several = "protocol = carp, icp needs architecture = hierarchy, ring";
        assert!(allows(several, ["icp", "ring"]) && !allows(several, ["icp", "mesh"]));
    }

    #[test]
    fn constraints_read_back_the_same_and_point_at_what_is_wrong() {
        let read = Constraint::parse(" a.b=1 ,2 excludes c = x y ").unwrap();
        assert_eq!(read.to_string(), "a.b = 1, 2 excludes c = x y");
        assert_eq!(Constraint::parse(&read.to_string()), Ok(read));
        for (text, place) in [
            ("a = 1", "a = 1"),
            ("a needs b = 1", "a"),
            ("a = 1 needs b", "b"),
            ("a = 1, needs b = 2", "a = 1,"),
        ] {
            let error = Constraint::parse(text).unwrap_err();
            assert_eq!(&text[error.at..error.at + error.len], place, "{error:?}");
        }
    }
}
