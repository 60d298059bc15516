//! Times: histograms, whose buckets add up over runs, hosts and scrapes, and
//! quantiles of the last second, which do not.

use plimsoll_stats::Histogram;
use plimsoll_stats::histogram::rank;
use plimsoll_stats::percentiles::MIN_BEYOND;

/// The upper bounds of all buckets, seconds as they are written, and nanoseconds: 1, 2 and 5 of
/// each power of ten. They are the same in every run, so that runs can be added up.
pub(super) const BOUNDS: [(&str, u64); 19] = [
    ("0.0001", 100_000),
    ("0.0002", 200_000),
    ("0.0005", 500_000),
    ("0.001", 1_000_000),
    ("0.002", 2_000_000),
    ("0.005", 5_000_000),
    ("0.01", 10_000_000),
    ("0.02", 20_000_000),
    ("0.05", 50_000_000),
    ("0.1", 100_000_000),
    ("0.2", 200_000_000),
    ("0.5", 500_000_000),
    ("1", 1_000_000_000),
    ("2", 2_000_000_000),
    ("5", 5_000_000_000),
    ("10", 10_000_000_000),
    ("20", 20_000_000_000),
    ("50", 50_000_000_000),
    ("100", 100_000_000_000),
];

/// How many of some times lie within each bound.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Buckets {
    /// How many are at most each of [`BOUNDS`].
    pub(super) within: [u64; BOUNDS.len()],
    /// All of them.
    pub(super) count: u64,
    /// Their sum, seconds.
    pub(super) sum_s: f64,
}

impl Buckets {
    /// Those of a histogram, nanoseconds.
    pub(super) fn of(times: &Histogram) -> Self {
        let count = times.count();
        let within = BOUNDS.map(|(_, ns)| count - times.count_above(ns));
        Self { within, count, sum_s: times.mean().unwrap_or(0.0) * count as f64 / 1e9 }
    }

    /// How many lie in each bucket alone, and beyond the last.
    pub(super) fn each(&self) -> impl Iterator<Item = u64> {
        let upper = self.within.iter().copied().chain([self.count]);
        let lower = [0].into_iter().chain(self.within.iter().copied());
        upper.zip(lower).map(|(upper, lower)| upper.saturating_sub(lower))
    }
}

/// Quantiles of times, seconds, as they are written. Fewer than ten beyond are too few, in a second
/// as in a run.
pub(super) fn quantiles(times: &Histogram) -> Vec<(String, f64)> {
    let count = times.count();
    let stated = |q: f64| {
        let rank = Some(rank(q, count)).filter(|rank| count - rank >= MIN_BEYOND)?;
        Some((q.to_string(), times.value_at_rank(rank)? as f64 / 1e9))
    };
    [0.5, 0.9, 0.99, 0.999].into_iter().filter_map(stated).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_one_two_and_five_of_each_power_of_ten_as_they_are_written() {
        let mut ns = Vec::new();
        for power in 5..=10_u32 {
            ns.extend([1, 2, 5].map(|of| of * 10_u64.pow(power)));
        }
        ns.push(10_u64.pow(11));
        assert_eq!(BOUNDS.map(|(_, ns)| ns).to_vec(), ns);
        for (text, ns) in BOUNDS {
            let seconds: f64 = text.parse().unwrap();
            assert!((seconds * 1e9 - ns as f64).abs() < 0.5, "{text}");
        }
    }

    #[test]
    fn each_bucket_alone_adds_up_to_all() {
        let mut times = Histogram::new();
        [50_000, 150_000, 3_000_000, 3_000_000, 200_000_000_000]
            .into_iter()
            .for_each(|ns| times.record(ns));
        let buckets = Buckets::of(&times);
        let each: Vec<u64> = buckets.each().collect();
        assert_eq!(each.len(), BOUNDS.len() + 1);
        assert_eq!((each[0], each[1], each[5], each[BOUNDS.len()]), (1, 1, 2, 1), "{each:?}");
        assert_eq!(each.iter().sum::<u64>(), buckets.count);
    }
}
