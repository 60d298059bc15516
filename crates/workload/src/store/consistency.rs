//! How many of a record's replicas take part in an operation, in a store of several nodes: the
//! levels of consistency of Cassandra that both reads and writes may have (CQL binary protocol v4,
//! section 3).
//!
//! With N replicas, reads by R and writes by W of them see each other's values where R + W > N:
//! `quorum` for both does, `one` for both does not, unless N is 1.

use std::fmt;

use plimsoll_units::{ParseError, nearest};

/// How many replicas answer before an operation is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Consistency {
    /// One, the nearest.
    #[default]
    One,
    /// Two.
    Two,
    /// Three.
    Three,
    /// More than half of them.
    Quorum,
    /// All of them.
    All,
    /// More than half of those in the data centre of the node that is asked.
    LocalQuorum,
    /// One of those.
    LocalOne,
}

impl Consistency {
    /// All of them, in the order of the manual.
    pub const ALL: [Self; 7] = [
        Self::One,
        Self::Two,
        Self::Three,
        Self::Quorum,
        Self::All,
        Self::LocalQuorum,
        Self::LocalOne,
    ];

    /// The word for it in plans and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::Two => "two",
            Self::Three => "three",
            Self::Quorum => "quorum",
            Self::All => "all",
            Self::LocalQuorum => "local_quorum",
            Self::LocalOne => "local_one",
        }
    }

    /// Reads a name; capitals, as CQL has them, are the same.
    ///
    /// # Errors
    /// An unknown name, with the nearest known one; one that either reads or writes cannot have.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let lower = text.to_ascii_lowercase();
        if let Some(found) = Self::ALL.into_iter().find(|one| one.name() == lower) {
            return Ok(found);
        }
        let wanted = "one, two, three, quorum, all, local_quorum or local_one";
        let error = ParseError::new(wanted, text, 0, text.len());
        Err(match lower.as_str() {
            "any" | "each_quorum" => error.hint("reads cannot have it"),
            "serial" | "local_serial" => error.hint("it is for conditional writes only"),
            _ => match nearest(&lower, Self::ALL.map(Self::name)) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error,
            },
        })
    }
}

impl fmt::Display for Consistency {
    /// Text that parses back to the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read() {
        for level in Consistency::ALL {
            assert_eq!(Consistency::parse(&level.to_string()), Ok(level));
            assert_eq!(Consistency::parse(&level.name().to_uppercase()), Ok(level));
        }
        for (text, hint) in [
            ("qourum", Some("did you mean `quorum`?")),
            ("each_quorum", Some("reads cannot have it")),
            ("serial", Some("it is for conditional writes only")),
            ("", None),
        ] {
            assert_eq!(Consistency::parse(text).unwrap_err().hint.as_deref(), hint, "{text}");
        }
    }
}
