//! Numbers and strings as Python's `json.dumps` writes them, which Shoal's clients expect.
//!
//! A float is its `repr`: the shortest digits that give the same double, written out between
//! 10⁻⁴ and 10¹⁶ and with an exponent of at least two digits beyond (`CPython`'s
//! `float_repr_style` "short"). A string is ASCII: everything that is not printable ASCII, and
//! `"` and `\`, is escaped.

/// Appends `repr(x)`; what no JSON number can say as `NaN`, `Infinity` or `-Infinity`.
pub fn python_float(x: f64, out: &mut Vec<u8>) {
    if !x.is_finite() {
        let word: &[u8] = match (x.is_nan(), x > 0.0) {
            (true, _) => b"NaN",
            (false, true) => b"Infinity",
            (false, false) => b"-Infinity",
        };
        out.extend_from_slice(word);
        return;
    }
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format_finite(x);
    let size = x.abs();
    if size == 0.0 || ((1e-4..1e16).contains(&size) && !text.as_bytes().contains(&b'e')) {
        out.extend_from_slice(text.as_bytes());
    } else {
        scientific(text, out);
    }
}

/// Writes with an exponent, Python's way, what may be written in any way.
fn scientific(text: &str, out: &mut Vec<u8>) {
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // The value is 0.DIGITS · 10^power; zeros in front and behind say nothing.
    let all: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
    let leading = all.iter().take_while(|digit| **digit == b'0').count();
    let trailing = all[leading..].iter().rev().take_while(|digit| **digit == b'0').count();
    let digits = &all[leading..all.len() - trailing];
    let power = exponent + count(whole.len()) - count(leading) - 1;
    out.extend_from_slice(sign.as_bytes());
    out.extend_from_slice(&digits[..1]);
    if digits.len() > 1 {
        out.push(b'.');
        out.extend_from_slice(&digits[1..]);
    }
    let sign = if power < 0 { '-' } else { '+' };
    out.extend_from_slice(format!("e{sign}{:02}", power.unsigned_abs()).as_bytes());
}

fn count(digits: usize) -> i32 {
    i32::try_from(digits).unwrap_or(i32::MAX)
}

/// Appends a string with its quotes.
pub fn python_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let plain = |byte: &u8| matches!(byte, b' '..=b'~') & !matches!(byte, b'"' | b'\\');
    // Without a way out at the first other byte: so it is done many bytes at a time.
    if text.as_bytes().iter().fold(true, |all, byte| all & plain(byte)) {
        out.extend_from_slice(text.as_bytes());
    } else {
        for character in text.chars() {
            escaped(character, out);
        }
    }
    out.push(b'"');
}

fn escaped(character: char, out: &mut Vec<u8>) {
    match character {
        '"' => out.extend_from_slice(b"\\\""),
        '\\' => out.extend_from_slice(b"\\\\"),
        '\n' => out.extend_from_slice(b"\\n"),
        '\r' => out.extend_from_slice(b"\\r"),
        '\t' => out.extend_from_slice(b"\\t"),
        '\u{8}' => out.extend_from_slice(b"\\b"),
        '\u{c}' => out.extend_from_slice(b"\\f"),
        ' '..='~' => out.extend(u8::try_from(character)),
        _ => {
            // Beyond the basic plane: two surrogates, as JSON has it.
            for unit in character.encode_utf16(&mut [0; 2]) {
                out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
            }
        }
    }
}
