//! How popular each record is, as YCSB has it.
//!
//! - `uniform`: each the same.
//! - `zipf`: P(rank k) ∝ k^(−θ), θ = 0.99 (Gray et al., Quickly generating billion-record synthetic
//!   databases, SIGMOD 1994), each rank on the record FNV-1a(rank) mod n, so that popular records
//!   lie anywhere. Several ranks may share a record then, and some records have none.
//! - `zipf-plain`: record k − 1 has rank k: the first is the most popular.
//! - `latest`: by the same law, the newest record is the most popular.
//! - `hotset:20%,80%`: the first 20% of the records get 80% of the operations; within both sets
//!   each is the same.
//!
//! Ranks are drawn by rejection-inversion ([`Zipf`]), in constant memory for any number of records.

use std::fmt;

use plimsoll_units::hash::fnv_1a;
use plimsoll_units::{ParseError, nearest, share, show_share_exact};

use crate::random::Stream;
use crate::request::Zipf;

/// YCSB's exponent.
pub const THETA: f64 = 0.99;

const WANTED: &str = "zipf, zipf-plain, uniform, latest or hotset:20%,80%";

/// How popular each record is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Keys {
    /// Each the same.
    Uniform,
    /// By Zipf's law.
    Zipf {
        /// The exponent θ, zero or more.
        theta: f64,
        /// Whether popular records lie anywhere, or first.
        scrambled: bool,
    },
    /// By Zipf's law with θ = [`THETA`], the newest record first.
    Latest,
    /// Some get most operations.
    HotSet {
        /// The share of the records in the hot set.
        records: f64,
        /// The share of the operations it gets.
        operations: f64,
    },
}

impl Keys {
    /// `zipf`, scrambled, as YCSB has it.
    pub const ZIPF: Self = Self::Zipf { theta: THETA, scrambled: true };

    /// Reads `zipf`, `zipf:0.8`, `zipf-plain`, `uniform`, `latest` or `hotset:20%,80%`.
    ///
    /// # Errors
    /// An unknown name (with the nearest known one), a wrong parameter at its position.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let (name, rest) = match text.split_once(':') {
            Some((name, rest)) => (name, Some(rest)),
            None => (text, None),
        };
        let at = name.len() + 1;
        match (name, rest) {
            ("uniform", None) => Ok(Self::Uniform),
            ("latest", None) => Ok(Self::Latest),
            ("zipf" | "zipf-plain", rest) => {
                let scrambled = name == "zipf";
                let theta = rest.map_or(Ok(THETA), |rest| theta(rest, at))?;
                Ok(Self::Zipf { theta, scrambled })
            }
            ("hotset", Some(rest)) => hot_set(rest).map_err(|error| error.shifted(at)),
            ("hotset", None) => Err(ParseError::new(WANTED, text, 0, text.len())
                .hint("give the shares of records and operations: hotset:20%,80%")),
            _ => {
                let error = ParseError::new(WANTED, text, 0, text.len());
                let known = ["zipf", "zipf-plain", "uniform", "latest", "hotset"];
                Err(match nearest(name, known).filter(|near| *near != name) {
                    Some(near) => error.hint(format!("did you mean `{near}`?")),
                    None => error,
                })
            }
        }
    }
}

fn theta(text: &str, at: usize) -> Result<f64, ParseError> {
    match text.parse::<f64>() {
        Ok(theta) if (0.0..=10.0).contains(&theta) => Ok(theta),
        _ => Err(ParseError::new("an exponent from 0 to 10, such as 0.99", text, at, text.len())),
    }
}

fn hot_set(text: &str) -> Result<Keys, ParseError> {
    let wanted = "the shares of records and operations, such as 20%,80%";
    let wrong = || ParseError::new(wanted, text, 0, text.len());
    let (records, operations) = text.split_once(',').ok_or_else(wrong)?;
    let operations_at = text.len() - operations.len();
    let records = share(records)?;
    let operations = share(operations).map_err(|error| error.shifted(operations_at))?;
    if records <= 0.0 || records >= 1.0 {
        return Err(wrong().hint("the hot set is a part of the records: between 0% and 100%"));
    }
    Ok(Keys::HotSet { records, operations })
}

impl fmt::Display for Keys {
    /// Text that parses back to the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Latest => f.write_str("latest"),
            Self::Zipf { theta, scrambled } => {
                f.write_str(if *scrambled { "zipf" } else { "zipf-plain" })?;
                if theta.to_bits() == THETA.to_bits() { Ok(()) } else { write!(f, ":{theta}") }
            }
            Self::HotSet { records, operations } => {
                write!(f, "hotset:{},{}", show_share_exact(*records), show_share_exact(*operations))
            }
        }
    }
}

/// Draws records.
#[derive(Debug, Clone)]
pub(super) enum Chooser {
    Uniform { records: u64 },
    Zipf { zipf: Zipf, records: u64, scrambled: bool },
    Latest { records: u64 },
    HotSet { hot: u64, records: u64, operations: f64 },
}

impl Chooser {
    /// Over `0..records`, of which there is at least one.
    pub(super) fn new(keys: Keys, records: u64) -> Self {
        match keys {
            Keys::Latest => Self::Latest { records },
            Keys::HotSet { records: part, operations } => {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a share of a number of records; at least one is hot"
                )]
                let hot = ((records as f64 * part).round() as u64).clamp(1, records);
                Self::HotSet { hot, records, operations }
            }
            Keys::Zipf { theta, scrambled } => match Zipf::new(records, theta) {
                Ok(zipf) => Self::Zipf { zipf, records, scrambled },
                // An exponent that is none has been refused where the keys were read.
                Err(_) => Self::Uniform { records },
            },
            Keys::Uniform => Self::Uniform { records },
        }
    }

    /// A record; `inserted` of them are newer than those of the data set, and popular only where
    /// the latest are.
    pub(super) fn draw(&self, stream: &mut Stream, inserted: u64) -> u64 {
        match self {
            Self::Uniform { records } => stream.below(*records),
            Self::Zipf { zipf, records, scrambled } => {
                let rank = zipf.sample(stream) - 1;
                if *scrambled { fnv_1a(&rank.to_le_bytes()) % records } else { rank }
            }
            Self::Latest { records } => {
                let all = records + inserted;
                let rank = Zipf::new(all, THETA).map_or(1, |zipf| zipf.sample(stream));
                all - rank
            }
            Self::HotSet { hot, records, operations } => {
                let is_hot = stream.uniform() < *operations || hot == records;
                if is_hot { stream.below(*hot) } else { hot + stream.below(records - hot) }
            }
        }
    }
}
