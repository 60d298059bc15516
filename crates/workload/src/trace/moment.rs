//! Moments: the times in a trace, and the places where one is cut.
//!
//! A date-time without a zone is local time where the trace is from. One with a zone (`Z`,
//! `+02:00`, `-0400`) is a moment everywhere, and keeps its zone: it is the clock that was looked
//! at. Days are those of the proleptic Gregorian calendar.

use std::fmt;
use std::str::FromStr;

use plimsoll_units::{ParseError, civil, duration, show_duration_exact};

const NS_PER_S: i128 = 1_000_000_000;
const WANTED: &str =
    "a date-time such as 1995-09-06 05:00, or a duration since the start such as 5h";

/// A place in a trace: a date-time, or a time since the trace's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Nanoseconds since 1970-01-01 00:00, in the trace's own time.
    Date(i128),
    /// Nanoseconds since 1970-01-01 00:00 UTC, and by how many seconds the clock that told it is
    /// ahead of UTC.
    Zoned(i128, i32),
    /// Nanoseconds since the first row.
    Offset(u64),
}

impl Moment {
    /// Reads a date-time as it stands in traces (`1995-09-06`, `1995-09-06 05:00`,
    /// `2023-11-16T18:15:46.68Z`), or a duration since the trace's start (`5h`).
    ///
    /// # Errors
    /// What is neither.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let body = text.trim();
        if let Some(moment) = date_time(body) {
            return Ok(moment);
        }
        let at = text.len() - text.trim_start().len();
        match duration(body).ok().and_then(|value| u64::try_from(value.as_nanos()).ok()) {
            Some(ns) => Ok(Self::Offset(ns)),
            None => Err(ParseError::new(WANTED, body, at, body.len())
                .hint("durations have units: ns, us, ms, s, m, h, d")),
        }
    }
}

impl FromStr for Moment {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text)
    }
}

/// The text that [`Moment::parse`] reads back to the same.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ns, ahead_s) = match *self {
            Self::Offset(ns) => return f.write_str(&show_duration_exact(ns)),
            Self::Date(ns) => (ns, None),
            Self::Zoned(ns, ahead_s) => (ns + i128::from(ahead_s) * NS_PER_S, Some(ahead_s)),
        };
        let (days, of_day) = (ns.div_euclid(86_400 * NS_PER_S), ns.rem_euclid(86_400 * NS_PER_S));
        let (year, month, day) = civil::date(i64::try_from(days).unwrap_or(i64::MAX));
        let (second, part) = (of_day / NS_PER_S, of_day % NS_PER_S);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}")?;
        if second > 0 || part > 0 {
            write!(f, ":{second:02}")?;
        }
        if part > 0 {
            let part = format!("{part:09}");
            write!(f, ".{}", part.trim_end_matches('0'))?;
        }
        match ahead_s {
            None => Ok(()),
            Some(0) => f.write_str(" UTC"),
            Some(ahead_s) => {
                let (sign, minutes) = (if ahead_s < 0 { '-' } else { '+' }, ahead_s.abs() / 60);
                write!(f, " {sign}{:02}:{:02}", minutes / 60, minutes % 60)
            }
        }
    }
}

impl Moment {
    /// Seconds since the midnight before, by the clock that told the moment; `None` of a time since
    /// a trace's start.
    #[must_use]
    pub fn of_day_s(self) -> Option<f64> {
        let ns = match self {
            Self::Offset(_) => return None,
            Self::Date(ns) => ns,
            Self::Zoned(ns, ahead_s) => ns + i128::from(ahead_s) * NS_PER_S,
        };
        Some(ns.rem_euclid(86_400 * NS_PER_S) as f64 / NS_PER_S as f64)
    }

    /// How many nanoseconds a date is after another: a date without a zone is told by the clock of
    /// the other one. `None` where one of them is no date.
    #[must_use]
    pub fn since(self, origin: Self) -> Option<i128> {
        match (self, origin) {
            (Self::Offset(_), _) | (_, Self::Offset(_)) => None,
            (Self::Date(ns), Self::Zoned(origin, ahead_s)) => {
                Some(ns - i128::from(ahead_s) * NS_PER_S - origin)
            }
            (Self::Date(ns) | Self::Zoned(ns, _), Self::Date(origin) | Self::Zoned(origin, _)) => {
                Some(ns - origin)
            }
        }
    }

