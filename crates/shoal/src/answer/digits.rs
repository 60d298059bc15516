//! Numbers and addresses as text, without the formatting machinery of the standard library: an
//! answer holds some twenty of them, and a registry gives tens of thousands of answers a second.

use std::io::Write as _;
use std::net::IpAddr;

use super::python_float;
use crate::heartbeat::Number;

/// Decimal digits of an integer.
pub(crate) fn integer(out: &mut Vec<u8>, mut n: u64) {
    // 2⁶⁴ has 20 digits.
    let mut digits = [b'0'; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + u8::try_from(n % 10).unwrap_or(0);
        n /= 10;
        if n == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[first..]);
}

/// A number as it was received: an integer stays one.
pub(super) fn number(out: &mut Vec<u8>, number: Number) {
    match number {
        Number::Int(n) => integer(out, n),
        Number::Float(x) => python_float(x, out),
    }
}

/// A finite number that is at least 0, in the shortest JSON that means it: `122000`, `0.1`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 2⁵³")]
pub(super) fn shortest(out: &mut Vec<u8>, x: f64) {
    /// From here on not every integer is a double.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if (0.0..EXACT).contains(&x) && x.fract() == 0.0 {
        integer(out, x as u64);
    } else {
        python_float(x, out);
    }
}

/// An address in quotes, or `null`.
pub(super) fn address(out: &mut Vec<u8>, address: Option<IpAddr>) {
    match address {
        None => out.extend_from_slice(b"null"),
        Some(IpAddr::V4(v4)) => {
            out.push(b'"');
            for (place, octet) in v4.octets().into_iter().enumerate() {
                if place > 0 {
                    out.push(b'.');
                }
                integer(out, u64::from(octet));
            }
            out.push(b'"');
        }
        Some(IpAddr::V6(v6)) => {
            // Writing to a vector cannot fail.
            let _ = write!(out, "\"{v6}\"");
        }
    }
}

/// Sixteen hexadecimal digits in quotes: the public name of a cache.
pub(super) fn name(out: &mut Vec<u8>, id: u64) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push(b'"');
    for byte in id.to_be_bytes() {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
    out.push(b'"');
}
