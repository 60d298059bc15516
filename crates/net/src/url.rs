//! URLs: read as RFC 3986 splits them (section 3), into what a client needs, which is where to
//! connect and the request target (RFC 9112, section 3.2.1).
//!
//! Bytes beyond ASCII in the path or the query are percent-encoded as UTF-8 (RFC 3987, section
//! 3.1). What could end a request line or a header (blanks, control characters) is refused.
//!
//! [`Parts`] are those of any scheme; a [`Url`] is one of HTTP, at a host and a port.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};

use plimsoll_units::ParseError;

/// The longest URL that is accepted, in bytes.
pub const MAX_URL_BYTES: usize = 65_536;

/// The longest request target, percent-encoded: what is left of a URL beside scheme and host.
pub const MAX_TARGET_BYTES: usize = MAX_URL_BYTES - 512;

/// The longest path of a Unix socket: `sun_path` of Linux less the final NUL.
const MAX_SOCKET_PATH: usize = 107;

/// A URL of HTTP: where to connect, and what to ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// Whether it is `https`.
    pub secure: bool,
    /// A name or an address in lower case, without the brackets of IPv6.
    pub host: String,
    /// 80 or 443 where the URL names none.
    pub port: u16,
    /// Path and query; `/` where the URL has none.
    pub path: String,
}

impl Url {
    /// Reads `http://HOST[:PORT][/PATH]` or the same of `https`. Without a scheme it is `http`.
    ///
    /// # Errors
    /// Says what was wanted where for anything else, as for user information and a fragment.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let scheme = if text.is_empty() || text.contains("://") { "" } else { "http://" };
        let whole = format!("{scheme}{text}");
        Self::with_scheme(&whole).map_err(|error| {
            let error = without_secret(&whole, error);
            ParseError { at: error.at.saturating_sub(scheme.len()), ..error }
        })
    }

    fn with_scheme(text: &str) -> Result<Self, ParseError> {
        let parts = Parts::split(text)?;
        let wrong = |wanted: &str, found: &str, at| ParseError::new(wanted, found, at, found.len());
        let secure = match parts.scheme {
            "http" => false,
            "https" => true,
            other => return Err(wrong("the scheme http or https", other, 0)),
        };
        if parts.user_info.is_some() {
            return Err(ParseError::new("a URL without user and password", "@", parts.at - 1, 1));
        }
        if let Some(at) = text.find('#') {
            return Err(wrong("a URL without a fragment", &text[at..], at));
        }
        let (host, port) = parts.host_and_port()?;
        if !is_host(&host) {
            return Err(wrong("a host name of letters, digits, - and .", &host, parts.at));
        }
        let port = port.unwrap_or(own_port(secure));
        Ok(Self { secure, host, port, path: parts.target()? })
    }

    /// Host and, unless it is the scheme's own, port: the value of `Host`.
    #[must_use]
    pub fn authority(&self) -> String {
        authority(&self.host, self.port, own_port(self.secure))
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

fn own_port(secure: bool) -> u16 {
    if secure { 443 } else { 80 }
}

/// A host and its port, where that is not the scheme's own.
#[must_use]
pub fn authority(host: &str, port: u16, own_port: u16) -> String {
    let host = bracketed(host);
    if port == own_port { host } else { format!("{host}:{port}") }
}

/// A host as it stands in a URL: IPv6 in brackets.
#[must_use]
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

/// A URL of any scheme, split; what its parts hold is read by the methods.
#[derive(Clone, Copy)]
pub struct Parts<'a> {
    text: &'a str,
    /// What stands before `://`.
    pub scheme: &'a str,
    /// What stands before an `@`, percent-encoded. It may be a password.
    pub user_info: Option<&'a str>,
    /// Where the host begins, in bytes, and where the path does.
    at: usize,
    end: usize,
}

impl<'a> Parts<'a> {
    /// Splits a URL.
    ///
    /// # Errors
    /// One that is too long, has no scheme, or holds blanks or control characters. The error may
    /// repeat a password: see [`without_secret`].
    pub fn split(text: &'a str) -> Result<Self, ParseError> {
        refuse_unfit(text)?;
        let Some(colon) = text.find("://") else { return Err(no_scheme(text)) };
        let start = colon + 3;
        let end = text[start..].find(['/', '?', '#']).map_or(text.len(), |at| start + at);
        let sign = text[start..end].rfind('@').map(|sign| start + sign);
        let user_info = sign.map(|sign| &text[start..sign]);
        let at = sign.map_or(start, |sign| sign + 1);
        Ok(Self { text, scheme: &text[..colon], user_info, at, end })
    }

    /// What follows the host, as it was written, and where that begins, in bytes.
    #[must_use]
    pub fn rest(&self) -> (&'a str, usize) {
        (&self.text[self.end..], self.end)
    }

