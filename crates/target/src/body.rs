//! Sizes of the bodies of answers, in bytes.

use std::fmt;
use std::str::FromStr;

use plimsoll_units::ParseError;
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::random::Stream;
use plimsoll_workload::size::Sizes;

/// The greatest body that is sent, bytes.
pub const MAX_BODY: u64 = 100_000_000;

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
        self.sizes().draw(stream).min(MAX_BODY)
    }

    /// Reads a size (`1`, `10KiB`) or a distribution of sizes (`exp:10KiB`).
    ///
    /// # Errors
    ///
    /// What a size looks like, and where the text differs from it.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        Sizes::parse(text, 0..=MAX_BODY).map(|sizes| match sizes {
            Sizes::Fixed(bytes) => Self::Fixed(bytes),
            Sizes::Drawn(sizes) => Self::Drawn(sizes),
        })
    }

    fn sizes(self) -> Sizes {
        match self {
            Self::Fixed(bytes) => Sizes::Fixed(bytes),
            Self::Drawn(sizes) => Sizes::Drawn(sizes),
        }
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
        self.sizes().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_sizes_and_distributions_of_sizes() {
        for text in [
            "1B",
            "0B",
            "uniform:10B..1000B",
            "exp:10240B",
            "pareto:1.5,1B..9B",
            "lognormal:7B,0.5",
        ] {
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
