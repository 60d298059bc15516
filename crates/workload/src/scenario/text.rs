//! Texts with holes: `{{token}}`, `{{accounts.user | urlencode}}`, `{{name or "nobody"}}`,
//! `{{random:1..100}}`. `\{{` stands for `{{` itself.
//!
//! A text is parsed once, with each name resolved to a place in the user's memory; rendering looks
//! nothing up by name.

mod parse;

use std::borrow::Cow;
use std::fmt;

use plimsoll_units::ParseError;

use super::data::Data;
use super::draws::Draws;
use super::encoding::{Encoding, Pipe, is_of_target, percent};
use crate::json;
use crate::traceparent::{Traceparent, TraceparentStream, Traceparents};

/// What a user holds under a name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Held {
    /// Nothing yet.
    #[default]
    Nothing,
    /// A text.
    Text(Box<str>),
    /// A number, boolean, list or object, as compact JSON.
    Json(Box<str>),
}

impl Held {
    /// The text of it, where there is any: an empty text is none.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Nothing => None,
            Self::Text(text) | Self::Json(text) => {
                Some(text).filter(|t| !t.is_empty()).map(|t| &**t)
            }
        }
    }
}

/// What a hole is filled with.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A variable of the user, by its number.
    Variable(u16),
    /// A column of a data file.
    Column {
        /// The data file.
        data: u16,
        /// Its column.
        column: u16,
    },
    /// How many messages with a counter the user has sent before.
    Counter,
    /// The user's number.
    User,
    /// The round of the innermost loop, from 0.
    Loop,
    /// The date and time.
    Date(DateForm),
    /// The header of the W3C's Trace Context: the same within one message.
    Traceparent,
    /// A random UUID.
    Uuid {
        /// Its place in the file.
        place: u32,
    },
    /// A random number between two bounds, both included.
    Random {
        /// The least.
        low: u64,
        /// The greatest.
        high: u64,
        /// Its place in the file.
        place: u32,
    },
    /// What stands at that place (RFC 6901) of the message that the step has sent.
    Sent(Box<str>),
    /// A text that was known when the file was read: a variable of the environment, say.
    Fixed(Box<str>),
}

/// How a date is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateForm {
    /// `2026-11-27T09:15:00Z`.
    Iso,
    /// Seconds since 1970.
    Unix,
    /// Milliseconds since 1970.
    UnixMs,
    /// Nanoseconds since 1970.
    UnixNs,
}

impl DateForm {
    const NAMES: [(&'static str, Self); 4] = [
        ("date", Self::Iso),
        ("date:unix", Self::Unix),
        ("date:unix_ms", Self::UnixMs),
        ("date:unix_ns", Self::UnixNs),
    ];

    fn write(self, unix_ns: u64) -> String {
        match self {
            Self::Iso => plimsoll_units::civil::iso8601(unix_ns),
            Self::Unix => (unix_ns / 1_000_000_000).to_string(),
            Self::UnixMs => (unix_ns / 1_000_000).to_string(),
            Self::UnixNs => unix_ns.to_string(),
        }
    }
}

/// Says what names mean while a text is parsed.
pub trait Names {
    /// The value of a name that is no function; `has_default` where its being empty is provided
    /// for.
    ///
    /// # Errors
    /// A name that nothing can have set, at its position within `name`.
    fn named(&mut self, name: &str, has_default: bool) -> Result<Value, ParseError>;

    /// The number of a new place that draws.
    fn place(&mut self) -> u32;
}

/// A text with holes.
#[derive(Clone, PartialEq, Default)]
pub struct Text {
    parts: Box<[Part]>,
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Literal(Box<[u8]>),
    Hole(Hole),
}

#[derive(Debug, Clone, PartialEq)]
struct Hole {
    value: Value,
    default: Option<Box<str>>,
    pipes: Box<[Pipe]>,
    encoding: Encoding,
    /// What stands between the braces, for who is told that it is empty.
    written: Box<str>,
}

/// A hole that could not be filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfilled {
    /// What stands between its braces.
    pub name: String,
    /// Whether it has a value, which may not stand where it would enter.
    pub is_unfit: bool,
}

/// Where the values of one user's holes come from.
pub(super) struct Values<'a> {
    pub(super) variables: &'a [Held],
    pub(super) data: &'a [Data],
    /// The present row of each data file.
    pub(super) rows: &'a [u32],
    pub(super) counter: u64,
    pub(super) round: u64,
    pub(super) unix_ns: u64,
    /// What the present step has sent over a WebSocket, where that is JSON.
    pub(super) sent: Option<&'a str>,
    pub(super) draws: Draws<'a>,
    /// Under which ids requests are traced, and under which the present one.
    pub(super) traceparents: Option<&'a Traceparents>,
    pub(super) traceparent: Option<Traceparent>,
}

