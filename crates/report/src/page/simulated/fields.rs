//! The figures that have intervals: the field of each in the result, what it is called and how it
//! reads.

use crate::chart::unit::{micros, money, per_cent, signed, significant, whole};

/// Where there is no value.
pub(super) const DASH: &str = "–";

/// How a figure reads. All may be below zero, as differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Show {
    /// Things, as a mean over replications.
    Count,
    /// Hours.
    Hours,
    /// Money.
    Money,
    /// Microseconds.
    Micros,
    /// Per cent.
    PerCent,
    /// Points of per cent: a difference of two of them.
    Points,
    /// Seconds, told in minutes.
    Minutes,
    /// Any other mean.
    Mean,
}

impl Show {
    /// The text of a value.
    pub(super) fn text(self, value: f64, currency: &str) -> String {
        if !value.is_finite() {
            return DASH.to_owned();
        }
        match self {
            Self::Count => signed(value, count),
            Self::Hours => format!("{} h", signed(value, significant)),
            Self::Money => money(value, currency),
            Self::Micros => signed(value, micros),
            Self::PerCent => signed(value, |size| per_cent(size / 100.0)),
            Self::Points => format!("{} points", signed(value, significant)),
            Self::Minutes => format!("{} min", signed(value / 60.0, significant)),
            Self::Mean => signed(value, significant),
        }
    }

    /// The text of an interval.
    pub(super) fn interval(self, (low, high): (f64, f64), currency: &str) -> String {
        if !low.is_finite() || !high.is_finite() {
            return DASH.to_owned();
        }
        if high <= low {
            return "no spread".to_owned();
        }
        format!("{} to {}", self.text(low, currency), self.text(high, currency))
    }
}

/// Few things in the mean have a fraction.
fn count(size: f64) -> String {
    if size < 99.95 { significant(size) } else { whole(size) }
}

/// A figure with intervals.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    /// Its field in the result.
    pub(super) key: &'static str,
    /// What it is called.
    pub(super) name: &'static str,
    /// How it reads.
    pub(super) show: Show,
}

const fn field(key: &'static str, name: &'static str, show: Show) -> Field {
    Field { key, name, show }
}

/// All of them, in the order in which they are shown.
pub(super) const FIELDS: [Field; 15] = [
    field("instance_hours", "hours billed", Show::Hours),
    field("instance_hours_used", "hours used", Show::Hours),
    field("cost", "cost", Show::Money),
    field("revenue", "revenue", Show::Money),
    field("net", "net", Show::Money),
    field("offered", "offered", Show::Count),
    field("served", "served", Show::Count),
    field("lost", "lost", Show::Count),
    field("in_flight_at_end", "in flight at the end", Show::Count),
    field("response_mean_us", "mean response", Show::Micros),
    field("response_p99_us", "p99", Show::Micros),
    field("slo_violated_s", "SLO not held", Show::Minutes),
    field("cpu_mean", "CPU, mean", Show::PerCent),
    field("scale_out", "scale-outs", Show::Count),
    field("scale_in", "scale-ins", Show::Count),
];

/// The figure of a field; one that is not in the list is called after it.
pub(super) fn of(key: &'static str) -> Field {
    let known = FIELDS.iter().find(|field| field.key == key).copied();
    known.unwrap_or(Field { key, name: key, show: Show::Mean })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_with_their_unit_and_sign() {
        let cases = [
            (Show::Count, 343_763.4, "343,763"),
            (Show::Count, 2.25, "2.25"),
            (Show::Hours, 312.0, "312 h"),
            (Show::Money, -53.04, "−$53.04"),
            (Show::Micros, -1500.0, "−1.50 ms"),
            (Show::PerCent, 71.25, "71.2%"),
            (Show::Points, -3.0, "−3 points"),
            (Show::Minutes, 90.0, "1.5 min"),
            (Show::Mean, f64::NAN, "–"),
        ];
        for (show, value, text) in cases {
            assert_eq!(show.text(value, "$"), text, "{show:?} {value}");
        }
        assert_eq!(Show::Hours.interval((300.0, 320.0), "$"), "300 h to 320 h");
        assert_eq!(Show::Hours.interval((480.0, 480.0), "$"), "no spread");
        assert_eq!((of("cost").name, of("another").name), ("cost", "another"));
    }
}
