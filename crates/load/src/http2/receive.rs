//! Received bytes: frames, and what they mean for the streams (RFC 9113, sections 5 and 6).
//!
//! Frames are read where they were received. Only one that came in pieces is put together, and
//! never DATA: its bytes are of no interest but for their number.

use super::frame::{self, Head, code, flag, kind, setting};
use super::streams::UNKNOWN;
use super::{Connection, WINDOW};
use crate::driver::{Event, Slot, Words, quoted};
use crate::redirects::Redirects;
use plimsoll_runs::ErrorKind;
use plimsoll_workload::request::is_redirect;

/// The longest header block that is read, in bytes, as it comes: that of HTTP/1.1 too.
const MAX_BLOCK: usize = crate::http1::head::MAX_HEAD;
/// So many frames in a row that are no part of an answer are a flood.
const MAX_IDLE_FRAMES: u32 = 10_000;

/// What ends a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Violation;

/// A connection while it takes received bytes.
pub(super) struct Receiving<'a> {
    pub(super) connection: &'a mut Connection,
    pub(super) words: &'a mut Words,
    /// The frame that ends the connection, where it is one.
    pub(super) culprit: Option<Head>,
    pub(super) text: &'a mut Vec<u8>,
    pub(super) begun: &'a mut Vec<u32>,
    /// The size that the peer's table must have for us to use it.
    pub(super) table_needed: usize,
    pub(super) redirects: &'a mut Redirects,
    pub(super) out: &'a mut Vec<u8>,
    pub(super) events: &'a mut Vec<Event>,
}

type Taken = Result<(), Violation>;

