//! Times of access logs, read by hand: dates are most of what a log line costs.
//!
//! Years are 1970 to 9999; a leap second (`:60`) counts as the first of the next minute, as POSIX
//! time has it.

use plimsoll_units::civil;

/// When a request was logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    /// Seconds since 1970-01-01T00:00:00Z.
    pub second: i64,
    /// The fraction, where the log has one.
    pub nanos: Option<u32>,
    /// By how many seconds the clock of the line is ahead of UTC; `None` where it does not say.
    pub zone_s: Option<i32>,
}

/// Days since 1970-01-01 of a date that exists.
pub(super) fn days(year: u32, month: u32, day: u32) -> Option<i64> {
    let year = i64::from(year);
    let is_date = (1970..=9999).contains(&year) && civil::is_date(year, month, day);
    is_date.then(|| civil::days(year, month, day))
}

pub(super) fn second_of(day: i64, hour: u32, minute: u32, second: u32, zone_s: i64) -> Option<i64> {
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    Some(day * 86_400 + i64::from(hour * 3600 + minute * 60 + second) - zone_s)
}

pub(super) fn two(text: &[u8], at: usize) -> Option<u32> {
    let (tens, ones) = (text[at].wrapping_sub(b'0'), text[at + 1].wrapping_sub(b'0'));
    (tens < 10 && ones < 10).then(|| u32::from(tens) * 10 + u32::from(ones))
}

pub(super) fn four(text: &[u8], at: usize) -> Option<u32> {
    Some(two(text, at)? * 100 + two(text, at + 2)?)
}

pub(super) fn month(name: &[u8]) -> Option<u32> {
    Some(match name {
        b"Jan" => 1,
        b"Feb" => 2,
        b"Mar" => 3,
        b"Apr" => 4,
        b"May" => 5,
        b"Jun" => 6,
        b"Jul" => 7,
        b"Aug" => 8,
        b"Sep" => 9,
        b"Oct" => 10,
        b"Nov" => 11,
        b"Dec" => 12,
        _ => return None,
    })
}

/// The bytes of a date of the Common Log Format.
pub(super) const CLF_BYTES: usize = 26;

/// `10/Oct/2000:13:55:36 -0700`.
pub(super) fn clf(text: &[u8; CLF_BYTES]) -> Option<Moment> {
    let marks = text[2] == b'/'
        && text[6] == b'/'
        && text[11] == b':'
        && text[14] == b':'
        && text[17] == b':'
        && text[20] == b' ';
    if !marks {
        return None;
    }
    let day = days(four(text, 7)?, month(&text[3..6])?, two(text, 0)?)?;
    let zone_s = zone(&text[21..])?;
    let time = (two(text, 12)?, two(text, 15)?, two(text, 18)?);
    Moment::of(day, time, zone_s, None)
}

impl Moment {
    /// A time of a day, by a clock of a zone, or of none.
    pub(super) fn of(
        day: i64,
        (hour, minute, second): (u32, u32, u32),
        zone_s: Option<i32>,
        nanos: Option<u32>,
    ) -> Option<Self> {
        let ahead_s = i64::from(zone_s.unwrap_or(0));
        Some(Self { second: second_of(day, hour, minute, second, ahead_s)?, nanos, zone_s })
    }
}

/// `Z`, `+02:00`, `-0700`, `+02`, in seconds east, or nothing: a clock of no known zone. `None` for
/// what is no zone.
pub(super) fn zone(text: &[u8]) -> Option<Option<i32>> {
    let (sign, hour, minute) = match text {
        [] => return Some(None),
        [b'Z' | b'z'] => return Some(Some(0)),
        [sign, _, _] => (sign, two(text, 1)?, 0),
        [sign, _, _, _, _] => (sign, two(text, 1)?, two(text, 3)?),
        [sign, _, _, b':', _, _] => (sign, two(text, 1)?, two(text, 4)?),
        _ => return None,
    };
    // UTC+14 is the easternmost there is; a little is left for the odd logger.
    if hour > 18 || minute > 59 {
        return None;
    }
    let east = i32::try_from(hour * 3600 + minute * 60).ok()?;
    match sign {
        b'+' => Some(Some(east)),
        b'-' => Some(Some(-east)),
        _ => None,
    }
}

/// `2026-07-01T12:00:00.25+02:00`, the zone as in [`zone`]; a blank may stand for the `T`.
pub(super) fn iso(text: &[u8]) -> Option<Moment> {
    if text.len() < 19 {
        return None;
    }
    let marks = text[4] == b'-'
        && text[7] == b'-'
        && matches!(text[10], b'T' | b't' | b' ')
        && text[13] == b':'
        && text[16] == b':';
    if !marks {
        return None;
    }
    let day = days(four(text, 0)?, two(text, 5)?, two(text, 8)?)?;
    let mut rest = &text[19..];
    let mut nanos = None;
    if let [b'.' | b',', digits @ ..] = rest {
        let (fraction, len) = nanos_of(digits)?;
        nanos = Some(fraction);
        rest = &digits[len..];
    }
    if let [b' ', after @ ..] = rest {
        rest = after;
    }
    let zone_s = zone(rest)?;
    Moment::of(day, (two(text, 11)?, two(text, 14)?, two(text, 17)?), zone_s, nanos)
}

