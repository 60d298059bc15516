//! Where something was said: a place in the plan's file, or in the value of a flag.
//!
//! Places are byte ranges of the text as it was written. An error inside a string's *value* is
//! mapped back through the escapes of its literal, so that the caret stands under the character
//! that is wrong (TOML 1.1, section String).

use crate::reading::secret;

/// One text a plan was put together from.
#[derive(Debug)]
pub(crate) struct Source {
    /// The file's name, or the flag's.
    pub(crate) origin: String,
    /// The file's text, or the flag's value.
    pub(crate) text: String,
    /// Whether it is a flag: then it has no lines and no quotes, and wins over the file.
    pub(crate) flag: bool,
    /// Whether it is a flag that stands in the plan, as a level of a factor: its files lie beside
    /// the plan.
    pub(crate) is_level: bool,
    /// Byte ranges that must never be shown.
    pub(crate) secrets: Vec<(usize, usize)>,
}

/// A byte range of one source; without a span, the source as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) source: usize,
    pub(crate) span: Option<(usize, usize)>,
}

impl Place {
    pub(crate) fn new(source: usize, start: usize, end: usize) -> Self {
        Self { source, span: Some((start, end)) }
    }

    /// The source as a whole: a missing key has no place of its own.
    pub(crate) fn whole(source: usize) -> Self {
        Self { source, span: None }
    }
}

impl Source {
    pub(crate) fn file(origin: &str, text: &str) -> Self {
        Self {
            origin: origin.into(),
            text: text.into(),
            flag: false,
            is_level: false,
            secrets: Vec::new(),
        }
    }

    pub(crate) fn flag(origin: &str, value: &str) -> Self {
        Self {
            origin: origin.into(),
            text: value.into(),
            flag: true,
            is_level: false,
            secrets: Vec::new(),
        }
    }

    /// The place of bytes `at..at + len` of a value that was read at `place`.
    pub(crate) fn within(&self, place: Place, at: usize, len: usize) -> Place {
        let Some((start, end)) = place.span else { return place };
        let Some(literal) = self.text.get(start..end) else { return place };
        if self.flag {
            let from = floor_char(literal, at);
            let to = floor_char(literal, at.saturating_add(len)).max(from);
            return Place::new(place.source, start + from, start + to);
        }
        let from = literal_offset(literal, at);
        let to = literal_offset(literal, at.saturating_add(len)).max(from);
        Place::new(place.source, start + from, start + to)
    }

    /// The line number and column (characters, from 1) of a byte, and the line's own range.
    pub(crate) fn line_of(&self, byte: usize) -> (usize, usize, (usize, usize)) {
        let byte = floor_char(&self.text, byte);
        let before = &self.text[..byte];
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let end = self.text[byte..].find('\n').map_or(self.text.len(), |length| byte + length);
        let end = if self.text[start..end].ends_with('\r') { end - 1 } else { end };
        let line = before.bytes().filter(|&b| b == b'\n').count() + 1;
        let column = before[start..].chars().count() + 1;
        (line, column, (start, end.max(start)))
    }

    /// Whether a part of a place must not be shown.
    pub(crate) fn hides(&self, place: Place) -> bool {
        let (start, end) = place.span.unwrap_or_default();
        self.secrets.iter().any(|&(from, to)| start < to.max(from + 1) && end.max(start + 1) > from)
    }

    /// The parts of `range` that must not be shown, in order.
    pub(crate) fn hidden_in(&self, range: (usize, usize)) -> Vec<(usize, usize)> {
        let mut hidden: Vec<_> = self
            .secrets
            .iter()
            .map(|&(from, to)| (from.max(range.0), to.min(range.1)))
            .filter(|&(from, to)| from < to)
            .collect();
        hidden.sort_unstable();
        hidden
    }

