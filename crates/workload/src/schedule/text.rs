//! The text of a schedule, as a person writes it:
//!
//! | text | means |
//! | --- | --- |
//! | `500/s for 30s` | one rate |
//! | `100/s..600/s in 10m` | in a straight line |
//! | `1/s..1k/s in 10m exp` | by equal factors in equal times |
//! | `1/s..30/s step 1/s every 2m` | a stair; its last level is the bound itself, and as long |
//! | `30/s..1/s step -1/s every 2m` | a stair downwards |
//!
//! joined by commas. Every error points at the place.

use std::fmt;
use std::str::FromStr;

use plimsoll_units::{ParseError, duration, rate, show_duration_exact, show_rate_exact};

use super::{
    LEAST_EXPONENTIAL_RATE, MAX_DURATION_NS, MAX_PIECES, MAX_RATE, Piece, Schedule, Shape,
};

const WANTED: &str = "`RATE for DURATION`, `RATE..RATE in DURATION`, `RATE..RATE in DURATION exp` \
                      or `RATE..RATE step RATE every DURATION`";
const HINT: &str = "for example 500/s for 30s, or 100/s..600/s in 10m";
const KEYWORDS: [&str; 5] = ["for", "in", "exp", "step", "every"];

impl Schedule {
    /// Reads the text of a schedule; the grammar is in the module's table, `RATE` and `DURATION`
    /// are those of `plimsoll_units`.
    ///
    /// # Errors
    /// What was wanted, what was found and where: a number without a unit, a duration of zero, an
    /// exponential ramp from or to zero, a step of zero or in the wrong direction, too much of
    /// anything.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut pieces = Vec::new();
        let mut duration_ns = 0_u64;
        let mut at = 0;
        for part in text.split(',') {
            let part = Part { text: part, at };
            at += part.text.len() + 1;
            let before = pieces.len();
            read_piece(part, &mut pieces)?;
            // Each duration is at most the bound, and so is the number of pieces: no overflow.
            for piece in &pieces[before..] {
                duration_ns += piece.duration_ns;
                if duration_ns > MAX_DURATION_NS {
                    return Err(part
                        .wrong("a schedule of at most ten years")
                        .hint("shorten it: this part ends later than that"));
                }
            }
        }
        Self::from_pieces(pieces)
            .map_err(|error| ParseError::new(error.to_string(), text, 0, text.len()))
    }
}

/// A part of the text, and where in it the part starts.
#[derive(Clone, Copy, Debug)]
struct Part<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Part<'a> {
    /// The same part without blanks at its ends.
    fn trimmed(self) -> Self {
        let start = self.text.trim_start();
        Part { text: start.trim_end(), at: self.at + self.text.len() - start.len() }
    }

    fn wrong(self, wanted: impl Into<String>) -> ParseError {
        let Part { text, at } = self.trimmed();
        ParseError::new(wanted, text, at, text.len())
    }

    fn rate(self) -> Result<f64, ParseError> {
        let value = rate(self.text).map_err(|error| error.shifted(self.at))?;
        if value > MAX_RATE {
            return Err(self.wrong("a rate of at most 1,000,000,000/s").hint("lower the rate"));
        }
        Ok(value)
    }

    fn duration_ns(self) -> Result<u64, ParseError> {
        let value = duration(self.text).map_err(|error| error.shifted(self.at))?;
        match u64::try_from(value.as_nanos()) {
            Ok(0) => Err(self.wrong("a duration above zero").hint("give it some time, or omit it")),
            Ok(ns) if ns <= MAX_DURATION_NS => Ok(ns),
            _ => Err(self.wrong("a duration of at most ten years").hint("shorten it")),
        }
    }

    /// `RATE..RATE`.
    fn range(self) -> Result<(Part<'a>, Part<'a>), ParseError> {
        let (low, high) = self.text.split_once("..").ok_or_else(|| {
            self.wrong("a range of rates such as 100/s..600/s")
                .hint("a single rate is held with `for`: 500/s for 30s")
        })?;
        let at = self.at + low.len() + 2;
        Ok((Part { text: low, at: self.at }, Part { text: high, at }))
    }
}

/// Splits `A for B` into `A` and the keywords, each with what follows it.
fn split_at_keywords(part: Part<'_>) -> (Part<'_>, Vec<(&'static str, Part<'_>)>) {
    let text = part.text;
    let mut head = text;
    let mut found: Vec<(&'static str, Part<'_>)> = Vec::new();
    let mut at = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        let start = at;
        at += word.len();
        let Some(keyword) = KEYWORDS.into_iter().find(|known| *known == word.trim_end()) else {
            continue;
        };
        match found.last_mut() {
            Some((_, last)) => last.text = &text[last.at - part.at..start],
            None => head = &text[..start],
        }
        let after = start + keyword.len();
        found.push((keyword, Part { text: &text[after..], at: part.at + after }));
    }
    (Part { text: head, at: part.at }, found)
}

