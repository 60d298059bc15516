//! What is wrong with a text a user typed: wanted, found, where, and what to do.

use std::fmt;

/// The longest excerpt of the text that an error keeps, in characters.
const MAX_EXCERPT: usize = 60;
/// The longest hint; only one that repeats a very long text comes near.
const MAX_HINT: usize = 500;

/// A text, or a part of one, that could not be read.
///
/// `at` and `len` are bytes of the text that was given to the parser, so that a caller can point at
/// the offending part; they always lie within it. The hint is not part of the `Display` text: the
/// command line prints it on a line of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// What would have been accepted, as a noun: `a rate such as 500/s`.
    pub wanted: String,
    /// The offending part, cut to a short excerpt; empty where the text ended too soon.
    pub found: String,
    /// Where the offending part starts, in bytes.
    pub at: usize,
    /// How long it is, in bytes; 0 where the text ended too soon.
    pub len: usize,
    /// What to do about it.
    pub hint: Option<String>,
}

impl ParseError {
    /// An error about the `len` bytes at `at`, which read `found`.
    #[must_use]
    pub fn new(wanted: impl Into<String>, found: &str, at: usize, len: usize) -> Self {
        Self { wanted: wanted.into(), found: excerpt(found, MAX_EXCERPT), at, len, hint: None }
    }

    /// The same error with advice, cut where it is longer than anybody reads.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(excerpt(&hint.into(), MAX_HINT));
        self
    }

    /// The same error in a longer text, of which the part parsed starts `by` bytes later.
    #[must_use]
    pub fn shifted(mut self, by: usize) -> Self {
        self.at += by;
        self
    }
}

/// The first characters of a text, with control characters made visible.
fn excerpt(text: &str, most: usize) -> String {
    let mut short = String::new();
    for (n, c) in text.chars().enumerate() {
        if n == most {
            short.push('…');
            break;
        }
        if c.is_control() {
            short.extend(c.escape_default());
        } else {
            short.push(c);
        }
    }
    short
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.found.is_empty() {
            write!(f, "expected {}, found nothing", self.wanted)
        } else {
            write!(f, "expected {}, found `{}`", self.wanted, self.found)
        }
    }
}

impl std::error::Error for ParseError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_was_wanted_and_found_and_shifts() {
        let error = ParseError::new("a rate", "5", 0, 1).hint("write 5/s").shifted(7);
        assert_eq!(error.to_string(), "expected a rate, found `5`");
        assert_eq!((error.at, error.len, error.hint.as_deref()), (7, 1, Some("write 5/s")));
        assert_eq!(
            ParseError::new("a rate", "", 3, 0).to_string(),
            "expected a rate, found nothing"
        );
    }

    #[test]
    fn keeps_a_short_printable_excerpt_of_any_text() {
        let error = ParseError::new("x", &"é\n".repeat(10_000), 0, 1).hint("y".repeat(10_000));
        assert!(error.found.len() < 4 * MAX_EXCERPT);
        assert!(error.hint.unwrap().chars().count() == MAX_HINT + 1);
        assert!(error.found.starts_with("é\\n") && error.found.ends_with('…'));
    }
}
