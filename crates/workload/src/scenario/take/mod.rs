//! What a user takes from an answer for a later request: a token, a number, an address.
//!
//! A [`Take`] is read once and shared by all users; [`Take::find`] looks into one [`Answer`].
//!
//! | source | where it looks | what it gives |
//! | --- | --- | --- |
//! | JSON Pointer (RFC 6901) | the body as JSON | the value as it is written; with `which`, one element of an array |
//! | regular expression | the bytes of the body | the first group, else the whole match |
//! | CSS selector | the body as HTML | an attribute, or the text with its blanks made one |
//! | header | the answer's headers | the value |
//! | cookie | the answer's `Set-Cookie`, else the user's jar | the value |
//!
//! Bytes that are no UTF-8 are replaced by U+FFFD.

mod answer;
mod css;
mod page;

pub use answer::{Answer, Headers};

use plimsoll_units::ParseError;
use regex::bytes::{Regex, RegexBuilder};
use serde_json::Value;

use super::text::Held;
use crate::json;
use css::Selector;

/// The most memory of a compiled regular expression, bytes.
const MOST_OF_REGEX: usize = 4 << 20;

/// Which of several is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// The n-th, from 1.
    Number(u32),
    /// The last.
    Last,
    /// Any, equally likely.
    Random,
}

impl Which {
    /// Reads `last` or `random`; a number is [`Which::Number`].
    ///
    /// # Errors
    /// Another word.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        match text {
            "last" => Ok(Self::Last),
            "random" => Ok(Self::Random),
            _ => {
                let error = ParseError::new("a number, `last` or `random`", text, 0, text.len());
                Err(match plimsoll_units::nearest(text, ["last", "random"]) {
                    Some(known) => error.hint(format!("did you mean `{known}`?")),
                    None => error,
                })
            }
        }
    }

    /// The index of the one that is taken, of so many.
    fn index(self, count: usize, draw: impl FnOnce(usize) -> usize) -> Option<usize> {
        let index = match self {
            Self::Number(number) => (number as usize).checked_sub(1)?,
            Self::Last => count.checked_sub(1)?,
            Self::Random if count == 0 => return None,
            Self::Random => draw(count),
        };
        (index < count).then_some(index)
    }
}

/// Something to find in an answer.
#[derive(Debug, Clone)]
pub struct Take {
    source: Source,
    /// `None`: the first, or, of JSON, all that stands there.
    which: Option<Which>,
    default: Option<Held>,
}

#[derive(Debug, Clone)]
enum Source {
    Json(Box<str>),
    Regex(Regex),
    Css(Selector, Option<Box<str>>),
    Header(Box<str>),
    Cookie(Box<str>),
}

impl Take {
    fn of(source: Source) -> Self {
        Self { source, which: None, default: None }
    }

    /// The value at a JSON Pointer such as `/items/0/id`; empty for the whole body.
    ///
    /// # Errors
    /// What is no pointer.
    pub fn json(pointer: &str) -> Result<Self, ParseError> {
        check_pointer(pointer)?;
        Ok(Self::of(Source::Json(pointer.into())))
    }

    /// The first group of a regular expression, or its match where it has none, or the group took
    /// no part.
    ///
    /// # Errors
    /// What is no regular expression, or one that needs more than 4 MiB.
    pub fn regex(pattern: &str) -> Result<Self, ParseError> {
        Ok(Self::of(Source::Regex(compile(pattern)?)))
    }

    /// The text of the elements that a CSS selector selects, or an attribute of those that have it.
    ///
    /// # Errors
    /// A selector that is none, or of a kind that is not read, with its place.
    pub fn css(selector: &str, attribute: Option<&str>) -> Result<Self, ParseError> {
        let attribute = attribute.map(|name| name.to_ascii_lowercase().into());
        Ok(Self::of(Source::Css(Selector::parse(selector)?, attribute)))
    }

    /// The value of a header.
    #[must_use]
    pub fn header(name: &str) -> Self {
        Self::of(Source::Header(name.into()))
    }

    /// The value of a cookie that the answer sets, or that the user has for its URL.
    #[must_use]
    pub fn cookie(name: &str) -> Self {
        Self::of(Source::Cookie(name.into()))
    }

    /// The same, of several that one.
    #[must_use]
    pub fn which(self, which: Which) -> Self {
        Self { which: Some(which), ..self }
    }

    /// The same, and that value where nothing is found.
    #[must_use]
    pub fn default(self, value: Value) -> Self {
        let held = match value {
            Value::String(text) => Held::Text(text.into()),
            other => Held::Json(other.to_string().into()),
        };
        Self { default: Some(held), ..self }
    }

    /// Whether it is an attribute of an element.
    pub(in crate::scenario) fn is_attribute(&self) -> bool {
        matches!(&self.source, Source::Css(_, Some(_)))
    }

