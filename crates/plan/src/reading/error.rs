//! What is wrong with a plan, and where: rendered with the line and a caret.

use plimsoll_units::failure::{Failure, Kind};
use std::fmt;

use crate::reading::secret::REDACTED;
use crate::reading::source::{Place, Source, floor_char};

/// How many errors of one reading are kept.
const MAX_ERRORS: usize = 20;
/// How many characters of a line are shown.
const MAX_SHOWN: usize = 100;

/// One thing that is wrong with a plan.
///
/// `Display` gives `plan.toml:12:9: message`, the line with a caret under what is wrong, and the
/// hint; for a flag `--rate: message` with its value in the place of the line. Secrets are never
/// part of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.rendered())]
pub struct PlanError {
    /// What was wanted and what was found: a lower-case fragment.
    pub message: String,
    /// Where.
    pub at: Position,
    /// Another place that belongs to it, with what it is: `first given here`.
    pub also: Option<(String, Position)>,
    /// What to do about it.
    pub hint: Option<String>,
}

/// A place in a plan's text or on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The plan's file name, or the flag.
    pub origin: String,
    /// From 1; none for a flag, and for what is missing.
    pub line: Option<usize>,
    /// In characters, from 1; none where there is no line.
    pub column: Option<usize>,
    /// The text at that place.
    pub excerpt: Option<Excerpt>,
}

/// A line (or a flag's value) and the part of it that is wrong.
///
/// What cannot be printed in one column is replaced (a tab by a space), secrets are masked and a
/// long line is cut, so `start` and `len` may differ from the columns in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The text as it is shown.
    pub text: String,
    /// Where the part starts, in characters of `text`.
    pub start: usize,
    /// How long it is, in characters; at least 1.
    pub len: usize,
}

/// All that is wrong with a plan, in the order of its text, flags after the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.rendered())]
pub struct PlanErrors {
    /// At least one; at most 20.
    pub errors: Vec<PlanError>,
    /// How many more there were.
    pub left_out: usize,
}

/// A fault as the readers report it: places instead of texts.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) message: String,
    pub(crate) place: Place,
    pub(crate) also: Option<(String, Place)>,
    pub(crate) hint: Option<String>,
}

impl PlanError {
    fn rendered(&self) -> String {
        let mut out = format!("{}: {}", self.at, self.message);
        self.at.write_excerpt(&mut out);
        if let Some((what, position)) = &self.also {
            out.push_str(&format!("\n{position}: {what}"));
            position.write_excerpt(&mut out);
        }
        if let Some(hint) = &self.hint {
            out.push_str(&format!("\nhint: {hint}"));
        }
        out
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.origin)?;
        match (self.line, self.column) {
            (Some(line), Some(column)) => write!(f, ":{line}:{column}"),
            _ => Ok(()),
        }
    }
}

impl Position {
    fn write_excerpt(&self, out: &mut String) {
        let Some(excerpt) = &self.excerpt else { return };
        let number = self.line.map_or(String::new(), |line| line.to_string());
        let margin = " ".repeat(number.len());
        let text = excerpt.text.trim_end();
        let before = " ".repeat(excerpt.start);
        let carets = "^".repeat(excerpt.len);
        out.push_str(&format!("\n  {number} | {text}\n  {margin} | {before}{carets}"));
    }

    /// What a place looks like to a person.
    pub(crate) fn of(sources: &[Source], place: Place) -> Self {
        let Some(source) = sources.get(place.source) else {
            return Self { origin: "plan".into(), line: None, column: None, excerpt: None };
        };
        let origin = source.origin.clone();
        let Some((start, end)) = place.span else {
            return Self { origin, line: None, column: None, excerpt: None };
        };
        if source.flag {
            let excerpt = Some(Excerpt::of(source, (0, source.text.len()), (start, end)));
            return Self { origin, line: None, column: None, excerpt };
        }
        let (line, column, range) = source.line_of(start);
        let excerpt = Some(Excerpt::of(source, range, (start, end)));
        Self { origin, line: Some(line), column: Some(column), excerpt }
    }
}