    /// Path and query as they go on a request line; the fragment is dropped.
    ///
    /// # Errors
    /// One that is too long.
    pub fn target(&self) -> Result<String, ParseError> {
        target(&self.text[self.end..]).map_err(|error| error.shifted(self.end))
    }

    /// Host and port; an IPv6 address without its brackets.
    ///
    /// # Errors
    /// What is no name, address or port.
    pub fn host_and_port(&self) -> Result<(String, Option<u16>), ParseError> {
        let text = &self.text[self.at..self.end];
        if text.is_empty() {
            let error = ParseError::new("a host after //", "", self.at, 0);
            return Err(error.hint("write http://localhost:8080/"));
        }
        if let Some(rest) = text.strip_prefix('[') {
            let Some(close) = rest.find(']') else {
                let wanted = "] after an IPv6 address";
                return Err(ParseError::new(wanted, text, self.at, text.len()));
            };
            let address = &rest[..close];
            if address.parse::<Ipv6Addr>().is_err() {
                let wanted = "an IPv6 address such as [::1]";
                return Err(ParseError::new(wanted, address, self.at + 1, address.len()));
            }
            let port = self.port(self.at + close + 2)?;
            return Ok((address.to_ascii_lowercase(), port));
        }
        let colon = text.find(':').unwrap_or(text.len());
        if text[colon..].matches(':').count() > 1 && text.parse::<Ipv6Addr>().is_ok() {
            let error = ParseError::new("an IPv6 address in brackets", text, self.at, text.len());
            return Err(error.hint(format!("write [{text}]")));
        }
        let host = self.host(&text[..colon])?;
        Ok((host, self.port(self.at + colon)?))
    }

    /// A name or an IPv4 address: letters, digits, `-`, `.` and `_`.
    fn host(&self, name: &str) -> Result<String, ParseError> {
        let wrong = |wanted: &str, at: usize, found: &str| {
            Err(ParseError::new(wanted, found, self.at + at, found.len()))
        };
        if name.is_empty() {
            return Err(ParseError::new("a host before the port", "", self.at, 0));
        }
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        if let Some((at, c)) = name.char_indices().find(|&(_, c)| !allowed(c)) {
            let found = &name[at..at + c.len_utf8()];
            let error = wrong("a host name of letters, digits, - and .", at, found);
            return if c.is_ascii() {
                error
            } else {
                error.map_err(|e| e.hint("write the name in its ASCII form (xn--…)"))
            };
        }
        let numeric = name.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        if numeric && name.parse::<Ipv4Addr>().is_err() {
            return wrong("an IPv4 address such as 127.0.0.1", 0, name);
        }
        if name.len() > 253 {
            return wrong("a host name of at most 253 bytes", 0, name);
        }
        Ok(name.to_ascii_lowercase())
    }

    /// What follows the host, from `at`: nothing, or a colon and a port.
    fn port(&self, at: usize) -> Result<Option<u16>, ParseError> {
        let rest = &self.text[at..self.end];
        let wrong = |found: &str, at: usize| {
            let wanted = "a port between 1 and 65535";
            Err(ParseError::new(wanted, found, at, found.len()))
        };
        match rest.strip_prefix(':') {
            None if rest.is_empty() => Ok(None),
            None => wrong(rest, at),
            // RFC 3986 section 3.2.3: an empty port is the scheme's own.
            Some("") => Ok(None),
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                match digits.parse::<u16>() {
                    Ok(port) if port > 0 => Ok(Some(port)),
                    _ => wrong(digits, at + 1),
                }
            }
            Some(other) => wrong(other, at + 1),
        }
    }

    /// The percent-decoded path of a Unix socket, which stands in the host's place.
    ///
    /// # Errors
    /// What is no absolute path, or too long a one.
    pub fn socket_path(&self) -> Result<PathBuf, ParseError> {
        let text = &self.text[self.at..self.end];
        let len = text.len();
        let wanted = "the path of a Unix socket, its slashes written %2F";
        let wrong = |found: &str| ParseError::new(wanted, found, self.at, len);
        if text.is_empty() {
            let error = ParseError::new(wanted, "", self.at, 0);
            let path = &self.text[self.end..];
            return Err(if path.starts_with('/') && path.len() <= LONGEST_IN_HINT {
                let path = path.replace('/', "%2F");
                error.hint(format!("write http+unix://{path}/"))
            } else {
                error
            });
        }
        let bytes = percent_decode(text.as_bytes());
        if bytes.first() != Some(&b'/') {
            return Err(wrong(text).hint("an absolute path: http+unix://%2Frun%2Fserver.sock/"));
        }
        if bytes.contains(&0) {
            return Err(wrong("a NUL byte"));
        }
        if bytes.len() > MAX_SOCKET_PATH {
            let found = format!("{} bytes", bytes.len());
            let wanted = "a socket path of at most 107 bytes";
            return Err(ParseError::new(wanted, &found, self.at, len));
        }
        match String::from_utf8(bytes) {
            Ok(path) => Ok(PathBuf::from(path)),
            Err(_) => Err(wrong("bytes that are not UTF-8")),
        }
    }
}

