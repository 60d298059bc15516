//! Wall-clock moments as text. The moment itself is always given, never read here.

use plimsoll_units::civil;

/// Nanoseconds since 1970 UTC as ISO 8601 with milliseconds: `2026-03-01T12:00:00.250Z`.
#[must_use]
pub fn iso8601(unix_ns: u64) -> String {
    let millis = unix_ns / 1_000_000;
    let (days, of_day) = (millis / 86_400_000, millis % 86_400_000);
    let (year, month, day) = civil::date(i64::try_from(days).unwrap_or(i64::MAX));
    let (hour, minute) = (of_day / 3_600_000, of_day / 60_000 % 60);
    let (second, milli) = (of_day / 1000 % 60, of_day % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
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
