//! An axis for values that are compared with each other: from zero where they are far apart, from a
//! round value below the least where zero would press them together.

use super::round::{round_down, round_up};

/// Values closer together than this, least over greatest, do without zero.
const CLOSE: f64 = 0.5;
/// About so many ticks.
const TICKS: f64 = 6.0;

/// A range of values with round ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// The value at the left end.
    pub low: f64,
    /// The value at the right end.
    pub high: f64,
    /// The distance of ticks.
    pub step: f64,
}

impl Range {
    /// A range that holds all values, which are not below zero; from 0 to 1 without any.
    pub fn over(values: impl Iterator<Item = f64>) -> Self {
        let finite = values.filter(|value| value.is_finite() && *value >= 0.0);
        let (least, greatest) = finite
            .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        if greatest <= 0.0 {
            return Self { low: 0.0, high: 1.0, step: 0.2 };
        }
        if least < greatest * CLOSE {
            let step = round_up(greatest / TICKS);
            return Self { low: 0.0, high: (greatest / step - 1e-9).ceil() * step, step };
        }
        // Values that are all but equal get a range about them.
        let span = (greatest - least).max(greatest * 1e-3);
        let step = round_down(span / TICKS * 2.0);
        let low = ((least / step).floor() * step).max(0.0);
        let high = (greatest / step).ceil().max((low / step).round() + 2.0) * step;
        Self { low, high, step }
    }

    /// Where a value stands: 0 at the left end, 1 at the right, never outside.
    pub fn at(self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
    }

    /// The values with a tick, ascending.
    pub fn ticks(self) -> Vec<f64> {
        let mut ticks = Vec::new();
        let mut n = 0.0;
        while self.low + n * self.step <= self.high + self.step * 1e-6 && ticks.len() < 32 {
            ticks.push(self.low + n * self.step);
            n += 1.0;
        }
        ticks
    }

    /// What a reader has to know of an axis that does not begin at zero; empty where it does.
    pub fn note(self) -> &'static str {
        if self.low > 0.0 { " The axis does not begin at zero." } else { "" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn far_values_begin_at_zero_and_close_ones_do_not() {
        assert_eq!(Range::over([3.0, 28.0].into_iter()), Range { low: 0.0, high: 30.0, step: 5.0 });
        let close = Range::over([1800.0, 1900.0].into_iter());
        assert_eq!(close, Range { low: 1800.0, high: 1900.0, step: 20.0 });
        assert_eq!(close.ticks().len(), 6);
        assert!(close.note().contains("not begin at zero"));
        assert_eq!(Range::over(std::iter::empty()).ticks().len(), 6);
    }

    proptest! {
        #[test]
        fn a_range_holds_its_values(values in prop::collection::vec(1e-3f64..1e9, 1..20)) {
            let range = Range::over(values.iter().copied());
            prop_assert!(range.low >= 0.0 && range.high > range.low, "{:?}", range);
            for value in &values {
                let slack = value * 1e-9;
                prop_assert!(*value >= range.low - slack && *value <= range.high + slack);
            }
            let ticks = range.ticks();
            prop_assert!(ticks.len() >= 3 && ticks.len() <= 16, "{:?} {:?}", range, ticks);
        }
    }
}
