//! Frames to messages: bytes in pieces of any size go in, whole messages come out.
//!
//! A message that is one frame, whole among the bytes and not masked, is not copied. All others are
//! put together in a buffer, which is let go of when it was large. Text is looked at as it comes,
//! so that one that is no UTF-8 is refused at the byte that shows it.
//!
//! Source: RFC 6455, sections 5 and 8.1, and RFC 7692, section 6.2.

use crate::deflate::Inflater;
use crate::extension::Side;
use crate::frame::{HEAD_BYTES, Header, Opcode};
use crate::mask::{self, Mask};
use crate::utf8::Utf8;
use crate::{Close, Error, Message, Role};
use std::cell::Cell;

/// A buffer of at most this many bytes is kept from one message to the next.
const KEPT_BYTES: usize = 4096;

/// How much of a masked and compressed payload is unmasked at once, bytes.
const UNMASKED_BYTES: usize = 1024;

/// The most that is taken of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Of a frame's payload, as its head announces it.
    pub frame_bytes: u64,
    /// Of a message: all its frames together, unpacked.
    pub message_bytes: usize,
}

impl Default for Limits {
    /// 16 MiB each.
    fn default() -> Self {
        Self { frame_bytes: 16 << 20, message_bytes: 16 << 20 }
    }
}

/// Puts messages together.
pub struct Decoder {
    role: Role,
    limits: Limits,
    inflater: Option<Inflater>,
    /// The beginning of a head.
    head: [u8; HEAD_BYTES],
    head_length: usize,
    /// The frame whose payload is being read, and how much of it has been.
    frame: Option<(Header, u64)>,
    /// The message that is being put together.
    message: Option<Kind>,
    utf8: Utf8,
    data: Vec<u8>,
    control: Vec<u8>,
    /// Whether `data`, or `control`, was given out and is of no more use.
    is_data_given: bool,
    is_control_given: bool,
    /// How reading has ended, if it has.
    end: Cell<Option<End>>,
}

#[derive(Clone, Copy)]
struct Kind {
    is_text: bool,
    is_compressed: bool,
}

#[derive(Clone, Copy)]
enum End {
    Closed,
    Failed(Error),
}

/// A payload that is whole: among the bytes that came, or in the decoder's own buffer.
struct Whole<'i> {
    opcode: Opcode,
    place: Option<&'i [u8]>,
}

impl Decoder {
    /// Of what this end receives. `deflate` is how the other one compresses, where that is agreed.
    #[must_use]
    pub fn new(role: Role, limits: Limits, deflate: Option<Side>) -> Self {
        Self {
            role,
            limits,
            inflater: deflate.map(Inflater::new),
            head: [0; HEAD_BYTES],
            head_length: 0,
            frame: None,
            message: None,
            utf8: Utf8::default(),
            data: Vec::new(),
            control: Vec::new(),
            is_data_given: false,
            is_control_given: false,
            end: Cell::new(None),
        }
    }

    /// The next message of some bytes, which are taken from the front of `input`; `None` once all
    /// of them are taken. What follows a close is passed over.
    ///
    /// # Errors
    /// Where the peer broke the protocol or a limit; from then on the same error always.
    pub fn next<'m, 'i: 'm>(
        &'m mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Message<'m>>, Error> {
        match self.end.get() {
            None => {}
            Some(End::Failed(error)) => return Err(error),
            Some(End::Closed) => {
                *input = &[];
                return Ok(None);
            }
        }
        self.release();
        let whole = self.advance(input);
        let this: &'m Self = self;
        let message = whole.and_then(|whole| whole.map(|whole| this.told(&whole)).transpose());
        match message {
            Ok(Some(Message::Close(_))) => this.end.set(Some(End::Closed)),
            Err(error) => this.end.set(Some(End::Failed(error))),
            Ok(_) => {}
        }
        message
    }

    /// Forgets what was given out last.
    fn release(&mut self) {
        if std::mem::take(&mut self.is_data_given) {
            self.data.clear();
            self.data.shrink_to(KEPT_BYTES);
        }
        if std::mem::take(&mut self.is_control_given) {
            self.control.clear();
        }
    }

    fn told<'m, 'i: 'm>(&'m self, whole: &Whole<'i>) -> Result<Message<'m>, Error> {
        let own = if whole.opcode.is_control() { &self.control } else { &self.data };
        let payload = whole.place.unwrap_or(own);
        Ok(match whole.opcode {
            Opcode::Ping => Message::Ping(payload),
            Opcode::Pong => Message::Pong(payload),
            Opcode::Close => Message::Close(Close::decode(payload)?),
            Opcode::Text => Message::Text(std::str::from_utf8(payload).map_err(|_| Error::Text)?),
            Opcode::Binary | Opcode::Continuation => Message::Binary(payload),
        })
    }

