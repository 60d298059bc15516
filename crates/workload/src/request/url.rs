//! URLs of the servers under load: of HTTP and of the stores, and each without TLS over a Unix
//! socket.
//!
//! A URL is read as RFC 3986 splits it (section 3), and kept in the form a driver needs: where to
//! connect, and the request target (RFC 9112 section 3.2.1). Bytes beyond ASCII in the path or the
//! query are percent-encoded as UTF-8 (RFC 3987 section 3.1), a fragment is dropped. Everything
//! that could end a request line or a header (blanks, control characters) is refused.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};

use plimsoll_units::ParseError;

use super::auth::Credentials;
use super::scheme::{Databases, Scheme};

/// The longest URL that is accepted, in bytes.
pub const MAX_URL_BYTES: usize = 65_536;

/// The longest request target, percent-encoded: what is left of a URL beside scheme and host.
pub const MAX_TARGET_BYTES: usize = MAX_URL_BYTES - 512;

/// The longest path of a Unix socket: `sun_path` of Linux less the final NUL.
const MAX_SOCKET_PATH: usize = 107;

/// The longest name of a SQL database: 64 characters of MySQL, 63 bytes of PostgreSQL.
const MAX_DATABASE_NAME: usize = 256;
/// The longest name of a keyspace of Cassandra.
const MAX_KEYSPACE_NAME: usize = 48;

/// Where to connect and what to ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// What the connection speaks.
    pub scheme: Scheme,
    /// Name or address, lower case; an IPv6 address without its brackets. `localhost` for a Unix
    /// socket.
    pub host: String,
    /// The port, the scheme's own where the URL names none.
    pub port: u16,
    /// Path and query as they go on the request line: starts with `/`, visible ASCII only.
    pub target: String,
    /// The Unix socket to connect to instead of host and port.
    pub unix: Option<PathBuf>,
    /// What stood before the `@`; shown by neither `Debug` nor `Display`.
    /// [`Request::new`](super::Request::new) makes a header of it.
    pub credentials: Option<Credentials>,
}

impl Url {
    /// Reads a URL: `http://host/path`, `https://[::1]:8443/`, `http://user:pw@host/`,
    /// `http+unix://%2Frun%2Fx.sock/path`.
    ///
    /// # Errors
    /// Names what was wanted at which byte; in an error nothing before an `@` is repeated.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        Self::parse_open(text).map_err(|error| hide(text, error))
    }

    /// [`Url::parse`], whose errors may repeat a password.
    fn parse_open(text: &str) -> Result<Self, ParseError> {
        refuse_unfit(text)?;
        let Some(colon) = text.find("://") else { return Err(no_scheme(text)) };
        let (scheme, over_unix) = Scheme::parse(&text[..colon])?;
        let start = colon + 3;
        let end = text[start..].find(['/', '?', '#']).map_or(text.len(), |at| start + at);
        let (credentials, at) = match text[start..end].rfind('@') {
            Some(sign) => {
                (Some(Credentials::from_user_info(&text[start..start + sign])), start + sign + 1)
            }
            None => (None, start),
        };
        let authority = Authority { text, at, end };
        let target = target_of(&text[end..]).map_err(|error| error.shifted(end))?;
        if over_unix {
            let unix = Some(authority.socket_path()?);
            let host = "localhost".to_owned();
            let port = scheme.default_port();
            return Ok(Self { scheme, host, port, target, unix, credentials });
        }
        let (host, port) = authority.host_and_port()?;
        let port = port.unwrap_or(scheme.default_port());
        Ok(Self { scheme, host, port, target, unix: None, credentials })
    }

    /// The same server asked for another path: `text` is a path with its query (`/a?b=1`), or a
    /// whole URL, which is taken as it is.
    ///
    /// # Errors
    /// As for [`Url::parse`].
    pub fn join(&self, text: &str) -> Result<Self, ParseError> {
        if !text.starts_with('/') {
            return Self::parse(text);
        }
        refuse_unfit(text)?;
        Ok(Self { target: target_of(text)?, ..self.clone() })
    }

    /// The database that the path of a store's URL names: `/3` of Redis, a name of SQL, percent-
    /// decoded. Empty where the store has one only, or numbers them and none is given.
    ///
    /// # Errors
    /// A path that is no number below a million where databases have numbers, none or no name where
    /// they have names, and any path where there is one database only.
    pub fn database(&self) -> Result<String, ParseError> {
        let text = self.target.strip_prefix('/').unwrap_or(&self.target);
        let wrong = |wanted: &str| ParseError::new(wanted, &self.target, 0, self.target.len());
        match self.scheme.databases() {
            Databases::Names => self.database_name(text),
            Databases::Words => {
                let is_word = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                if is_word && (1..=MAX_KEYSPACE_NAME).contains(&text.len()) {
                    return Ok(text.to_owned());
                }
                let error = wrong("a keyspace as the path: up to 48 letters, digits and _");
                Err(error.hint(format!("write cassandra://{}/test", self.authority())))
            }
            Databases::None | Databases::Numbers if text.is_empty() => Ok(String::new()),
            Databases::None => Err(wrong("no path behind the server: it has no databases")),
            Databases::Numbers => {
                let digits = text.len() <= 6 && text.bytes().all(|byte| byte.is_ascii_digit());
                let number = text.parse::<u32>().ok().filter(|_| digits);
                number.map(|number| number.to_string()).ok_or_else(|| {
                    wrong("the number of a database as the path")
                        .hint("write redis://127.0.0.1:6379/0")
                })
            }
        }
    }

    /// A name of a SQL database: what the path says, without a query.
    fn database_name(&self, text: &str) -> Result<String, ParseError> {
        let name = String::from_utf8(percent_decode(text.as_bytes())).unwrap_or_default();
        let is_plain = !text.contains(['/', '?']) && !name.contains(|c: char| c.is_control());
        if is_plain && (1..=MAX_DATABASE_NAME).contains(&name.len()) {
            return Ok(name);
        }
        let wanted = "the name of a database as the path";
        let error = ParseError::new(wanted, &self.target, 0, self.target.len());
        Err(error.hint(format!("write {}://user@{}/test", self.scheme.name(), self.authority())))
    }

    /// The value of the `host` header and of `:authority`: the host, an IPv6 address in its
    /// brackets, and the port where it is not the scheme's own.
    #[must_use]
    pub fn authority(&self) -> String {
        let (open, close) = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        if self.port == self.scheme.default_port() {
            format!("{open}{}{close}", self.host)
        } else {
            format!("{open}{}{close}:{}", self.host, self.port)
        }
    }
}

