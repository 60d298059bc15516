//! Durations: `5ms`, `1.5s`, `1h30m`. Whole nanoseconds; finer fractions round to the nearest.

use std::time::Duration;

use crate::error::ParseError;
use crate::number::Decimal;
use crate::show::significant;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * S;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Every accepted unit; the micro sign is typed in three ways.
const UNITS: [(&str, u64); 9] = [
    ("d", DAY),
    ("h", HOUR),
    ("m", MINUTE),
    ("s", S),
    ("ms", MS),
    ("us", US),
    ("µs", US),
    ("μs", US),
    ("ns", 1),
];

const WANTED: &str = "a duration such as 250ms, 10s or 1h30m";
const ACCEPTED: &str = "units are ns, us, ms, s, m, h and d";

/// Reads a duration: one or more numbers with units, the units descending (`1h30m`), a fraction
/// only in the last. At most what `u64` nanoseconds hold, 584 years.
///
/// # Errors
/// A number without a unit, an unknown unit, units out of order, a duration too long.
pub fn duration(text: &str) -> Result<Duration, ParseError> {
    let body = text.trim_end();
    let mut at = body.len() - body.trim_start().len();
    let whole = &body[at..];
    let start = at;
    let mut total = 0_u64;
    let mut last: Option<(u64, bool)> = None;
    while at < body.len() || last.is_none() {
        let rest = &body[at..];
        let (number, digits) = Decimal::read(rest, WANTED).map_err(|error| error.shifted(at))?;
        let (unit, len) = unit_after(&rest[digits..])
            .map_err(|found| wrong_unit(whole, start, &rest[..digits], found, at))?;
        if last.is_some_and(|(greater, fraction)| unit >= greater || fraction) {
            return Err(ParseError::new(WANTED, whole, start, whole.len())
                .hint("put the greater unit first, and a fraction only in the last part"));
        }
        total = number
            .times_rounded(u128::from(unit))
            .and_then(|part| total.checked_add(part))
            .ok_or_else(|| {
                ParseError::new("a duration of at most 213503d", whole, start, whole.len())
            })?;
        last = Some((unit, number.has_point()));
        at += digits + len;
        at += body[at..].len() - body[at..].trim_start().len();
    }
    Ok(Duration::from_nanos(total))
}

/// The unit at the start of a text (blanks before it allowed) and the bytes it takes; or, as an
/// error, the word that is none.
fn unit_after(text: &str) -> Result<(u64, usize), &str> {
    let word = text.trim_start();
    let blanks = text.len() - word.len();
    let end = word.find(|c: char| !c.is_alphabetic()).unwrap_or(word.len());
    let word = &word[..end];
    UNITS.iter().find(|(name, _)| *name == word).map(|&(_, ns)| (ns, blanks + end)).ok_or(word)
}

fn wrong_unit(whole: &str, start: usize, digits: &str, word: &str, at: usize) -> ParseError {
    if word.is_empty() {
        ParseError::new(WANTED, whole, start, whole.len())
            .hint(format!("{ACCEPTED}: {digits}s is {digits} seconds"))
    } else {
        let meant = match word.to_ascii_lowercase().as_str() {
            "sec" | "secs" | "second" | "seconds" => "s",
            "min" | "mins" | "minute" | "minutes" => "m",
            "hr" | "hrs" | "hour" | "hours" => "h",
            "day" | "days" => "d",
            "msec" | "msecs" | "millis" => "ms",
            "usec" | "usecs" | "micros" => "us",
            other => UNITS.iter().find(|(name, _)| *name == other).map_or("", |(name, _)| name),
        };
        let error = ParseError::new(WANTED, whole, at, whole.len() - (at - start));
        match meant {
            "" => error.hint(ACCEPTED),
            unit => error.hint(format!("{ACCEPTED}: write {digits}{unit}")),
        }
    }
}

/// Nanoseconds for a person: three significant digits up to a minute (`1.23 ms`, `870 µs`), then
/// the two greatest units (`2 m 05 s`, `1 d 03 h`).
#[must_use]
pub fn show_duration(ns: u64) -> String {
    // Rounded to the smaller unit shown, so that 59.99 s becomes one minute.
    let two = |great: u64, name: &str, small: u64, small_name: &str| {
        let rounded = ns / small + u64::from(ns % small >= small / 2);
        let per = great / small;
        format!("{} {name} {:02} {small_name}", rounded / per, rounded % per)
    };
    match ns {
        0..1_000 => format!("{ns} ns"),
        US..999_500 => format!("{} µs", significant(ns, US)),
        999_500..999_500_000 => format!("{} ms", significant(ns, MS)),
        999_500_000..59_950_000_000 => format!("{} s", significant(ns, S)),
        _ if ns < HOUR - S / 2 => two(MINUTE, "m", S, "s"),
        _ if ns < DAY - MINUTE / 2 => two(HOUR, "h", MINUTE, "m"),
        _ => two(DAY, "d", HOUR, "h"),
    }
}

