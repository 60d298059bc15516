//! Statistics of samples, for the tests of laws.

/// Mean and variance of a sample.
pub(crate) fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0))
}

/// The Kolmogorov–Smirnov distance of a sample from a law. Above 2.2/√n with probability 1.3e-4.
pub(crate) fn ks_distance(values: &[f64], cumulative: impl Fn(f64) -> f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len() as f64;
    sorted
        .iter()
        .enumerate()
        .map(|(i, &value)| {
            let expected = cumulative(value);
            (expected - i as f64 / n).max((i as f64 + 1.0) / n - expected)
        })
        .fold(0.0, f64::max)
}
