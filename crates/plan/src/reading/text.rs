//! The texts of TOML that plans are printed in.

use std::time::Duration;

use plimsoll_units::show_duration_exact;

/// A duration in the units of plans.
pub(crate) fn exact(value: Duration) -> String {
    show_duration_exact(u64::try_from(value.as_nanos()).unwrap_or(u64::MAX))
}

/// A key, in quotes where it needs them.
pub(crate) fn bare_or_quoted(key: &str) -> String {
    let bare =
        !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if bare { key.into() } else { quoted(key) }
}

/// A basic string of TOML.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
