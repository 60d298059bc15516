//! Plain quantities: sizes in bytes (`10MB`, `1KiB`), shares (`25%`, `0.25`), counts (`200k`),
//! prices (`0.17/h`).

use crate::error::ParseError;
use crate::number::Decimal;

const SIZE: &str = "a size such as 962, 10MB or 1KiB";
const SIZE_UNITS: &str = "units are B, k, M, G and T (thousands: kB, MB, …) and Ki, Mi, Gi and Ti \
                          (of 1024: KiB, MiB, …)";
const SHARE: &str = "a share such as 25% or 0.25";
const COUNT: &str = "a whole number such as 64, 200_000 or 200k";
const PRICE: &str = "a price per hour above zero such as 0.17/h";
/// Prices are below this, so that products of them are finite.
const GREATEST_PRICE: f64 = 1e12;

/// Reads a size in bytes: `962`, `962B`, `10MB` (10^7), `10MiB`, `1k`, `1.5KiB`. Case is ignored.
///
/// # Errors
/// An unknown unit, a size that is not a whole number of bytes or above `u64`.
pub fn size(text: &str) -> Result<u64, ParseError> {
    let part = Part::of(text, SIZE)?;
    let unit = part.unit.to_ascii_lowercase();
    let prefix = unit.strip_suffix('b').unwrap_or(&unit);
    let bytes = match prefix {
        "" => 1,
        "k" => 1_000,
        "m" => 1_000_000,
        "g" => 1_000_000_000,
        "t" => 1_000_000_000_000,
        "ki" => 1 << 10,
        "mi" => 1 << 20,
        "gi" => 1 << 30,
        "ti" => 1 << 40,
        _ => return Err(part.wrong(SIZE).hint(SIZE_UNITS)),
    };
    part.whole(bytes, SIZE, "bytes")
}

/// Reads a share: `25%` and `0.25` are the same. Within 0 and 1, ends included.
///
/// All is `100%`: a bare `1` is refused, because who writes `1` for a share may mean 1%.
///
/// # Errors
/// A number above 100%, one of 1 or more without a percent sign, another unit.
pub fn share(text: &str) -> Result<f64, ParseError> {
    let part = Part::of(text, SHARE)?;
    let percent = match part.unit {
        "" => false,
        "%" => true,
        _ => return Err(part.wrong(SHARE).hint("write 25% or 0.25")),
    };
    let value = if percent { part.number.percent() } else { part.number.scaled(1, 1.0) };
    if value < 1.0 || (percent && value <= 1.0) {
        return Ok(value);
    }
    if value <= 1.0 {
        let error = part.wrong("a share with its percent sign, such as 1% or 100%");
        return Err(error.hint("write 1%, or 100% if it is a share of 1"));
    }
    let error = part.wrong("a share between 0 and 1, or 0% and 100%");
    Err(if percent || value > 100.0 {
        error.hint("it cannot be more than 100%")
    } else {
        error.hint(format!("{}% is a share of {}", part.digits, part.number.percent()))
    })
}

/// Reads a whole number: `64`, `200000`, `200_000`, `200k`, `1.5M`.
///
/// # Errors
/// A number that is not whole, another unit than k, M or G, a number above `u64`.
pub fn count(text: &str) -> Result<u64, ParseError> {
    let part = Part::of(text, COUNT)?;
    let times = match part.unit {
        "" => 1,
        "k" | "K" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        _ => return Err(part.wrong(COUNT).hint("k, M and G stand for thousands and more")),
    };
    part.whole(times, COUNT, "whole units")
}

/// Reads a price per hour: `0.17/h`. The currency is the reader's.
///
/// # Errors
/// Anything but digits, at most one point, and `/h`; a price that is not above zero.
pub fn price(text: &str) -> Result<f64, ParseError> {
    let body = text.trim();
    let at = text.len() - text.trim_start().len();
    let wrong = || ParseError::new(PRICE, body, at, body.len());
    let Some(number) = body.strip_suffix("/h") else {
        let is_bare = !body.is_empty() && body.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let hint = if is_bare { format!("write {body}/h") } else { "write 0.17/h".to_owned() };
        return Err(wrong().hint(hint));
    };
    let number = number.trim_end();
    if !number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return Err(wrong().hint("a plain number of the currency you reckon in, without its sign"));
    }
    let value: f64 = number.parse().map_err(|_| wrong())?;
    if value > 0.0 && value < GREATEST_PRICE { Ok(value) } else { Err(wrong()) }
}