impl Excerpt {
    /// The bytes `line` of a source with `part` marked; the part may reach beyond the line.
    fn of(source: &Source, line: (usize, usize), part: (usize, usize)) -> Self {
        let text = &source.text;
        let mut from = floor_char(text, part.0).clamp(line.0, line.1);
        let mut to = floor_char(text, part.1).clamp(from, line.1);
        let hidden = source.hidden_in(line);
        // What touches a mask marks all of it: where in a secret the fault is says too much.
        for &(mask_from, mask_to) in &hidden {
            if from <= mask_to && to >= mask_from && to > mask_from {
                (from, to) = (from.min(mask_from), to.max(mask_to));
            }
        }
        let mut shown: Vec<char> = Vec::new();
        let (mut start, mut end) = (None, None);
        let mut masks = hidden.iter().peekable();
        for (byte, c) in text[line.0..line.1].char_indices() {
            let at = line.0 + byte;
            while masks.peek().is_some_and(|mask| mask.1 <= at) {
                masks.next();
            }
            if at >= from && start.is_none() {
                start = Some(shown.len());
            }
            if at >= to && end.is_none() {
                end = Some(shown.len());
            }
            match masks.peek() {
                Some(mask) if at == mask.0 => shown.extend(REDACTED.chars()),
                Some(mask) if at > mask.0 => {}
                _ => shown.push(if c.is_control() || is_invisible(c) { ' ' } else { c }),
            }
        }
        let start = start.unwrap_or(shown.len());
        let len = end.unwrap_or(shown.len()).saturating_sub(start).max(1);
        cut(&shown, start, len)
    }
}

/// Marks that would move or hide the text around them (direction overrides, zero width).
fn is_invisible(c: char) -> bool {
    let marks = ['\u{200b}'..='\u{200f}', '\u{2028}'..='\u{202e}', '\u{2060}'..='\u{206f}'];
    c == '\u{feff}' || marks.iter().any(|range| range.contains(&c))
}

/// A text on one line, with control characters made visible.
fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || is_invisible(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// A window of a long line around its marked part.
fn cut(shown: &[char], start: usize, len: usize) -> Excerpt {
    if shown.len() <= MAX_SHOWN {
        return Excerpt { text: shown.iter().collect(), start, len };
    }
    let first = start.saturating_sub(MAX_SHOWN / 3).min(shown.len() - MAX_SHOWN);
    let last = first + MAX_SHOWN;
    let mut text = String::new();
    let mut start = start - first;
    if first > 0 {
        text.push('…');
        start += 1;
    }
    text.extend(&shown[first..last]);
    if last < shown.len() {
        text.push('…');
    }
    Excerpt { text, start, len: len.min((MAX_SHOWN + 1).saturating_sub(start)).max(1) }
}

impl PlanErrors {
    /// Renders faults in the order of the texts they are about.
    pub(crate) fn from_faults(sources: &[Source], mut faults: Vec<Fault>, more: usize) -> Self {
        // What is missing from the file is said after what is wrong in it.
        faults.sort_by_key(|f| (f.place.source, f.place.span.map_or(usize::MAX, |span| span.0)));
        let left_out = more + faults.len().saturating_sub(MAX_ERRORS);
        faults.truncate(MAX_ERRORS);
        let errors = faults
            .into_iter()
            .map(|fault| PlanError {
                at: Position::of(sources, fault.place),
                also: fault.also.map(|(what, place)| (what, Position::of(sources, place))),
                message: printable(&fault.message),
                hint: fault.hint.as_deref().map(printable),
            })
            .collect();
        Self { errors, left_out }
    }

    fn rendered(&self) -> String {
        let mut parts: Vec<String> = self.errors.iter().map(ToString::to_string).collect();
        if self.left_out > 0 {
            parts.push(format!("and {} more", self.left_out));
        }
        parts.join("\n\n")
    }
}

impl Failure for PlanErrors {
    fn kind(&self) -> Kind {
        Kind::Usage
    }
}
