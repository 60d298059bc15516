//! Which objects may be asked for: all of a number, or ever new ones beside a working set.
//!
//! The formulas are in the [module](super)'s text.

use std::fmt;
use std::str::FromStr;

use plimsoll_units::{ParseError, count, nearest, share, show_share_exact};

/// The most objects of a closed population with drift: their order takes 4 bytes an object.
pub(super) const MAX_MOVING: u32 = 100_000_000;
/// The most objects that may change rank for each request, in the mean.
pub(super) const MAX_MOVES_A_REQUEST: u64 = 1000;

/// Which objects there are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Population {
    /// A number of objects, all of which may be asked for at any time.
    Closed {
        /// How many; at least one.
        objects: u32,
        /// How their ranks change, where they do.
        drift: Option<Drift>,
    },
    /// New objects come as they are first asked for.
    Open {
        /// The share of the requests that go to objects seen before: from 0 to below 1.
        recurrence: f64,
        /// Which of those seen before they go to.
        working_set: WorkingSet,
    },
}

/// Which of the objects that were asked for are asked for again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkingSet {
    /// All.
    Growing,
    /// The first so many; at least one.
    Frozen(u32),
    /// The newest so many; at least one.
    Drifting(u32),
}

/// How ranks change in a closed population.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// The share of the objects that change their rank at a time, above 0. It comes to at least two
    /// objects.
    pub share: f64,
    /// After each so many requests; at least one.
    pub every: u64,
}

impl WorkingSet {
    /// Reads `growing`, `frozen:100k` or `drifting:100k`.
    ///
    /// # Errors
    /// Another name (with the nearest known one), a number that is none from 1 to 2^32 − 1.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        const WANTED: &str = "a working set such as growing, frozen:100k or drifting:100k";
        let body = text.trim();
        let at = text.len() - text.trim_start().len();
        let error = ParseError::new(WANTED, body, at, body.len());
        if body == "growing" {
            return Ok(Self::Growing);
        }
        let (name, objects) = match body.split_once(':') {
            Some((name, objects)) => (name.trim_end(), Some(objects)),
            None => (body, None),
        };
        let kind = match name {
            "frozen" => Self::Frozen,
            "drifting" => Self::Drifting,
            _ => {
                return Err(match nearest(name, ["growing", "frozen", "drifting"]) {
                    Some(near) if near != name => error.hint(format!("did you mean `{near}`?")),
                    _ => error,
                });
            }
        };
        let Some(objects) = objects else {
            return Err(error.hint(format!("give the number of objects: {name}:100k")));
        };
        let at = at + body.len() - objects.len();
        let number = count(objects).map_err(|error| error.shifted(at))?;
        match u32::try_from(number) {
            Ok(number @ 1..) => Ok(kind(number)),
            _ => Err(ParseError::new("from 1 to 4294967295 objects", objects, at, objects.len())),
        }
    }
}

impl FromStr for WorkingSet {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text)
    }
}

/// The text that [`WorkingSet::parse`] reads back to the same.
impl fmt::Display for WorkingSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Growing => f.write_str("growing"),
            Self::Frozen(objects) => write!(f, "frozen:{objects}"),
            Self::Drifting(objects) => write!(f, "drifting:{objects}"),
        }
    }
}

impl Drift {
    /// Reads `1% every 100k`: the share of the objects that change their rank, and after how many
    /// requests.
    ///
    /// # Errors
    /// What is no share above zero, or no number of requests above zero.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let wanted = "a share of the objects and a number of requests, such as 1% every 100k";
        let wrong = || ParseError::new(wanted, text, 0, text.len());
        let (moved, every) = text.split_once(" every ").ok_or_else(wrong)?;
        let every_at = text.len() - every.len();
        let drift = Self {
            share: share(moved)?,
            every: count(every).map_err(|error| error.shifted(every_at))?,
        };
        if drift.share <= 0.0 {
            return Err(ParseError::new("a share of the objects above 0%", moved, 0, moved.len()));
        }
        if drift.every == 0 {
            let wanted = "at least one request";
            return Err(ParseError::new(wanted, every, every_at, every.len()));
        }
        Ok(drift)
    }

    /// How many of so many objects change their rank at a time.
    pub(super) fn moved(&self, objects: u32) -> u32 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let moved = (f64::from(objects) * self.share).round() as u32;
        moved.max(2).min(objects)
    }
}

impl FromStr for Drift {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text)
    }
}

/// The text that [`Drift::parse`] reads back to the same.
impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} every {}", show_share_exact(self.share), self.every)
    }
}
