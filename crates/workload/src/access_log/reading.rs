//! One pass over a log, line by line: what import and replay have in common.

use super::entry::{Entry, Why};
use super::error::LogError;
use super::foreign;
use super::format::{Format, Parser};
use super::input::Input;
use super::lines::{Line, Lines, Taken};
use super::log_format::LogFormat;
use super::seconds::MAX_SPAN_S;
use super::wrapper::{self, Wrapper};

use plimsoll_units::show_count;

/// A log whose format is known.
pub(super) struct Log<'a> {
    origin: String,
    lines: Lines<Input<'a>>,
    /// What its lines are wrapped in, and room for what is within the present one.
    wrapper: Wrapper,
    within: Vec<u8>,
    parser: Parser,
    /// The middle of the times of the first lines: what is far from it is not believed.
    middle: i64,
    /// A line that was taken before it was asked for.
    taken: Option<Taken>,
    /// The time of the last line that has one: its second and nanoseconds.
    time: (i64, u32),
}

/// What a line turned out to be.
pub(super) enum Step<'a> {
    /// Nothing, or a line that says how others are to be read.
    Empty,
    /// A request, and the line it stands in.
    Request(Entry<'a>, &'a [u8]),
    Unreadable(Why, &'a [u8]),
}

impl<'a> Log<'a> {
    /// Tells the format from the first lines, unless it is given.
    pub(super) fn start(
        input: Input<'a>,
        origin: &str,
        format: Option<&LogFormat>,
    ) -> Result<Self, LogError> {
        let failed = |source| LogError::Read { origin: origin.to_owned(), line: 0, source };
        let mut lines = Lines::new(input);
        let is_empty = lines.sample().map_err(failed)?.is_empty();
        if is_empty && let Some(damage) = lines.get_ref().damage() {
            let source = std::io::Error::new(damage.kind(), damage.to_string());
            return Err(failed(source));
        }
        let sample = lines.sample().map_err(failed)?;
        let mut raw = sample.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
        let Some(shown) = raw.find(|line| !line.is_empty()) else {
            return Err(LogError::Empty { origin: origin.to_owned() });
        };
        let (wrapper, within) = wrapper::sample(sample);
        let first = || within.iter().map(Vec::as_slice);
        let unknown = || LogError::Format {
            origin: origin.to_owned(),
            wanted: wanted(format),
            found: excerpt(shown, EXCERPT_BYTES),
            named: foreign::named(&first()),
        };
        let told = || Format::of_sample(&first()).map(LogFormat::Named);
        let mut parser = Parser::new(&format.cloned().or_else(told).ok_or_else(unknown)?);
        let mut times: Vec<i64> = Vec::new();
        for line in first() {
            if !parser.is_directive(line) {
                times.extend(parser.parse(line).ok().map(|entry| entry.moment.second));
            }
        }
        times.sort_unstable();
        let Some(&middle) = times.get(times.len() / 2) else { return Err(unknown()) };
        let (taken, time) = (None, (i64::MIN, 0));
        let (origin, within) = (origin.to_owned(), Vec::new());
        Ok(Self { origin, lines, wrapper, within, parser, middle, taken, time })
    }

    pub(super) fn format(&self) -> &LogFormat {
        self.parser.format()
    }

    /// What messages call it.
    pub(super) fn origin(&self) -> &str {
        &self.origin
    }

    /// The number of the line given last, from 1.
    pub(super) fn line(&self) -> u64 {
        self.lines.number()
    }

    /// The time of the next line, which is taken for it, or of the last one before that has one;
    /// `None` at the end.
    pub(super) fn ahead(&mut self) -> Result<Option<(i64, u32)>, LogError> {
        if self.taken.is_none() {
            self.taken = self.take()?;
            let Some(taken) = &self.taken else { return Ok(None) };
            if let Line::Text(text) = self.lines.line(taken)
                && let Ok(text) = self.wrapper.unwrap(text, &mut self.within)
                && !self.parser.is_directive(text)
                && let Ok(entry) = self.parser.parse(text)
                && is_near(entry.moment.second, self.middle)
            {
                self.time = (entry.moment.second, entry.moment.nanos.unwrap_or_default());
            }
        }
        Ok(Some(self.time))
    }

    fn take(&mut self) -> Result<Option<Taken>, LogError> {
        let line = self.lines.number();
        let failed = |source| LogError::Read { origin: self.origin.clone(), line, source };
        self.lines.take().map_err(failed)
    }

    /// What of a compressed log could not be read, once its end is reached: a sentence, or none.
    pub(super) fn damage(&self) -> Option<String> {
        let (input, lines) = (self.lines.get_ref(), self.lines.number());
        if let Some(damage) = input.damage() {
            return Some(format!(
                "the compressed data breaks off in line {}: {damage}; what follows is not read",
                show_count(lines)
            ));
        }
        let over = input.passed_over();
        (over > 0).then(|| {
            format!("{} bytes behind the compressed data are passed over", show_count(over))
        })
    }

    /// The next line; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Step<'_>>, LogError> {
        let taken = match self.taken.take() {
            Some(taken) => Some(taken),
            None => self.take()?,
        };
        let Some(taken) = taken else { return Ok(None) };
        // A line that was torn off may read as a whole one, with another URL.
        let is_torn = !taken.is_whole && self.lines.get_ref().damage().is_some();
        let text = match self.lines.line(&taken) {
            Line::Text(text) if is_torn => {
                return Ok(Some(Step::Unreadable("cut off by the end of the data", text)));
            }
            Line::Text(text) => text,
            Line::TooLong(start) => {
                return Ok(Some(Step::Unreadable("longer than 65536 bytes", start)));
            }
        };
        let text = match self.wrapper.unwrap(text, &mut self.within) {
            Ok(within) => within,
            Err(_) if text.is_empty() => return Ok(Some(Step::Empty)),
            Err(why) => return Ok(Some(Step::Unreadable(why, text))),
        };
        if text.is_empty() || self.parser.is_directive(text) {
            return Ok(Some(Step::Empty));
        }
        Ok(Some(match self.parser.parse(text) {
            Ok(entry) if is_near(entry.moment.second, self.middle) => Step::Request(entry, text),
            Ok(_) => Step::Unreadable("a time years away from that of the first lines", text),
            Err(why) => Step::Unreadable(why, text),
        }))
    }
}

/// What is asked for of a log.
fn wanted(format: Option<&LogFormat>) -> String {
    match format {
        None => "an access log".to_owned(),
        Some(format @ LogFormat::Named(_)) => format!("format {format}"),
        Some(format @ LogFormat::Words(_)) => format!("lines of the format `{format}`"),
    }
}

/// Whether a time is to be believed, beside the middle of those of the first lines.
fn is_near(second: i64, middle: i64) -> bool {
    (second - middle).abs() <= MAX_SPAN_S / 2
}

/// How much of a line is shown, in bytes.
pub(super) const EXCERPT_BYTES: usize = 200;

/// The first bytes of a line, so many at most, what is not printable escaped; an ellipsis where
/// there are more.
#[must_use]
pub fn excerpt(line: &[u8], most: usize) -> String {
    let cut = &line[..line.len().min(most)];
    let mut shown = String::new();
    for chunk in cut.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control() {
                shown.extend(c.escape_default());
            } else {
                shown.push(c);
            }
        }
        for byte in chunk.invalid() {
            shown.extend(std::ascii::escape_default(*byte).map(char::from));
        }
    }
    if cut.len() < line.len() {
        shown.push('…');
    }
    shown
}
