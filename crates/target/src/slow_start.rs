//! Slow start: a server whose caches are cold, and which is slower at first.

/// Service times are multiplied by `factor` at time zero, less and less from there, along a
/// straight line, and by 1 from `over_ns` on. A request's multiple is that of its arrival.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlowStart {
    factor: f64,
    over_ns: u64,
}

impl SlowStart {
    /// `None` unless the factor is finite and at least 1.
    #[must_use]
    pub fn new(factor: f64, over_ns: u64) -> Option<Self> {
        (factor.is_finite() && factor >= 1.0).then_some(Self { factor, over_ns })
    }

    /// By how much a service is multiplied whose request arrives at `at_ns`.
    #[must_use]
    pub fn multiple(self, at_ns: u64) -> f64 {
        if at_ns >= self.over_ns {
            return 1.0;
        }
        self.factor - (self.factor - 1.0) * (at_ns as f64 / self.over_ns as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decays_along_a_straight_line() {
        let slow = SlowStart::new(5.0, 1_000).unwrap();
        for (at, multiple) in [(0, 5.0), (250, 4.0), (500, 3.0), (1_000, 1.0), (9_000, 1.0)] {
            assert!((slow.multiple(at) - multiple).abs() < 1e-12, "at {at}");
        }
        assert_eq!(SlowStart::new(0.5, 1), None);
        assert_eq!(SlowStart::new(f64::NAN, 1), None);
        assert!((SlowStart::new(2.0, 0).unwrap().multiple(0) - 1.0).abs() < 1e-12);
    }
}