/// A time such as `2026-11-20T05:00:00.123Z` in nanoseconds since 1970-01-01T00:00:00Z.
pub(crate) fn iso_ns(text: &str) -> Option<i64> {
    let moment = iso(text.as_bytes())?;
    moment.second.checked_mul(1_000_000_000)?.checked_add(moment.nanos.unwrap_or(0).into())
}

/// `12:00:00` or `12:00:00.25`, as seconds since midnight and the fraction.
pub(super) fn time_of_day(text: &[u8]) -> Option<(i64, Option<u32>)> {
    let (whole, rest) = text.split_first_chunk::<8>()?;
    if whole[2] != b':' || whole[5] != b':' {
        return None;
    }
    let nanos = match rest {
        [] => None,
        [b'.' | b',', digits @ ..] => {
            let (nanos, len) = nanos_of(digits)?;
            if len != digits.len() {
                return None;
            }
            Some(nanos)
        }
        _ => return None,
    };
    Some((second_of(0, two(whole, 0)?, two(whole, 3)?, two(whole, 6)?, 0)?, nanos))
}

/// The bytes of a date of the Common Log Format without its zone.
const LOCAL_BYTES: usize = 20;

/// `03/Mar/2026:08:00:00.123`, without a zone, which is taken for UTC, or with one behind a blank.
pub(super) fn clf_with_fraction(text: &[u8]) -> Option<Moment> {
    let (local, mut rest) = text.split_first_chunk::<LOCAL_BYTES>()?;
    let mut nanos = None;
    if let [b'.' | b',', digits @ ..] = rest {
        let (fraction, len) = nanos_of(digits)?;
        (nanos, rest) = (Some(fraction), &digits[len..]);
    }
    let has_zone = !rest.is_empty();
    let zone: [u8; 6] = if has_zone { rest.try_into().ok()? } else { *b" +0000" };
    let mut whole = [0; CLF_BYTES];
    whole[..LOCAL_BYTES].copy_from_slice(local);
    whole[LOCAL_BYTES..].copy_from_slice(&zone);
    let moment = clf(&whole)?;
    Some(Moment { nanos, zone_s: moment.zone_s.filter(|_| has_zone), ..moment })
}

/// A decimal fraction at the start of a text as nanoseconds, rounded down, and its digits.
pub(super) fn nanos_of(text: &[u8]) -> Option<(u32, usize)> {
    let len = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if len == 0 {
        return None;
    }
    let digit = |at: usize| text[..len].get(at).map_or(0, |byte| u32::from(byte - b'0'));
    Some(((0..9).fold(0, |nanos, at| nanos * 10 + digit(at)), len))
}

/// Seconds before this (1973) are durations or counters rather than times.
const LEAST_EPOCH: u64 = 100_000_000;

/// Seconds since 1970 with or without a fraction, or whole milli-, micro- or nanoseconds, told
/// apart by their size: `1286536309.586`, `1286536309586`.
pub(super) fn epoch(text: &[u8]) -> Option<Moment> {
    let len = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if len == 0 || len > 19 {
        return None;
    }
    let whole = text[..len].iter().fold(0_u64, |n, byte| {
        // 19 digits stay below 2^64.
        n * 10 + u64::from(byte - b'0')
    });
    let nanos = match &text[len..] {
        [] => None,
        [b'.', digits @ ..] => {
            let (nanos, end) = nanos_of(digits)?;
            if end != digits.len() {
                return None;
            }
            Some(nanos)
        }
        _ => return None,
    };
    // 10^11 seconds are the year 5138, 10^11 milliseconds are 1973.
    let unit: u64 = match whole {
        0..LEAST_EPOCH => return None,
        LEAST_EPOCH..100_000_000_000 => 1,
        100_000_000_000..100_000_000_000_000 => 1_000,
        100_000_000_000_000..100_000_000_000_000_000 => 1_000_000,
        _ => 1_000_000_000,
    };
    let second = i64::try_from(whole / unit).ok()?;
    let zone_s = Some(0);
    if unit == 1 {
        return Some(Moment { second, nanos, zone_s });
    }
    let nanos = u32::try_from(whole % unit * (1_000_000_000 / unit)).ok()?;
    Some(Moment { second, nanos: Some(nanos), zone_s })
}

/// Any of the three notations.
pub(super) fn any(text: &[u8]) -> Option<Moment> {
    if let Ok(text) = <&[u8; CLF_BYTES]>::try_from(text)
        && let Some(moment) = clf(text)
    {
        return Some(moment);
    }
    iso(text).or_else(|| epoch(text))
}

