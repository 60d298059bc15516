//! Subjects: whose requests a figure or a clause is about, as it is written before a colon.
//!
//! | written | the requests of |
//! | --- | --- |
//! | `checkout: p99` | a name |
//! | `@eu: p99` | the users of a label |
//! | `checkout@eu: p99` | a name, by the users of a label |
//!
//! A name or a label with a comma, a colon, an `@` or a quote is put in quotes, single or double,
//! in which a quote is doubled.

use std::fmt;

use plimsoll_units::ParseError;

/// Whose requests: at least one of the two is there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject {
    /// What the requests are called; `None` where it is all requests of a label.
    pub name: Option<String>,
    /// The label of the users who made them; `None` where it is those of all users.
    pub label: Option<String>,
}

impl Subject {
    /// Reads the subject that a text begins with, and where what is behind its colon begins;
    /// `None` where the text begins with none.
    ///
    /// # Errors
    /// Quotes that do not close, an empty name or label, a second `@`, or no colon behind quotes.
    pub fn split(text: &str) -> Result<Option<(Self, usize)>, ParseError> {
        let start = text.len() - text.trim_start().len();
        let colon = text.rfind(':');
        if colon.is_none() && !text[start..].starts_with(['\'', '"']) {
            return Ok(None);
        }
        let colon = colon.unwrap_or(text.len());
        let (name, at) = match text[start..].starts_with('@') {
            true => (None, start),
            false => part(text, start, colon).map(|(name, at)| (Some(name), at))?,
        };
        let (label, at) = match text[at..].starts_with('@') {
            true => part(text, at + 1, colon).map(|(label, at)| (Some(label), at))?,
            false => (None, at),
        };
        let rest = &text[at..];
        if rest.starts_with(':') {
            return Ok(Some((Self { name, label }, at + 1)));
        }
        let error = ParseError::new("a colon behind the name", rest, at, rest.len());
        Err(error.hint("write NAME: FIGURE, NAME@LABEL: FIGURE or @LABEL: FIGURE"))
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            f.write_str(&written(name))?;
        }
        match &self.label {
            Some(label) => write!(f, "@{}", written(label)),
            None => Ok(()),
        }
    }
}

/// A name as it is written before a colon.
fn written(name: &str) -> String {
    let is_plain = !name.contains([',', ':', '@', '\'', '"']) && name.trim() == name;
    if is_plain { name.to_owned() } else { format!("'{}'", name.replace('\'', "''")) }
}

/// Reads a name or a label that begins there, in quotes or up to an `@` or the last colon. Returns
/// where the next sign after it is.
fn part(text: &str, at: usize, colon: usize) -> Result<(String, usize), ParseError> {
    let blanks = |at: usize| at + (text[at..].len() - text[at..].trim_start().len());
    let at = blanks(at);
    if text[at..].starts_with(['\'', '"']) {
        let (name, end) = quoted(&text[at..]).ok_or_else(|| {
            ParseError::new("a closing quote", text, at, text.len() - at)
                .hint("a quote within quotes is doubled")
        })?;
        return some(name, at, at + end).map(|name| (name, blanks(at + end)));
    }
    let end = text[at..].find('@').map_or(colon, |sign| colon.min(at + sign)).max(at);
    some(text[at..end].trim().to_owned(), at, end).map(|name| (name, end))
}

fn some(name: String, from: usize, to: usize) -> Result<String, ParseError> {
    if !name.is_empty() {
        return Ok(name);
    }
    Err(ParseError::new("a name before the colon", "", from, to.saturating_sub(from)))
}

/// The name in quotes that a text begins with, and where they end.
fn quoted(text: &str) -> Option<(String, usize)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let mut name = String::new();
    let mut chars = text[1..].char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c != quote {
            name.push(c);
        } else if chars.next_if(|(_, next)| *next == quote).is_some() {
            name.push(quote);
        } else {
            return Some((name, 1 + at + 1));
        }
    }
    None
}

/// The parts of a text between its commas, but for those within the quotes of a subject.
pub fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let part = rest?;
        let end = comma(part);
        rest = end.map(|end| &part[end + 1..]);
        Some(end.map_or(part, |end| &part[..end]))
    })
}

/// Where the first comma is that is not within the quotes of a subject.
fn comma(text: &str) -> Option<usize> {
    let (mut open, mut closed, mut before) = (None, None, None);
    for (at, c) in text.char_indices() {
        match open {
            Some(quote) if c == quote => (open, closed) = (None, Some((at + 1, quote))),
            Some(_) => {}
            None if c == ',' => return Some(at),
            None => {
                let begins = matches!(before, None | Some('@')) || closed == Some((at, c));
                open = Some(c).filter(|c| begins && matches!(c, '\'' | '"'));
            }
        }
        before = if c.is_whitespace() { before } else { Some(c) };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(name: &str, label: &str) -> Subject {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Subject { name: some(name), label: some(label) }
    }

    #[test]
    fn names_and_labels_are_read_as_they_are_written() {
        for (text, name, label, rest, written) in [
            ("checkout: p99", "checkout", "", " p99", "checkout"),
            (" log in : p99", "log in", "", " p99", "log in"),
            ("@eu: p50", "", "eu", " p50", "@eu"),
            ("predict@eu:p50", "predict", "eu", "p50", "predict@eu"),
            ("predict @ eu : p50", "predict", "eu", " p50", "predict@eu"),
            ("'a,b'@\"x@y: z\": p50", "a,b", "x@y: z", " p50", "'a,b'@'x@y: z'"),
            ("home@'a''b': p50", "home", "a'b", " p50", "home@'a''b'"),
            ("/a?b=1:2: p50", "/a?b=1:2", "", " p50", "'/a?b=1:2'"),
        ] {
            let (read, at) = Subject::split(text).unwrap().unwrap();
            assert_eq!((&read, &text[at..]), (&subject(name, label), rest), "{text}");
            assert_eq!(read.to_string(), written);
            let again = format!("{read}: p50");
            assert_eq!(Subject::split(&again).unwrap().unwrap().0, read, "{again}");
        }
        for text in ["p99", "response_us.p99", "", "host.cpu", "a@b"] {
            assert_eq!(Subject::split(text).unwrap(), None, "{text}");
        }
    }

    #[test]
    fn what_is_no_subject_is_refused_where_it_stands() {
        for (text, wanted) in [
            (": p99", "a name"),
            ("@: p99", "a name"),
            ("a@: p99", "a name"),
            ("'a: p99", "a closing quote"),
            ("a@'b: p99", "a closing quote"),
            ("'a' p99", "a colon"),
            ("a@b@c: p99", "a colon"),
            ("''", "a name"),
        ] {
            let error = Subject::split(text).unwrap_err().to_string();
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }

    #[test]
    fn commas_within_quotes_do_not_end_a_clause() {
        for (text, before) in [
            ("'a,b': p99<1s, x", "'a,b': p99<1s"),
            (" 'a,b'@'c,d': p99<1s,", " 'a,b'@'c,d': p99<1s"),
            ("@ 'c,''d': p99<1s,", "@ 'c,''d': p99<1s"),
            ("home@\"c,'d\": p99<1s,'e,f': a", "home@\"c,'d\": p99<1s"),
            ("it's: p99<1s, 'a': b", "it's: p99<1s"),
        ] {
            assert_eq!(comma(text), Some(before.len()), "{text}");
        }
        assert_eq!(comma("p99<1s"), None);
        assert_eq!(comma("'a,b"), None);
    }
}
