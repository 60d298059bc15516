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
//! g = √(2(c + 1)) − 1 (H. Sakasegawa, *An approximation formula*, Ann. Inst. Stat. Math. 29, 1977).
//! For other service times the wait is that of the heavy-traffic limit, whose variability is
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
