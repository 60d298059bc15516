//! What the times of a trace are, told from the first one and held to for the rest.
//!
//! | a time | is taken for |
//! | --- | --- |
//! | a date-time | itself |
//! | a number, where the column's name has a unit | that unit |
//! | 8, 12 or 14 digits that are a date from 1990 to 2100 | `YYYYMMDD`, `YYYYMMDDhhmm`, `YYYYMMDDhhmmss` |
//! | a number below 10⁸ | seconds |
//! | up to 10¹¹, 10¹⁴, 10¹⁷, beyond | seconds, milli-, micro-, nanoseconds since 1970 |
//! | that is from 1990 to 2100 in units of 100 ns since 1601, or since the year 1 | these: file times of Windows, ticks of .NET |
//!
//! 10⁸ seconds since 1970 are a day in 1973; 10¹¹ are the year 5138, and as milliseconds 1973. What
//! a name did not say is told by [`Clock::remark`].

use super::Moment;
use super::moment::date_time;

const SECOND_NS: i128 = 1_000_000_000;
/// From which number on a time counts from 1970, and is one of the smaller units.
const LEAST_EPOCH: i128 = 100_000_000;
const LEAST_MS: i128 = LEAST_EPOCH * 1_000;
const LEAST_US: i128 = LEAST_MS * 1_000;
const LEAST_NS: i128 = LEAST_US * 1_000;
/// Times whose unit is named count from 1970 where they come to a day from 1990 to 2100.
const CALENDAR_NS: std::ops::Range<i128> = 631_152_000 * SECOND_NS..4_102_444_800 * SECOND_NS;

/// Units of 100 ns, and from when they may count: what that is called, and nanoseconds before 1970.
const HUNDRED_NS: i128 = 100;
const HUNDREDS_SINCE: [(&str, i128); 2] = [
    ("100 ns since 1601", 11_644_473_600 * SECOND_NS),
    ("100 ns since the year 1", 62_135_596_800 * SECOND_NS),
];

/// What times are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    /// Date-times.
    Dates,
    /// Dates in so many digits without marks.
    Digits(usize),
    /// Numbers of units of so many nanoseconds.
    Numbers { unit_ns: i128, told: UnitSource },
    /// Numbers of 100 ns since so many nanoseconds before 1970, which is called so.
    Hundreds { name: &'static str, before_ns: i128 },
}

/// How the unit of a number is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnitSource {
    ByName,
    /// Not at all: seconds.
    Assumed,
    /// By their size: units of this name since 1970.
    BySize(&'static str),
}

impl Clock {
    /// What a first time is; `None` where it is no time.
    pub(super) fn of(text: &str, unit_ns: Option<u64>) -> Option<Self> {
        if date_time(text).is_some() {
            return Some(Self::Dates);
        }
        let numbers = |unit_ns, told| Some(Self::Numbers { unit_ns, told });
        if let Some(unit_ns) = unit_ns {
            return decimal(text, 1).and_then(|_| numbers(i128::from(unit_ns), UnitSource::ByName));
        }
        if digits(text).is_some() {
            return Some(Self::Digits(text.len()));
        }
        let whole = decimal(text, SECOND_NS)? / SECOND_NS;
        let is_of_our_times =
            |(_, before): &(&str, i128)| CALENDAR_NS.contains(&(whole * HUNDRED_NS - before));
        if let Some((name, before_ns)) = HUNDREDS_SINCE.into_iter().find(is_of_our_times) {
            return Some(Self::Hundreds { name, before_ns });
        }
        match whole {
            ..LEAST_EPOCH => numbers(SECOND_NS, UnitSource::Assumed),
            LEAST_EPOCH..LEAST_MS => numbers(SECOND_NS, UnitSource::BySize("seconds")),
            LEAST_MS..LEAST_US => numbers(SECOND_NS / 1_000, UnitSource::BySize("milliseconds")),
            LEAST_US..LEAST_NS => numbers(1_000, UnitSource::BySize("microseconds")),
            LEAST_NS.. => numbers(1, UnitSource::BySize("nanoseconds")),
        }
    }

