//! How a server's response times depend on its load: the curve that the adaptive search fits.
//!
//! A request takes a service time S, and waits before it with probability C(λ), then for an
//! exponential time of mean w(λ):
//!
//! ```text
//! P(T > t) = (1 − C) P(S > t) + C P(S + Exp(w) > t)
//! w(λ) = v / (X − λ)                        X: saturation, per second; v: variability
//! C(λ) = (λ/X)^g                            g: the pooling of several workers
//! E T  = E S + C w
//! ```
//!
//! For M/M/c this is exact but for C, where it is Sakasegawa's approximation of Erlang's C with
//! g = √(2(c + 1)) − 1 (H. Sakasegawa, *An approximation formula*, Ann. Inst. Stat. Math. 29,
//! 1977). For other service times the wait is that of the heavy-traffic limit, whose variability is
//! v = (c_a² + c_s²)/2 (J. F. C. Kingman, 1961). So near saturation the curve has the right shape
//! for every queue, and away from it g and v are only what fits.
//!
//! S is taken as it was measured at low load, as points of equal weight.

/// A curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Service times at low load, seconds, rising, of equal weight; at least one.
    pub service_s: Vec<f64>,
    /// Saturation, per second.
    pub saturation: f64,
    /// Variability of the wait.
    pub variability: f64,
    /// Exponent of the probability to wait.
    pub pooling: f64,
}

impl Curve {
    /// The exponent for `c` workers.
    #[must_use]
    pub fn pooling_of(workers: f64) -> f64 {
        (2.0 * (workers.max(1.0) + 1.0)).sqrt() - 1.0
    }

    /// The probability to wait at a rate, and the mean of the wait then, seconds.
    #[must_use]
    pub fn wait(&self, rate: f64) -> (f64, f64) {
        let load = rate / self.saturation;
        if load >= 1.0 {
            return (1.0, f64::INFINITY);
        }
        (libm::pow(load, self.pooling), self.variability / (self.saturation - rate))
    }

    /// The share of responses that take longer than `t` seconds at a rate.
    #[must_use]
    pub fn beyond(&self, t: f64, rate: f64) -> f64 {
        let (waits, wait) = self.wait(rate);
        if wait.is_infinite() {
            return 1.0;
        }
        let shorter = self.service_s.partition_point(|&s| s <= t);
        let mut waited = (self.service_s.len() - shorter) as f64;
        for &s in &self.service_s[..shorter] {
            waited += libm::exp(-(t - s) / wait);
        }
        waited /= self.service_s.len() as f64;
        (1.0 - waits) * self.longer(t, shorter) + waits * waited
    }

    /// The share of service times above `t`, of which `shorter` points are not: in straight lines
    /// from point to point, which stand for the middles of their shares, and exponentially beyond
    /// the last.
    fn longer(&self, t: f64, shorter: usize) -> f64 {
        let points = self.service_s.len();
        let at = |k: usize| self.service_s[k];
        let (share, half) = (1.0 / points as f64, 0.5 / points as f64);
        match shorter {
            0 => 1.0 - half * t / at(0).max(f64::MIN_POSITIVE),
            n if n < points => {
                let (low, high) = (at(n - 1), at(n));
                1.0 - share * (n as f64 - 0.5 + (t - low) / (high - low))
            }
            _ => {
                let last = at(points - 1);
                let scale = (last - at(points.saturating_sub(2))).max(0.1 * last);
                half * libm::exp(-(t - last) / scale)
            }
        }
    }

    /// The mean response time at a rate, seconds.
    #[must_use]
    pub fn mean(&self, rate: f64) -> f64 {
        let (waits, wait) = self.wait(rate);
        self.mean_service() + if wait.is_infinite() { wait } else { waits * wait }
    }

    /// The mean service time, seconds.
    #[must_use]
    pub fn mean_service(&self) -> f64 {
        self.service_s.iter().sum::<f64>() / self.service_s.len().max(1) as f64
    }

    /// The rate at which a share `share` of the responses takes longer than `t` seconds; `None`
    /// where it is exceeded at every rate.
    #[must_use]
    pub fn rate_at(&self, t: f64, share: f64) -> Option<f64> {
        let (mut low, mut high) = (0.0, self.saturation);
        if self.beyond(t, 1e-9 * high) > share {
            return None;
        }
        for _ in 0..48 {
            let middle = f64::midpoint(low, high);
            if self.beyond(t, middle) > share { high = middle } else { low = middle }
        }
        Some(f64::midpoint(low, high))
    }

