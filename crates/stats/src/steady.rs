//! From when on a series is steady: where a warm-up ends.
//!
//! MSER-5 puts a series into batches of five and leaves out as many from its start as make the
//! squared standard error of the mean of the others least: `Σ (x − x̄)² / m²` over the m batches
//! that are left. While leaving out more takes away what is unlike the rest it falls; then, as
//! fewer are left, it rises. At least five batches are left, as fewer may agree by chance.
//!
//! Where the least lies in the last half of the series, the series was most likely not steady at
//! its end either, and is too short to tell. That may be said of a steady series too: of 100 series
//! of independent normal values, of 2 (300 long) to 13 (100 long). A longer one tells.
//!
//! *Source:* K. P. White, "An effective truncation heuristic for bias reduction in simulation
//! output", *Simulation* 69, 1997; K. P. White, M. J. Cobb and S. C. Spratt, "A comparison of five
//! steady-state truncation heuristics for simulation", *Winter Simulation Conference* 2000; the
//! five last batches after K. Hoad, S. Robinson and R. Davies, "Automating warm-up length
//! estimation", *Journal of the Operational Research Society* 61, 2010.

/// Values a batch.
const BATCH: usize = 5;
/// Batches that are left at least.
const LEFT: usize = 5;
/// Shorter series are not looked at: ten batches.
pub const SHORTEST: usize = 2 * LEFT * BATCH;

/// Where a series begins to be steady.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steady {
    /// Its first value that belongs to the steady part: so many are left out. A multiple of five.
    pub from: usize,
    /// Whether that lies in the last half of the series, so that the series is too short to tell.
    pub is_late: bool,
}

/// The truncation point of a series by MSER-5; `None` of one shorter than [`SHORTEST`] or with
/// what is no number.
///
/// Of a series with a value a second, the point is in seconds. Values after the last whole batch do
/// not count.
///
/// *Cost:* O(n).
#[must_use]
pub fn mser5(series: &[f64]) -> Option<Steady> {
    if series.len() < SHORTEST || !series.iter().all(|value| value.is_finite()) {
        return None;
    }
    let batches: Vec<f64> =
        series.chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
    let (mut mean, mut squares, mut kept) = (0.0, 0.0, 0.0);
    let mut least = (f64::INFINITY, 0);
    // From the end, by Welford's recurrence (*Technometrics* 4, 1962).
    for (left_out, value) in batches.iter().enumerate().rev() {
        kept += 1.0;
        let before = value - mean;
        mean += before / kept;
        squares += before * (value - mean);
        let statistic = squares / (kept * kept);
        // Of equal ones the earliest, which leaves most.
        if batches.len() - left_out >= LEFT && statistic <= least.0 {
            least = (statistic, left_out);
        }
    }
    let (_, left_out) = least;
    Some(Steady { from: left_out * BATCH, is_late: 2 * left_out >= batches.len() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn noise(n: usize) -> impl Iterator<Item = f64> {
        let word = |n: usize| plimsoll_units::hash::mix(n as u64 + 1) >> 11;
        (0..n).map(move |n| word(n) as f64 / (1_u64 << 53) as f64 - 0.5)
    }

    #[test]
    fn a_step_and_a_decay_end_where_they_end() {
        let step: Vec<f64> =
            noise(200).enumerate().map(|(n, e)| if n < 30 { 50.0 + e } else { 10.0 + e }).collect();
        assert_eq!(mser5(&step), Some(Steady { from: 30, is_late: false }));
        // Falls to below the noise within some 60 seconds.
        let decay: Vec<f64> = noise(300)
            .enumerate()
            .map(|(n, e)| 10.0 + 100.0 * libm::exp(-(n as f64) / 10.0) + e)
            .collect();
        let found = mser5(&decay).unwrap();
        assert!((30..=80).contains(&found.from) && !found.is_late, "{found:?}");
    }

    #[test]
    fn a_series_that_goes_on_rising_is_late() {
        let rising: Vec<f64> = noise(200).enumerate().map(|(n, e)| n as f64 + e).collect();
        assert!(mser5(&rising).unwrap().is_late);
        let at_last: Vec<f64> =
            noise(100).enumerate().map(|(n, e)| if n < 70 { 50.0 + e } else { 10.0 + e }).collect();
        assert_eq!(mser5(&at_last), Some(Steady { from: 70, is_late: true }));
    }

    #[test]
    fn what_is_steady_is_steady_from_its_start() {
        assert_eq!(mser5(&[3.0; 50]), Some(Steady { from: 0, is_late: false }));
        assert_eq!(mser5(&[3.0; 49]), None);
        let mut series = vec![3.0; 60];
        series[7] = f64::NAN;
        assert_eq!(mser5(&series), None);
    }

    proptest! {
        /// Neither unit nor origin moves the point, and nothing lies out of the series.
        #[test]
        fn it_goes_with_the_series(
            values in prop::collection::vec(0.0_f64..100.0, 50..200),
            scale in 0.1_f64..10.0,
        ) {
            let found = mser5(&values).unwrap();
            prop_assert!(found.from + LEFT * BATCH <= values.len());
            prop_assert!(found.from.is_multiple_of(BATCH));
            let other: Vec<f64> = values.iter().map(|v| 7.0 - scale * v).collect();
            prop_assert_eq!(mser5(&other), Some(found));
        }
    }
}
