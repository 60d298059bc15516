//! PostgreSQL's messages: a byte that says which, four of length with their own, and the body.
//!
//! Source: PostgreSQL documentation, "Frontend/Backend Protocol", "Message Formats".

use crate::store::bytes::Reader;
use crate::store::frames::Malformed;
use crate::store::packets::Head;

/// The longest row that is read: a value of PostgreSQL has at most 1 GiB.
const MAX_ROW: usize = 1 << 30;
/// The longest of all other messages.
const MAX_OTHER: usize = 64 * 1024;

/// Which message it is, and its length.
pub struct Tagged;

impl Head for Tagged {
    const LEN: usize = 5;

    fn body(head: &[u8]) -> Result<usize, Malformed> {
        let most = match head[0] {
            b'D' => MAX_ROW,
            // What may answer us, and what is told unasked.
            b'R' | b'S' | b'K' | b'Z' | b'E' | b'N' | b'A' | b'v' | b'C' | b'1' | b'2' => MAX_OTHER,
            _ => return Err(Malformed),
        };
        let len = Reader(&head[1..]).big_endian(4)?;
        let len = usize::try_from(len).map_err(|_| Malformed)?;
        len.checked_sub(4).filter(|len| *len <= most).ok_or(Malformed)
    }
}

/// Appends a message whose body `fill` appends; without a tag it is the first of a connection.
pub(super) fn push(tag: Option<u8>, out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    out.extend(tag);
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    fill(out);
    let len = u32::try_from(out.len() - at).unwrap_or(u32::MAX);
    out[at..at + 4].copy_from_slice(&len.to_be_bytes());
}

/// Text up to a zero, which is taken off too; all that is left where there is none, as a body that
/// is long is cut.
pub(super) fn text_or_rest<'a>(reader: &mut Reader<'a>) -> &'a [u8] {
    reader.text().unwrap_or_else(|Malformed| std::mem::take(&mut reader.0))
}

/// What an error says of itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Trouble<'a> {
    /// Whether the connection ends by it.
    pub(super) is_fatal: bool,
    /// SQLSTATE.
    pub(super) state: &'a [u8],
    pub(super) text: &'a [u8],
}

impl<'a> Trouble<'a> {
    /// Reads the fields of an error.
    pub(super) fn read(body: &'a [u8]) -> Self {
        let (mut reader, mut found) = (Reader(body), Self::default());
        while let Ok(&[field]) = reader.bytes(1) {
            if field == 0 {
                break;
            }
            let text = text_or_rest(&mut reader);
            match field {
                // Of 9.6 and newer in English; before, in the server's language.
                b'V' | b'S' => found.is_fatal |= matches!(text, b"FATAL" | b"PANIC"),
                b'C' => found.state = text,
                b'M' => found.text = text,
                _ => {}
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::bytes::{push_text, push_value};

    #[test]
    fn heads_say_lengths() {
        assert_eq!(Tagged::body(b"D\0\0\x10\0"), Ok(0x1000 - 4));
        assert_eq!(Tagged::body(b"Z\0\0\0\x05"), Ok(1));
        for head in [&b"Z\0\0\0\x03"[..], b"HTTP/", b"D\xff\xff\xff\xff", b"E\0\x02\0\0"] {
            assert_eq!(Tagged::body(head), Err(Malformed), "{}", head.escape_ascii());
        }
        let mut out = Vec::new();
        push(Some(b'Q'), &mut out, |out| push_text(b"SELECT\0 1", out));
        push(None, &mut out, |out| push_value(b"ab", out));
        assert_eq!(out, b"Q\0\0\0\x0bSELECT\0\0\0\0\x0a\0\0\0\x02ab");
    }

    #[test]
    fn errors_say_what_they_are() {
        let body = b"SFATAL\0VFATAL\0C28P01\0Mpassword authentication failed\0Fauth.c\0\0";
        let wanted =
            Trouble { is_fatal: true, state: b"28P01", text: b"password authentication failed" };
        assert_eq!(Trouble::read(body), wanted);
        for len in 0..body.len() {
            let cut = Trouble::read(&body[..len]);
            assert!(wanted.text.starts_with(cut.text) && wanted.state.starts_with(cut.state));
        }
        assert_eq!(Trouble::read(b""), Trouble::default());
    }
}
