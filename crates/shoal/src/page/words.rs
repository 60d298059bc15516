//! Figures as people read them.

use plimsoll_workload::trace::Moment;

/// A count with a comma between thousands.
pub(super) fn count(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count with its noun.
pub(super) fn counted(n: usize, one: &str, more: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { more })
}

/// What is sent: KiB/s, MiB/s, GiB/s or TiB/s, to at most three digits.
pub(super) fn rate(kib_s: f64) -> String {
    let (mut value, mut units) = (kib_s, ["MiB/s", "GiB/s", "TiB/s"].into_iter());
    let mut unit = "KiB/s";
    while value >= 999.5
        && let Some(wider) = units.next()
    {
        (value, unit) = (value / 1024.0, wider);
    }
    match value {
        0.0 => format!("0 {unit}"),
        value if value < 9.95 => format!("{value:.1} {unit}"),
        value => format!("{value:.0} {unit}"),
    }
}

/// How long ago, as `page.js` writes it: seconds up to two minutes, minutes up to two hours.
pub(super) fn age(s: u64) -> String {
    match s {
        0..120 => format!("{s} s"),
        120..7200 => format!("{} min", s / 60),
        _ => format!("{} h", s / 3600),
    }
}

/// A time of the wall clock, to the second, UTC.
#[expect(clippy::cast_possible_truncation, reason = "within the years that the registry takes")]
pub(super) fn moment(unix_s: f64) -> String {
    let ns = i128::from(unix_s.clamp(0.0, 253_402_300_799.0) as i64) * 1_000_000_000;
    let mut out = Moment::Date(ns).to_string();
    if out.len() == "2026-11-22 21:09".len() {
        out.push_str(":00");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{age, count, counted, moment, rate};

    #[test]
    fn figures_are_as_people_read_them() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            (counted(1, "cache", "caches"), counted(0, "a", "b")),
            ("1 cache".into(), "0 b".into())
        );
        assert_eq!(
            [0.0, 0.04, 12.5, 999.0, 1000.0, 122_000.0, 2e12].map(rate),
            [
                "0 KiB/s",
                "0.0 KiB/s",
                "12 KiB/s",
                "999 KiB/s",
                "1.0 MiB/s",
                "119 MiB/s",
                "1863 TiB/s"
            ]
        );
        assert_eq!([0, 119, 120, 7199, 7200].map(age), ["0 s", "119 s", "2 min", "119 min", "2 h"]);
        assert_eq!(moment(1_795_162_020.9), "2026-11-20 08:07:00");
        assert_eq!(moment(f64::NAN), "1970-01-01 00:00:00");
    }
}
