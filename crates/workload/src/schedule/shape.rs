//! One shape of rate over time: its rate, its integral Λ and the inverse Λ⁻¹, relative to its
//! start.
//!
//! With r the rate at the start, D the length and x the time since the start:
//!
//! | shape | Λ(x) | Λ⁻¹(y) |
//! | --- | --- | --- |
//! | constant | r·x | y/r |
//! | linear, slope s | r·x + s·x²/2 | 2y / (r + √(r² + 2·s·y)) |
//! | exponential, k = ln(r₁/r)/D | r·(e^(k·x) − 1)/k | ln(1 + k·y/r)/k |
//!
//! Each inverse is taken from the end where the rate is lesser: a falling shape is the rising one
//! run backwards. So nothing is lost by cancellation, even where the rate falls to zero.
//!
//! A constant rate, by far the most common shape, is inverted in whole numbers: the period of one
//! request as a 64.64-bit fixed-point number of nanoseconds, rounded up. Then the n-th due time is
//! one product, or one sum after the one before with the same bits, and it is the floor of the
//! exact quotient wherever n·r < 2^64 and r is whole.

use super::Shape;

pub(super) const NS_PER_S: f64 = 1e9;

/// Rates below one request in 32 years are taken as that when a due time is computed; no schedule
/// lasts that long.
const LEAST_RATE: f64 = 1e-9;

impl Shape {
    /// The rate `x_ns` after the start of a piece of that length.
    pub(super) fn rate(&self, x_ns: u64, length_ns: u64) -> f64 {
        let share = x_ns as f64 / length_ns as f64;
        match *self {
            Self::Constant { rate } => rate,
            Self::Linear { from, to } => from + (to - from) * share,
            Self::Exponential { from, to } => from * libm::exp(libm::log(to / from) * share),
        }
    }

    /// Requests from the start of the piece until `x_ns` after it.
    pub(crate) fn area(&self, x_ns: u64, length_ns: u64) -> f64 {
        let x = x_ns as f64;
        let share = x / length_ns as f64;
        match *self {
            Self::Constant { rate } => rate * x / NS_PER_S,
            Self::Linear { from, to } => (from + 0.5 * (to - from) * share) * x / NS_PER_S,
            Self::Exponential { from, to } => {
                let growth = libm::log(to / from);
                if growth.abs() < 1e-12 {
                    return from * x / NS_PER_S;
                }
                from * libm::expm1(growth * share) / growth * length_ns as f64 / NS_PER_S
            }
        }
    }

    pub(super) fn peak(&self) -> f64 {
        match *self {
            Self::Constant { rate } => rate,
            Self::Linear { from, to } | Self::Exponential { from, to } => from.max(to),
        }
    }

    /// Λ⁻¹ of the piece, ready to be asked many times.
    pub(crate) fn inverse(&self, length_ns: u64) -> Inverse {
        let ends = |from: f64, to: f64| Ends {
            low: from.min(to),
            falling: to < from,
            area: self.area(length_ns, length_ns),
            length_ns: length_ns as f64,
        };
        let length_s = length_ns as f64 / NS_PER_S;
        match *self {
            Self::Linear { from, to } if (to - from).abs() > 0.0 => {
                Inverse::Linear { ends: ends(from, to), slope: (to - from).abs() / length_s }
            }
            Self::Exponential { from, to } if libm::log(to / from).abs() >= 1e-12 => {
                let growth = libm::log(to / from).abs() / length_s;
                Inverse::Exponential { ends: ends(from, to), growth }
            }
            Self::Constant { rate }
            | Self::Linear { from: rate, .. }
            | Self::Exponential { from: rate, .. } => Inverse::Constant { period: period(rate) },
        }
    }
}

/// What the inverses of a rate that changes have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    /// The lesser of the rates at both ends.
    low: f64,
    falling: bool,
    area: f64,
    length_ns: f64,
}

impl Ends {
    /// Time since the start from the time `rising` gives for a rising shape.
    #[inline]
    fn offset_ns(&self, y: f64, rising: impl Fn(f64) -> f64) -> u64 {
        let ns = if self.falling {
            self.length_ns - rising((self.area - y).max(0.0)) * NS_PER_S
        } else {
            rising(y) * NS_PER_S
        };
        whole_ns(ns)
    }
}

/// Λ⁻¹ of one piece: requests since its start → nanoseconds since its start, rounded down.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Inverse {
    /// A constant rate; nanoseconds per request as 64.64-bit fixed point.
    Constant { period: u128 },
    Linear {
        ends: Ends,
        /// Rise of the rate per second, above zero.
        slope: f64,
    },
    Exponential {
        ends: Ends,
        /// Rise of the rate's logarithm per second, above zero.
        growth: f64,
    },
}

