//! Sizes in bytes: one for all, or drawn from a distribution.
//!
//! The distributions are those of durations ([`Distribution`]), a byte where they say a nanosecond:
//! `uniform:1KiB..9KiB`, `exp:10KiB`, `lognormal:10KiB,1.2`, `pareto:1.2,1KiB..100KiB`.

use std::fmt;
use std::ops::RangeInclusive;

use plimsoll_units::{ParseError, nearest, size};

use crate::distribution::Distribution;
use crate::random::Stream;

const WANTED: &str = "a size such as 100B, 1KiB, uniform:1KiB..9KiB, exp:10KiB, \
                      lognormal:10KiB,1.2 or pareto:1.2,1KiB..100KiB";

/// How large something is, in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sizes {
    /// Always so many bytes.
    Fixed(u64),
    /// Drawn for each; a byte where the distribution says a nanosecond.
    Drawn(Distribution),
}

impl Sizes {
    /// The next size, as the distribution has it; the caller bounds it.
    #[must_use]
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Drawn(sizes) => sizes.sample_ns(stream),
        }
    }

    /// Reads a size (`1`, `10KiB`) or a distribution of sizes (`exp:10KiB`), every size in it
    /// within `bounds`.
    ///
    /// # Errors
    /// What a size looks like, or the bounds, and where the text differs from them.
    pub fn parse(text: &str, bounds: RangeInclusive<u64>) -> Result<Self, ParseError> {
        let bytes = |text: &str| within(text, &bounds);
        let Some((name, parameters)) = text.split_once(':') else {
            return bytes(text).map(Self::Fixed);
        };
        let at = name.len() + 1;
        let shifted = |error: ParseError| error.shifted(at);
        let wrong = || ParseError::new(WANTED, text, 0, text.len());
        let number = |text: &str| {
            let number = text.trim().parse().ok();
            number.filter(|&number: &f64| number > 0.0 && number <= 100.0).ok_or_else(wrong)
        };
        let range = |text: &str| {
            let wrong = || ParseError::new("two sizes such as 1KiB..9KiB", text, 0, text.len());
            let (low, high) = text.split_once("..").ok_or_else(wrong)?;
            let (low, high_at) = (bytes(low)?, text.len() - high.len());
            let high = bytes(high).map_err(|error| error.shifted(high_at))?;
            if low < high { Ok((low, high)) } else { Err(wrong()) }
        };
        let sizes = match name {
            "const" => return bytes(parameters).map(Self::Fixed).map_err(shifted),
            "exp" => Distribution::Exponential { mean_ns: bytes(parameters).map_err(shifted)? },
            "uniform" => {
                let (low_ns, high_ns) = range(parameters).map_err(shifted)?;
                Distribution::Uniform { low_ns, high_ns }
            }
            "lognormal" => {
                let (mean, sigma) = parameters.split_once(',').ok_or_else(wrong)?;
                let mean_ns = bytes(mean).map_err(shifted)?;
                Distribution::LogNormal { mean_ns, sigma: number(sigma)? }
            }
            "pareto" => {
                let (shape, ends) = parameters.split_once(',').ok_or_else(wrong)?;
                let shape = number(shape)?;
                let ends_at = at + parameters.len() - ends.len();
                let (low_ns, high_ns) = range(ends).map_err(|error| error.shifted(ends_at))?;
                if low_ns == 0 {
                    return Err(wrong());
                }
                Distribution::Pareto { shape, low_ns, high_ns }
            }
            _ => {
                let error = ParseError::new(WANTED, text, 0, name.len());
                let known = ["const", "uniform", "exp", "lognormal", "pareto"];
                return Err(match nearest(name, known) {
                    Some(known) => error.hint(format!("did you mean `{known}`?")),
                    None => error,
                });
            }
        };
        Ok(Self::Drawn(sizes))
    }
}

fn within(text: &str, bounds: &RangeInclusive<u64>) -> Result<u64, ParseError> {
    let bytes = size(text)?;
    if bounds.contains(&bytes) {
        return Ok(bytes);
    }
    let wanted = format!("a size from {} B to {} B", bounds.start(), bounds.end());
    Err(ParseError::new(wanted, text, 0, text.len()))
}

impl fmt::Display for Sizes {
    /// Text that parses back to the same; sizes in bytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Fixed(bytes) => write!(f, "{bytes}B"),
            Self::Drawn(Distribution::Constant { ns }) => write!(f, "{ns}B"),
            Self::Drawn(Distribution::Uniform { low_ns, high_ns }) => {
                write!(f, "uniform:{low_ns}B..{high_ns}B")
            }
            Self::Drawn(Distribution::Exponential { mean_ns }) => write!(f, "exp:{mean_ns}B"),
            Self::Drawn(Distribution::LogNormal { mean_ns, sigma }) => {
                write!(f, "lognormal:{mean_ns}B,{sigma}")
            }
            Self::Drawn(Distribution::Pareto { shape, low_ns, high_ns }) => {
                write!(f, "pareto:{shape},{low_ns}B..{high_ns}B")
            }
        }
    }
}