    /// Hides what follows the `=` of each line that may hold a secret; without one, or with a
    /// password before it, what follows the first word.
    ///
    /// For a text that is not TOML: nothing is known of it but its lines.
    pub(crate) fn hide_by_line(&mut self) {
        let mut start = 0;
        for line in self.text.split_inclusive('\n') {
            if secret::line_is_secret(line) {
                let (blank, end) = (line.len() - line.trim_start().len(), line.trim_end().len());
                let word = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
                let value = match line.find('=') {
                    Some(equals) if !secret::holds_password(&line[..equals]) => equals + 1,
                    _ => line[blank..].find(|c| !word(c)).map_or(blank, |at| blank + at),
                };
                let value = line.len() - line[value..].trim_start().len();
                self.secrets.push((start + value.min(end), start + end));
            }
            start += line.len();
        }
    }
}

/// The greatest character boundary of `text` that is not beyond `at`.
pub(crate) fn floor_char(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The byte of a TOML string literal that gives byte `at` of its value.
///
/// Beyond the value's end: the end of the literal's body. A literal that is no string (a bare
/// date) is its own value.
fn literal_offset(literal: &str, at: usize) -> usize {
    let (opening, basic) = match literal.as_bytes() {
        [b'"', b'"', b'"', ..] => (3, true),
        [b'\'', b'\'', b'\'', ..] => (3, false),
        [b'"', ..] => (1, true),
        [b'\'', ..] => (1, false),
        _ => return floor_char(literal, at),
    };
    let end = literal.len().saturating_sub(opening).max(opening);
    let mut body = opening;
    if opening == 3 {
        // A newline right after the opening quotes is not part of the value.
        body +=
            ["\r\n", "\n"].iter().find(|n| literal[body..].starts_with(**n)).map_or(0, |n| n.len());
    }
    let mut value = 0;
    while value < at && body < end {
        let (raw, decoded) = step(&literal[body..end], basic);
        if value + decoded > at {
            break;
        }
        body += raw;
        value += decoded;
    }
    body.min(end)
}

/// How many bytes the next character of a body takes in the literal, and how many in the value.
fn step(body: &str, basic: bool) -> (usize, usize) {
    let mut chars = body.chars();
    let Some(first) = chars.next() else { return (1, 1) };
    if !basic || first != '\\' {
        return (first.len_utf8(), first.len_utf8());
    }
    let digits = match chars.next() {
        Some('x') => 2,
        Some('u') => 4,
        Some('U') => 8,
        Some(white) if white.is_whitespace() => {
            let rest = &body[1..];
            return (1 + rest.len() - rest.trim_start().len(), 0);
        }
        Some(other) => return (1 + other.len_utf8(), 1),
        None => return (1, 1),
    };
    let code = body.get(2..2 + digits).and_then(|hex| u32::from_str_radix(hex, 16).ok());
    let decoded = code.and_then(char::from_u32).map_or(1, char::len_utf8);
    (floor_char(body, 2 + digits).max(1), decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_a_value_back_through_its_escapes() {
        assert_eq!(literal_offset(r#""500/q""#, 4), 5);
        assert_eq!(literal_offset("'500/q'", 4), 5);
        assert_eq!(literal_offset(r#""\u0035x""#, 1), 7);
        assert_eq!(literal_offset(r#""\té""#, 1), 3);
        assert_eq!(literal_offset("\"\"\"\nab\\\n   cd\"\"\"", 2), 6);
        assert_eq!(literal_offset("\"\"\"\nab\\\n   cd\"\"\"", 3), 12);
        assert_eq!(literal_offset(r#""ab""#, 99), 3);
        assert_eq!(literal_offset(r#""""#, 5), 1);
        assert_eq!(literal_offset("1995-09-06", 2), 2);
    }

    #[test]
    fn counts_lines_and_characters() {
        let source = Source::file("p", "a = 1\r\né = \"x\"\n");
        assert_eq!(source.line_of(0), (1, 1, (0, 5)));
        let x = source.text.find('x').unwrap();
        assert_eq!(source.line_of(x), (2, 6, (7, 15)));
        assert_eq!(source.line_of(usize::MAX).0, 3);
    }
}
