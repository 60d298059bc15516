//! Heads of frames: what a frame is, how long, and whether it is masked.
//!
//! Source: RFC 6455, section 5.2.

use crate::error::Error;
use crate::mask::Mask;

/// The longest head: two bytes, eight of length, four of mask.
pub const HEAD_BYTES: usize = 14;

/// The longest payload of a control frame.
pub const CONTROL_BYTES: usize = 125;

const FINAL: u8 = 0x80;
const COMPRESSED: u8 = 0x40;
const RESERVED: u8 = 0x30;
const MASKED: u8 = 0x80;

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opcode {
    /// Goes on with the message that the frames before began.
    Continuation,
    /// Begins a text.
    Text,
    /// Begins a message of bytes.
    Binary,
    /// Begins the end of the connection.
    Close,
    /// Asks for a pong with the same bytes.
    Ping,
    /// Answers a ping, or says that its sender lives.
    Pong,
}

impl Opcode {
    fn new(bits: u8) -> Result<Self, Error> {
        Ok(match bits {
            0 => Self::Continuation,
            1 => Self::Text,
            2 => Self::Binary,
            8 => Self::Close,
            9 => Self::Ping,
            10 => Self::Pong,
            _ => return Err(Error::Protocol("an unknown opcode")),
        })
    }

    fn bits(self) -> u8 {
        match self {
            Self::Continuation => 0,
            Self::Text => 1,
            Self::Binary => 2,
            Self::Close => 8,
            Self::Ping => 9,
            Self::Pong => 10,
        }
    }

    /// Whether it may stand between the frames of a message.
    #[must_use]
    pub fn is_control(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Pong)
    }
}

/// What stands before a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Whether the message ends with this frame.
    pub is_final: bool,
    /// Whether the message that begins here is compressed (RSV1, RFC 7692 section 6).
    pub is_compressed: bool,
    /// What the frame is.
    pub opcode: Opcode,
    /// With what the payload is masked.
    pub mask: Option<Mask>,
    /// Bytes of the payload.
    pub length: u64,
}

impl Header {
    /// The head at the beginning of some bytes, with how many it takes; `None` while more are
    /// missing.
    ///
    /// # Errors
    /// [`Error::Protocol`] as soon as a byte is there that may not stand in any head.
    pub fn read(bytes: &[u8]) -> Result<Option<(Self, usize)>, Error> {
        let Some(&first) = bytes.first() else { return Ok(None) };
        if first & RESERVED != 0 {
            return Err(Error::Protocol("a reserved bit is set"));
        }
        let (is_final, is_compressed) = (first & FINAL != 0, first & COMPRESSED != 0);
        let opcode = Opcode::new(first & 0x0f)?;
        if opcode.is_control() && !is_final {
            return Err(Error::Protocol("a control frame in parts"));
        }
        if is_compressed && (opcode.is_control() || opcode == Opcode::Continuation) {
            return Err(Error::Protocol("a compressed frame that begins no message"));
        }
        let Some(&second) = bytes.get(1) else { return Ok(None) };
        let short = second & !MASKED;
        if opcode.is_control() && usize::from(short) > CONTROL_BYTES {
            return Err(Error::Protocol("a control frame of more than 125 bytes"));
        }
        let Some((length, mut at)) = length(short, &bytes[2..])? else { return Ok(None) };
        let mut mask = None;
        if second & MASKED != 0 {
            let Some(&[a, b, c, d]) = bytes.get(at..at + 4) else { return Ok(None) };
            mask = Some([a, b, c, d]);
            at += 4;
        }
        Ok(Some((Self { is_final, is_compressed, opcode, mask, length }, at)))
    }

    /// Writes the head.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut first = self.opcode.bits();
        first |= if self.is_final { FINAL } else { 0 };
        first |= if self.is_compressed { COMPRESSED } else { 0 };
        let masked = if self.mask.is_some() { MASKED } else { 0 };
        match (u8::try_from(self.length), u16::try_from(self.length)) {
            (Ok(short @ ..=125), _) => out.extend_from_slice(&[first, masked | short]),
            (_, Ok(long)) => {
                out.extend_from_slice(&[first, masked | 126]);
                out.extend_from_slice(&long.to_be_bytes());
            }
            _ => {
                out.extend_from_slice(&[first, masked | 127]);
                out.extend_from_slice(&self.length.to_be_bytes());
            }
        }
        if let Some(mask) = self.mask {
            out.extend_from_slice(&mask);
        }
    }
}

/// The length, which stands in the fewest bytes that hold it, and where it ends in the head.
fn length(short: u8, rest: &[u8]) -> Result<Option<(u64, usize)>, Error> {
    let (length, least, end) = match (short, rest) {
        (126, [a, b, ..]) => (u64::from(u16::from_be_bytes([*a, *b])), 126, 4),
        (127, [a, b, c, d, e, f, g, h, ..]) => {
            (u64::from_be_bytes([*a, *b, *c, *d, *e, *f, *g, *h]), 1 << 16, 10)
        }
        (126 | 127, _) => return Ok(None),
        _ => (u64::from(short), 0, 2),
    };
    if length > i64::MAX as u64 {
        return Err(Error::Protocol("a length with its highest bit set"));
    }
    if length < least {
        return Err(Error::Protocol("a length in more bytes than it needs"));
    }
    Ok(Some((length, end)))
}