impl Values<'_> {
    /// Under which id the present request is traced.
    pub(super) fn traceparent(&mut self) -> Traceparent {
        let (traceparents, user) = (self.traceparents, self.draws.user);
        *self.traceparent.get_or_insert_with(|| match traceparents {
            Some(of) => of.draw(),
            None => TraceparentStream::of_nobody(user).draw(),
        })
    }
}

/// Puts a text together.
#[derive(Debug, Default)]
pub struct Writing {
    parts: Vec<Part>,
    literal: Vec<u8>,
}

impl Writing {
    /// Appends bytes that every user sends.
    pub fn literal(&mut self, bytes: &[u8]) {
        self.literal.extend_from_slice(bytes);
    }

    /// Appends what stands between holes; of a path and its query in the form of a request line.
    fn literal_of(&mut self, text: &str, encoding: Encoding) {
        match encoding {
            Encoding::Path | Encoding::Query => {
                percent(text.as_bytes(), is_of_target, &mut self.literal);
            }
            _ => self.literal(text.as_bytes()),
        }
    }

    /// Appends a text whose values enter by `encoding`, and whose literal parts are encoded too
    /// where they are within a form, a query or JSON.
    pub fn text(&mut self, text: &Text, encoding: Encoding) {
        let is_whole = text.parts.len() == 1;
        let is_value = encoding == Encoding::JsonValue;
        let within = if is_value && !is_whole { Encoding::Json } else { encoding };
        if is_value && !is_whole {
            self.literal(b"\"");
        }
        for part in &text.parts {
            match part {
                Part::Literal(bytes) => {
                    within.append(bytes, false, &mut self.literal);
                }
                Part::Hole(hole) => {
                    self.flush();
                    self.parts.push(Part::Hole(Hole { encoding: within, ..hole.clone() }));
                }
            }
        }
        if is_value && !is_whole {
            self.literal(b"\"");
        }
    }

    /// Appends a text as it is.
    pub fn append(&mut self, text: &Text) {
        for part in &text.parts {
            match part {
                Part::Literal(bytes) => self.literal(bytes),
                Part::Hole(hole) => {
                    self.flush();
                    self.parts.push(Part::Hole(hole.clone()));
                }
            }
        }
    }

    fn flush(&mut self) {
        if !self.literal.is_empty() {
            self.parts.push(Part::Literal(std::mem::take(&mut self.literal).into()));
        }
    }

    /// The text.
    #[must_use]
    pub fn finish(mut self) -> Text {
        self.flush();
        Text { parts: self.parts.into() }
    }
}

impl Text {
    /// Bytes that every user sends.
    #[must_use]
    pub fn literal(bytes: &[u8]) -> Self {
        let mut writing = Writing::default();
        writing.literal(bytes);
        writing.finish()
    }

    /// The bytes, where every user sends the same.
    #[must_use]
    pub fn as_literal(&self) -> Option<&[u8]> {
        match &*self.parts {
            [] => Some(&[]),
            [Part::Literal(bytes)] => Some(bytes),
            _ => None,
        }
    }

    /// The text, where all that it hangs on was known when it was read.
    #[must_use]
    pub fn constant(&self) -> Option<String> {
        let is_known = |value: &Value| matches!(value, Value::Fixed(_));
        if !self.values().all(is_known) {
            return None;
        }
        let (draws, mut out) = (Draws { key: 0, user: 0, visits: &mut [] }, Vec::new());
        let (variables, data, rows) = (&[], &[], &[]);
        let mut values = Values {
            variables,
            data,
            rows,
            counter: 0,
            round: 0,
            unix_ns: 0,
            sent: None,
            draws,
            traceparents: None,
            traceparent: None,
        };
        self.render(&mut values, &mut out).ok()?;
        String::from_utf8(out).ok()
    }

    /// Whether it begins with a hole, so that what it comes to is not known before.
    #[must_use]
    pub fn begins_open(&self) -> bool {
        matches!(self.parts.first(), Some(Part::Hole(_)))
    }

    /// The variable with which it begins, where it does.
    pub(super) fn first_variable(&self) -> Option<u16> {
        match self.parts.first() {
            Some(Part::Hole(Hole { value: Value::Variable(number), .. })) => Some(*number),
            _ => None,
        }
    }

    /// The parts of it that every user sends.
    pub fn literals(&self) -> impl Iterator<Item = &[u8]> {
        self.parts.iter().filter_map(|part| match part {
            Part::Literal(bytes) => Some(&**bytes),
            Part::Hole(_) => None,
        })
    }

