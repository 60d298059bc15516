//! Chunked bodies, RFC 9112 section 7.1, read and dropped a byte or a run of bytes at a time, so
//! that they may be split anywhere.

use super::head::Reject;

/// Longest line of a chunk's size with its extensions, and all trailer lines together, bytes.
const MAX_LINES: u32 = 4096;

/// Where in a chunked body the next byte falls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chunked {
    place: Place,
    /// Bytes left of the chunk, or the size read so far.
    size: u64,
    /// Bytes of size or trailer lines read since the last data.
    lines: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the digits of a size; whether there was one.
    Size {
        has_digit: bool,
    },
    /// After `;`: extensions are read over.
    Extension,
    /// After the CR of a size line.
    SizeEnd,
    Data,
    /// After the data: CR, then LF.
    DataCr,
    DataLf,
    /// At the beginning of a trailer line, or of the empty line that ends the body.
    Trailer,
    TrailerLine,
    TrailerLineEnd,
    /// After the CR of the empty line.
    End,
}

impl Chunked {
    pub(crate) fn new() -> Self {
        Self { place: Place::Size { has_digit: false }, size: 0, lines: 0 }
    }

    /// Drops what belongs to the body from the front of `bytes`, and hands its data to `data`; true
    /// when the body is complete.
    ///
    /// # Errors
    ///
    /// When the chunks are not written as the RFC says, or their lines are too long.
    pub(crate) fn drop_from(
        &mut self,
        bytes: &mut &[u8],
        mut data: impl FnMut(&[u8]),
    ) -> Result<bool, Reject> {
        while let Some((&byte, rest)) = bytes.split_first() {
            if self.place == Place::Data {
                let run = usize::try_from(self.size).unwrap_or(usize::MAX).min(bytes.len());
                data(&bytes[..run]);
                *bytes = &bytes[run..];
                self.size -= run as u64;
                if self.size == 0 {
                    self.place = Place::DataCr;
                }
                continue;
            }
            *bytes = rest;
            self.lines += 1;
            if self.lines > MAX_LINES {
                return Err(Reject::Bad);
            }
            if self.step(byte)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes one byte that is not data; true when it was the body's last.
    fn step(&mut self, byte: u8) -> Result<bool, Reject> {
        self.place = match (self.place, byte) {
            (Place::Size { .. }, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                if self.size >= 1 << 59 {
                    return Err(Reject::Bad);
                }
                let digit = char::from(byte).to_digit(16).unwrap_or_default();
                self.size = self.size << 4 | u64::from(digit);
                Place::Size { has_digit: true }
            }
            (Place::Size { has_digit: true } | Place::Extension, b'\r') => Place::SizeEnd,
            (Place::Size { has_digit: true }, b';') => Place::Extension,
            (Place::Extension, b' '..=b'~' | b'\t' | 0x80..) => Place::Extension,
            (Place::SizeEnd, b'\n') if self.size == 0 => Place::Trailer,
            (Place::SizeEnd, b'\n') => {
                self.lines = 0;
                Place::Data
            }
            (Place::DataCr, b'\r') => Place::DataLf,
            (Place::DataLf, b'\n') => Place::Size { has_digit: false },
            (Place::Trailer, b'\r') => Place::End,
            (Place::Trailer | Place::TrailerLine, b' '..=b'~' | b'\t' | 0x80..) => {
                Place::TrailerLine
            }
            (Place::TrailerLine, b'\r') => Place::TrailerLineEnd,
            (Place::TrailerLineEnd, b'\n') => Place::Trailer,
            (Place::End, b'\n') => return Ok(true),
            _ => return Err(Reject::Bad),
        };
        Ok(false)
    }
}
