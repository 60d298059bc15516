//! CQL's frames: nine bytes of head, and the body. A head is a version, flags, a number that an
//! answer has from its request, what it is, and the length.
//!
//! Source: CQL binary protocol v4, sections 2 ("Frame header") and 3 ("Notations"); section 4.2.5
//! for results.

use crate::store::bytes::Reader;
use crate::store::frames::Malformed;
use crate::store::packets::{Head, Packets};

/// Version 4, of a request and of an answer.
const REQUEST: u8 = 0x04;
const RESPONSE: u8 = 0x84;
/// The bit of every answer.
const IS_RESPONSE: u8 = 0x80;
/// The only flag that is taken: warnings stand before the body.
const WARNING: u8 = 0x08;

/// What a frame is.
pub(super) const ERROR: u8 = 0x00;
pub(super) const STARTUP: u8 = 0x01;
pub(super) const READY: u8 = 0x02;
pub(super) const AUTHENTICATE: u8 = 0x03;
pub(super) const QUERY: u8 = 0x07;
pub(super) const RESULT: u8 = 0x08;
pub(super) const PREPARE: u8 = 0x09;
pub(super) const EXECUTE: u8 = 0x0a;
pub(super) const AUTH_CHALLENGE: u8 = 0x0e;
pub(super) const AUTH_RESPONSE: u8 = 0x0f;
pub(super) const AUTH_SUCCESS: u8 = 0x10;

/// The longest body: section 2.5.
const MAX_RESULT: usize = 256 << 20;
/// The longest body of all that is no result.
const MAX_OTHER: usize = 64 * 1024;
/// The most columns that a statement of ours has, or a row.
const MAX_COLUMNS: usize = 2;

/// Types of columns, by their numbers.
pub(super) const BLOB: u32 = 0x03;
pub(super) const VARCHAR: u32 = 0x0d;

/// Version, flags, number, what it is, length.
pub struct Framed;

impl Head for Framed {
    const LEN: usize = 9;

    fn body(head: &[u8]) -> Result<usize, Malformed> {
        let (version, flags, what) = (head[0], head[1], head[4]);
        // A server that does not speak our version says so in one of its own.
        let is_answer = version == RESPONSE || (what == ERROR && version & IS_RESPONSE != 0);
        // Neither compression nor tracing nor a payload was asked for.
        if !is_answer || flags & !WARNING != 0 {
            return Err(Malformed);
        }
        let most = match what {
            RESULT => MAX_RESULT,
            ERROR | READY | AUTHENTICATE | AUTH_CHALLENGE | AUTH_SUCCESS => MAX_OTHER,
            _ => return Err(Malformed),
        };
        let len = usize::try_from(Reader(&head[5..]).big_endian(4)?).map_err(|_| Malformed)?;
        if len <= most { Ok(len) } else { Err(Malformed) }
    }

    fn whose(head: &[u8]) -> Option<u16> {
        Some(u16::from_be_bytes([head[2], head[3]]))
    }
}

/// What the packet that came last is, and its body behind the warnings.
pub(super) fn last(packets: &Packets<Framed>) -> Result<(u8, Reader<'_>), Malformed> {
    let (head, mut reader) = (packets.head(), Reader(packets.body()));
    if head[1] & WARNING != 0 {
        let warnings = reader.big_endian(2)?;
        for _ in 0..warnings {
            string(&mut reader)?;
        }
    }
    Ok((head[4], reader))
}

/// Text with its length in two bytes.
pub(super) fn string<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], Malformed> {
    let len = reader.big_endian(2)?;
    reader.bytes(usize::try_from(len).map_err(|_| Malformed)?)
}

/// Appends a frame whose body `fill` appends.
pub(super) fn push(number: u16, what: u8, out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    let [high, low] = number.to_be_bytes();
    out.extend_from_slice(&[REQUEST, 0, high, low, what]);
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    fill(out);
    let len = u32::try_from(out.len() - at - 4).unwrap_or(u32::MAX);
    out[at..at + 4].copy_from_slice(&len.to_be_bytes());
}

/// Appends text with its length in two bytes; cut, where it is longer than these can say.
pub(super) fn push_string(text: &[u8], out: &mut Vec<u8>) {
    let len = u16::try_from(text.len()).unwrap_or(u16::MAX);
    out.extend_from_slice(&len.to_be_bytes());
    out.extend_from_slice(&text[..usize::from(len)]);
}

/// What a result says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome<'a> {
    /// It is done, and there is nothing to say.
    Void,
    /// One row, whose one column has a value; or no row.
    Row(bool),
    /// A statement's number.
    Prepared(&'a [u8]),
    /// A statement on columns of other types than it was made for.
    Unfit,
    /// A keyspace or table was made.
    Changed,
}

