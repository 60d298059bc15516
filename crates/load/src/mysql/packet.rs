//! MySQL's packets: three bytes of length, a sequence number, that many bytes. One of 16 MiB or
//! more, which would go on in another, is refused: our values have at most 100 KiB.
//!
//! Source: MySQL Client/Server Protocol, "Basic Data Types" and "MySQL Packets", which MariaDB
//! shares.

use crate::store::bytes::Reader;
use crate::store::frames::Malformed;
use crate::store::packets::Head;

/// The length that says that a packet goes on in the next.
const ENDLESS: usize = 0xff_ffff;

/// Length and sequence number.
pub struct Numbered;

impl Head for Numbered {
    const LEN: usize = 4;

    fn body(head: &[u8]) -> Result<usize, Malformed> {
        let len = Reader(head).little_endian(3)?;
        usize::try_from(len).ok().filter(|len| *len < ENDLESS).ok_or(Malformed)
    }
}

/// Appends a packet whose body `fill` appends.
pub(super) fn push(sequence: u8, out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0, 0, 0, sequence]);
    fill(out);
    let len = out.len() - at - 4;
    debug_assert!(len < ENDLESS, "{len} bytes are more than a packet holds");
    #[expect(clippy::cast_possible_truncation, reason = "three bytes of the length")]
    let bytes = [len as u8, (len >> 8) as u8, (len >> 16) as u8];
    out[at..at + 3].copy_from_slice(&bytes);
}

/// Appends a string with its length.
pub(super) fn push_string(text: &[u8], out: &mut Vec<u8>) {
    let bytes = (text.len() as u64).to_le_bytes();
    match text.len() {
        0..251 => out.push(bytes[0]),
        251..0x1_0000 => {
            out.push(0xfc);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..0x100_0000 => {
            out.push(0xfd);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&bytes);
        }
    }
    out.extend_from_slice(text);
}

/// A whole number that says its own length.
pub(super) fn whole_of_any_length(reader: &mut Reader<'_>) -> Result<u64, Malformed> {
    match reader.little_endian(1)? {
        small @ 0..=0xfa => Ok(small),
        0xfc => reader.little_endian(2),
        0xfd => reader.little_endian(3),
        0xfe => reader.little_endian(8),
        _ => Err(Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_say_lengths() {
        let mut out = Vec::new();
        push(7, &mut out, |out| out.extend_from_slice(&[1; 0x1234]));
        assert_eq!(out[..4], [0x34, 0x12, 0, 7]);
        assert_eq!(Numbered::body(&out[..4]), Ok(0x1234));
        assert_eq!(Numbered::body(&[0xff, 0xff, 0xff, 0]), Err(Malformed));
    }

    #[test]
    fn strings_say_their_lengths() {
        for len in [0, 1, 250, 251, 0xffff, 0x1_0000, 0x12_3456] {
            let mut out = Vec::new();
            push_string(&vec![1; len], &mut out);
            let mut reader = Reader(&out);
            assert_eq!(whole_of_any_length(&mut reader), Ok(len as u64));
            assert_eq!(reader.0.len(), len);
        }
        for bytes in [&b""[..], b"\xfb", b"\xff", b"\xfc\x01", b"\xfe1234567"] {
            assert_eq!(whole_of_any_length(&mut Reader(bytes)), Err(Malformed));
        }
    }
}
