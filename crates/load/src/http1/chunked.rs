//! Reading a chunked body (RFC 9112, section 7.1) as a state machine that only counts.
//!
//! Chunk extensions and trailer fields are skipped, both bounded; a chunk size has at most 15
//! hexadecimal digits after its leading zeros, of which there may be any number.

/// Where in a chunked body the next byte lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chunked {
    /// In a size, after so many digits.
    Size {
        /// The value so far.
        value: u64,
        /// Digits so far, leading zeros counted as one.
        digits: u8,
    },
    /// Behind a size, up to the line's end; `left` bounds what is skipped.
    Extension {
        /// The chunk's size.
        value: u64,
        /// How many more bytes the line may have.
        left: u16,
    },
    /// In a chunk's data.
    Data {
        /// Bytes of it still to come.
        left: u64,
    },
    /// In the line end behind the data; `seen_cr` after its CR.
    DataEnd {
        /// Whether the CR has come.
        seen_cr: bool,
    },
    /// In the trailer section.
    Trailer {
        /// Bytes of the current line, CR not counted.
        line: u16,
        /// How many more bytes the section may have.
        left: u16,
    },
    /// Behind the last byte.
    End,
}

/// A body that breaks the rules above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// The longest chunk extension and the longest trailer section, in bytes.
const MAX_LINE: u16 = 16 * 1024;

impl Chunked {
    /// Before the first byte.
    pub const START: Self = Self::Size { value: 0, digits: 0 };

    /// Takes bytes until they or the body end; returns how many it took.
    ///
    /// # Errors
    /// [`Malformed`] at the first byte that cannot stand where it does.
    pub fn take(&mut self, bytes: &[u8]) -> Result<usize, Malformed> {
        let mut at = 0;
        while at < bytes.len() && *self != Self::End {
            if let Self::Data { left } = self {
                let n = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len() - at);
                at += n;
                *left -= n as u64;
                if *left == 0 {
                    *self = Self::DataEnd { seen_cr: false };
                }
            } else {
                *self = self.step(bytes[at])?;
                at += 1;
            }
        }
        Ok(at)
    }

    /// The same, giving what is data of them to `keep`.
    ///
    /// # Errors
    /// As for [`Chunked::take`].
    pub fn take_to(
        &mut self,
        bytes: &[u8],
        mut keep: impl FnMut(&[u8]),
    ) -> Result<usize, Malformed> {
        let mut at = 0;
        while at < bytes.len() && *self != Self::End {
            let left = usize::try_from(self.data_left()).unwrap_or(usize::MAX);
            let n = left.max(1).min(bytes.len() - at);
            let part = &bytes[at..at + n];
            if left > 0 {
                keep(part);
            }
            at += self.take(part)?;
        }
        Ok(at)
    }

    fn step(self, byte: u8) -> Result<Self, Malformed> {
        Ok(match (self, byte) {
            (Self::Size { value, digits: 1.. }, b'\n') => Self::after_size(value),
            (Self::Size { value, digits: 1.. }, b';' | b'\r' | b' ' | b'\t') => {
                Self::Extension { value, left: MAX_LINE }
            }
            (Self::Size { value: 0, .. }, b'0') => Self::Size { value: 0, digits: 1 },
            (Self::Size { value: 0, digits: 1 }, _) if byte.is_ascii_hexdigit() => {
                Self::Size { value: 0, digits: 0 }.step(byte)?
            }
            (Self::Size { value, digits: digits @ ..15 }, _) => {
                let digit = char::from(byte).to_digit(16).ok_or(Malformed)?;
                Self::Size { value: value * 16 + u64::from(digit), digits: digits + 1 }
            }
            (Self::Extension { value, .. }, b'\n') => Self::after_size(value),
            (Self::Extension { value, left: left @ 1.. }, _) => {
                Self::Extension { value, left: left - 1 }
            }
            (Self::DataEnd { seen_cr: false }, b'\r') => Self::DataEnd { seen_cr: true },
            (Self::DataEnd { .. }, b'\n') => Self::START,
            (Self::Trailer { line: 0, .. }, b'\n') => Self::End,
            (Self::Trailer { left: left @ 1.., .. }, b'\n') => {
                Self::Trailer { line: 0, left: left - 1 }
            }
            (Self::Trailer { line, left: left @ 1.. }, b'\r') => {
                Self::Trailer { line, left: left - 1 }
            }
            (Self::Trailer { line, left: left @ 1.. }, _) => {
                Self::Trailer { line: line.saturating_add(1), left: left - 1 }
            }
            _ => return Err(Malformed),
        })
    }

    fn after_size(value: u64) -> Self {
        if value == 0 {
            Self::Trailer { line: 0, left: MAX_LINE }
        } else {
            Self::Data { left: value }
        }
    }

    /// Bytes of data that are certain to follow next.
    #[must_use]
    pub fn data_left(self) -> u64 {
        match self {
            Self::Data { left } => left,
            _ => 0,
        }
    }

    /// `n` bytes of data passed by unseen; `n` is at most [`Chunked::data_left`].
    pub fn skip(&mut self, n: u64) {
        if let Self::Data { left } = self {
            *left -= n.min(*left);
            if *left == 0 {
                *self = Self::DataEnd { seen_cr: false };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = b"4\r\nWiki\r\n5;x=\"y\"\r\npedia\r\n0\r\nTrailer: t\r\n\r\n";

    #[test]
    fn reads_in_any_pieces() {
        for split in 0..BODY.len() {
            let mut state = Chunked::START;
            assert_eq!(state.take(&BODY[..split]).unwrap(), split);
            assert_ne!(state, Chunked::End);
            let rest = [&BODY[split..], b"HTTP/1.1"].concat();
            assert_eq!(state.take(&rest).unwrap(), BODY.len() - split);
            assert_eq!(state, Chunked::End);
        }
    }

    #[test]
    fn leading_zeros_say_nothing() {
        let zeros = "0".repeat(100_000);
        for body in [format!("{zeros}4\r\nWiki\r\n{zeros}\r\n\r\n"), format!("{zeros}0;x\n\n")] {
            let mut state = Chunked::START;
            assert_eq!(state.take(body.as_bytes()), Ok(body.len()));
            assert_eq!(state, Chunked::End);
        }
        for body in ["0x4\r\n", "00000000000000001234567890abcdef\r\n"] {
            let mut state = Chunked::START;
            assert_eq!(state.take(body.as_bytes()), Err(Malformed), "{body}");
        }
    }

    #[test]
    fn refuses_what_cannot_be() {
        for body in [
            &b"\r\n"[..],
            b"x\r\n",
            b"4\r\nWikiX",
            b"1234567890abcdef\r\n",
            b";\r\n",
            b"4 \r\nWiki\r\r",
        ] {
            let mut state = Chunked::START;
            assert_eq!(state.take(body), Err(Malformed), "{body:?}");
        }
        let endless = [b"1;".to_vec(), vec![b'x'; 20_000]].concat();
        let mut state = Chunked::START;
        assert_eq!(state.take(&endless), Err(Malformed));
    }

    #[test]
    fn skipping_is_reading() {
        let mut state = Chunked::START;
        state.take(b"5\r\nab").unwrap();
        assert_eq!(state.data_left(), 3);
        state.skip(3);
        state.take(b"\r\n0\r\n\r\n").unwrap();
        assert_eq!(state, Chunked::End);
    }
}