/// Reads a result of a statement with parameters and columns of these types.
pub(super) fn outcome<'a>(
    mut reader: Reader<'a>,
    packets: &Packets<Framed>,
    parameters: &[u32],
    columns: &[u32],
) -> Result<Outcome<'a>, Malformed> {
    const SCHEMA_CHANGE: u32 = 5;
    match reader.big_endian(4)? {
        1 => Ok(Outcome::Void),
        2 if described(&mut reader, columns, false)? => row(reader, packets).map(Outcome::Row),
        4 => {
            let number = string(&mut reader)?;
            // One of Cassandra's own is an MD5 digest.
            if number.is_empty() || number.len() > 64 {
                return Err(Malformed);
            }
            let fits = described(&mut reader, parameters, true)?
                && described(&mut reader, columns, false)?;
            Ok(if fits { Outcome::Prepared(number) } else { Outcome::Unfit })
        }
        SCHEMA_CHANGE => Ok(Outcome::Changed),
        _ => Err(Malformed),
    }
}

/// Reads what describes parameters or columns; whether they are of these types, as far as it says.
/// Where they are not, it may have stopped reading.
fn described(
    reader: &mut Reader<'_>,
    types: &[u32],
    is_of_parameters: bool,
) -> Result<bool, Malformed> {
    const ONE_TABLE: u32 = 1;
    const MORE_PAGES: u32 = 2;
    const LEFT_OUT: u32 = 4;
    let flags = reader.big_endian(4)?;
    // Pages were not asked for.
    if flags & MORE_PAGES != 0 {
        return Err(Malformed);
    }
    let count = usize::try_from(reader.big_endian(4)?).map_err(|_| Malformed)?;
    if is_of_parameters {
        let keys = usize::try_from(reader.big_endian(4)?).map_err(|_| Malformed)?;
        if keys > MAX_COLUMNS {
            return Ok(false);
        }
        reader.bytes(2 * keys)?;
    }
    if flags & LEFT_OUT != 0 {
        return Ok(true);
    }
    if count != types.len() {
        return Ok(false);
    }
    if flags & ONE_TABLE != 0 {
        table(reader)?;
    }
    for wanted in types {
        if flags & ONE_TABLE == 0 {
            table(reader)?;
        }
        string(reader)?;
        if reader.big_endian(2)? != *wanted {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Passes over the names of a keyspace and a table.
fn table(reader: &mut Reader<'_>) -> Result<(), Malformed> {
    string(reader)?;
    string(reader).map(drop)
}

/// Reads the rows of one column: whether there is one, with a value as long as it says.
fn row(mut reader: Reader<'_>, packets: &Packets<Framed>) -> Result<bool, Malformed> {
    const NULL: u32 = u32::MAX;
    match reader.big_endian(4)? {
        0 => Ok(false),
        1 => {
            let len = reader.big_endian(4)?;
            if len == NULL {
                return Ok(false);
            }
            let before = packets.body().len() - reader.0.len();
            let is_whole = usize::try_from(len).is_ok_and(|len| before + len == packets.body_len());
            if is_whole { Ok(true) } else { Err(Malformed) }
        }
        _ => Err(Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_say_lengths_and_numbers() {
        let mut out = Vec::new();
        push(0x1234, QUERY, &mut out, |out| push_string(b"ab", out));
        assert_eq!(out, b"\x04\0\x12\x34\x07\0\0\0\x04\0\x02ab");
        assert_eq!(Framed::body(b"\x84\0\x12\x34\x08\0\0\x01\x02"), Ok(0x102));
        assert_eq!(Framed::whose(b"\x84\0\x12\x34\x08\0\0\x01\x02"), Some(0x1234));
        assert_eq!(Framed::body(b"\x84\x08\0\0\x08\0\0\0\0"), Ok(0), "with warnings");
        assert_eq!(Framed::body(b"\x85\0\0\0\0\0\0\0\x09"), Ok(9), "another version's error");
        for head in [
            b"\x04\0\0\0\x08\0\0\0\0",
            b"\x83\0\0\0\x08\0\0\0\0",
            b"\x84\x01\0\0\x08\0\0\0\0",
            b"\x84\x02\0\0\x08\0\0\0\0",
            b"\x84\0\xff\xff\x0c\0\0\0\0",
            b"\x84\0\0\0\x08\x10\0\0\x01",
            b"\x84\0\0\0\0\0\x01\0\x01",
            b"HTTP/1.1 ",
        ] {
            assert_eq!(Framed::body(head), Err(Malformed), "{}", head.escape_ascii());
        }
    }

    #[test]
    fn texts_are_cut_where_their_length_ends() {
        let mut out = Vec::new();
        push_string(&[7; 0x1_0001], &mut out);
        assert_eq!((out.len(), &out[..2]), (0xffff + 2, &[0xff, 0xff][..]));
    }
}