    /// The moment so many nanoseconds later, by the same clock.
    #[must_use]
    pub fn later(self, by_ns: u64) -> Self {
        match self {
            Self::Offset(ns) => Self::Offset(ns.saturating_add(by_ns)),
            Self::Date(ns) => Self::Date(ns + i128::from(by_ns)),
            Self::Zoned(ns, ahead_s) => Self::Zoned(ns + i128::from(by_ns), ahead_s),
        }
    }

    /// Nanoseconds since 1970-01-01 00:00 of a date: UTC, or the trace's own time without a zone.
    #[must_use]
    pub fn date_ns(self) -> Option<i128> {
        match self {
            Self::Offset(_) => None,
            Self::Date(ns) | Self::Zoned(ns, _) => Some(ns),
        }
    }
}

/// Reads `YYYY-MM-DD`, then optionally ` ` or `T`, `HH:MM`, `:SS`, a fraction and a zone; `/` may
/// stand for `-`.
pub(super) fn date_time(text: &str) -> Option<Moment> {
    let mut rest = text.as_bytes();
    let year = digits(&mut rest, 4)?;
    let separator = take(&mut rest, b"-/")?;
    let month = digits(&mut rest, 2)?;
    take(&mut rest, &[separator])?;
    let day = digits(&mut rest, 2)?;
    let year = i64::try_from(year).ok()?;
    let (month, day) = (u32::try_from(month).ok()?, u32::try_from(day).ok()?);
    if !civil::is_date(year, month, day) {
        return None;
    }
    let mut ns = i128::from(civil::days(year, month, day)) * 86_400 * NS_PER_S;
    if rest.is_empty() {
        return Some(Moment::Date(ns));
    }
    take(&mut rest, b" T")?;
    let hour = digits(&mut rest, 2)?;
    take(&mut rest, b":")?;
    let minute = digits(&mut rest, 2)?;
    let mut second = 0;
    if take(&mut rest, b":").is_some() {
        second = digits(&mut rest, 2)?;
        if take(&mut rest, b".,").is_some() {
            ns += fraction(&mut rest)?;
        }
    }
    // A leap second is the first of the next minute.
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    ns += (hour * 3600 + minute * 60 + second) * NS_PER_S;
    Some(match zone(rest.trim_ascii_start())? {
        None => Moment::Date(ns),
        Some(ahead_s) => Moment::Zoned(ns - i128::from(ahead_s) * NS_PER_S, ahead_s),
    })
}

/// The seconds by which a zone is ahead of UTC, where one is said; `None` for what is no zone.
fn zone(mut rest: &[u8]) -> Option<Option<i32>> {
    match rest {
        [] => return Some(None),
        b"Z" | b"z" | b"UTC" => return Some(Some(0)),
        _ => {}
    }
    let ahead = if take(&mut rest, b"+-")? == b'+' { 1 } else { -1 };
    let hour = digits(&mut rest, 2)?;
    let _ = take(&mut rest, b":");
    let minute = if rest.is_empty() { 0 } else { digits(&mut rest, 2)? };
    let is_zone = rest.is_empty() && hour < 24 && minute < 60;
    is_zone.then(|| i32::try_from(ahead * (hour * 3600 + minute * 60)).ok())
}

/// A fraction of a second, at least one digit; beyond nanoseconds it is cut.
fn fraction(rest: &mut &[u8]) -> Option<i128> {
    let len = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (all, after) = rest.split_at(len);
    *rest = after;
    let kept = &all[..len.min(9)];
    let value = kept.iter().fold(0, |value, byte| value * 10 + i128::from(byte - b'0'));
    #[expect(clippy::cast_possible_truncation, reason = "at most 9")]
    let missing = 9 - kept.len() as u32;
    (len > 0).then(|| value * 10_i128.pow(missing))
}

/// Takes exactly `n` digits off the front.
fn digits(rest: &mut &[u8], n: usize) -> Option<i128> {
    let (front, after) = rest.split_at_checked(n)?;
    *rest = after;
    front.iter().try_fold(0, |value, byte| {
        byte.is_ascii_digit().then(|| value * 10 + i128::from(byte - b'0'))
    })
}