    /// A time, in nanoseconds; `None` where it is none of this kind.
    pub(super) fn read(self, text: &str) -> Option<i128> {
        match self {
            Self::Dates => date_time(text).and_then(Moment::date_ns),
            Self::Digits(len) => digits(text).filter(|_| text.len() == len),
            Self::Numbers { unit_ns, .. } => decimal(text, unit_ns),
            Self::Hundreds { before_ns, .. } => Some(decimal(text, HUNDRED_NS)? - before_ns),
        }
    }

    /// When a time is, where it is of a calendar: a date, or a number since 1970.
    pub(super) fn moment(self, text: &str) -> Option<Moment> {
        match self {
            Self::Dates => date_time(text),
            Self::Digits(_) => self.read(text).map(Moment::Date),
            Self::Hundreds { .. } => self.read(text).map(|ns| Moment::Zoned(ns, 0)),
            Self::Numbers { told, .. } => {
                let ns = self.read(text)?;
                let is_since_1970 = match told {
                    UnitSource::BySize(_) => true,
                    UnitSource::Assumed => false,
                    UnitSource::ByName => CALENDAR_NS.contains(&ns),
                };
                is_since_1970.then_some(Moment::Zoned(ns, 0))
            }
        }
    }

    /// Whether a time that nothing is said of may be one of a spreadsheet: days since the end of
    /// 1899, from 1990 to 2100, and a part of a day.
    pub(super) fn may_be_days(self, text: &str) -> bool {
        let is_assumed = matches!(self, Self::Numbers { told: UnitSource::Assumed, .. });
        let days = self.read(text).map_or(0, |ns| ns / SECOND_NS);
        is_assumed && text.contains('.') && (32_874..73_051).contains(&days)
    }

    /// What a time of this kind is called.
    pub(super) fn wanted(self) -> &'static str {
        match self {
            Self::Dates => "a date-time, as in the rows before",
            Self::Digits(_) => "a date in digits, as before",
            Self::Numbers { .. } | Self::Hundreds { .. } => "a number, as before",
        }
    }

    /// What the times of a column were taken for, where its name does not say: a sentence about the
    /// first of them.
    pub(super) fn remark(self, column: &str, first: &str) -> Option<String> {
        let date = || self.moment(first).map_or_else(String::new, |at| at.to_string());
        let taken = match self {
            Self::Dates | Self::Numbers { told: UnitSource::ByName, .. } => return None,
            Self::Digits(len) => {
                let form = &"YYYYMMDDhhmmss"[..len.min(14)];
                format!("dates ({form}): {first} is {}", date())
            }
            Self::Numbers { told: UnitSource::BySize(unit), .. } => {
                format!("{unit} since 1970: {first} is {}", date())
            }
            Self::Hundreds { name, .. } => format!("{name}: {first} is {}", date()),
            Self::Numbers { told: UnitSource::Assumed, .. } => {
                "seconds, as its name has no unit; `--columns time_ms,…` gives another".to_owned()
            }
        };
        Some(format!("`{column}` was taken for {taken}"))
    }
}

/// A date of 8, 12 or 14 digits, in nanoseconds since 1970.
fn digits(text: &str) -> Option<i128> {
    let is_digits = matches!(text.len(), 8 | 12 | 14) && text.bytes().all(|b| b.is_ascii_digit());
    if !is_digits || !("1990".."2101").contains(&&text[..4]) {
        return None;
    }
    let mut marked = format!("{}-{}-{}", &text[..4], &text[4..6], &text[6..8]);
    if text.len() > 8 {
        let second = text.get(12..14).unwrap_or("00");
        marked += &format!(" {}:{}:{second}", &text[8..10], &text[10..12]);
    }
    date_time(&marked).and_then(Moment::date_ns)
}

