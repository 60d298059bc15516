//! The horizontal axis: equal columns of time, of response time, or of the number of nines.
//!
//! Every chart of the report is a table: one row a column of the chart, one cell a series. So the
//! axis also names each column, for the table and for the read-out under the pointer.

use super::range::Range;
use super::scale::Scale;
use super::unit::{Unit, clock, moment};

/// A tick: where (0 at the left end, 1 at the right), and its label.
pub type Tick = (f64, String);

/// What the columns of a chart stand for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Axis {
    /// `columns` stretches of `column_s` seconds, from the run's first due time.
    Time {
        /// How many columns.
        columns: usize,
        /// The length of one, in whole seconds.
        column_s: f64,
        /// The time of day at the left end, seconds since midnight, where there is one.
        clock_s: Option<f64>,
    },
    /// Values from 0 to `top`.
    Value {
        /// How many columns.
        columns: usize,
        /// The value at the right end.
        top: f64,
        /// What the values are.
        unit: Unit,
    },
    /// Values of a range, all in one column: only its ticks are used.
    Range {
        /// The values.
        range: Range,
        /// What they are.
        unit: Unit,
    },
    /// Values on a logarithmic axis, all in one column: only its ticks are used. Places of a plot
    /// over it are natural logarithms.
    Log {
        /// The value at the left end.
        low: f64,
        /// The value at the right end.
        high: f64,
        /// What they are.
        unit: Unit,
    },
    /// Values at equal distances, in an order: their names stand beside them, not at ticks.
    Order {
        /// How many.
        columns: usize,
    },
    /// Quantiles by their number of nines: x stands for 1 − 10^−x, from 0 to `nines`.
    Nines {
        /// How many columns.
        columns: usize,
        /// The number of nines at the right end.
        nines: f64,
    },
}

impl Axis {
    /// The same with the time of day at its left end.
    #[must_use]
    pub fn from_clock(self, clock_s: Option<f64>) -> Self {
        match self {
            Self::Time { columns, column_s, .. } => Self::Time { columns, column_s, clock_s },
            other => other,
        }
    }

    /// How long it is, seconds; `None` where it is not time.
    pub fn span_s(self) -> Option<f64> {
        match self {
            Self::Time { columns, column_s, .. } => Some(columns.max(1) as f64 * column_s),
            Self::Value { .. }
            | Self::Range { .. }
            | Self::Log { .. }
            | Self::Order { .. }
            | Self::Nines { .. } => None,
        }
    }

    /// How many columns there are.
    pub fn columns(self) -> usize {
        match self {
            Self::Time { columns, .. }
            | Self::Value { columns, .. }
            | Self::Order { columns }
            | Self::Nines { columns, .. } => columns,
            Self::Range { .. } | Self::Log { .. } => 1,
        }
    }

    /// Where the middle of a column stands.
    pub fn middle(self, column: usize) -> f64 {
        (column as f64 + 0.5) / self.columns().max(1) as f64
    }

    /// Where a moment of the run stands; 0 on an axis that is not time.
    pub fn at_second(self, seconds: f64) -> f64 {
        match self {
            Self::Time { columns, column_s, .. } => {
                (seconds / (columns.max(1) as f64 * column_s)).clamp(0.0, 1.0)
            }
            Self::Value { .. }
            | Self::Range { .. }
            | Self::Log { .. }
            | Self::Order { .. }
            | Self::Nines { .. } => 0.0,
        }
    }

    /// The quantile in the middle of a column; 0 on an axis that is not of quantiles.
    pub fn quantile(self, column: usize) -> f64 {
        match self {
            Self::Nines { nines, .. } => 1.0 - 10f64.powf(-self.middle(column) * nines),
            Self::Time { .. }
            | Self::Value { .. }
            | Self::Range { .. }
            | Self::Log { .. }
            | Self::Order { .. } => 0.0,
        }
    }

    /// The heading over the column names, in the table.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Time { clock_s: Some(_), .. } => "time of day",
            Self::Time { .. } => "time",
            Self::Value { .. } => "response time",
            Self::Range { .. } | Self::Log { .. } => "value",
            Self::Order { .. } => "in their order",
            Self::Nines { .. } => "percentile",
        }
    }

    /// The name of a column.
    pub fn name(self, column: usize) -> String {
        match self {
            Self::Time { column_s, clock_s, .. } => {
                let at = column as f64 * column_s;
                clock_s.map_or_else(|| moment(at), |start| clock(start + at))
            }
            Self::Value { columns, top, unit } => {
                let width = top / columns.max(1) as f64;
                let low = column as f64 * width;
                format!("{} to {}", unit.show(low), unit.show(low + width))
            }
            Self::Range { range, unit } => {
                format!("{} to {}", unit.show(range.low), unit.show(range.high))
            }
            Self::Log { low, high, unit } => format!("{} to {}", unit.show(low), unit.show(high)),
            Self::Order { .. } => (column + 1).to_string(),
            Self::Nines { .. } => quantile_name(self.quantile(column)),
        }
    }

    /// Where the ticks are.
    pub fn ticks(self) -> Vec<Tick> {
        match self {
            Self::Time { columns, column_s, clock_s } => {
                time_ticks(columns.max(1) as f64 * column_s, clock_s)
            }
            Self::Value { top, unit, .. } => Scale::linear(top, unit.least_step())
                .ticks()
                .into_iter()
                .filter(|&value| value <= top * (1.0 + 1e-9))
                .map(|value| (value / top, unit.tick(value, top)))
                .collect(),
            Self::Range { range, unit } => range
                .ticks()
                .into_iter()
                .map(|value| (range.at(value), unit.tick(value, range.high)))
                .collect(),
            Self::Log { low, high, unit } => {
                let scale = Scale::Log { low, high };
                let tick = |value| (scale.at(value), unit.tick(value, value));
                scale.ticks().into_iter().map(tick).collect()
            }
            Self::Order { .. } => Vec::new(),
            Self::Nines { nines, .. } => nine_ticks(nines),
        }
    }
}

