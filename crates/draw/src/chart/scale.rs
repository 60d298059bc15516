//! Where a value stands on an axis, and which round values get a tick.
//!
//! Ticks are 1, 2 or 5 times a power of ten. A linear scale always starts at zero, so that twice
//! the height is twice the value; only where values lie below zero it starts below it. Points that
//! are compared with each other, and have no height, may stand over a [`Range`] instead.

use super::range::Range;
use super::round::{round_down, round_up};

/// A scale of the vertical axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scale {
    /// From 0 to `top`, a tick each `step`.
    Linear {
        /// The value at the upper end.
        top: f64,
        /// The distance of ticks.
        step: f64,
    },
    /// From `low`, below zero, to `high`, not below it, a tick each `step`.
    Across {
        /// The value at the lower end, a multiple of the step.
        low: f64,
        /// The value at the upper end.
        high: f64,
        /// The distance of ticks.
        step: f64,
    },
    /// The values of a range, which need not begin at zero: for points alone.
    Over(Range),
    /// From `low` to `high`, both above zero.
    Log {
        /// The value at the lower end.
        low: f64,
        /// The value at the upper end.
        high: f64,
    },
}

impl Scale {
    /// A linear scale that holds `max`, with at most about five ticks no closer than `least_step`.
    pub fn linear(max: f64, least_step: f64) -> Self {
        if !max.is_finite() || max <= 0.0 {
            let step = if least_step > 0.0 { least_step } else { 1.0 };
            return Self::Linear { top: step, step };
        }
        let step = round_up(max / 5.0).max(least_step);
        // A hair below, so that a maximum which is a multiple of the step stays its own top.
        let top = ((max / step) - 1e-9).ceil().max(1.0) * step;
        Self::Linear { top, step }
    }

    /// A linear scale that holds all from `min` to `max`: from zero where none is below it.
    pub fn spanning(min: f64, max: f64, least_step: f64) -> Self {
        if !(min.is_finite() && min < 0.0) {
            return Self::linear(max, least_step);
        }
        let max = if max.is_finite() { max.max(0.0) } else { 0.0 };
        let step = round_up((max - min) / 5.0).max(least_step);
        let low = (min / step + 1e-9).floor() * step;
        let high = (max / step - 1e-9).ceil().max(0.0) * step;
        Self::Across { low, high, step }
    }

    /// A logarithmic scale from below `min` to above `max`. Values that are not above zero do not
    /// count; without any, it goes from 1 to 10.
    pub fn log(min: f64, max: f64) -> Self {
        if !(min.is_finite() && max.is_finite() && min > 0.0 && max >= min) {
            return Self::Log { low: 1.0, high: 10.0 };
        }
        let low = round_down(min);
        let high = round_up(max);
        if high / low < 1.5 {
            return Self::Log { low: round_down(low / 1.5), high: round_up(high * 1.5) };
        }
        Self::Log { low, high }
    }

    /// The share of the axis below `value`: 0 at the lower end, 1 at the upper, never outside.
    pub fn at(self, value: f64) -> f64 {
        let share = match self {
            Self::Linear { top, .. } => value / top,
            Self::Across { low, high, .. } => (value - low) / (high - low),
            Self::Over(range) => range.at(value),
            Self::Log { low, high } => (value / low).ln() / (high / low).ln(),
        };
        if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
    }

    /// Whether the axis reaches `value`.
    pub fn holds(self, value: f64) -> bool {
        match self {
            Self::Linear { top, .. } => (0.0..=top).contains(&value),
            Self::Across { low, high, .. }
            | Self::Over(Range { low, high, .. })
            | Self::Log { low, high } => (low..=high).contains(&value),
        }
    }

    /// The value at the upper end.
    pub fn top(self) -> f64 {
        match self {
            Self::Linear { top, .. } => top,
            Self::Across { high, .. } | Self::Over(Range { high, .. }) | Self::Log { high, .. } => {
                high
            }
        }
    }

    /// Whether the base line stands at a tick: at zero, or at the lower end of a scale without it.
    pub fn is_base(self, tick: f64) -> bool {
        match self {
            Self::Across { step, .. } => tick.abs() < step / 2.0,
            Self::Linear { .. } | Self::Over(_) | Self::Log { .. } => self.at(tick) <= 0.0,
        }
    }

    /// The values with a tick, ascending.
    pub fn ticks(self) -> Vec<f64> {
        match self {
            Self::Linear { top, step } => even_ticks(0.0, top, step),
            Self::Across { low, high, step } => even_ticks(low, high, step),
            Self::Over(range) => range.ticks(),
            Self::Log { low, high } => log_ticks(low, high),
        }
    }
}

/// Multiples of `step` from `low`, which is one, to `high`.
fn even_ticks(low: f64, high: f64, step: f64) -> Vec<f64> {
    let first = (low / step).round();
    let mut ticks = Vec::new();
    let mut n = 0.0;
    while (first + n) * step <= high + (high - low) * 1e-9 && ticks.len() < 32 {
        ticks.push((first + n) * step);
        n += 1.0;
    }
    ticks
}

