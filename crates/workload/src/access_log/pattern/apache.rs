//! The words of Apache's `LogFormat`: `%` with modifiers, an argument in braces and a letter.

use plimsoll_units::ParseError;

use super::clock::{self, Part};
use super::{Field, Piece, What};

/// The pieces of a format.
pub(super) fn pieces(text: &str) -> Result<Vec<Piece>, ParseError> {
    let bytes = text.as_bytes();
    let mut pieces = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let one = |what, len| (vec![what], len);
        let (found, len) = match (byte, bytes.get(at + 1)) {
            (b'%', Some(b'%')) => one(What::Text(b'%'), 2),
            (b'%', _) => directive(text, at)?,
            (b'\\', Some(b't')) => one(What::Text(b'\t'), 2),
            (b'\\', Some(&escaped @ (b'"' | b'\\'))) => one(What::Text(escaped), 2),
            _ => one(What::Text(byte), 1),
        };
        pieces.extend(found.into_iter().map(|what| Piece { what, at, len }));
        at += len;
    }
    Ok(pieces)
}

/// What the directive at a place stands for, and how long it is.
fn directive(text: &str, at: usize) -> Result<(Vec<What>, usize), ParseError> {
    const WANTED: &str = "a directive of Apache such as %r or %{Referer}i";
    let rest = &text[at + 1..];
    // Statuses for which alone it is written, and of which of several requests it is.
    let is_modifier = |c: char| c.is_ascii_digit() || matches!(c, ',' | '!' | '<' | '>');
    let letters = rest.trim_start_matches(is_modifier);
    let (argument, letters) = match letters.strip_prefix('{') {
        None => (None, letters),
        Some(inner) => match inner.split_once('}') {
            Some((argument, letters)) => (Some(argument), letters),
            None => return Err(ParseError::new("a } behind %{", &text[at..], at, rest.len() + 1)),
        },
    };
    let name = match letters.get(..3) {
        Some(trailer @ ("^ti" | "^to")) => trailer,
        _ => &letters[..letters.chars().next().map_or(0, char::len_utf8)],
    };
    let len = text.len() - at - (letters.len() - name.len());
    if name == "t" {
        let argument_at = argument.map_or(0, |of| of.as_ptr() as usize - text.as_ptr() as usize);
        let what =
            time(argument.unwrap_or_default()).map_err(|error| error.shifted(argument_at))?;
        return Ok((what, len));
    }
    let Some(field) = field(name, argument) else {
        let error = ParseError::new(WANTED, &text[at..at + len], at, len);
        return Err(error.hint("write %% for a percent sign, %l for what is passed over"));
    };
    Ok((vec![What::Field(field)], len))
}

fn field(name: &str, argument: Option<&str>) -> Option<Field> {
    Some(match (name, argument) {
        ("h" | "a", None | Some("c")) => Field::Client,
        ("s", None) => Field::Status,
        ("b" | "B", None) => Field::Bytes(0),
        ("O", None) => Field::Bytes(1),
        ("i", Some(header)) if header.eq_ignore_ascii_case("host") => Field::Site(0),
        ("i", Some(header)) if header.eq_ignore_ascii_case("x-forwarded-for") => Field::Forwarded,
        ("V", None) => Field::Site(1),
        ("v", None) => Field::Site(2),
        ("r", None) => Field::Request,
        ("m", None) => Field::Method,
        ("U", None) => Field::Path,
        ("q", None) => Field::Query,
        ("C" | "e" | "i" | "n" | "o" | "^ti" | "^to", Some(_)) => Field::Other,
        ("p" | "P" | "T" | "A" | "L", _) => Field::Other,
        ("D" | "f" | "H" | "I" | "k" | "l" | "R" | "S" | "u" | "X", None) => Field::Other,
        _ => return None,
    })
}

/// `%t`, in brackets; `%{…}t` by its own words or those of `strftime`.
fn time(argument: &str) -> Result<Vec<What>, ParseError> {
    let words = argument.strip_prefix("begin:").or(argument.strip_prefix("end:"));
    let words = words.unwrap_or(argument);
    let field = |field| Ok(vec![What::Field(field)]);
    match words {
        "" => Ok(vec![What::Text(b'['), What::Field(Field::Clf), What::Text(b']')]),
        "sec" | "msec" | "usec" => field(Field::Epoch),
        "msec_frac" => field(Field::Part(Part::Millis)),
        "usec_frac" => field(Field::Part(Part::Micros)),
        _ => clock::strftime(words).map_err(|error| error.shifted(argument.len() - words.len())),
    }
}
