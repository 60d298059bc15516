//! A place in a message, which moves on as fields are read: network byte order, as all protocols
//! here have it, and positions that errors can name.

use super::DecodeError;

/// What is left of a message, or of a part of one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    /// Of the whole message up to the end of the part, so that positions count from its start.
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Where the next field begins.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// How many bytes are left.
    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(super) fn take(
        &mut self,
        count: usize,
        what: &'static str,
    ) -> Result<&'a [u8], DecodeError> {
        let rest = &self.bytes[self.at..];
        let Some(taken) = rest.get(..count) else {
            let (at, found) = (self.at, rest.len());
            return Err(DecodeError::Short { what, at, wanted: count, found });
        };
        self.at += count;
        Ok(taken)
    }

    /// A part of so many bytes, which is read for itself; what follows it comes next here.
    pub(super) fn part(&mut self, count: usize, what: &'static str) -> Result<Self, DecodeError> {
        let at = self.at;
        self.take(count, what)?;
        Ok(Self { bytes: &self.bytes[..self.at], at })
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], DecodeError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, what)?);
        Ok(array)
    }

    pub(super) fn u8(&mut self, what: &'static str) -> Result<u8, DecodeError> {
        self.array(what).map(u8::from_be_bytes)
    }

    pub(super) fn u16(&mut self, what: &'static str) -> Result<u16, DecodeError> {
        self.array(what).map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self, what: &'static str) -> Result<u32, DecodeError> {
        self.array(what).map(u32::from_be_bytes)
    }

    /// Text up to a zero byte, which is read and not given.
    pub(super) fn ended(&mut self, what: &'static str) -> Result<&'a [u8], DecodeError> {
        let length = memchr::memchr(0, &self.bytes[self.at..]);
        let length = length.ok_or(DecodeError::Unended { what, at: self.at })?;
        let text = self.take(length, what)?;
        self.at += 1;
        Ok(text)
    }

    /// That nothing is left.
    pub(super) fn end(&self) -> Result<(), DecodeError> {
        match self.left() {
            0 => Ok(()),
            found => Err(DecodeError::Rest { at: self.at, found }),
        }
    }
}
