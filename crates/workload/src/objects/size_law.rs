//! How large objects are: the laws of [`Sizes`], and one more with a body and a tail.

use std::fmt;
use std::str::FromStr;

use plimsoll_units::ParseError;

use super::tailed::{NAME, Tailed};
use crate::distribution::Distribution;
use crate::random::Stream;
use crate::size::Sizes;

/// The greatest size of an object, bytes: 1 TiB.
pub const MAX_SIZE: u64 = 1 << 40;

/// The law of the sizes of objects. Whatever the law, an object has from 1 B to [`MAX_SIZE`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SizeLaw {
    /// One size for all, or a law without a tail of its own.
    Plain(Sizes),
    /// A lognormal body with a Pareto tail.
    Tailed(Tailed),
}

impl Default for SizeLaw {
    /// Exponential with a mean of 13 kB, as the simplest workload of Web Polygraph 4.9 has it.
    fn default() -> Self {
        Self::of(Distribution::Exponential { mean_ns: 13_000 })
    }
}

impl SizeLaw {
    /// A distribution, a byte where it says a nanosecond.
    #[must_use]
    pub fn of(distribution: Distribution) -> Self {
        Self::Plain(Sizes::Drawn(distribution))
    }

    /// Reads `13kB`, `exp:13kB`, `uniform:1kB..9kB`, `lognormal:10KiB,1.2`,
    /// `pareto:1.2,1KiB..100MiB` (shape, bounds), or
    /// `lognormal+pareto:10KiB,1.3,7%,1.1,133kB..50MB` (mean and σ of the body, share and shape of
    /// the tail, its bounds).
    ///
    /// # Errors
    /// What a law looks like, or the bounds of a number, and where the text differs from them.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let body = text.trim();
        let at = text.len() - text.trim_start().len();
        let law = match body.split_once(':') {
            Some((NAME, parts)) => Tailed::parse(parts, MAX_SIZE)
                .map(Self::Tailed)
                .map_err(|error| error.shifted(NAME.len() + 1)),
            _ => Sizes::parse(body, 1..=MAX_SIZE).map(Self::Plain),
        };
        law.map_err(|error| error.shifted(at))
    }

    /// Draws a size, bytes.
    pub(super) fn draw(&self, draws: &mut Stream) -> u64 {
        let size = match self {
            Self::Plain(sizes) => sizes.draw(draws),
            Self::Tailed(law) => law.draw(draws),
        };
        size.clamp(1, MAX_SIZE)
    }

    /// The mean, bytes, but for sizes that are cut to the bounds of all objects.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match self {
            Self::Plain(Sizes::Fixed(bytes)) => *bytes as f64,
            Self::Plain(Sizes::Drawn(distribution)) => distribution.mean() * 1e9,
            Self::Tailed(law) => law.mean(),
        }
    }
}

impl FromStr for SizeLaw {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text)
    }
}

/// The text that [`SizeLaw::parse`] reads back to the same; sizes in bytes.
impl fmt::Display for SizeLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(sizes) => sizes.fmt(f),
            Self::Tailed(law) => law.fmt(f),
        }
    }
}
