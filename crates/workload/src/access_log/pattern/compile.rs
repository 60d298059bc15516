//! From the pieces of a format to what a line is compared with.

use plimsoll_units::ParseError;

use super::clock::Part;
use super::{End, Field, Piece, Token, What};

/// A text or a field, with its place in the format.
struct Placed {
    what: Joined,
    at: usize,
    len: usize,
}

enum Joined {
    Text(Vec<u8>),
    Field(Field),
}

/// The tokens of a format.
pub(super) fn tokens(text: &str, pieces: Vec<Piece>) -> Result<Vec<Token>, ParseError> {
    let parts = join(pieces);
    check(text, &parts)?;
    let mut tokens = Vec::with_capacity(parts.len());
    for (at, part) in parts.iter().enumerate() {
        let field = match &part.what {
            Joined::Text(bytes) => {
                tokens.push(Token::Text(bytes.clone()));
                continue;
            }
            Joined::Field(field) => *field,
        };
        let before = at.checked_sub(1).map(|before| &parts[before].what);
        let end = match (field.bytes(), parts.get(at + 1).map(|next| &next.what)) {
            (Some(bytes), _) => End::After(bytes),
            (None, None) => End::Line,
            (None, Some(Joined::Text(next))) => {
                let opens = matches!(before, Some(Joined::Text(text)) if text.ends_with(b"\""));
                let status = parts.get(at + 2).map(|part| &part.what);
                let status = matches!(status, Some(Joined::Field(Field::Status)));
                if opens && next.starts_with(b"\"") { End::Quote(status) } else { End::Text }
            }
            (None, Some(Joined::Field(next))) if next.begins_with_slash() => End::Slash,
            (None, Some(Joined::Field(_))) => {
                let next = &parts[at + 1];
                let word = &text[next.at..next.at + next.len];
                let wanted = "a text between two words, as it is not known where the first ends";
                let error = ParseError::new(wanted, word, next.at, next.len);
                return Err(error.hint("put a blank or quotes between them, in the server too"));
            }
        };
        tokens.push(Token::Field(field, end));
    }
    Ok(tokens)
}

/// Puts texts together, and a path with its query where they stand side by side.
fn join(pieces: Vec<Piece>) -> Vec<Placed> {
    let mut parts: Vec<Placed> = Vec::new();
    for Piece { what, at, len } in pieces {
        let last = parts.last_mut();
        match (what, last) {
            (What::Text(byte), Some(Placed { what: Joined::Text(text), len: of, .. })) => {
                text.push(byte);
                *of += len;
            }
            (What::Text(byte), _) => {
                parts.push(Placed { what: Joined::Text(vec![byte]), at, len });
            }
            (What::Field(field), last) => {
                let before = last.and_then(|last| match &mut last.what {
                    Joined::Field(before) => Some(before),
                    Joined::Text(_) => None,
                });
                match (before, field) {
                    (Some(before @ Field::Path), Field::Query | Field::Mark) => {
                        *before = Field::Target;
                    }
                    // Behind the mark of a query.
                    (Some(Field::Target), Field::Arguments) => {}
                    _ => parts.push(Placed { what: Joined::Field(field), at, len }),
                }
            }
        }
    }
    parts
}

/// A time, and what is asked for.
fn check(text: &str, parts: &[Placed]) -> Result<(), ParseError> {
    let has = |wanted: &[Field]| {
        parts.iter().any(|part| matches!(part.what, Joined::Field(of) if wanted.contains(&of)))
    };
    let has_part = |part| has(&[Field::Part(part)]);
    let of_parts = [Part::Year, Part::Day, Part::Hour, Part::Minute, Part::Second];
    let is_put_together =
        of_parts.into_iter().all(has_part) && (has_part(Part::Month) || has_part(Part::MonthName));
    if !is_put_together && !has(&[Field::Clf, Field::Iso, Field::Epoch]) {
        let wanted = "a format with a time, such as $time_local or %t";
        return Err(ParseError::new(wanted, text, 0, text.len()));
    }
    if !has(&[Field::Request, Field::Target, Field::Path]) {
        let wanted = "a format with what is asked for, such as $request or %r";
        return Err(ParseError::new(wanted, text, 0, text.len()));
    }
    Ok(())
}
