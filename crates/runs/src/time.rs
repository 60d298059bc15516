//! Wall-clock moments as text. The moment itself is always given, never read here.
//!
//! # Source
//!
//! Civil date from days: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms",
//! `civil_from_days`.

/// Nanoseconds since 1970 UTC as ISO 8601 with milliseconds: `2026-03-01T12:00:00.250Z`.
#[must_use]
pub fn iso8601(unix_ns: u64) -> String {
    let millis = unix_ns / 1_000_000;
    let (days, of_day) = (millis / 86_400_000, millis % 86_400_000);
    let (year, month, day) = civil(days);
    let (hour, minute) = (of_day / 3_600_000, of_day / 60_000 % 60);
    let (second, milli) = (of_day / 1000 % 60, of_day % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// Year, month, day of a count of days since 1970-01-01.
fn civil(days: u64) -> (u64, u64, u64) {
    // Eras of 400 years that begin on 1 March, so that the leap day is a year's last.
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments() {
        assert_eq!(iso8601(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso8601(951_782_400_123_999_999), "2000-02-29T00:00:00.123Z");
        assert_eq!(iso8601(1_709_251_199_999_000_000), "2024-02-29T23:59:59.999Z");
        assert_eq!(iso8601(4_107_542_400_000_000_000), "2100-03-01T00:00:00.000Z");
    }
}
