//! Moments: the times in a trace, and the places where one is cut.
//!
//! A date-time without a zone is local time somewhere; only differences within one trace matter,
//! so it is read as if it were UTC. One with a zone (`Z`, `+02:00`, `-0400`) is brought to UTC.
//! Days are those of the proleptic Gregorian calendar.

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
        if let Some(ns) = date_time(body) {
            return Ok(Self::Date(ns));
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
        let ns = match *self {
            Self::Offset(ns) => return f.write_str(&show_duration_exact(ns)),
            Self::Date(ns) => ns,
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
        Ok(())
    }
}

/// Reads `YYYY-MM-DD`, then optionally ` ` or `T`, `HH:MM`, `:SS`, a fraction and a zone, as
/// nanoseconds since 1970; `/` may stand for `-`.
pub(super) fn date_time(text: &str) -> Option<i128> {
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
        return Some(ns);
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
    Some(ns - zone(rest)? * NS_PER_S)
}

/// The seconds by which a zone is ahead of UTC; none is 0.
fn zone(mut rest: &[u8]) -> Option<i128> {
    rest = rest.trim_ascii_start();
    if rest.is_empty() || rest == b"Z" || rest == b"z" || rest == b"UTC" {
        return Some(0);
    }
    let ahead = if take(&mut rest, b"+-")? == b'+' { 1 } else { -1 };
    let hour = digits(&mut rest, 2)?;
    let _ = take(&mut rest, b":");
    let minute = if rest.is_empty() { 0 } else { digits(&mut rest, 2)? };
    (rest.is_empty() && hour < 24 && minute < 60).then_some(ahead * (hour * 3600 + minute * 60))
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
            assert_eq!(date_time(text), Some(ns), "{text}");
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
        for text in ["1995-09-06 05:00", "2023-11-16 18:15:46.68059", "5h", "1m30s", "0s"] {
            let moment = Moment::parse(text).unwrap();
            assert_eq!(Moment::parse(&moment.to_string()), Ok(moment), "{text}");
        }
        assert_eq!(Moment::parse(" 5h "), Ok(Moment::Offset(18_000_000_000_000)));
        let error = Moment::parse(" 5").unwrap_err();
        assert_eq!((error.at, error.len), (1, 1));
    }
}