    /// Reads on until a payload is whole, or nothing is left.
    fn advance<'i>(&mut self, input: &mut &'i [u8]) -> Result<Option<Whole<'i>>, Error> {
        loop {
            let (header, read) = match self.frame {
                Some(frame) => frame,
                None => {
                    let Some(header) = self.header(input)? else { return Ok(None) };
                    self.begin(&header)?;
                    (header, 0)
                }
            };
            let left = header.length - read;
            let count = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
            let (part, rest) = input.split_at(count);
            *input = rest;
            let is_end = count as u64 == left;
            self.frame = (!is_end).then_some((header, read + count as u64));
            let whole = if header.opcode.is_control() {
                self.control_part(&header, read, part, is_end)
            } else {
                self.data_part(&header, read, part, is_end)?
            };
            if whole.is_some() || !is_end {
                return Ok(whole);
            }
        }
    }

    /// The next head, which may come in pieces too.
    fn header(&mut self, input: &mut &[u8]) -> Result<Option<Header>, Error> {
        if self.head_length == 0
            && let Some((header, length)) = Header::read(input)?
        {
            *input = &input[length..];
            return Ok(Some(header));
        }
        let before = self.head_length;
        let count = input.len().min(HEAD_BYTES - before);
        self.head[before..before + count].copy_from_slice(&input[..count]);
        match Header::read(&self.head[..before + count])? {
            Some((header, length)) => {
                *input = &input[length - before..];
                self.head_length = 0;
                Ok(Some(header))
            }
            None => {
                *input = &input[count..];
                self.head_length += count;
                Ok(None)
            }
        }
    }

    /// Whether a frame may come now, and how its message begins.
    fn begin(&mut self, header: &Header) -> Result<(), Error> {
        match (self.role, header.mask) {
            (Role::Client, Some(_)) => return Err(Error::Protocol("a server's frame is masked")),
            (Role::Server, None) => return Err(Error::Protocol("a client's frame is not masked")),
            _ => {}
        }
        if header.is_compressed && self.inflater.is_none() {
            return Err(Error::Protocol("a reserved bit is set"));
        }
        if header.opcode.is_control() {
            return Ok(());
        }
        match (header.opcode, self.message) {
            (Opcode::Continuation, None) => {
                return Err(Error::Protocol("a frame goes on with a message that did not begin"));
            }
            (Opcode::Continuation, Some(_)) => {}
            (_, Some(_)) => {
                return Err(Error::Protocol("a message begins before the last one has ended"));
            }
            (opcode, None) => {
                let is_text = opcode == Opcode::Text;
                self.message = Some(Kind { is_text, is_compressed: header.is_compressed });
            }
        }
        let Limits { frame_bytes, message_bytes: limit } = self.limits;
        if header.length > frame_bytes {
            return Err(Error::Frame { bytes: header.length, limit: frame_bytes });
        }
        let is_compressed = self.message.is_some_and(|message| message.is_compressed);
        let room = (limit - self.data.len().min(limit)) as u64;
        if !is_compressed && header.length > room {
            return Err(Error::Message { limit });
        }
        Ok(())
    }

    fn control_part<'i>(
        &mut self,
        header: &Header,
        read: u64,
        part: &'i [u8],
        is_end: bool,
    ) -> Option<Whole<'i>> {
        let opcode = header.opcode;
        if is_end && read == 0 && header.mask.is_none() {
            return Some(Whole { opcode, place: Some(part) });
        }
        add(&mut self.control, header.mask, read, part);
        self.is_control_given = is_end;
        is_end.then_some(Whole { opcode, place: None })
    }

    fn data_part<'i>(
        &mut self,
        header: &Header,
        read: u64,
        part: &'i [u8],
        is_end: bool,
    ) -> Result<Option<Whole<'i>>, Error> {
        let Some(kind) = self.message else { return Ok(None) };
        let opcode = if kind.is_text { Opcode::Text } else { Opcode::Binary };
        let is_last = is_end && header.is_final;
        let is_only = is_last && read == 0 && header.opcode != Opcode::Continuation;
        if is_last {
            self.message = None;
        }
        if is_only && !kind.is_compressed && header.mask.is_none() {
            return Ok(Some(Whole { opcode, place: Some(part) }));
        }
        let before = self.data.len();
        if kind.is_compressed {
            self.unpack(header.mask, read, part, is_last)?;
        } else {
            add(&mut self.data, header.mask, read, part);
        }
        // One that came at once is looked at once, when it is given out.
        if kind.is_text && !is_only {
            self.utf8.push(&self.data[before..])?;
            if is_last {
                self.utf8.finish()?;
            }
        }
        self.is_data_given = is_last;
        Ok(is_last.then_some(Whole { opcode, place: None }))
    }

    /// Unpacks a part of a compressed message into the buffer.
    fn unpack(
        &mut self,
        mask: Option<Mask>,
        read: u64,
        part: &[u8],
        is_last: bool,
    ) -> Result<(), Error> {
        let Some(inflater) = &mut self.inflater else { return Ok(()) };
        let limit = self.limits.message_bytes;
        match mask {
            None => inflater.inflate(part, &mut self.data, limit)?,
            Some(mask) => {
                let mut plain = [0; UNMASKED_BYTES];
                let mut offset = within_mask(read);
                for piece in part.chunks(UNMASKED_BYTES) {
                    let plain = &mut plain[..piece.len()];
                    plain.copy_from_slice(piece);
                    mask::apply(mask, offset, plain);
                    offset += piece.len();
                    inflater.inflate(plain, &mut self.data, limit)?;
                }
            }
        }
        if is_last { inflater.finish(&mut self.data, limit) } else { Ok(()) }
    }
}

/// Adds a part of a payload, unmasked.
fn add(buffer: &mut Vec<u8>, mask: Option<Mask>, read: u64, part: &[u8]) {
    let before = buffer.len();
    buffer.extend_from_slice(part);
    if let Some(mask) = mask {
        mask::apply(mask, within_mask(read), &mut buffer[before..]);
    }
}

/// Where in the mask's four bytes an offset of a payload falls.
fn within_mask(read: u64) -> usize {
    usize::from((read % 4) as u8)
}
