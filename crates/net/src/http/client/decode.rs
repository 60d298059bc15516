//! An answer from the bytes that have come so far.
//!
//! Source: RFC 9112, sections 4 (status line), 5 (fields), 6.3 (length of the body) and 7.1
//! (chunks). Lines may end with a bare line feed (section 2.2).

use super::Error;

/// The longest head, status line and fields.
const HEAD_BYTES: usize = 16 * 1024;

/// What a peer answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// 200 to 599.
    pub status: u16,
    /// Fields in order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, its chunks put together.
    pub body: Vec<u8>,
}

impl Answer {
    /// The first field of a name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

enum Framing {
    Nothing,
    Bytes(usize),
    Chunks,
    UntilTheEnd,
}

/// The whole answer, or `None` while more is to come; `ended` says that nothing more will.
///
/// *Cost*: reads the head again on each call, at most 16 KiB.
///
/// # Errors
/// [`Error::Malformed`] as soon as the bytes cannot become an answer.
pub fn decode(bytes: &[u8], ended: bool) -> Result<Option<Answer>, Error> {
    decode_as(bytes, ended, true)
}

/// The same of an answer that has no body, whatever its head says: that to `HEAD`.
///
/// # Errors
/// As [`decode`].
pub fn decode_head(bytes: &[u8], ended: bool) -> Result<Option<Answer>, Error> {
    decode_as(bytes, ended, false)
}

fn decode_as(bytes: &[u8], ended: bool, has_body: bool) -> Result<Option<Answer>, Error> {
    let mut rest = bytes;
    loop {
        let Some(head) = head_length(rest)? else {
            return if ended { Err(Error::Malformed("it ends in its head")) } else { Ok(None) };
        };
        let (head, body) = rest.split_at(head);
        let (status, headers) = parse_head(head)?;
        if (100..200).contains(&status) && status != 101 {
            rest = body;
            continue;
        }
        let framing = if has_body { framing(status, &headers)? } else { Framing::Nothing };
        let whole = match framing {
            Framing::Nothing => Some(Vec::new()),
            Framing::Bytes(length) => body.get(..length).map(<[u8]>::to_vec),
            Framing::Chunks => chunks(body)?,
            Framing::UntilTheEnd => ended.then(|| body.to_vec()),
        };
        return match whole {
            Some(body) => Ok(Some(Answer { status, headers, body })),
            None if ended => Err(Error::Malformed("it ends in its body")),
            None => Ok(None),
        };
    }
}

/// Up to and with the empty line.
fn head_length(bytes: &[u8]) -> Result<Option<usize>, Error> {
    const START: &[u8] = b"HTTP/1.";
    let seen = bytes.len().min(START.len());
    if bytes[..seen] != START[..seen] {
        return Err(Error::Malformed("it does not begin with HTTP/1."));
    }
    let looked = &bytes[..bytes.len().min(HEAD_BYTES)];
    for (at, _) in looked.iter().enumerate().filter(|&(_, &byte)| byte == b'\n') {
        match looked.get(at + 1..) {
            Some([b'\n', ..]) => return Ok(Some(at + 2)),
            Some([b'\r', b'\n', ..]) => return Ok(Some(at + 3)),
            _ => {}
        }
    }
    if bytes.len() > HEAD_BYTES { Err(Error::Malformed("its head is too long")) } else { Ok(None) }
}

type Head = (u16, Vec<(String, String)>);

fn parse_head(head: &[u8]) -> Result<Head, Error> {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let status = first.get(8..).and_then(|rest| rest.strip_prefix(' '));
    let status = status.and_then(|rest| rest.get(..3)).and_then(|digits| digits.parse().ok());
    let status = status.filter(|status| (100..600).contains(status));
    let status = status.ok_or(Error::Malformed("its status is not a number of three digits"))?;
    let mut headers = Vec::new();
    for line in lines.filter(|line| !line.is_empty()) {
        let field = line.split_once(':').ok_or(Error::Malformed("a field has no colon"))?;
        headers.push((field.0.to_ascii_lowercase(), field.1.trim().to_owned()));
    }
    Ok((status, headers))
}

fn framing(status: u16, headers: &[(String, String)]) -> Result<Framing, Error> {
    if matches!(status, 204 | 304) {
        return Ok(Framing::Nothing);
    }
    let named = |name: &'static str| headers.iter().filter(move |(own, _)| own == name);
    if let Some((_, coding)) = named("transfer-encoding").next_back() {
        let is_chunked = coding.trim().eq_ignore_ascii_case("chunked");
        let other = Error::Malformed("its transfer coding is not chunked");
        return if is_chunked { Ok(Framing::Chunks) } else { Err(other) };
    }
    let mut lengths = named("content-length").map(|(_, value)| value.as_str());
    let Some(length) = lengths.next() else { return Ok(Framing::UntilTheEnd) };
    let fault = Error::Malformed("its length is not one number");
    if lengths.any(|other| other != length) || !length.bytes().all(|b| b.is_ascii_digit()) {
        return Err(fault);
    }
    length.parse().map(Framing::Bytes).map_err(|_| fault)
}

/// The chunks put together, once the last one is there. Trailers are not waited for.
fn chunks(mut rest: &[u8]) -> Result<Option<Vec<u8>>, Error> {
    let fault = || Error::Malformed("a chunk has no length");
    let mut body = Vec::new();
    loop {
        let Some(end) = rest.iter().position(|&byte| byte == b'\n') else {
            return if rest.len() > 1024 { Err(fault()) } else { Ok(None) };
        };
        let line = std::str::from_utf8(&rest[..end]).map_err(|_| fault())?;
        let digits = line.split(';').next().unwrap_or_default().trim();
        let is_number = (1..=8).contains(&digits.len());
        let is_number = is_number && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let length = usize::from_str_radix(digits, 16).ok().filter(|_| is_number);
        let length = length.ok_or_else(fault)?;
        if length == 0 {
            return Ok(Some(body));
        }
        rest = &rest[end + 1..];
        let Some(chunk) = rest.get(..length) else { return Ok(None) };
        body.extend_from_slice(chunk);
        rest = match &rest[length..] {
            [b'\r', b'\n', after @ ..] | [b'\n', after @ ..] => after,
            [] | [b'\r'] => return Ok(None),
            _ => return Err(Error::Malformed("a chunk does not end where it should")),
        };
    }
}
