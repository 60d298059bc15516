//! Rates: `500/s`, `30/m`, `36/h`, `1.5k/s`. Held as a floating-point number per second.

use crate::error::ParseError;
use crate::number::Decimal;
use crate::show::{thousands_rounded, trim_zeros};

const WANTED: &str = "a rate such as 500/s, 30/m or 36/h";
const ACCEPTED: &str = "units are /s, /m and /h, with k or M before them for thousands or millions";

/// Reads a rate, per second. Zero is a rate.
///
/// # Errors
/// A number without a unit, an unknown unit, a number below zero.
pub fn rate(text: &str) -> Result<f64, ParseError> {
    let body = text.trim();
    let at = text.len() - text.trim_start().len();
    let wrong = || ParseError::new(WANTED, body, at, body.len());
    let (number, digits) = Decimal::read(body, WANTED).map_err(|error| error.shifted(at))?;
    let rest = body[digits..].trim_start();
    let (times, unit) = match rest.as_bytes().first() {
        Some(b'k' | b'K') => (1_000, &rest[1..]),
        Some(b'M') => (1_000_000, &rest[1..]),
        _ => (1, rest),
    };
    let unit = unit.trim_start();
    let seconds = match unit.strip_prefix('/').map(str::trim_start) {
        Some("s") => 1.0,
        Some("m") => 60.0,
        Some("h") => 3600.0,
        None if unit.is_empty() => {
            return Err(wrong().hint(format!("{ACCEPTED}: {body}/s is {body} a second")));
        }
        word => {
            let meant = match word.unwrap_or(unit).to_ascii_lowercase().as_str() {
                "sec" | "second" | "s" | "rps" | "qps" => "s",
                "min" | "minute" | "m" | "rpm" => "m",
                "hr" | "hour" | "h" => "h",
                _ => return Err(wrong().hint(ACCEPTED)),
            };
            let number = body[..body.len() - unit.len()].trim_end();
            return Err(wrong().hint(format!("{ACCEPTED}: write {number}/{meant}")));
        }
    };
    Ok(number.scaled(times, seconds))
}

/// A rate for a person, to about three significant digits: `500/s`, `12,345/s`, `1.5/s`, `20/m`.
#[must_use]
pub fn show_rate(per_s: f64) -> String {
    let text = |value: f64| match value {
        v if v >= 99.95 => thousands_rounded(v),
        v if v >= 9.995 => trim_zeros(&format!("{v:.1}")).to_owned(),
        v => trim_zeros(&format!("{v:.2}")).to_owned(),
    };
    match per_s {
        v if !v.is_finite() => "–".to_owned(),
        v if v >= 1.0 || v <= 0.0 => format!("{}/s", text(v.max(0.0))),
        v if v * 60.0 >= 1.0 => format!("{}/m", text(v * 60.0)),
        v => format!("{}/h", text(v * 3600.0)),
    }
}

/// A rate as a text that [`rate`] reads back to the same: `500/s`, `30/m`.
///
/// The unit is the first of s, m, h in which a short text does. Exact for rates from 1e-19 to 1e20
/// per second; what is not in that range is no rate of anything, and comes out rounded.
#[must_use]
pub fn show_rate_exact(per_s: f64) -> String {
    if !per_s.is_finite() || per_s <= 0.0 {
        return "0/s".to_owned();
    }
    for (seconds, unit) in [(1.0, "s"), (60.0, "m"), (3600.0, "h")] {
        let value = per_s * seconds;
        for decimals in 0..=6 {
            let short = format!("{value:.decimals$}/{unit}");
            if rate(&short).is_ok_and(|back| back.to_bits() == per_s.to_bits()) {
                return short;
            }
        }
    }
    if per_s < 1e-19 { format!("{per_s:.36}/s") } else { format!("{per_s}/s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::float_cmp, reason = "each of these is rounded as the literal is")]
    fn reads_rates_per_second() {
        for (text, per_s) in [
            ("500/s", 500.0),
            ("30/m", 0.5),
            ("36/h", 0.01),
            ("1.5k/s", 1500.0),
            ("1.1k/s", 1100.0),
            ("2M/s", 2e6),
            (" 500 / s ", 500.0),
            ("0/s", 0.0),
            ("0.1/s", 0.1),
            ("20_000/s", 20_000.0),
        ] {
            assert_eq!(rate(text).unwrap(), per_s, "{text}");
        }
    }

    #[test]
    fn a_bare_number_is_an_error_that_lists_the_units() {
        let error = rate("500").unwrap_err();
        assert_eq!(error.to_string(), "expected a rate such as 500/s, 30/m or 36/h, found `500`");
        assert_eq!(error.hint.unwrap(), format!("{ACCEPTED}: 500/s is 500 a second"));
        assert!(rate("5k").unwrap_err().hint.unwrap().ends_with("5k/s is 5k a second"));
        assert!(rate("500/sec").unwrap_err().hint.unwrap().ends_with("write 500/s"));
        assert!(rate("500rps").unwrap_err().hint.unwrap().ends_with("write 500/s"));
        for text in ["", "-1/s", "NaN/s", "inf/s", "/s", "1/d", "1//s", "1m/s", "1/s/s", "1e3/s"] {
            assert!(rate(text).is_err(), "{text}");
        }
        let error = rate("  5/x").unwrap_err();
        assert_eq!((error.at, error.len), (2, 3));
    }

    #[test]
    fn shows_rates() {
        for (per_s, text) in [
            (500.0, "500/s"),
            (12_345.4, "12,345/s"),
            (1.5, "1.5/s"),
            (99.97, "100/s"),
            (9.996, "10/s"),
            (1.0 / 3.0, "20/m"),
            (0.01, "36/h"),
            (0.0, "0/s"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(show_rate(per_s), text);
        }
        assert_eq!(show_rate_exact(0.5), "0.5/s");
        assert_eq!(show_rate_exact(1.0 / 3.0), "20/m");
        assert_eq!(show_rate_exact(1500.0), "1500/s");
        assert_eq!(show_rate_exact(1e-300), format!("0.{}/s", "0".repeat(36)));
    }
}