/// A decimal number of units, in nanoseconds, exactly (rounded down beyond them).
fn decimal(text: &str, unit_ns: i128) -> Option<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let fine = |digits: &str| digits.len() <= 19 && digits.bytes().all(|b| b.is_ascii_digit());
    let part = &part[..part.len().min(18)];
    if !fine(whole) || !fine(part) || whole.is_empty() && part.is_empty() {
        return None;
    }
    let value = |digits: &str| digits.bytes().fold(0, |sum, b| sum * 10 + i128::from(b - b'0'));
    let scale = 10_i128.pow(u32::try_from(part.len()).ok()?);
    Some(sign * (value(whole) * unit_ns + value(part) * unit_ns / scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i128 = SECOND_NS;

    #[test]
    fn decimals_are_exact() {
        for (text, unit, ns) in [
            ("0", S, Some(0)),
            ("1700158546.680590001", S, Some(1_700_158_546_680_590_001)),
            ("1700158546680590001", 1, Some(1_700_158_546_680_590_001)),
            ("-1.5", S, Some(-1_500_000_000)),
            (".25", 60 * S, Some(15 * S)),
            ("3.", S, Some(3 * S)),
            ("0.3333333333333333333333", 3, Some(0)),
            ("", S, None),
            (".", S, None),
            ("1e3", S, None),
            ("1.2.3", S, None),
            ("0x1", S, None),
            ("12345678901234567890", S, None),
            ("0.é23456789012345678901234", S, None),
        ] {
            assert_eq!(decimal(text, unit), ns, "{text}");
        }
    }

    /// One moment, 2026-03-03 08:00, however it is written.
    #[test]
    fn a_moment_is_the_same_in_every_notation() {
        const MOMENT: i128 = 1_772_524_800 * S;
        for (text, remark) in [
            ("2026-03-03 08:00", ""),
            ("1772524800", "seconds since 1970"),
            ("1772524800.0", "seconds since 1970"),
            ("1772524800000", "milliseconds since 1970"),
            ("1772524800000000", "microseconds since 1970"),
            ("1772524800000000000", "nanoseconds since 1970"),
            ("134169984000000000", "100 ns since 1601"),
            ("639081216000000000", "100 ns since the year 1"),
            ("20260303080000", "(YYYYMMDDhhmmss)"),
            ("202603030800", "(YYYYMMDDhhmm)"),
        ] {
            let clock = Clock::of(text, None).unwrap();
            assert_eq!(clock.read(text), Some(MOMENT), "{text}");
            let found = clock.remark("Time", text).unwrap_or_default();
            assert!(found.contains(remark) && found.is_empty() == remark.is_empty(), "{found}");
            let is_told = found.trim_end_matches(" UTC").ends_with("is 2026-03-03 08:00");
            assert!(remark.is_empty() || is_told, "{found}");
        }
        let day = Clock::of("20260303", None).unwrap();
        assert_eq!(day.read("20260303"), Some(MOMENT - 8 * 3600 * S));
        assert_eq!(
            (day.read("20260332"), day.read("1"), day.read("202603030800")),
            (None, None, None)
        );
    }

    #[test]
    fn a_unit_in_the_name_is_believed_whatever_the_size() {
        for text in ["20260303080000", "1772524800000", "5"] {
            let clock = Clock::of(text, Some(1_000_000)).unwrap();
            assert_eq!(clock.read(text), decimal(text, S / 1000));
            assert_eq!(clock.remark("time_ms", text), None);
        }
        let relative = Clock::of("60", None).unwrap();
        assert_eq!(relative.read("60"), Some(60 * S));
        assert!(relative.remark("time", "60").unwrap().contains("seconds"));
        for none in ["", "noon", "1e3", "20261303080000x", "--1"] {
            assert_eq!(Clock::of(none, None), None, "{none}");
        }
    }
}
