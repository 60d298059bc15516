//! What the value of a figure counts: how it is read from a text and shown to a person.

use plimsoll_units::{self as units, ParseError};

/// Where there is no value.
const DASH: &str = "–";

/// The unit of a figure's value, as `--json`, plans and a run's tables have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A time, in microseconds.
    Micros,
    /// A time, in milliseconds.
    Millis,
    /// A span of a run, in seconds.
    Seconds,
    /// Hours of instances.
    Hours,
    /// Events per second.
    PerSecond,
    /// Things; a mean of counts may have a fraction.
    Count,
    /// Sizes, in bytes; a mean may have a fraction.
    Bytes,
    /// Bytes a second.
    BytesPerSecond,
    /// A number of no unit: a mean per something, a deviation in instances.
    Number,
    /// A share of one.
    Share,
    /// A share of a hundred.
    PerCent,
    /// Money, not below zero.
    Money,
    /// Money that may be below zero.
    Balance,
}

/// Nanoseconds for a person.
fn duration(ns: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shown; saturates")]
    units::show_duration(ns.round() as u64)
}

/// A count for a person, whole.
fn count(value: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shown; saturates")]
    units::show_count(value.round() as u64)
}

/// A size for a person.
fn bytes(value: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shown; saturates")]
    units::show_size(value.round() as u64)
}

