//! Strings as Python's `json.dumps` writes them: ASCII only, by the table of its
//! `json.encoder.ESCAPE_ASCII`, characters beyond the basic plane as surrogate pairs.

/// Appends a string's JSON text, quotes included.
///
/// # Example
/// ```
/// let mut out = Vec::new();
/// plimsoll_shoal::heartbeat::python_string("Zürich \"1\"", &mut out);
/// assert_eq!(out, br#""Z\u00fcrich \"1\"""#);
/// ```
pub fn python_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let bytes = text.as_bytes();
    if bytes.iter().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\')) {
        out.extend_from_slice(bytes);
    } else {
        for character in text.chars() {
            push_escaped(character, out);
        }
    }
    out.push(b'"');
}

fn push_escaped(character: char, out: &mut Vec<u8>) {
    let short = match character {
        '"' | '\\' => character,
        '\n' => 'n',
        '\r' => 'r',
        '\t' => 't',
        '\u{8}' => 'b',
        '\u{c}' => 'f',
        ' '..='~' => return push_ascii(character, out),
        _ => {
            for unit in character.encode_utf16(&mut [0; 2]) {
                push_unit(*unit, out);
            }
            return;
        }
    };
    out.push(b'\\');
    push_ascii(short, out);
}

fn push_ascii(character: char, out: &mut Vec<u8>) {
    out.extend(u8::try_from(character));
}

/// A unit of UTF-16 as `\u` and four lower-case digits.
fn push_unit(unit: u16, out: &mut Vec<u8>) {
    out.extend_from_slice(b"\\u");
    for shift in [12, 8, 4, 0] {
        out.push(b"0123456789abcdef"[usize::from(unit >> shift & 15)]);
    }
}
