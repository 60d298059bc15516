//! One pass over a log, line by line: what import and replay have in common.

use super::entry::{Entry, Why};
use super::error::LogError;
use super::foreign;
use super::format::{Format, Parser, SAMPLE_LINES};
use super::input::Input;
use super::lines::{Line, Lines};
use super::seconds::MAX_SPAN_S;

use plimsoll_units::show_count;

/// A log whose format is known.
pub(super) struct Log<'a> {
    origin: String,
    lines: Lines<Input<'a>>,
    parser: Parser,
    /// The middle of the times of the first lines: what is far from it is not believed.
    middle: i64,
}

/// What a line turned out to be.
pub(super) enum Step<'a> {
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
        format: Option<Format>,
    ) -> Result<Self, LogError> {
        let failed = |source| LogError::Read { origin: origin.to_owned(), line: 0, source };
        let mut lines = Lines::new(input);
        let is_empty = lines.sample().map_err(failed)?.is_empty();
        if is_empty && let Some(damage) = lines.get_ref().damage() {
            let source = std::io::Error::new(damage.kind(), damage.to_string());
            return Err(failed(source));
        }
        let sample = lines.sample().map_err(failed)?;
        let first = || sample.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
        let first = || first().filter(|line| !line.is_empty()).take(SAMPLE_LINES);
        let Some(shown) = first().next() else {
            return Err(LogError::Empty { origin: origin.to_owned() });
        };
        let unknown = || LogError::Format {
            origin: origin.to_owned(),
            wanted: format.map_or("an access log".to_owned(), |format| format!("format {format}")),
            found: excerpt(shown, EXCERPT_BYTES),
            named: foreign::named(&first()),
        };
        let format = format.or_else(|| Format::of_sample(&first())).ok_or_else(unknown)?;
        let mut parser = Parser::new(format);
        let mut times: Vec<i64> = first()
            .filter_map(|line| parser.parse(line).ok().map(|entry| entry.moment.second))
            .collect();
        times.sort_unstable();
        let Some(&middle) = times.get(times.len() / 2) else { return Err(unknown()) };
        Ok(Self { origin: origin.to_owned(), lines, parser, middle })
    }

    pub(super) fn format(&self) -> Format {
        self.parser.format()
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
        let line = self.lines.number();
        let taken = match self.lines.take() {
            Ok(Some(taken)) => taken,
            Ok(None) => return Ok(None),
            Err(source) => {
                return Err(LogError::Read { origin: self.origin.clone(), line, source });
            }
        };
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
        if text.is_empty() {
            return Ok(Some(Step::Empty));
        }
        Ok(Some(match self.parser.parse(text) {
            Ok(entry) if (entry.moment.second - self.middle).abs() <= MAX_SPAN_S / 2 => {
                Step::Request(entry, text)
            }
            Ok(_) => Step::Unreadable("a time years away from that of the first lines", text),
            Err(why) => Step::Unreadable(why, text),
        }))
    }
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
