//! Numbers as a person reads them: three significant digits, thousands apart.

/// A count with its thousands apart: `12,345`.
#[must_use]
pub fn show_count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Bytes, decimal units, to three significant digits: `962 B`, `1.5 MB`.
#[must_use]
pub fn show_size(bytes: u64) -> String {
    let mut unit = 1;
    for (next, name) in
        [(1_000, "B"), (1_000_000, "kB"), (1_000_000_000, "MB"), (1_000_000_000_000, "GB")]
    {
        // Shown in the next unit from where three digits would round up to 1000.
        if bytes < next - if unit == 1 { 0 } else { unit / 2 } {
            return format!("{} {name}", significant(bytes, unit));
        }
        unit = next;
    }
    format!("{} TB", significant(bytes, unit))
}

/// A share as a percentage: `25%`, `99.999%`.
///
/// Three significant digits of its distance to the nearer of 0 and 1, so that nines are never
/// rounded away.
#[must_use]
pub fn show_share(share: f64) -> String {
    if !share.is_finite() {
        return "–".to_owned();
    }
    let distance = (share * 100.0).abs().min(((1.0 - share) * 100.0).abs());
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 0..=9")]
    let decimals =
        if distance > 0.0 { (2.0 - distance.log10().floor()).clamp(0.0, 9.0) as usize } else { 0 };
    format!("{}%", trim_zeros(&format!("{:.decimals$}", share * 100.0)))
}

/// A share as a text that [`share`](crate::share) reads back to the same: `65%`, `100%`, `0.1%`.
///
/// The shortest decimals of the share, its point moved by two places. What is no share comes out as
/// `0%` or `100%`.
#[must_use]
pub fn show_share_exact(share: f64) -> String {
    if share.is_nan() || share <= 0.0 {
        return "0%".to_owned();
    }
    if share >= 1.0 {
        return "100%".to_owned();
    }
    let text = share.to_string();
    let decimals = text.strip_prefix("0.").unwrap_or(&text);
    let (whole, rest) = decimals.split_at_checked(2).unwrap_or((decimals, ""));
    let whole = format!("{whole:0<2}");
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    if rest.is_empty() { format!("{whole}%") } else { format!("{whole}.{rest}%") }
}

/// `value / unit` to three significant digits; zeros after the point only where they were rounded
/// to, none where the value is exactly the shorter text.
pub(crate) fn significant(value: u64, unit: u64) -> String {
    for (limit, decimals) in [(9_995, 2_u32), (99_950, 1)] {
        let step = unit / 10_u64.pow(decimals);
        if step == 0 {
            break;
        }
        let rounded = value / step + u64::from(value % step >= step.div_ceil(2));
        if u128::from(value) * 1000 < u128::from(unit) * limit {
            let scale = 10_u64.pow(decimals);
            let places = decimals as usize;
            let text = format!("{}.{:0places$}", rounded / scale, rounded % scale);
            return if value.is_multiple_of(step) { trim_zeros(&text).to_owned() } else { text };
        }
    }
    (value / unit + u64::from(unit > 1 && value % unit >= unit / 2)).to_string()
}

/// A decimal text without the zeros at its end, and without a point then left over.
pub(crate) fn trim_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// The nearest whole number, its thousands apart.
pub(crate) fn thousands_rounded(value: f64) -> String {
    let digits = format!("{value:.0}");
    digits.parse::<u64>().map_or(digits, show_count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_counts_sizes_and_shares() {
        for (n, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345_678, "12,345,678")] {
            assert_eq!(show_count(n), text);
        }
        assert_eq!(show_count(u64::MAX), "18,446,744,073,709,551,615");
        for (n, text) in [
            (0, "0 B"),
            (962, "962 B"),
            (999, "999 B"),
            (1_000, "1 kB"),
            (1_500_000, "1.5 MB"),
            (1_499_999, "1.50 MB"),
            (10_000_000, "10 MB"),
            (999_499, "999 kB"),
            (999_500, "1.00 MB"),
            (1_000_000_000_000, "1 TB"),
            (u64::MAX, "18446744 TB"),
        ] {
            assert_eq!(show_size(n), text, "{n}");
        }
        for (share, text) in [
            (0.25, "25%"),
            (0.999_99, "99.999%"),
            (0.999_991, "99.9991%"),
            (0.001, "0.1%"),
            (0.000_012_34, "0.00123%"),
            (1.0 / 3.0, "33.3%"),
            (0.0, "0%"),
            (1.0, "100%"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(show_share(share), text);
        }
    }

    #[test]
    fn shows_shares_exactly() {
        for (share, text) in [
            (0.0, "0%"),
            (1.0, "100%"),
            (0.65, "65%"),
            (0.5, "50%"),
            (0.195, "19.5%"),
            (0.001, "0.1%"),
            (0.000_012_34, "0.001234%"),
            (0.999_999, "99.9999%"),
            (1.0 / 3.0, "33.33333333333333%"),
            (0.1 + 0.2, "30.000000000000004%"),
        ] {
            assert_eq!(show_share_exact(share), text);
            let back = crate::share(text).unwrap();
            assert_eq!(back.to_bits(), share.to_bits(), "{text}");
        }
        for outside in [f64::NAN, -1.0, 7.0] {
            assert!(crate::share(&show_share_exact(outside)).is_ok());
        }
    }
}
