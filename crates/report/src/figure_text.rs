//! How the value of a registered figure reads on a page. All may be below zero, as differences.

use plimsoll_stats::figure::{Figure, Unit};

use plimsoll_draw::chart::unit::{bytes, micros, money, per_cent, signed, significant, whole};

/// Where there is no value.
pub(crate) const DASH: &str = "–";

/// The text of a value; of money with its currency.
pub(crate) fn text(figure: &Figure, value: f64, currency: &str) -> String {
    of_unit(figure.unit, value, currency)
}

/// The text of a value of a unit; of money with its currency.
pub(crate) fn of_unit(unit: Unit, value: f64, currency: &str) -> String {
    if !value.is_finite() {
        return DASH.to_owned();
    }
    match unit {
        Unit::Micros => signed(value, micros),
        Unit::Millis => signed(value, |size| micros(1e3 * size)),
        Unit::Seconds => format!("{} min", signed(value / 60.0, significant)),
        Unit::Hours => format!("{} h", signed(value, significant)),
        Unit::PerSecond => format!("{}/s", signed(value, significant)),
        Unit::Count => signed(value, count),
        Unit::Number => signed(value, significant),
        Unit::Share => signed(value, per_cent),
        Unit::PerCent => signed(value, |size| per_cent(size / 100.0)),
        Unit::Bytes => signed(value, bytes),
        Unit::BytesPerSecond => format!("{}/s", signed(value, bytes)),
        Unit::Money | Unit::Balance => money(value, currency),
    }
}

/// The text of a difference of two values: of shares in points of per cent.
pub(crate) fn difference(figure: &Figure, value: f64, currency: &str) -> String {
    let points = match figure.unit {
        Unit::PerCent => value,
        Unit::Share => 100.0 * value,
        _ => return text(figure, value, currency),
    };
    if value.is_finite() {
        format!("{} points", signed(points, significant))
    } else {
        DASH.to_owned()
    }
}

/// The text of an interval, of whose ends `show` tells each.
pub(crate) fn interval((low, high): (f64, f64), show: impl Fn(f64) -> String) -> String {
    if !low.is_finite() || !high.is_finite() {
        return DASH.to_owned();
    }
    if high <= low {
        return "no spread".to_owned();
    }
    format!("{} to {}", show(low), show(high))
}

/// Few things in the mean have a fraction.
fn count(size: f64) -> String {
    if size < 99.95 { significant(size) } else { whole(size) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_stats::figure;

    #[test]
    fn figures_read_with_their_unit_and_sign() {
        let cases = [
            (figure::LOST, 343_763.4, "343,763"),
            (figure::LOST, 2.25, "2.25"),
            (figure::INSTANCE_HOURS, 312.0, "312 h"),
            (figure::COST, -53.04, "−$53.04"),
            (figure::RESPONSE_MEAN_US, -1500.0, "−1.50 ms"),
            (figure::RESPONSE_MEAN_MS, 12.5, "12.5 ms"),
            (figure::CPU_MEAN, 71.25, "71.2%"),
            (figure::MISS_RATIO, 0.25, "25%"),
            (figure::SLO_VIOLATED_S, 90.0, "1.5 min"),
            (figure::ESTIMATE_PER_S, 499.96, "500/s"),
            (figure::JITTER_PER_HOUR, f64::NAN, "–"),
        ];
        for (figure, value, shown) in cases {
            assert_eq!(text(figure, value, "$"), shown, "{} {value}", figure.name);
        }
        assert_eq!(difference(figure::CPU_MEAN, -3.0, "$"), "−3 points");
        assert_eq!(difference(figure::MISS_RATIO, 0.03, "$"), "3 points");
        assert_eq!(difference(figure::COST, f64::NAN, "$"), "–");
        let hours = |value: f64| text(figure::INSTANCE_HOURS, value, "$");
        assert_eq!(interval((300.0, 320.0), hours), "300 h to 320 h");
        assert_eq!(interval((480.0, 480.0), hours), "no spread");
    }
}
