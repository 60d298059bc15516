//! How a value reads: on a tick (all ticks of a linear axis in one unit), and by itself.

use plimsoll_units as units;

/// What a chart's values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Time in µs.
    Micros,
    /// Events per second.
    PerSecond,
    /// Bytes, in decimal units.
    Bytes,
    /// Bytes per second, in decimal units.
    BytesPerSecond,
    /// A number of a unit that stands elsewhere.
    Number,
    /// Whole things.
    Count,
    /// Whole things in the mean: a fraction by themselves, whole on ticks.
    Mean,
    /// Money, its sign told elsewhere; may be below zero.
    Amount,
    /// A share of one, shown in per cent.
    Share,
    /// A percentile, from 0 to 100.
    Percentile,
}

impl Unit {
    /// The least distance of two ticks that makes sense; 0 where any does.
    pub fn least_step(self) -> f64 {
        if matches!(self, Self::Count | Self::Mean) { 1.0 } else { 0.0 }
    }

    /// A tick's label on a linear axis that ends at `top`.
    pub fn tick(self, value: f64, top: f64) -> String {
        match self {
            Self::Micros if value <= 0.0 => "0".to_owned(),
            Self::Micros => {
                let (divisor, name) = time_unit(top);
                format!("{} {name}", trimmed(value / divisor))
            }
            Self::Bytes => bytes(value),
            Self::BytesPerSecond => format!("{}/s", bytes(value)),
            Self::PerSecond | Self::Number | Self::Count | Self::Mean => grouped(value),
            Self::Amount => signed(value, grouped),
            Self::Share => format!("{}%", trimmed(value * 100.0)),
            Self::Percentile => format!("p{}", trimmed(value)),
        }
    }

    /// A value by itself, to three significant digits or whole.
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Micros => micros(value),
            Self::PerSecond | Self::Number | Self::Mean => significant(value),
            Self::Bytes => bytes(value),
            Self::BytesPerSecond => format!("{}/s", bytes(value)),
            Self::Count => whole(value),
            Self::Amount => money(value, ""),
            Self::Share => per_cent(value),
            Self::Percentile => format!("p{}", significant(value)),
        }
    }
}

/// Bytes, to three significant digits: `1.5 MB`.
pub fn bytes(value: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "sizes stay below 2^63; saturates above")]
    let n = value.round().max(0.0) as u64;
    units::show_size(n)
}

/// A share in per cent; never rounded up to 100%, because one failure in a million is not none.
pub fn per_cent(share: f64) -> String {
    let value = share * 100.0;
    if (99.0..100.0).contains(&value) {
        let digits = (-(100.0 - value).log10()).floor().clamp(0.0, 9.0);
        let step = 10f64.powf(digits + 2.0);
        #[expect(clippy::cast_possible_truncation, reason = "0 to 9")]
        let places = digits as usize + 2;
        let cut = (value * step * (1.0 + 1e-15)).floor() / step;
        return format!("{}%", trim_zeros(&format!("{cut:.places$}")));
    }
    format!("{}%", significant(value))
}

/// A time in µs, to three significant digits: `870 ns`, `12.3 ms`, `1.02 s`. Zeros at the end stay
/// but of whole numbers of nanoseconds: they were measured.
pub fn micros(value: f64) -> String {
    if value <= 0.0 {
        return "0".to_owned();
    }
    let (divisor, name) = time_unit(value);
    let value = value / divisor;
    match value {
        v if v >= 99.95 || name == "ns" => format!("{} {name}", whole(v)),
        v if v >= 9.995 => format!("{v:.1} {name}"),
        v => format!("{v:.2} {name}"),
    }
}

/// A value that may be below zero, as `show` tells its size; no sign before a nought.
pub fn signed(value: f64, show: impl Fn(f64) -> String) -> String {
    let text = show(value.abs());
    let is_below = value < 0.0 && text.contains(|c: char| ('1'..='9').contains(&c));
    if is_below { format!("−{text}") } else { text }
}

/// A change by a share, with its sign: `+12.5%`, `−3%`, `0%`.
pub fn signed_per_cent(share: f64) -> String {
    let text = signed(share, |size| format!("{}%", significant(size * 100.0)));
    if share > 0.0 && text != "0%" { format!("+{text}") } else { text }
}

/// An amount of money with its sign before it: `€1,234.50`, `−€0.032`.
pub fn money(value: f64, currency: &str) -> String {
    signed(value, |size| format!("{currency}{}", amount(size)))
}

/// In cents, but whole where they are nothing beside it, and to three digits below one.
fn amount(size: f64) -> String {
    if size >= 99_999.5 {
        return whole(size);
    }
    if size < 0.995 {
        return significant(size);
    }
    #[expect(clippy::cast_possible_truncation, reason = "below ten million")]
    let cents = (size * 100.0).round() as u64;
    format!("{}.{:02}", units::show_count(cents / 100), cents % 100)
}

/// A whole number, thousands separated.
pub fn whole(value: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "counts stay below 2^53; saturates above")]
    let n = value.round().max(0.0) as u64;
    units::show_count(n)
}

