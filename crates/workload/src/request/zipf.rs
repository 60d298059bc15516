//! Zipf's distribution over 1..=n: P(k) ∝ k^(−s), for any exponent s ≥ 0.
//!
//! Rejection-inversion: Hörmann and Derflinger, Rejection-inversion to generate variates from
//! monotone discrete distributions, ACM TOMACS 6(3), 1996, pages 169–184. The hat is the integral
//! H of x^(−s); constant memory, less than 1.1 draws a variate. H and its inverse are written with
//! log1p and expm1 quotients, so that they hold near s = 1 too.
//!
//! For populations too great for a table. A [`Picker`](super::Picker), whose list is in memory
//! anyway, draws from an [`Alias`](super::Alias) table of the [`weights`](Zipf::weights),
//! several times as fast.

use std::ops::RangeInclusive;

use super::error::RequestError;
use crate::random::Stream;

/// A Zipf distribution.
///
/// Ranks are looked at as multiples x / first of the first one, and H as the integral from there:
/// far from rank 1 a steep law would otherwise be a difference of nearly equal numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Zipf {
    first: f64,
    n: f64,
    exponent: f64,
    /// H(1 + 1/2 first) − h(1) / first: the upper end of the hat over the first rank, whose bar is
    /// as wide as its probability.
    top: f64,
    /// H((n + 1/2) / first).
    bottom: f64,
    /// A draw this near below its integer is accepted without a further look.
    sure: f64,
}

impl Zipf {
    /// Over `1..=n`.
    ///
    /// # Errors
    /// n of zero, or an exponent that is negative or not finite.
    pub fn new(n: u64, exponent: f64) -> Result<Self, RequestError> {
        Self::within(1..=n, exponent)
    }

    /// Over these ranks alone: P(k) ∝ k^(−s) for k in `ranks`, which begin at 1 or above.
    ///
    /// # Errors
    /// No ranks, rank zero, or an exponent that is negative or not finite.
    pub fn within(ranks: RangeInclusive<u64>, exponent: f64) -> Result<Self, RequestError> {
        if !(exponent.is_finite() && exponent >= 0.0) {
            return Err(RequestError::Exponent { found: exponent });
        }
        if ranks.is_empty() || *ranks.start() == 0 {
            return Err(RequestError::NoUrls { origin: "a Zipf distribution".to_owned() });
        }
        #[expect(clippy::cast_precision_loss, reason = "ranks beyond 2^53 are not told apart")]
        let (first, n) = (*ranks.start() as f64, *ranks.end() as f64);
        let hat = Hat { exponent };
        let top = hat.integral((first + 0.5) / first) - 1.0 / first;
        let bottom = hat.integral((n + 0.5) / first);
        let sure = 2.0 - hat.inverse(hat.integral(2.5) - hat.density(2.0));
        Ok(Self { first, n, exponent, top, bottom, sure })
    }

    /// A rank: between 1 and n, or one of those that were given.
    #[must_use]
    pub fn sample(&self, stream: &mut Stream) -> u64 {
        let (hat, first) = (Hat { exponent: self.exponent }, self.first);
        loop {
            // 1 − uniform lies in (0, 1].
            let u = self.bottom + (1.0 - stream.uniform()) * (self.top - self.bottom);
            let x = first * hat.inverse(u);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "between the first rank and n; the cast rounds down"
            )]
            let (rank, k) = {
                let rank = (x + 0.5).clamp(first, self.n) as u64;
                (rank, rank as f64)
            };
            let low = || hat.integral((k + 0.5) / first) - hat.density(k / first) / first;
            if k - x <= self.sure || u >= low() {
                return rank;
            }
        }
    }
}

impl Zipf {
    /// k^(−s) for each rank, from the first to n, with as many bits on every machine.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "n was a u64")]
    pub fn weights(&self) -> impl Iterator<Item = f64> + use<> {
        let hat = Hat { exponent: self.exponent };
        #[expect(clippy::cast_precision_loss, reason = "ranks beyond 2^53 are not told apart")]
        (self.first as u64..=self.n as u64).map(move |k| hat.density(k as f64))
    }
}

/// h(x) = x^(−s) and its integral from 1.
struct Hat {
    exponent: f64,
}

impl Hat {
    fn density(&self, x: f64) -> f64 {
        libm::exp(-self.exponent * libm::log(x))
    }

    /// H(x) = (x^(1−s) − 1) / (1 − s), and ln x where s = 1.
    fn integral(&self, x: f64) -> f64 {
        let log = libm::log(x);
        expm1_over((1.0 - self.exponent) * log) * log
    }

    /// H⁻¹(y) = (1 + (1 − s) y)^(1 / (1 − s)), and e^y where s = 1.
    fn inverse(&self, y: f64) -> f64 {
        // Rounding may push the argument just below −1, where the logarithm ends.
        let t = ((1.0 - self.exponent) * y).max(-1.0);
        libm::exp(log1p_over(t) * y)
    }
}

/// (e^x − 1) / x, by its series near 0.
fn expm1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { libm::expm1(x) / x } else { 1.0 + x * 0.5 * (1.0 + x / 3.0) }
}

/// ln(1 + x) / x, by its series near 0.
fn log1p_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { libm::log1p(x) / x } else { 1.0 - x * (0.5 - x / 3.0) }
}
