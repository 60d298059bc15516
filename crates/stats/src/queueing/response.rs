//! How long requests wait and answer in a pool of equal servers with one queue, as a distribution.
//!
//! With exponential service times the wait of M/M/m is 0 with probability 1 − C, and exponential
//! with mean S / (m (1 − ρ)) otherwise (Kleinrock, 3.5). For other laws that mean is multiplied by
//! (1 + c²) / 2, c the coefficient of variation of the service time (A. O. Allen, *Probability,
//! Statistics, and Queueing Theory*, 1990, 5.2.4, after J. L. Cunneen; exact for one server's
//! mean): an approximation, best near saturation.

use super::erlang_c;

/// The wait of a stationary pool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Waiting {
    /// The probability to wait.
    pub probability: f64,
    /// The mean wait of those that do, seconds.
    pub mean_s: f64,
}

impl Waiting {
    /// The wait at a rate per second, of a pool of `servers` servers with a mean service time and
    /// its squared coefficient of variation; `None` where the pool is saturated.
    #[must_use]
    pub fn of(rate_per_s: f64, servers: u32, service_s: f64, squared: f64) -> Option<Self> {
        let offered = rate_per_s * service_s;
        let free = f64::from(servers) - offered;
        if free.is_nan() || free <= 0.0 {
            return None;
        }
        let mean_s = service_s * 0.5 * (1.0 + squared) / free;
        Some(Self { probability: erlang_c(offered, servers), mean_s })
    }

    /// The share of requests that wait longer than `t_s`.
    #[must_use]
    pub fn longer(&self, t_s: f64) -> f64 {
        if t_s < 0.0 { 1.0 } else { self.probability * libm::exp(-t_s / self.mean_s) }
    }

    /// The share of requests whose response takes longer than `t_s`, where service times are these
    /// points of equal weight, in seconds.
    #[must_use]
    pub fn response_longer(&self, t_s: f64, service_s: &[f64]) -> f64 {
        let sum: f64 = service_s.iter().map(|s| self.longer(t_s - s)).sum();
        sum / service_s.len().max(1) as f64
    }

    /// The response time that a share `q` of requests does not exceed, seconds.
    #[must_use]
    pub fn response_quantile(&self, q: f64, service_s: &[f64]) -> f64 {
        let greatest = service_s.iter().copied().fold(0.0, f64::max);
        let (mut low, mut high) = (0.0, greatest.max(self.mean_s).max(1e-9));
        while self.response_longer(high, service_s) > 1.0 - q && high < 1e9 {
            high *= 2.0;
        }
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            let is_exceeded = self.response_longer(middle, service_s) > 1.0 - q;
            (low, high) = if is_exceeded { (middle, high) } else { (low, middle) };
        }
        high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points of the exponential law of mean 1.
    fn exponential() -> Vec<f64> {
        (0..4000).map(|k| -((f64::from(k) + 0.5) / 4000.0).ln()).collect()
    }

    /// M/M/1: the response is exponential with mean 1 / (1 − ρ).
    #[test]
    fn one_server_has_an_exponential_response() {
        for load in [0.2, 0.5, 0.9] {
            let waiting = Waiting::of(load, 1, 1.0, 1.0).unwrap();
            for q in [0.5, 0.9, 0.99] {
                let found = waiting.response_quantile(q, &exponential());
                let wanted = -(1.0_f64 - q).ln() / (1.0 - load);
                assert!((found / wanted - 1.0).abs() < 0.01, "{load} {q}: {found} for {wanted}");
            }
        }
    }

    #[test]
    fn a_saturated_pool_has_no_answer_and_an_idle_one_no_wait() {
        assert!(Waiting::of(2.0, 2, 1.0, 1.0).is_none());
        assert!(Waiting::of(f64::NAN, 2, 1.0, 1.0).is_none());
        let idle = Waiting::of(0.0, 2, 1.0, 1.0).unwrap();
        assert!(idle.longer(0.0) < 1e-12);
        assert!((idle.response_quantile(0.9, &[3.0]) - 3.0).abs() < 1e-6);
    }
}
