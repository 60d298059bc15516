//! Numbers of a heartbeat, which are answered as they came: `7` as `7`, `7.0` as `7.0`, `"7"` as
//! `"7"`.
//!
//! Floats are written as Python's `repr` writes them, and so its `json.dumps`: the shortest digits
//! that read back as the same number, in plain notation where the decimal exponent is -4 to 15,
//! else with an exponent that has a sign and at least two digits (Python, `float_repr_style`
//! `short`, `PyOS_double_to_string` with `r`).

use std::fmt;
use std::io::Write;

/// A JSON number, with what it was written as.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// Written without a point and an exponent.
    Int(u64),
    /// Written with one.
    Float(f64),
}

impl Number {
    /// Its value.
    #[expect(clippy::cast_precision_loss, reason = "loads are at most 10⁹")]
    #[must_use]
    pub fn value(self) -> f64 {
        match self {
            Self::Int(n) => n as f64,
            Self::Float(x) => x,
        }
    }

    /// Appends what [`fmt::Display`] shows.
    pub fn push(self, out: &mut Vec<u8>) {
        match self {
            // A vector takes all that is written to it.
            Self::Int(n) => drop(write!(out, "{n}")),
            Self::Float(x) => python_float(x, out),
        }
    }
}

/// As Python's `json.dumps` writes it.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::with_capacity(24);
        self.push(&mut text);
        f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

/// A value and the JSON text (a number or a string) in which it is answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Echo<T> {
    /// What it means.
    pub value: T,
    /// As Python's `json.dumps` writes what was received: `3128`, `"3128"`.
    pub text: Box<str>,
}

/// Appends a float as Python's `json.dumps` writes it: `7.0`, `1e-05`, `1e+16`, `NaN`, `Infinity`.
///
/// # Example
/// ```
/// let mut out = Vec::new();
/// plimsoll_shoal::heartbeat::python_float(1e16, &mut out);
/// assert_eq!(out, b"1e+16");
/// ```
pub fn python_float(x: f64, out: &mut Vec<u8>) {
    if !x.is_finite() {
        let text = if x.is_nan() { "NaN" } else { ["Infinity", "-Infinity"][usize::from(x < 0.0)] };
        out.extend_from_slice(text.as_bytes());
        return;
    }
    let mut buffer = zmij::Buffer::new();
    let shortest = buffer.format_finite(x).as_bytes();
    let plain = x == 0.0 || (1e-4..1e16).contains(&x.abs());
    if plain && !shortest.contains(&b'e') {
        out.extend_from_slice(shortest);
        return;
    }
    if x < 0.0 {
        out.push(b'-');
    }
    let (digits, exponent) = decimal(shortest);
    if plain {
        push_plain(digits.get(), exponent, out);
    } else {
        push_e(digits.get(), exponent, out);
    }
}

/// Digits without leading and trailing zeros: at most 17.
struct Digits {
    digits: [u8; 24],
    len: usize,
}

impl Digits {
    fn get(&self) -> &[u8] {
        &self.digits[..self.len]
    }
}

/// The digits of a finite number's text and the decimal exponent of the first: 0.00123 is
/// (`123`, -3).
fn decimal(text: &[u8]) -> (Digits, i32) {
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let (mut digits, mut exponent) = (Digits { digits: [0; 24], len: 0 }, -1);
    let (mut after_point, mut rest) = (false, text.iter());
    for byte in rest.by_ref() {
        match byte {
            b'e' => break,
            b'.' => after_point = true,
            // Zeros before the first digit that counts.
            b'0' if digits.len == 0 => exponent -= i32::from(after_point),
            _ => {
                exponent += i32::from(!after_point);
                if let Some(place) = digits.digits.get_mut(digits.len) {
                    (*place, digits.len) = (*byte, digits.len + 1);
                }
            }
        }
    }
    let written = std::str::from_utf8(rest.as_slice()).ok().and_then(|text| text.parse().ok());
    while digits.len > 1 && digits.digits[digits.len - 1] == b'0' {
        digits.len -= 1;
    }
    (digits, exponent + written.unwrap_or(0))
}

/// `exponent` is -4 to 15.
fn push_plain(digits: &[u8], exponent: i32, out: &mut Vec<u8>) {
    let Ok(last) = usize::try_from(exponent) else {
        out.extend_from_slice(b"0.");
        out.extend((exponent..-1).map(|_| b'0'));
        out.extend_from_slice(digits);
        return;
    };
    let (whole, part) = digits.split_at((last + 1).min(digits.len()));
    out.extend_from_slice(whole);
    out.extend((whole.len()..=last).map(|_| b'0'));
    out.push(b'.');
    out.extend_from_slice(if part.is_empty() { b"0" } else { part });
}

fn push_e(digits: &[u8], exponent: i32, out: &mut Vec<u8>) {
    let (first, part) = digits.split_at(1.min(digits.len()));
    out.extend_from_slice(first);
    if !part.is_empty() {
        out.push(b'.');
        out.extend_from_slice(part);
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    drop(write!(out, "e{sign}{:02}", exponent.abs()));
}
