//! Content classes: objects of one kind, with the laws of their sizes and lives.

use std::fmt;
use std::str::FromStr;

use plimsoll_units::{ParseError, duration, show_duration_exact};

use super::size_law::SizeLaw;
use crate::distribution::Distribution;

/// The longest label, bytes.
pub const MAX_LABEL_BYTES: usize = 64;

/// A class of objects.
#[derive(Debug, Clone, PartialEq)]
pub struct Class {
    /// What it is called: `image`.
    pub label: String,
    /// Its share of the objects, above 0; those of all classes come to 1.
    pub share: f64,
    /// How large its objects are.
    pub sizes: SizeLaw,
    /// The period at which an object changes, drawn for each object; [`Distribution::NONE`] where
    /// they never change. Periods are cut to between a second and a hundred years.
    pub changes: Distribution,
    /// How far changes stray from regular: 0, always in the middle of their period; 1, anywhere in
    /// it.
    pub variance: f64,
    /// How long copies stay fresh.
    pub fresh: Fresh,
    /// The share of its objects that a cache may keep.
    pub cachable: f64,
}

/// How long a copy is fresh after it left the origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fresh {
    /// So long; zero where it has to be validated each time.
    For {
        /// Nanoseconds.
        ns: u64,
    },
    /// Until the object changes: the origin knows when.
    UntilChange,
}

impl Default for Class {
    /// All objects, of [`SizeLaw::default`], which never change and may all be kept.
    fn default() -> Self {
        Self {
            label: "all".to_owned(),
            share: 1.0,
            sizes: SizeLaw::default(),
            changes: Distribution::NONE,
            variance: 0.0,
            fresh: Fresh::UntilChange,
            cachable: 1.0,
        }
    }
}

impl Class {
    /// Whether its objects stay as they are.
    pub(super) fn never_changes(&self) -> bool {
        matches!(self.changes, Distribution::Constant { ns: 0 })
    }
}

impl Fresh {
    /// Reads `until-change`, or a duration such as `1h`.
    ///
    /// # Errors
    /// What is neither.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        if text.trim() == "until-change" {
            return Ok(Self::UntilChange);
        }
        match duration(text) {
            Ok(span) => Ok(Self::For { ns: u64::try_from(span.as_nanos()).unwrap_or(u64::MAX) }),
            Err(error) if text.trim_start().starts_with(|c: char| c.is_ascii_digit()) => Err(error),
            Err(error) => {
                let ParseError { at, len, found, .. } = error;
                let wanted = "until-change, or a duration such as 1h";
                Err(ParseError::new(wanted, &found, at, len))
            }
        }
    }
}

impl FromStr for Fresh {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text)
    }
}

/// The text that [`Fresh::parse`] reads back to the same.
impl fmt::Display for Fresh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::For { ns } => f.write_str(&show_duration_exact(*ns)),
            Self::UntilChange => f.write_str("until-change"),
        }
    }
}
