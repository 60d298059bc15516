//! The formats with a name, how one is told from another, and the parser of each.

use std::fmt;

use plimsoll_units::Words;

use super::date::LastDate;
use super::entry::{Entry, Why};
use super::log_format::LogFormat;
use super::{alb, clf, haproxy, json, squid, w3c, wikibench, wrapper};

/// A format that has a name.
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
    /// The W3C's Extended Log File Format: IIS, CloudFront.
    W3c,
    /// HAProxy's log of HTTP requests.
    Haproxy,
    /// The log of AWS's balancers.
    Alb,
    /// A trace of WikiBench.
    Wikibench,
}

impl Words for Format {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("common", Self::Common),
        ("combined", Self::Combined),
        ("squid", Self::Squid),
        ("json", Self::Json),
        ("w3c", Self::W3c),
        ("haproxy", Self::Haproxy),
        ("alb", Self::Alb),
        ("wikibench", Self::Wikibench),
    ];
}

/// How many lines are looked at to tell the format.
pub(super) const SAMPLE_LINES: usize = 100;

impl Format {
    /// All formats.
    pub const ALL: [Self; 8] = [
        Self::Common,
        Self::Combined,
        Self::Squid,
        Self::Json,
        Self::W3c,
        Self::Haproxy,
        Self::Alb,
        Self::Wikibench,
    ];

    /// Those that are told from one another by lines that can be read: of equals, the first.
    const TOLD: [Self; 7] = [
        Self::Common,
        Self::Squid,
        Self::Json,
        Self::W3c,
        Self::Haproxy,
        Self::Alb,
        Self::Wikibench,
    ];

    /// Its name, as `--format` takes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.word()
    }

    /// The format in which more than half of the first lines of a text can be read.
    #[must_use]
    pub fn of_text(text: &[u8]) -> Option<Self> {
        let (_, sample) = wrapper::sample(text);
        let lines = sample.iter().map(Vec::as_slice);
        let format = Self::of_sample(&lines)?;
        let readable = Parser::new(&format.into()).readable(lines.clone());
        (readable * 2 > lines.count()).then_some(format)
    }

    /// The format in which most of these lines can be read; `None` where none can.
    pub(super) fn of_sample<'a>(lines: &(impl Iterator<Item = &'a [u8]> + Clone)) -> Option<Self> {
        let mut best = (0, None);
        for format in Self::TOLD {
            let count = Parser::new(&format.into()).readable(lines.clone());
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

/// Reads the lines of one log.
pub(super) struct Parser {
    format: LogFormat,
    last: LastDate,
    json: json::Scratch,
    directives: w3c::Directives,
    target: Vec<u8>,
}

impl Parser {
    pub(super) fn new(format: &LogFormat) -> Self {
        Self {
            format: format.clone(),
            last: LastDate::new(),
            json: json::Scratch::default(),
            directives: w3c::Directives::default(),
            target: Vec::new(),
        }
    }

    pub(super) fn format(&self) -> &LogFormat {
        &self.format
    }

    /// Takes in a line that says how those below it are to be read; `false` for what is none.
    #[inline]
    pub(super) fn is_directive(&mut self, line: &[u8]) -> bool {
        matches!(self.format, LogFormat::Named(Format::W3c)) && self.directives.take(line)
    }

    #[inline]
    pub(super) fn parse<'a>(&'a mut self, line: &'a [u8]) -> Result<Entry<'a>, Why> {
        let format = match &self.format {
            LogFormat::Named(format) => *format,
            LogFormat::Words(pattern) => {
                return pattern.read(line, &mut self.last, &mut self.target);
            }
        };
        match format {
            Format::Common | Format::Combined => clf::parse(line, &mut self.last),
            Format::Squid => squid::parse(line),
            Format::Json => json::parse(line, &mut self.json),
            Format::W3c => self.directives.parse(line),
            Format::Haproxy => haproxy::parse(line),
            Format::Alb => alb::parse(line),
            Format::Wikibench => wikibench::parse(line),
        }
    }

    /// How many of these lines can be read.
    fn readable<'a>(&mut self, lines: impl Iterator<Item = &'a [u8]>) -> usize {
        lines.filter(|line| !self.is_directive(line) && self.parse(line).is_ok()).count()
    }
}