impl Unit {
    /// The unit for the manual: what a value of 1 means.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Micros => "µs",
            Self::Millis => "ms",
            Self::Seconds => "s",
            Self::Hours => "h",
            Self::PerSecond => "1/s",
            Self::Count => "count",
            Self::Bytes => "B",
            Self::BytesPerSecond => "B/s",
            Self::Number => "number",
            Self::Share => "share of 1",
            Self::PerCent => "%",
            Self::Money | Self::Balance => "money",
        }
    }

    /// The least and the greatest value that there can be.
    #[must_use]
    pub fn range(self) -> (f64, f64) {
        match self {
            Self::Share => (0.0, 1.0),
            Self::PerCent => (0.0, 100.0),
            Self::Balance => (f64::NEG_INFINITY, f64::INFINITY),
            _ => (0.0, f64::INFINITY),
        }
    }

    /// A value for a person, to about three significant digits and with its unit; a dash where it
    /// is no number. Money is shown without a currency.
    #[must_use]
    pub fn show(self, value: f64) -> String {
        self.show_in(value, "")
    }

    /// As [`Unit::show`], with the sign of a currency before money. What is shown as zero has no
    /// sign.
    #[must_use]
    pub fn show_in(self, value: f64, currency: &str) -> String {
        if !value.is_finite() {
            return DASH.to_owned();
        }
        let size = value.abs();
        let text = match self {
            Self::Micros => duration(1e3 * size),
            Self::Millis => duration(1e6 * size),
            // A span of a run is looked at in seconds.
            Self::Seconds if size == 0.0 => "0 s".to_owned(),
            Self::Seconds => duration(1e9 * size),
            Self::Hours => format!("{size:.1} h"),
            Self::PerSecond => units::show_rate(size),
            Self::Count => count(size),
            Self::Bytes => bytes(size),
            Self::BytesPerSecond => format!("{}/s", bytes(size)),
            Self::Number => format!("{size:.2}"),
            Self::Share => units::show_share(size),
            Self::PerCent => format!("{size:.1}%"),
            // Of little money two digits after the point say little: the price of a request.
            Self::Money if size > 0.0 && size < 0.095 => {
                let digits = (1.0 - size.log10().floor()).clamp(3.0, 12.0);
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "3 to 12"
                )]
                let digits = digits as usize;
                format!("{currency}{size:.digits$}")
            }
            Self::Money | Self::Balance => format!("{currency}{size:.2}"),
        };
        let is_below = value < 0.0 && text.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
        if is_below { format!("−{text}") } else { text }
    }

    /// A value with the half width of its interval: `12.3 ms ±1.2 ms`, `$53.04 ±0.31`. A negative
    /// value has its sign; a positive one has it where `is_difference`.
    #[must_use]
    pub fn show_estimate(
        self,
        value: f64,
        half: Option<f64>,
        currency: &str,
        is_difference: bool,
    ) -> String {
        let text = self.show_in(value, currency);
        let is_above = is_difference && value > 0.0 && self.show_in(-value, currency) != text;
        let text = if is_above { format!("+{text}") } else { text };
        match half.filter(|_| value.is_finite()) {
            // Beside a rate by the second its interval is by the second, too.
            Some(half) if self == Self::PerSecond && half < 1.0 && value.abs() >= 1.0 => {
                format!("{text} ±{}/s", Self::Number.show(half))
            }
            Some(half) => format!("{text} ±{}", self.show(half)),
            None => text,
        }
    }

    /// Reads a value that a person wrote, such as a bound: times and spans as durations, shares in
    /// per cent, rates per second, sizes with or without a unit, all else as a plain number.
    ///
    /// # Errors
    /// What is no value of this unit.
    pub fn read(self, text: &str) -> Result<f64, ParseError> {
        let seconds = || units::duration(text).map(|span| span.as_secs_f64());
        match self {
            Self::Micros => seconds().map(|s| 1e6 * s),
            Self::Millis => seconds().map(|s| 1e3 * s),
            Self::Seconds => seconds(),
            Self::Share => crate::slo::share(text),
            Self::PerSecond => units::rate(text),
            Self::Bytes => units::size(text).map(|bytes| bytes as f64),
            Self::BytesPerSecond => match text.trim_end().strip_suffix("/s") {
                Some(size) => units::size(size).map(|bytes| bytes as f64),
                None => Err(ParseError::new("bytes a second such as 10MB/s", text, 0, text.len())
                    .hint(format!("write {}/s", text.trim()))),
            },
            _ => {
                let number = text.trim().parse().ok().filter(|number: &f64| number.is_finite());
                number.ok_or_else(|| ParseError::new("a number", text, 0, text.len()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_with_their_unit_and_one_sign() {
        for (unit, value, text) in [
            (Unit::Micros, 12_345.0, "12.3 ms"),
            (Unit::Micros, -1_500.0, "−1.5 ms"),
            (Unit::Millis, 8.06, "8.06 ms"),
            (Unit::Seconds, 90.0, "1 m 30 s"),
            (Unit::Seconds, 0.0, "0 s"),
            (Unit::Hours, 312.04, "312.0 h"),
            (Unit::PerSecond, 12_345.4, "12,345/s"),
            (Unit::Count, 343_763.4, "343,763"),
            (Unit::Number, 2.25, "2.25"),
            (Unit::Share, 0.001, "0.1%"),
            (Unit::Share, -0.001, "−0.1%"),
            (Unit::PerCent, 71.25, "71.2%"),
            (Unit::Money, 53.04, "$53.04"),
            (Unit::Balance, -53.04, "−$53.04"),
            (Unit::Balance, -0.001, "$0.00"),
            (Unit::Count, f64::NAN, "–"),
            (Unit::Micros, f64::INFINITY, "–"),
        ] {
            assert_eq!(unit.show_in(value, "$"), text, "{unit:?} {value}");
        }
    }

    #[test]
    fn estimates_are_shown_with_half_of_their_interval() {
        let shown = |value, half| Unit::Balance.show_estimate(value, half, "$", true);
        assert_eq!(shown(53.04, Some(0.31)), "+$53.04 ±0.31");
        assert_eq!(shown(-53.04, None), "−$53.04");
        assert_eq!(shown(0.001, Some(0.31)), "$0.00 ±0.31", "what is shown as zero has no sign");
        assert_eq!(shown(f64::NAN, Some(0.31)), "–");
        assert_eq!(Unit::Micros.show_estimate(8_060.0, Some(110.0), "", false), "8.06 ms ±110 µs");
    }

    #[test]
    fn bounds_are_read_in_the_unit_that_values_have() {
        for (unit, text, value) in [
            (Unit::Micros, "400ms", 400_000.0),
            (Unit::Millis, "1.5s", 1_500.0),
            (Unit::Seconds, "2m", 120.0),
            (Unit::Share, "0.1%", 0.001),
            (Unit::PerSecond, "30/m", 0.5),
            (Unit::Money, "12.5", 12.5),
            (Unit::Balance, "-3", -3.0),
        ] {
            let read = unit.read(text).unwrap();
            assert!((read - value).abs() < 1e-9, "{unit:?} {text}: {read}");
        }
        for (unit, text) in [(Unit::Micros, "400"), (Unit::Share, "5"), (Unit::Money, "NaN")] {
            assert!(unit.read(text).is_err(), "{unit:?} {text}");
        }
    }
}