/// Blanks and control characters end a request line: none may pass. Nor may what is too long.
///
/// # Errors
/// Says which, and where.
pub fn refuse_unfit(text: &str) -> Result<(), ParseError> {
    if text.len() > MAX_URL_BYTES {
        let found = format!("{} bytes", text.len());
        return Err(ParseError::new("a URL of at most 65536 bytes", &found, 0, text.len()));
    }
    let Some((at, c)) = text.char_indices().find(|(_, c)| c.is_whitespace() || c.is_control())
    else {
        return Ok(());
    };
    let wanted = "a URL without blanks or control characters";
    let error = ParseError::new(wanted, &text[at..at + c.len_utf8()], at, c.len_utf8());
    let is_version = text[at..].trim().rsplit(' ').next().is_some_and(|of| of.starts_with("HTTP/"));
    let hint = match is_version {
        true => "write the URL alone: --method and --http say the others",
        false => "write %20 for a blank",
    };
    Err(if c == ' ' { error.hint(hint) } else { error })
}

/// A URL that is longer is not repeated in a hint.
const LONGEST_IN_HINT: usize = 200;

fn no_scheme(text: &str) -> ParseError {
    const WANTED: &str = "a URL such as http://localhost:8080/";
    if text.is_empty() {
        return ParseError::new(WANTED, "", 0, 0);
    }
    let error = ParseError::new(WANTED, text, 0, text.len());
    if text.contains('@') {
        return error.hint("put the scheme first: http://user:password@host/");
    }
    if text.len() > LONGEST_IN_HINT {
        return error;
    }
    if text.starts_with('/') {
        return error.hint(format!("put the server before the path: http://localhost{text}"));
    }
    let slash = if text.contains(['/', '?', '#']) { "" } else { "/" };
    error.hint(format!("put the scheme first: http://{text}{slash}"))
}

/// What stands before an `@` may be a password, even one whose `/` was not percent-encoded, so
/// that it looks like a port: the error does not repeat it. A scheme may be shown.
#[must_use]
pub fn without_secret(text: &str, mut error: ParseError) -> ParseError {
    let Some(sign) = text.rfind('@') else { return error };
    let is_scheme = error.at == 0 && error.found.bytes().all(|b| b.is_ascii_alphanumeric());
    if error.at <= sign && !is_scheme && !error.found.is_empty() {
        error.found = "…".to_owned();
        let advice = "write / ? # and @ within a user or a password as %2F %3F %23 and %40";
        error.hint.get_or_insert_with(|| advice.to_owned());
    }
    error
}

/// Path and query of what follows the authority, ready for a request line; a fragment is
/// dropped.
///
/// # Errors
/// One that is too long.
pub fn target(text: &str) -> Result<String, ParseError> {
    let text = text.split('#').next().unwrap_or("");
    let mut target = String::with_capacity(text.len() + 1);
    if !text.starts_with('/') {
        target.push('/');
    }
    for c in text.chars() {
        if c.is_ascii() {
            target.push(c);
        } else {
            push_encoded(&mut target, c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    if target.len() > MAX_TARGET_BYTES {
        let found = format!("{} bytes", target.len());
        let wanted = "a path and query of at most 65024 bytes when percent-encoded";
        return Err(ParseError::new(wanted, &found, 0, text.len()));
    }
    Ok(target)
}

fn push_encoded(out: &mut String, bytes: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in bytes {
        out.push('%');
        out.push(char::from(HEX[usize::from(byte >> 4)]));
        out.push(char::from(HEX[usize::from(byte & 15)]));
    }
}

/// The path of a Unix socket as it stands in a URL.
#[must_use]
pub fn encode_socket_path(path: &Path) -> String {
    let mut out = String::new();
    for byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(*byte));
        } else {
            push_encoded(&mut out, &[*byte]);
        }
    }
    out
}

/// Percent-decoding; a `%` that two hex digits do not follow stands for itself.
#[must_use]
pub fn percent_decode(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte == b'%'
            && let [high, low, after @ ..] = tail
            && let (Some(high), Some(low)) = (hex(*high), hex(*low))
        {
            out.push(high << 4 | low);
            rest = after;
        } else {
            out.push(byte);
        }
    }
    out
}

fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}
