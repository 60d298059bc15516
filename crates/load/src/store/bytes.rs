//! The parts of packets: whole numbers, texts and values, read and written.

use super::frames::Malformed;

/// Reads a body from its beginning.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// The next `n` bytes.
    ///
    /// # Errors
    /// [`Malformed`] where fewer are left; so it is below.
    pub fn bytes(&mut self, n: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(n).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    /// A whole number of `n` bytes, at most eight, the least significant first.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn little_endian(&mut self, n: usize) -> Result<u64, Malformed> {
        let bytes = self.bytes(n)?;
        Ok(bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    }

    /// A whole number of `n` bytes, at most four, the most significant first.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn big_endian(&mut self, n: usize) -> Result<u32, Malformed> {
        let bytes = self.bytes(n)?;
        Ok(bytes.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
    }

    /// Text up to a zero, which is taken off too.
    ///
    /// # Errors
    /// [`Malformed`] where there is none.
    pub fn text(&mut self) -> Result<&'a [u8], Malformed> {
        let end = memchr::memchr(0, self.0).ok_or(Malformed)?;
        let text = self.bytes(end)?;
        self.bytes(1)?;
        Ok(text)
    }
}

/// Appends text, and a zero; what stands behind a zero within it is left out, as it would be read
/// as something else.
pub fn push_text(text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(text.split(|byte| *byte == 0).next().unwrap_or_default());
    out.push(0);
}

/// Appends a value, with its length in four bytes before it.
pub fn push_value(value: &[u8], out: &mut Vec<u8>) {
    let len = i32::try_from(value.len()).unwrap_or(i32::MAX);
    out.extend_from_slice(&len.to_be_bytes());
    out.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_in_their_order() {
        let mut reader = Reader(b"\x01\x02\x03\x04two\0rest");
        assert_eq!(reader.little_endian(2), Ok(0x0201));
        assert_eq!(reader.big_endian(2), Ok(0x0304));
        assert_eq!(reader.text(), Ok(&b"two"[..]));
        assert_eq!(reader.text(), Err(Malformed));
        assert_eq!(reader.bytes(5), Err(Malformed));
        assert_eq!(reader.0, b"rest", "what fails takes nothing");
    }

    #[test]
    fn values_say_their_lengths_and_texts_end() {
        let mut out = Vec::new();
        push_value(b"ab", &mut out);
        push_text(b"a\0b", &mut out);
        assert_eq!(out, b"\0\0\0\x02aba\0");
    }
}
