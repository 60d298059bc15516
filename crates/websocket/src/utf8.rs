//! Text that comes in parts: whether it can still become UTF-8, known at the first byte that
//! cannot.

use crate::error::Error;

/// What a part left over: the beginning of a character.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Utf8 {
    begun: [u8; 4],
    length: usize,
}

impl Utf8 {
    /// Goes on with the next part.
    pub(crate) fn push(&mut self, mut part: &[u8]) -> Result<(), Error> {
        while self.length > 0 {
            let Some((&byte, rest)) = part.split_first() else { return Ok(()) };
            part = rest;
            self.begun[self.length] = byte;
            self.length += 1;
            match std::str::from_utf8(&self.begun[..self.length]) {
                Ok(_) => self.length = 0,
                Err(error) if error.error_len().is_none() => {}
                Err(_) => return Err(Error::Text),
            }
        }
        let Err(error) = std::str::from_utf8(part) else { return Ok(()) };
        if error.error_len().is_some() {
            return Err(Error::Text);
        }
        let begun = &part[error.valid_up_to()..];
        self.begun[..begun.len()].copy_from_slice(begun);
        self.length = begun.len();
        Ok(())
    }

    /// The text is over: its last character must be whole.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        if std::mem::take(&mut self.length) == 0 { Ok(()) } else { Err(Error::Text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first byte at which a text that comes byte by byte is refused.
    fn refused_at(bytes: &[u8]) -> Option<usize> {
        let mut utf8 = Utf8::default();
        let refused = bytes.iter().position(|byte| utf8.push(&[*byte]).is_err());
        refused.or_else(|| utf8.finish().is_err().then_some(bytes.len()))
    }

    #[test]
    fn a_text_is_refused_at_the_first_byte_that_cannot_stand_there() {
        assert_eq!(refused_at("κόσμε €𝄞".as_bytes()), None);
        // A surrogate, a number above the last one, an overlong slash, a lone continuation.
        assert_eq!(refused_at(b"a\xed\xa0\x80"), Some(2));
        assert_eq!(refused_at(b"\xf4\x90\x80\x80"), Some(1));
        assert_eq!(refused_at(b"\xc0\xaf"), Some(0));
        assert_eq!(refused_at(b"ab\x80"), Some(2));
        // A character that does not end.
        assert_eq!(refused_at(b"ab\xe2\x82"), Some(4));
    }
}
