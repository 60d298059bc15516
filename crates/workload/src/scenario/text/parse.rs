//! Reads texts with holes.

use plimsoll_units::{ParseError, nearest};

use super::{DateForm, Hole, Names, Part, Text, Value, Writing};
use crate::scenario::encoding::{Encoding, Pipe};
use crate::traceparent;

const WANTED: &str = "a variable, a column of a data file, or counter, uuid, random:1..100, user, \
                      loop, date or traceparent";

impl Text {
    /// Reads a text, whose values enter by `encoding`; those behind the `?` of a path as of a
    /// query.
    ///
    /// # Errors
    /// A hole that is not closed, a name that nothing can have set, an unknown pipe.
    pub fn parse(
        text: &str,
        encoding: Encoding,
        names: &mut dyn Names,
    ) -> Result<Self, ParseError> {
        let mut writing = Writing::default();
        let (mut at, mut encoding) = (0, encoding);
        while let Some(open) = text[at..].find("{{").map(|found| at + found) {
            let before = &text[at..open];
            if encoding == Encoding::Path && before.contains('?') {
                encoding = Encoding::Query;
            }
            if let Some(before) = before.strip_suffix('\\') {
                writing.literal_of(before, encoding);
                writing.literal_of("{{", encoding);
                at = open + 2;
                continue;
            }
            writing.literal_of(before, encoding);
            let Some(len) = text[open..].find("}}") else {
                let found = &text[open..];
                let error = ParseError::new("a closing }}", found, open, found.len());
                return Err(error.hint("close it with }}, or write \\{{ for {{ itself"));
            };
            let inner = &text[open + 2..open + len];
            let is_link = encoding == Encoding::Path && open == 0;
            let enters = if is_link { Encoding::Link } else { encoding };
            let hole = hole(inner, enters, names).map_err(|error| error.shifted(open + 2))?;
            writing.flush();
            writing.parts.push(Part::Hole(hole));
            at = open + len + 2;
        }
        writing.literal_of(&text[at..], encoding);
        Ok(writing.finish())
    }
}

/// Reads what stands between two braces.
fn hole(inner: &str, encoding: Encoding, names: &mut dyn Names) -> Result<Hole, ParseError> {
    let mut parts = split_pipes(inner).into_iter();
    let (first_at, first) = parts.next().unwrap_or((0, ""));
    let (name, default) = with_default(first).map_err(|error| error.shifted(first_at))?;
    let name_at = first_at + (first.len() - first.trim_start().len());
    let value = value_of(name, default.is_some(), names).map_err(|error| error.shifted(name_at))?;
    let mut pipes = Vec::new();
    for (at, pipe) in parts {
        let at = at + (pipe.len() - pipe.trim_start().len());
        let pipe = pipe.trim();
        let Some((_, known)) = Pipe::NAMES.into_iter().find(|(name, _)| *name == pipe) else {
            let error =
                ParseError::new("urlencode, base64 or json behind the |", pipe, at, pipe.len());
            return Err(match nearest(pipe, Pipe::NAMES.map(|(name, _)| name)) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error,
            });
        };
        pipes.push(known);
    }
    let (default, pipes) = (default.map(Into::into), pipes.into());
    Ok(Hole { value, default, pipes, encoding, written: name.into() })
}

/// The parts between bars that are not within quotes, with where each begins.
fn split_pipes(inner: &str) -> Vec<(usize, &str)> {
    let (mut parts, mut from, mut quote) = (Vec::new(), 0, None);
    for (at, c) in inner.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '|') => {
                parts.push((from, &inner[from..at]));
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push((from, &inner[from..]));
    parts
}

/// Takes `name or "default"` apart.
fn with_default(part: &str) -> Result<(&str, Option<&str>), ParseError> {
    let trimmed = part.trim();
    let Some((name, rest)) = trimmed.split_once(char::is_whitespace) else {
        return Ok((trimmed, None));
    };
    let rest = rest.trim_start();
    let at = rest.as_ptr() as usize - part.as_ptr() as usize;
    let wrong = || {
        let error =
            ParseError::new("`or` and a text in quotes behind the name", rest, at, rest.len());
        error.hint(format!("write {{{{{name} or \"nobody\"}}}}"))
    };
    let text = rest.strip_prefix("or").map(str::trim_start).ok_or_else(wrong)?;
    let quoted = ['"', '\''].into_iter().find_map(|quote| {
        text.strip_prefix(quote)?.strip_suffix(quote).filter(|text| !text.contains(quote))
    });
    quoted.map(|text| (name, Some(text))).ok_or_else(wrong)
}

/// What a name means.
fn value_of(name: &str, has_default: bool, names: &mut dyn Names) -> Result<Value, ParseError> {
    let wrong = || ParseError::new(WANTED, name, 0, name.len());
    match name {
        "" => return Err(wrong().hint("write \\{{ for {{ itself")),
        "counter" => return Ok(Value::Counter),
        "user" => return Ok(Value::User),
        "loop" => return Ok(Value::Loop),
        traceparent::WORD => return Ok(Value::Traceparent),
        "uuid" => return Ok(Value::Uuid { place: names.place() }),
        "random" => return Err(wrong().hint("give both bounds: {{random:1..100}}")),
        _ => {}
    }
    if let Some((_, form)) = DateForm::NAMES.into_iter().find(|(of, _)| *of == name) {
        return Ok(Value::Date(form));
    }
    if let Some(range) = name.strip_prefix("random:") {
        let bounds = range.split_once("..").and_then(|(low, high)| {
            Some((low.trim().parse::<u64>().ok()?, high.trim().parse::<u64>().ok()?))
        });
        return match bounds {
            Some((low, high)) if low <= high => {
                Ok(Value::Random { low, high, place: names.place() })
            }
            Some((low, high)) => {
                Err(wrong().hint(format!("least first: {{{{random:{high}..{low}}}}}")))
            }
            None => Err(wrong().hint("two whole numbers: {{random:1..100}}")),
        };
    }
    if name.starts_with("date:") {
        return Err(wrong().hint("a date is date, date:unix, date:unix_ms or date:unix_ns"));
    }
    names.named(name, has_default)
}
