//! Request heads, RFC 9112 sections 3 to 6, read strictly: what is not clearly right is refused,
//! so that a load generator's mistake shows as an error instead of passing.
//!
//! Stricter than the RFC allows a server to be: lines end in CRLF only, no folded header lines,
//! `chunked` is the one transfer coding, and a length beside it is refused.

use crate::counters;

/// Longest head that is read, bytes, from the request line to the empty line.
pub const MAX_HEAD: usize = 16 * 1024;

/// Why a request is refused; the answer says so and the connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reject {
    /// 400: not a request as RFC 9112 writes them.
    Bad,
    /// 431: the head is longer than [`MAX_HEAD`].
    TooLarge,
    /// 501: a method or a transfer coding that this server does not know.
    NotImplemented,
    /// 505: neither HTTP/1.1 nor HTTP/1.0.
    Version,
}

/// How the body after a head is delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// So many bytes, often none.
    Length(u64),
    /// Chunks until one of length zero, RFC 9112 section 7.1.
    Chunked,
}

/// What the connection does after the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// HTTP/1.1's default: it stays open.
    Keep,
    /// It is closed.
    Close,
    /// HTTP/1.0 that asked for it to stay open, and is told that it does.
    Keep10,
}

impl Link {
    /// The header that says it; empty where nothing has to be said.
    pub(crate) fn header(self) -> &'static str {
        match self {
            Self::Keep => "",
            Self::Close => "Connection: close\r\n",
            Self::Keep10 => "Connection: keep-alive\r\n",
        }
    }
}

/// What a head asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Its length in bytes, the empty line included.
    pub len: usize,
    /// How long its body is.
    pub framing: Framing,
    /// What becomes of the connection.
    pub link: Link,
    /// HEAD: the answer has no body.
    pub is_head: bool,
    /// It asks for the server's own counters, at [`crate::counters::PATH`].
    pub is_of_counters: bool,
    /// The client waits for `100 Continue` before it sends the body.
    pub expects_continue: bool,
}

/// Reads the head at the beginning of `bytes`; `None` when it is not complete yet.
///
/// # Errors
///
/// A [`Reject`] as soon as the bytes cannot become an acceptable head, however they go on.
pub fn parse(bytes: &[u8]) -> Result<Option<Head>, Reject> {
    if bytes == b"\r" {
        // The beginning of an empty line, which may stand before a request.
        return Ok(None);
    }
    let window = &bytes[..bytes.len().min(MAX_HEAD)];
    match (Cursor { bytes: window, at: 0 }).head() {
        Ok(head) => Ok(Some(head)),
        Err(Stop::Partial) if bytes.len() >= MAX_HEAD => Err(Reject::TooLarge),
        Err(Stop::Partial) => Ok(None),
        Err(Stop::Reject(reject)) => Err(reject),
    }
}

/// Why reading stopped before the end of the head.
enum Stop {
    /// The bytes ended.
    Partial,
    Reject(Reject),
}

const BAD: Stop = Stop::Reject(Reject::Bad);

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// What the header lines said so far.
#[derive(Default)]
struct Fields {
    length: Option<u64>,
    is_chunked: bool,
    hosts: u32,
    close: bool,
    keep_alive: bool,
    expects_continue: bool,
}

impl<'a> Cursor<'a> {
    fn head(&mut self) -> Result<Head, Stop> {
        let is_head = self.method()?;
        let is_of_counters = self.target()?;
        let is_http10 = self.version()?;
        let mut fields = Fields::default();
        while !self.ends()? {
            let name = self.name()?;
            let value = self.value()?;
            fields.take(name, value)?;
        }
        let one_host = if is_http10 { fields.hosts <= 1 } else { fields.hosts == 1 };
        if !one_host || (fields.is_chunked && (fields.length.is_some() || is_http10)) {
            return Err(BAD);
        }
        let link = match (fields.close, is_http10, fields.keep_alive) {
            (true, _, _) | (false, true, false) => Link::Close,
            (false, true, true) => Link::Keep10,
            (false, false, _) => Link::Keep,
        };
        let framing = match fields.is_chunked {
            true => Framing::Chunked,
            false => Framing::Length(fields.length.unwrap_or(0)),
        };
        let expects_continue = fields.expects_continue && !is_http10;
        let len = self.at;
        Ok(Head { len, framing, link, is_head, is_of_counters, expects_continue })
    }

    /// Whether the method is HEAD; refuses methods this server does not know.
    fn method(&mut self) -> Result<bool, Stop> {
        let method = self.until(b' ', is_token)?;
        match method {
            b"GET" | b"POST" | b"PUT" | b"DELETE" | b"PATCH" | b"OPTIONS" => Ok(false),
            b"HEAD" => Ok(true),
            b"" => Err(BAD),
            _ => Err(Stop::Reject(Reject::NotImplemented)),
        }
    }