/// A number and the text after it.
struct Part<'a> {
    number: Decimal,
    digits: &'a str,
    unit: &'a str,
    whole: &'a str,
    at: usize,
}

impl<'a> Part<'a> {
    fn of(text: &'a str, wanted: &str) -> Result<Self, ParseError> {
        let whole = text.trim();
        let at = text.len() - text.trim_start().len();
        let (number, len) = Decimal::read(whole, wanted).map_err(|error| error.shifted(at))?;
        Ok(Self { number, digits: &whole[..len], unit: whole[len..].trim_start(), whole, at })
    }

    fn wrong(&self, wanted: &str) -> ParseError {
        ParseError::new(wanted, self.whole, self.at, self.whole.len())
    }

    /// The number times `unit`, which must come to a whole number within `u64`.
    fn whole(&self, unit: u128, wanted: &str, of: &str) -> Result<u64, ParseError> {
        match self.number.times_exact(unit) {
            Ok(Some(whole)) => Ok(whole),
            Ok(None) => Err(self.wrong(wanted).hint(format!("it must come to a number of {of}"))),
            Err(()) => Err(self.wrong(wanted).hint(format!("the greatest is {}", u64::MAX))),
        }
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "a share is rounded once, as the literal is")]
mod tests {
    use super::*;

    #[test]
    fn reads_sizes() {
        for (text, bytes) in [
            ("962", 962),
            ("962B", 962),
            ("10MB", 10_000_000),
            ("10MiB", 10 << 20),
            ("1k", 1_000),
            ("1K", 1_000),
            ("1KiB", 1024),
            ("1.5KiB", 1536),
            ("1 kB", 1_000),
            ("2Gi", 2 << 30),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(size(text).unwrap(), bytes, "{text}");
        }
        for text in ["", "-1", "1.5", "0.1KiB", "1x", "1bb", "18446744073709551616", "99999999TiB"]
        {
            assert!(size(text).is_err(), "{text}");
        }
        assert_eq!(size("10 MBit").unwrap_err().hint.unwrap(), SIZE_UNITS);
    }

    #[test]
    fn reads_shares() {
        for (text, value) in [
            ("25%", 0.25),
            ("0.25", 0.25),
            ("99.999%", 0.999_99),
            ("0.1%", 0.001),
            ("100%", 1.0),
            ("0.999", 0.999),
            ("0.05", 0.05),
            ("0", 0.0),
            ("0%", 0.0),
        ] {
            assert_eq!(share(text).unwrap(), value, "{text}");
        }
        for text in ["", "-5%", "101%", "1", "1.0", "1.01", "25", "5 %%", "NaN", "5 percent"] {
            assert!(share(text).is_err(), "{text}");
        }
        assert_eq!(share("25").unwrap_err().hint.unwrap(), "25% is a share of 0.25");
        for text in ["1", " 1", "1.0", "1.00"] {
            let error = share(text).unwrap_err();
            assert_eq!(error.hint.unwrap(), "write 1%, or 100% if it is a share of 1", "{text}");
        }
    }

    #[test]
    fn reads_counts() {
        for (text, n) in [("64", 64), ("200000", 200_000), ("200_000", 200_000), ("200k", 200_000)]
        {
            assert_eq!(count(text).unwrap(), n, "{text}");
        }
        assert_eq!(count("1.5k").unwrap(), 1_500);
        for text in ["", "-1", "1.5", "1.0005k", "10s", "99999999999G"] {
            assert!(count(text).is_err(), "{text}");
        }
        let error = count(" 1.5").unwrap_err();
        assert_eq!((error.at, error.len), (1, 3));
    }

    #[test]
    fn wrong_prices_are_told() {
        let error = price("0.17").unwrap_err();
        assert_eq!(
            error.to_string(),
            "expected a price per hour above zero such as 0.17/h, found `0.17`"
        );
        assert_eq!(error.hint.unwrap(), "write 0.17/h");
        assert!(price("$0.17/h").unwrap_err().hint.unwrap().contains("without its sign"));
        for wrong in ["", "/h", "0/h", "-1/h", "1e3/h", "1/s", "1..2/h", "NaN/h", "inf/h", "./h"] {
            assert!(price(wrong).is_err(), "{wrong}");
        }
        assert!(price(&format!("{}/h", "9".repeat(400))).is_err());
        let error = price("  x/h").unwrap_err();
        assert_eq!((error.at, error.len), (2, 3));
    }
}