impl Receiving<'_> {
    /// Takes all bytes.
    pub(super) fn all(&mut self, mut bytes: &[u8]) -> Taken {
        while !bytes.is_empty() {
            if self.connection.skip > 0 {
                bytes = self.skip(bytes);
                continue;
            }
            if !self.connection.partial.is_empty() {
                bytes = self.complete(bytes)?;
                continue;
            }
            let Some(head) = self.head(bytes)? else {
                self.connection.partial.extend_from_slice(bytes);
                return Ok(());
            };
            let needed = needed(&head);
            let Some((whole, rest)) = bytes.split_at_checked(needed) else {
                self.connection.partial.extend_from_slice(bytes);
                return Ok(());
            };
            bytes = rest;
            self.frame(head, &whole[frame::HEAD..]).inspect_err(|_| self.culprit = Some(head))?;
        }
        Ok(())
    }

    /// Says of each answer that has begun and is not whole that it has begun.
    pub(super) fn announce(&mut self) {
        for id in self.begun.drain(..) {
            if let Some(at) = self.connection.streams.find(id) {
                self.events.push(Event::FirstByte(self.connection.streams.at(at).slot));
            }
        }
    }

    /// Nothing on this connection will be answered any more; `bytes` were received last.
    #[cold]
    pub(super) fn fail(&mut self, bytes: &[u8]) {
        let why = match self.culprit {
            Some(head) => format!(
                "a frame that breaks the rules of HTTP/2: type {}, flags {}, stream {}, {} bytes",
                head.kind, head.flags, head.stream, head.len
            )
            .into_bytes(),
            None if self.connection.settled => {
                [b"no frame of HTTP/2 that may come now: ", &quoted(bytes)[..]].concat()
            }
            None => [b"the peer sent ", &quoted(bytes)[..], b", which is no HTTP/2"].concat(),
        };
        for stream in self.connection.streams.drain(|_| true) {
            self.words.say(stream.slot, why.clone());
            self.events.push(Event::Failed { slot: stream.slot, kind: ErrorKind::Protocol });
        }
        self.connection.sending.forget_all();
        self.connection.leaving = true;
    }

    /// Passes over bytes of DATA.
    fn skip<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let n = bytes.len().min(self.connection.skip);
        self.connection.skip -= n;
        if let Some(kept) = &mut self.connection.kept {
            let (slot, content) = &mut kept.skip;
            let of_content = n.min(*content);
            *content -= of_content;
            if let Some(answer) = kept.answers.get_mut(slot) {
                answer.keep(&bytes[..of_content]);
            }
        }
        if self.connection.skip == 0 {
            let id = std::mem::take(&mut self.connection.skip_ends);
            // It may have been reset meanwhile.
            if let Some(at) = self.connection.streams.find(id).filter(|_| id != 0) {
                self.done(at);
            }
        }
        &bytes[n..]
    }

    /// Adds bytes to the frame that is not whole, and takes it if it has become so.
    fn complete<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], Violation> {
        let partial = &mut self.connection.partial;
        let head = Head::read(partial);
        let needed = head.map_or(frame::HEAD, |head| needed(&head));
        let n = bytes.len().min(needed.saturating_sub(partial.len()));
        partial.extend_from_slice(&bytes[..n]);
        if partial.len() < needed {
            return Ok(&[]);
        }
        let whole = std::mem::take(partial);
        match self.head(&whole)? {
            Some(head) if whole.len() >= self::needed(&head) => {
                self.frame(head, &whole[frame::HEAD..])
                    .inspect_err(|_| self.culprit = Some(head))?;
            }
            _ => self.connection.partial = whole,
        }
        Ok(&bytes[n..])
    }

    /// A frame's head, if it is there and may come now.
    #[inline]
    fn head(&self, bytes: &[u8]) -> Result<Option<Head>, Violation> {
        let Some(head) = Head::read(bytes) else { return Ok(None) };
        // The peer's first frame is SETTINGS (section 3.4); a header block is not interrupted
        // (section 4.3).
        let connection = &self.connection;
        let expected = match (connection.settled, connection.block_of) {
            (false, _) => head.kind == kind::SETTINGS && !head.has(flag::ACK),
            (true, 0) => head.kind != kind::CONTINUATION,
            (true, id) => head.kind == kind::CONTINUATION && head.stream == id,
        };
        if expected && head.len <= frame::MAX_PAYLOAD { Ok(Some(head)) } else { Err(Violation) }
    }

    /// A frame with its payload, or of DATA no more than the length of its padding.
    #[inline]
    fn frame(&mut self, head: Head, payload: &[u8]) -> Taken {
        match head.kind {
            kind::DATA => self.data(head, payload),
            kind::HEADERS => self.headers(head, payload),
            _ => {
                self.connection.idle_frames += 1;
                if self.connection.idle_frames > MAX_IDLE_FRAMES {
                    return Err(Violation);
                }
                self.other(head, payload)
            }
        }
    }

    fn other(&mut self, head: Head, payload: &[u8]) -> Taken {
        let connection_only =
            matches!(head.kind, kind::SETTINGS | kind::PING | kind::GOAWAY) && head.stream != 0;
        let stream_only =
            matches!(head.kind, kind::PRIORITY | kind::RST_STREAM) && head.stream == 0;
        if connection_only || stream_only {
            return Err(Violation);
        }
        match head.kind {
            kind::CONTINUATION => self.continuation(head, payload),
            kind::RST_STREAM => self.rst_stream(head, payload),
            kind::SETTINGS => self.settings(head, payload),
            // We have said that we want none.
            kind::PUSH_PROMISE => Err(Violation),
            kind::PING => {
                let opaque: &[u8; 8] = payload.try_into().map_err(|_| Violation)?;
                if !head.has(flag::ACK) {
                    frame::head(opaque.len(), kind::PING, flag::ACK, 0, self.out);
                    self.out.extend_from_slice(opaque);
                }
                Ok(())
            }
            kind::GOAWAY => self.go_away(payload),
            kind::WINDOW_UPDATE => self.window_update(head, payload),
            // PRIORITY says nothing any more (section 5.3); what is unknown is passed over
            // (section 5.5).
            _ => Ok(()),
        }
    }

    /// Whether a stream's number has been used. One that has not cannot be spoken of.
    fn must_be_used(&self, id: u32) -> Taken {
        if id % 2 == 1 && id < self.connection.next_id { Ok(()) } else { Err(Violation) }
    }

    /// What comes on a stream that is finished: nothing, unless we have finished it by a reset that
    /// the peer may not know of yet (section 5.1).
    fn on_finished(&self) -> Taken {
        if self.connection.has_reset { Ok(()) } else { Err(Violation) }
    }

    #[inline]
    fn data(&mut self, head: Head, payload: &[u8]) -> Taken {
        let mut content = head.len;
        if head.has(flag::PADDED) {
            let padding = usize::from(*payload.first().ok_or(Violation)?);
            content = (head.len - 1).checked_sub(padding).ok_or(Violation)?;
        }
        self.must_be_used(head.stream)?;
        self.take_window(head.len);
        self.connection.skip = head.len - payload.len();
        self.connection.kept.iter_mut().for_each(|kept| kept.skip.1 = 0);
        let Some(at) = self.connection.streams.find(head.stream) else {
            return self.on_finished();
        };
        // An empty frame that does not end the stream is no progress.
        if head.len > 0 {
            self.connection.idle_frames = 0;
        } else {
            self.connection.idle_frames += 1;
        }
        let ends = head.has(flag::END_STREAM);
        let stream = self.connection.streams.at(at);
        if let Some(kept) = &mut self.connection.kept {
            kept.skip = (stream.slot.0, content);
        }
        stream.bytes += (frame::HEAD + head.len) as u64;
        let mut wrong = stream.status == 0;
        if stream.left != UNKNOWN {
            let left = stream.left.checked_sub(content as u64);
            wrong |= left.is_none() || (ends && left != Some(0));
            stream.left = left.unwrap_or(0);
        }
        if wrong {
            self.malformed(at, code::PROTOCOL_ERROR);
            return Ok(());
        }
        // A payload is below 2^24.
        stream.taken += u32::try_from(head.len).unwrap_or(0);
        if stream.taken >= WINDOW / 2 && !ends {
            let taken = std::mem::take(&mut stream.taken);
            frame::number(kind::WINDOW_UPDATE, head.stream, taken, self.out);
        }
        if ends && self.connection.skip == 0 {
            self.done(at);
        } else if ends {
            self.connection.skip_ends = head.stream;
        }
        if self.connection.idle_frames > MAX_IDLE_FRAMES { Err(Violation) } else { Ok(()) }
    }

    /// Takes bytes off the connection's window, and gives them back when it is half empty. A peer
    /// that keeps to the rules can never exceed it therefore, nor that of a stream.
    #[inline]
    fn take_window(&mut self, len: usize) {
        let connection = &mut *self.connection;
        connection.taken += u32::try_from(len).unwrap_or(0);
        if connection.taken >= WINDOW / 2 {
            let taken = std::mem::take(&mut connection.taken);
            frame::number(kind::WINDOW_UPDATE, 0, taken, self.out);
        }
    }

    #[inline]
    fn headers(&mut self, head: Head, payload: &[u8]) -> Taken {
        self.must_be_used(head.stream)?;
        let mut block = payload;
        let mut padding = 0;
        if head.has(flag::PADDED) {
            let (&first, rest) = block.split_first().ok_or(Violation)?;
            (padding, block) = (usize::from(first), rest);
        }
        if head.has(flag::PRIORITY) {
            block = block.get(5..).ok_or(Violation)?;
        }
        let len = block.len().checked_sub(padding).ok_or(Violation)?;
        block = &block[..len];
        let bytes = (frame::HEAD + head.len) as u64;
        let ends = head.has(flag::END_STREAM);
        if head.has(flag::END_HEADERS) {
            return self.section(head.stream, ends, block, bytes);
        }
        let connection = &mut *self.connection;
        connection.block.clear();
        connection.block.extend_from_slice(block);
        connection.block_of = head.stream;
        connection.block_ends = ends;
        connection.block_bytes = bytes;
        Ok(())
    }

    fn continuation(&mut self, head: Head, payload: &[u8]) -> Taken {
        let connection = &mut *self.connection;
        connection.block.extend_from_slice(payload);
        connection.block_bytes += (frame::HEAD + head.len) as u64;
        if connection.block.len() > MAX_BLOCK {
            return Err(Violation);
        }
        if head.has(flag::END_HEADERS) {
            connection.block_of = 0;
            let block = std::mem::take(&mut connection.block);
            let (ends, bytes) = (connection.block_ends, connection.block_bytes);
            return self.section(head.stream, ends, &block, bytes);
        }
        Ok(())
    }

    /// A whole header block: an interim answer, the head of an answer, or trailers.
    #[inline]
    fn section(&mut self, id: u32, ends: bool, block: &[u8], bytes: u64) -> Taken {
        // What cannot be read leaves the peer's table unknown.
        let decoder = &mut self.connection.decoder;
        let section = decoder.read(block, self.text).map_err(|_| Violation)?;
        let location = decoder.location.take();
        let fields = match &mut self.connection.kept {
            Some(kept) => kept.texts.read(block, self.text).map_err(|_| Violation)?,
            None => Vec::new(),
        };
        let Some(at) = self.connection.streams.find(id) else { return self.on_finished() };
        self.connection.idle_frames = 0;
        let stream = self.connection.streams.at(at);
        stream.bytes += bytes;
        let mut wrong = section.malformed;
        if stream.status != 0 {
            // Trailers end the answer and have no pseudo-header fields (section 8.1).
            wrong |= !ends || section.status.is_some();
            wrong |= stream.left != UNKNOWN && stream.left != 0;
        } else {
            match section.status {
                // 101 has no meaning here (section 8.6).
                None | Some(101) => wrong = true,
                Some(100..=199) => wrong |= ends,
                Some(status) => {
                    stream.status = status;
                    if let Some(location) = location.filter(|_| is_redirect(status)) {
                        self.redirects.hear(stream.slot, location);
                    }
                    let kept = self.connection.kept.as_mut();
                    if let Some(answer) = kept.and_then(|of| of.answers.get_mut(&stream.slot.0)) {
                        answer.fields = fields;
                    }
                    let bodiless = stream.head_only || matches!(status, 204 | 304);
                    stream.left = if bodiless { 0 } else { section.length.unwrap_or(UNKNOWN) };
                    wrong |= ends && stream.left != UNKNOWN && stream.left != 0;
                }
            }
        }
        if wrong {
            self.malformed(at, code::PROTOCOL_ERROR);
        } else if ends {
            self.done(at);
        } else {
            self.begun.push(id);
        }
        Ok(())
    }

    /// The whole answer is here.
    #[inline]
    fn done(&mut self, at: usize) {
        let stream = self.connection.streams.remove(at);
        if stream.sending {
            // Answered before it was asked to the end: the rest would be of no use (section 8.1).
            self.connection.sending.forget(stream.id);
            self.connection.reset(stream.id, code::CANCEL, self.out);
        }
        let (slot, code, bytes) = (stream.slot, stream.status, stream.bytes);
        self.events.push(Event::Done { slot, code, bytes });
    }

    /// The answer breaks a rule that concerns its stream only.
    fn malformed(&mut self, at: usize, code: u32) {
        let stream = self.connection.streams.remove(at);
        self.connection.sending.forget(stream.id);
        self.connection.reset(stream.id, code, self.out);
        self.words.say(stream.slot, "the answer's fields or its length break the rules of HTTP/2");
        self.events.push(Event::Failed { slot: stream.slot, kind: ErrorKind::Protocol });
    }

    /// The peer has reset a stream that it had not answered.
    #[cold]
    fn was_reset(&mut self, slot: Slot, code: u32) -> Event {
        let name = code::NAMES.get(code as usize).copied().unwrap_or("an unknown code");
        self.words.say(slot, format!("the peer reset the stream: {name} ({code})"));
        Event::Failed { slot, kind: ErrorKind::Reset }
    }

    fn rst_stream(&mut self, head: Head, payload: &[u8]) -> Taken {
        let code = u32::from_be_bytes(payload.try_into().map_err(|_| Violation)?);
        self.must_be_used(head.stream)?;
        // A server may reset a stream that it has answered, to stop the request's body.
        let Some(at) = self.connection.streams.find(head.stream) else { return Ok(()) };
        let stream = self.connection.streams.remove(at);
        self.connection.sending.forget(stream.id);
        let slot = stream.slot;
        let is_refused = code == code::REFUSED_STREAM && stream.bytes == 0;
        let event = if is_refused { Event::Refused(slot) } else { self.was_reset(slot, code) };
        self.events.push(event);
        Ok(())
    }

    fn settings(&mut self, head: Head, payload: &[u8]) -> Taken {
        if head.has(flag::ACK) {
            return if payload.is_empty() { Ok(()) } else { Err(Violation) };
        }
        if !payload.len().is_multiple_of(6) {
            return Err(Violation);
        }
        let connection = &mut *self.connection;
        for entry in payload.chunks_exact(6) {
            let value = u32::from_be_bytes([entry[2], entry[3], entry[4], entry[5]]);
            match u16::from_be_bytes([entry[0], entry[1]]) {
                setting::HEADER_TABLE_SIZE => {
                    connection.allow_table(value as usize, self.table_needed);
                }
                // A server does not say that it wants to be pushed to.
                setting::ENABLE_PUSH if value != 0 => return Err(Violation),
                setting::MAX_CONCURRENT_STREAMS => connection.peer_streams = value,
                setting::INITIAL_WINDOW_SIZE if value > frame::MOST => return Err(Violation),
                setting::INITIAL_WINDOW_SIZE => connection.sending.allow_first(value)?,
                setting::MAX_FRAME_SIZE => {
                    if !(16_384..=16_777_215).contains(&value) {
                        return Err(Violation);
                    }
                    connection.sending.allow_payload(value);
                }
                _ => {}
            }
        }
        connection.settled = true;
        frame::head(0, kind::SETTINGS, flag::ACK, 0, self.out);
        connection.send_more(self.out);
        Ok(())
    }

    /// The peer answers streams up to a number, and has not looked at those above (section 6.8).
    fn go_away(&mut self, payload: &[u8]) -> Taken {
        let last = payload.first_chunk::<4>().filter(|_| payload.len() >= 8).ok_or(Violation)?;
        let last = u32::from_be_bytes(*last) & frame::MOST;
        self.connection.leaving = true;
        for stream in self.connection.streams.drain(|stream| stream.id > last) {
            self.connection.sending.forget(stream.id);
            self.events.push(Event::Refused(stream.slot));
        }
        Ok(())
    }

    fn window_update(&mut self, head: Head, payload: &[u8]) -> Taken {
        let by = u32::from_be_bytes(payload.try_into().map_err(|_| Violation)?) & frame::MOST;
        if head.stream == 0 {
            if by == 0 {
                return Err(Violation);
            }
            self.connection.sending.widen(by)?;
        } else {
            self.must_be_used(head.stream)?;
            let Some(at) = self.connection.streams.find(head.stream) else { return Ok(()) };
            if by == 0 {
                self.malformed(at, code::PROTOCOL_ERROR);
            } else if !self.connection.streams.at(at).sending {
                // Nothing waits to be sent on it.
                return Ok(());
            } else if !self.connection.sending.widen_stream(head.stream, by) {
                self.malformed(at, code::FLOW_CONTROL_ERROR);
            }
        }
        if self.connection.sending.is_waiting() {
            self.connection.idle_frames = 0;
            self.connection.send_more(self.out);
        }
        Ok(())
    }
}

/// Bytes of a frame that have to be there before it is taken.
#[inline]
fn needed(head: &Head) -> usize {
    frame::HEAD
        + match head.kind {
            kind::DATA => usize::from(head.has(flag::PADDED) && head.len > 0),
            _ => head.len,
        }
}
