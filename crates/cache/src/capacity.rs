//! How large a cache is: `10MB`, `10MiB`, `962obj`, `10%` of the footprint, `10%obj`.

use std::str::FromStr;

use crate::trace::Trace;

/// What a capacity is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of objects.
    Bytes,
    /// Objects, each one.
    Objects,
}

/// What may be inside a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Of the unit; above zero.
    pub amount: u64,
    /// Bytes or objects.
    pub unit: Unit,
}

/// A capacity as users write it: a share of a trace that is not known yet, or an amount.
#[derive(Debug, Clone, PartialEq)]
pub struct Size {
    text: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Bytes(u64),
    Objects(u64),
    /// Of the bytes of all objects; of their number where the trace has no sizes.
    Share(f64),
    ShareOfObjects(f64),
}

/// A capacity that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CapacityError {
    /// Not of the grammar.
    #[error("wanted a cache size such as 10MB, 1GiB, 962obj, 10% or 10%obj, found {0:?}")]
    Form(String),
    /// Nothing fits into it.
    #[error("wanted a cache size above zero, found {0:?}")]
    Zero(String),
    /// More than bytes can be counted.
    #[error("wanted a cache size below 2^63, found {0:?}")]
    TooLarge(String),
    /// Less than one object of the trace.
    #[error(
        "wanted a cache size of at least 1 {unit}, found {text:?}, which is less of this trace"
    )]
    Nothing {
        /// What it was to be counted in.
        unit: &'static str,
        /// What was written.
        text: String,
    },
    /// Bytes of a trace that does not know them.
    #[error(
        "wanted a cache size in objects, found {0:?}: this trace has no sizes; \
         write 962obj or 10%obj"
    )]
    NoSizes(String),
}

/// Powers of 1000 and of 1024, by their letters; longer suffixes first.
const UNITS: [(&str, u64); 15] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
    ("B", 1),
    ("", 1),
];

/// The most that a capacity may be.
const MOST: f64 = 9.2e18;

impl FromStr for Size {
    type Err = CapacityError;

    fn from_str(text: &str) -> Result<Self, CapacityError> {
        let kind = if let Some(share) = text.strip_suffix("%obj") {
            Kind::ShareOfObjects(share_of(text, share)?)
        } else if let Some(share) = text.strip_suffix('%') {
            Kind::Share(share_of(text, share)?)
        } else if let Some(count) = text.strip_suffix("obj") {
            Kind::Objects(amount(text, count, 1)?)
        } else {
            let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            let unit = UNITS.iter().find(|(name, _)| *name == &text[digits.len()..]);
            let (_, unit) = unit.ok_or_else(|| CapacityError::Form(text.to_owned()))?;
            Kind::Bytes(amount(text, digits, *unit)?)
        };
        Ok(Self { text: text.to_owned(), kind })
    }
}

fn share_of(text: &str, digits: &str) -> Result<f64, CapacityError> {
    let percent = number(text, digits)?;
    if percent <= 0.0 {
        return Err(CapacityError::Zero(text.to_owned()));
    }
    Ok(percent / 100.0)
}

fn number(text: &str, digits: &str) -> Result<f64, CapacityError> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number = digits.parse::<f64>().ok().filter(|number| plain && number.is_finite());
    number.ok_or_else(|| CapacityError::Form(text.to_owned()))
}

fn amount(text: &str, digits: &str, unit: u64) -> Result<u64, CapacityError> {
    let whole = if digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.is_empty() {
        // Exact also beyond 2^53.
        let too_large = || CapacityError::TooLarge(text.to_owned());
        let count = digits.parse::<u64>().map_err(|_| too_large())?;
        count.checked_mul(unit).filter(|&all| all < 1 << 63).ok_or_else(too_large)?
    } else {
        #[expect(clippy::cast_precision_loss, reason = "units are exact as they are powers")]
        let all = number(text, digits)? * unit as f64;
        floor(text, all)?
    };
    if whole == 0 {
        return Err(CapacityError::Zero(text.to_owned()));
    }
    Ok(whole)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 9.2e18")]
fn floor(text: &str, all: f64) -> Result<u64, CapacityError> {
    if all > MOST {
        return Err(CapacityError::TooLarge(text.to_owned()));
    }
    Ok(all as u64)
}

impl Size {
    /// As it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it is for a trace, rounded down.
    ///
    /// *Errors*: a share that is less than one of the unit; bytes of a trace without sizes.
    pub fn of(&self, trace: &Trace) -> Result<Capacity, CapacityError> {
        let bytes = trace.footprint_bytes();
        let distinct = u64::from(trace.distinct());
        let (amount, unit) = match (self.kind, bytes) {
            (Kind::Bytes(_), None) => return Err(CapacityError::NoSizes(self.text.clone())),
            (Kind::Bytes(amount), Some(_)) => (amount, Unit::Bytes),
            (Kind::Share(share), Some(bytes)) => (self.part(share, bytes)?, Unit::Bytes),
            (Kind::Objects(amount), _) => (amount, Unit::Objects),
            (Kind::Share(share), None) | (Kind::ShareOfObjects(share), _) => {
                (self.part(share, distinct)?, Unit::Objects)
            }
        };
        if amount == 0 {
            let unit = if unit == Unit::Bytes { "byte" } else { "object" };
            return Err(CapacityError::Nothing { unit, text: self.text.clone() });
        }
        Ok(Capacity { amount, unit })
    }

    /// A share of a whole, rounded down. Percentages with few digits are exact in parts of a
    /// million, so that 10% of 10 is 1 and not 0.
    fn part(&self, share: f64, whole: u64) -> Result<u64, CapacityError> {
        const PARTS: f64 = 1e9;
        let parts = libm::round(share * PARTS);
        if parts <= 9e15 && libm::fabs(parts / PARTS - share) < share * 1e-12 {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
            let part = u128::from(whole) * parts as u128 / 1_000_000_000;
            return u64::try_from(part).map_err(|_| CapacityError::TooLarge(self.text.clone()));
        }
        #[expect(clippy::cast_precision_loss, reason = "a share that is no round number")]
        floor(&self.text, share * whole as f64)
    }
}