/// Powers of ten from `low` to `high`, and round multiples of them where there are few.
fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let factors: &[f64] = match high / low {
        ratio if ratio < 10.0 * (1.0 - 1e-9) => &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0],
        ratio if ratio < 300.0 => &[1.0, 2.0, 5.0],
        _ => &[1.0],
    };
    let mut ticks = Vec::new();
    let mut decade = 10f64.powf(low.log10().floor());
    while decade <= high * (1.0 + 1e-9) && ticks.len() < 64 {
        for factor in factors {
            let value = decade * factor;
            if value >= low * (1.0 - 1e-9) && value <= high * (1.0 + 1e-9) {
                ticks.push(value);
            }
        }
        decade *= 10.0;
    }
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
    }

    #[test]
    fn linear_ticks_are_round() {
        assert_eq!(Scale::linear(500.0, 0.0).ticks().len(), 6);
        assert!(near(Scale::linear(500.0, 0.0).top(), 500.0));
        assert!(near(Scale::linear(501.0, 0.0).top(), 600.0));
        assert!(near(Scale::linear(3.0, 1.0).top(), 3.0));
        assert!(near(Scale::linear(0.031, 0.0).top(), 0.04));
    }

    #[test]
    fn log_ticks_are_decades_or_finer() {
        let wide = Scale::log(90.0, 2_000_000.0);
        assert_eq!(wide.ticks(), vec![100.0, 1e3, 1e4, 1e5, 1e6]);
        let narrow = Scale::log(110.0, 900.0);
        assert_eq!(narrow.ticks(), vec![100.0, 200.0, 500.0, 1000.0]);
    }

    #[test]
    fn a_scale_begins_below_zero_only_where_values_do() {
        assert_eq!(Scale::spanning(3.0, 500.0, 0.0), Scale::linear(500.0, 0.0));
        let below = Scale::spanning(-130.0, 290.0, 0.0);
        assert_eq!(below.ticks(), vec![-200.0, -100.0, 0.0, 100.0, 200.0, 300.0]);
        assert!(near(below.at(50.0), 0.5) && below.holds(-150.0) && !below.holds(301.0));
        assert!(below.is_base(0.0) && !below.is_base(-200.0));
        assert_eq!(Scale::spanning(-9.0, -3.0, 0.0).ticks().last(), Some(&0.0));
        assert!(Scale::linear(5.0, 0.0).is_base(0.0));
    }

    #[test]
    fn nothing_to_show_still_gives_a_scale() {
        for odd in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
            assert!(Scale::linear(odd, 0.0).ticks().len() >= 2);
            assert!(Scale::log(odd, odd).ticks().len() >= 2);
        }
        assert!(near(Scale::linear(1.0, 0.0).at(f64::NAN) + 1.0, 1.0));
    }

    proptest! {
        #[test]
        fn scales_hold_their_values(max in 1e-6f64..1e12, ratio in 1.0f64..1e9) {
            let linear = Scale::linear(max, 0.0);
            prop_assert!(linear.top() >= max * (1.0 - 1e-6));
            prop_assert!(linear.top() <= max * 2.5);
            let ticks = linear.ticks();
            prop_assert!(ticks.len() >= 3 && ticks.len() <= 7, "{:?}", ticks);

            let min = max / ratio;
            let Scale::Log { low, high } = Scale::log(min, max) else { unreachable!() };
            prop_assert!(low <= min * (1.0 + 1e-6) && high >= max * (1.0 - 1e-6));
            let ticks = Scale::Log { low, high }.ticks();
            prop_assert!(ticks.len() >= 2 && ticks.len() <= 12, "{:?}", ticks);
            prop_assert!(ticks.is_sorted());
        }

        #[test]
        fn scales_across_zero_hold_their_values(min in -1e12f64..-1e-6, max in -1e12f64..1e12) {
            let max = max.max(min);
            let scale = Scale::spanning(min, max, 0.0);
            let slack = 1e-6 * (max.abs() + min.abs());
            prop_assert!(scale.holds(min) || scale.holds(min + slack), "{:?}", scale);
            prop_assert!(scale.holds(max) || scale.holds(max - slack), "{:?}", scale);
            let ticks = scale.ticks();
            prop_assert!(ticks.len() >= 2 && ticks.len() <= 8, "{:?}", ticks);
            prop_assert!(ticks.iter().any(|&tick| scale.is_base(tick)), "{:?}", ticks);
        }

        #[test]
        fn places_are_monotone(a in 1.0f64..1e9, b in 1.0f64..1e9) {
            let (a, b) = if a < b { (a, b) } else { (b, a) };
            for scale in [Scale::linear(b, 0.0), Scale::log(a, b)] {
                prop_assert!(scale.at(a) <= scale.at(b));
                prop_assert!((0.0..=1.0).contains(&scale.at(a)));
            }
        }
    }
}