/// The date of the line before: most lines of a busy log share theirs with it.
#[derive(Debug, Clone)]
pub(super) struct LastDate {
    text: [u8; CLF_BYTES],
    moment: Moment,
}

impl LastDate {
    pub(super) fn new() -> Self {
        let moment = Moment { second: 0, nanos: None, zone_s: None };
        Self { text: [0; CLF_BYTES], moment }
    }

    /// [`clf`], remembered.
    pub(super) fn clf(&mut self, text: &[u8; CLF_BYTES]) -> Option<Moment> {
        if *text != self.text {
            self.moment = clf(text)?;
            self.text = *text;
        }
        Some(self.moment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(text: &str) -> Option<i64> {
        any(text.as_bytes()).map(|moment| moment.second)
    }

    #[test]
    fn known_moments() {
        // `date -u -d … +%s`
        assert_eq!(second("10/Oct/2000:13:55:36 -0700"), Some(971_211_336));
        assert_eq!(second("29/Feb/2024:00:00:00 +0000"), Some(1_709_164_800));
        assert_eq!(second("01/Jan/1970:00:00:00 +0000"), Some(0));
        assert_eq!(second("31/Dec/1999:23:59:60 +0000"), Some(946_684_800));
        assert_eq!(second("2026-07-01T12:00:00+02:00"), Some(1_782_900_000));
        assert_eq!(second("2026-07-01 10:00:00"), Some(1_782_900_000));
        assert_eq!(second("2026-07-01T10:00:00Z"), Some(1_782_900_000));
        assert_eq!(second("1286536309"), Some(1_286_536_309));
    }

    #[test]
    fn fractions_are_kept_to_the_nanosecond() {
        let nanos = |text: &str| any(text.as_bytes()).and_then(|moment| moment.nanos);
        assert_eq!(nanos("2026-07-01T10:00:00.25Z"), Some(250_000_000));
        assert_eq!(nanos("2026-07-01T10:00:00.1234567891Z"), Some(123_456_789));
        assert_eq!(nanos("1286536309.586"), Some(586_000_000));
        assert_eq!(nanos("1286536309586"), Some(586_000_000));
        assert_eq!(nanos("1286536309586123"), Some(586_123_000));
        assert_eq!(nanos("1286536309586123456"), Some(586_123_456));
        assert_eq!(nanos("1286536309"), None);
    }

    #[test]
    fn dates_with_a_fraction_and_without_a_zone() {
        let found = |text: &str| {
            clf_with_fraction(text.as_bytes()).map(|moment| (moment.second, moment.nanos))
        };
        assert_eq!(found("03/Mar/2026:08:00:00.123"), Some((1_772_524_800, Some(123_000_000))));
        assert_eq!(found("03/Mar/2026:08:00:00.5 +0100"), Some((1_772_521_200, Some(500_000_000))));
        assert_eq!(found("03/Mar/2026:08:00:00"), Some((1_772_524_800, None)));
        for text in ["", "03/Mar/2026:08:00:00.", "03/Mar/2026:08:00:00.1x", "03/Mar/2026:08:00:0"]
        {
            assert_eq!(found(text), None, "{text}");
        }
        assert_eq!(time_of_day(b"08:00:01.5"), Some((28_801, Some(500_000_000))));
        for text in ["", "08:00", "08:00:61", "08:00:00x", "08:00:00.", "08-00-00"] {
            assert_eq!(time_of_day(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "30/Feb/2024:00:00:00 +0000",
            "29/Feb/2023:00:00:00 +0000",
            "29/Feb/2100:00:00:00 +0000",
            "10/Okt/2000:13:55:36 -0700",
            "10/Oct/2000:24:00:00 -0700",
            "10/Oct/2000:13:60:36 -0700",
            "10/Oct/2000:13:55:61 -0700",
            "10/Oct/2000:13:55:36 *0700",
            "10/Oct/2000:13:55:36 +2500",
            "00/Oct/2000:13:55:36 -0700",
            "2026-13-01T00:00:00Z",
            "2026-07-01T10:00:00.Z",
            "2026-07-01T10:00:00Zulu",
            "0.003",
            "12",
            "1286536309.",
            "1286536309.5x",
            "99999999999999999999",
        ] {
            assert_eq!(any(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn every_day_of_four_centuries_follows_the_one_before() {
        let mut expected = 0;
        for year in 1970..2400 {
            for month in 1..=12 {
                for day in 1..=31 {
                    if let Some(found) = days(year, month, day) {
                        assert_eq!(found, expected, "{year}-{month}-{day}");
                        expected += 1;
                    }
                }
            }
        }
        // 430 years, 104 of them leap years (2100, 2200 and 2300 are none).
        assert_eq!(expected, 430 * 365 + 104);
    }
}
