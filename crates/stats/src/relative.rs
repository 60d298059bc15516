//! Relative change as published, and the mean of normalised scores.
//!
//! A study of web caches in virtual machines and containers compares V, the system with what is
//! studied (there: virtualised), and NV, the one without, by formulas whose base is not the same:
//! the hit ratio's is V, that of response time and throughput is NV. So the formula is always given
//! beside the number ([`Relative::formula`]).
//!
//! Scores of several figures or workloads, each divided by its own baseline, are put together by
//! their geometric mean: it alone does not depend on what the baseline is (P. J. Fleming and J. J.
//! Wallace, "How not to lie with statistics: the correct way to summarize benchmark results",
//! *Communications of the ACM* 29, 1986). That mean with its interval is
//! [`crate::interval::paired_ratio`] of baselines and scores, or
//! [`crate::interval::geometric_mean`] of scores that are normalised already.

use crate::interval::{Estimate, IntervalError, ratio};

/// Which figure a change is of, and so by which formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relative {
    /// (NV − V)/V.
    HitRatio,
    /// (V − NV)/NV.
    ResponseTime,
    /// (V − NV)/NV.
    Throughput,
}

impl Relative {
    /// The formula, as it is written beside the number.
    #[must_use]
    pub fn formula(self) -> &'static str {
        match self {
            Self::HitRatio => "(NV − V)/V",
            Self::ResponseTime | Self::Throughput => "(V − NV)/NV",
        }
    }

    /// The change as a share (0.05 is 5%); `None` where the value it is divided by is not above
    /// zero, or one of them is no number.
    #[must_use]
    pub fn change(self, nv: f64, v: f64) -> Option<f64> {
        let (base, other) = self.base_and_other(nv, v);
        (base > 0.0 && base.is_finite() && other.is_finite()).then(|| (other - base) / base)
    }

    /// The change of the means of two groups of replications with its interval at `level`: the
    /// ratio of the means, less one.
    ///
    /// # Errors
    /// As [`ratio`]: fewer than two values a side, a value that is not finite, a mean that is not
    /// above zero. Side A is the one that the change is divided by.
    pub fn interval(self, nv: &[f64], v: &[f64], level: f64) -> Result<Estimate, IntervalError> {
        let (base, other) = self.base_and_other(nv, v);
        let e = ratio(base, other, level)?;
        Ok(Estimate { value: e.value - 1.0, low: e.low - 1.0, high: e.high - 1.0, ..e })
    }

    fn base_and_other<T>(self, nv: T, v: T) -> (T, T) {
        match self {
            Self::HitRatio => (v, nv),
            Self::ResponseTime | Self::Throughput => (nv, v),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_figure_has_its_base() {
        let close = |found: Option<f64>, wanted: f64| (found.unwrap() - wanted).abs() < 1e-12;
        // A hit ratio of 0.5 without and 0.4 with: 25% by the published formula.
        assert!(close(Relative::HitRatio.change(0.5, 0.4), 0.25));
        assert!(close(Relative::ResponseTime.change(200.0, 260.0), 0.3));
        assert!(close(Relative::Throughput.change(1000.0, 900.0), -0.1));
        assert_eq!(Relative::HitRatio.formula(), "(NV − V)/V");
        assert_eq!(Relative::Throughput.formula(), "(V − NV)/NV");
        assert_eq!(Relative::HitRatio.change(0.5, 0.0), None);
        assert_eq!(Relative::Throughput.change(0.0, 5.0), None);
        assert_eq!(Relative::Throughput.change(1.0, f64::NAN), None);
    }

    #[test]
    fn an_interval_lies_around_the_change_of_means() {
        let (nv, v) = ([0.5, 0.51, 0.49], [0.4, 0.41, 0.39]);
        let e = Relative::HitRatio.interval(&nv, &v, 0.95).unwrap();
        assert!((e.value - 0.25).abs() < 1e-9 && e.low < 0.25 && 0.25 < e.high && e.low > 0.1);
        let zero = Relative::HitRatio.interval(&nv, &[0.0, 0.0], 0.95);
        assert!(matches!(zero, Err(IntervalError::NotPositive { .. })));
    }
}
