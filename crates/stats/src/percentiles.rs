//! The one percentile object: what every part shows, stores and compares of a distribution of
//! times, in microseconds.

use serde::{Deserialize, Serialize};

use crate::histogram::{Histogram, rank};

/// So many samples must lie beyond a percentile for it to be given.
pub const MIN_BEYOND: u64 = 10;

/// Whether a percentile of so many values may be stated: where fewer than [`MIN_BEYOND`] lie beyond
/// it, it would be the say of a handful.
///
/// This is the one rule of all tables, pages and documents.
#[must_use]
pub fn is_stated(quantile: f64, count: u64) -> bool {
    count.saturating_sub(rank(quantile, count)) >= MIN_BEYOND
}

/// Count, mean, deviation, extremes and percentiles of a histogram; microseconds.
///
/// A percentile is `None` (`null` in JSON) where it may not be stated ([`is_stated`]). Mean,
/// deviation and extremes are `None` when nothing was counted. Percentiles follow HdrHistogram's
/// rule, within the extremes ([`Histogram::value_at_quantile`]).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "p25 is the 25th percentile, and so on")]
pub struct Percentiles {
    /// How many samples.
    pub count: u64,
    /// The least, exact.
    pub min: Option<f64>,
    /// The mean, of the values themselves.
    pub mean: Option<f64>,
    /// The standard deviation (divided by n), of the values themselves.
    pub stddev: Option<f64>,
    pub p25: Option<f64>,
    pub p50: Option<f64>,
    pub p66: Option<f64>,
    pub p75: Option<f64>,
    pub p80: Option<f64>,
    pub p90: Option<f64>,
    pub p95: Option<f64>,
    pub p98: Option<f64>,
    pub p99: Option<f64>,
    /// The 99.9th percentile.
    pub p999: Option<f64>,
    /// The 99.99th percentile.
    pub p9999: Option<f64>,
    /// The greatest, exact.
    pub max: Option<f64>,
}

/// The percentiles of [`Percentiles`], ascending: field name and quantile.
pub const QUANTILES: [(&str, f64); 11] = [
    ("p25", 0.25),
    ("p50", 0.5),
    ("p66", 0.66),
    ("p75", 0.75),
    ("p80", 0.8),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p98", 0.98),
    ("p99", 0.99),
    ("p999", 0.999),
    ("p9999", 0.9999),
];

impl Percentiles {
    /// The object of a histogram of nanoseconds. Costs one pass over its occupied range.
    #[must_use]
    pub fn of(histogram: &Histogram) -> Self {
        let count = histogram.count();
        let ranks = QUANTILES.map(|(_, q)| rank(q, count));
        let values = histogram.values_at_ranks(ranks);
        let mut given = [None; QUANTILES.len()];
        for ((slot, (_, q)), value) in given.iter_mut().zip(QUANTILES).zip(values) {
            *slot = value.filter(|_| is_stated(q, count)).map(to_us);
        }
        let [p25, p50, p66, p75, p80, p90, p95, p98, p99, p999, p9999] = given;
        Self {
            count,
            min: histogram.min().map(to_us),
            mean: histogram.mean().map(|ns| ns / 1000.0),
            stddev: histogram.stddev().map(|ns| ns / 1000.0),
            p25,
            p50,
            p66,
            p75,
            p80,
            p90,
            p95,
            p98,
            p99,
            p999,
            p9999,
            max: histogram.max().map(to_us),
        }
    }

    /// The percentiles, ascending, for changing them.
    pub(crate) fn values_mut(&mut self) -> [&mut Option<f64>; QUANTILES.len()] {
        [
            &mut self.p25,
            &mut self.p50,
            &mut self.p66,
            &mut self.p75,
            &mut self.p80,
            &mut self.p90,
            &mut self.p95,
            &mut self.p98,
            &mut self.p99,
            &mut self.p999,
            &mut self.p9999,
        ]
    }

    /// Every figure but the count, in the order of the JSON: name and microseconds.
    #[must_use]
    pub fn figures(&self) -> [(&'static str, Option<f64>); 15] {
        [
            ("min", self.min),
            ("mean", self.mean),
            ("stddev", self.stddev),
            ("p25", self.p25),
            ("p50", self.p50),
            ("p66", self.p66),
            ("p75", self.p75),
            ("p80", self.p80),
            ("p90", self.p90),
            ("p95", self.p95),
            ("p98", self.p98),
            ("p99", self.p99),
            ("p999", self.p999),
            ("p9999", self.p9999),
            ("max", self.max),
        ]
    }
}

/// Nanoseconds in microseconds.
#[expect(clippy::cast_precision_loss, reason = "values end at 2^44")]
pub(crate) fn to_us(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_a_percentile_only_with_ten_samples_beyond() {
        let mut histogram = Histogram::new();
        for value in 1..=999 {
            histogram.record(value * 1000);
        }
        let object = Percentiles::of(&histogram);
        assert_eq!(object.p98, Some(980.479), "980 µs, in a bucket of 512 ns");
        // Rank 990 of 999: nine lie beyond.
        assert_eq!(object.p99, None);
        histogram.record(1_000_000);
        let object = Percentiles::of(&histogram);
        assert_eq!(object.p99, Some(990.207));
        assert_eq!(object.p999, None);
        assert_eq!((object.min, object.max), (Some(1.0), Some(1000.0)));
        assert_eq!(object.count, 1000);
    }

    #[test]
    fn the_rule_is_ten_beyond() {
        for (quantile, least) in [(0.5, 20), (0.9, 100), (0.99, 1000), (0.999, 10_000)] {
            assert!(is_stated(quantile, least) && !is_stated(quantile, least - 1), "{quantile}");
        }
        assert!(!is_stated(0.5, 0) && !is_stated(1.0, 1_000_000));
    }

    #[test]
    fn of_nothing_is_null_but_the_count() {
        let json = serde_json::to_value(Percentiles::of(&Histogram::new())).unwrap();
        assert_eq!(json["count"], 0);
        for (name, figure) in Percentiles::default().figures() {
            assert_eq!(figure, None);
            assert!(json[name].is_null(), "{name}");
        }
        assert_eq!(json.as_object().unwrap().len(), 16);
        let back: Percentiles = serde_json::from_value(json).unwrap();
        assert_eq!(back, Percentiles::default());
    }
}
