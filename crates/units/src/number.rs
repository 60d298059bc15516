//! A decimal number as it was typed, exact: no binary rounding before the unit is applied.
//!
//! Grammar: digits, with `_` between digits, then optionally `.` and digits. No sign, no exponent.

use crate::error::ParseError;

/// The most digits a number may have, not counting zeros before the first other digit.
///
/// `10^MAX_DIGITS` times the largest unit (a day in nanoseconds) fits 128 bits.
pub const MAX_DIGITS: usize = 20;
/// The most digits after the point, zeros included; `10^MAX_DECIMALS` fits 128 bits.
const MAX_DECIMALS: u32 = 36;

/// `mantissa / 10^decimals`, exactly the number typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decimal {
    mantissa: u128,
    decimals: u32,
}

impl Decimal {
    /// Reads the number at the start of `text`; gives it and the number of bytes it took.
    ///
    /// Fails, naming `wanted`, when there is none or it has too many digits.
    pub(crate) fn read(text: &str, wanted: &str) -> Result<(Self, usize), ParseError> {
        let bytes = text.as_bytes();
        let (mut mantissa, mut decimals, mut digits) = (0_u128, 0_u32, 0_usize);
        let (mut point, mut at) = (false, 0);
        while at < bytes.len() {
            let next_is_digit = bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
            match bytes[at] {
                digit @ b'0'..=b'9' => {
                    digits += usize::from(mantissa > 0 || digit > b'0');
                    decimals = decimals.saturating_add(u32::from(point));
                    if digits <= MAX_DIGITS && decimals <= MAX_DECIMALS {
                        mantissa = mantissa * 10 + u128::from(digit - b'0');
                    }
                }
                b'_' if at > 0 && bytes[at - 1].is_ascii_digit() && next_is_digit => {}
                b'.' if at > 0 && !point && next_is_digit => point = true,
                _ => break,
            }
            at += 1;
        }
        if at == 0 {
            return Err(no_number(text, wanted));
        }
        if digits > MAX_DIGITS || decimals > MAX_DECIMALS {
            let wanted = format!("{wanted} of at most {MAX_DIGITS} digits");
            return Err(ParseError::new(wanted, &text[..at], 0, at).hint("give it fewer digits"));
        }
        Ok((Self { mantissa, decimals }, at))
    }

    /// The number times `unit`, rounded to the nearest whole; `None` beyond `u64`.
    pub(crate) fn times_rounded(self, unit: u128) -> Option<u64> {
        let divisor = 10_u128.pow(self.decimals);
        u64::try_from((self.mantissa.checked_mul(unit)? + divisor / 2) / divisor).ok()
    }

    /// The number times `unit` where that is whole, `Ok(None)` where it is not; `Err` beyond `u64`.
    pub(crate) fn times_exact(self, unit: u128) -> Result<Option<u64>, ()> {
        let divisor = 10_u128.pow(self.decimals);
        let product = self.mantissa.checked_mul(unit).ok_or(())?;
        let whole = u64::try_from(product / divisor).map_err(|_| ())?;
        Ok((product % divisor == 0).then_some(whole))
    }

    /// The number times `times`, correctly rounded, divided by `over`.
    pub(crate) fn scaled(self, times: u128, over: f64) -> f64 {
        let text = format!("{}e-{}", self.mantissa * times, self.decimals);
        text.parse::<f64>().unwrap_or(f64::NAN) / over
    }

    /// The number over a hundred, correctly rounded.
    pub(crate) fn percent(self) -> f64 {
        Self { decimals: self.decimals + 2, ..self }.scaled(1, 1.0)
    }

    /// Whether it has a fractional part as typed (`1.0` has one).
    pub(crate) fn has_point(self) -> bool {
        self.decimals > 0
    }
}

fn no_number(text: &str, wanted: &str) -> ParseError {
    let error = ParseError::new(wanted, text, 0, text.len());
    match text.chars().next() {
        Some('-') => error.hint("it cannot be below zero"),
        Some('+') => error.hint("leave the sign away"),
        Some('.') => error.hint("write a digit before the point, and one after it"),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (f64, usize) {
        let (number, len) = Decimal::read(text, "a number").unwrap();
        (number.scaled(1, 1.0), len)
    }

    #[test]
    fn reads_decimals_and_stops_where_they_end() {
        assert_eq!(read("64"), (64.0, 2));
        assert_eq!(read("200_000x"), (200_000.0, 7));
        assert_eq!(read("1.5k/s"), (1.5, 3));
        assert_eq!(read("0.5"), (0.5, 3));
        assert_eq!(read("99.999%"), (99.999, 6));
        assert_eq!(read("1..9"), (1.0, 1));
        assert_eq!(read("1_"), (1.0, 1));
        assert_eq!(read("000000000000000000000000000007"), (7.0, 30));
    }

    #[test]
    fn refuses_what_is_no_number() {
        for text in ["", "-1", "+1", ".", ".5", "x", "NaN", "inf", "_1", "½"] {
            assert!(Decimal::read(text, "a number").is_err(), "{text}");
        }
        let error = Decimal::read(&"9".repeat(1000), "a number").unwrap_err();
        assert_eq!((error.at, error.len), (0, 1000));
    }
}
