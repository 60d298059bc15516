//! Texts that differ from request to request: `{{counter}}`, `{{uuid}}`, `{{random:1..100}}`,
//! `{{traceparent}}`.
//!
//! Every placeholder is a function of the seed and of the request's number in the whole load, so
//! that request n says the same however many threads share the load: all but `{{traceparent}}`,
//! which never says the same again, in no run. `\{{` stands for `{{` itself.

use std::fmt;
use std::sync::Arc;

use plimsoll_units::ParseError;

use super::picker::Draws;
use crate::arrivals::Share;
use crate::traceparent::{self, Traceparent, TraceparentStream};

const WANTED: &str = "{{counter}}, {{uuid}}, {{random:1..100}} or {{traceparent}}";

/// A text with placeholders. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct Template {
    parts: Arc<[Part]>,
    secret: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Part {
    Literal(Box<[u8]>),
    Counter,
    Uuid,
    /// A number between two bounds, both included.
    Random(u64, u64),
    /// The header of the W3C's Trace Context.
    Traceparent,
}

impl Template {
    /// Reads a text with placeholders.
    ///
    /// # Errors
    /// A placeholder that is unknown, not closed or out of order, at its position.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut parts = Vec::new();
        let mut literal = Vec::new();
        let mut at = 0;
        while let Some(open) = text[at..].find("{{").map(|found| at + found) {
            if text[at..open].ends_with('\\') {
                literal.extend_from_slice(&text.as_bytes()[at..open - 1]);
                literal.extend_from_slice(b"{{");
                at = open + 2;
                continue;
            }
            let Some(len) = text[open..].find("}}") else {
                let found = &text[open..];
                let error = ParseError::new(WANTED, found, open, found.len());
                return Err(error.hint("close it with }}, or write \\{{ for {{ itself"));
            };
            literal.extend_from_slice(&text.as_bytes()[at..open]);
            if !literal.is_empty() {
                parts.push(Part::Literal(std::mem::take(&mut literal).into()));
            }
            let part = placeholder(&text[open + 2..open + len]);
            parts.push(part.map_err(|error| error.shifted(open + 2))?);
            at = open + len + 2;
        }
        literal.extend_from_slice(&text.as_bytes()[at..]);
        if !literal.is_empty() {
            parts.push(Part::Literal(literal.into()));
        }
        Ok(Self { parts: parts.into(), secret: false })
    }

    /// Bytes that are sent as they are, such as a body read from a file.
    #[must_use]
    pub fn literal(bytes: Vec<u8>) -> Self {
        let parts: Vec<Part> =
            if bytes.is_empty() { Vec::new() } else { vec![Part::Literal(bytes.into())] };
        Self { parts: parts.into(), secret: false }
    }

    /// Bytes that are sent as they are and that `Debug` does not show.
    #[must_use]
    pub fn secret(bytes: Vec<u8>) -> Self {
        Self::literal(bytes).redacted()
    }

    /// The same text, not shown by `Debug`.
    #[must_use]
    pub fn redacted(self) -> Self {
        Self { secret: true, ..self }
    }

    /// Whether every request gets the same text.
    #[must_use]
    pub fn is_static(&self) -> bool {
        self.as_static().is_some()
    }

    /// The text, where every request gets the same one.
    #[must_use]
    pub fn as_static(&self) -> Option<&[u8]> {
        match &*self.parts {
            [] => Some(&[]),
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// The value of the header `traceparent`, another one for each request.
    #[must_use]
    pub fn traceparent() -> Self {
        Self { parts: vec![Part::Traceparent].into(), secret: false }
    }

    /// Whether it says under which id a request is traced.
    #[must_use]
    pub fn is_traced(&self) -> bool {
        self.parts.contains(&Part::Traceparent)
    }

    /// Appends the text of the state's present request to `out`. Allocates only where `out` has
    /// to grow.
    pub fn render(&self, state: &mut RenderState, out: &mut Vec<u8>) {
        for part in &*self.parts {
            match part {
                Part::Literal(text) => out.extend_from_slice(text),
                Part::Counter => push_decimal(out, state.number),
                Part::Uuid => {
                    let draws = state.draws();
                    push_uuid(out, draws.next_u64(), draws.next_u64());
                }
                Part::Random(low, high) => push_decimal(out, state.draws().between(*low, *high)),
                Part::Traceparent => state.traceparent().push(out),
            }
        }
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.secret {
            return f.write_str("Template(redacted)");
        }
        f.write_str("Template(\"")?;
        for part in &*self.parts {
            match part {
                Part::Literal(text) => write!(f, "{}", text.escape_ascii())?,
                Part::Counter => f.write_str("{{counter}}")?,
                Part::Uuid => f.write_str("{{uuid}}")?,
                Part::Random(low, high) => write!(f, "{{{{random:{low}..{high}}}}}")?,
                Part::Traceparent => write!(f, "{{{{{}}}}}", traceparent::WORD)?,
            }
        }
        f.write_str("\")")
    }
}

fn placeholder(inner: &str) -> Result<Part, ParseError> {
    let name = inner.trim();
    match name {
        "counter" => return Ok(Part::Counter),
        "uuid" => return Ok(Part::Uuid),
        traceparent::WORD => return Ok(Part::Traceparent),
        _ => {}
    }
    let at = inner.len() - inner.trim_start().len();
    let wrong = ParseError::new(WANTED, &format!("{{{{{inner}}}}}"), at, name.len());
    let Some(range) = name.strip_prefix("random:") else {
        let word = name.split(':').next().unwrap_or("");
        let known = ["counter", "uuid", "random", traceparent::WORD];
        return Err(match plimsoll_units::nearest(word, known) {
            Some("random") => wrong.hint("give both bounds: {{random:1..100}}"),
            Some(near) => wrong.hint(format!("write {{{{{near}}}}}")),
            None => wrong.hint("write \\{{ for {{ itself"),
        });
    };
    let bounds = range.split_once("..").and_then(|(low, high)| {
        Some((low.trim().parse::<u64>().ok()?, high.trim().parse::<u64>().ok()?))
    });
    match bounds {
        Some((low, high)) if low <= high => Ok(Part::Random(low, high)),
        Some((low, high)) => Err(wrong.hint(format!("least first: {{{{random:{high}..{low}}}}}"))),
        None => Err(wrong.hint("two whole numbers: {{random:1..100}}")),
    }
}

/// What the placeholders of one thread's requests draw on.
///
/// Holds the number of the present request in the whole load; [`RenderState::next_request`] moves
/// to the thread's next. Within one request `{{counter}}` is the same everywhere, and so is
/// `{{traceparent}}`, while every `{{uuid}}` and `{{random:…}}` is a draw of its own.
#[derive(Debug, Clone)]
pub struct RenderState {
    number: u64,
    step: u64,
    key: u64,
    /// Those of the present request, once it has drawn.
    draws: Option<Draws>,
    traceparents: TraceparentStream,
    /// That of the present request, once it has one.
    traceparent: Option<Traceparent>,
    /// The one that was written last and not asked for since.
    written: Option<Traceparent>,
}

impl RenderState {
    /// At the first request of a share of the load. The numbers begin at 0.
    #[must_use]
    pub fn new(seed: u64, share: Share) -> Self {
        let key = Draws::key(seed, "request.template");
        let number = u64::from(share.index);
        Self {
            number,
            step: u64::from(share.of.max(1)),
            key,
            draws: None,
            traceparents: TraceparentStream::of_nobody(seed),
            traceparent: None,
            written: None,
        }
    }

    /// The same, whose requests are traced under ids of this stream.
    #[must_use]
    pub fn traced(self, traceparents: TraceparentStream) -> Self {
        Self { traceparents, ..self }
    }

    /// Moves to the next request of this share: to be called once after each request.
    pub fn next_request(&mut self) {
        self.number = self.number.wrapping_add(self.step);
        (self.draws, self.traceparent) = (None, None);
    }

    fn traceparent(&mut self) -> Traceparent {
        let stream = &mut self.traceparents;
        let value = *self.traceparent.get_or_insert_with(|| stream.draw());
        self.written = Some(value);
        value
    }

    /// Under which id the request is traced that was written last, once; `None` where no request
    /// was written since that says so.
    #[inline]
    pub fn take_traceparent(&mut self) -> Option<Traceparent> {
        self.written.take()
    }

    fn draws(&mut self) -> &mut Draws {
        self.draws.get_or_insert_with(|| Draws::of_request(self.key, self.number))
    }

    /// The number of the present request in the whole load: what `{{counter}}` shows.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }
}

fn push_decimal(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + u8::try_from(value % 10).unwrap_or(0);
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// A random UUID, version 4 (RFC 9562 section 5.4).
fn push_uuid(out: &mut Vec<u8>, high: u64, low: u64) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let high = high & !0xf000 | 0x4000;
    let low = low & !(0b11 << 62) | 0b10 << 62;
    let bytes = (u128::from(high) << 64 | u128::from(low)).to_be_bytes();
    for (at, byte) in bytes.into_iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        out.push(HEX[usize::from(byte >> 4)]);
        out.push(HEX[usize::from(byte & 15)]);
    }
}