/// Nanoseconds as a text that [`duration`] reads back to the same: `1.5s`, `1m30s`, `250us`.
#[must_use]
pub fn show_duration_exact(ns: u64) -> String {
    let decimal = |ns: u64, unit: u64, name: &str| {
        let digits = unit.ilog10() as usize;
        let fraction = format!("{:0digits$}", ns % unit);
        match fraction.trim_end_matches('0') {
            "" => format!("{}{name}", ns / unit),
            fraction => format!("{}.{fraction}{name}", ns / unit),
        }
    };
    match ns {
        0 => "0s".to_owned(),
        1..US => format!("{ns}ns"),
        US..MS => decimal(ns, US, "us"),
        MS..S => decimal(ns, MS, "ms"),
        _ => {
            let mut text = String::new();
            let mut rest = ns;
            for (unit, name) in [(DAY, "d"), (HOUR, "h"), (MINUTE, "m")] {
                if rest >= unit {
                    text += &format!("{}{name}", rest / unit);
                    rest %= unit;
                }
            }
            if rest > 0 {
                text += &decimal(rest, S, "s");
            }
            text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_unit_and_their_sums() {
        let ns = |text: &str| duration(text).unwrap().as_nanos();
        assert_eq!(ns("100ns"), 100);
        assert_eq!(ns("250us"), 250_000);
        assert_eq!(ns("250µs"), 250_000);
        assert_eq!(ns("250μs"), 250_000);
        assert_eq!(ns("5ms"), 5_000_000);
        assert_eq!(ns("1.5s"), 1_500_000_000);
        assert_eq!(ns("2m"), 120_000_000_000);
        assert_eq!(ns("1h30m"), 5_400_000_000_000);
        assert_eq!(ns("1d"), 86_400_000_000_000);
        assert_eq!(ns(" 1h 30m 1.5s "), 5_401_500_000_000);
        assert_eq!(ns("2 m 05 s"), 125_000_000_000);
        assert_eq!(ns("0s"), 0);
        assert_eq!(ns("0.3333333333333s"), 333_333_333);
        assert_eq!(ns("0.6666666666666s"), 666_666_667);
        assert_eq!(ns("18446744073709551615ns"), u128::from(u64::MAX));
    }

    #[test]
    fn points_at_what_is_wrong_and_says_what_to_do() {
        let error = duration("30").unwrap_err();
        assert_eq!(error.to_string(), format!("expected {WANTED}, found `30`"));
        assert_eq!((error.at, error.len), (0, 2));
        assert_eq!(error.hint.unwrap(), format!("{ACCEPTED}: 30s is 30 seconds"));
        let error = duration("1h30min").unwrap_err();
        assert_eq!((error.at, error.len), (2, 5));
        assert!(error.hint.unwrap().ends_with("write 30m"));
        assert!(duration("10 parsec").unwrap_err().hint.unwrap().contains("ns, us, ms"));
        assert!(duration("10MS").unwrap_err().hint.unwrap().ends_with("write 10ms"));
        for text in ["", " ", "-5s", "1e3s", "s", "1m1h", "1m1m", "1.5m30s", "5s,", "1h-5m", "NaNs"]
        {
            assert!(duration(text).is_err(), "{text}");
        }
        assert_eq!(duration("-5s").unwrap_err().hint.unwrap(), "it cannot be below zero");
        assert!(duration("300000d").is_err());
        assert!(duration("213503d1d").is_err());
    }

    #[test]
    fn shows_three_digits_to_a_person() {
        for (ns, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1 µs"),
            (870_000, "870 µs"),
            (999_499, "999 µs"),
            (999_500, "1.00 ms"),
            (1_234_567, "1.23 ms"),
            (1_500_000, "1.5 ms"),
            (1_499_999, "1.50 ms"),
            (12_345_678, "12.3 ms"),
            (999_600_000, "1.00 s"),
            (10_000_000_000, "10 s"),
            (59_940_000_000, "59.9 s"),
            (59_990_000_000, "1 m 00 s"),
            (125_000_000_000, "2 m 05 s"),
            (3_599_600_000_000, "1 h 00 m"),
            (5_400_000_000_000, "1 h 30 m"),
            (97_200_000_000_000, "1 d 03 h"),
        ] {
            assert_eq!(show_duration(ns), text);
        }
    }

    #[test]
    fn shows_exactly() {
        for (ns, text) in [
            (0, "0s"),
            (1, "1ns"),
            (1_500, "1.5us"),
            (250_000_000, "250ms"),
            (1_500_000_000, "1.5s"),
            (90_000_000_000, "1m30s"),
            (86_400_000_000_001, "1d0.000000001s"),
        ] {
            assert_eq!(show_duration_exact(ns), text);
        }
    }
}
