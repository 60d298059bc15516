//! How often a source may announce: a token bucket each, in a bounded table.

use std::net::IpAddr;

use indexmap::IndexMap;

use crate::Now;
use crate::address::network24;

/// The most sources that are remembered. When there are more, those whose buckets are full again
/// are forgotten first; they lose nothing by it.
const MOST: usize = 65_536;

/// A burst is what a source may announce in so many seconds.
const BURST_S: f64 = 10.0;

/// Token buckets by network: a /24, or a /56 of IPv6.
#[derive(Debug)]
pub(super) struct Limits {
    rate: f64,
    buckets: IndexMap<ipnet::IpNet, Bucket>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    tokens: f64,
    at_ns: u64,
}

impl Limits {
    /// Lets each network make `rate` announcements a second.
    pub(super) fn new(rate: f64) -> Self {
        Self { rate, buckets: IndexMap::new() }
    }

    /// Takes a token; without one, the seconds until there is one.
    pub(super) fn take(&mut self, now: Now, source: IpAddr) -> Result<(), f64> {
        // Never below one, or a slow rate would be none.
        let full = (self.rate * BURST_S).max(1.0);
        if self.buckets.len() >= MOST {
            self.forget_full(now, full);
        }
        let fresh = Bucket { tokens: full, at_ns: now.elapsed_ns };
        let rate = self.rate;
        let bucket = self.buckets.entry(network24(source)).or_insert(fresh);
        bucket.fill(now, rate, full);
        if bucket.tokens < 1.0 {
            return Err((1.0 - bucket.tokens) / rate);
        }
        bucket.tokens -= 1.0;
        Ok(())
    }

    fn forget_full(&mut self, now: Now, full: f64) {
        let rate = self.rate;
        self.buckets.retain(|_, bucket| {
            bucket.fill(now, rate, full);
            bucket.tokens < full
        });
        if self.buckets.len() >= MOST {
            self.buckets.clear();
        }
    }
}

impl Bucket {
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds between announcements")]
    fn fill(&mut self, now: Now, rate: f64, full: f64) {
        let passed = now.elapsed_ns.saturating_sub(self.at_ns) as f64 / 1e9;
        self.tokens = (self.tokens + passed * rate).min(full);
        self.at_ns = now.elapsed_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::{Limits, MOST};
    use crate::Now;
    use std::net::{IpAddr, Ipv4Addr};

    fn at(elapsed_ns: u64) -> Now {
        Now { elapsed_ns, unix_s: 0.0 }
    }

    #[test]
    fn a_burst_passes_and_then_so_many_a_second() {
        let mut limits = Limits::new(2.0);
        let source = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
        for _ in 0..20 {
            limits.take(at(0), source).unwrap();
        }
        let wait = limits.take(at(0), source).unwrap_err();
        assert!((wait - 0.5).abs() < 1e-9, "{wait}");
        // A neighbour shares the bucket, another network has its own.
        limits.take(at(0), IpAddr::V4(Ipv4Addr::new(192, 0, 2, 9))).unwrap_err();
        limits.take(at(0), IpAddr::V4(Ipv4Addr::new(192, 0, 3, 1))).unwrap();
        limits.take(at(500_000_001), source).unwrap();
        limits.take(at(500_000_001), source).unwrap_err();
    }

    #[test]
    fn the_table_is_bounded() {
        let mut limits = Limits::new(1.0);
        for n in 0..3 * u32::try_from(MOST).unwrap() {
            limits.take(at(0), IpAddr::V4(Ipv4Addr::from(n << 8))).unwrap();
        }
        assert!(limits.buckets.len() <= MOST);
    }
}
