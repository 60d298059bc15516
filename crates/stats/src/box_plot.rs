//! What a box plot shows of a sample: quartiles, whiskers, and the values beyond them.
//!
//! The quartiles are linear between the order statistics: definition 7 of Hyndman & Fan (1996),
//! "Sample Quantiles in Statistical Packages", *The American Statistician* 50(4), where the least
//! value has the quantile 0 and the greatest the quantile 1. The whiskers are Tukey's: they end at
//! the furthest values within 1.5 times the height of the box from it (Tukey, *Exploratory Data
//! Analysis*, 1977, 2D). What lies beyond is drawn by itself.

use serde::{Deserialize, Serialize};

/// How far a whisker may reach from the box, in heights of the box.
const REACH: f64 = 1.5;

/// A sample as a box plot shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BoxPlot {
    /// The least value.
    pub min: f64,
    /// The furthest value below the box that is within reach.
    pub whisker_low: f64,
    /// The lower quartile.
    pub q1: f64,
    /// The median.
    pub median: f64,
    /// The upper quartile.
    pub q3: f64,
    /// The furthest value above the box that is within reach.
    pub whisker_high: f64,
    /// The greatest value.
    pub max: f64,
    /// The values beyond the whiskers, ascending.
    pub outliers: Vec<f64>,
}

impl BoxPlot {
    /// The box plot of a sample in any order; `None` where it is empty, or holds what is no number.
    ///
    /// *Cost:* O(n log n).
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let sorted = sorted(values)?;
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let (q1, median, q3) =
            (quantile(&sorted, 0.25), quantile(&sorted, 0.5), quantile(&sorted, 0.75));
        let reach = REACH * (q3 - q1);
        let within = |value: &f64| *value >= q1 - reach && *value <= q3 + reach;
        // Between two values far apart a quartile may have no value of the sample within reach on
        // its own side: then the whisker has no length.
        let low = sorted.iter().copied().find(within).unwrap_or(q1).min(q1);
        let high = sorted.iter().rev().copied().find(within).unwrap_or(q3).max(q3);
        let outliers = sorted.iter().copied().filter(|value| !within(value)).collect();
        Some(Self { min, whisker_low: low, q1, median, q3, whisker_high: high, max, outliers })
    }
}

/// The values in ascending order; `None` where one of them is no number.
pub(crate) fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    if !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(sorted)
}

/// A quantile of sorted values, linear between neighbours; `q` from 0 to 1, and at least one value.
pub(crate) fn quantile(sorted: &[f64], q: f64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "samples are below 2^53")]
    let place = q * (sorted.len() - 1) as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
    let below = place.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    let share = place - place.floor();
    // Not as a sum of weighted parts: of two equal neighbours it must be exactly the same.
    sorted[below] + (sorted[above] - sorted[below]) * share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_by_hand() {
        // Places 0.25·9 = 2.25 and 0.75·9 = 6.75: 3 + 0.25 and 7 + 0.75; reach 1.5·4.5 = 6.75.
        let values = [5.0, 1.0, 2.0, 3.0, 4.0, 6.0, 7.0, 8.0, 9.0, 30.0];
        let plot = BoxPlot::of(&values).unwrap();
        assert_eq!((plot.q1, plot.median, plot.q3), (3.25, 5.5, 7.75));
        assert_eq!((plot.whisker_low, plot.whisker_high), (1.0, 9.0));
        assert_eq!((plot.min, plot.max), (1.0, 30.0));
        assert_eq!(plot.outliers, [30.0]);
    }

    #[test]
    fn one_value_is_a_box_of_no_height() {
        let plot = BoxPlot::of(&[7.0]).unwrap();
        assert_eq!((plot.min, plot.whisker_low, plot.median, plot.max), (7.0, 7.0, 7.0, 7.0));
        assert!(plot.outliers.is_empty());
    }

    #[test]
    fn nothing_and_no_numbers_have_no_box() {
        assert_eq!(BoxPlot::of(&[]), None);
        assert_eq!(BoxPlot::of(&[1.0, f64::NAN]), None);
        assert_eq!(BoxPlot::of(&[1.0, f64::INFINITY]), None);
    }
}
