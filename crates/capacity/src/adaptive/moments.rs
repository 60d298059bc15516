//! Mean and variability of the service time that was measured at low load, and how sure they are.

use plimsoll_stats::Histogram;

/// Of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Moments {
    /// Mean, seconds.
    pub(super) mean: f64,
    /// Its relative standard error.
    pub(super) mean_error: f64,
    /// The variability (1 + c²) / 2 with c the coefficient of variation: E S² / 2 (E S)².
    pub(super) variability: f64,
    /// Standard error of its logarithm, by the delta method: of ln E S² − 2 ln E S. Where rare long
    /// times make the second moment, the fourth is greater still, and this error great.
    pub(super) variability_error: f64,
}

impl Moments {
    /// Of a histogram in nanoseconds; `None` where it holds no time at all.
    pub(super) fn of(times: &Histogram) -> Option<Self> {
        let n = times.count() as f64;
        let mut raw = [0.0; 4];
        for bucket in times.buckets() {
            let seconds = bucket.middle() as f64 / 1e9;
            let mut power = bucket.count as f64 / n;
            for sum in &mut raw {
                power *= seconds;
                *sum += power;
            }
        }
        let [m1, m2, m3, m4] = raw;
        if m1 <= 0.0 {
            return None;
        }
        // Relative covariances of the sample's first and second moment.
        let (first, second) = (m2 / (m1 * m1) - 1.0, m4 / (m2 * m2) - 1.0);
        let both = m3 / (m1 * m2) - 1.0;
        Some(Self {
            mean: m1,
            mean_error: (first.max(0.0) / n).sqrt(),
            variability: 0.5 * m2 / (m1 * m1),
            variability_error: ((second + 4.0 * first - 4.0 * both).max(0.0) / n).sqrt(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_workload::random::Stream;

    /// Exponential times: the variability is 1, and over n of them its error 1/√n, as the mean's.
    #[test]
    fn errors_are_those_of_exponential_samples() {
        let n = 400.0_f64;
        let (mut off, mut claimed) = (0.0, 0.0);
        for seed in 0..300 {
            let mut stream = Stream::named(seed, "moments");
            let mut times = Histogram::new();
            #[expect(clippy::cast_possible_truncation, reason = "some milliseconds")]
            (0..400).for_each(|_| times.record((stream.exponential() * 4e6) as u64));
            let moments = Moments::of(&times).unwrap();
            assert!((moments.mean / 0.004 - 1.0).abs() < 0.3, "{}", moments.mean);
            off += moments.variability.ln().powi(2) / 300.0;
            claimed += moments.variability_error / 300.0;
        }
        assert!((0.75..1.25).contains(&(off * n).sqrt()), "{}", (off * n).sqrt());
        assert!((0.75..1.25).contains(&(claimed * n.sqrt())), "{}", claimed * n.sqrt());
    }

    #[test]
    fn equal_times_have_half_the_variability_and_no_error() {
        let mut times = Histogram::new();
        times.record_n(5_000_000, 200);
        let moments = Moments::of(&times).unwrap();
        assert!((moments.variability - 0.5).abs() < 1e-9);
        assert!(moments.mean_error < 1e-6 && moments.variability_error < 1e-6);
        assert_eq!(Moments::of(&Histogram::new()), None);
    }
}
