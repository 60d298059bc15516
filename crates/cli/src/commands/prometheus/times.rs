//! Times for Prometheus: histograms, whose buckets add up over runs, hosts and scrapes, and
//! quantiles of the last second, which do not.

use plimsoll_net::prometheus::Page;
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

/// The buckets, sum and count of times.
pub(super) fn histogram(
    page: &mut Page,
    family: &str,
    labels: &[(&str, &str)],
    (times, sum_s): (&Histogram, f64),
) {
    let (bucket, count) = (format!("{family}_bucket"), times.count());
    let mut sample = |le: &str, n: u64| {
        let labels: Vec<(&str, &str)> = labels.iter().copied().chain([("le", le)]).collect();
        page.sample(&bucket, &labels, n);
    };
    for (le, ns) in BOUNDS {
        sample(le, count - times.count_above(ns));
    }
    sample("+Inf", count);
    page.sample(&format!("{family}_sum"), labels, sum_s);
    page.sample(&format!("{family}_count"), labels, count);
}

/// The sum of times, seconds.
pub(super) fn sum_s(times: &Histogram) -> f64 {
    times.mean().unwrap_or(0.0) * times.count() as f64 / 1e9
}

/// Quantiles of times. Fewer than ten beyond are too few, in a second as in a run.
pub(super) fn quantiles(page: &mut Page, family: &str, times: &Histogram) {
    let count = times.count();
    for q in [0.5, 0.9, 0.99, 0.999] {
        let rank = Some(rank(q, count)).filter(|rank| count - rank >= MIN_BEYOND);
        let Some(value) = rank.and_then(|rank| times.value_at_rank(rank)) else { continue };
        page.sample(family, &[("quantile", &q.to_string())], value as f64 / 1e9);
    }
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
    fn buckets_are_cumulative_and_hold_all() {
        let mut times = Histogram::new();
        [50_000, 150_000, 3_000_000, 3_000_000, 200_000_000_000].map(|ns| times.record(ns));
        let mut page = Page::default();
        page.family("t_seconds", "histogram", "Times.");
        histogram(&mut page, "t_seconds", &[("name", "a")], (&times, sum_s(&times)));
        let text = page.text();
        for (le, n) in [("0.0001", 1), ("0.0002", 2), ("0.002", 2), ("0.005", 4), ("100", 4)] {
            let line = format!("t_seconds_bucket{{name=\"a\",le=\"{le}\"}} {n}\n");
            assert!(text.contains(&line), "{line} in {text}");
        }
        assert!(text.contains("t_seconds_bucket{name=\"a\",le=\"+Inf\"} 5\n"), "{text}");
        assert!(text.contains("t_seconds_count{name=\"a\"} 5\n"), "{text}");
    }
}
