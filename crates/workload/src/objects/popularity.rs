//! How requests fall on ranks: Zipf's law, and a hot set that gets a share of its own.
//!
//! The formulas are in the [module](super)'s text.

use std::fmt;
use std::str::FromStr;

use plimsoll_units::{ParseError, nearest, share, show_share_exact};

/// The greatest exponent: beyond it nearly every request asks for the first rank.
pub(super) const MAX_EXPONENT: f64 = 10.0;

const WANTED: &str = "a popularity such as zipf:0.8 or uniform";

/// P(rank k) ∝ k^(−exponent).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Popularity {
    /// From 0, the same for all, to 10.
    pub exponent: f64,
}

/// A part of the working set that gets a share of the requests of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HotSet {
    /// Its share of the working set, above 0 and below 1; at least one object is hot.
    pub objects: f64,
    /// Its share of the requests; of those that are revisits, where the population is open.
    pub requests: f64,
}

impl Popularity {
    /// The same for all.
    pub const UNIFORM: Self = Self { exponent: 0.0 };

    /// Reads `uniform` or `zipf:0.8`.
    ///
    /// # Errors
    /// Another name (with the nearest known one), an exponent that is none from 0 to 10.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let body = text.trim();
        let at = text.len() - text.trim_start().len();
        if body == "uniform" {
            return Ok(Self::UNIFORM);
        }
        let (name, exponent) = match body.split_once(':') {
            Some((name, exponent)) => (name.trim_end(), Some(exponent)),
            None => (body, None),
        };
        if name != "zipf" {
            let error = ParseError::new(WANTED, body, at, body.len());
            return Err(match nearest(name, ["zipf", "uniform"]) {
                Some(near) if near != name => error.hint(format!("did you mean `{near}`?")),
                _ => error,
            });
        }
        let Some(exponent) = exponent else {
            let error = ParseError::new(WANTED, body, at, body.len());
            return Err(error.hint("give the exponent: zipf:0.8"));
        };
        match exponent.trim().parse() {
            Ok(exponent) if (0.0..=MAX_EXPONENT).contains(&exponent) => Ok(Self { exponent }),
            _ => {
                let at = at + body.len() - exponent.trim_start().len();
                let exponent = exponent.trim();
                let wanted = "an exponent from 0 to 10, such as 0.8";
                Err(ParseError::new(wanted, exponent, at, exponent.len()))
            }
        }
    }
}

impl FromStr for Popularity {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text)
    }
}

/// The text that [`Popularity::parse`] reads back to the same.
impl fmt::Display for Popularity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.exponent == 0.0 {
            f.write_str("uniform")
        } else {
            write!(f, "zipf:{}", self.exponent)
        }
    }
}

impl HotSet {
    /// Reads `1%,10%`: the hot set's share of the working set, and its share of the requests.
    ///
    /// # Errors
    /// What is no share; a hot set of nothing, or of everything.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let wanted = "the hot set's shares of objects and of requests, such as 1%,10%";
        let wrong = || ParseError::new(wanted, text, 0, text.len());
        let (objects, requests) = text.split_once(',').ok_or_else(wrong)?;
        let requests_at = text.len() - requests.len();
        let hot = Self {
            objects: share(objects)?,
            requests: share(requests).map_err(|error| error.shifted(requests_at))?,
        };
        if hot.objects <= 0.0 || hot.objects >= 1.0 {
            let wanted = "a share of the objects above 0% and below 100%";
            return Err(ParseError::new(wanted, objects, 0, objects.len()));
        }
        Ok(hot)
    }

    /// How many of so many objects are hot.
    pub(super) fn size(&self, objects: u32) -> u32 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let hot = (f64::from(objects) * self.objects).round() as u32;
        hot.clamp(1, objects)
    }
}

impl FromStr for HotSet {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text)
    }
}

/// The text that [`HotSet::parse`] reads back to the same.
impl fmt::Display for HotSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [objects, requests] = [self.objects, self.requests].map(show_share_exact);
        write!(f, "{objects},{requests}")
    }
}
