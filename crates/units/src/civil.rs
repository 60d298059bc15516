//! Days of the Gregorian calendar and the count of days since 1970-01-01, both ways.
//!
//! The calendar is continued to before its introduction (proleptic). *Source*: H. Hinnant,
//! *chrono-Compatible Low-Level Date Algorithms* (2013), `days_from_civil` and `civil_from_days`:
//! years begin in March, so that the leap day is a year's last, and 400 years are an era.

const DAYS_OF_AN_ERA: i64 = 146_097;
/// Days from 0000-03-01, the first day of era 0, to 1970-01-01.
const ERA_TO_1970: i64 = 719_468;

/// How many days a month has; 31 for a month that is none.
#[inline]
#[must_use]
pub fn days_in(year: i64, month: u32) -> u32 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Whether a year has such a day.
#[inline]
#[must_use]
pub fn is_date(year: i64, month: u32, day: u32) -> bool {
    (1..=12).contains(&month) && (1..=days_in(year, month)).contains(&day)
}

/// Days from 1970-01-01 to a date; below zero before it. A day beyond its month's end is that many
/// days after the month began.
#[inline]
#[must_use]
pub fn days(year: i64, month: u32, day: u32) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((i64::from(month) + 9) % 12) + 2) / 5 + i64::from(day) - 1;
    era * DAYS_OF_AN_ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year - ERA_TO_1970
}

/// Year, month and day of a count of days since 1970-01-01.
#[must_use]
pub fn date(days: i64) -> (i64, u32, u32) {
    let days = days.saturating_add(ERA_TO_1970);
    let (era, of_era) = (days.div_euclid(DAYS_OF_AN_ERA), days.rem_euclid(DAYS_OF_AN_ERA));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = (shifted + 2) % 12 + 1;
    let year = era * 400 + year + i64::from(month <= 2);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 12, 1 to 31")]
    (year, month as u32, day as u32)
}

/// Nanoseconds since 1970 UTC as ISO 8601 with milliseconds: `2026-03-01T12:00:00.250Z`.
#[must_use]
pub fn iso8601(unix_ns: u64) -> String {
    let millis = unix_ns / 1_000_000;
    let (days, of_day) = (millis / 86_400_000, millis % 86_400_000);
    let (year, month, day) = date(i64::try_from(days).unwrap_or(i64::MAX));
    let (hour, minute) = (of_day / 3_600_000, of_day / 60_000 % 60);
    let (second, milli) = (of_day / 1000 % 60, of_day % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_three_thousand_years_reads_back() {
        let mut expected = days(-500, 1, 1);
        for year in -500..2500 {
            for month in 1..=12 {
                for day in 1..=days_in(year, month) {
                    assert_eq!(days(year, month, day), expected, "{year}-{month}-{day}");
                    assert_eq!(date(expected), (year, month, day));
                    assert!(is_date(year, month, day));
                    expected += 1;
                }
            }
        }
    }

    #[test]
    fn known_days() {
        assert_eq!(days(1970, 1, 1), 0);
        assert_eq!(days(2000, 2, 29), 11_016);
        assert_eq!(date(-1), (1969, 12, 31));
        for (year, month, day) in [(1995, 13, 1), (1995, 2, 29), (1900, 2, 29), (1995, 0, 1)] {
            assert!(!is_date(year, month, day), "{year}-{month}-{day}");
        }
        assert!(!is_date(1995, 1, 0) && is_date(2000, 2, 29));
    }

    #[test]
    fn known_moments() {
        assert_eq!(iso8601(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso8601(951_782_400_123_999_999), "2000-02-29T00:00:00.123Z");
        assert_eq!(iso8601(1_709_251_199_999_000_000), "2024-02-29T23:59:59.999Z");
        assert_eq!(iso8601(4_107_542_400_000_000_000), "2100-03-01T00:00:00.000Z");
    }
}
