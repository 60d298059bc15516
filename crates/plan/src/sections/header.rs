//! A header of every request, as a plan gives it.

use std::fmt;

use plimsoll_units::ParseError;
use plimsoll_workload::request::secrets::is_in_header;
use plimsoll_workload::request::{Template, parse_header};

use crate::reading::secret::REDACTED;
use crate::reading::secret::key_is_secret;

/// A header: name as it was written, value with placeholders. `Debug` does not show the value of
/// one whose name announces a secret.
#[derive(Clone, PartialEq)]
pub struct Header {
    /// As it was written; names mean the same in any case.
    pub name: String,
    /// The value, rendered for each request.
    pub value: Template,
    written: String,
}

impl Header {
    /// Reads the value of a header.
    ///
    /// # Errors
    /// A name or a value that may not stand in a request, an unknown placeholder. Positions are
    /// those of `name`, or of `value` shifted by the name's length.
    pub(crate) fn read(name: &str, value: &str) -> Result<Self, ParseError> {
        if name.contains(':') {
            let at = name.find(':').unwrap_or(0);
            return Err(ParseError::new("the name of a header", ":", at, 1));
        }
        let (name, template) = parse_header(&format!("{name}:{value}")).map_err(|mut error| {
            // The colon is ours.
            if error.at > name.len() {
                error.at -= 1;
            }
            error
        })?;
        let written = value.trim_matches([' ', '\t']).to_owned();
        let header = Self { name, value: template, written };
        Ok(match header.is_secret() {
            true => Self { value: header.value.redacted(), ..header },
            false => header,
        })
    }

    /// Whether the value must not be shown.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        key_is_secret(&self.name) || is_in_header(&self.name, &self.written)
    }

    /// Whether a printed plan has left the value out.
    #[must_use]
    pub fn is_redacted(&self) -> bool {
        self.written == REDACTED
    }

    /// The value as a plan may show it.
    pub(crate) fn shown(&self) -> &str {
        if self.is_secret() { REDACTED } else { &self.written }
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", self.name, self.shown())
    }
}
