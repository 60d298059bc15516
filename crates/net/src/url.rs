//! URLs as far as they are needed here: `http://HOST[:PORT][/PATH]`.
//!
//! Source: RFC 3986, sections 3.2 and 3.3, without user information and fragment.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use crate::http::client::Error;

/// An address of the web, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// It is `https`.
    pub secure: bool,
    /// A name or an address, without the brackets of IPv6.
    pub host: String,
    /// 80 or 443 where nothing is said.
    pub port: u16,
    /// Path and query; `/` where nothing is said.
    pub path: String,
}

impl Url {
    /// Takes a URL apart. Without a scheme it is `http`.
    ///
    /// # Errors
    /// [`Error::Url`] for anything else.
    pub fn parse(text: &str) -> Result<Self, Error> {
        take_apart(text).ok_or_else(|| Error::Url(text.to_owned()))
    }

    /// Host and, unless it is the scheme's own, port: the value of `Host`.
    #[must_use]
    pub fn authority(&self) -> String {
        let host = bracketed(&self.host);
        let own = if self.secure { 443 } else { 80 };
        if self.port == own { host } else { format!("{host}:{}", self.port) }
    }

    /// The same host with `path` behind what this URL's path ends with, one slash between.
    #[must_use]
    pub fn join(&self, path: &str) -> Self {
        let base = self.path.trim_end_matches('/');
        let path = format!("{base}/{}", path.trim_start_matches('/'));
        Self { path, ..self.clone() }
    }
}

impl fmt::Display for Url {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.secure { "https" } else { "http" };
        write!(formatter, "{scheme}://{}{}", self.authority(), self.path)
    }
}

/// A host as it stands in a URL: IPv6 in brackets.
pub fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

/// Whether a text is an address or a name of `[A-Za-z0-9.-]`, at most 253 bytes.
///
/// What passes may stand in commands, in files that a shell reads and in URLs.
#[must_use]
pub fn is_host(text: &str) -> bool {
    let is_name = (1..=253).contains(&text.len())
        && !text.starts_with(['-', '.'])
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'.' || b == b'-');
    is_name || text.parse::<IpAddr>().is_ok()
}

fn take_apart(text: &str) -> Option<Url> {
    let (secure, rest) = match text.split_once("://") {
        Some(("http", rest)) => (false, rest),
        Some(("https", rest)) => (true, rest),
        Some(_) => return None,
        None => (false, text),
    };
    let begin = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(begin);
    if !path.bytes().all(|b| b.is_ascii_graphic() && b != b'#') {
        return None;
    }
    let (host, port) = if let Some(inner) = authority.strip_prefix('[') {
        let (host, after) = inner.split_once(']')?;
        host.parse::<Ipv6Addr>().ok()?;
        (host, after.strip_prefix(':').or(after.is_empty().then_some(""))?)
    } else {
        authority.split_once(':').unwrap_or((authority, ""))
    };
    if !is_host(host) {
        return None;
    }
    let port = match port {
        "" => 80 + 363 * u16::from(secure),
        digits if digits.bytes().all(|b| b.is_ascii_digit()) => digits.parse().ok()?,
        _ => return None,
    };
    let slash = if path.starts_with('/') { "" } else { "/" };
    let path = format!("{slash}{path}");
    (port > 0).then(|| Url { secure, host: host.to_owned(), port, path })
}
