//! Reading the head of an HTTP/1.x response (RFC 9112, sections 2 to 6): bounded, as lenient as
//! what people compare with (curl, wrk) where a whole answer can be told, strict where a lenient
//! reading could count a wrong answer as a right one.
//!
//! Accepted: a bare LF as line end (section 2.2); any amount of white space around a field value
//! (section 5); white space between a field's name and its colon (section 5.1); a field that is
//! folded over several lines, whose line ends are blanks (section 5.2). Refused: a head above
//! [`MAX_HEAD`] bytes, a status line that is not `HTTP/1.x NNN`, a header line without a colon,
//! white space before the first field, two different Content-Length values. A body whose last
//! transfer coding is not `chunked` ends with the connection (section 6.3).

use crate::driver::quoted;

/// The longest head that is read, in bytes; interim answers before the final one count as part of
/// it.
pub const MAX_HEAD: usize = 256 * 1024;

/// How the end of a body is found (RFC 9112, section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// So many bytes.
    Known(u64),
    /// In chunks.
    Chunked,
    /// Until the connection ends.
    UntilClose,
}

/// What matters of a response's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Bytes of the head, its empty line included.
    pub len: usize,
    /// The status code, 100 to 999.
    pub status: u16,
    /// The body's length, for a request other than HEAD.
    pub length: Length,
    /// Whether the peer keeps the connection (section 9.3).
    pub keep_alive: bool,
}

/// A head that breaks the rules above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// Reads a head from the start of `bytes`; `None` while its empty line has not come.
///
/// # Errors
/// [`Malformed`] as soon as a complete line breaks a rule, or [`MAX_HEAD`] is exceeded.
pub fn read(bytes: &[u8]) -> Result<Option<Head>, Malformed> {
    read_within(bytes, MAX_HEAD)
}

/// The fields of a whole head that was read: names in lower case, values without the blanks around
/// them.
pub(super) fn fields(head: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut fields = Vec::new();
    let Some((_, mut next)) = next_line(head, 0) else { return fields };
    while let Some((first, behind)) = next_line(head, next).filter(|(line, _)| !line.is_empty()) {
        let is_folded = matches!(head.get(behind), Some(b' ' | b'\t'));
        let folded = if is_folded { unfolded(head, first, behind) } else { None };
        let (line, end) = folded.unwrap_or_else(|| (first.to_vec(), behind));
        next = end;
        if let Some(colon) = memchr::memchr(b':', &line) {
            let name = String::from_utf8_lossy(&line[..colon]).trim_end().to_ascii_lowercase();
            fields.push((name, line[colon + 1..].trim_ascii().to_vec()));
        }
    }
    fields
}

/// The same for a head of at most `most` bytes.
pub(super) fn read_within(bytes: &[u8], most: usize) -> Result<Option<Head>, Malformed> {
    let Some((line, mut at)) = next_line(bytes, 0) else {
        return if bytes.len() > most { Err(Malformed) } else { early(bytes) };
    };
    let (status, minor) = status_line(line)?;
    let mut fields = Fields { length: None, chunked: None, keep: minor >= 1 };
    loop {
        let Some((line, next)) = next_line(bytes, at) else {
            return if bytes.len() > most { Err(Malformed) } else { Ok(None) };
        };
        at = next;
        if at > most {
            return Err(Malformed);
        }
        if line.is_empty() {
            break;
        }
        let part = || if bytes.len() > most { Err(Malformed) } else { Ok(None) };
        match bytes.get(at) {
            // Whether it goes on on the next line is not known yet.
            None => return part(),
            Some(b' ' | b'\t') => {
                let Some((whole, end)) = unfolded(bytes, line, at) else { return part() };
                at = end;
                fields.take(&whole)?;
            }
            Some(_) => fields.take(line)?,
        }
    }
    let length = if matches!(status, 100..=199 | 204 | 304) {
        Length::Known(0)
    } else {
        match (fields.chunked, fields.length) {
            (Some(true), _) => Length::Chunked,
            (Some(false), _) | (None, None) => Length::UntilClose,
            (None, Some(n)) => Length::Known(n),
        }
    };
    Ok(Some(Head { len: at, status, length, keep_alive: fields.keep }))
}

/// Where a whole head leads: its first `location` that is not folded.
#[cold]
pub(super) fn location(head: &[u8]) -> Option<Vec<u8>> {
    let mut lines = head.split(|byte| *byte == b'\n').skip(1);
    let found = lines.find_map(|line| {
        let colon = memchr::memchr(b':', line)?;
        let is_one = line[..colon].trim_ascii_end().eq_ignore_ascii_case(b"location");
        is_one.then(|| line[colon + 1..].trim_ascii().to_vec())
    });
    found.filter(|location| !location.is_empty())
}

