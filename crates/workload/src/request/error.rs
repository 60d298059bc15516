//! What can be wrong with the requests of a load.

use plimsoll_units::ParseError;
use plimsoll_units::failure::{Failure, FileError, Kind};

/// Why the requests of a load cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// There is nothing to request.
    #[error("expected at least one URL, found none in {origin}: put one URL or path on each line")]
    NoUrls {
        /// Where they were looked for.
        origin: String,
    },
    /// More requests than an index counts.
    #[error("expected at most {} requests, found {found}: shorten the list", u32::MAX)]
    TooMany {
        /// How many there are.
        found: usize,
    },
    /// A line of a list; its column is counted in bytes from 1.
    #[error("{origin}:{line}:{}: {error}", error.at + 1)]
    Line {
        /// The list's file, or what the caller called it.
        origin: String,
        /// Counted from 1.
        line: u64,
        /// What is wrong with the line; positions count within it.
        error: ParseError,
    },
    /// A list of requests with more text than is read.
    #[error("expected a list of at most 256 MiB, found more in {origin}: split it")]
    TooLong {
        /// The list's file, or what the caller called it.
        origin: String,
    },
    /// The file cannot be opened or read.
    #[error(transparent)]
    File(#[from] FileError),
    /// Weights that do not fit the list.
    #[error("expected {wanted} weights, one a URL, found {found}: give each URL its weight")]
    WeightCount {
        /// How many requests there are.
        wanted: usize,
        /// How many weights there are.
        found: usize,
    },
    /// A weight that cannot be drawn by.
    #[error(
        "expected weights of zero or more with at least one above, found {found} at {at}: \
         use counts such as 1, 2.5 or 40"
    )]
    Weight {
        /// The weight, or the sum of all.
        found: f64,
        /// Index of the weight from 0, or the number of weights where the sum is wrong.
        at: usize,
    },
    /// A list whose weights are all zero.
    #[error(
        "expected at least one weight above zero in {origin}, found none: nothing would be asked"
    )]
    NoWeight {
        /// The list's file, or what the caller called it.
        origin: String,
    },
    /// An exponent that no Zipf distribution has.
    #[error("expected a Zipf exponent of zero or more, found {found}: 0.8 is common for web pages")]
    Exponent {
        /// What was given.
        found: f64,
    },
}

impl Failure for RequestError {
    fn kind(&self) -> Kind {
        Kind::Usage
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::File(error) => error.hint(),
            Self::Line { error, .. } => error.hint.clone(),
            _ => None,
        }
    }
}
