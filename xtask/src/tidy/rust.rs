//! Tells code, comments and literals of a Rust file apart, so that a rule about one is not fooled
//! by another.
//!
//! A scanner, not a parser: it knows line and (nested) block comments, strings with escapes, raw
//! strings, characters and lifetimes. Masking keeps every byte's place, so lines and columns hold.

use std::ops::RangeInclusive;

/// One text three times over, each with what it is not about blanked out by spaces.
#[derive(Debug)]
pub(crate) struct Masked {
    /// Neither comments nor the contents of literals.
    pub(crate) code: String,
    /// Comments only, their slashes included.
    pub(crate) comments: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

impl Masked {
    pub(crate) fn of(text: &str) -> Self {
        let kinds = kinds_of(text.as_bytes());
        Self { code: keep(text, &kinds, Kind::Code), comments: keep(text, &kinds, Kind::Comment) }
    }

    /// Functions with a body: the line of `fn`, its name, the line of its closing brace.
    pub(crate) fn functions(&self) -> Vec<(usize, String, usize)> {
        let words = words_with_place(&self.code);
        let mut found = Vec::new();
        for pair in words.windows(2) {
            let [(at, "fn"), (name_at, name)] = pair else { continue };
            // `fn(u8) -> u8` is a type: its next word does not follow directly.
            if !self.code[at + 2..*name_at].trim().is_empty() {
                continue;
            }
            if let Some(end) = end_of_body(&self.code, *name_at) {
                found.push((
                    line_of(&self.code, *at),
                    (*name).to_owned(),
                    line_of(&self.code, end),
                ));
            }
        }
        found
    }

    /// The lines, from 1, of the items that an attribute stands before, the attribute included.
    pub(crate) fn items_behind(&self, attribute: &str) -> Vec<RangeInclusive<usize>> {
        let ends = |(at, _): (usize, &str)| {
            let from = at + attribute.len();
            let semicolon = self.code[from..].find(';').map(|offset| from + offset);
            let end = end_of_body(&self.code, from).or(semicolon).unwrap_or(from);
            line_of(&self.code, at)..=line_of(&self.code, end)
        };
        self.code.match_indices(attribute).map(ends).collect()
    }
}

/// Identifiers, keywords and numbers of a text, with the byte each begins at.
pub(crate) fn words_with_place(text: &str) -> Vec<(usize, &str)> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices() {
        match (is_part(c), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                words.push((from, &text[from..at]));
                start = None;
            }
            _ => {}
        }
    }
    if let Some(from) = start {
        words.push((from, &text[from..]));
    }
    words
}

/// The line of a byte, from 1.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count()
}

/// The closing brace of the body that follows a function's name; `None` where a `;` ends it.
fn end_of_body(code: &str, from: usize) -> Option<usize> {
    let (mut nested, mut braces) = (0_i32, 0_i32);
    for (offset, byte) in code.as_bytes()[from..].iter().enumerate() {
        match byte {
            b'(' | b'[' if braces == 0 => nested += 1,
            b')' | b']' if braces == 0 => nested -= 1,
            b';' if nested == 0 && braces == 0 => return None,
            b'{' if nested == 0 || braces > 0 => braces += 1,
            b'}' if braces > 0 => {
                braces -= 1;
                if braces == 0 {
                    return Some(from + offset);
                }
            }
            _ => {}
        }
    }
    None
}

fn keep(text: &str, kinds: &[Kind], kind: Kind) -> String {
    let mut kept = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        if c == '\n' || kinds[at] == kind {
            kept.push(c);
        } else {
            kept.extend(std::iter::repeat_n(' ', c.len_utf8()));
        }
    }
    kept
}

fn kinds_of(text: &[u8]) -> Vec<Kind> {
    let mut kinds = vec![Kind::Code; text.len()];
    let mut at = 0;
    while at < text.len() {
        let (kind, end) = match text[at] {
            b'/' if text.get(at + 1) == Some(&b'/') => (Kind::Comment, end_of_line(text, at)),
            b'/' if text.get(at + 1) == Some(&b'*') => (Kind::Comment, end_of_block(text, at)),
            b'"' => (Kind::Literal, end_of_string(text, at)),
            b'\'' => (Kind::Literal, end_of_character(text, at)),
            b'r' => match end_of_raw_string(text, at) {
                Some(end) if !continues_word(text, at) => (Kind::Literal, end),
                _ => (Kind::Code, at + 1),
            },
            _ => (Kind::Code, at + 1),
        };
        kinds[at..end].fill(kind);
        at = end;
    }
    kinds
}

