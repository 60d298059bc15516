//! The formats, how one is told from another, and the parser of each.

use std::fmt;

use plimsoll_units::{ParseError, Words};

use super::date::LastDate;
use super::entry::{Entry, Why};
use super::{clf, json, squid};

/// The format of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Common Log Format.
    Common,
    /// Common Log Format with referrer and user agent.
    Combined,
    /// Squid's native format.
    Squid,
    /// One JSON object a line.
    Json,
}

impl Words for Format {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("common", Self::Common),
        ("combined", Self::Combined),
        ("squid", Self::Squid),
        ("json", Self::Json),
    ];
}

/// How many lines are looked at to tell the format.
pub(super) const SAMPLE_LINES: usize = 100;

impl Format {
    /// All formats.
    pub const ALL: [Self; 4] = [Self::Common, Self::Combined, Self::Squid, Self::Json];

    /// Its name, as `--format` takes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.word()
    }

    /// The format in which more than half of the first lines of a text can be read.
    #[must_use]
    pub fn of_text(text: &[u8]) -> Option<Self> {
        let lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
        let lines = lines.filter(|line| !line.is_empty()).take(SAMPLE_LINES);
        let format = Self::of_sample(&lines)?;
        let mut parser = Parser::new(format);
        let readable = lines.clone().filter(|line| parser.parse(line).is_ok()).count();
        (readable * 2 > lines.count()).then_some(format)
    }

    /// The format in which most of these lines can be read; `None` where none can.
    pub(super) fn of_sample<'a>(lines: &(impl Iterator<Item = &'a [u8]> + Clone)) -> Option<Self> {
        let readable = |format| {
            let mut parser = Parser::new(format);
            lines.clone().filter(|line| parser.parse(line).is_ok()).count()
        };
        let mut best = (0, None);
        for format in [Self::Common, Self::Squid, Self::Json] {
            let count = readable(format);
            if count > best.0 {
                best = (count, Some(format));
            }
        }
        let combined = lines.clone().filter(|line| clf::is_combined(line)).count();
        match best {
            (count, Some(Self::Common)) if combined * 2 > count => Some(Self::Combined),
            (_, format) => format,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Format {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        if let Some(format) = Self::ALL.into_iter().find(|format| format.name() == text) {
            return Ok(format);
        }
        let wanted = "a log format: common, combined, squid or json";
        let error = ParseError::new(wanted, text, 0, text.len());
        Err(match plimsoll_units::nearest(text, Self::ALL.iter().map(|format| format.name())) {
            Some(near) => error.hint(format!("write {near}")),
            None => error,
        })
    }
}

/// Reads the lines of one log.
pub(super) struct Parser {
    format: Format,
    last: LastDate,
    scratch: json::Scratch,
}

impl Parser {
    pub(super) fn new(format: Format) -> Self {
        Self { format, last: LastDate::new(), scratch: json::Scratch::default() }
    }

    pub(super) fn format(&self) -> Format {
        self.format
    }

    #[inline]
    pub(super) fn parse<'a>(&'a mut self, line: &'a [u8]) -> Result<Entry<'a>, Why> {
        match self.format {
            Format::Common | Format::Combined => clf::parse(line, &mut self.last),
            Format::Squid => squid::parse(line),
            Format::Json => json::parse(line, &mut self.scratch),
        }
    }
}
