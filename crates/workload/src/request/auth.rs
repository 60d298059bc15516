//! Credentials: basic (RFC 7617) and bearer (RFC 6750) authorization headers. A secret never
//! appears in `Debug` or `Display`.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plimsoll_units::ParseError;

use super::template::Template;
use plimsoll_net::url::percent_decode;

/// User and password for basic authentication.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    user: Vec<u8>,
    password: Vec<u8>,
    /// Whether they were written as one word without a colon, which is all in `user`.
    bare: bool,
}

impl Credentials {
    /// From a user and a password. RFC 7617 section 2: a user holds no colon, neither holds a
    /// control character.
    ///
    /// # Errors
    /// Says which of the two is wrong, and where; it repeats no password.
    pub fn new(user: &str, password: &str) -> Result<Self, ParseError> {
        if let Some(at) = user.find(':') {
            return Err(ParseError::new("a user without a colon", ":", at, 1));
        }
        for text in [user, password] {
            if let Some(at) = text.find(|c: char| c.is_control()) {
                let wanted = "a user and a password without control characters";
                return Err(ParseError::new(wanted, "a control character", at, 1));
            }
        }
        Ok(Self { user: user.into(), password: password.into(), bare: false })
    }

    /// From `user:password`, as `--user` and curl take it; without a colon the password is empty.
    ///
    /// # Errors
    /// As for [`Credentials::new`].
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let (user, password) = text.split_once(':').unwrap_or((text, ""));
        Ok(Self { bare: !text.contains(':'), ..Self::new(user, password)? })
    }

    /// From what stands before the `@` of a URL, percent-encoded.
    pub(super) fn from_user_info(text: &str) -> Self {
        let (user, password) = text.split_once(':').unwrap_or((text, ""));
        Self {
            user: percent_decode(user.as_bytes()),
            password: percent_decode(password.as_bytes()),
            bare: !text.contains(':'),
        }
    }

    /// User and password, to be sent and nothing else; the user may be empty.
    #[must_use]
    pub fn reveal(&self) -> (&[u8], &[u8]) {
        (&self.user, &self.password)
    }

    /// The one word of which they were made, where there was no colon: a user to HTTP and to
    /// databases, a password to Redis.
    #[must_use]
    pub fn bare(&self) -> Option<&[u8]> {
        self.bare.then_some(&self.user)
    }

    /// The header: `authorization: Basic …`.
    #[must_use]
    pub fn header(&self) -> (String, Template) {
        let mut text = self.user.clone();
        text.push(b':');
        text.extend_from_slice(&self.password);
        let value = format!("Basic {}", STANDARD.encode(text));
        ("authorization".to_owned(), Template::secret(value.into_bytes()))
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(redacted)")
    }
}

/// What the value of a `Basic` header proves: user and password together, and the password.
pub(super) fn passwords(value: &[u8]) -> Vec<Vec<u8>> {
    let Ok(both) = STANDARD.decode(value) else { return Vec::new() };
    let password = both.split(|byte| *byte == b':').skip(1).collect::<Vec<_>>().join(&b':');
    vec![both, password]
}

/// The header of a bearer token: `authorization: Bearer …`.
///
/// # Errors
/// A token that is empty, or holds what RFC 6750 section 2.1 does not allow; it is not repeated.
pub fn bearer(token: &str) -> Result<(String, Template), ParseError> {
    let wanted = "a bearer token of letters, digits and -._~+/=";
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._~+/=".contains(c);
    if token.is_empty() {
        return Err(ParseError::new(wanted, "", 0, 0));
    }
    if let Some((at, c)) = token.char_indices().find(|&(_, c)| !allowed(c)) {
        let found = "another character";
        return Err(ParseError::new(wanted, found, at, c.len_utf8()));
    }
    let value = format!("Bearer {token}").into_bytes();
    Ok(("authorization".to_owned(), Template::secret(value)))
}
