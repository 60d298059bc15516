//! Forward proxies: `http://proxy.example:3128`, with a user and a password before an `@`.

use std::fmt;

use plimsoll_net::url::{self, Parts};
use plimsoll_units::ParseError;
use plimsoll_workload::request::{Credentials, Url};

use crate::reading::secret::REDACTED;

const WANTED: &str = "a proxy such as http://127.0.0.1:3128";

/// A forward proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy {
    /// Name or address, lower case; an IPv6 address without its brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// User and password. Never printed.
    pub credentials: Option<Credentials>,
    /// Whether a printed plan has left them out.
    pub(crate) is_redacted: bool,
}

impl Proxy {
    /// Reads a proxy that is spoken to in plain HTTP; `http://` may be left out.
    ///
    /// # Errors
    /// Another scheme, no port, a path. Nothing before an `@` is repeated.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let scheme = if text.contains("://") { "" } else { "http://" };
        let whole = format!("{scheme}{text}");
        Self::read(&whole).map_err(|error| {
            let error = url::without_secret(&whole, error);
            ParseError { at: error.at.saturating_sub(scheme.len()), ..error }
        })
    }

    fn read(text: &str) -> Result<Self, ParseError> {
        let url = Url::parse_literal(text)?;
        let wrong = |hint: &str| ParseError::new(WANTED, "another", 0, text.len()).hint(hint);
        if url.scheme.is_secure || url.unix.is_some() {
            return Err(wrong("the proxy itself is spoken to in plain HTTP, over TCP"));
        }
        let parts = Parts::split(text)?;
        let (rest, at) = parts.rest();
        if !matches!(rest, "" | "/") {
            return Err(ParseError::new("no path behind a proxy", rest, at, rest.len()));
        }
        if parts.host_and_port()?.1.is_none() {
            return Err(wrong("say its port: 3128 is that of Squid"));
        }
        let is_redacted = parts.user_info == Some(REDACTED);
        let credentials = url.credentials.filter(|_| !is_redacted);
        Ok(Self { host: url.host, port: url.port, credentials, is_redacted })
    }

    /// Host and port.
    #[must_use]
    pub fn authority(&self) -> String {
        format!("{}:{}", url::bracketed(&self.host), self.port)
    }
}

/// As a printed plan has it: without user and password.
impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_hidden = self.is_redacted || self.credentials.is_some();
        let hidden = if is_hidden { format!("{REDACTED}@") } else { String::new() };
        write!(f, "http://{hidden}{}", self.authority())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_read_and_its_password_never_written() {
        let plain = Proxy::parse("Proxy.example:3128").unwrap();
        assert_eq!(plain.to_string(), "http://proxy.example:3128");
        assert_eq!(Proxy::parse(&plain.to_string()), Ok(plain));
        assert_eq!(Proxy::parse("http://[::1]:3128/").unwrap().authority(), "[::1]:3128");
        let secret = Proxy::parse("http://me:s3cret@h:3128").unwrap();
        assert!(secret.credentials.is_some() && !format!("{secret:?} {secret}").contains("s3cret"));
        let again = Proxy::parse(&secret.to_string()).unwrap();
        assert!(again.is_redacted && again.credentials.is_none());
        for wrong in ["", "h", "http://h", "https://h:1", "http+unix://%2Fx/", "h:1/x", "h:1?x"] {
            assert!(Proxy::parse(wrong).is_err(), "{wrong}");
        }
        for wrong in ["http://me:s3cret@h", "ftp://me:s3cret@h:1", "me:s3cret@h:x"] {
            let error = Proxy::parse(wrong).unwrap_err();
            assert!(!format!("{error} {:?}", error.hint).contains("s3cret"), "{error}");
        }
    }
}