impl Inverse {
    /// Λ⁻¹(whole + part).
    #[inline]
    pub(crate) fn offset_ns(&self, whole: u64, part: f64) -> u64 {
        match *self {
            Self::Constant { period } => high(fixed_offset(period, whole, part)),
            _ => self.offset_of(whole as f64 + part),
        }
    }

    /// Λ⁻¹(y), in floating point alone.
    #[inline]
    pub(crate) fn offset_of(&self, y: f64) -> u64 {
        match *self {
            Self::Constant { period } => whole_ns(y * period_ns(period)),
            Self::Linear { ends, slope } => ends.offset_ns(y, |y| rising_line(ends.low, slope, y)),
            Self::Exponential { ends, growth } => {
                ends.offset_ns(y, |y| libm::log1p(growth * y / ends.low) / growth)
            }
        }
    }
}

#[inline]
fn rising_line(low: f64, slope: f64, y: f64) -> f64 {
    let denominator = low + (low * low + 2.0 * slope * y).sqrt();
    if denominator > 0.0 { 2.0 * y / denominator } else { 0.0 }
}

/// Nanoseconds per request at a rate: 10^9/rate · 2^64, rounded up.
fn period(rate: f64) -> u128 {
    let rate = rate.max(LEAST_RATE);
    // rate = mantissa · 2^-scale; rates from LEAST_RATE to 2^30 have scales from 82 down to 22.
    let mantissa = u128::from(rate.to_bits() & ((1 << 52) - 1) | 1 << 52);
    let scale = 1075 - (rate.to_bits() >> 52);
    // 10^9 · 2^64 · 2^scale / mantissa, in two steps that stay below 2^128.
    let first = scale.min(33);
    let numerator = 1_000_000_000_u128 << (64 + first);
    let (quotient, remainder) = (numerator / mantissa, numerator % mantissa);
    let rest = scale - first;
    (quotient << rest) + (remainder << rest).div_ceil(mantissa)
}

/// A 64.64-bit period as a floating-point number of nanoseconds.
#[inline]
pub(crate) fn period_ns(period: u128) -> f64 {
    period as f64 * (1.0 / (1_u128 << 64) as f64)
}

/// `(whole + part) · period`, `part` in `0..=1`.
#[inline]
pub(crate) fn fixed_offset(period: u128, whole: u64, part: f64) -> u128 {
    #[expect(clippy::cast_possible_truncation, reason = "at most 2^64")]
    let part = (part * (1_u128 << 64) as f64) as u128;
    let (high, low) = (period >> 64, period & u128::from(u64::MAX));
    u128::from(whole) * period + high * part + ((low * part) >> 64)
}

/// The whole nanoseconds of a 64.64-bit number.
#[inline]
pub(crate) fn high(fixed: u128) -> u64 {
    (fixed >> 64) as u64
}

/// Rounds down to whole nanoseconds; below zero is zero. By way of a signed number, for which the
/// processor has one instruction.
#[inline]
pub(crate) fn whole_ns(ns: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, reason = "rounding down is what is wanted")]
    let whole = ns as i64;
    whole.max(0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the quotient in whole numbers: floor(n·10^9/rate) exactly, for whole rates.
    #[test]
    fn a_constant_rate_is_inverted_exactly() {
        for rate in [1_u64, 3, 7, 500, 600, 997, 20_000, 999_983, 123_456_789, 1_000_000_000] {
            let inverse = Shape::Constant { rate: rate as f64 }.inverse(1);
            for n in [0, 1, 2, 3, rate - 1, rate, 3 * rate, 86_400 * rate, 86_400 * rate + 1] {
                let exact = u128::from(n) * 1_000_000_000 / u128::from(rate);
                assert_eq!(u128::from(inverse.offset_ns(n, 0.0)), exact, "request {n} at {rate}/s");
            }
        }
    }

    #[test]
    fn a_slow_rate_has_a_long_period() {
        assert_eq!(high(period(1.0 / 1024.0)), 1_024_000_000_000);
        assert_eq!(period(0.5), 2_000_000_000 << 64);
        assert_eq!(high(period(0.0)), high(period(LEAST_RATE)));
        assert!((period_ns(period(1e-9)) - 1e18).abs() < 1e3);
    }

    #[test]
    fn part_of_a_period() {
        let period = period(3.0);
        assert_eq!(high(fixed_offset(period, 0, 0.5)), 166_666_666);
        assert_eq!(fixed_offset(period, 4, 1.0), 5 * period);
    }
}