fn read_piece(part: Part<'_>, pieces: &mut Vec<Piece>) -> Result<(), ParseError> {
    let (head, found) = split_at_keywords(part);
    if head.text.trim().is_empty() {
        return Err(part.wrong(WANTED).hint(HINT));
    }
    let shape = match found.as_slice() {
        [("for", length)] => {
            if head.text.contains("..") {
                return Err(head
                    .wrong("a single rate before `for`")
                    .hint("between two rates write `in DURATION` or `step RATE every DURATION`"));
            }
            (Shape::Constant { rate: head.rate()? }, length.duration_ns()?)
        }
        [("in", length)] => {
            let (from, to) = head.range()?;
            (Shape::Linear { from: from.rate()?, to: to.rate()? }, length.duration_ns()?)
        }
        [("in", length), ("exp", rest)] => {
            if !rest.text.trim().is_empty() {
                return Err(rest.wrong("nothing after `exp`").hint("pieces are joined by commas"));
            }
            let (from, to) = head.range()?;
            let from = exponential_rate(from)?;
            (Shape::Exponential { from, to: exponential_rate(to)? }, length.duration_ns()?)
        }
        [("step", step), ("every", length)] => {
            return read_stair(head, *step, *length, part, pieces);
        }
        _ => return Err(incomplete(part, head, &found)),
    };
    room_for(1, part, pieces)?;
    pieces.push(Piece { shape: shape.0, duration_ns: shape.1 });
    Ok(())
}

/// A piece that is none of the four forms: says so after what is wrong in the part that is there.
fn incomplete(part: Part<'_>, head: Part<'_>, found: &[(&str, Part<'_>)]) -> ParseError {
    let rates = match head.range() {
        Ok((from, to)) => from.rate().and(to.rate()),
        Err(_) => head.rate(),
    };
    if let Err(error) = rates {
        return error;
    }
    let end = part.trimmed();
    let end_at = end.at + end.text.len();
    let missing = |wanted: &str| ParseError::new(wanted, "", end_at, 0).hint(HINT);
    match found {
        [] if head.text.contains("..") => missing("`in DURATION` or `step RATE every DURATION`"),
        [] => missing("`for DURATION`"),
        [("step", _)] => missing("`every DURATION`"),
        _ => part.wrong(WANTED).hint(HINT),
    }
}

fn exponential_rate(part: Part<'_>) -> Result<f64, ParseError> {
    let value = part.rate()?;
    if value < LEAST_EXPONENTIAL_RATE {
        return Err(part
            .wrong("a rate above zero at both ends of an exponential ramp")
            .hint("start from a small rate such as 1/s, or leave out `exp`"));
    }
    Ok(value)
}

fn room_for(more: usize, part: Part<'_>, pieces: &[Piece]) -> Result<(), ParseError> {
    if more > MAX_PIECES - pieces.len() {
        return Err(part
            .wrong(format!("a schedule of at most {MAX_PIECES} pieces"))
            .hint("take larger steps"));
    }
    Ok(())
}

/// `RATE..RATE step RATE every DURATION`.
fn read_stair(
    head: Part<'_>,
    step: Part<'_>,
    length: Part<'_>,
    part: Part<'_>,
    pieces: &mut Vec<Piece>,
) -> Result<(), ParseError> {
    let (from, to) = head.range()?;
    let (from, to) = (from.rate()?, to.rate()?);
    let step_part = step.trimmed();
    let (downwards, size) = match step_part.text.strip_prefix('-') {
        Some(text) => (true, Part { text, at: step_part.at + 1 }),
        None => (false, step_part),
    };
    let size = size.rate()?;
    if size <= 0.0 {
        return Err(step_part.wrong("a step other than zero").hint("such as `step 1/s`"));
    }
    let shown = show_rate_exact(size);
    if to < from && !downwards {
        return Err(step_part
            .wrong("a step downwards, from the first rate to the second")
            .hint(format!("write `step -{shown}`")));
    }
    if to > from && downwards {
        return Err(step_part
            .wrong("a step upwards, from the first rate to the second")
            .hint(format!("write `step {shown}`")));
    }
    let duration_ns = length.duration_ns()?;
    // A last step within a billionth of the bound is the bound: 0.1/s..0.3/s step 0.1/s.
    let steps = ((to - from).abs() / size - 1e-9).ceil().max(0.0);
    if steps >= MAX_PIECES as f64 {
        return room_for(usize::MAX, part, pieces);
    }
    #[expect(clippy::cast_possible_truncation, reason = "below MAX_PIECES")]
    let steps = steps as usize;
    room_for(steps + 1, part, pieces)?;
    let towards = if downwards { -size } else { size };
    let levels = (0..steps).map(|n| from + n as f64 * towards).chain([to]);
    pieces.extend(levels.map(|rate| Piece { shape: Shape::Constant { rate }, duration_ns }));
    Ok(())
}

impl FromStr for Schedule {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text)
    }
}

/// The text that [`Schedule::parse`] reads back to the same schedule.
impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, piece) in self.pieces().enumerate() {
            let length = show_duration_exact(piece.duration_ns);
            if n > 0 {
                f.write_str(", ")?;
            }
            match piece.shape {
                Shape::Constant { rate } => write!(f, "{} for {length}", show_rate_exact(rate))?,
                Shape::Linear { from, to } => {
                    write!(f, "{}..{} in {length}", show_rate_exact(from), show_rate_exact(to))?;
                }
                Shape::Exponential { from, to } => {
                    let (from, to) = (show_rate_exact(from), show_rate_exact(to));
                    write!(f, "{from}..{to} in {length} exp")?;
                }
            }
        }
        Ok(())
    }
}