/// Says which line of a head that is malformed was not understood: called only where one is.
#[cold]
pub(super) fn culprit(bytes: &[u8]) -> Vec<u8> {
    let (mut at, mut number) = (0, 0);
    let mut fields = Fields { length: None, chunked: None, keep: false };
    while let Some((line, next)) = next_line(bytes, at) {
        number += 1;
        at = next;
        let why = match number {
            1 => match status_line(line) {
                Ok((101, _)) => Some("the peer changes the protocol unasked: ".to_owned()),
                Ok(_) => None,
                Err(Malformed) => Some("not a status line of HTTP/1.x: ".to_owned()),
            },
            _ if line.is_empty() => {
                // An interim answer's end: another head follows.
                number = 0;
                None
            }
            _ => {
                let folded = unfolded(bytes, line, next);
                let understood = match &folded {
                    Some((whole, _)) => fields.take(whole).is_ok(),
                    None => true,
                };
                at = folded.map_or(bytes.len(), |(_, end)| end);
                let place = format!("line {number} of the answer's head was not understood: ");
                number += memchr::memchr_iter(b'\n', &bytes[next..at]).count();
                (!understood).then_some(place)
            }
        };
        if let Some(why) = why {
            return [why.as_bytes(), &quoted(line)].concat();
        }
    }
    if number > 0 || at == bytes.len() || bytes.len() > MAX_HEAD / 2 {
        return format!("the answer's head is longer than {MAX_HEAD} bytes").into_bytes();
    }
    [b"not a status line of HTTP/1.x: ", &quoted(&bytes[at..])[..]].concat()
}

/// How every head begins.
pub(super) const BEGIN: &[u8] = b"HTTP/1.";

/// Whether an incomplete first line can still become a status line.
fn early(bytes: &[u8]) -> Result<Option<Head>, Malformed> {
    let n = bytes.len().min(BEGIN.len());
    if bytes[..n] == BEGIN[..n] { Ok(None) } else { Err(Malformed) }
}

/// Whether an empty line may end a head in these bytes.
pub(super) fn has_empty_line(bytes: &[u8]) -> bool {
    let ends = |at: usize| matches!(bytes[at + 1..], [b'\n', ..] | [b'\r', b'\n', ..]);
    memchr::memchr_iter(b'\n', bytes).any(ends)
}

#[inline]
fn next_line(bytes: &[u8], from: usize) -> Option<(&[u8], usize)> {
    let end = from + memchr::memchr(b'\n', &bytes[from..])?;
    let line = &bytes[from..end];
    Some((line.strip_suffix(b"\r").unwrap_or(line), end + 1))
}

/// A field that goes on on the next lines, with blanks for their line ends, and where it ends;
/// `None` while its end has not come.
#[cold]
fn unfolded(bytes: &[u8], first: &[u8], mut at: usize) -> Option<(Vec<u8>, usize)> {
    let mut whole = first.to_vec();
    while matches!(bytes.get(at)?, b' ' | b'\t') {
        let (line, next) = next_line(bytes, at)?;
        whole.push(b' ');
        whole.extend_from_slice(line.trim_ascii());
        at = next;
    }
    Some((whole, at))
}

fn status_line(line: &[u8]) -> Result<(u16, u8), Malformed> {
    let rest = line.strip_prefix(BEGIN).ok_or(Malformed)?;
    let [minor @ b'0'..=b'9', b' ', a @ b'1'..=b'9', b, c, rest @ ..] = rest else {
        return Err(Malformed);
    };
    if !(b.is_ascii_digit() && c.is_ascii_digit() && (rest.is_empty() || rest[0] == b' ')) {
        return Err(Malformed);
    }
    let digit = |byte: u8| u16::from(byte - b'0');
    Ok((digit(*a) * 100 + digit(*b) * 10 + digit(*c), minor - b'0'))
}

struct Fields {
    length: Option<u64>,
    /// `Some(true)`: chunked is the last coding; `Some(false)`: a coding without it.
    chunked: Option<bool>,
    keep: bool,
}

