//! Sizes of the bodies of answers, in bytes.

use std::fmt;
use std::str::FromStr;

use plimsoll_units::{ParseError, nearest, size};
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::random::Stream;

/// The greatest body that is sent, bytes.
pub const MAX_BODY: u64 = 100_000_000;

const WANTED: &str = "a size up to 100MB such as 1, 1KiB, uniform:1KiB..9KiB, exp:10KiB, \
                      lognormal:10KiB,1.2 or pareto:1.2,1KiB..1MB";

/// How large the body of an answer is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BodySize {
    /// Always so many bytes.
    Fixed(u64),
    /// Drawn for each answer; a byte where the distribution says a nanosecond.
    Drawn(Distribution),
}

impl BodySize {
    /// The size of the next body, bytes, at most [`MAX_BODY`].
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        match self {
            Self::Fixed(bytes) => (*bytes).min(MAX_BODY),
            Self::Drawn(sizes) => sizes.sample_ns(stream).min(MAX_BODY),
        }
    }

    /// Reads a size (`1`, `10KiB`) or a distribution of sizes (`exp:10KiB`).
    ///
    /// # Errors
    ///
    /// What a size looks like, and where the text differs from it.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let Some((name, parameters)) = text.split_once(':') else {
            return bytes(text).map(Self::Fixed);
        };
        let at = name.len() + 1;
        let shifted = |error: ParseError| error.shifted(at);
        let wrong = || ParseError::new(WANTED, text, 0, text.len());
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
                let sigma = number(sigma).ok_or_else(wrong)?;
                Distribution::LogNormal { mean_ns, sigma }
            }
            "pareto" => {
                let (shape, bounds) = parameters.split_once(',').ok_or_else(wrong)?;
                let shape = number(shape).ok_or_else(wrong)?;
                let bounds_at = at + parameters.len() - bounds.len();
                let (low_ns, high_ns) = range(bounds).map_err(|error| error.shifted(bounds_at))?;
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

impl FromStr for BodySize {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text)
    }
}

impl fmt::Display for BodySize {
    /// Text that parses back to the same; sizes in bytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Fixed(bytes) => write!(f, "{bytes}"),
            Self::Drawn(Distribution::Constant { ns }) => write!(f, "{ns}"),
            Self::Drawn(Distribution::Uniform { low_ns, high_ns }) => {
                write!(f, "uniform:{low_ns}..{high_ns}")
            }
            Self::Drawn(Distribution::Exponential { mean_ns }) => write!(f, "exp:{mean_ns}"),
            Self::Drawn(Distribution::LogNormal { mean_ns, sigma }) => {
                write!(f, "lognormal:{mean_ns},{sigma}")
            }
            Self::Drawn(Distribution::Pareto { shape, low_ns, high_ns }) => {
                write!(f, "pareto:{shape},{low_ns}..{high_ns}")
            }
        }
    }
}

fn bytes(text: &str) -> Result<u64, ParseError> {
    let bytes = size(text)?;
    if bytes > MAX_BODY {
        return Err(ParseError::new("a body of at most 100MB", text, 0, text.len()));
    }
    Ok(bytes)
}

fn range(text: &str) -> Result<(u64, u64), ParseError> {
    let wrong = || ParseError::new("two sizes such as 1KiB..9KiB", text, 0, text.len());
    let (low, high) = text.split_once("..").ok_or_else(wrong)?;
    let (low, high_at) = (bytes(low)?, text.len() - high.len());
    let high = bytes(high).map_err(|error| error.shifted(high_at))?;
    if low < high { Ok((low, high)) } else { Err(wrong()) }
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|&number: &f64| number.is_finite() && number > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_sizes_and_distributions_of_sizes() {
        for text in
            ["1", "0", "uniform:10..1000", "exp:10240", "pareto:1.5,1..9", "lognormal:7,0.5"]
        {
            assert_eq!(BodySize::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(BodySize::parse("1KiB").unwrap(), BodySize::Fixed(1024));
        assert_eq!(BodySize::parse("const:2k").unwrap(), BodySize::Fixed(2000));
    }

    #[test]
    fn refuses_what_is_no_size() {
        for text in ["", "x", "101MB", "exp:", "uniform:9..1", "pareto:1,0..9", "lognormal:7,-1"] {
            assert!(BodySize::parse(text).is_err(), "{text}");
        }
        let error = BodySize::parse("unifrom:1..9").unwrap_err();
        assert!(error.to_string().contains("size") && error.hint.is_some(), "{error:?}");
    }

    #[test]
    fn draws_stay_within_bounds() {
        let mut stream = Stream::named(7, "sizes");
        let sizes = BodySize::parse("uniform:10..20").unwrap();
        assert!((0..1000).all(|_| (10..=20).contains(&sizes.draw(&mut stream))));
        assert_eq!(BodySize::Fixed(u64::MAX).draw(&mut stream), MAX_BODY);
    }
}