/// Takes one of these bytes off the front.
fn take(rest: &mut &[u8], of: &[u8]) -> Option<u8> {
    let (&first, after) = rest.split_first()?;
    of.contains(&first).then(|| {
        *rest = after;
        first
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i128 = NS_PER_S;

    #[test]
    fn reads_date_times() {
        let date = |text: &str| date_time(text).and_then(Moment::date_ns);
        for (text, ns) in [
            ("1970-01-01", 0),
            ("1970-01-02 00:01", 86_460 * S),
            ("2000-03-01", 951_868_800 * S),
            ("1995-09-06 05:00", 810_363_600 * S),
            ("1998-04-30T21:30:00Z", 893_971_800 * S),
            ("1995-07-01 00:00:01 -0400", 804_571_201 * S),
            ("2023-11-16 18:15:46.6805900", 1_700_158_546 * S + 680_590_000),
            ("1970-01-01T01:00:00.5+01:00", 500_000_000),
            ("1969-12-31 23:59:59.9999999999", -1),
            ("2016-12-31 23:59:60", 1_483_228_800 * S),
        ] {
            assert_eq!(date(text), Some(ns), "{text}");
        }
        for text in [
            "",
            "1995",
            "1995-13-01",
            "1995-02-29",
            "1900-02-29",
            "1995-00-01",
            "1995-01-00",
            "1995-01-01 24:00",
            "1995-01-01 05",
            "1995-01-01 05:60",
            "1995-01-01x05:00",
            "1995-01/01",
            "1995-01-01 05:00 EST",
            "1995-01-01 05:00+1",
            "1995-01-01 05:00:00.",
            "95-01-01",
            "1995-01-01 05:00+01:00x",
            "٣٣٣٣-01-01",
        ] {
            assert_eq!(date_time(text), None, "{text}");
        }
    }

    #[test]
    fn moments_read_back() {
        for text in [
            "1995-09-06 05:00",
            "2023-11-16 18:15:46.68059",
            "2026-11-20 18:37:12 +01:00",
            "2026-11-20 18:37:12.5 -04:30",
            "2026-11-20 18:37 UTC",
            "5h",
            "1m30s",
            "0s",
        ] {
            let moment = Moment::parse(text).unwrap();
            assert_eq!(Moment::parse(&moment.to_string()), Ok(moment), "{text}");
            assert_eq!(moment.to_string(), text);
        }
        assert_eq!(Moment::parse(" 5h "), Ok(Moment::Offset(18_000_000_000_000)));
        let error = Moment::parse(" 5").unwrap_err();
        assert_eq!((error.at, error.len), (1, 1));
    }

    /// The clock that told a moment says the time of day, and is the one that a date without a zone
    /// is taken by.
    #[test]
    fn a_date_without_a_zone_is_by_the_clock_of_the_trace() {
        let at = |text: &str| Moment::parse(text).unwrap();
        let origin = at("2026-11-20T18:37:12+01:00");
        for (text, seconds) in [
            ("2026-11-20 20:00", 4_968),
            ("2026-11-20 20:00 +01:00", 4_968),
            ("2026-11-20 20:00 UTC", 8_568),
            ("2026-11-20 18:37:12", 0),
            ("2026-11-20 14:00 -04:00", 1_368),
        ] {
            assert_eq!(at(text).since(origin), Some(seconds * S), "{text}");
        }
        let local = at("2026-11-20 18:37:12");
        assert_eq!(at("2026-11-20 18:37:13 UTC").since(local), Some(S), "taken for UTC");
        assert_eq!(at("5h").since(origin), None);
        for (of, of_day_s) in [(origin, 67_032.0), (local, 67_032.0)] {
            assert_eq!(of.of_day_s(), Some(of_day_s));
            let later = of.later(86_400_000_000_000 + 1_000_000_000);
            assert_eq!(later.of_day_s(), Some(of_day_s + 1.0));
        }
        assert_eq!(at("5h").of_day_s(), None);
        assert_eq!(at("1969-12-31 23:00 -02:00").of_day_s(), Some(82_800.0));
    }
}
