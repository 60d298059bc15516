//! Round values: 1, 2 or 5 times a power of ten.

/// The least of 1, 2, 5 × 10^k that is not below `value` (above zero).
pub(super) fn round_up(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    let share = value / decade;
    let factor = [1.0, 2.0, 5.0].into_iter().find(|f| share <= f * (1.0 + 1e-9));
    tidy(factor.unwrap_or(10.0) * decade)
}

/// The greatest of 1, 2, 5 × 10^k that is not above `value` (above zero).
pub(super) fn round_down(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    let share = value / decade;
    let factor = [5.0, 2.0, 1.0].into_iter().find(|f| share >= f * (1.0 - 1e-9));
    tidy(factor.unwrap_or(0.5) * decade)
}

/// Takes the last bits of `powf` off: 0.20000000000000004 becomes 0.2.
fn tidy(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}