    /// The response time that a share `q` of all does not exceed at a rate, seconds.
    #[must_use]
    pub fn quantile(&self, q: f64, rate: f64) -> f64 {
        let mut high = self.service_s.last().copied().unwrap_or(0.0).max(1e-9);
        if rate >= self.saturation {
            return f64::INFINITY;
        }
        while self.beyond(high, rate) > 1.0 - q {
            high *= 2.0;
        }
        let mut low = 0.0;
        for _ in 0..32 {
            let middle = f64::midpoint(low, high);
            if self.beyond(middle, rate) > 1.0 - q { low = middle } else { high = middle }
        }
        high
    }

    /// The knee: the rate with the greatest power λ / T(λ) (L. Kleinrock, *Power and deterministic
    /// rules of thumb*, ICC 1979).
    #[must_use]
    pub fn knee(&self) -> f64 {
        let power = |rate: f64| rate / self.mean(rate);
        // The power rises to one maximum and falls after it: golden section.
        let ratio = (5.0_f64.sqrt() - 1.0) / 2.0;
        let (mut low, mut high) = (0.0, self.saturation);
        for _ in 0..60 {
            let (left, right) = (high - ratio * (high - low), low + ratio * (high - low));
            if power(left) < power(right) { low = left } else { high = right }
        }
        f64::midpoint(low, high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An exponential service time of mean 1 as points of equal weight.
    fn exponential() -> Vec<f64> {
        (0..400).map(|k| -libm::log(1.0 - (f64::from(k) + 0.5) / 400.0)).collect()
    }

    fn mm1() -> Curve {
        Curve { service_s: exponential(), saturation: 1.0, variability: 1.0, pooling: 1.0 }
    }

    /// M/M/1: the response time is exponential of rate 1 − λ (Kleinrock 1975, 3.2).
    #[test]
    fn a_single_exponential_server_is_exact() {
        let curve = mm1();
        for rate in [0.1, 0.5, 0.9] {
            for t in [0.5, 2.0, 8.0] {
                let exact = libm::exp(-(1.0 - rate) * t);
                let off = curve.beyond(t, rate) - exact;
                assert!(off.abs() < 0.003, "{off} at rate {rate}, t {t}");
            }
            let mean = curve.mean(rate) * (1.0 - rate);
            assert!((mean - 1.0).abs() < 0.005, "{mean} at rate {rate}");
        }
        // 0.1 = exp(−(1 − λ) t).
        let line = curve.rate_at(20.0, 0.1).expect("there is one");
        assert!((line - (1.0 - libm::log(10.0) / 20.0)).abs() < 0.001, "{line}");
    }

    #[test]
    fn quantile_and_rate_are_each_others_inverse() {
        let curve = Curve { pooling: 2.2, variability: 1.7, ..mm1() };
        for rate in [0.3, 0.7, 0.95] {
            let t = curve.quantile(0.95, rate);
            let back = curve.rate_at(t, 0.05).expect("there is one");
            assert!((back - rate).abs() < 1e-3, "{back} for {rate}");
        }
    }

    #[test]
    fn the_share_beyond_rises_with_the_rate_and_falls_with_time() {
        let curve = Curve { pooling: 3.0, ..mm1() };
        let mut before = 0.0;
        for step in 0..100 {
            let share = curve.beyond(3.0, f64::from(step) / 100.0);
            assert!(share >= before);
            before = share;
        }
        assert_eq!(curve.beyond(3.0, 1.0).to_bits(), 1.0_f64.to_bits());
        let shares: Vec<f64> = (0..200).map(|t| curve.beyond(f64::from(t) / 10.0, 0.8)).collect();
        assert!(shares.is_sorted_by(|a, b| a >= b), "{shares:?}");
    }

    /// The greatest power of M/M/1 is at half its saturation (Kleinrock 1979).
    #[test]
    fn the_knee_of_a_single_exponential_server_is_at_half_load() {
        let knee = mm1().knee();
        assert!((knee - 0.5).abs() < 0.01, "{knee}");
    }

    #[test]
    fn what_is_slow_without_load_has_no_line() {
        assert_eq!(mm1().rate_at(1.0, 0.1), None);
    }
}
