//! Heads of HTTP/1.1 messages, as far as an opening handshake needs them: bounded, from the bytes
//! that have come so far.
//!
//! Source: RFC 9112, sections 2 to 5.

use std::borrow::Cow;

use crate::refusal::Refusal;
use crate::token::is_token;

/// The longest head.
pub(crate) const HEAD_BYTES: usize = 16 * 1024;

/// What a head says: UTF-8, or else the Latin-1 that fields once were of (RFC 9110, section 5.5).
fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

/// A request's or an answer's first line and its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    first: String,
    fields: Vec<(String, String)>,
}

impl Head {
    /// The head at the beginning of some bytes, with how many it takes; `None` while more are
    /// missing. Frames may follow it at once.
    ///
    /// *Cost*: looks through the head on each call, at most 16 KiB.
    ///
    /// # Errors
    /// [`Refusal::Malformed`] where the bytes are no head, or a longer one.
    pub fn read(bytes: &[u8]) -> Result<Option<(Self, usize)>, Refusal> {
        let looked = &bytes[..bytes.len().min(HEAD_BYTES)];
        let end = looked.windows(4).position(|four| four == b"\r\n\r\n");
        let Some(end) = end else {
            let is_long = bytes.len() >= HEAD_BYTES;
            let fault = Refusal::Malformed("its head is longer than 16 KiB");
            return if is_long { Err(fault) } else { Ok(None) };
        };
        let text = text_of(&looked[..end]);
        let mut lines = text.split("\r\n");
        let first = lines.next().unwrap_or_default().to_owned();
        let mut fields = Vec::new();
        for line in lines {
            let field = line.split_once(':').filter(|(name, _)| is_token(name));
            let (name, value) =
                field.ok_or(Refusal::Malformed("a line of its head is no field"))?;
            let value = value.trim_matches([' ', '\t']);
            if value.chars().any(|letter| letter.is_ascii_control() && letter != '\t') {
                return Err(Refusal::Malformed("a field holds a control character"));
            }
            fields.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        Ok(Some((Self { first, fields }, end + 4)))
    }

    /// The head of a server's final answer, with how many bytes it takes and those before it:
    /// informational answers are passed over (RFC 9110, section 15.2), but for that of status 101,
    /// which is the final one of a handshake. `None` while more are missing.
    ///
    /// # Errors
    /// As for [`Head::read`]; where there are more than 64 KiB of informational answers.
    pub fn read_answer(bytes: &[u8]) -> Result<Option<(Self, usize)>, Refusal> {
        const MOST: usize = 64 * 1024;
        let mut before = 0;
        loop {
            let Some((head, len)) = Self::read(&bytes[before..])? else { return Ok(None) };
            match head.status() {
                Some(100 | 102..=199) if before + len > MOST => {
                    return Err(Refusal::Malformed("it tells more than 64 KiB beforehand"));
                }
                Some(100 | 102..=199) => before += len,
                _ => return Ok(Some((head, before + len))),
            }
        }
    }

    /// The first line, such as `GET /chat HTTP/1.1`.
    #[must_use]
    pub fn first_line(&self) -> &str {
        &self.first
    }

    /// An answer's status, 100 to 599.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        let rest = self.first.strip_prefix("HTTP/1.1 ");
        let rest = rest.or_else(|| self.first.strip_prefix("HTTP/1.0 "))?;
        let digits = rest.split(' ').next().filter(|digits| digits.len() == 3)?;
        digits.parse().ok().filter(|status| (100..600).contains(status))
    }

    /// What a request asks for: the path with its query, where it is a GET of HTTP/1.1.
    #[must_use]
    pub fn target(&self) -> Option<&str> {
        let target = self.first.strip_prefix("GET ")?.strip_suffix(" HTTP/1.1")?;
        (!target.is_empty() && !target.contains(' ')).then_some(target)
    }

    /// All fields in their order: names in lower case, values without the blanks around them.
    #[must_use]
    pub fn fields(&self) -> &[(String, String)] {
        &self.fields
    }

    /// The values of a field, whose name is given in lower case.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.fields.iter().filter(move |(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// The value of a field that may come once; `None` where it comes twice, too.
    #[must_use]
    pub fn only<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        let mut values = self.all(name);
        values.next().filter(|_| values.next().is_none())
    }

    /// The values of a field that is a list, joined.
    #[must_use]
    pub fn list(&self, name: &str) -> String {
        self.all(name).collect::<Vec<_>>().join(", ")
    }
}