impl fmt::Display for Url {
    /// The URL without its credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.unix {
            Some(path) => {
                let path = encode_socket_path(path);
                write!(f, "{}+unix://{path}{}", self.scheme.name(), self.target)
            }
            None => write!(f, "{}://{}{}", self.scheme.name(), self.authority(), self.target),
        }
    }
}

impl std::str::FromStr for Url {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text)
    }
}

/// Blanks and control characters end a request line: none may pass. Nor may what is too long.
fn refuse_unfit(text: &str) -> Result<(), ParseError> {
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
    Err(if c == ' ' { error.hint("write %20 for a blank") } else { error })
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
/// that it looks like a port: errors do not repeat it. A scheme may be shown.
fn hide(text: &str, mut error: ParseError) -> ParseError {
    let Some(sign) = text.rfind('@') else { return error };
    let is_scheme = error.at == 0 && error.found.bytes().all(|b| b.is_ascii_alphanumeric());
    if error.at <= sign && !is_scheme && !error.found.is_empty() {
        error.found = "…".to_owned();
        let advice = "write / ? # and @ within a user or a password as %2F %3F %23 and %40";
        error.hint.get_or_insert_with(|| advice.to_owned());
    }
    error
}

/// The part between `//` and the path, `text[at..end]`, user information taken off.
struct Authority<'a> {
    text: &'a str,
    at: usize,
    end: usize,
}

impl Authority<'_> {
    fn host_and_port(&self) -> Result<(String, Option<u16>), ParseError> {
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

    /// The percent-decoded path of a Unix socket.
    fn socket_path(&self) -> Result<PathBuf, ParseError> {
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

/// Path and query of what follows the authority, ready for a request line.
fn target_of(text: &str) -> Result<String, ParseError> {
    let text = text.split('#').next().unwrap_or("");
    if let Some(at) = text.find("{{") {
        let error = ParseError::new("a URL without placeholders", &text[at..], at, text.len() - at);
        return Err(error.hint("placeholders serve headers and bodies; for many URLs give a list"));
    }
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

fn encode_socket_path(path: &Path) -> String {
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
pub(super) fn percent_decode(text: &[u8]) -> Vec<u8> {
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