    /// Reads the target in origin form (`/…`), absolute form (`http://…`) or `*`. Returns whether it
    /// is the path of the server's own counters; nothing else depends on it.
    fn target(&mut self) -> Result<bool, Stop> {
        match self.until(b' ', |byte| byte.is_ascii_graphic() || byte >= 0x80)? {
            b"" => Err(BAD),
            origin @ [b'/', ..] => Ok(origin == counters::PATH.as_bytes()),
            b"*" => Ok(false),
            absolute if absolute.windows(3).any(|part| part == b"://") => Ok(false),
            _ => Err(BAD),
        }
    }

    /// Whether it is HTTP/1.0, and not 1.1.
    fn version(&mut self) -> Result<bool, Stop> {
        let rest = &self.bytes[self.at..];
        let expected = b"HTTP/1.";
        let known = rest.len().min(expected.len());
        if rest[..known] != expected[..known] {
            return Err(match rest.starts_with(b"HTTP/") {
                true => Stop::Reject(Reject::Version),
                // `HTT` may yet become either; what differs from `HTTP/` already may not.
                false => BAD,
            });
        }
        let &[minor, ref line_end @ ..] = rest.get(expected.len()..).unwrap_or_default() else {
            return Err(Stop::Partial);
        };
        let is_http10 = match minor {
            b'0' => true,
            b'1' => false,
            _ => return Err(Stop::Reject(Reject::Version)),
        };
        self.at += expected.len() + 1;
        match line_end {
            [b'\r', b'\n', ..] => {
                self.at += 2;
                Ok(is_http10)
            }
            [] | [b'\r'] => Err(Stop::Partial),
            _ => Err(BAD),
        }
    }

    /// Whether the empty line that ends the head is next; steps over it.
    fn ends(&mut self) -> Result<bool, Stop> {
        match self.bytes[self.at..] {
            [] | [b'\r'] => Err(Stop::Partial),
            [b'\r', b'\n', ..] => {
                self.at += 2;
                Ok(true)
            }
            [b'\r', ..] => Err(BAD),
            _ => Ok(false),
        }
    }

    fn name(&mut self) -> Result<&'a [u8], Stop> {
        let name = self.until(b':', is_token)?;
        if name.is_empty() { Err(BAD) } else { Ok(name) }
    }

    /// A header's value without the blanks around it; steps over its line's end.
    fn value(&mut self) -> Result<&'a [u8], Stop> {
        let value = self.until(b'\r', |byte| byte >= b' ' && byte != 0x7f || byte == b'\t')?;
        match self.bytes.get(self.at) {
            Some(b'\n') => self.at += 1,
            Some(_) => return Err(BAD),
            None => return Err(Stop::Partial),
        }
        Ok(trim(value))
    }

    /// The bytes before the next `end`, all of which must be `allowed`; steps over `end`.
    #[inline]
    fn until(&mut self, end: u8, allowed: impl Fn(u8) -> bool) -> Result<&'a [u8], Stop> {
        let rest = &self.bytes[self.at..];
        let Some(len) = rest.iter().position(|&byte| byte == end || !allowed(byte)) else {
            return Err(Stop::Partial);
        };
        if rest[len] != end {
            return Err(BAD);
        }
        self.at += len + 1;
        Ok(&rest[..len])
    }
}

impl Fields {
    /// Takes note of a header this server obeys; others pass.
    #[inline]
    fn take(&mut self, name: &[u8], value: &[u8]) -> Result<(), Stop> {
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"host") => self.hosts += 1,
            6 if name.eq_ignore_ascii_case(b"expect") => {
                self.expects_continue |= value.eq_ignore_ascii_case(b"100-continue");
            }
            10 if name.eq_ignore_ascii_case(b"connection") => {
                for option in value.split(|&byte| byte == b',').map(trim) {
                    self.close |= option.eq_ignore_ascii_case(b"close");
                    self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                let length = decimal(value).ok_or(BAD)?;
                if self.length.replace(length).is_some_and(|before| before != length) {
                    return Err(BAD);
                }
            }
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                if self.is_chunked || !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(Stop::Reject(Reject::NotImplemented));
                }
                self.is_chunked = true;
            }
            _ => {}
        }
        Ok(())
    }
}

/// Digits only, at least one, and below 2^63.
fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, &digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        value.checked_mul(10)?.checked_add(digit).filter(|&value| value < 1 << 63)
    })
}

fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = bytes {
        bytes = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}

/// Bytes of which method and header names are made, RFC 9110 section 5.6.2.
#[inline]
fn is_token(byte: u8) -> bool {
    TOKEN[byte as usize]
}

const TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "below 256")]
        let is_alphanumeric = (byte as u8).is_ascii_alphanumeric();
        table[byte] = is_alphanumeric;
        byte += 1;
    }
    let marks = b"!#$%&'*+-.^_`|~";
    let mut at = 0;
    while at < marks.len() {
        table[marks[at] as usize] = true;
        at += 1;
    }
    table
};
