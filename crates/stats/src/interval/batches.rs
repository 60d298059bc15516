//! How sure one run is of its own figure: batch means.
//!
//! Consecutive seconds are put together into batches long enough to be nearly independent, and the
//! batches' figures are taken for replications. Schmeiser (1982) shows that more than 30 batches
//! gain nothing and fewer than 10 lose much; here it is 10 to 20, and down to 5 where a percentile
//! needs longer ones. For a quantile, a batch's figure is its own quantile.
//!
//! The run is taken to be stationary: under a schedule that ramps, the width includes the ramp.

use super::{IntervalError, mean};
use crate::histogram::{Histogram, rank};
use crate::percentiles::MIN_BEYOND;

/// Batches kept while a run is read; when there are so many, neighbours are joined.
const MOST: usize = 20;
/// Fewer say too little about how they vary.
const FEWEST: usize = 5;
/// So many values make two a batch.
const FEWEST_VALUES: usize = 20;

/// The mean over batches, and how far the truth may be from it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BatchMeans {
    /// Mean of the batches' figures.
    pub mean: f64,
    /// Half the width of the interval.
    pub half_width: f64,
    /// How many batches.
    pub batches: usize,
    /// Correlation of neighbouring batches. Well above `2 / √batches`, the batches are too short to
    /// be independent and the half width is too small.
    pub lag1: f64,
}

/// The uncertainty of the mean of consecutive values of one run, at `level`.
///
/// Twenty batches, ten below 40 values; values at the start that fill no batch are left out.
///
/// # Errors
/// Fewer than 20 values; a value that is not finite.
pub fn batch_means(values: &[f64], level: f64) -> Result<BatchMeans, IntervalError> {
    let n = values.len();
    if n < FEWEST_VALUES {
        let of = "consecutive values";
        return Err(IntervalError::TooFewBatches { of, wanted: FEWEST_VALUES, found: n });
    }
    let length = n / if n < 2 * MOST { MOST / 2 } else { MOST };
    #[expect(clippy::cast_precision_loss, reason = "seconds of a run are far below 2^53")]
    let figures: Vec<f64> = values
        .rchunks_exact(length)
        .map(|batch| batch.iter().sum::<f64>() / length as f64)
        .collect();
    over(&figures, level)
}

/// Collects a run's histograms, one a second, into batches as they are read: at most 20 are held.
#[derive(Debug, Clone, Default)]
pub struct QuantileBatches {
    batches: Vec<Histogram>,
    /// Seconds a batch, doubled whenever there are too many; 0 before the first.
    length: usize,
    /// Seconds in the last batch.
    in_last: usize,
}

impl QuantileBatches {
    /// Nothing read yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The next second. Seconds without an answer belong in: they keep batches equally long.
    pub fn push(&mut self, second: &Histogram) {
        self.length = self.length.max(1);
        if self.batches.is_empty() || self.in_last == self.length {
            if self.batches.len() == MOST {
                self.batches = joined(&self.batches);
                self.length *= 2;
            }
            self.batches.push(Histogram::new());
            self.in_last = 0;
        }
        if let Some(last) = self.batches.last_mut() {
            last.add(second);
            self.in_last += 1;
        }
    }

    /// The uncertainty of the quantile `q`, at `level`, in the histograms' unit.
    ///
    /// Batches are joined until ten samples lie beyond the quantile in each; a last batch that is
    /// not full is left out.
    ///
    /// # Errors
    /// When that leaves fewer than five batches.
    pub fn uncertainty(&self, q: f64, level: f64) -> Result<BatchMeans, IntervalError> {
        let full = self.batches.len() - usize::from(self.in_last < self.length);
        let mut batches = self.batches[..full].to_vec();
        let enough = |batch: &Histogram| batch.count() - rank(q, batch.count()) >= MIN_BEYOND;
        while batches.len() >= FEWEST && !batches.iter().all(enough) {
            batches = joined(&batches);
        }
        if batches.len() < FEWEST {
            let of = "stretches of the run with 10 samples beyond the percentile";
            let found = batches.iter().filter(|batch| enough(batch)).count();
            return Err(IntervalError::TooFewBatches { of, wanted: FEWEST, found });
        }
        #[expect(clippy::cast_precision_loss, reason = "values end at 2^44")]
        let figures: Vec<f64> =
            batches.iter().filter_map(|b| b.value_at_quantile(q)).map(|v| v as f64).collect();
        over(&figures, level)
    }
}

