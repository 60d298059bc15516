//! How large a cache is: `10MB`, `10MiB`, `962obj`, `10%` of the footprint, `10%obj`.

use std::str::FromStr;

use plimsoll_units::ParseError;

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

/// A capacity that cannot be, for a trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CapacityError {
    /// Less than one object of the trace.
    #[error(
        "expected a cache size of at least 1 {unit}, found {text:?}, which is less of this trace"
    )]
    Nothing {
        /// What it was to be counted in.
        unit: &'static str,
        /// What was written.
        text: String,
    },
    /// Bytes of a trace that does not know them.
    #[error(
        "expected a cache size in objects, found {0:?}: this trace has no sizes; \
         write 962obj or 10%obj"
    )]
    NoSizes(String),
}

const WANTED: &str = "a cache size such as 10MB, 1GiB, 962obj, 10% or 10%obj";

/// Sums of bytes are below this.
const MOST: u64 = 1 << 63;

impl FromStr for Size {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = |hint: &str| ParseError::new(WANTED, text, 0, text.len()).hint(hint);
        let above_zero = |amount: u64| match amount {
            0 => Err(wrong("nothing fits into a cache of zero")),
            MOST.. => Err(wrong("the greatest is 2^63 - 1")),
            amount => Ok(amount),
        };
        let part = |text: &str| match plimsoll_units::share(text)? {
            share if share > 0.0 => Ok(share),
            _ => Err(wrong("nothing fits into a cache of zero")),
        };
        let trimmed = text.trim();
        let kind = if let Some(whole) = trimmed.strip_suffix("obj") {
            if whole.ends_with('%') {
                Kind::ShareOfObjects(part(whole)?)
            } else {
                Kind::Objects(above_zero(plimsoll_units::count(whole)?)?)
            }
        } else if trimmed.ends_with('%') {
            Kind::Share(part(trimmed)?)
        } else {
            Kind::Bytes(above_zero(plimsoll_units::size(trimmed)?)?)
        };
        Ok(Self { text: trimmed.to_owned(), kind })
    }
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
            (Kind::Share(share), Some(bytes)) => (Self::part(share, bytes), Unit::Bytes),
            (Kind::Objects(amount), _) => (amount, Unit::Objects),
            (Kind::Share(share), None) | (Kind::ShareOfObjects(share), _) => {
                (Self::part(share, distinct), Unit::Objects)
            }
        };
        if amount == 0 {
            let unit = if unit == Unit::Bytes { "byte" } else { "object" };
            return Err(CapacityError::Nothing { unit, text: self.text.clone() });
        }
        Ok(Capacity { amount, unit })
    }

    /// A share of a whole, rounded down. Percentages with few digits are exact in parts of 10^9, so
    /// that 10% of 10 is 1 and not 0.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 to a whole"
    )]
    #[expect(clippy::cast_precision_loss, reason = "a share that is no round number")]
    fn part(share: f64, whole: u64) -> u64 {
        const PARTS: f64 = 1e9;
        let parts = libm::round(share * PARTS);
        if libm::fabs(parts / PARTS - share) < share * 1e-12 {
            let part = u128::from(whole) * parts as u128 / PARTS as u128;
            return u64::try_from(part).unwrap_or(whole);
        }
        (share * whole as f64) as u64
    }
}

#[cfg(test)]
mod tests {
    use crate::trace::Names;

    use super::*;

    /// Twenty objects, of 100 bytes each where sizes are known.
    fn trace(sizes: bool) -> Trace {
        let trace = Trace::new((0..20).collect(), Names::Numbers((0..20).collect())).unwrap();
        if sizes { trace.with_sizes(vec![100; 20]).unwrap() } else { trace }
    }

    fn of(text: &str, sizes: bool) -> Result<Capacity, CapacityError> {
        text.parse::<Size>().unwrap().of(&trace(sizes))
    }

    #[test]
    fn sizes_mean_bytes_objects_or_shares() {
        let bytes = |amount| Ok(Capacity { amount, unit: Unit::Bytes });
        let objects = |amount| Ok(Capacity { amount, unit: Unit::Objects });
        assert_eq!(of("10MB", true), bytes(10_000_000));
        assert_eq!(of("10MiB", true), bytes(10 << 20));
        assert_eq!(of("962obj", true), objects(962));
        assert_eq!(of("200kobj", true), objects(200_000));
        assert_eq!(of("10%", true), bytes(200));
        assert_eq!(of("10%", false), objects(2));
        assert_eq!(of("10%obj", true), objects(2));
        assert_eq!(of("0.3%", true), bytes(6));
        assert_eq!(of("33.3333%", true), bytes(666));
        assert_eq!(of("100%", true), bytes(2000));
    }

    #[test]
    fn what_cannot_be_is_said() {
        for wrong in ["", "obj", "%", "0", "0obj", "0%", "-1MB", "10XB", "1.5obj", "101%", "ten"] {
            assert!(wrong.parse::<Size>().is_err(), "{wrong}");
        }
        let hint = |text: &str| text.parse::<Size>().unwrap_err().hint.unwrap_or_default();
        assert_eq!(hint("9223372036854775808"), "the greatest is 2^63 - 1");
        assert!("99999999999999999999999".parse::<Size>().is_err());
        assert!(matches!(of("10MB", false), Err(CapacityError::NoSizes(_))));
        assert!(matches!(of("1%obj", true), Err(CapacityError::Nothing { unit: "object", .. })));
        assert!(matches!(of("0.001%", true), Err(CapacityError::Nothing { unit: "byte", .. })));
    }
}
