//! Secrets: passwords, tokens, cookies. They are used, and never shown.

use std::fmt;

use plimsoll_units::nearest;

/// What stands in the place of a secret.
pub(crate) const REDACTED: &str = "…redacted…";

/// A value that must never be printed: `Debug` and the printed plan show `…redacted…`.
///
/// A plan that was printed has lost its secrets: read again, they are [`Secret::redacted`], and
/// whoever executes it asks [`crate::Plan::redacted`] first.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Option<String>);

impl Secret {
    /// A known secret.
    #[must_use]
    pub fn new(value: impl Into<String>) -> Self {
        Self(Some(value.into()))
    }

    /// A secret that a printed plan left out.
    #[must_use]
    pub fn redacted() -> Self {
        Self(None)
    }

    /// The value, to be sent and nothing else; none where it was left out.
    #[must_use]
    pub fn reveal(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// Reads a value of a plan: the printed mark stands for a secret that was left out.
    pub(crate) fn read(value: &str) -> Self {
        if value == REDACTED { Self::redacted() } else { Self::new(value) }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

/// Words that announce a secret, in keys and in header names.
const WORDS: [&str; 10] = [
    "basic", "bearer", "auth", "token", "secret", "password", "passwd", "cookie", "api-key",
    "apikey",
];

/// Whether what stands under a key, or in a header of that name, is a secret.
///
/// A misspelt `bearr` counts too: its value would be shown beside the complaint about its name.
/// So does `bearer_env`, where people put the token itself by mistake.
pub(crate) fn key_is_secret(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    WORDS.iter().any(|word| key.contains(word))
        || nearest(&key, ["basic", "bearer", "authorization", "cookie"]).is_some()
}

/// Whether a line of a text that could not be read may hold a secret.
pub(crate) fn line_is_secret(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    let key = line.trim_start().split(['=', ' ', '\t', '"']).next().unwrap_or_default();
    let name = key.rsplit('.').next().unwrap_or(key);
    WORDS.iter().any(|word| line.contains(word)) || key_is_secret(name) || holds_password(&line)
}

/// Whether a text under a key is a secret though neither says so: a proxy with a password, without
/// its scheme.
pub(crate) fn proxy_is_secret(key: &str, text: &str) -> bool {
    key == "through" && text.contains('@')
}

/// Whether a text is a secret whatever its key: a URL with a password, a header of credentials.
pub(crate) fn text_is_secret(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let header = ["authorization:", "cookie:", "bearer ", "basic "];
    holds_password(text) || header.iter().any(|start| lower.contains(start))
}

/// Whether a URL in `text` has a name and a password in it. A name alone may be a token, but that
/// of a broker's user, which is told beside its password.
pub(crate) fn holds_password(text: &str) -> bool {
    text.match_indices("://").any(|(at, mark)| {
        let (before, rest) = (&text[..at], &text[at + mark.len()..]);
        let authority = rest.split(['/', '?', '#', '"', '\'', ' ']).next().unwrap_or_default();
        let is_broker = before.ends_with("amqp") || before.ends_with("amqps");
        let name = authority.rsplit_once('@').map(|(name, _)| name);
        name.is_some_and(|name| !is_broker || name.contains(':'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_never_shown() {
        let secret = Secret::new("hunter2");
        assert_eq!(format!("{secret:?}"), REDACTED);
        assert_eq!(secret.reveal(), Some("hunter2"));
        assert_eq!(Secret::read(REDACTED).reveal(), None);
    }

    #[test]
    fn is_recognised_by_its_key() {
        for key in ["basic", "Authorization", "bearr", "X-Auth-Token", "Set-Cookie", "X-API-Key"] {
            assert!(key_is_secret(key), "{key}");
        }
        for key in ["url", "Accept", "rate", "body", "headers", "base"] {
            assert!(!key_is_secret(key), "{key}");
        }
        assert!(holds_password("http://user:pw@host/"));
        assert!(!holds_password("http://host/a@b"));
        assert!(holds_password("http://token@host/") && holds_password("amqps://me:pw@host"));
        assert!(!holds_password("bus = 'amqps://me@host/fleet'"));
        assert!(line_is_secret("headers = { Authorization = 'Bearer x'"));
        assert!(!line_is_secret("rate = 500/s"));
    }
}