/// Whether `r` is the last letter of a longer word; `br` and `cr` begin raw strings too.
fn continues_word(text: &[u8], at: usize) -> bool {
    let part = |at: usize| text[at].is_ascii_alphanumeric() || text[at] == b'_';
    let Some(before) = at.checked_sub(1).filter(|before| part(*before)) else { return false };
    let prefix = matches!(text[before], b'b' | b'c');
    !prefix || before.checked_sub(1).is_some_and(part)
}

fn end_of_line(text: &[u8], at: usize) -> usize {
    text[at..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |length| at + length)
}

fn end_of_block(text: &[u8], mut at: usize) -> usize {
    let mut depth = 0_usize;
    while at < text.len() {
        match text.get(at..at + 2) {
            Some(b"/*") => (depth, at) = (depth + 1, at + 2),
            Some(b"*/") => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

fn end_of_string(text: &[u8], mut at: usize) -> usize {
    at += 1;
    while at < text.len() {
        match text[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// The end of `'x'` or `'\n'`; of a lifetime, the tick alone.
fn end_of_character(text: &[u8], at: usize) -> usize {
    let Some(rest) = text.get(at + 1..) else { return at + 1 };
    let closing = |from: usize| {
        rest.get(from..)?.iter().take(10).position(|byte| *byte == b'\'').map(|more| from + more)
    };
    let end = match rest.first() {
        Some(b'\\') => closing(2),
        Some(first) => {
            let width = match first {
                0xf0.. => 4,
                0xe0.. => 3,
                0xc0.. => 2,
                _ => 1,
            };
            (rest.get(width) == Some(&b'\'')).then_some(width)
        }
        None => None,
    };
    end.map_or(at + 1, |end| at + 1 + end + 1)
}

/// The end of `r"…"` or `r#"…"#`; `None` where `r` begins something else.
fn end_of_raw_string(text: &[u8], at: usize) -> Option<usize> {
    let hashes = text[at + 1..].iter().take_while(|byte| **byte == b'#').count();
    let body = at + 1 + hashes;
    if text.get(body) != Some(&b'"') {
        return None;
    }
    let mut closing = vec![b'"'];
    closing.extend(std::iter::repeat_n(b'#', hashes));
    let found = text[body + 1..].windows(closing.len()).position(|window| window == closing);
    Some(found.map_or(text.len(), |offset| body + 1 + offset + closing.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        let masked = Masked::of(text);
        assert_eq!(masked.code.len(), text.len(), "masking keeps every byte's place");
        assert_eq!(masked.comments.len(), text.len(), "masking keeps every byte's place");
        masked.code.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_and_literals_are_no_code() {
        assert_eq!(code("a // b\nc"), "a c");
        assert_eq!(code("a /* b /* c */ d */ e"), "a e");
        assert_eq!(code(r#"f("x \" y", 1)"#), "f( , 1)");
        assert_eq!(code("f(r#\"x \" y\"#, br\"z\")"), "f( , b )");
        assert_eq!(code("let for_r = 1; let r#type = 2;"), "let for_r = 1; let r#type = 2;");
        assert_eq!(code("a /* no end"), "a");
        assert_eq!(code("a \"no end"), "a");
    }

    #[test]
    fn a_lifetime_is_no_character() {
        assert_eq!(
            code("fn a<'a>(x: &'a str) -> char { 'x' }"),
            "fn a< a>(x: & a str) -> char { }"
        );
        assert_eq!(code(r"['\'', '\\', '\u{1f600}', '{', 'é'] b"), "[ , , , , ] b");
    }

    #[test]
    fn comments_are_kept_apart() {
        let masked = Masked::of("a(); // one \"two\n\"// three\"; /* four */");
        let words: Vec<&str> = masked.comments.split_whitespace().collect();
        assert_eq!(words, ["//", "one", "\"two", "/*", "four", "*/"]);
    }

    #[test]
    fn functions_are_found_with_their_ends() {
        let text = "fn a() {\n    let f: fn(u8) -> u8 = |x| { x };\n}\n\n\
                    trait T {\n    fn b(&self);\n    fn c(&self, x: [u8; 2])\n    where\n\
                    Self: Sized,\n    {\n        \"}\";\n    }\n}\n";
        let found = Masked::of(text).functions();
        let expected = [(1, "a".to_owned(), 3), (7, "c".to_owned(), 12)];
        assert_eq!(found, expected);
    }
}
