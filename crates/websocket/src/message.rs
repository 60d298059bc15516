//! What two ends say to each other: two kinds of messages, and three frames of control.

use crate::close::CloseCode;
use crate::error::Error;

/// The longest reason: a control frame has 125 bytes, of which the code takes two.
pub const REASON_BYTES: usize = 123;

/// A whole message, put together and unpacked, or a control frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// A text.
    Text(&'a str),
    /// Bytes.
    Binary(&'a [u8]),
    /// Asks for a pong with the same bytes, at most 125.
    Ping(&'a [u8]),
    /// Answers a ping, or nothing.
    Pong(&'a [u8]),
    /// The peer sends nothing more.
    Close(Close<'a>),
}

/// What stands in a close frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Close<'a> {
    /// Why; `None` where the frame was empty.
    pub code: Option<CloseCode>,
    /// Words for people, at most [`REASON_BYTES`]; often none.
    pub reason: &'a str,
}

impl<'a> Close<'a> {
    /// The meaning of a close frame's payload.
    ///
    /// # Errors
    /// [`Error::Protocol`] for half a code and for one that may not be sent, [`Error::Text`] for a
    /// reason that is no UTF-8.
    pub fn decode(payload: &'a [u8]) -> Result<Self, Error> {
        match payload {
            [] => Ok(Self { code: None, reason: "" }),
            [_] => Err(Error::Protocol("a close frame has half a code")),
            [high, low, reason @ ..] => {
                let code = CloseCode::new(u16::from_be_bytes([*high, *low]));
                let code = code.ok_or(Error::Protocol("a close code that may not be sent"))?;
                let reason = std::str::from_utf8(reason).map_err(|_| Error::Text)?;
                Ok(Self { code: Some(code), reason })
            }
        }
    }

    /// Writes the payload. A reason that is too long is cut between two characters; without a code
    /// there is none.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        let Some(code) = self.code else { return };
        let mut end = self.reason.len().min(REASON_BYTES);
        while !self.reason.is_char_boundary(end) {
            end -= 1;
        }
        out.extend_from_slice(&code.get().to_be_bytes());
        out.extend_from_slice(&self.reason.as_bytes()[..end]);
    }
}
