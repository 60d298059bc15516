//! Times and sizes as tables have them.

use plimsoll_workload::trace::Moment;

use super::columns::TimeUnit;

/// Numbers that say nothing of their unit are seconds.
pub(super) const DEFAULT_UNIT: TimeUnit = TimeUnit::PerSecond(1);

const NS_PER_S: i128 = 1_000_000_000;
/// So many 100 ns make a second.
pub(super) const HUNDREDS: u64 = 10_000_000;

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

/// What a number says of its unit: 10^11 seconds are the year 5138, 10^11 milliseconds 1973; and
/// fourteen digits that make a date of our times would be milliseconds of the year 2600.
/// `None` where it is no number, or one that says nothing, as zero.
pub(super) fn unit_of(text: &[u8]) -> Option<TimeUnit> {
    let whole = memchr::memchr(b'.', text).map_or(text, |point| &text[..point]);
    let number = digits(whole)?;
    if number > 0 && of_digits(text).is_some() {
        return Some(TimeUnit::Digits);
    }
    Some(match number {
        0 => return None,
        1..100_000_000_000 => DEFAULT_UNIT,
        100_000_000_000..100_000_000_000_000 => TimeUnit::PerSecond(1_000),
        100_000_000_000_000..100_000_000_000_000_000 => TimeUnit::PerSecond(1_000_000),
        _ if hundreds_since(number) > 0 => TimeUnit::PerSecond(HUNDREDS),
        _ => TimeUnit::PerSecond(1_000_000_000),
    })
}

/// Where numbers of 100 ns begin, seconds before 1970: in 1601, as Windows has file times, or in
/// the year 1, as .NET has ticks, where that comes to a day from 1990 to 2100; else in 1970.
fn hundreds_since(number: u64) -> i64 {
    match number / HUNDREDS {
        12_275_625_600..15_746_918_400 => 11_644_473_600,
        62_766_748_800..66_238_041_600 => 62_135_596_800,
        _ => 0,
    }
}

/// The second of a time: a number in its unit, with or without a fraction, or a date as
/// `2026-07-01 12:00:00`.
pub(super) fn second(text: &[u8], unit: TimeUnit) -> Option<i64> {
    let unit = match unit {
        TimeUnit::PerSecond(unit) => unit,
        TimeUnit::Digits => return of_digits(text),
    };
    if let Some(number) = digits(text) {
        let since = if unit == HUNDREDS { hundreds_since(number) } else { 0 };
        return Some(i64::try_from(number / unit).ok()? - since);
    }
    let text = std::str::from_utf8(text).ok()?;
    if let Ok(number) = text.parse::<f64>() {
        #[expect(clippy::cast_precision_loss, reason = "a power of ten up to 10^9")]
        let second = libm::floor(number / unit as f64);
        #[expect(clippy::cast_possible_truncation, reason = "below 2^63")]
        return (libm::fabs(second) < 9e18).then_some(second as i64);
    }
    of_date(text)
}

/// The second of a day as `2026-07-01` and a time of it as `12:00:00`.
pub(super) fn second_of_day(date: &[u8], time: &[u8]) -> Option<i64> {
    let text = [date, b" ", time].concat();
    of_date(std::str::from_utf8(&text).ok()?)
}

/// The second of a date in fourteen digits, `20260701120000`, from 1900 to 2099.
fn of_digits(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    let is_one = text.len() == 14
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && (text.starts_with("19") || text.starts_with("20"));
    if !is_one {
        return None;
    }
    let (day, time) = text.split_at(8);
    let (year, month, day) = (&day[..4], &day[4..6], &day[6..]);
    of_date(&format!("{year}-{month}-{day} {}:{}:{}", &time[..2], &time[2..4], &time[4..]))
}

fn of_date(text: &str) -> Option<i64> {
    let ns = Moment::parse(text).ok()?.date_ns()?;
    i64::try_from(ns.div_euclid(NS_PER_S)).ok()
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
            ("128166372003061629", 10_000_000, Some(1_172_163_600)),
            ("25000000", 10_000_000, Some(2)),
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
            let unit = TimeUnit::PerSecond(unit);
            assert_eq!(second(text.as_bytes(), unit), expected, "{text}");
        }
        for (text, expected) in [
            ("19980430213000", Some(893_971_800)),
            ("19980431213000", None),
            ("1998043021300", None),
            ("18980430213000", None),
        ] {
            assert_eq!(second(text.as_bytes(), TimeUnit::Digits), expected, "{text}");
        }
        assert_eq!(second_of_day(b"1998-04-30", b"21:30:00"), Some(893_971_800));
        assert_eq!(second_of_day(b"1998-04-30", b"noon"), None);
    }

    #[test]
    fn large_numbers_tell_their_unit() {
        for (text, unit) in [
            ("0", None),
            ("0.5", None),
            ("7", Some(1)),
            ("1286536309.5", Some(1)),
            ("1286536309586", Some(1_000)),
            ("1286536309586123", Some(1_000_000)),
            ("1286536309586123456", Some(1_000_000_000)),
            // 2007 and 2026.
            ("128166372003061629", Some(10_000_000)),
            ("639000000000000000", Some(10_000_000)),
            ("1998-04-30", None),
            ("x", None),
        ] {
            assert_eq!(unit_of(text.as_bytes()), unit.map(TimeUnit::PerSecond), "{text}");
        }
        assert_eq!(unit_of(b"20260701120000"), Some(TimeUnit::Digits));
        assert_eq!(unit_of(b"20261301120000"), Some(TimeUnit::PerSecond(1_000)));
    }
}
