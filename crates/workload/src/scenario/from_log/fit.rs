//! A distribution of think times, fitted while they come: nothing is kept but sums.
//!
//! Between an exponential and a lognormal distribution the one is taken under which the times are
//! likelier, both with the mean that was observed; the lognormal's σ is that of the logarithms.
//! Logs mostly have whole seconds: what is below half a second counts as half a second for the
//! logarithms, and as it is for the mean.

use crate::distribution::Distribution;

/// The least time of which a logarithm is taken, seconds.
const LEAST_S: f64 = 0.5;
/// The fewest times that tell more than their mean.
const FEWEST: u64 = 30;

/// Sums of think times.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fit {
    count: u64,
    sum_s: f64,
    sum_logs: f64,
    sum_squares: f64,
}

impl Fit {
    pub(super) fn add(&mut self, seconds: f64) {
        let log = libm::log(seconds.max(LEAST_S));
        self.count += 1;
        self.sum_s += seconds;
        self.sum_logs += log;
        self.sum_squares += log * log;
    }

    /// Seconds.
    pub(super) fn mean_s(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum_s / self.count as f64 }
    }

    /// The distribution; `None` where nobody thought.
    pub(super) fn distribution(&self) -> Option<Distribution> {
        let mean_s = self.mean_s();
        // To the millisecond: nobody reads more of it.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive")]
        let mean_ns = (mean_s * 1e3).round() as u64 * 1_000_000;
        if mean_ns == 0 {
            return None;
        }
        let exponential = Distribution::Exponential { mean_ns };
        if self.count < FEWEST {
            return Some(exponential);
        }
        let count = self.count as f64;
        let mean_log = self.sum_logs / count;
        let variance = (self.sum_squares / count - mean_log * mean_log).max(1e-6);
        // Logarithms of the likelihood, each a time's share.
        let of_exponential = -libm::log(mean_s) - 1.0;
        let of_lognormal = -mean_log - 0.5 * libm::log(2.0 * std::f64::consts::PI * variance) - 0.5;
        if of_lognormal <= of_exponential {
            return Some(exponential);
        }
        let sigma = (libm::sqrt(variance).min(10.0) * 100.0).round() / 100.0;
        Some(Distribution::LogNormal { mean_ns, sigma })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    fn fitted(text: &str, count: u32) -> Option<Distribution> {
        let (law, mut stream) = (Distribution::parse(text).unwrap(), Stream::named(1, "fit"));
        let mut fit = Fit::default();
        for _ in 0..count {
            fit.add(law.sample(&mut stream));
        }
        fit.distribution()
    }

    #[test]
    fn the_law_that_times_came_from_is_found() {
        let Some(Distribution::Exponential { mean_ns }) = fitted("exp:20s", 20_000) else {
            panic!("not exponential")
        };
        assert!((19_500_000_000..20_500_000_000).contains(&mean_ns), "{mean_ns}");
        let Some(Distribution::LogNormal { mean_ns, sigma }) = fitted("lognormal:20s,0.5", 20_000)
        else {
            panic!("not lognormal")
        };
        assert!((19_500_000_000..20_500_000_000).contains(&mean_ns), "{mean_ns}");
        assert!((0.48..0.52).contains(&sigma), "{sigma}");
    }

    #[test]
    fn few_times_and_none() {
        assert!(matches!(fitted("lognormal:20s,0.5", 5), Some(Distribution::Exponential { .. })));
        assert_eq!(fitted("none", 100), None);
        assert_eq!(fitted("exp:1s", 0), None);
    }
}
