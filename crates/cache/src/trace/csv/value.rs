//! Times and sizes as tables have them.

use plimsoll_workload::trace::Moment;

/// Numbers that say nothing of their unit are seconds.
pub(super) const DEFAULT_UNIT: u64 = 1;

const NS_PER_S: i128 = 1_000_000_000;

/// The size in a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    Bytes(u64),
    /// Empty, or `-`.
    Unknown,
    Wrong,
}

pub(super) fn size(text: &[u8]) -> Size {
    if matches!(text, b"" | b"-") {
        return Size::Unknown;
    }
    // Tables that had gaps once write 512.0.
    let (whole, fraction) = match memchr::memchr(b'.', text) {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &b""[..]),
    };
    match digits(whole) {
        Some(bytes) if fraction.iter().all(|&byte| byte == b'0') => Size::Bytes(bytes),
        _ => Size::Wrong,
    }
}

/// A number of digits alone, below 2^64.
fn digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 20 {
        return None;
    }
    text.iter().try_fold(0u64, |number, &byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then_some(())?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// What a number's size says of its unit: 10^11 seconds are the year 5138, 10^11 milliseconds 1973.
/// `None` where it is no number, or one that says nothing.
pub(super) fn unit_of(text: &[u8]) -> Option<u64> {
    let whole = memchr::memchr(b'.', text).map_or(text, |point| &text[..point]);
    Some(match digits(whole)? {
        0..100_000_000_000 => DEFAULT_UNIT,
        100_000_000_000..100_000_000_000_000 => 1_000,
        100_000_000_000_000..100_000_000_000_000_000 => 1_000_000,
        _ => 1_000_000_000,
    })
}

/// The second of a time: a number of which `unit` make one, with or without a fraction, or a date
/// as `2026-07-01 12:00:00`.
pub(super) fn second(text: &[u8], unit: u64) -> Option<i64> {
    if let Some(number) = digits(text) {
        return i64::try_from(number / unit).ok();
    }
    let text = std::str::from_utf8(text).ok()?;
    if let Ok(number) = text.parse::<f64>() {
        #[expect(clippy::cast_precision_loss, reason = "a power of ten up to 10^9")]
        let second = libm::floor(number / unit as f64);
        #[expect(clippy::cast_possible_truncation, reason = "below 2^63")]
        return (libm::fabs(second) < 9e18).then_some(second as i64);
    }
    match Moment::parse(text) {
        Ok(Moment::Date(ns)) => i64::try_from(ns.div_euclid(NS_PER_S)).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, expected) in [
            ("0", Size::Bytes(0)),
            ("512", Size::Bytes(512)),
            ("512.00", Size::Bytes(512)),
            ("18446744073709551615", Size::Bytes(u64::MAX)),
            ("", Size::Unknown),
            ("-", Size::Unknown),
            ("18446744073709551616", Size::Wrong),
            ("-1", Size::Wrong),
            ("1.5", Size::Wrong),
            (".", Size::Wrong),
            ("1e3", Size::Wrong),
            ("text", Size::Wrong),
        ] {
            assert_eq!(size(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn times() {
        for (text, unit, expected) in [
            ("0", 1, Some(0)),
            ("893973604", 1, Some(893_973_604)),
            ("1500", 1000, Some(1)),
            ("1286536309.586", 1, Some(1_286_536_309)),
            ("-0.5", 1, Some(-1)),
            ("1.5e3", 1, Some(1500)),
            ("1998-04-30T21:30:00Z", 1, Some(893_971_800)),
            ("1998-04-30 21:30:00.9", 1000, Some(893_971_800)),
            ("5h", 1, None),
            ("", 1, None),
            ("inf", 1, None),
            ("nan", 1, None),
            ("1e300", 1, None),
        ] {
            assert_eq!(second(text.as_bytes(), unit), expected, "{text}");
        }
    }

    #[test]
    fn large_numbers_tell_their_unit() {
        for (text, unit) in [
            ("0", Some(1)),
            ("1286536309.5", Some(1)),
            ("1286536309586", Some(1_000)),
            ("1286536309586123", Some(1_000_000)),
            ("1286536309586123456", Some(1_000_000_000)),
            ("1998-04-30", None),
            ("x", None),
        ] {
            assert_eq!(unit_of(text.as_bytes()), unit, "{text}");
        }
    }
}