impl Fields {
    #[inline]
    fn take(&mut self, line: &[u8]) -> Result<(), Malformed> {
        let colon = memchr::memchr(b':', line).ok_or(Malformed)?;
        let mut name = &line[..colon];
        while let [rest @ .., b' ' | b'\t'] = name {
            name = rest;
        }
        if name.is_empty() || name.iter().any(|&b| b <= b' ' || b == 0x7f) {
            return Err(Malformed);
        }
        // Only three names matter; their lengths tell nearly every other line apart at once.
        let value = || line[colon + 1..].trim_ascii();
        match name.len() {
            14 if name.eq_ignore_ascii_case(b"content-length") => self.content_length(value()),
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                let last = value().rsplit(|&b| b == b',').next().unwrap_or_default();
                self.chunked = Some(last.trim_ascii().eq_ignore_ascii_case(b"chunked"));
                Ok(())
            }
            10 if name.eq_ignore_ascii_case(b"connection") => {
                for option in value().split(|&b| b == b',').map(<[u8]>::trim_ascii) {
                    if option.eq_ignore_ascii_case(b"close") {
                        self.keep = false;
                    } else if option.eq_ignore_ascii_case(b"keep-alive") {
                        self.keep = true;
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// One value, or the same one several times (RFC 9110, section 8.6).
    fn content_length(&mut self, value: &[u8]) -> Result<(), Malformed> {
        for part in value.split(|&b| b == b',').map(<[u8]>::trim_ascii) {
            if part.is_empty() || part.len() > 18 || !part.iter().all(u8::is_ascii_digit) {
                return Err(Malformed);
            }
            let n = part.iter().fold(0, |n, byte| n * 10 + u64::from(byte - b'0'));
            if self.length.is_some_and(|known| known != n) {
                return Err(Malformed);
            }
            self.length = Some(n);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ok(text: &str) -> Head {
        read(text.as_bytes()).unwrap().unwrap()
    }

    #[test]
    fn reads_what_matters() {
        let head = ok("HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 12\r\n\r\nbody");
        let len = "HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 12\r\n\r\n".len();
        assert_eq!(head, Head { len, status: 200, length: Length::Known(12), keep_alive: true });
        assert!(!ok("HTTP/1.1 200\r\nconnection: foo, Close\r\n\r\n").keep_alive);
        assert!(!ok("HTTP/1.0 200 OK\r\n\r\n").keep_alive);
        assert!(ok("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n\r\n").keep_alive);
        assert_eq!(ok("HTTP/1.1 204 None\nX: y\n\n").length, Length::Known(0));
        assert_eq!(ok("HTTP/1.1 304 \r\nContent-Length: 9\r\n\r\n").length, Length::Known(0));
        let both =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\nContent-Length: 3\r\n\r\n";
        assert_eq!(ok(both).length, Length::Chunked);
        assert_eq!(ok("HTTP/1.1 500 no\r\n\r\n").length, Length::UntilClose);
        let same = "HTTP/1.1 200 OK\r\nContent-Length: 3, 3\r\ncontent-length: 3\r\n\r\n";
        assert_eq!(ok(same).length, Length::Known(3));
    }

    #[test]
    fn reads_what_is_folded_or_has_blanks_before_a_colon() {
        for text in [
            "HTTP/1.1 200 OK\r\nX-Crew: anna,\r\n  bert\r\nContent-Length: 2\r\n\r\n",
            "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\tc: d\r\n \r\nContent-Length:\r\n 2\r\n\r\n",
            "HTTP/1.1 200 OK\nX: a\n b\nContent-Length :\t2\n\n",
            "HTTP/1.1 200 OK\r\nContent-Length \t: 2\r\n\r\n",
        ] {
            let head = ok(text);
            assert_eq!((head.len, head.length), (text.len(), Length::Known(2)), "{text:?}");
            for cut in 0..text.len() {
                assert_eq!(read(&text.as_bytes()[..cut]), Ok(None), "{text:?} cut at {cut}");
            }
        }
        let folded = "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip,\r\n chunked\r\n\r\n body";
        assert_eq!(ok(folded).length, Length::Chunked);
        let option = "HTTP/1.1 200 OK\r\nConnection: foo,\r\n\tclose\r\n\r\n";
        assert!(!ok(option).keep_alive);
    }

    #[test]
    fn refuses_what_breaks_the_rules() {
        for text in [
            "SSH-2.0-OpenSSH\r\n",
            "SS",
            "HTTP/2 200\r\n\r\n",
            "HTTP/1.1 20\r\n\r\n",
            "HTTP/1.1 099 x\r\n\r\n",
            "HTTP/1.1 2000\r\n\r\n",
            "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
            "HTTP/1.1 200 OK\r\n: empty\r\n\r\n",
            "HTTP/1.1 200 OK\r\n folded: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nX: y\r\n \r\nno colon\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n 4\r\n\r\n",
            "HTTP/1.1 200 OK\r\na name: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\t: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        ] {
            assert_eq!(read(text.as_bytes()), Err(Malformed), "{text:?}");
        }
        let mut long = b"HTTP/1.1 200 OK\r\n".to_vec();
        long.resize(MAX_HEAD + 2, b'x');
        assert_eq!(read(&long), Err(Malformed));
    }

    #[test]
    fn waits_for_every_byte() {
        let text = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        for end in 0..text.len() {
            assert_eq!(read(&text[..end]), Ok(None), "after {end} bytes");
        }
        assert!(read(text).unwrap().is_some());
    }
}