    /// Why nothing can be found in an answer, where it is not of the form that is looked into.
    pub(in crate::scenario) fn fault(&self, answer: &Answer<'_>) -> Option<String> {
        match &self.source {
            Source::Json(_) => {
                answer.json_fault().map(|why| format!("a body that is no JSON: {why}"))
            }
            _ => None,
        }
    }

    /// What is found in an answer, else the default. `draw(n)` gives a number from 0 below n; it is
    /// asked once where [`Which::Random`] has something to choose from, else not at all.
    ///
    /// # Cost
    /// One pass over the body, two for a random element of a page; the body is read as JSON once
    /// for all that is taken from it.
    pub fn find(&self, answer: &Answer<'_>, draw: impl FnOnce(usize) -> usize) -> Option<Held> {
        let which = self.which.unwrap_or(Which::Number(1));
        let found = match &self.source {
            Source::Json(pointer) => in_json(answer, pointer, self.which, draw),
            Source::Regex(regex) => in_bytes(regex, answer.body, which, draw).map(text),
            Source::Css(selector, attribute) => {
                page::find(answer.body, selector, attribute.as_deref(), which, draw)
                    .map(|found| Held::Text(found.into()))
            }
            Source::Header(name) => {
                let values = || answer.headers.all(name);
                let index = which.index(values().count(), draw);
                index.and_then(|index| values().nth(index)).map(text)
            }
            Source::Cookie(name) => answer.cookie(name.as_bytes(), which, draw).map(text),
        };
        found.or_else(|| self.default.clone())
    }
}

fn text(bytes: &[u8]) -> Held {
    Held::Text(String::from_utf8_lossy(bytes).into())
}

/// Reads a regular expression for bodies, within bounds.
///
/// # Errors
/// What is no regular expression, or one that needs more than 4 MiB.
pub fn compile(pattern: &str) -> Result<Regex, ParseError> {
    RegexBuilder::new(pattern).size_limit(MOST_OF_REGEX).build().map_err(|error| {
        let wanted = match error {
            regex::Error::CompiledTooBig(_) => "a regular expression that needs at most 4 MiB",
            _ => "a regular expression",
        };
        // Its last line says what is wrong; those before draw it.
        let why = error.to_string();
        let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        ParseError::new(wanted, pattern, 0, pattern.len()).hint(why)
    })
}

/// Refuses what is no JSON Pointer: each part begins with `/`, and `~` stands before 0 or 1.
///
/// # Errors
/// The place of the first byte that is wrong.
pub fn check_pointer(pointer: &str) -> Result<(), ParseError> {
    let wanted = "a JSON Pointer such as /items/0/id";
    if !pointer.is_empty() && !pointer.starts_with('/') {
        let error = ParseError::new(wanted, pointer, 0, pointer.len());
        return Err(error.hint(format!("write /{}", pointer.replace('.', "/"))));
    }
    let wrong = pointer
        .match_indices('~')
        .find(|&(at, _)| !matches!(pointer.as_bytes().get(at + 1), Some(b'0' | b'1')));
    wrong.map_or(Ok(()), |(at, _)| {
        let hint = "write ~0 for ~ and ~1 for /";
        Err(ParseError::new(wanted, &pointer[at..], at, 1).hint(hint))
    })
}

/// The value at the pointer, or the element of the array there; `null` is none.
fn in_json(
    answer: &Answer<'_>,
    pointer: &str,
    which: Option<Which>,
    draw: impl FnOnce(usize) -> usize,
) -> Option<Held> {
    let value = answer.json()?.pointer(pointer)?;
    let (value, index) = match (value, which) {
        (Value::Array(elements), Some(which)) => {
            let index = which.index(elements.len(), draw)?;
            (elements.get(index)?, Some(index))
        }
        _ => (value, None),
    };
    Some(match value {
        Value::Null => return None,
        Value::String(text) => Held::Text(text.as_str().into()),
        Value::Bool(is_on) => Held::Json(is_on.to_string().into()),
        // As they are written: neither rounded nor in another order.
        Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            let text = json::at(answer.json_text()?, pointer)?;
            Held::Json(index.map_or(Some(text), |index| json::element(text, index))?.into())
        }
    })
}

/// The group or the match that is taken of a text.
fn in_bytes<'a>(
    regex: &Regex,
    body: &'a [u8],
    which: Which,
    draw: impl FnOnce(usize) -> usize,
) -> Option<&'a [u8]> {
    let taken = match which {
        Which::Number(1) => regex.captures(body),
        Which::Number(number) => regex.captures_iter(body).nth((number as usize).checked_sub(1)?),
        Which::Last => regex.captures_iter(body).last(),
        Which::Random => {
            let index = which.index(regex.find_iter(body).count(), draw)?;
            regex.captures_iter(body).nth(index)
        }
    }?;
    taken.get(1).or_else(|| taken.get(0)).map(|found| found.as_bytes())
}
