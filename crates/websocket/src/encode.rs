//! Messages to frames.
//!
//! A server's frame is not masked: one that was encoded once can be sent to any number of clients,
//! as long as it is not compressed with a context, which is each connection's own.
//!
//! Source: RFC 6455, sections 5 and 6.1, and RFC 7692, section 6.1.

use crate::deflate::Deflater;
use crate::extension::Side;
use crate::frame::{CONTROL_BYTES, Header, Opcode};
use crate::mask::{self, Mask};
use crate::{Close, Message};

/// A buffer of at most this many bytes is kept from one message to the next.
const KEPT_BYTES: usize = 1024;

/// Makes frames of what one end sends.
pub struct Encoder {
    deflater: Option<Deflater>,
    /// A message, compressed.
    packed: Vec<u8>,
}

impl Encoder {
    /// One that compresses so, where that is agreed.
    #[must_use]
    pub fn new(deflate: Option<Side>) -> Self {
        Self { deflater: deflate.map(Deflater::new), packed: Vec::new() }
    }

    /// Adds a message as one frame, or a control frame.
    ///
    /// A client has a new mask for each frame, and a server has none. A ping or pong of more than
    /// [`CONTROL_BYTES`] is cut there.
    pub fn message(&mut self, message: Message<'_>, mask: Option<Mask>, out: &mut Vec<u8>) {
        self.parts(message, usize::MAX, || mask, out);
    }

    /// Adds a message in frames of at most `most` bytes each, at least one; each has a mask of its
    /// own. Control frames are never in parts.
    pub fn parts(
        &mut self,
        message: Message<'_>,
        most: usize,
        mut mask: impl FnMut() -> Option<Mask>,
        out: &mut Vec<u8>,
    ) {
        let (opcode, payload) = match message {
            Message::Text(text) => (Opcode::Text, text.as_bytes()),
            Message::Binary(bytes) => (Opcode::Binary, bytes),
            Message::Ping(bytes) => return control(Opcode::Ping, bytes, mask(), out),
            Message::Pong(bytes) => return control(Opcode::Pong, bytes, mask(), out),
            Message::Close(closed) => return close(closed, mask(), out),
        };
        let deflater = self.deflater.as_mut();
        let is_compressed =
            deflater.is_some_and(|deflater| deflater.compress(payload, &mut self.packed));
        let mut rest = if is_compressed { &self.packed[..] } else { payload };
        let mut header = Header { is_final: false, is_compressed, opcode, mask: None, length: 0 };
        while !header.is_final {
            let (part, after) = rest.split_at(rest.len().min(most.max(1)));
            rest = after;
            header.is_final = rest.is_empty();
            (header.mask, header.length) = (mask(), part.len() as u64);
            frame(&header, part, out);
            (header.is_compressed, header.opcode) = (false, Opcode::Continuation);
        }
        self.packed.clear();
        self.packed.shrink_to(KEPT_BYTES);
    }
}

/// Adds a close frame.
pub fn close(close: Close<'_>, mask: Option<Mask>, out: &mut Vec<u8>) {
    let mut payload = Vec::with_capacity(CONTROL_BYTES);
    close.write(&mut payload);
    control(Opcode::Close, &payload, mask, out);
}

/// Adds a control frame, cut at [`CONTROL_BYTES`].
pub fn control(opcode: Opcode, payload: &[u8], mask: Option<Mask>, out: &mut Vec<u8>) {
    let payload = &payload[..payload.len().min(CONTROL_BYTES)];
    let length = payload.len() as u64;
    frame(&Header { is_final: true, is_compressed: false, opcode, mask, length }, payload, out);
}

/// Adds a head, and the payload as the head's mask has it.
pub fn frame(header: &Header, payload: &[u8], out: &mut Vec<u8>) {
    header.write(out);
    let before = out.len();
    out.extend_from_slice(payload);
    if let Some(mask) = header.mask {
        mask::apply(mask, 0, &mut out[before..]);
    }
}