/// The unit that suits a time in µs: its length in µs, and its name.
fn time_unit(value: f64) -> (f64, &'static str) {
    if value < 1.0 {
        (1e-3, "ns")
    } else if value < 999.5 {
        (1.0, "µs")
    } else if value < 999_500.0 {
        (1e3, "ms")
    } else {
        (1e6, "s")
    }
}

/// Three significant digits below a thousand, whole and grouped above.
pub fn significant(value: f64) -> String {
    let size = value.abs();
    if size >= 999.5 {
        return whole(value);
    }
    let digits = match size {
        s if s >= 99.95 => 0,
        s if s >= 9.995 => 1,
        s if s >= 0.9995 => 2,
        s if s < 1e-9 => return "0".to_owned(),
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') { trim_zeros(&text).to_owned() } else { text }
}

/// As many digits as a round tick needs, thousands separated.
fn grouped(value: f64) -> String {
    if value >= 1000.0 { whole(value) } else { trimmed(value) }
}

/// A value without zeros at its end: `99.9`.
pub fn trimmed(value: f64) -> String {
    let text = format!("{value:.6}");
    trim_zeros(&text).to_owned()
}

fn trim_zeros(text: &str) -> &str {
    text.trim_end_matches('0').trim_end_matches('.')
}

/// A moment of a run, in the plan's own grammar: `0s`, `90s` as `1m30s`, `1h30m`.
pub fn moment(seconds: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "a run's seconds fit 64 bits")]
    let mut rest = seconds.max(0.0).round() as u64;
    if rest == 0 {
        return "0s".to_owned();
    }
    let mut text = String::new();
    for (name, length) in [("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)] {
        if rest >= length {
            text.push_str(&format!("{}{name}", rest / length));
            rest %= length;
        }
    }
    text
}

/// A time of day, with the day where it is not the first: `05:00`, `00:30:15`, `day 2 01:00`.
pub fn clock(seconds: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "a run's seconds fit 64 bits")]
    let all = seconds.max(0.0).round() as u64;
    let (day, rest) = (all / 86_400, all % 86_400);
    let (hours, minutes, seconds) = (rest / 3600, rest / 60 % 60, rest % 60);
    let seconds = if seconds > 0 { format!(":{seconds:02}") } else { String::new() };
    let day = if day > 0 { format!("day {} ", day + 1) } else { String::new() };
    format!("{day}{hours:02}:{minutes:02}{seconds}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_of_one_axis_share_their_unit() {
        assert_eq!(Unit::Micros.tick(500.0, 2000.0), "0.5 ms");
        assert_eq!(Unit::Micros.tick(2000.0, 2000.0), "2 ms");
        assert_eq!(Unit::Micros.tick(0.0, 2000.0), "0");
        assert_eq!(Unit::PerSecond.tick(20_000.0, 20_000.0), "20,000");
        assert_eq!(Unit::Share.tick(0.025, 0.1), "2.5%");
        assert_eq!(Unit::PerSecond.tick(0.2, 1.0), "0.2");
    }

    #[test]
    fn values_have_three_digits() {
        let cases = [
            (0.25, "250 ns"),
            (870.0, "870 µs"),
            (999.7, "1.00 ms"),
            (10_000.0, "10.0 ms"),
            (1234.0, "1.23 ms"),
            (99_960.0, "100 ms"),
            (1_020_000.0, "1.02 s"),
            (1_234_000_000.0, "1,234 s"),
            (0.0, "0"),
        ];
        for (value, text) in cases {
            assert_eq!(Unit::Micros.show(value), text, "{value}");
        }
        assert_eq!(Unit::PerSecond.show(499.96), "500");
        assert_eq!(Unit::PerSecond.show(49_996.2), "49,996");
        assert_eq!(Unit::Share.show(0.001), "0.1%");
        assert_eq!(Unit::Share.show(1.0), "100%");
        assert_eq!(Unit::Share.show(0.99999), "99.999%");
        assert_eq!(Unit::Share.show(0.999_999_999), "99.9999999%");
        assert_eq!(Unit::Share.show(0.987_654), "98.8%");
        assert_eq!(Unit::Share.show(0.995), "99.5%");
        assert_eq!(Unit::Count.show(1_234_567.0), "1,234,567");
    }

    #[test]
    fn money_is_in_cents_and_has_one_sign() {
        let cases = [
            (53.04, "€53.04"),
            (-1234.5, "−€1,234.50"),
            (0.032, "€0.032"),
            (0.996, "€1.00"),
            (123_456.7, "€123,457"),
            (0.0, "€0"),
            (-1e-12, "€0"),
        ];
        for (value, text) in cases {
            assert_eq!(money(value, "€"), text, "{value}");
        }
        assert_eq!(Unit::Amount.tick(-2000.0, 4000.0), "−2,000");
        assert_eq!(Unit::Mean.show(2.25), "2.25");
    }

    #[test]
    fn moments_use_the_grammar_of_plans() {
        let cases =
            [(0.0, "0s"), (59.0, "59s"), (90.0, "1m30s"), (5400.0, "1h30m"), (86_400.0, "1d")];
        for (seconds, text) in cases {
            assert_eq!(moment(seconds), text);
        }
    }
}
