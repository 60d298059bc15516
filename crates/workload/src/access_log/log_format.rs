//! How a log is written: a format with a name, or one that is given in the words of the server that
//! wrote it.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use plimsoll_units::{ParseError, nearest};

use super::error::LogError;
use super::format::Format;
use super::input;
use super::lines::Lines;
use super::pattern::Pattern;

/// The format of a log.
#[derive(Debug, Clone, PartialEq)]
pub enum LogFormat {
    /// One that has a name.
    Named(Format),
    /// The words of nginx's `log_format` or of Apache's `LogFormat`.
    Words(Arc<Pattern>),
}

impl LogFormat {
    /// Reads a name such as `combined`, or a format string such as
    /// `$remote_addr - $remote_user [$time_local] "$request" $status` or
    /// `%h %l %u %t "%r" %>s %b`.
    ///
    /// # Errors
    /// A name that no format has, and what is no format string: with its place.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        if text.contains(['$', '%']) {
            return Ok(Self::Words(Arc::new(Pattern::parse(text)?)));
        }
        let names = || Format::ALL.iter().map(|format| format.name());
        if let Some(format) = Format::ALL.into_iter().find(|format| format.name() == text) {
            return Ok(Self::Named(format));
        }
        let names_of_all: Vec<&str> = names().collect();
        let wanted = format!(
            "a log format: {}, or the words of nginx or Apache such as '$remote_addr [$time_local] \
             \"$request\"'",
            names_of_all.join(", ")
        );
        let error = ParseError::new(wanted, text, 0, text.len());
        Err(match nearest(text, names()) {
            Some(near) => error.hint(format!("write {near}")),
            None => error,
        })
    }

    /// The format in which more than half of the first lines of a file, plain or gzip, can be read;
    /// `None` for what is no log, or is packed otherwise.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn of_file(path: &Path) -> Result<Option<Self>, LogError> {
        let input = match input::open(path) {
            Err(LogError::Compression { .. }) => return Ok(None),
            opened => opened?,
        };
        let mut lines = Lines::new(input);
        let origin = || path.display().to_string();
        let sample = lines.sample().map_err(|source| LogError::Read {
            origin: origin(),
            line: 0,
            source,
        })?;
        Ok(Format::of_text(sample).map(Self::Named))
    }

    /// The format with this name; `None` for one in a server's words.
    #[must_use]
    pub fn named(&self) -> Option<Format> {
        match self {
            Self::Named(format) => Some(*format),
            Self::Words(_) => None,
        }
    }
}

impl From<Format> for LogFormat {
    fn from(format: Format) -> Self {
        Self::Named(format)
    }
}

impl fmt::Display for LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(format) => f.write_str(format.name()),
            Self::Words(pattern) => f.write_str(pattern.text()),
        }
    }
}

impl std::str::FromStr for LogFormat {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_words_read_back() {
        for format in Format::ALL {
            let of_name = LogFormat::parse(format.name()).expect("a name");
            assert_eq!(of_name, LogFormat::Named(format));
            assert_eq!(of_name.to_string(), format.name());
        }
        let text = r#"%h %l %u %t "%r" %>s %b"#;
        assert_eq!(LogFormat::parse(text).expect("words").to_string(), text);
        let error = LogFormat::parse("comon").expect_err("no name");
        assert_eq!(error.hint.as_deref(), Some("write common"));
        assert!(error.wanted.contains("wikibench") && error.wanted.contains("$remote_addr"));
    }
}