/// `p99.87`: as many digits as tell two neighbours apart.
fn quantile_name(quantile: f64) -> String {
    let nines = -(1.0 - quantile).max(1e-12).log10();
    #[expect(clippy::cast_possible_truncation, reason = "0 to 12")]
    let places = (nines + 1e-6).floor() as usize + 1;
    format!("p{:.places$}", quantile * 100.0)
}

fn time_ticks(domain_s: f64, clock_s: Option<f64>) -> Vec<Tick> {
    const STEPS: [f64; 20] = [
        1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0,
        10_800.0, 21_600.0, 43_200.0, 86_400.0, 172_800.0, 604_800.0,
    ];
    let step = STEPS
        .into_iter()
        .find(|step| domain_s / step <= 8.0)
        .unwrap_or_else(|| 604_800.0 * (domain_s / 604_800.0 / 8.0).ceil());
    let mut ticks = Vec::new();
    // Ticks stand at round times of the day, where there is one.
    let start = clock_s.unwrap_or(0.0);
    let mut at = (start / step).ceil() * step - start;
    while at <= domain_s * (1.0 + 1e-9) {
        let label = clock_s.map_or_else(|| moment(at), |start| clock(start + at));
        ticks.push((at / domain_s, label));
        at += step;
    }
    ticks
}

fn nine_ticks(nines: f64) -> Vec<Tick> {
    let mut ticks = vec![(0.0, "0%".to_owned())];
    if nines > 0.5 {
        ticks.push((2f64.log10() / nines, "50%".to_owned()));
    }
    let mut n: u8 = 1;
    while f64::from(n) <= nines * (1.0 + 1e-9) && n < 13 {
        let label = match n {
            1 => "90%".to_owned(),
            2 => "99%".to_owned(),
            n => format!("99.{}%", "9".repeat(usize::from(n) - 2)),
        };
        ticks.push((f64::from(n) / nines, label));
        n += 1;
    }
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: Axis) -> Vec<String> {
        axis.ticks().into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn time_has_at_most_nine_round_ticks() {
        let axis = Axis::Time { columns: 120, column_s: 1.0, clock_s: None };
        assert_eq!(
            labels(axis),
            ["0s", "15s", "30s", "45s", "1m", "1m15s", "1m30s", "1m45s", "2m"]
        );
        let day = Axis::Time { columns: 480, column_s: 180.0, clock_s: None };
        assert_eq!(labels(day).len(), 9);
        assert_eq!(labels(day)[1], "3h");
        let year = Axis::Time { columns: 1, column_s: 365.0 * 86_400.0, clock_s: None };
        assert!(labels(year).len() <= 9);
    }

    #[test]
    fn nines_have_a_tick_each() {
        let axis = Axis::Nines { columns: 90, nines: 4.0 };
        assert_eq!(labels(axis), ["0%", "50%", "90%", "99%", "99.9%", "99.99%"]);
        assert!((axis.ticks()[3].0 - 0.5).abs() < 1e-12, "99% is two nines of four");
    }

    #[test]
    fn a_logarithmic_axis_has_a_tick_each_decade() {
        let axis = Axis::Log { low: 100.0, high: 1e6, unit: Unit::Micros };
        assert_eq!(labels(axis), ["100 µs", "1 ms", "10 ms", "100 ms", "1 s"]);
        assert!((axis.ticks()[1].0 - 0.25).abs() < 1e-12);
        assert_eq!(axis.name(0), "100 µs to 1.00 s");
    }

    #[test]
    fn columns_have_names() {
        assert_eq!(Axis::Time { columns: 10, column_s: 30.0, clock_s: None }.name(3), "1m30s");
        let value = Axis::Value { columns: 10, top: 100_000.0, unit: Unit::Micros };
        assert_eq!(value.name(1), "10.0 ms to 20.0 ms");
        let nines = Axis::Nines { columns: 2, nines: 4.0 };
        assert_eq!(nines.name(0), "p90.00");
        assert_eq!(nines.name(1), "p99.9000");
    }

    #[test]
    fn moments_fall_in_their_place() {
        let axis = Axis::Time { columns: 60, column_s: 2.0, clock_s: None };
        assert!((axis.at_second(30.0) - 0.25).abs() < 1e-12);
        assert!((axis.at_second(500.0) - 1.0).abs() < 1e-12, "never outside");
    }
}