/// Neighbours put together in pairs; of an odd number the first is left out.
fn joined(batches: &[Histogram]) -> Vec<Histogram> {
    batches[batches.len() % 2..]
        .chunks_exact(2)
        .map(|pair| {
            let mut sum = pair[0].clone();
            sum.add(&pair[1]);
            sum
        })
        .collect()
}

fn over(figures: &[f64], level: f64) -> Result<BatchMeans, IntervalError> {
    let estimate = mean(figures, level)?;
    let deviation = |figure: &f64| figure - estimate.value;
    let squares: f64 = figures.iter().map(|f| deviation(f) * deviation(f)).sum();
    let products: f64 = figures.windows(2).map(|w| deviation(&w[0]) * deviation(&w[1])).sum();
    Ok(BatchMeans {
        mean: estimate.value,
        half_width: estimate.high - estimate.value,
        batches: figures.len(),
        lag1: if squares > 0.0 { products / squares } else { 0.0 },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_by_hand() {
        // 20 values, ten batches of two with means 1, 2, 1, 2, …: mean 1.5, s² = 2.5/9,
        // t(9) = 2.262157, half width 2.262157·√(2.5/90) = 0.377026.
        let values: Vec<f64> = (0..20).map(|n| if n / 2 % 2 == 0 { 1.0 } else { 2.0 }).collect();
        let b = batch_means(&values, 0.95).unwrap();
        assert_eq!(b.batches, 10);
        assert!((b.mean - 1.5).abs() < 1e-12 && (b.half_width - 0.377_026).abs() < 1e-6);
        assert!((b.lag1 + 0.9).abs() < 1e-12, "nine products of -1/4 over ten squares of 1/4");
        assert_eq!(batch_means(&[3.0; 100], 0.95).unwrap().batches, 20);
        assert!(batch_means(&[3.0; 100], 0.95).unwrap().half_width.abs() < 1e-12);
        assert!(batch_means(&values[1..], 0.95).is_err());
    }

    #[test]
    fn values_at_the_start_that_fill_no_batch_are_left_out() {
        let mut values = vec![1.0; 40];
        values.insert(0, 1e9);
        let b = batch_means(&values, 0.95).unwrap();
        assert!((b.mean - 1.0).abs() < 1e-12 && b.batches == 20);
    }

    fn second(values: impl Iterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new();
        values.for_each(|value| histogram.record(value));
        histogram
    }

    #[test]
    fn batches_grow_with_the_run_and_lose_nothing() {
        let mut all = QuantileBatches::new();
        for n in 1..=1000_u64 {
            all.push(&second(0..100));
            assert!(all.batches.len() <= MOST);
            let held: u64 = all.batches.iter().map(Histogram::count).sum();
            assert_eq!(held, n * 100);
        }
        assert_eq!(all.length, 64);
        let b = all.uncertainty(0.5, 0.95).unwrap();
        assert_eq!(b.batches, 15, "15 full ones of 64 seconds, and 40 seconds left out");
        assert!((b.mean - 49.0).abs() < 1e-9 && b.half_width.abs() < 1e-9);
    }

    #[test]
    fn a_high_percentile_gets_longer_batches_or_is_refused() {
        let mut run = QuantileBatches::new();
        assert!(run.uncertainty(0.5, 0.95).is_err());
        for _ in 0..20 {
            run.push(&second(1..=500));
        }
        assert_eq!(run.uncertainty(0.9, 0.95).unwrap().batches, 20);
        assert_eq!(run.uncertainty(0.99, 0.95).unwrap().batches, 10);
        let error = run.uncertainty(0.999, 0.95).unwrap_err();
        assert!(error.to_string().starts_with("expected at least 5 stretches of the run"));
        assert!(error.to_string().ends_with("or look at a lower percentile"));
    }

    #[test]
    fn silent_seconds_are_no_evidence() {
        let mut run = QuantileBatches::new();
        for n in 0..40 {
            run.push(&second(1..=if n % 2 == 0 { 0 } else { 1000 }));
        }
        // Twenty of two seconds each.
        assert_eq!(run.uncertainty(0.9, 0.95).unwrap().batches, 20);
        let mut silent = QuantileBatches::new();
        (0..40).for_each(|_| silent.push(&Histogram::new()));
        assert!(silent.uncertainty(0.5, 0.95).is_err());
    }
}