    /// The values of its holes.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.parts.iter().filter_map(|part| match part {
            Part::Hole(hole) => Some(&hole.value),
            Part::Literal(_) => None,
        })
    }

    /// The first hole for a place of the message that was sent, which has nothing there; `sent` is
    /// that message, where it is JSON.
    pub(super) fn lacks_sent(&self, sent: Option<&str>) -> Option<&str> {
        self.parts.iter().find_map(|part| match part {
            Part::Hole(Hole { value: Value::Sent(at), default: None, written, .. }) => {
                let value = sent.and_then(|sent| json::at(sent, at)).filter(|of| *of != "\"\"");
                value.is_none().then_some(&**written)
            }
            _ => None,
        })
    }

    /// Appends the text for one user.
    pub(super) fn render(
        &self,
        values: &mut Values<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Unfilled> {
        for part in &self.parts {
            match part {
                Part::Literal(bytes) => out.extend_from_slice(bytes),
                Part::Hole(hole) => hole.render(values, out)?,
            }
        }
        Ok(())
    }
}

/// What a value comes to, if anything, and whether that is JSON other than a string.
pub(super) fn look<'v, 'a: 'v>(
    value: &'v Value,
    values: &mut Values<'a>,
) -> (Option<Cow<'v, str>>, bool) {
    let (variables, data) = (values.variables, values.data);
    match value {
        Value::Variable(of) => match variables.get(usize::from(*of)) {
            Some(held @ Held::Json(_)) => (held.text().map(Cow::Borrowed), true),
            held => (held.and_then(Held::text).map(Cow::Borrowed), false),
        },
        Value::Column { data: of, column } => {
            let row = values.rows.get(usize::from(*of)).copied().unwrap_or(0);
            let cell = data.get(usize::from(*of)).map(|data| data.cell(row, *column));
            (cell.filter(|text| !text.is_empty()).map(Cow::Borrowed), false)
        }
        Value::Fixed(text) => (Some(Cow::Borrowed(text)), false),
        Value::Sent(pointer) => match values.sent.and_then(|sent| json::at(sent, pointer)) {
            None => (None, false),
            Some(text) => match json::string(text) {
                Some(text) => (Some(Cow::Owned(text)), false),
                None => (Some(Cow::Borrowed(text)), true),
            },
        },
        value => {
            let is_text = matches!(
                value,
                Value::Uuid { .. } | Value::Traceparent | Value::Date(DateForm::Iso)
            );
            (Some(Cow::Owned(computed(value, values))), !is_text)
        }
    }
}

impl Hole {
    fn render(&self, values: &mut Values<'_>, out: &mut Vec<u8>) -> Result<(), Unfilled> {
        let (text, is_json) = look(&self.value, values);
        let unfilled = |is_unfit| Unfilled { name: self.written.to_string(), is_unfit };
        let default = || self.default.as_deref().map(Cow::Borrowed);
        let Some(text) = text.or_else(default) else { return Err(unfilled(false)) };
        let fits = match self.pipes.split_first() {
            None => self.encoding.append(text.as_bytes(), is_json, out),
            Some((first, rest)) => {
                let mut value = first.through(text.as_bytes());
                for pipe in rest {
                    value = pipe.through(&value);
                }
                self.encoding.append(&value, false, out)
            }
        };
        if fits { Ok(()) } else { Err(unfilled(true)) }
    }
}

/// What a function gives.
fn computed(value: &Value, values: &mut Values<'_>) -> String {
    match value {
        Value::Counter => values.counter.to_string(),
        Value::User => values.draws.user.to_string(),
        Value::Loop => values.round.to_string(),
        Value::Date(form) => form.write(values.unix_ns),
        Value::Random { low, high, place } => values.draws.between(*place, *low, *high).to_string(),
        Value::Uuid { place } => {
            let mut stream = values.draws.stream(*place);
            uuid(stream.next_u64(), stream.next_u64())
        }
        Value::Traceparent => values.traceparent().text(),
        Value::Variable(_) | Value::Column { .. } | Value::Fixed(_) | Value::Sent(_) => {
            String::new()
        }
    }
}

/// A random UUID, version 4 (RFC 9562, section 5.4).
fn uuid(high: u64, low: u64) -> String {
    let high = high & !0xf000 | 0x4000;
    let low = low & !(0b11 << 62) | 0b10 << 62;
    let [a, b, c, d, e] =
        [high >> 32, high >> 16 & 0xffff, high & 0xffff, low >> 48, low & 0xffff_ffff_ffff];
    format!("{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}")
}

impl fmt::Debug for Text {
    /// Shows holes by what stands in them: values of the environment are not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Text(\"")?;
        for part in &self.parts {
            match part {
                Part::Literal(text) => write!(f, "{}", text.escape_ascii())?,
                Part::Hole(hole) => write!(f, "{{{{{}}}}}", hole.written)?,
            }
        }
        f.write_str("\")")
    }
}

#[cfg(test)]
mod tests;
